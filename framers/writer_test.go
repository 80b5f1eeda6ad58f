package framers_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// A recorder keeps what each call wrote.
type recorder struct{ calls []string }

func (r *recorder) Write(b []byte) (int, error) {
	r.calls = append(r.calls, string(b))
	return len(b), nil
}

// A gatherer is a Vectored that keeps the pieces of each call as they came.
type gatherer struct {
	recorder
	lists [][][]byte
}

func (g *gatherer) Writev(bufs [][]byte) (n int64, err error) {
	g.lists = append(g.lists, slices.Clone(bufs))
	for _, b := range bufs {
		n += int64(len(b))
	}
	return n, nil
}

func TestOneWriteAFrame(t *testing.T) {
	for _, c := range []struct {
		spec   string
		size   int
		writes int
	}{
		{"raw", 100_000, 1}, {"ndjson", 10, 1}, {"ndjson", 100_000, 1}, {"content-length", 10, 1}, {"content-length", 100_000, 1},
		{"length-prefix", 100_000, 1}, {"chunked:4096", 10, 1}, {"chunked:4096", 10_000, 3}, {"adaptive:4096", 4095, 1}, {"adaptive:4096", 10_000, 3},
	} {
		rec := &recorder{}
		if err := mustParse(t, c.spec).NewWriter(rec).WriteMessage(message(c.size)); err != nil || len(rec.calls) != c.writes {
			t.Errorf("%s, %d bytes: %d writes, %v; want %d", c.spec, c.size, len(rec.calls), err, c.writes)
		}
		if c.writes > 1 && (len(rec.calls[0]) != 4096 || !strings.HasSuffix(rec.calls[0], "\n")) {
			t.Errorf("%s: the first write is no frame of 4096 bytes", c.spec)
		}
	}
}

// A call of writev(2) takes at most 1024 pieces, so a Vectored that calls it gets no more.
func TestNoMorePiecesThanWritevTakes(t *testing.T) {
	g := &gatherer{}
	w := mustParse(t, "chunked:256").NewWriter(g)
	if err := w.WriteMessage(message(256 * 1200)); err != nil {
		t.Fatal(err)
	}
	if len(g.lists) < 3 {
		t.Errorf("%d calls for more than 1200 frames", len(g.lists))
	}
	for _, pieces := range g.lists {
		if len(pieces) > 1024 {
			t.Errorf("a call with %d pieces", len(pieces))
		}
	}
}

// A Vectored gets a large message in one call, and the message's own bytes, not a copy.
func TestGatherWithoutCopying(t *testing.T) {
	for _, spec := range []string{"raw", "ndjson", "content-length", "length-prefix", "chunked:4096", "adaptive:4096"} {
		f := mustParse(t, spec)
		msg := pageAligned(message(100_000), 100) // where a header does not make its copy slow
		g := &gatherer{}
		w := f.NewWriter(g)
		if err := w.WriteMessage(msg); err != nil {
			t.Fatal(err)
		}
		if len(g.lists) != 1 || len(g.calls) != 0 {
			t.Fatalf("%s: %d gather calls and %d writes", spec, len(g.lists), len(g.calls))
		}
		at := 0
		for _, piece := range g.lists[0] {
			if at < len(msg) && &piece[0] == &msg[at] {
				at += len(piece)
			}
		}
		if at != len(msg) {
			t.Errorf("%s: only %d bytes are the message's own", spec, at)
		}
		if err := w.WriteMessage(msg[:100]); err != nil || len(g.calls) != 1 {
			t.Errorf("%s: a small message took %d writes, %v", spec, len(g.calls), err)
		}
	}
}

// More pieces than a gather call takes go in several.
func TestGatherOfManyFrames(t *testing.T) {
	f := mustParse(t, "chunked:64")
	g := &gatherer{}
	msg := message(50_000)
	if err := f.NewWriter(g).WriteMessage(msg); err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	for _, list := range g.lists {
		if len(list) > 1024+1 {
			t.Errorf("a call of %d pieces", len(list))
		}
	}
	if len(g.lists) < 2 {
		t.Errorf("%d calls", len(g.lists))
	}
	if err := f.NewWriter(&wire).WriteMessage(msg); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(wire.Bytes(), []byte("\n")); n < 1024 {
		t.Errorf("only %d frames: the case is not met", n)
	}
}

// A shortWriter takes some bytes of each write, or none, with or without saying so.
type shortWriter struct {
	takes int
	err   error
}

func (s *shortWriter) Write(b []byte) (int, error) { return min(s.takes, len(b)), s.err }

func TestHalfAFrameBreaksTheStream(t *testing.T) {
	full := errors.New("disk full")
	for _, spec := range suite {
		f := mustParse(t, spec)
		for _, c := range []struct {
			name   string
			w      shortWriter
			want   error
			breaks bool
		}{
			{"part, and no error", shortWriter{3, nil}, io.ErrShortWrite, true},
			{"nothing", shortWriter{0, full}, full, false},
		} {
			dst := c.w
			w := f.NewWriter(&dst)
			if err := w.WriteMessage(message(20)); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v", spec, c.name, err)
			}
			dst = shortWriter{takes: 1 << 20}
			if err := w.WriteMessage(message(20)); (err != nil) != c.breaks || c.breaks && !errors.Is(err, c.want) {
				t.Errorf("%s, %s, then: %v", spec, c.name, err)
			}
		}
	}
}

func TestWriterLimit(t *testing.T) {
	huge := bytes.Repeat([]byte("x"), framers.DefaultMaxMessage+1)
	for _, spec := range suite {
		f := mustParse(t, spec)
		rec := &recorder{}
		w := f.NewWriter(rec, framers.WithMaxMessage(10))
		if err := w.WriteMessage(message(10)); err != nil {
			t.Errorf("%s, at the limit: %v", spec, err)
		}
		calls := len(rec.calls)
		var large *framers.TooLargeError
		if err := w.WriteMessage(message(11)); !errors.As(err, &large) || large.Size != 11 || large.Offset != -1 || len(rec.calls) != calls {
			t.Errorf("%s, beyond the limit: %v", spec, err)
		}
		if err := f.NewWriter(&sink{}).WriteMessage(huge); err != nil {
			t.Errorf("%s: a Writer without the option: %v", spec, err)
		}
	}
}

func TestCarries(t *testing.T) {
	for _, c := range []struct {
		spec, msg string
		want      error
	}{
		{"ndjson", "a\nb", framers.ErrNewline}, {"chunked", "a\nb", framers.ErrNewline}, {"adaptive", "a\nb", framers.ErrNewline},
		{"content-length", "a\nb", nil}, {"length-prefix", "a\nb", nil}, {"raw", "a\nb", nil}, {"raw:2", "a\nb", framers.ErrLength},
		{"ndjson", "", framers.ErrEmpty}, {"chunked", "", nil}, {"adaptive", "", nil}, {"content-length", "", nil}, {"length-prefix", "", nil},
		{"raw", "", framers.ErrEmpty}, {"chunked", " x ", nil}, {"adaptive", " x ", nil},
	} {
		f := mustParse(t, c.spec)
		err := framers.Carries(f, []byte(c.msg))
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s, %q: %v, want %v", c.spec, c.msg, err, c.want)
		}
		if wrote := f.NewWriter(io.Discard).WriteMessage([]byte(c.msg)); (wrote == nil) != (err == nil) {
			t.Errorf("%s, %q: Carries says %v, the Writer %v", c.spec, c.msg, err, wrote)
		}
	}
	if err := framers.Carries(foreign{}, []byte("\n")); err != nil {
		t.Errorf("a framing from elsewhere: %v", err)
	}
}

// A sink is a Vectored that keeps nothing.
type sink struct{}

func (*sink) Write(b []byte) (int, error) { return len(b), nil }

func (*sink) Writev(bufs [][]byte) (n int64, err error) {
	for _, b := range bufs {
		n += int64(len(b))
	}
	return n, nil
}

func TestNothingIsAllocated(t *testing.T) {
	for _, spec := range append([]string{"raw"}, suite...) {
		if strings.HasPrefix(spec, "chunked+zstd") {
			continue // what zstd allocates is its own
		}
		for _, n := range []int{10, 5000, 100_000} {
			f := mustParse(t, spec)
			msg := message(n)
			for _, dst := range []io.Writer{io.Discard, &sink{}} {
				w := f.NewWriter(dst)
				if a := testing.AllocsPerRun(20, func() { w.WriteMessage(msg) }); a > 0 {
					t.Errorf("%s, %d bytes: %.0f allocations a message written to %T", spec, n, a, dst)
				}
			}
			r := f.NewReader(&repeating{wire: encode(t, f, [][]byte{msg})})
			for range 3 {
				r.ReadMessage()
			}
			if a := testing.AllocsPerRun(20, func() { r.ReadMessage() }); a > 0 {
				t.Errorf("%s, %d bytes: %.0f allocations a message read", spec, n, a)
			}
		}
	}
}

// A large message that small ones interrupt takes no new memory once there was one like it.
func TestALargeInterruptedMessageTakesTheMemoryOfTheLast(t *testing.T) {
	r := mustParse(t, "chunked").NewReader(&repeating{wire: interrupted(4 << 20)})
	for range 6 {
		r.ReadMessage()
	}
	if a := testing.AllocsPerRun(20, func() { r.ReadMessage() }); a > 0 {
		t.Errorf("%.2f allocations a message", a)
	}
}

// What it costs that frames of another message come between those of a large one.
func BenchmarkInterrupted(b *testing.B) {
	for _, n := range []int{1 << 20, 4 << 20, 16 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			chunked, err := framers.Parse("chunked")
			if err != nil {
				b.Fatal(err)
			}
			wire := interrupted(n)
			r := chunked.NewReader(&repeating{wire: wire})
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				for range 2 {
					if _, err := r.ReadMessage(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// interrupted is a message of n bytes in chunks of 32 KiB, with a small one behind the first.
func interrupted(n int) []byte {
	const chunk = 32 << 10
	var wire []byte
	for i := range n / chunk {
		wire = fmt.Appendf(wire, "a:%d:%d:%s\n", i, n/chunk, bytes.Repeat([]byte("x"), chunk))
		if i == 0 {
			wire = append(wire, "b:0:1:between\n"...)
		}
	}
	return wire
}

// repeating gives its wire again and again, 64 KiB at most a read.
type repeating struct {
	wire []byte
	at   int
}

func (r *repeating) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), 64<<10)], r.wire[r.at:])
	r.at = (r.at + n) % len(r.wire)
	return n, nil
}

func TestABufferedWriterWithEveryFraming(t *testing.T) {
	for _, spec := range suite {
		f := mustParse(t, spec)
		var wire bytes.Buffer
		var msgs [][]byte
		c := bufio.NewWriter(&wire)
		w := f.NewWriter(c)
		for n := 1; n < 100_000; n = n*2 + 1 {
			msgs = append(msgs, message(n))
			if err := w.WriteMessage(message(n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := decode(f.NewReader(&wire))
		if err != io.EOF {
			t.Errorf("%s: %v", spec, err)
		}
		wantMessages(t, got, msgs)
	}
}

func TestABufferedWriterKeepsItsError(t *testing.T) {
	full := errors.New("disk full")
	c := bufio.NewWriterSize(&shortWriter{takes: 0, err: full}, 16)
	w := framers.NDJSON().NewWriter(c)
	if err := w.WriteMessage([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.WriteMessage(message(100)); !errors.Is(err, full) {
			t.Errorf("got %v, want %v", err, full)
		}
	}
}

func TestABufferedWriterAllocatesNothing(t *testing.T) {
	w := framers.NDJSON().NewWriter(bufio.NewWriter(io.Discard))
	msg := message(100)
	if a := testing.AllocsPerRun(100, func() { w.WriteMessage(msg) }); a > 0 {
		t.Errorf("%.1f allocations a message", a)
	}
}
