package probe

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// An experiment finds out something about one kind of pipe.
type experiment struct {
	name string
	how  string
	run  func(*trial) error
}

var experiments []experiment

func init() {
	experiments = []experiment{
		{"capacity", "ask the kernel, or fill an empty pipe where it does not say", probeCapacity},
		{"slot", "read a full pipe byte by byte until one more byte fits", probeSlot},
		{"fill", "write without blocking until refused", probeFill},
		{"growth", "write to a new pipe and compare", probeGrowth},
		{"settable", "ask for other capacities and read back", probeSettable},
		{"all-or-nothing", "write n bytes where n - 1 are free", probeAllOrNothing},
		{"poll", "ask poll(2) while a full pipe is read byte by byte", probePoll},
		{"full", "write to a full pipe", probeFull},
		{"broken", "write, or be writing, when the reader closes", probeBroken},
		{"eof", "close one of two copies of the writing end, then the other", probeEOF},
		{"interleave", "two processes write to one pipe", probeInterleave},
		{"deadlock", "write to an echoing child and do not read", probeDeadlock},
		{"stdio", "start a child and let it look at its standard streams", probeStdio},
	}
	registerWork() // last, as it may do the work
}

func experimentNamed(name string) (experiment, bool) {
	for _, e := range experiments {
		if e.name == name {
			return e, true
		}
	}
	return experiment{}, false
}

// A trial is one run of an experiment. What it opens is left to the end of its process.
type trial struct {
	kind       syspipe.Kind
	experiment experiment
	emit       func(Finding) error

	slotSize int // once found
}

// finding starts a finding of this trial. A rule that covers it but predicts no figure is quoted.
func (t *trial) finding(step string, value any, unit, how string) Finding {
	f := Finding{Pipe: t.kind, Step: step, Value: value, Unit: unit, How: how}
	if f.How == "" {
		f.How = t.experiment.how
	}
	if r, ok := ruleAbout(runtime.GOOS, step); ok && t.isPipe() {
		f.Documented = fmt.Sprintf("%s (%s)", r.Says, r.Source)
	}
	return f
}

// predicted emits a finding beside what the rule that covers it predicts; the rule's source is
// quoted.
func (t *trial) predicted(f Finding, value any) error {
	r, _ := ruleAbout(runtime.GOOS, f.Step)
	return t.emit(f.compare(value, r.Source))
}

// isPipe reports whether the rules for pipes hold; a socket pair is none.
func (t *trial) isPipe() bool { return t.kind != syspipe.SocketPair }

// onLinux reports whether Linux's rules for pipes hold.
func (t *trial) onLinux() bool { return t.isPipe() && runtime.GOOS == "linux" }

// open makes a pipe whose ends do not block.
func (t *trial) open() (w, r *syspipe.End, err error) {
	w, r, err = syspipe.Open(t.kind, 0)
	if err != nil {
		return nil, nil, err
	}
	return w, r, errors.Join(w.SetIO(syspipe.Spin), r.SetIO(syspipe.Spin))
}

// fill writes n bytes a call until refused and returns the bytes accepted, and the count of the
// last write if that was short, else 0.
func fill(w *syspipe.End, n int) (total, last int, err error) {
	p := make([]byte, n)
	for {
		k, err := w.TryWrite(p)
		if errors.Is(err, syscall.EAGAIN) {
			return total, last, nil
		}
		if err != nil {
			return total, last, err
		}
		total += k
		last = 0
		if k < n {
			last = k
		}
	}
}

// full returns a pipe that accepts nothing more: filled with large writes, which leave no room
// unused.
func (t *trial) full() (w, r *syspipe.End, capacity int, err error) {
	w, r, err = t.open()
	if err != nil {
		return nil, nil, 0, err
	}
	capacity, _, err = fill(w, 1<<20)
	if err == nil && t.onWindows() {
		capacity, _, err = fill(w, 1) // there a write above the quota is refused whole
	}
	return w, r, capacity, err
}

func (t *trial) onWindows() bool { return runtime.GOOS == "windows" }

// slot returns the bytes that must be read from a full pipe before one more fits.
func (t *trial) slot() (int, error) {
	if t.slotSize > 0 {
		return t.slotSize, nil
	}
	w, r, capacity, err := t.full()
	if err != nil {
		return 0, err
	}
	t.slotSize, err = readUntil(r, capacity, func() (bool, error) {
		_, err := w.TryWrite([]byte{1})
		if errors.Is(err, syscall.EAGAIN) {
			return false, nil
		}
		return err == nil, err
	})
	return t.slotSize, err
}

// readUntil reads byte by byte until done, and returns how many it took.
func readUntil(r *syspipe.End, most int, done func() (bool, error)) (int, error) {
	p := make([]byte, 1)
	for n := 1; n <= most; n++ {
		if _, err := r.TryRead(p); err != nil {
			return 0, err
		}
		if ok, err := done(); ok || err != nil {
			return n, err
		}
	}
	return 0, fmt.Errorf("nothing changed in %d bytes", most)
}

// await polls until ok, but not longer than limit.
func await(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
