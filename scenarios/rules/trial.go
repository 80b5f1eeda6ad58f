package rules

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe"
)

// A trial makes one experiment with one kind of pipe.
type trial struct {
	*experiment.Trial
	about syspipe.Kind // what the findings are about; "": every kind
	kind  syspipe.Kind // of the pipes that it opens
	how   string       // what the inquiry does, in one line

	slotSize, capacity int // in bytes; 0 until they are measured
}

// found reports what a step of the experiment found, compared with what the rules of this system
// predict. The unit may be "". The text "how" says what was done.
func (t *trial) found(step string, value any, unit, how string) {
	sys := t.system()
	rule, covered := documentedRule(sys.os, step)
	want, predicted := sys.predict(step)
	if predicted && !slices.Contains(undecided, value) {
		t.foundBeside(step, value, unit, how, want, rule.Source)
		return
	}
	documented := ""
	if covered {
		documented = fmt.Sprintf("%s (%s)", rule.Says, rule.Source)
	}
	t.report(step, value, unit, how, results.Noted, documented)
}

// undecided lists the values with which a finding neither confirms nor refutes a prediction.
var undecided = []any{"unsupported", "refused", tooFew}

// foundBeside reports the value that a step found, and the predicted value in want. The finding
// holds if the two are equal. The text "source" names what the prediction is from.
func (t *trial) foundBeside(step string, value any, unit, how string, want any, source string) {
	verdict := results.Refuted
	if fmt.Sprint(value) == fmt.Sprint(want) {
		verdict = results.Holds
	}
	documented := valueText(want, unit)
	if source != "" {
		documented += " (" + source + ")"
	}
	t.report(step, value, unit, how, verdict, documented)
}

func (t *trial) report(step string, value any, unit, how string, verdict results.Verdict,
	documented string) {
	f := results.Finding{
		ID: ID(t.about, step), Title: how, Verdict: verdict,
		Value: value, Unit: unit, Found: valueText(value, unit),
	}
	if documented != "" {
		f.Found += "; documented: " + documented
		f.Evidence = results.MustEvidence(map[string]string{"documented": documented})
	}
	t.Found(f)
}

func valueText(value any, unit string) string {
	if n, ok := (results.Finding{Value: value}).Number(); ok {
		return results.FormatExact(n, unit)
	}
	return strings.TrimSpace(fmt.Sprint(value) + " " + unit)
}

// system returns what the predictions depend on. To a socket pair, only the rules for all systems
// apply. A FIFO of macOS is a socket pair inside.
func (t *trial) system() system {
	if !t.kind.IsPipe() || t.kind == syspipe.FIFO && runtime.GOOS == "darwin" {
		return system{}
	}
	if t.capacity == 0 {
		w, _ := t.open()
		t.capacity = t.capacityOf(w)
	}
	return system{os: syspipe.System(), page: os.Getpagesize(), capacity: t.capacity}
}

func (t *trial) open() (w, r *syspipe.End) { return t.Open(t.kind) }

func (t *trial) openNonBlocking() (w, r *syspipe.End) {
	w, r = t.open()
	t.setIO(w, syspipe.Spin)
	t.setIO(r, syspipe.Spin)
	return w, r
}

func (t *trial) setIO(e *syspipe.End, io syspipe.IO) {
	if t.Err() == nil {
		t.Check(e.SetIO(io))
	}
}

func (t *trial) capacityOf(e *syspipe.End) int {
	if t.Err() != nil {
		return 0
	}
	n, err := e.Capacity()
	t.Check(err)
	return n
}

// tryWrite writes without blocking. The result full is true if the pipe had no room.
func (t *trial) tryWrite(w *syspipe.End, p []byte) (n int, full bool) {
	if t.Err() != nil {
		return 0, true
	}
	n, err := w.TryWrite(p)
	if errors.Is(err, syscall.EAGAIN) {
		return n, true
	}
	t.Check(err)
	return n, false
}

// fill makes writes of n bytes until the pipe refuses one. The result last is how many bytes of the
// last write before that were accepted, or 0 if all were.
func (t *trial) fill(w *syspipe.End, n int) (total, last int) {
	p := make([]byte, n)
	return fillModel(func(int) int {
		k, _ := t.tryWrite(w, p)
		return k
	}, n)
}

// full returns a pipe that accepts no further byte, and how many bytes it holds.
func (t *trial) full() (w, r *syspipe.End, capacity int) {
	w, r = t.openNonBlocking()
	capacity, _ = t.fill(w, 1<<20) // large writes leave no room unused
	if runtime.GOOS == "windows" { // Windows refuses a write if not all of it fits
		for n := 64 << 10; n > 0; n /= 8 {
			more, _ := t.fill(w, n)
			capacity += more
		}
	}
	return w, r, capacity
}

// slot returns how many bytes must be read from a full pipe before one more byte fits.
func (t *trial) slot() int {
	if t.slotSize == 0 {
		w, r, capacity := t.full()
		t.slotSize = t.readUntil(r, capacity, func() (bool, error) {
			_, full := t.tryWrite(w, []byte{1})
			return !full, nil
		})
	}
	return t.slotSize
}

// readUntil reads byte by byte until the function done returns true, and returns how many bytes it
// read. If the function still returns false after "most" bytes, the experiment fails.
func (t *trial) readUntil(r *syspipe.End, most int, done func() (bool, error)) int {
	p := make([]byte, 1)
	for n := 1; n <= most && t.Err() == nil; n++ {
		_, err := r.TryRead(p)
		if !t.Check(err) {
			return 0
		}
		over, err := done()
		if !t.Check(err) {
			return 0
		}
		if over {
			return n
		}
	}
	t.Check(fmt.Errorf("nothing changed in %d bytes", most))
	return 0
}
