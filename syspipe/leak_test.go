//go:build linux || darwin || freebsd

package syspipe_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// TestNothingIsLeft opens, uses and closes pipes of every kind in every way and looks for what
// remains.
func TestNothingIsLeft(t *testing.T) {
	leaktest.Check(t)
	for range 5 {
		for _, kind := range syspipe.Kinds() {
			for _, how := range syspipe.IOs() {
				useAndClose(t, kind, how)
			}
		}
	}
}

func useAndClose(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
	w, r, err := syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		return // unsupported here
	}
	defer func() { w.Close(); r.Close() }()
	if err := r.SetIO(how); errors.Is(err, errors.ErrUnsupported) {
		return
	} else if err != nil {
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
