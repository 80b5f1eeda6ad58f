package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// An experiment finds out something about one kind of pipe. It is a script: the first error that it
// checks ends it.
type experiment struct {
	name string
	how  string
	run  func(*trial)
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
	for name, work := range map[string]func(*proc.Work){
		workWrite: writeLetters, workEcho: echo, workStdio: describeStdio,
		workHold: func(w *proc.Work) {
			script.Check(w.Report(true))
			w.Linger()
		},
		workStep: func(w *proc.Work) {
			var args stepArgs
			script.Check(w.Args(&args))
			e := script.Must(experimentsNamed([]string{args.Step}))[0]
			e.run(&trial{kind: args.Kind, experiment: e, emit: func(f Finding) { script.Check(w.Report(f)) }})
		},
	} { // last, as it may do the work
		proc.Register(name, func(w *proc.Work) error {
			runtime.GOMAXPROCS(8)  // blocking ends hold a scheduler slot each
			debug.SetGCPercent(-1) // and keep the collector waiting
			return script.Run(func() { work(w) })
		})
	}
}

// experimentsNamed returns those of the names, all of them for nil.
func experimentsNamed(names []string) ([]experiment, error) {
	if names == nil {
		return experiments, nil
	}
	var list []experiment
	for _, name := range names {
		i := slices.IndexFunc(experiments, func(e experiment) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown step %q (known: %s)", name, strings.Join(Steps(), ", "))
		}
		list = append(list, experiments[i])
	}
	return list, nil
}

// A trial is one run of an experiment. What it opens is left to the end of its process.
type trial struct {
	kind       syspipe.Kind
	experiment experiment
	emit       func(Finding)

	slotSize, capacity int // once found
}

// found makes a finding beside what is documented: the value that the rules of this system predict,
// or else what the rule that covers the step says.
func (t *trial) found(step string, value any, unit, how string) {
	t.emit(t.finding(step, value, unit, how))
}

func (t *trial) finding(step string, value any, unit, how string) Finding {
	f := Finding{Pipe: t.kind, Step: step, Value: value, Unit: unit, How: cmp.Or(how, t.experiment.how)}
	r, ok := ruleAbout(t.system().os, step)
	want, predicted := t.system().predict(step)
	if predicted && value != "unsupported" && value != "refused" {
		return f.compare(want, r.Source)
	}
	if ok {
		f.Documented = fmt.Sprintf("%s (%s)", r.Says, r.Source)
	}
	return f
}

// system is that of which the rules hold here: none but those of all for a socket pair, which is no
// pipe.
func (t *trial) system() system {
	if t.kind == syspipe.SocketPair {
		return system{}
	}
	if t.capacity == 0 {
		w, _ := t.openBlocking()
		t.capacity = script.Must(w.Capacity())
	}
	return system{syspipe.System(), os.Getpagesize(), t.capacity}
}

// open makes a pipe whose ends do not block.
func (t *trial) open() (w, r *syspipe.End) {
	w, r = t.openBlocking()
	script.Check(errors.Join(w.SetIO(syspipe.Spin), r.SetIO(syspipe.Spin)))
	return w, r
}

func (t *trial) openBlocking() (w, r *syspipe.End) {
	w, r, err := syspipe.Open(t.kind, 0)
	script.Check(err)
	return w, r
}

// fill writes n bytes a call until refused and returns the bytes accepted, and the count of the
// last write if that was short, else 0.
func fill(w *syspipe.End, n int) (total, last int) {
	p := make([]byte, n)
	return fillModel(func(int) int {
		k, err := w.TryWrite(p)
		if !errors.Is(err, syscall.EAGAIN) {
			script.Check(err)
		}
		return k
	}, n)
}

// full returns a pipe that accepts nothing more: filled with large writes, which leave no room
// unused.
func (t *trial) full() (w, r *syspipe.End, capacity int) {
	w, r = t.open()
	capacity, _ = fill(w, 1<<20)
	if runtime.GOOS == "windows" { // there a write above the quota is refused whole
		for n := 64 << 10; n > 0; n /= 8 {
			more, _ := fill(w, n)
			capacity += more
		}
	}
	return w, r, capacity
}

// slot returns the bytes that must be read from a full pipe before one more fits.
func (t *trial) slot() int {
	if t.slotSize == 0 {
		w, r, capacity := t.full()
		t.slotSize = readUntil(r, capacity, func() (bool, error) {
			_, err := w.TryWrite([]byte{1})
			if errors.Is(err, syscall.EAGAIN) {
				return false, nil
			}
			return err == nil, err
		})
	}
	return t.slotSize
}

// readUntil reads byte by byte until done, and returns how many it took.
func readUntil(r *syspipe.End, most int, done func() (bool, error)) int {
	p := make([]byte, 1)
	for n := 1; n <= most; n++ {
		script.Must(r.TryRead(p))
		if script.Must(done()) {
			return n
		}
	}
	script.Check(fmt.Errorf("nothing changed in %d bytes", most))
	return 0
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
