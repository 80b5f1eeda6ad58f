package main

import (
	"context"
	"fmt"
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

// defaultTime is how long a run measures by default. Showing and drawing included, such a run takes
// less than 20 s.
const defaultTime = 16 * time.Second

const samplesUsage = "samples per cell; at least 6 give an interval"

type runFlags struct {
	presets []string
	cells   cobra.Command // has the flags that say what to measure
	sweep   measure.Sweep // an empty list stands for the default values
	plan    bench.Plan    // without its cells
	dryRun  bool
	repeat  int           // the number of runs
	over    time.Duration // the time over which the runs are spread
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
	f.registerCell(&f.cells)
	flags.AddFlagSet(f.cells.Flags())
	p := &f.plan
	addCount(cmd, &p.Samples, "samples", countFlag{usual: 24, least: 1}, samplesUsage)
	addCount(cmd, &p.Forks, "forks", countFlag{usual: bench.DefaultForks, least: 1},
		"how often the workers are started anew")
	addDuration(cmd, &p.Duration, "duration", bench.SliceTime,
		"about how long one sample is measured")
	flags.BoolVar(&f.detail, "detail", false, "print all figures of each cell")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print what would be measured (each cell with --detail), and how long that takes")
	addCount(cmd, &f.repeat, "repeat", countFlag{usual: 1, least: 1},
		"measure it all this many times, each as a run of its own, and show how far figures vary")
	addDuration(cmd, &f.over, "over", 0, "spread the runs of --repeat over this long")
	f.registerAsserts(cmd,
		"exit 3 unless this holds, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, noMaxTime,
		"stop after this long, all runs of --repeat together "+
			"(default 16s each, or half more than a much longer estimate)",
		view.FormatBench)
}

// registerCell adds to cmd the flags that say what to measure. As cmd has no other flags, cmd tells
// whether any of these flags was given.
func (f *runFlags) registerCell(cmd *cobra.Command) {
	s := &f.sweep
	flags := cmd.Flags()
	flags.StringSliceVar(&s.Framings, "framing", nil,
		"framings, such as ndjson,chunked:16KiB, or all (see help values)")
	addList(cmd, &s.Sizes, "size", measure.ParseSizes, "message sizes, such as 64,4KiB..1MiB")
	addList(cmd, &s.Chunks, "chunk", measure.ParseSizes,
		"chunk sizes, for framings that split messages (default 60KiB)")
	flags.StringSliceVar(&s.Pipes, "pipe", nil, "kinds of pipe (default anonymous)")
	addList(cmd, &s.Capacities, "capacity", measure.ParseCapacities,
		"pipe capacities to ask for, such as 16KiB,1MiB,default; macos: those of macOS, imitated")
	flags.StringSliceVar(&s.IOs, "io", nil,
		"how the ends wait: one value for both, or writer/reader (default blocking)")
	flags.StringSliceVar(&s.Placements, "placement", nil,
		"where the ends run (default same and apart, as far as the machine has them)")
	flags.StringSliceVar(&s.Patterns, "pattern", nil, "stream, roundtrip (default both), or "+
		"mixed: small messages are due at --rate behind large ones")
	flags.StringVar(&s.Payload, "payload", "json", "what generated messages are made of")
	flags.StringVar(&f.plan.Recording, "messages", "",
		"replay a recording (see tap), or a file with a message per line, instead of generating")
	addList(cmd, &s.WriteSizes, "write-size", measure.ParseSizes,
		"bytes per write at most, such as 8KiB,64KiB; 0 writes whole messages (default 0)")
	for _, name := range []string{
		"rate", "inflight", "batch", "closes_after", "drain", "read_buffer", "frame_wait", "work",
		"touch", "source", "payload_offset", "read_offset",
	} {
		addCellField(cmd, &s.Further, name)
	}
}

// cellFlag returns the name of a flag that was given and says what to measure. It returns "" if no
// such flag was given.
func (f *runFlags) cellFlag() string {
	name := ""
	f.cells.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && name == "" {
			name = flag.Name
		}
	})
	return name
}

func (f *runFlags) run(cmd *cobra.Command, _ []string) error {
	if name := f.cellFlag(); name != "" && len(f.presets) > 0 {
		return usageError(fmt.Errorf("--%s has no effect with --preset: a preset says itself "+
			"what is measured; leave out one of them", name))
	}
	if turns.InTurns() && !cmd.Flags().Changed("forks") {
		f.plan.Forks = 1 // instead, compare starts the run several times
	}
	plan, err := f.makePlan(cmd)
	if err != nil {
		return usageError(err)
	}
	if f.dryRun {
		return f.printPlan(cmd, plan)
	}
	capacities := f.cells.Flags().Lookup("capacity").Value.String() // as typed
	if strings.Contains(capacities, measure.CapacityMacOS) && runtime.GOOS != "darwin" {
		f.say(cmd, "%s", measure.MacOSHint)
	}
	return f.do(cmd, nil, f.task(cmd, plan))
}

// makePlan returns the plan that the flags ask for, or an error if that plan is impossible.
func (f *runFlags) makePlan(cmd *cobra.Command) (bench.Plan, error) {
	topology, err := placement.Read()
	if err != nil {
		return bench.Plan{}, err
	}
	p := f.plan
	if f.cellFlag() != "" {
		p.Cells, err = f.sweepCells(cmd, topology)
	} else {
		p.Cells, err = f.presetCells(cmd, topology)
	}
	if err != nil {
		return bench.Plan{}, err
	}
	p.MaxTime = f.maxTime / time.Duration(f.repeat) // the runs share the time
	p.Seed = f.seed
	p.Turn = turns.Turn
	if p.MaxTime == 0 {
		p.MaxTime = defaultTime
		// What the user asked for is measured with all samples, even if that takes longer.
		areAsked := len(f.presets) > 0 || f.cellFlag() != ""
		estimate := p.Estimate()
		if areAsked && estimate > defaultTime*3/2 {
			p.MaxTime = estimate * 3 / 2 // half more, because an estimate is rough
		}
	}
	return p, p.Validate()
}

// sweepCells returns what to measure: every combination of the flags' values, and combinations with
// the framing "raw" to compare with.
func (f *runFlags) sweepCells(cmd *cobra.Command, t placement.Topology) ([]results.Cell, error) {
	s := f.sweep
	if f.plan.Recording != "" {
		recording, err := interruptibly(cmd.Context(), f.plan.Recording, payload.ReadRecording)
		if err != nil {
			return nil, err
		}
		s.Recording = recording
	}
	asked, err := s.Cells(t)
	if err != nil || turns.InTurns() {
		return asked, err
	}
	all := measure.BesideRaw(asked)
	if len(all) == len(asked) {
		return asked, nil
	}
	var framings []string
	for _, c := range asked {
		framings = append(framings, c.Framing)
	}
	for i := range f.asserts {
		f.asserts[i].Framings = framings // --assert is not about the added cells of raw
	}
	if !f.dryRun {
		f.say(cmd, "raw is measured in the same rounds, to set the framing beside it")
	}
	return all, nil
}

// presetCells returns what to measure by presets, which are named lists. It takes the presets that
// were asked for, or else the default ones.
func (f *runFlags) presetCells(cmd *cobra.Command, t placement.Topology) ([]results.Cell, error) {
	var presets []measure.Preset
	switch {
	case len(f.presets) > 0:
	case cmd.Flags().Changed("assert") || turns.RecordsOnly():
		presets = []measure.Preset{measure.Default}
	default:
		presets = []measure.Preset{measure.Default, measure.Waiting}
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
			if !slices.Contains(cells, c) { // several presets may have the same cell
				cells = append(cells, c)
			}
		}
	}
	return cells, nil
}

// hardLimit returns the time after which measuring is cut off. It matters only if a single message
// takes too long, as with a slow reader.
func hardLimit(p bench.Plan) time.Duration {
	return p.MaxTime + p.MaxTime/4 + 2*time.Second
}

// task returns the task that measures the plan as often as --repeat asks for.
func (f *runFlags) task(cmd *cobra.Command, plan bench.Plan) task {
	return task{
		limit: time.Duration(f.repeat)*hardLimit(plan) + f.over,
		measure: func(ctx context.Context, s *session) error {
			return f.measureRuns(ctx, s, plan)
		},
		show: func(found *results.Set) error { return f.showRuns(cmd, found) },
		gate: func(found *results.Set) error { return f.judge(cmd, f.format, found) },
	}
}

func (f *runFlags) measureRuns(ctx context.Context, s *session, plan bench.Plan) error {
	s.planned = f.repeat
	s.progress.within(max(time.Duration(f.repeat)*plan.MaxTime, f.over+plan.MaxTime))
	began := time.Now()
	for i := range f.repeat {
		if i > 0 {
			// The first run is due at once, and the last run when f.over has passed.
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
		if err := s.runPlan(ctx, plan); err != nil {
			return err
		}
	}
	return nil
}

// showRuns shows what was measured and, after several runs, how much the figures varied.
func (f *runFlags) showRuns(cmd *cobra.Command, own *results.Set) error {
	err := f.print(cmd, own)
	if err != nil || f.repeat == 1 || !isReadable(f.format) {
		return err
	}
	out := cmd.OutOrStdout()
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return view.WriteNoise(out, f.format, stat.NoiseOf(own), viewOptions(cmd, f.detail))
}

func (s *session) runPlan(ctx context.Context, p bench.Plan) error {
	const untimedSteps = 2 // per cell: bench.Compared and bench.Calibrated
	type cellSteps struct {
		left   int
		micros int // the expected time of a step, in microseconds
	}
	cells := map[string]*cellSteps{}
	total := 0 // microseconds of a run
	for _, c := range p.Cells {
		alone := p
		alone.Cells = []results.Cell{c}
		steps := untimedSteps + p.Samples
		micros := max(1, int(alone.Estimate().Microseconds())/steps)
		cells[c.Key()] = &cellSteps{left: steps, micros: micros}
		total += steps * micros
	}
	earlierRuns := (len(s.runs) - 1) * total
	done := 0
	p.Run = s.run
	p.Observe = func(at bench.Progress) {
		cell := cells[at.Cell.Key()]
		steps := min(1, cell.left) // 0 if the cell has more steps than expected
		switch {
		case ctx.Err() != nil:
			steps = 0 // the interrupted rest is not done
		case at.Step == bench.Finished:
			steps = cell.left // the cell ended without its other steps
		}
		cell.left -= steps
		done += steps * cell.micros
		s.progress.step(results.CellName(at.Cell))
		s.progress.units(earlierRuns+done, total*s.planned)
	}
	return bench.Run(ctx, p, func(r results.Record) error {
		s.progress.finish(len(p.Cells)*s.planned, results.CellName(r.Cell)+": "+outcome(r))
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
	if len(r.Samples) == 0 && r.Stopped == "max-time" {
		return "not reached: time was up"
	}
	if len(r.Samples) == 0 {
		return "not reached: interrupted"
	}
	m := stat.RelativeMetric(r.Cell)
	n := results.FormatCount(len(r.Samples), "sample")
	kind := ""
	if m.Name == "time" { // tables and pictures have medians of round trips
		kind = "mean "
	}
	return fmt.Sprintf("%s, %s%s", n, kind, m.Format(m.Estimate(r).Median))
}
