package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/subrun"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// defaultTime is what a run may take to measure, where nobody says and its estimate is not much
// longer: with what is shown and drawn afterwards it ends within 20 s.
const defaultTime = 16 * time.Second

const samplesOfCell = "samples of each cell, short slices of a fork; at least 6 give an interval"

// runFlags are what run was asked for, as it was typed.
type runFlags struct {
	sweep     measure.Sweep
	planned   bench.Plan    // without cells
	shape     measure.Shape // none has no name
	dryRun    bool
	scenarios []string
	assertFlags
	sharedFlags
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	s, c, p := &f.sweep, &f.sweep.Further, &f.planned
	flags.StringSliceVar(&s.Framings, "framing", nil, "framings, such as ndjson,chunked:16KiB, or all (see list)")
	addList(cmd, &s.Sizes, "size", "", measure.ParseSizes, "message sizes, such as 64,4KiB..1MiB")
	addList(cmd, &s.Chunks, "chunk", "", measure.ParseSizes, "chunk sizes, for framings that split messages (default 60KiB)")
	flags.StringSliceVar(&s.Pipes, "pipe", nil, "kinds of pipe (default anonymous)")
	addList(cmd, &s.Capacities, "capacity", "", measure.ParseCapacities, "pipe capacities to ask for, such as 16KiB,64KiB,default")
	flags.StringSliceVar(&s.IOs, "io", nil, "how the ends wait: one value for both, or writer/reader (default blocking)")
	flags.StringSliceVar(&s.Placements, "placement", nil, "where the ends run (default same and apart, where there are two CPUs)")
	flags.StringSliceVar(&s.Peers, "peer", nil, "what the ends are: process or thread (default process)")
	flags.StringSliceVar(&s.Patterns, "pattern", nil, "stream, roundtrip (default both)")
	flags.StringVar(&s.Payload, "payload", "json", "what generated messages are made of")
	flags.StringVar(&p.Recording, "messages", "", "replay a recording (see tap), or a file with a message a line, instead of generating messages")
	addCount(cmd, &p.Samples, "samples", 24, 1, mostCounted, samplesOfCell)
	addCount(cmd, &p.Forks, "forks", bench.DefaultForks, 1, mostCounted, "starts of the workers that the samples of a cell are spread over")
	flags.DurationVar(&p.Duration, "duration", bench.SliceTime, "of one sample, about")
	addParsed(cmd, &p.Precision, "precision", "", parsePrecision, "go on until each median is known this well, such as 2%, or --max-time")
	flags.Float64Var(&c.Rate, "rate", 0, "open loop: messages a second that are due, whether or not the pipe takes them")
	addCount(cmd, &c.Inflight, "inflight", 0, 0, mostInflight, "closed loop: unanswered messages at a time, in round trips")
	addCount(cmd, &c.Batch, "batch", 0, 0, mostCounted, "messages that leave in one system call, in streams")
	addCellField(cmd, c, "drain")
	addCount(cmd, &c.ClosesAfter, "closes-after", 0, 0, mostCounted, "messages after which the reader of a stream stops and closes its end, and its writer is told")
	addParsed(cmd, &c.ReadBuffer, "read-buffer", "", parseSize, "bytes the reader asks for at once (default 256KiB)")
	for _, name := range []string{
		"write_size", "payload_offset", "read_offset", "source", "touch", "work",
	} {
		addCellField(cmd, c, name)
	}
	addParsed(cmd, &c.Transfer, "transfer", "", unless(string(syspipe.Copy)), "vmsplice or splice: zero-copy, in raw streams")
	addParsed(cmd, &c.Clock, "clock", bench.Clocks[0][0], unless(bench.Clocks[0][0]), "sample: read it at the ends of a sample alone, not after each round trip")
	addParsed(cmd, &f.shape, "shape", "", measure.ParseShape, "the work of another benchmark, its figure in its unit: "+strings.Join(stat.Map(measure.Shapes(), func(s measure.Shape) string { return s.Name }), ", "))
	flags.BoolVar(&f.detail, "detail", false, "print all figures of each cell, not what fits a screen")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the cells and how long they will take, and measure nothing")
	flags.StringSliceVar(&f.scenarios, "scenario", nil, "reproduce ways in which stdio fails, such as reader-gone (see list), or all, instead of measuring")
	f.registerAsserts(cmd, "exit 3 unless this holds, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, 0, "begin nothing that would not end within this (default 16s, or half more than a much longer estimate)", view.FormatBench)
}

// parsePrecision reads "2%" or "0.02" as 0.02.
func parsePrecision(s string) (float64, error) {
	v, err := parseShare(s)
	if err != nil || v == 0 || v >= 1 {
		return 0, fmt.Errorf("%q: want a share such as 2%%", s)
	}
	return v, nil
}

// unless reads a field of a cell, which is left out where it has its usual value.
func unless(usual string) func(string) (string, error) {
	return func(s string) (string, error) {
		if s == usual {
			s = ""
		}
		return s, nil
	}
}

// againstShapes are the flags that say what is measured, as a shape does itself.
var againstShapes = []string{
	"framing", "size", "chunk", "pipe", "capacity", "io", "peer", "pattern", "payload", "messages",
	"rate", "inflight", "batch", "drain", "closes-after", "read-buffer", "transfer", "clock",
	"write-size", "payload-offset", "read-offset", "source", "touch", "work",
}

// particular are the flags that ask for something in particular, beside those: a run with any of
// them measures that and no more. Nor does one that is compared, cell by cell, with others.
var particular = []string{"placement", "precision", "assert", "shape"}

// ofScenarios are the flags that mean something to a scenario, which says itself what it measures.
var ofScenarios = []string{"scenario", "detail", "out", "format", "quiet", "no-progress", "seed", "max-time"}

func (f *runFlags) run(cmd *cobra.Command, _ []string) {
	var err error // flags that would be lost in a shape or a scenario, or make something else of it
	cmd.Flags().Visit(func(g *pflag.Flag) {
		switch {
		case len(f.scenarios) > 0 && !slices.Contains(ofScenarios, g.Name):
			err = fmt.Errorf("--%s has no part in a scenario: leave it out, or run without --scenario", g.Name)
		case f.shape.Name != "" && slices.Contains(againstShapes, g.Name):
			err = fmt.Errorf("--%s has no part in a shape: leave it out, or run without --shape", g.Name)
		}
	})
	script.Check(usage(err))
	if len(f.scenarios) > 0 {
		f.reproduce(cmd)
		return
	}
	if subrun.InTurns() && !cmd.Flags().Changed("forks") {
		f.planned.Forks = 1
	}
	plan, err := script.Of(func() bench.Plan { return f.plan(cmd.Context()) })
	script.Check(usage(err))
	stages := []measure.Stage{{Plan: plan}}
	if !slices.ContainsFunc(slices.Concat(againstShapes, particular), cmd.Flags().Changed) && !subrun.RecordsOnly() {
		stages = script.Must(f.sweep.WithFurther(plan))
	}
	if !f.dryRun {
		f.measureCells(cmd, stages)
		return
	}
	for _, s := range stages {
		err = errors.Join(err, printPlan(cmd.OutOrStdout(), s.Plan))
	}
	script.Check(err)
}

// plan is a script. It makes of the flags what to measure.
func (f *runFlags) plan(ctx context.Context) bench.Plan {
	s, usual := &f.sweep, measure.DefaultSweep(script.Must(placement.Read())) // of what the flags do not say
	if f.shape.Name != "" {
		f.shape.Fit(s)
	}
	if len(s.Capacities) == 0 {
		s.Capacities = usual.Capacities
	}
	for _, list := range []struct{ asked, usual *[]string }{
		{&s.Framings, &usual.Framings}, {&s.Pipes, &usual.Pipes}, {&s.IOs, &usual.IOs},
		{&s.Placements, &usual.Placements}, {&s.Peers, &usual.Peers}, {&s.Patterns, &usual.Patterns},
	} {
		if len(*list.asked) == 0 {
			*list.asked = *list.usual
		}
	}
	if f.planned.Recording != "" {
		s.Recording = script.Must(interruptibly(ctx, f.planned.Recording, payload.ReadRecording))
	}
	p := f.planned
	p.Cells, p.MaxTime, p.Seed, p.Turn = script.Must(s.Cells()), f.maxTime, f.seed, subrun.Turn
	if p.MaxTime == 0 {
		p.MaxTime = defaultTime
		if estimate := p.Estimate(); estimate > defaultTime*3/2 {
			p.MaxTime = estimate * 3 / 2
		}
	}
	return script.Must(p.Checked())
}

// printPlan prints the cells, and once each why some are not for this machine. Where none is, that
// is what the run would end with.
func printPlan(w io.Writer, p bench.Plan) error {
	missing := func(c results.Cell) string { return faults.ErrorText(bench.Unsupported(c)) }
	here := stat.Filter(p.Cells, func(c results.Cell) bool { return missing(c) == "" })
	for _, c := range here {
		fmt.Fprintln(w, c.Key())
	}
	lacking := stat.GroupBy(stat.Filter(p.Cells, func(c results.Cell) bool { return missing(c) != "" }), missing)
	if len(here) == 0 {
		reasons := stat.Map(lacking, func(cells []results.Cell) string { return missing(cells[0]) })
		return fmt.Errorf("no cell can be measured here: %s", strings.Join(reasons, "; "))
	}
	for _, cells := range lacking {
		fmt.Fprintf(w, "unsupported: %s: %s\n", results.FormatCount(len(cells), "cell"), missing(cells[0]))
	}
	_, err := fmt.Fprintf(w, "%d cells of %d samples: about %s, at most %s\n",
		len(here), p.Samples, p.Estimate().Round(100*time.Millisecond), p.MaxTime)
	return err
}

// overrun is what the end of a run may take beyond its time on a busy machine: only a message that
// takes longer by itself, as with a slow reader, is cut off.
const overrun = 2 * time.Second

// measureCells runs stages, keeps their records in a folder, and shows and judges what they say.
func (f *runFlags) measureCells(cmd *cobra.Command, stages []measure.Stage) {
	last := stages[len(stages)-1]
	var leftOut []string
	f.measure(cmd, task{
		maxTime: last.MaxTime + last.MaxTime/4 + overrun,
		work: func(ctx context.Context, s *session) {
			var err error
			leftOut, err = s.runStages(ctx, stages)
			script.Check(err)
		},
		show: func(all, _ *results.Set) {
			err := f.view(cmd, all)
			if len(leftOut) > 0 {
				fmt.Fprintf(beside(cmd, f.format), "left out for want of time: %s (or ask for a longer --max-time)\n", strings.Join(leftOut, "; "))
			}
			for _, r := range all.Records {
				if figure, ok := f.shape.Figure(r); ok { // as the other benchmark prints it
					fmt.Fprintln(cmd.ErrOrStderr(), figure)
				}
			}
			script.Check(err)
		},
		bench: whole,
		gate: func(measured error, own *results.Set) {
			if measured == nil { // what was not measured is not judged
				script.Check(f.judge(cmd, f.format, own))
			}
		},
	})
}

// runStages measures the cells of stages, and keeps their records. Each has until its MaxTime since
// the beginning of the first, and is left out unless it fits into what there is of it.
func (s *session) runStages(ctx context.Context, stages []measure.Stage) (leftOut []string, err error) {
	const calibrations = 2                      // steps that a cell takes before its samples: the untimed one and the short one
	left, total, done := map[string]int{}, 0, 0 // steps to come, by cell
	cells, began := 0, time.Now()
	var kept []results.Record
	observe := func(at bench.Progress) {
		key, step := at.Cell.Key(), 1
		if at.Step == bench.Finished {
			step = left[key] // along with those that it did not need
		}
		step = min(step, left[key]) // with a precision to reach, samples go on beyond the plan
		left[key] -= step
		done += step
		s.progress.step(bench.Label(at.Cell))
		s.progress.units(done, total)
	}
	for i, p := range stages {
		if time := p.MaxTime - time.Since(began); i > 0 && !p.Fits(kept, time) {
			leftOut = append(leftOut, p.Else)
			continue
		} else if i > 0 {
			p.MaxTime = time
		}
		p.Run, p.Observe = s.run, observe
		for _, c := range p.Cells {
			left[c.Key()] = p.Samples + calibrations
			total += p.Samples + calibrations
		}
		cells += len(p.Cells)
		if err := bench.Run(ctx, p.Plan, func(r results.Record) error {
			kept = append(kept, r)
			s.progress.finish(cells, bench.Label(r.Cell)+": "+outcome(r))
			return s.Write(r)
		}); err != nil {
			return leftOut, err
		}
	}
	return leftOut, nil
}

// outcome is a record in a few words.
func outcome(r results.Record) string {
	switch {
	case r.Unsupported != "":
		return "unsupported: " + r.Unsupported
	case r.Failed != "":
		return "failed: " + r.Failed
	}
	n := results.FormatCount(len(r.Samples), "sample")
	if n == "" {
		return ""
	}
	m := stat.RelativeMetric(r.Cell, r.Cell)
	return fmt.Sprintf("%s, %s", n, m.Format(m.Estimate(r).Median))
}

// whole has bench.txt hold all that the folder does.
func whole(all *results.Set) *results.Set { return all }

// allScenarios asks for every scenario.
const allScenarios = "all"

// reproduce reproduces faults, keeps their records, and shows them.
func (f *runFlags) reproduce(cmd *cobra.Command) {
	var chosen []faults.Scenario
	for _, name := range f.scenarios {
		if name == allScenarios {
			chosen = faults.All()
			break
		}
		s, err := faults.Find(name)
		if err != nil {
			script.Check(usage(fmt.Errorf("%w; %q is all of them", err, allScenarios)))
		}
		chosen = append(chosen, s)
	}
	f.measure(cmd, task{
		maxTime: f.maxTime,
		work: func(ctx context.Context, s *session) {
			var failed []error // one that fails does not keep the next from its turn
			for _, scenario := range chosen {
				observe := func(step string) { s.progress.step(scenario.Name + ": " + step) }
				o, kept := faults.Options{Run: s.run, Seed: s.flags.seed, Observe: observe}, 0
				err := scenario.Run(ctx, o, func(l results.Line) error {
					kept++
					return s.Write(l)
				})
				failed = append(failed, err)
				if ctx.Err() != nil {
					break
				}
				s.progress.finish(len(chosen), scenario.Name+": "+results.FormatCount(kept, "record"))
			}
			script.Check(errors.Join(failed...))
		},
		show: func(_, own *results.Set) {
			demand(len(own.Faults) > 0, view.ErrNothing)
			script.Check(viewFaults(cmd.OutOrStdout(), f.format, own, chosen, viewOptions(cmd, f.detail)))
		},
		gate: func(_ error, own *results.Set) {
			supported := func(r results.Fault) bool { return r.Verdict != string(faults.Unsupported) }
			demand(slices.ContainsFunc(own.Faults, supported),
				errors.New("this system can do nothing of that"))
		},
	})
}

// viewFaults writes what each scenario did: for people a table of what all came to, or with detail a
// page each, with the advice below.
func viewFaults(w io.Writer, format view.Format, set *results.Set, chosen []faults.Scenario, o view.Options) error {
	if format == view.FormatCSV {
		return scenarioTable("", set.Faults).Write(w, format, o)
	}
	if !readable(format) {
		return view.Write(w, set, format, o)
	}
	scenario := func(r results.Fault) string { name, _, _ := strings.Cut(r.ID, "/"); return name }
	if format == view.FormatTable && !o.Detail {
		// a row for the faults of a scenario that came to one verdict
		alike := stat.GroupBy(set.Faults, func(r results.Fault) [2]string { return [2]string{scenario(r), r.Verdict} })
		slices.SortStableFunc(alike, func(a, b []results.Fault) int { return cmp.Compare(scenario(a[0]), scenario(b[0])) })
		t := scenarioTable("", stat.Map(alike, func(same []results.Fault) results.Fault { return same[0] }))
		for i, same := range alike {
			if more := len(same) - 1; more > 0 {
				t.Rows[i][0].Text += fmt.Sprintf(" (+%d)", more)
			}
			t.Rows[i][2].Text = view.Truncate(t.Rows[i][2].Text, 40) // a line each
		}
		words := view.CountWords(set.Faults, func(r results.Fault) string { return r.Verdict })
		total := fmt.Sprintf("%s, %s", results.FormatCount(len(set.Faults), "fault"), words)
		notes := []string{"each of them, and what to do about it: --detail"}
		return view.Page{Header: []string{total}, Tables: []view.Table{t}, Notes: notes}.Write(w, format, o)
	}
	space := ""
	for _, s := range chosen {
		mine := stat.Filter(set.Faults, func(r results.Fault) bool { return scenario(r) == s.Name })
		if len(mine) == 0 {
			continue
		}
		fmt.Fprint(w, space)
		space = "\n"
		// the advice, each piece once, with the first of those that it is about
		advised := stat.Filter(mine, func(r results.Fault) bool { return r.Advice != "" })
		page := view.Page{Tables: []view.Table{scenarioTable(s.Name+": "+s.Title, mine)}}
		for _, same := range stat.GroupBy(advised, func(r results.Fault) string { return r.Advice }) {
			_, who, _ := strings.Cut(same[0].ID, "/")
			if more := len(same) - 1; more > 0 {
				who += fmt.Sprintf(" and %d more", more)
			}
			page.Notes = append(page.Notes, who+": "+same[0].Advice)
		}
		if err := page.Write(w, format, o); err != nil {
			return err
		}
	}
	return nil
}

func scenarioTable(title string, all []results.Fault) view.Table {
	t := view.Table{Title: title, Columns: view.Columns("fault", "verdict", "what happened", "+advice")}
	for _, r := range all {
		var e struct {
			Summary string `json:"summary"`
		}
		_ = r.Evidence.Decode(&e) // a record of another kind has no summary
		t.Append(r.ID, r.Verdict, e.Summary, r.Advice)
	}
	return t
}
