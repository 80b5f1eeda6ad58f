// Package experiment runs experiments, each in a process of its own and with a deadline. It is for
// pipebench's commands and may change.
//
// An experiment may block for ever, and whether it does may be the question. So it runs in a
// process that is started for it and killed at its deadline: an experiment that hangs is a finding,
// and the next experiment begins.
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

// Classes of a finding whose verdict is [results.CannotTell]: how the experiment ended.
const (
	Hangs = "hangs"
	Fails = "fails"
)

// An Experiment finds something out.
type Experiment struct {
	ID    string
	Title string        // what is done, in a line
	Limit time.Duration // 0: DefaultLimit, or more if processes start slowly here
	Do    func(*Trial)
}

// A Trial is one run of an experiment. Check and the methods that can fail keep the first error;
// after it, the methods do nothing. Loops have to look at Err. What a trial opens stays open
// until its process ends.
type Trial struct {
	Ctx    context.Context
	report func(results.Finding) error
	err    error
}

// NewTrial returns a trial that passes its findings to report.
func NewTrial(ctx context.Context, report func(results.Finding) error) *Trial {
	return &Trial{Ctx: ctx, report: report}
}

// Err returns the first error that the trial met.
func (t *Trial) Err() error { return t.err }

// Check keeps err if it is the first error, and reports whether there was none so far.
func (t *Trial) Check(err error) bool {
	if t.err == nil {
		t.err = err
	}
	return t.err == nil
}

// Open makes a pipe of that kind whose ends block. After an error it returns ends on which every
// call fails.
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

// Start starts this program again to do the work of that name. The ends stay open here, too. The
// new process ends with this one, which has a deadline. After an error Start returns nil.
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

// Jobs returns the jobs of the processes that are started for these experiments. others are the
// jobs of the helper processes that experiments start. All are prepared for pipe ends that block.
func Jobs(work string, all func() []Experiment, others map[string]proc.Job) map[string]proc.Job {
	jobs := map[string]proc.Job{}
	for name, job := range others {
		jobs[name] = withEndsThatBlock(job)
	}
	jobs[work] = withEndsThatBlock(func(w *proc.Work) error {
		var id string
		if err := w.Args(&id); err != nil {
			return err
		}
		for _, e := range all() {
			if e.ID == id {
				return e.runIn(w)
			}
		}
		return fmt.Errorf("no experiment is called %s", id)
	})
	return jobs
}

// withEndsThatBlock returns a job in which calls may block for ever. Such a call can keep one of
// GOMAXPROCS from other goroutines, and the garbage collector would wait for it.
func withEndsThatBlock(job proc.Job) proc.Job {
	return func(w *proc.Work) error {
		runtime.GOMAXPROCS(8)
		debug.SetGCPercent(-1) // no garbage collection
		return job(w)
	}
}

// runIn runs the experiment, in the process that was started for it.
func (e Experiment) runIn(w *proc.Work) error {
	t := NewTrial(context.Background(), func(f results.Finding) error { return w.Report(f) })
	e.Do(t)
	return t.Err()
}
