package syspipe_test

import (
	"testing"

	"github.com/pipebench/pipebench/syspipe"
)

func TestCallsAllocateNothing(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		head, body := []byte("head"), make([]byte, 508)
		bufs := [][]byte{head, body}
		into := make([]byte, 1024)
		allocs := testing.AllocsPerRun(100, func() {
			w.Write(body)
			w.Writev(bufs)
			r.Read(into)
		})
		if allocs != 0 {
			t.Errorf("%v allocations for a write, a gather write and a read", allocs)
		}
	})
}

// TestWaitsAllocateNothing makes both ends be refused again and again.
func TestWaitsAllocateNothing(t *testing.T) {
	for _, how := range []syspipe.IO{syspipe.Poller, syspipe.Poll} {
		t.Run("io="+how.String(), func(t *testing.T) {
			there, in := open(t, syspipe.Anonymous, 0, how)
			out, back := open(t, syspipe.Anonymous, 0, how)
			go echo(in, out)
			p := make([]byte, 1)
			allocs := testing.AllocsPerRun(200, func() {
				there.Write(p)
				back.Read(p)
			})
			if allocs != 0 {
				t.Errorf("%v allocations a round trip", allocs)
			}
			if c := back.Counters(); c.SeesWaits && c.Waits == 0 {
				t.Errorf("%+v: the reader never waited, so this shows nothing", c)
			}
		})
	}
}

func echo(in, out *syspipe.End) {
	p := make([]byte, 1)
	for {
		if _, err := in.Read(p); err != nil {
			return
		}
		out.Write(p)
	}
}

// BenchmarkCall is the price of an end: one write and one read of 64 bytes, neither of which waits.
func BenchmarkCall(b *testing.B) {
	for _, how := range syspipe.IOs() {
		b.Run("io="+how.String(), func(b *testing.B) {
			w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { w.Close(); r.Close() }()
			if w.SetIO(how) != nil || r.SetIO(how) != nil {
				b.Skip("unsupported")
			}
			p := make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				w.Write(p)
				r.Read(p)
			}
		})
	}
}
