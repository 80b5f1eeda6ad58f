// Package experiment runs each experiment in a process of its own, and kills it at a deadline: an
// experiment may block for ever. The package is for pipebench's commands and may change.
package experiment

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Values of Finding.Class if the verdict is [results.CannotTell]. They say how the experiment
// ended.
const (
	NoResult = "no result" // stopped at the deadline
	Fails    = "fails"
)

// An Experiment finds something out.
type Experiment struct {
	ID    string
	Title string        // what the experiment does, in one line
	Limit time.Duration // the deadline; 0: DefaultLimit, or more if processes start slowly here
	Do    func(*Trial)
}

// A Trial is one run of an experiment. It keeps the first error, and from then on its methods do
// nothing, so only a loop has to look at Err. What a trial opens stays open until its process ends.
type Trial struct {
	Ctx    context.Context
	report func(results.Finding) error
	err    error
}

// NewTrial returns a trial that calls report with each finding.
func NewTrial(ctx context.Context, report func(results.Finding) error) *Trial {
	return &Trial{Ctx: ctx, report: report}
}

// Err returns the first error that the trial met.
func (t *Trial) Err() error { return t.err }

// Check keeps err if it is the first error, and reports whether there has been no error so far.
func (t *Trial) Check(err error) bool {
	if t.err == nil {
		t.err = err
	}
	return t.err == nil
}

// Open makes a pipe of that kind. Reads and writes on its ends block. After an error, every call on
// the returned ends fails.
func (t *Trial) Open(kind syspipe.Kind) (w, r *syspipe.End) {
	var err error
	if t.err == nil {
		w, r, err = syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking})
	}
	if !t.Check(err) {
		return &syspipe.End{}, &syspipe.End{}
	}
	return w, r
}

// Found reports a finding.
func (t *Trial) Found(f results.Finding) {
	if t.err == nil {
		t.Check(t.report(f))
	}
}

// Start starts this program again, to do the job named work with args and the pipe ends. The ends
// stay open in this process, too. After an error, it returns nil.
func (t *Trial) Start(work string, args any, ends ...*syspipe.End) *proc.Process {
	if t.err != nil {
		return nil
	}
	p, err := proc.Self(work, args, ends...)
	if !t.Check(err) {
		return nil
	}
	if !t.Check(p.Start(t.Ctx)) {
		return nil
	}
	return p
}

// Jobs returns the jobs that the experiments need, for [proc.Main]. The job named work runs one of
// the experiments in the list. helpers has the jobs of helper processes.
func Jobs(work string, list []Experiment, helpers map[string]proc.Job) map[string]proc.Job {
	jobs := map[string]proc.Job{}
	for name, job := range helpers {
		jobs[name] = withEndsThatBlock(job)
	}
	jobs[work] = withEndsThatBlock(func(w *proc.Work) error {
		var id string
		if err := w.Args(&id); err != nil {
			return err
		}
		for _, e := range list {
			if e.ID == id {
				t := NewTrial(context.Background(), func(f results.Finding) error {
					return w.Report(f)
				})
				e.Do(t)
				return t.Err()
			}
		}
		return fmt.Errorf("no experiment is called %s", id)
	})
	return jobs
}

// withEndsThatBlock prepares a job for calls that may block for ever.
func withEndsThatBlock(job proc.Job) proc.Job {
	return func(w *proc.Work) error {
		// A blocked call can occupy one of the threads that run Go code, so allow eight.
		runtime.GOMAXPROCS(8)
		debug.SetGCPercent(-1) // no garbage collection, which would wait for the call
		return job(w)
	}
}
