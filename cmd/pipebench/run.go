package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
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
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// defaultTime limits the measuring of a run that was given no --max-time, unless its estimate is
// much longer. With the time to show and draw the results, the run ends within 20 s.
const defaultTime = 16 * time.Second

const samplesOfCell = "samples per cell; at least 6 give an interval"

// runFlags are the flags of run.
type runFlags struct {
	presets    []string
	sweep      measure.Sweep // empty lists stand for their default
	capacities string        // as typed
	plan       bench.Plan    // without cells
	dryRun     bool
	repeat     int           // how many runs
	over       time.Duration // that they are spread over
	scenarios  []string
	assertFlags
	sharedFlags
}

func (f *runFlags) register(cmd *cobra.Command) {
	var presets []string
	for _, p := range measure.Presets() {
		presets = append(presets, p.Name)
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.presets, "preset", nil, "lists of cells with a name: "+
		strings.Join(presets, ", ")+" (default default,waiting)")
	f.registerCell(cmd)
	p := &f.plan
	addCount(cmd, &p.Samples, "samples", 24, 1, mostCounted, samplesOfCell)
	addCount(cmd, &p.Forks, "forks", bench.DefaultForks, 1, mostCounted,
		"how often the workers are started anew")
	addDuration(cmd, &p.Duration, "duration", bench.SliceTime, "of one sample, about")
	addParsed(cmd, &p.Precision, "precision", "", parsePrecision,
		"go on until each median is known this well, such as 2%, or --max-time is over")
	flags.BoolVar(&f.detail, "detail", false, "print all figures of each cell")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print what would be measured, and how long that takes")
	addCount(cmd, &f.repeat, "repeat", 1, 1, mostCounted,
		"measure it all so many times, as runs of their own, and show how far figures vary")
	addDuration(cmd, &f.over, "over", 0, "spread the runs of --repeat over this long")
	flags.StringSliceVar(&f.scenarios, "scenario", nil, "now: probe --failures --only NAME")
	if err := flags.MarkHidden("scenario"); err != nil {
		panic(err) // the flag is the line above
	}
	f.registerAsserts(cmd,
		"exit 3 unless this holds, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, 0,
		"stop after this long (default 16s, or half more than a much longer estimate)",
		view.FormatBench)
}

// registerCell adds the flags that say what to measure.
func (f *runFlags) registerCell(cmd *cobra.Command) {
	s := &f.sweep
	c := &f.sweep.Further
	flags := cmd.Flags()
	flags.StringSliceVar(&s.Framings, "framing", nil,
		"framings, such as ndjson,chunked:16KiB, or all (see list)")
	addList(cmd, &s.Sizes, "size", "", measure.ParseSizes, "message sizes, such as 64,4KiB..1MiB")
	addList(cmd, &s.Chunks, "chunk", "", measure.ParseSizes,
		"chunk sizes, for framings that split messages (default 60KiB)")
	flags.StringSliceVar(&s.Pipes, "pipe", nil, "kinds of pipe (default anonymous)")
	addParsed(cmd, &f.capacities, "capacity", "", f.parseCapacities,
		"pipe capacities to ask for, such as 16KiB,1MiB,default; macos: those of macOS, imitated")
	flags.StringSliceVar(&s.IOs, "io", nil,
		"how the ends wait: one value for both, or writer/reader (default blocking)")
	flags.StringSliceVar(&s.Placements, "placement", nil,
		"where the ends run (default same, apart and free, as far as the machine has them)")
	flags.StringSliceVar(&s.Patterns, "pattern", nil, "stream, roundtrip (default both), or "+
		"mixed: small messages are due at --rate behind large ones")
	flags.StringVar(&s.Payload, "payload", "json", "what generated messages are made of")
	flags.StringVar(&f.plan.Recording, "messages", "",
		"replay a recording (see tap), or a file with a message per line, instead of generating")
	flags.Float64Var(&c.Rate, "rate", 0,
		"open loop: messages per second, whether or not the pipe takes them")
	addCount(cmd, &c.Inflight, "inflight", 0, 0, mostInflight,
		"closed loop: unanswered messages at a time, in round trips")
	addCount(cmd, &c.Batch, "batch", 0, 0, mostCounted, "messages per system call, in streams")
	addList(cmd, &s.WriteSizes, "write-size", "", measure.ParseSizes,
		"bytes per write at most, such as 8KiB,64KiB; 0 writes whole messages (default 0)")
	addCount(cmd, &c.ClosesAfter, "closes-after", 0, 0, mostCounted,
		"messages after which the reader of a stream closes its end; the writer is told")
	addParsed(cmd, &c.ReadBuffer, "read-buffer", "", parseSize,
		"bytes the reader asks for at once (default 256KiB)")
	names := []string{
		"frame_wait", "drain", "work", "touch", "source", "payload_offset", "read_offset",
	}
	for _, name := range names {
		addCellField(cmd, c, name)
	}
}

// parseCapacities reads the list, and keeps it as typed: "macos" is explained later.
func (f *runFlags) parseCapacities(list string) (string, error) {
	capacities, err := measure.ParseCapacities(list)
	f.sweep.Capacities = append(f.sweep.Capacities, capacities...)
	return list, err
}

// parsePrecision reads "2%" or "0.02" as 0.02.
func parsePrecision(s string) (float64, error) {
	v, err := parseShare(s)
	if err != nil || v == 0 || v >= 1 {
		return 0, fmt.Errorf("%q: want a share such as 2%%", s)
	}
	return v, nil
}

// cellFlags are the flags of registerCell. A run with one of them measures a sweep, not the
// presets.
var cellFlags = []string{
	"framing", "size", "chunk", "pipe", "capacity", "io", "placement", "pattern", "payload",
	"messages", "rate", "inflight", "batch", "drain", "closes-after", "read-buffer",
	"write-size", "frame-wait", "payload-offset", "read-offset", "source", "touch", "work",
}

// conflict returns an error if a flag was given that another one makes useless.
func (f *runFlags) conflict(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(g *pflag.Flag) {
		if len(f.presets) > 0 && slices.Contains(cellFlags, g.Name) {
			err = fmt.Errorf("--%s has no effect with --preset: a preset says itself what is "+
				"measured; leave out one of them", g.Name)
		}
	})
	return err
}

func (f *runFlags) run(cmd *cobra.Command, _ []string) error {
	if err := f.conflict(cmd); err != nil {
		return usage(err)
	}
	if len(f.scenarios) > 0 {
		instead := "pipebench probe --failures"
		if f.scenarios[0] != "all" {
			instead += " --only " + strings.Join(f.scenarios, ",")
		}
		return usage(fmt.Errorf("run --scenario has another name now: %s", instead))
	}
	if turns.InTurns() && !cmd.Flags().Changed("forks") {
		f.plan.Forks = 1
	}
	plan, err := f.makePlan(cmd)
	if err != nil {
		return usage(err)
	}
	if f.dryRun {
		return printPlan(cmd.OutOrStdout(), plan, f.detail)
	}
	for _, hint := range f.hints() {
		f.say(cmd, "%s", hint)
	}
	return f.measureCells(cmd, plan)
}

// makePlan returns what the flags ask for, checked.
func (f *runFlags) makePlan(cmd *cobra.Command) (bench.Plan, error) {
	topology, err := placement.Read()
	if err != nil {
		return bench.Plan{}, err
	}
	p := f.plan
	if slices.ContainsFunc(cellFlags, cmd.Flags().Changed) {
		p.Cells, err = f.sweepCells(cmd.Context(), topology)
	} else {
		p.Cells, err = f.presetCells(cmd, topology)
	}
	if err != nil {
		return bench.Plan{}, err
	}
	p.MaxTime = f.maxTime
	p.Seed = f.seed
	p.Turn = turns.Turn
	if p.MaxTime == 0 {
		p.MaxTime = defaultTime
		estimate := p.Estimate()
		if !f.isDefault(cmd) && estimate > defaultTime*3/2 {
			p.MaxTime = estimate * 3 / 2
		}
	}
	return p, p.Validate()
}

// isDefault reports whether the run was asked for nothing in particular: it takes as many samples
// as fit into the default time.
func (f *runFlags) isDefault(cmd *cobra.Command) bool {
	return len(f.presets) == 0 && !slices.ContainsFunc(cellFlags, cmd.Flags().Changed)
}

// sweepCells returns the product of the flags, with the usual values for those that were not given.
func (f *runFlags) sweepCells(ctx context.Context, t placement.Topology) ([]results.Cell, error) {
	s := f.sweep
	if f.plan.Recording != "" {
		recording, err := interruptibly(ctx, f.plan.Recording, payload.ReadRecording)
		if err != nil {
			return nil, err
		}
		s.Recording = recording
	}
	return s.Cells(t)
}

// presetCells returns the cells of the presets that were asked for. Without any, the run measures
// the first two, or only the first if its records are compared with those of another run.
func (f *runFlags) presetCells(cmd *cobra.Command, t placement.Topology) ([]results.Cell, error) {
	flags := cmd.Flags()
	presets := []measure.Preset{measure.Default, measure.Waiting}
	if flags.Changed("precision") || flags.Changed("assert") || turns.RecordsOnly() {
		presets = presets[:1]
	}
	if len(f.presets) > 0 {
		presets = nil
	}
	for _, name := range f.presets {
		p, err := measure.FindPreset(name)
		if err != nil {
			return nil, err
		}
		presets = append(presets, p)
	}
	var cells []results.Cell
	for _, p := range presets {
		for _, c := range p.Cells(t) {
			if !slices.Contains(cells, c) { // two presets may share a cell
				cells = append(cells, c)
			}
		}
	}
	return cells, nil
}

// hints say what a reader of the results has to know about the values that were asked for.
func (f *runFlags) hints() []string {
	var hints []string
	for _, size := range f.sweep.Sizes {
		if hint := measure.SpecialSize(size); hint != "" {
			hints = append(hints, hint)
		}
	}
	if strings.Contains(f.capacities, measure.CapacityMacOS) && runtime.GOOS != "darwin" {
		hints = append(hints, measure.MacOSHint)
	}
	return hints
}

// printPlan prints a line for the cells of each pattern, pipe and placement, or with detail each
// cell, and then their sum. If this machine can measure none of them, printPlan returns the error
// that the run would end with.
func printPlan(w io.Writer, p bench.Plan, detail bool) error {
	groups := map[string]int{}
	var order []string
	lacking := map[string]int{}
	var reasons []string
	here := 0
	for _, c := range p.Cells {
		if err := bench.Unsupported(c); err != nil {
			if lacking[err.Error()] == 0 {
				reasons = append(reasons, err.Error())
			}
			lacking[err.Error()]++
			continue
		}
		here++
		if detail {
			fmt.Fprintln(w, c.Key())
			continue
		}
		group := fmt.Sprintf("%s over %s pipes, ends %s",
			c.Pattern, c.Pipe, view.PlacementPhrase(c.Placement))
		if groups[group] == 0 {
			order = append(order, group)
		}
		groups[group]++
	}
	if here == 0 {
		return fmt.Errorf("no cell can be measured here: %s", strings.Join(reasons, "; "))
	}
	for _, group := range order {
		fmt.Fprintf(w, "%s: %s\n", group, results.FormatCount(groups[group], "cell"))
	}
	for _, reason := range reasons {
		fmt.Fprintf(w, "unsupported: %s: %s\n",
			results.FormatCount(lacking[reason], "cell"), reason)
	}
	estimate := min(p.Estimate(), p.MaxTime).Round(100 * time.Millisecond)
	_, err := fmt.Fprintf(w, "%d cells of up to %d samples: about %s, at most %s\n",
		here, p.Samples, estimate, p.MaxTime)
	return err
}

// overrun is how long the end of a run may take beyond its time on a busy machine. Only a message
// that takes longer by itself, as with a slow reader, is cut off.
const overrun = 2 * time.Second

// measureCells measures the plan, keeps its records in a folder, and shows and judges them.
func (f *runFlags) measureCells(cmd *cobra.Command, plan bench.Plan) error {
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	limit := time.Duration(f.repeat)*(plan.MaxTime+plan.MaxTime/4+overrun) + f.over
	measured := s.measure(limit, func(ctx context.Context) error {
		return f.measureRuns(ctx, s, plan)
	})
	e := ending{
		show:  func(_, own *results.Set) error { return f.showRuns(cmd, own) },
		bench: whole,
	}
	if measured == nil { // an interrupted run is not judged
		e.gate = func(own *results.Set) error { return f.judge(cmd, f.format, own) }
	}
	return s.finish(measured, e)
}

// measureRuns measures the plan as often as --repeat asks for.
func (f *runFlags) measureRuns(ctx context.Context, s *session, plan bench.Plan) error {
	s.planned = f.repeat
	began := time.Now()
	for i := range f.repeat {
		if i > 0 {
			due := began.Add(f.over * time.Duration(i) / time.Duration(f.repeat-1))
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Until(due)):
			}
			if err := s.beginRun(); err != nil {
				return err
			}
			plan.Seed++
		}
		if err := s.runPlan(ctx, plan, nil); err != nil {
			return err
		}
	}
	return nil
}

// showRuns shows what was measured, and how far figures moved between several runs.
func (f *runFlags) showRuns(cmd *cobra.Command, own *results.Set) error {
	err := f.view(cmd, own)
	if err != nil || f.repeat == 1 || !readable(f.format) {
		return err
	}
	out := cmd.OutOrStdout()
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return view.WriteNoise(out, f.format, stat.NoiseOf(own), viewOptions(cmd, f.detail))
}

// runPlan measures the cells of a plan and keeps their records. It also hands each of them to also,
// unless that is nil.
func (s *session) runPlan(ctx context.Context, p bench.Plan, also func(results.Record)) error {
	const calibrations = 2   // steps of a cell before its samples
	left := map[string]int{} // steps to come, by cell
	total := 0
	for _, c := range p.Cells {
		left[c.Key()] = p.Samples + calibrations
		total += p.Samples + calibrations
	}
	done := 0
	p.Run = s.run
	p.Observe = func(at bench.Progress) {
		key := at.Cell.Key()
		step := 1
		if at.Step == bench.Finished {
			step = left[key] // and those that the cell did not need
		}
		step = min(step, left[key]) // with a precision to reach, a cell may take more samples
		left[key] -= step
		done += step
		s.progress.step(bench.Label(at.Cell))
		s.progress.units(done, total)
	}
	return bench.Run(ctx, p, func(r results.Record) error {
		s.progress.finish(len(p.Cells)*s.planned, bench.Label(r.Cell)+": "+outcome(r))
		if also != nil {
			also(r)
		}
		return s.Write(r)
	})
}

// outcome describes a record in a few words.
func outcome(r results.Record) string {
	if r.Unsupported != "" {
		return "unsupported: " + r.Unsupported
	}
	if r.Failed != "" {
		return "failed: " + r.Failed
	}
	if len(r.Samples) == 0 {
		return ""
	}
	m := stat.RelativeMetric(r.Cell, r.Cell)
	n := results.FormatCount(len(r.Samples), "sample")
	return fmt.Sprintf("%s, %s", n, m.Format(m.Estimate(r).Median))
}

// whole puts all records of the folder into bench.txt.
func whole(all *results.Set) *results.Set { return all }
