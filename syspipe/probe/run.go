// Package probe finds out by experiment what the pipes of this machine do, and compares what it
// finds with the documented rules.
//
//	func main() {
//		proc.Worker() // first of all
//		err := probe.Run(ctx, probe.Options{}, func(f probe.Finding) error {
//			_, err := fmt.Println(f)
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
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
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

// Validate reports what cannot be asked for: an unknown kind or step. What this system merely lacks
// is an error of [Run], which wraps [errors.ErrUnsupported].
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

// String returns the finding as a line of text.
func (f Finding) String() string {
	value := strings.TrimSpace(fmt.Sprintf("%v %s", f.Value, f.Unit))
	return fmt.Sprintf("%s %s = %s (%s)", f.Pipe, f.Step, value, f.Verdict())
}

// Verdict returns "agrees" or "differs", "documented" where a rule is known that predicts no value,
// or "not documented".
func (f Finding) Verdict() string {
	switch {
	case f.Agrees == nil && f.Documented != "":
		return "documented"
	case f.Agrees == nil:
		return "not documented"
	case *f.Agrees:
		return "agrees"
	}
	return "differs"
}

// compare notes what a rule predicts for the finding, and whether it agrees.
func (f Finding) compare(predicted any, source string) Finding {
	agrees := fmt.Sprint(f.Value) == fmt.Sprint(predicted)
	f.Agrees = &agrees
	f.Documented = strings.TrimSpace(fmt.Sprintf("%v %s", predicted, f.Unit))
	if source != "" {
		f.Documented += " (" + source + ")"
	}
	return f
}

// Run makes the experiments and calls found for each finding as it comes; it stops at the first
// error of found. An experiment that fails or hangs is itself a finding, and the others go on. With
// all of them Run takes some seven seconds.
func Run(ctx context.Context, o Options, found func(Finding) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	kinds := o.Kinds
	for _, k := range kinds {
		if err := k.Supported(); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
	if kinds == nil {
		kinds = slices.DeleteFunc(syspipe.Kinds(), func(k syspipe.Kind) bool { return k.Supported() != nil })
	}
	steps, err := experimentsNamed(o.Steps)
	if err != nil {
		return err
	}
	over := Progress{Of: len(kinds) * len(steps)}
	for _, over.Pipe = range kinds {
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
