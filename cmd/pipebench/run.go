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

// defaultTime limits the measuring of a run that was given no --max-time, unless its estimate is
// much longer. With the time to show and draw the results, the run ends within 20 s.
const defaultTime = 16 * time.Second

const samplesOfCell = "samples per cell; at least 6 give an interval"

// runFlags are the flags of run.
type runFlags struct {
	presets    []string
	cells      cobra.Command // has the flags that say what to measure
	sweep      measure.Sweep // empty lists stand for their default
	capacities string        // as typed
	plan       bench.Plan    // without cells
	dryRun     bool
	repeat     int           // how many runs
	over       time.Duration // that they are spread over
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
	addCount(cmd, &p.Samples, "samples", 24, 1, mostCounted, samplesOfCell)
	addCount(cmd, &p.Forks, "forks", bench.DefaultForks, 1, mostCounted,
		"how often the workers are started anew")
	addDuration(cmd, &p.Duration, "duration", bench.SliceTime, "of one sample, about")
	flags.BoolVar(&f.detail, "detail", false, "print all figures of each cell")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print what would be measured (each cell with --detail), and how long that takes")
	addCount(cmd, &f.repeat, "repeat", 1, 1, mostCounted,
		"measure it all this many times, each as a run of its own, and show how far figures vary")
	addDuration(cmd, &f.over, "over", 0, "spread the runs of --repeat over this long")
	f.registerAsserts(cmd,
		"exit 3 unless this holds, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, 0,
		"stop after this long, all runs of --repeat together "+
			"(default 16s each, or half more than a much longer estimate)",
		view.FormatBench)
}

// registerCell adds the flags that say what to measure. They belong to a command of their own, so
// that they can be told from the other flags.
func (f *runFlags) registerCell(cmd *cobra.Command) {
	s := &f.sweep
	c := &f.sweep.Further
	flags := cmd.Flags()
	flags.StringSliceVar(&s.Framings, "framing", nil,
		"framings, such as ndjson,chunked:16KiB, or all (see help values)")
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
	addList(cmd, &s.WriteSizes, "write-size", "", measure.ParseSizes,
		"bytes per write at most, such as 8KiB,64KiB; 0 writes whole messages (default 0)")
	for _, name := range []string{
		"rate", "inflight", "batch", "closes_after", "drain", "read_buffer", "frame_wait", "work",
		"touch", "source", "payload_offset", "read_offset",
	} {
		addCellField(cmd, c, name)
	}
}

// parseCapacities reads the list, and keeps it as typed: "macos" is explained later.
func (f *runFlags) parseCapacities(list string) (string, error) {
	capacities, err := measure.ParseCapacities(list)
	f.sweep.Capacities = append(f.sweep.Capacities, capacities...)
	return list, err
}

// cellFlag returns a flag that says what to measure, "" if none was given. A run with such a flag
// measures a sweep, not the presets.
func (f *runFlags) cellFlag() string {
	name := ""
	f.cells.Flags().VisitAll(func(g *pflag.Flag) {
		if g.Changed && name == "" {
			name = g.Name
		}
	})
	return name
}

func (f *runFlags) run(cmd *cobra.Command, _ []string) error {
	if name := f.cellFlag(); name != "" && len(f.presets) > 0 {
		return usage(fmt.Errorf("--%s has no effect with --preset: a preset says itself what is "+
			"measured; leave out one of them", name))
	}
	if turns.InTurns() && !cmd.Flags().Changed("forks") {
		f.plan.Forks = 1
	}
	plan, err := f.makePlan(cmd)
	if err != nil {
		return usage(err)
	}
	if f.dryRun {
		return f.printPlan(cmd.OutOrStdout(), plan)
	}
	if strings.Contains(f.capacities, measure.CapacityMacOS) && runtime.GOOS != "darwin" {
		f.say(cmd, "%s", measure.MacOSHint)
	}
	return f.do(cmd, nil, f.task(cmd, plan))
}

// makePlan returns what the flags ask for, checked.
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
	p.MaxTime = f.maxTime / time.Duration(f.repeat) // the runs share it
	p.Seed = f.seed
	p.Turn = turns.Turn
	if p.MaxTime == 0 {
		p.MaxTime = defaultTime
		// A run that is asked for nothing takes as many samples as fit into the default time.
		particular := len(f.presets) > 0 || f.cellFlag() != ""
		estimate := p.Estimate()
		if particular && estimate > defaultTime*3/2 {
			p.MaxTime = estimate * 3 / 2
		}
	}
	return p, p.Validate()
}

// sweepCells returns the product of the flags, with the usual values for those that were not given,
// and adds cells of raw to compare with. It adds none if two builds take turns, because they are
// compared with each other.
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
		f.asserts[i].Framings = framings // not raw, which nobody asked for
	}
	if !f.dryRun {
		f.say(cmd, "raw is measured in the same rounds, to set the framing beside it")
	}
	return all, nil
}

// presetCells returns the cells of the presets that were asked for. Without any, the run measures
// the first two, or only the first if its records are compared with those of another run.
func (f *runFlags) presetCells(cmd *cobra.Command, t placement.Topology) ([]results.Cell, error) {
	flags := cmd.Flags()
	presets := []measure.Preset{measure.Default, measure.Waiting}
	if flags.Changed("assert") || turns.RecordsOnly() {
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

// overrun is how long the end of a run may take beyond its time on a busy machine. Only a message
// that takes longer by itself, as with a slow reader, is cut off.
const overrun = 2 * time.Second

// task measures the plan as often as --repeat asks for, and judges the figures by --assert.
func (f *runFlags) task(cmd *cobra.Command, plan bench.Plan) task {
	return task{
		limit: time.Duration(f.repeat)*(plan.MaxTime+plan.MaxTime/4+overrun) + f.over,
		measure: func(ctx context.Context, s *session) error {
			return f.measureRuns(ctx, s, plan)
		},
		show: func(found *results.Set) error { return f.showRuns(cmd, found) },
		gate: func(found *results.Set) error { return f.judge(cmd, f.format, found) },
	}
}

// measureRuns measures the plan as often as --repeat asks for.
func (f *runFlags) measureRuns(ctx context.Context, s *session, plan bench.Plan) error {
	s.planned = f.repeat
	s.progress.within(max(time.Duration(f.repeat)*plan.MaxTime, f.over+plan.MaxTime))
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
		if err := s.runPlan(ctx, plan); err != nil {
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

// runPlan measures the cells of a plan and keeps their records. The bar shows the share of the time
// that all cells are expected to take, in all runs of the session.
func (s *session) runPlan(ctx context.Context, p bench.Plan) error {
	const calibrations = 2 // steps of a cell before its samples
	type steps struct {
		left int
		cost int // of each, in microseconds
	}
	cells := map[string]*steps{}
	total := 0
	for _, c := range p.Cells {
		alone := p
		alone.Cells = []results.Cell{c}
		n := p.Samples + calibrations
		cost := int(alone.Estimate().Microseconds()) / n
		cells[c.Key()] = &steps{left: n, cost: max(cost, 1)}
		total += n * max(cost, 1)
	}
	earlier := (len(s.runs) - 1) * total // runs before this one
	done := 0
	p.Run = s.run
	p.Observe = func(at bench.Progress) {
		cell := cells[at.Cell.Key()]
		n := 1
		if at.Step == bench.Finished {
			n = cell.left // all that are left, because the cell did not need them
		}
		n = min(n, cell.left) // never more than were planned
		cell.left -= n
		done += n * cell.cost
		s.progress.step(cellWords(at.Cell))
		s.progress.units(earlier+done, total*s.planned)
	}
	return bench.Run(ctx, p, func(r results.Record) error {
		s.progress.finish(len(p.Cells)*s.planned, bench.Label(r.Cell)+": "+outcome(r))
		return s.Write(r)
	})
}

// cellWords names a cell in the words of the tables.
func cellWords(c results.Cell) string {
	return strings.Join([]string{view.FieldValue("framing", c.Framing), view.SizeTitle(c.Size),
		c.Pattern, view.ShortPlacement(c.Placement)}, ", ")
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
		return "no sample"
	}
	m := stat.RelativeMetric(r.Cell)
	n := results.FormatCount(len(r.Samples), "sample")
	return fmt.Sprintf("%s, %s", n, m.Format(m.Estimate(r).Median))
}
