// Package probe finds out by experiment what the pipes of this machine do, and compares what it
// finds with the documented rules.
//
//	func main() {
//		proc.Worker() // first of all
//		err := probe.Run(ctx, probe.Options{}, func(f probe.Finding) error {
//			_, err := fmt.Println(f.Pipe, f.Step, f.Value, f.Unit)
//			return err
//		})
//	}
//
// Nothing is assumed: the size of a slot, the capacity and the limits are measured, and what the
// rules predict is computed from those. Every experiment runs in a process of its own, started from
// this same program, so that one which hangs is killed at its deadline and is a finding too. It is
// started as [proc] describes, so main (and TestMain) must call [proc.Worker] before anything else.
//
// Run uses no state of the process but its executable; several may run at once, to the detriment of
// the times they measure. What another machine would find is not promised: the rules of other
// systems are in [Rules], marked as read and not measured.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// Options say what to probe. The zero Options probe everything.
type Options struct {
	Kinds []syspipe.Kind // nil: each kind that this system supports
	Steps []string       // names of experiments, as [Steps] lists them; nil: all
	// StepTimeout is how long one experiment may take; 0 is [DefaultStepTimeout], and more where
	// this machine is slow to start a process. One that takes longer is killed, and its finding is
	// "hangs".
	StepTimeout time.Duration
	// Observe, if set, is called after each experiment, from the goroutine that called Run.
	Observe func(Progress)
}

// Progress is one experiment that is over.
type Progress struct {
	Pipe     syspipe.Kind
	Step     string // the experiment, as [Steps] lists it
	Findings int    // that it brought
	Done, Of int    // experiments, this one among the former
}

// Validate reports what cannot be asked for: an unknown kind or step.
func (o Options) Validate() error {
	for _, k := range o.Kinds {
		if _, err := syspipe.ParseKind(string(k)); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
	if _, err := experimentsNamed(o.Steps); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

// DefaultStepTimeout is some ten times what the slowest experiment takes on an idle machine.
const DefaultStepTimeout = 5 * time.Second

// stepPerStart is how many times as long as its process takes to start an experiment may take: ten
// times what the slowest does.
const stepPerStart = 200

// maxStepTimeout bounds that: some six times what the slowest took in any emulator.
const maxStepTimeout = 2 * time.Minute

// stepLimit is how long an experiment may take whose process took start to begin: in an emulator,
// where all is slow, more than the default.
func stepLimit(start time.Duration) time.Duration {
	return min(max(DefaultStepTimeout, stepPerStart*start), maxStepTimeout)
}

// Steps returns the names of the experiments, in the order in which they run.
func Steps() []string {
	names := make([]string, len(experiments))
	for i, e := range experiments {
		names[i] = e.name
	}
	return names
}

// A Finding is one thing that an experiment found.
type Finding struct {
	Pipe       syspipe.Kind `json:"pipe"`
	Step       string       `json:"step"`  // such as "capacity/fill/2049"
	Value      any          `json:"value"` // a number, a string or a bool
	Unit       string       `json:"unit,omitempty"`
	How        string       `json:"how"`                  // the experiment, in a line
	Documented string       `json:"documented,omitempty"` // the rule's prediction, and its source
	Agrees     *bool        `json:"agrees,omitempty"`     // nil where nothing is documented
}

// compare notes what a rule predicts for the finding, and whether it agrees.
func (f Finding) compare(predicted any, source string) Finding {
	f.Agrees = new(fmt.Sprint(f.Value) == fmt.Sprint(predicted))
	f.Documented = strings.TrimSpace(fmt.Sprintf("%v %s", predicted, f.Unit))
	if source != "" {
		f.Documented += " (" + source + ")"
	}
	return f
}

// Run makes the experiments and calls found for each finding as it comes; it stops at the first
// error of found. An experiment that fails or hangs is itself a finding, and the others go on; so is
// a kind that this system lacks. With all of them Run takes some seven seconds.
func Run(ctx context.Context, o Options, found func(Finding) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	kinds := o.Kinds
	if kinds == nil {
		kinds = slices.DeleteFunc(syspipe.Pipes(), func(k syspipe.Kind) bool { return k.Supported() != nil })
	}
	steps, _ := experimentsNamed(o.Steps) // whose names are valid
	over := Progress{Of: len(kinds) * len(steps)}
	for _, over.Pipe = range kinds {
		w, r, err := syspipe.Open(over.Pipe, syspipe.Options{IO: syspipe.Blocking}) // as a kernel that imitates another may lack some of it
		if err == nil {
			err = errors.Join(w.Close(), r.Close())
		}
		if errors.Is(err, errors.ErrUnsupported) {
			if err := found(Finding{Pipe: over.Pipe, Step: "kind", Value: "unsupported", How: err.Error()}); err != nil {
				return err
			}
			over.Done += len(steps)
			continue
		}
		for _, step := range steps {
			over.Step, over.Findings = step.name, 0
			count := func(f Finding) error { over.Findings++; return found(f) }
			if err := runStep(ctx, over.Pipe, step, o.StepTimeout, count); err != nil {
				return err
			}
			over.Done++
			if o.Observe != nil {
				o.Observe(over)
			}
		}
	}
	return nil
}

// runStep makes one experiment in a process of its own.
func runStep(ctx context.Context, kind syspipe.Kind, e experiment, timeout time.Duration, found func(Finding) error) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(cmp.Or(timeout, maxStepTimeout), cancel)
	defer timer.Stop()
	began := time.Now()
	p, err := proc.Self(workStep, stepArgs{e.name, kind})
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer p.Close()
	failed := p.Start(limited)
	if failed == nil {
		if timeout == 0 && p.Begun() == nil {
			timeout = stepLimit(time.Since(began))
			timer.Reset(timeout)
		}
		if err := forward(p, found); err != nil && limited.Err() == nil {
			return err
		}
		failed = p.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return found(Finding{Pipe: kind, Step: e.name, Value: "hangs", How: fmt.Sprintf("%s; killed after %v", e.how, timeout.Round(time.Millisecond))})
	case failed != nil:
		line, _, _ := strings.Cut(failed.Error(), "\n")
		return found(Finding{Pipe: kind, Step: e.name, Value: "fails", How: fmt.Sprintf("%s; %s", e.how, line)})
	}
	return nil
}

// forward hands on the findings that a worker reports, until it reports no more.
func forward(p *proc.Process, found func(Finding) error) error {
	for {
		var f Finding
		err := p.Report(&f)
		if errors.Is(err, io.EOF) && !errors.Is(err, proc.ErrNotBegun) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		if n, ok := f.Value.(float64); ok && n == math.Trunc(n) {
			f.Value = int64(n)
		}
		if err := found(f); err != nil {
			return err
		}
	}
}

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

// system is that of which the rules hold here: none but those of all for what is no pipe, such as a
// socket pair, or a FIFO of macOS, which is one inside.
func (t *trial) system() system {
	if !t.kind.IsPipe() || t.kind == syspipe.FIFO && runtime.GOOS == "darwin" {
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
	return script.Must2(syspipe.Open(t.kind, syspipe.Options{IO: syspipe.Blocking}))
}

// tryWrite writes without blocking; full says that the pipe had no room.
func tryWrite(w *syspipe.End, p []byte) (n int, full bool) {
	n, err := w.TryWrite(p)
	if errors.Is(err, syscall.EAGAIN) {
		return n, true
	}
	script.Check(err)
	return n, false
}

// fill writes n bytes a call until refused and returns the bytes accepted, and the count of the
// last write if that was short, else 0.
func fill(w *syspipe.End, n int) (total, last int) {
	p := make([]byte, n)
	return fillModel(func(int) int {
		k, _ := tryWrite(w, p)
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
			_, full := tryWrite(w, []byte{1})
			return !full, nil
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
