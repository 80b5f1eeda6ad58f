// Package faults reproduces the ways in which programs fail on stdin and
// stdout, over real pipes and with real processes.
//
//	func main() {
//		bench.Worker()
//		faults.Worker() // plays one side of an experiment and exits, or returns
//		s, err := faults.Find("exit-before-drain")
//		err = s.Run(ctx, faults.Options{Run: run}, func(l results.Line) error { … })
//	}
//
// Each scenario makes one or more fault records. A record's verdict is one of
// the [Verdicts], computed from its evidence by a rule without side effects;
// its advice says in a few sentences what it means and what to do. The
// evidence of each scenario has a type of its own, which [Decode] gives back.
// What this system cannot do is a record too, with the verdict Unsupported.
//
// Every scenario has a deadline. When Run returns no process, pipe or file of
// it is left.
//
// Scenarios may run at the same time, but then disturb each other's figures.
// Which bytes get lost is up to the scheduler where several writers compete:
// there the verdict says what happened in this run, and zero is no promise.
package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/faults/evidence"
)

// A Scenario is one way to fail.
type Scenario struct {
	catalogue.Misbehaviour
	Deadline time.Duration // of the whole scenario

	run func(context.Context, *stage) error
}

// All lists the scenarios, related ones together.
func All() []Scenario {
	return []Scenario{
		readerGone, exitBeforeDrain, orphan,
		fullPipe, bothWriteFirst, stderrUndrained, nonBlockingStdout, headOfLine,
		interleave, splitText, dirtyLines, framingMismatch,
		growth, noNewline,
	}
}

// Find returns the scenario of that name; its error lists the known names.
func Find(name string) (Scenario, error) {
	all := All()
	if i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	_, err := catalogue.Find(catalogue.Program, name)
	return Scenario{}, fmt.Errorf("scenario %q is not known; %w", name, err)
}

// Worker plays one side of an experiment and exits, if this process was
// started for that; else it returns at once. Call it first in main and in
// TestMain of every program that runs scenarios.
func Worker() { actor.Play(cast) }

// cast is every part that an actor of this package can play.
var cast = actor.Cast{
	"leaver":      playLeaver,
	"talker":      playTalker,
	"hasty":       playHasty,
	"parent":      playParent,
	"child":       playChild,
	"write-first": playWriteFirst,
	"logger":      playLogger,
	"careless":    playCareless,
	"queue":       playQueue,
	"scribe":      playScribe,
	"hoarder":     playHoarder,
}

// Options are what a scenario may be told.
type Options struct {
	Run  string // names the run in its records
	Seed int64  // of the messages and of the order of samples

	// Observe, if set, is told of each step as it begins, from the goroutine
	// that called Run.
	Observe func(step string)
}

// Run plays the scenario and gives its records to keep as they come: faults,
// and the measurements that some of them rest on.
func (s Scenario) Run(ctx context.Context, o Options, keep func(results.Line) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Deadline, fmt.Errorf("scenario %s took longer than %s", s.Name, s.Deadline))
	defer cancel()
	err := s.run(ctx, &stage{Options: o, scenario: s.Name, keep: keep})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", s.Name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// A stage is what a scenario reports to.
type stage struct {
	Options
	scenario string
	keep     func(results.Line) error
}

// step says what is about to be done.
func (s *stage) step(format string, args ...any) {
	if s.Observe != nil {
		s.Observe(fmt.Sprintf(format, args...))
	}
}

// fault keeps a record, "scenario" or "scenario/part".
func (s *stage) fault(part string, v Verdict, found any, advice string) error {
	fields, err := evidence.Fields(found)
	if err != nil {
		return err
	}
	if e, ok := found.(summarised); ok {
		if fields, err = fields.With("summary", e.summary()); err != nil {
			return err
		}
	}
	id := s.scenario
	if part != "" {
		id += "/" + part
	}
	return s.keep(results.Fault{
		Run: s.Run, Time: time.Now().UTC(),
		ID: id, Verdict: string(v), Evidence: fields, Advice: advice,
	})
}

// unsupported keeps a record of what this system cannot do.
func (s *stage) unsupported(part string, why error) error {
	return s.fault(part, Unsupported, map[string]any{"summary": why.Error()}, "")
}

// measure runs a plan, keeps its records, and returns them.
func (s *stage) measure(ctx context.Context, p bench.Plan) ([]results.Record, error) {
	p.Run, p.Seed = s.Run, s.Seed
	p.Observe = func(progress bench.Progress) {
		s.step("%s: %s", progress.Step, bench.Label(progress.Cell))
	}
	var records []results.Record
	err := bench.Run(ctx, p, func(r results.Record) error {
		records = append(records, r)
		return s.keep(r)
	})
	return records, err
}

// Decode gives the evidence of a fault back as the type it was made from, such
// as [Text] for the scenario split-utf8.
func Decode[E any](f results.Fault) (E, error) {
	e, err := evidence.Into[E](f.Evidence)
	if err != nil {
		return e, fmt.Errorf("%s: %w", f.ID, err)
	}
	return e, nil
}

// steady is the placement whose figures vary least: one CPU for both ends,
// where the system lets a process choose its CPUs.
func steady() string {
	topology, err := placement.Read()
	if err != nil {
		return "free"
	}
	if _, err := topology.Choose("same"); err != nil {
		return "free"
	}
	return "same"
}
