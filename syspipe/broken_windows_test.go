package syspipe_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/pipebench/pipebench/syspipe"
)

// The two errors of a broken pipe are one to the caller, and still told apart: ERROR_NO_DATA (232)
// for a write that begins after the reader has closed, ERROR_BROKEN_PIPE (109) for one that was
// waiting then.
func TestBothErrorsOfABrokenPipeAreEPIPE(t *testing.T) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.Named} {
		t.Run(string(kind)+"/after", func(t *testing.T) {
			w, r := open(t, kind, 4096, syspipe.Blocking)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			_, err := w.Write([]byte{1})
			isBroken(t, err, windows.ERROR_NO_DATA)
		})
		t.Run(string(kind)+"/during", func(t *testing.T) {
			w, r := open(t, kind, 4096, syspipe.Blocking)
			failed := make(chan error, 1)
			go func() {
				_, err := w.Write(make([]byte, 1<<20))
				failed <- err
			}()
			if _, err := r.Read(make([]byte, 1)); err != nil { // the write is under way, and too large to end
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-failed:
				isBroken(t, err, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA)
			case <-time.After(deadline):
				t.Fatal("the write goes on without a reader")
			}
		})
	}
}

// isBroken holds an error against what Windows may have said.
func isBroken(t *testing.T, err error, said ...syscall.Errno) {
	t.Helper()
	var broken *syspipe.BrokenPipeError
	if !errors.Is(err, syscall.EPIPE) || !errors.As(err, &broken) {
		t.Fatalf("error %v is no broken pipe", err)
	}
	for _, number := range said {
		if errors.Is(err, number) {
			return
		}
	}
	t.Errorf("error %v, want one of %v", err, said)
}

// An end that cannot tell its quota offers more than a write may, and with PIPE_NOWAIT tries for
// ever.
func TestAWritingEndTellsItsQuota(t *testing.T) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.Named} {
		t.Run(string(kind), func(t *testing.T) {
			w, r := open(t, kind, 4096, syspipe.Spin)
			if n, err := w.Capacity(); n != 4096 || err != nil {
				t.Errorf("capacity %d, %v; want 4096", n, err)
			}
			got := drain(r)
			within(t, "write more than the quota", func() {
				if n, err := w.Write(pattern(100_000)); n != 100_000 || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			})
			w.Close()
			if n := len(<-got); n != 100_000 {
				t.Errorf("read %d bytes", n)
			}
		})
	}
}
