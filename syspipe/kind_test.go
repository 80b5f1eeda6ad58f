package syspipe_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

func TestNamesAreReadBack(t *testing.T) {
	for _, k := range syspipe.Kinds() {
		if got, err := syspipe.ParseKind(string(k)); got != k || err != nil {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, err)
		}
	}
	for _, io := range append(syspipe.IOs(), syspipe.Sleep(1500*time.Microsecond)) {
		if got, err := syspipe.ParseIO(io.String()); got != io || err != nil {
			t.Errorf("ParseIO(%q) = %v, %v", io, got, err)
		}
	}
	if io, err := syspipe.ParseIO("sleep"); io != syspipe.Sleep(syspipe.DefaultPause) || err != nil {
		t.Errorf("ParseIO(sleep) = %v, %v", io, err)
	}
}

func TestUnknownNamesListTheKnown(t *testing.T) {
	_, kind := syspipe.ParseKind("tube")
	_, _, opened := syspipe.Open("zebra", syspipe.Options{})
	_, io := syspipe.ParseIO("yield")
	_, nonsense := syspipe.ParseIO("sleep=soon")
	_, never := syspipe.ParseIO("sleep=-1s")
	for want, err := range map[string]error{
		"anonymous, fifo, socketpair, named":       kind,
		`unknown pipe kind "zebra" (known: anon`:   opened,
		"poller, blocking, poll, spin, sleep=10ms": io,
		"sleep=soon: want a duration above zero":   nonsense,
		"sleep=-1s: want a duration above zero":    never,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

// TestSupportedNamesTheSystem: what is not supported says so with the system's name, and cannot be
// opened either.
func TestSupportedNamesTheSystem(t *testing.T) {
	for _, k := range syspipe.Kinds() {
		err := k.Supported()
		w, r, opened := syspipe.Open(k, syspipe.Options{IO: syspipe.Blocking})
		if (err == nil) != (opened == nil) {
			t.Errorf("%s: Supported says %v, Open %v", k, err, opened)
		}
		if opened == nil {
			w.Close()
			r.Close()
			continue
		}
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), runtime.GOOS) {
			t.Errorf("%s: error %v", k, err)
		}
	}
	if _, _, err := syspipe.Open("tube", syspipe.Options{}); err == nil {
		t.Error("an unknown kind was opened")
	}
	if _, _, err := syspipe.Open(syspipe.Kinds()[0], syspipe.Options{Capacity: -1}); err == nil {
		t.Error("a negative capacity was accepted")
	}
}
