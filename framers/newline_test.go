package framers

import (
	"bytes"
	"fmt"
	"testing"
)

func TestIndexNewlineIsIndexByte(t *testing.T) {
	buf := bytes.Repeat([]byte{0x8a}, 1200) // differs from a newline in the top bit
	for from := range 40 {
		for n := 0; n <= 600; n++ {
			b := buf[from : from+n]
			buf[from+n] = '\n' // just outside
			if got := indexNewline(b); got != -1 {
				t.Fatalf("from %d, %d bytes without a newline: %d", from, n, got)
			}
			buf[from+n] = 0x8a
		}
	}
	for n := 1; n <= 600; n++ {
		for at := range n {
			b := buf[7 : 7+n]
			b[at], b[n-1] = '\n', '\n'
			if got := indexNewline(b); got != at {
				t.Fatalf("newline at %d of %d: got %d", at, n, got)
			}
			b[at], b[n-1] = 0x8a, 0x8a
		}
	}
}

func FuzzIndexNewline(f *testing.F) {
	f.Add(bytes.Repeat([]byte("0123456789\n"), 30))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := bytes.IndexByte(b, '\n')
		if got := indexNewline(b); got != want {
			t.Fatalf("indexNewline: got %d, want %d", got, want)
		}
	})
}

func BenchmarkIndexNewline(b *testing.B) {
	for _, n := range []int{64, 256, 300, 4096, 65536, 1 << 20, 16 << 20} {
		msg := bytes.Repeat([]byte("x"), n)
		for name, f := range map[string]func([]byte) int{"own": indexNewline, "bytes": func(b []byte) int { return bytes.IndexByte(b, '\n') }} {
			b.Run(fmt.Sprintf("impl=%s/size=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					f(msg)
				}
			})
		}
	}
}
