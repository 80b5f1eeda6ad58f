package syspipe_test

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// TestCloseKeepsTheNumberOfACall closes an end while calls that never wait are made on it, and
// gives its number to a file at once. No byte may land in that file.
func TestCloseKeepsTheNumberOfACall(t *testing.T) {
	for _, how := range []syspipe.IO{syspipe.Poller, syspipe.Poll} {
		t.Run(how.String(), func(t *testing.T) {
			dir := t.TempDir()
			for range 1000 {
				closeWhileTrying(t, dir, how)
			}
		})
	}
}

func closeWhileTrying(t *testing.T, dir string, how syspipe.IO) {
	t.Helper()
	w, _ := open(t, syspipe.Anonymous, 0, how)
	begun := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			_, err := w.TryWrite([]byte{1})
			if i == 0 {
				close(begun)
			}
			if errors.Is(err, os.ErrClosed) {
				return
			}
		}
	}()
	<-begun
	w.Close()
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	within(t, "try to write to a closed end", func() { <-ended })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 0 {
		t.Fatalf("%d bytes went into a file that was opened after Close", info.Size())
	}
}

// TestTheZeroEndIsClosed: it must not take descriptor 0, standard input, for its own.
func TestTheZeroEndIsClosed(t *testing.T) {
	var e syspipe.End
	_, read := e.Read(make([]byte, 1))
	_, write := e.Write([]byte("x"))
	_, gather := e.Writev([][]byte{[]byte("x")})
	_, tryRead := e.TryRead(make([]byte, 1))
	_, tryWrite := e.TryWrite([]byte("x"))
	_, capacity := e.Capacity()
	_, grow := e.Grow(1 << 20)
	_, fill := e.Buffered()
	_, file := e.File()
	for op, err := range map[string]error{
		"Read": read, "Write": write, "Writev": gather, "TryRead": tryRead, "TryWrite": tryWrite,
		"Capacity": capacity, "Grow": grow, "Buffered": fill, "File": file,
		"SetIO": e.SetIO(syspipe.Poll), "SetReadDeadline": e.SetReadDeadline(time.Now()), "Close": e.Close(),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s of the zero End: %v, want os.ErrClosed", op, err)
		}
	}
	if _, err := os.Stdin.Stat(); err != nil {
		t.Errorf("standard input: %v", err)
	}
}

// TestAnOpenedEndLeavesTheCollectorAlone: the usual way to wait must be safe in any program.
func TestAnOpenedEndLeavesTheCollectorAlone(t *testing.T) {
	cmd := child(t, "collect-while-reading")
	within(t, "collect garbage while an end is read from", func() {
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	})
}

func init() { childJobs["collect-while-reading"] = collectWhileReading }

func collectWhileReading([]string) error {
	for _, kind := range syspipe.Kinds() {
		if kind.Supported() != nil {
			continue
		}
		w, r, err := syspipe.Open(kind, syspipe.Options{})
		if errors.Is(err, errors.ErrUnsupported) {
			continue // as a sandbox lacks some
		}
		if err != nil {
			return err
		}
		ended := make(chan error)
		go func() {
			_, err := r.Read(make([]byte, 1))
			ended <- err
		}()
		for !r.Busy() {
			runtime.Gosched()
		}
		runtime.GC()
		if err := w.Close(); err != nil {
			return err
		}
		<-ended
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}
