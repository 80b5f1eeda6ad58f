package syspipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

func TestBytesArriveAndAreCounted(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		want := pattern(1<<20 + 4097)
		got := drain(r)
		within(t, "write", func() {
			if n, err := w.Write(want); n != len(want) || err != nil {
				t.Errorf("Write = %d, %v; want %d, nil", n, err, len(want))
			}
		})
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		within(t, "read to the end", func() {
			if b := <-got; !bytes.Equal(b, want) {
				t.Errorf("read %d bytes that are not the %d written", len(b), len(want))
			}
		})
		for name, e := range map[string]*syspipe.End{"writer": w, "reader": r} {
			c := e.Counters()
			if c.Bytes != uint64(len(want)) || c.Calls == 0 || c.Calls < c.Short+c.EAGAIN {
				t.Errorf("%s: %+v, want %d bytes", name, c, len(want))
			}
			if c.Waits > c.EAGAIN || (c.Waits == 0) != (c.EAGAIN == 0) {
				t.Errorf("%s: %d waits for %d refusals", name, c.Waits, c.EAGAIN)
			}
		}
	})
}

func TestGatherWritesEveryByteOnce(t *testing.T) {
	rows := []struct {
		name  string
		sizes []int
	}{
		{"nothing", nil},
		{"only empty buffers", []int{0, 0}},
		{"header and payload", []int{4, 4096}},
		{"empty buffers between", []int{0, 1, 0, 0, 5, 0}},
		{"more than the pipe holds", []int{100, 4000, 1 << 20, 3, 70000}},
		{"more buffers than one call takes", manySizes(3000)},
	}
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				w, r := open(t, kind, 0, how)
				bufs, want := cut(row.sizes)
				got := drain(r)
				within(t, "gather write", func() {
					if n, err := w.Writev(bufs); n != int64(len(want)) || err != nil {
						t.Errorf("Writev = %d, %v; want %d, nil", n, err, len(want))
					}
				})
				w.Close()
				if b := <-got; !bytes.Equal(b, want) {
					t.Errorf("read %d bytes that are not the %d written", len(b), len(want))
				}
				again, _ := cut(row.sizes)
				for i := range bufs {
					if !bytes.Equal(bufs[i], again[i]) {
						t.Errorf("buffer %d was changed", i)
					}
				}
			})
		}
	})
}

func manySizes(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = i % 40
	}
	return sizes
}

// cut returns buffers of the given sizes, and their bytes in one.
func cut(sizes []int) (bufs [][]byte, all []byte) {
	total := 0
	for _, n := range sizes {
		total += n
	}
	all = pattern(total)
	rest := bytes.Clone(all)
	for _, n := range sizes {
		bufs = append(bufs, rest[:n:n])
		rest = rest[n:]
	}
	return bufs, all
}

func TestEOFWhenTheWriterLeaves(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		if _, err := w.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		w.Close()
		buf := make([]byte, 64)
		within(t, "read", func() {
			if n, err := r.Read(buf); string(buf[:n]) != "last words" || err != nil {
				t.Errorf("Read = %q, %v", buf[:n], err)
			}
			for range 2 {
				if n, err := r.Read(buf); n != 0 || err != io.EOF {
					t.Errorf("Read at the end = %d, %v; want 0, io.EOF", n, err)
				}
			}
		})
	})
}

func TestBrokenPipeIsOneError(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		r.Close()
		n, err := w.Write([]byte("nobody listens"))
		var broken *syspipe.BrokenPipeError
		if n != 0 || !errors.As(err, &broken) || !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("Write = %d, %v; want 0 and a *BrokenPipeError that is an EPIPE", n, err)
		}
		if broken.Accepted != 0 || broken.Kind != kind {
			t.Errorf("error %+v, want nothing accepted by a %s", broken, kind)
		}
	})
}

func TestBufferedIsWhatWasWritten(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		if _, err := w.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		n, err := r.Buffered()
		skipUnsupported(t, err)
		if n != 3 || err != nil {
			t.Errorf("%d bytes are buffered, %v; 3 were written", n, err)
		}
	})
}

// TestBrokenPipeDuringAWrite closes the reader while a write waits for it.
func TestBrokenPipeDuringAWrite(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		_, err := r.Buffered()
		skipUnsupported(t, err)
		capacity, unknown := w.Capacity()
		if err := errors.Join(err, unknown); err != nil {
			t.Fatal(err)
		}
		var n int
		done := make(chan struct{})
		go func() { defer close(done); n, err = w.Write(make([]byte, 8*capacity)) }()
		within(t, "fill", func() {
			var err error // of a reader that the end of a failed test closed
			for have := 0; have < capacity && err == nil; have, err = r.Buffered() {
				runtime.Gosched()
			}
		})
		r.Close()
		within(t, "notice that the reader has left", func() { <-done })
		var broken *syspipe.BrokenPipeError
		if !errors.As(err, &broken) || !errors.Is(err, syscall.EPIPE) || broken.Accepted != int64(n) || n >= 8*capacity {
			t.Errorf("Write = %d, %v; want a *BrokenPipeError with the same count", n, err)
		}
		if runtime.GOOS == "linux" && n != capacity {
			t.Errorf("%d bytes were accepted, want the capacity of %d", n, capacity)
		}
	})
}

func TestDeadlines(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		past := time.Now().Add(-time.Second)
		err := errors.Join(r.SetReadDeadline(past), w.SetWriteDeadline(past))
		if how != syspipe.Poller {
			named := strings.Contains(fmt.Sprint(err), "its io is "+how.String())
			if !errors.Is(err, os.ErrNoDeadline) || !named {
				t.Errorf("error %v, want os.ErrNoDeadline and the io", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		_, read := r.Read(make([]byte, 1))
		_, write := w.Write(make([]byte, 1))
		for op, err := range map[string]error{"Read": read, "Write": write} {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s after the deadline: %v", op, err)
			}
		}
		c := r.Counters()
		for wait := time.Millisecond; c.SeesWaits && c.Waits == 0; wait *= 2 { // of a busy machine
			if err := r.SetReadDeadline(time.Now().Add(wait)); err != nil {
				t.Fatal(err)
			}
			r.Read(make([]byte, 1))
			c = r.Counters()
		}
		if c.SeesWaits && c.WaitTime == 0 {
			t.Errorf("%+v: the wait until the deadline has no time", c)
		}
	})
}

func TestACapacityIsNotNegative(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, _ := open(t, kind, 0, how)
		_, err := w.SetCapacity(-1)
		if err == nil || !strings.Contains(err.Error(), "-1 bytes: a capacity is not negative") {
			t.Errorf("SetCapacity(-1): %v", err)
		}
	})
}

// TestACapacityIsNotCutTo32Bits: of 1<<40, the lower 32 bits would ask for the smallest capacity.
func TestACapacityIsNotCutTo32Bits(t *testing.T) {
	wide := int64(1) << 40
	asked := int(wide)
	if int64(asked) != wide {
		t.Skip("an int has 32 bits")
	}
	for _, kind := range syspipe.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			w, _ := open(t, kind, 0, syspipe.Blocking)
			got, set := w.SetCapacity(asked)
			o := syspipe.Options{Capacity: asked, IO: syspipe.Blocking}
			_, _, opened := syspipe.Open(kind, o)
			for op, err := range map[string]error{"SetCapacity": set, "Open": opened} {
				var refused *syspipe.CapacityError
				if !errors.As(err, &refused) || refused.Asked != asked {
					t.Errorf("%s: capacity %d, error %v; want a *CapacityError", op, got, err)
				}
			}
		})
	}
}

func TestUseAfterClose(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		w, r := open(t, kind, 0, how)
		if err := errors.Join(w.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
		_, read := r.Read(make([]byte, 1))
		_, write := w.Write([]byte("x"))
		_, gather := w.Writev([][]byte{[]byte("x")})
		_, capacity := w.Capacity()
		_, set := w.SetCapacity(4096)
		_, fill := r.Buffered()
		for op, err := range map[string]error{
			"Read": read, "Write": write, "Writev": gather, "Capacity": capacity, "SetCapacity": set, "Buffered": fill,
			"SetIO": w.SetIO(how), "SetReadDeadline": r.SetReadDeadline(time.Now()), "a second Close": w.Close(),
		} {
			if !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s after Close: %v, want os.ErrClosed", op, err)
			}
		}
	})
}

// TestCloseEndsACall closes an end while a call on it waits, and at many moments around the start
// of that wait.
func TestCloseEndsACall(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		for i := range 20 {
			delay := time.Duration(i*i) * 10 * time.Microsecond
			_, idle := open(t, kind, 0, how)
			closeDuring(t, idle, delay, func() (int, error) { return idle.Read(make([]byte, 1)) })
			w, r := open(t, kind, 0, how)
			n := closeDuring(t, w, delay, func() (int, error) { return w.Write(make([]byte, 2<<20)) })
			within(t, "read what was accepted", func() {
				if got := len(<-drain(r)); got != n {
					t.Errorf("Write said %d bytes were accepted, %d arrived", n, got)
				}
			})
		}
	})
}

func closeDuring(t *testing.T, e *syspipe.End, delay time.Duration, call func() (int, error)) (n int) {
	t.Helper()
	var err error
	done := make(chan struct{})
	go func() { defer close(done); n, err = call() }()
	for !e.Busy() {
		runtime.Gosched()
	}
	time.Sleep(delay)
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	within(t, "the call that was under way", func() { <-done })
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("the call ended with %v, want os.ErrClosed", err)
	}
	return n
}

// A file whose reader has left says so by other errors than an end does, and on Windows by none
// that is an EPIPE.
func TestReaderLeftTellsOfFilesToo(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if _, err := w.Write([]byte{1}); !syspipe.ReaderLeft(err) {
		t.Errorf("error %v of a file, want one of a reader that has left", err)
	}
	w.Close()
	if _, err := w.Write([]byte{1}); err == nil || syspipe.ReaderLeft(err) || syspipe.ReaderLeft(nil) {
		t.Errorf("error %v of a closed file, or none, is taken for one of a reader that has left", err)
	}
}
