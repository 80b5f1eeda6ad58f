//go:build linux || darwin || freebsd

package syspipe_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// descriptors counts those that are open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// TestNothingIsLeft opens, uses and closes pipes of every kind in every way and looks for what
// remains.
func TestNothingIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	round := func() {
		for _, kind := range syspipe.Kinds() {
			for _, how := range syspipe.IOs() {
				useAndClose(t, kind, how)
			}
		}
	}
	round() // what is opened once and kept, as Go's poller is, comes to be here
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 5 {
		round()
	}
	if n := descriptors(t); n != fds {
		t.Errorf("%d descriptors after, %d before", n, fds)
	}
	within(t, "goroutines to end", func() {
		for runtime.NumGoroutine() > goroutines+1 { // within's own
			runtime.Gosched()
		}
	})
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%v is left in the temporary folder", left)
	}
}

func useAndClose(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
	w, r, err := syspipe.Open(kind, 0)
	if err != nil {
		return // unsupported here
	}
	if err := r.SetIO(how); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", kind, err))
	}
	closeDuring(t, r, 100*time.Microsecond, func() (int, error) { return r.Read(make([]byte, 1)) })
	if _, err := w.Pass(child(t, "upper")); err != nil {
		t.Error(err)
	}
	if _, err := w.Capacity(); err != nil {
		t.Error(err)
	}
	w.Write([]byte("x"))
	w.Close()
	w.Close()
}
