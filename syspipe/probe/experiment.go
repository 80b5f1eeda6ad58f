package probe

import (
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

// emitPredicted emits a finding beside what the rule that covers it predicts; the rule's source is
// quoted.
func (t *trial) emitPredicted(f Finding, value any) {
	r, _ := ruleAbout(runtime.GOOS, f.Step)
	t.emit(f.compare(value, r.Source))
}

// emitOnLinux is emitPredicted where Linux's rules for pipes hold, and emits f alone elsewhere.
func (t *trial) emitOnLinux(f Finding, value any) {
	if t.onLinux() {
		t.emitPredicted(f, value)
	} else {
		t.emit(f)
	}
}

// isPipe reports whether the rules for pipes hold; a socket pair is none.
func (t *trial) isPipe() bool { return t.kind != syspipe.SocketPair }

// onLinux reports whether Linux's rules for pipes hold.
func (t *trial) onLinux() bool { return t.isPipe() && runtime.GOOS == "linux" }

// onBSD reports whether the rules that macOS and FreeBSD share hold.
func (t *trial) onBSD() bool {
	return t.isPipe() && (runtime.GOOS == "darwin" || runtime.GOOS == "freebsd")
}

// page returns the bytes that Linux's rules count in. A kernel that only says that it is Linux, as
// gVisor does, may have slots of another size: then a finding differs from the rule, and not the
// rule from itself.
func (t *trial) page() int { return os.Getpagesize() }

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
	for {
		k, err := w.TryWrite(p)
		if errors.Is(err, syscall.EAGAIN) {
			return total, last
		}
		script.Check(err)
		total += k
		last = 0
		if k < n {
			last = k
		}
	}
}

// full returns a pipe that accepts nothing more: filled with large writes, which leave no room
// unused.
func (t *trial) full() (w, r *syspipe.End, capacity int) {
	w, r = t.open()
	capacity, _ = fill(w, 1<<20)
	if runtime.GOOS == "windows" {
		capacity, _ = fill(w, 1) // there a write above the quota is refused whole
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
