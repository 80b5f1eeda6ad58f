// Package faults reproduces the ways in which programs fail on stdin and stdout, over real pipes
// and with real processes.
//
//	func main() {
//		bench.Worker()
//		s, err := faults.Find("exit-before-drain")
//		err = s.Run(ctx, faults.Options{Run: run}, func(l results.Line) error { … })
//	}
//
// Each scenario is a program's misbehaviour of the catalogue, and makes one or more fault records.
// A record's verdict is a [Verdict], which a rule without side effects makes of its evidence; its
// advice says in a few sentences what it means and what to do. The evidence of each scenario has a
// type of its own. What this system cannot do is a record too, with the verdict Unsupported.
//
// Every scenario has a deadline. When Run returns no process, pipe or file of it is left.
//
// Scenarios may run at the same time, but then disturb each other's figures. If several writers
// compete, the scheduler decides which bytes get lost: the verdict says what happened in this run,
// and zero is no promise.
package faults

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Verdict says in a word what happened.
type Verdict string

// Verdicts, from harmless to harmful. The worst are those that no program notices: no error, exit
// code 0.
const (
	Unsupported Verdict = "unsupported" // this system cannot do it
	Sound       Verdict = "sound"       // everything arrived, in reasonable time
	Noticed     Verdict = "noticed"     // something was lost, and the program that lost it was told
	Refused     Verdict = "refused"     // the other side said no, and said so
	Slow        Verdict = "slow"        // everything arrived, at many times the cost
	Grows       Verdict = "grows"       // cost or memory grow out of proportion with size
	Stuck       Verdict = "stuck"       // nothing moves any more, and no error says so
	Orphaned    Verdict = "orphaned"    // a process outlived the one it was for
	Corrupted   Verdict = "corrupted"   // what arrived is not what was sent, and passes for it
	SilentLoss  Verdict = "silent-loss" // something was lost, and nobody was told
)

// A Scenario reproduces one misbehaviour.
type Scenario struct {
	Misbehaviour
	experiment
}

// An experiment is what a scenario does. The first error ends it.
type experiment struct {
	Deadline time.Duration // of the whole scenario
	run      func(context.Context, *recorder) error
}

// experiments are by their names in the catalogue.
var experiments = map[string]experiment{
	"reader-gone":        {time.Minute, runReaderGone},
	"exit-before-drain":  {time.Minute, runExitBeforeDrain},
	"orphan":             {time.Minute, runOrphan},
	"full-pipe":          {3 * time.Minute, runFullPipe},
	"both-write-first":   {time.Minute, runBothWriteFirst},
	"stderr-undrained":   {time.Minute, runStderrUndrained},
	"nonblocking-stdout": {time.Minute, runNonBlockingStdout},
	"head-of-line":       {time.Minute, runHeadOfLine},
	"interleave":         {3 * time.Minute, runInterleave},
	"split-utf8":         {time.Minute, runSplitText},
	"dirty-lines":        {time.Minute, runDirtyLines},
	"framing-mismatch":   {time.Minute, runFramingMismatch},
	"growth":             {5 * time.Minute, runGrowth},
	"no-newline":         {2 * time.Minute, runNoNewline},
}

// Jobs is what processes of their own do in experiments: main gives it to [proc.Main].
func Jobs() map[string]proc.Job {
	return map[string]proc.Job{
		"faults/closing-reader": Job(closeReader),
		"faults/printer":        Job(printUntilError),
		"faults/queued-exit":    Job(exitWithQueue),
		"faults/one-write":      Job(writeStdout),
		"faults/client":         Job(startServer),
		"faults/server":         Job(serveLines),
		"faults/write-first":    Job(writeFirst),
		"faults/logger":         Job(logAndAnswer),
		"faults/head-of-line":   Job(timeSmallMessages),
		"faults/writer":         Job(writeShare),
		"faults/receiver":       Job(receiveAndMeasure),
	}
}

// Job makes a job of work that takes arguments.
func Job[A any](work func(*proc.Work, A) error) proc.Job {
	return func(w *proc.Work) error {
		var args A
		if err := w.Args(&args); err != nil {
			return err
		}
		return work(w, args)
	}
}

// All lists the scenarios in the order of the catalogue.
func All() []Scenario {
	var all []Scenario
	for _, m := range programs {
		all = append(all, Scenario{m, experiments[m.Name]})
	}
	return all
}

// Find returns the scenario of that name; its error lists the known names.
func Find(name string) (Scenario, error) {
	var known []string
	for _, m := range programs {
		if m.Name == name {
			return Scenario{m, experiments[name]}, nil
		}
		known = append(known, m.Name)
	}
	return Scenario{}, fmt.Errorf("scenario %q is not known; known are %s",
		name, strings.Join(known, ", "))
}

// Options are what a scenario may be told.
type Options struct {
	Run  string // names the run in its records
	Seed int64  // of the messages and of the order of samples

	// Observe, if set, is told of each step as it begins, from the goroutine that called Run.
	Observe func(step string)
}

// Run does what the scenario is about and gives its records to keep as they come: faults, and the
// measurements that some of them rest on.
func (s Scenario) Run(ctx context.Context, o Options, keep func(results.Line) error) error {
	late := fmt.Errorf("scenario %s took longer than %s", s.Name, s.Deadline)
	ctx, cancel := context.WithTimeoutCause(ctx, s.Deadline, late)
	defer cancel()
	err := s.run(ctx, &recorder{Options: o, scenario: s.Name, keep: keep})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// A finding is the evidence of one fault. Its rule fills in the Summary too, and takes evidence of
// any content, since files hold what they hold.
type finding interface {
	judge() (v Verdict, advice string)
}

//go:embed advice.txt
var adviceText string

// advice is what to do about an outcome, by its name: that of the scenario, and what came of it.
var advice = catalogue.Texts(adviceText)

// advise returns what to do about an outcome, with its figures.
func advise(outcome string, figures ...any) string {
	return fmt.Sprintf(advice()[outcome], figures...)
}

// Summarised is a part of every fault's evidence.
type Summarised struct {
	Summary string `json:"summary,omitempty"` // what happened, in a line
}

// A missing finding is the evidence of what this system cannot do.
type missing struct{ Summarised }

func (missing) judge() (Verdict, string) { return Unsupported, "" }

// A recorder keeps what a scenario finds.
type recorder struct {
	Options
	scenario string
	keep     func(results.Line) error
}

// step says what is about to be done.
func (r *recorder) step(format string, args ...any) {
	if r.Observe != nil {
		r.Observe(fmt.Sprintf(format, args...))
	}
}

// try makes one experiment of the scenario and records what it found.
func (r *recorder) try(part string, experiment func() (finding, error)) error {
	r.step("%s", part)
	found, err := experiment()
	if err != nil {
		return err
	}
	return r.record(part, found)
}

// record judges a finding and keeps its record, "scenario" or "scenario/part".
func (r *recorder) record(part string, f finding) error {
	verdict, advice := f.judge()
	evidence, err := results.NewEvidence(f)
	if err != nil {
		return err
	}
	return r.keep(results.Fault{
		Run:      r.Run,
		Time:     time.Now().UTC(),
		ID:       strings.TrimSuffix(r.scenario+"/"+part, "/"),
		Verdict:  string(verdict),
		Evidence: evidence,
		Advice:   advice,
	})
}

// recordUnsupported keeps a record of what this system cannot do.
func (r *recorder) recordUnsupported(part string, why error) error {
	return r.record(part, &missing{Summarised{why.Error()}})
}

// Size writes a number of bytes as a person would say it: exact where that is short.
func Size[N int | int64](bytes N) string {
	if bytes < 1<<20 || bytes%(1<<20) == 0 {
		return results.FormatSize(int64(bytes))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// ErrorText returns the text of an error, "" for none.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// start starts this program again, to do work of that name.
func start(
	ctx context.Context, work string, args any, ends ...*syspipe.End,
) (*proc.Process, error) {
	defer proc.CloseAll(ends)
	p, err := proc.Self(work, args, ends...)
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}
