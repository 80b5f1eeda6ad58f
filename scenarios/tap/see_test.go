package tap

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// BenchmarkSee is what a passage costs its direction once the bytes are on their way: messages are
// found, and lines made of them.
func BenchmarkSee(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			rec := newRecorder(Options{Run: "0199f2d5-1111-7000-8000-000000000000",
				Record: io.Discard})
			track := rec.track(fromServer)
			r := newRelay(nil, nil, track, lines())
			head, tail := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"`, "\"}}\n"
			msg := []byte(head + strings.Repeat("x", max(0, size-len(head)-len(tail))) + tail)
			stream := bytes.Repeat(msg, max(1, 64<<10/len(msg)))
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				for p := stream; len(p) > 0; {
					n := min(64<<10, len(p))
					r.record(p[:n], r.track.now(), 0)
					p = p[n:]
				}
				rec.flush()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(stream)/len(msg)), "ns/message")
		})
	}
}
