package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/pipebench/pipebench/syspipe"
)

// runFlags are what run was asked for, as it was typed.
type runFlags struct {
	framings, pipes, ios, placements, peers, patterns []string
	sizes, chunks                                     []int
	capacities                                        string

	payload, messages string
	samples, forks    int
	duration, maxTime time.Duration
	precision         float64
	rate              float64
	inflight, batch   int
	drain, readBuffer int64
	transfer, clock   string
	shape             string
	dryRun            bool
	scenarios         []string
	assertFlags
	shared sharedFlags
}

func newRun() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure framings through real pipes",
		Long: `Measure framings through real pipes of this operating system.

Without flags: raw, ndjson, content-length, chunked (60 KiB) and length-prefix, with
messages of 256 B to 1 MiB, streaming through an anonymous pipe between two processes,
and round trips of 256 B and 64 KiB; on one CPU and on two, where there are two.
Lists take commas, sizes take k, KiB, MiB (always of 1024), 4KiB..1MiB doubles each step.`,
		Example: `  pipebench run
  pipebench run --framing chunked --chunk 4KiB..60KiB --size 1MiB --placement same
  pipebench run --capacity macos,default --pipe anonymous,socketpair
  pipebench run --messages session.ndjson --framing ndjson,content-length
  pipebench run --pattern roundtrip --rate 2000 --duration 2s --framing ndjson
  pipebench run --framing ndjson --size 64KiB --assert 'goodput>1GB/s@placement=same' --assert 'p99<1ms'
  pipebench run --dry-run --size 1..16MiB
  pipebench run --scenario exit-before-drain,nonblocking-stdout`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.scenarios) > 0 {
				return f.reproduce(cmd)
			}
			if err := f.shaped(cmd); err != nil {
				return usage(err)
			}
			return f.run(cmd)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.framings, "framing", nil, "framings, such as ndjson,chunked:16KiB (see list)")
	addParsed(cmd, &f.sizes, "size", measure.ParseSizes, "message sizes, such as 64,4KiB..1MiB")
	addParsed(cmd, &f.chunks, "chunk", measure.ParseSizes, "chunk sizes, for framings that split messages (default 60KiB)")
	flags.StringSliceVar(&f.pipes, "pipe", nil, "kinds of pipe (default anonymous)")
	flags.StringVar(&f.capacities, "capacity", "", "pipe capacities to ask for, such as 16KiB,64KiB, default or macos")
	flags.StringSliceVar(&f.ios, "io", nil, "how the ends wait: one value for both, or writer/reader (default blocking)")
	flags.StringSliceVar(&f.placements, "placement", nil, "where the ends run (default same and apart, where there are two CPUs)")
	flags.StringSliceVar(&f.peers, "peer", nil, "what the ends are: process or thread (default process)")
	flags.StringSliceVar(&f.patterns, "pattern", nil, "stream, roundtrip (default both)")
	flags.StringVar(&f.payload, "payload", "json", "what generated messages are made of")
	flags.StringVar(&f.messages, "messages", "", "replay a recording (see tap), or a file with a message a line, instead of generating messages")
	flags.IntVar(&f.samples, "samples", 24, "samples of each cell, short slices of a fork; at least 6 give an interval")
	flags.DurationVar(&f.duration, "duration", bench.SliceTime, "of one sample, about")
	flags.IntVar(&f.forks, "forks", bench.DefaultForks, "starts of the workers that the samples of a cell are spread over")
	flags.DurationVar(&f.maxTime, "max-time", 0, "begin nothing that would not end within this (default 15s, or half more than the estimate)")
	addParsed(cmd, &f.precision, "precision", parsePrecision, "go on until each median is known this well, such as 2%, or --max-time")
	flags.Float64Var(&f.rate, "rate", 0, "open loop: messages a second that fall due, whether or not the pipe takes them")
	flags.IntVar(&f.inflight, "inflight", 0, "closed loop: messages without an answer at once, in round trips")
	flags.IntVar(&f.batch, "batch", 0, "messages that leave in one system call, in streams")
	addParsed(cmd, &f.drain, "drain", results.ParseSize, "bytes a second that the reader of a stream allows itself, such as 200MB")
	addParsed(cmd, &f.readBuffer, "read-buffer", results.ParseSize, "bytes the reader asks for at once (default 256KiB)")
	flags.StringVar(&f.transfer, "transfer", "", "vmsplice or splice: lend pages instead of copying bytes, in raw streams")
	flags.StringVar(&f.clock, "clock", bench.Clocks[0][0], "sample: read it at the ends of a sample alone, not after each round trip")
	var shapes []string
	for _, s := range measure.Shapes() {
		shapes = append(shapes, s.Name)
	}
	flags.StringVar(&f.shape, "shape", "", "the work of another benchmark, its figure in its unit: "+strings.Join(shapes, ", "))
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the cells and how long they will take, and measure nothing")
	flags.StringSliceVar(&f.scenarios, "scenario", nil, "reproduce ways in which stdio fails, such as reader-gone (see list), or all, instead of measuring")
	f.registerAsserts(cmd, "exit 3 unless this holds, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
	f.shared.register(cmd, "a folder for the files of the run (default pipebench-out/<time>)")
}

// againstShapes are the flags that say what is measured, as a shape does itself.
var againstShapes = []string{
	"framing", "size", "chunk", "pipe", "capacity", "io", "peer", "pattern", "payload", "messages",
	"rate", "inflight", "batch", "drain", "read-buffer", "transfer", "clock",
}

// shaped refuses flags that would make something else of a shape, or be lost in it.
func (f *runFlags) shaped(cmd *cobra.Command) error {
	if f.shape == "" {
		return nil
	}
	for _, name := range againstShapes {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no part in a shape: leave it out, or run without --shape", name)
		}
	}
	return nil
}

// reproduce hands the flags that a scenario has over to it.
func (f *runFlags) reproduce(cmd *cobra.Command) error {
	var changed []string
	cmd.Flags().Visit(func(g *pflag.Flag) { changed = append(changed, g.Name) })
	s := scenarioFlags{names: f.scenarios, maxTime: f.maxTime, shared: &f.shared}
	chosen, err := s.chosen(changed)
	if err != nil {
		return usage(err)
	}
	return s.run(cmd, chosen)
}

func (f *runFlags) run(cmd *cobra.Command) error {
	plan, err := f.plan()
	if err != nil {
		return usage(err)
	}
	if plan, err = plan.Checked(); err != nil {
		return planError(err)
	}
	if f.dryRun {
		return f.printPlan(cmd.OutOrStdout(), plan)
	}
	f.shared.noteCapacity(cmd, f.capacities)
	return f.measure(cmd, plan)
}

// planError tells what was asked wrongly from what this machine refuses.
func planError(err error) error {
	if bench.IsUnsupported(err) {
		return err
	}
	return usage(err)
}

// plan makes of the flags what to measure.
func (f *runFlags) plan() (bench.Plan, error) {
	asked, err := f.sweep()
	if err != nil {
		return bench.Plan{}, err
	}
	cells, err := asked.Cells()
	if err != nil {
		return bench.Plan{}, err
	}
	run, err := results.NewRun()
	if err != nil {
		return bench.Plan{}, err
	}
	p := bench.Plan{
		Run: run, Cells: cells, Samples: f.samples, Duration: f.duration, Forks: f.forks,
		Precision: f.precision, MaxTime: f.maxTime, Seed: f.shared.seed, Recording: f.messages,
	}
	if p.MaxTime == 0 {
		p.MaxTime = max(15*time.Second, p.Estimate()*3/2)
	}
	return p, nil
}

func (f *runFlags) sweep() (measure.Sweep, error) {
	topology, err := placement.Read()
	if err != nil {
		return measure.Sweep{}, err
	}
	s := measure.DefaultSweep(topology)
	s.Payload = f.payload
	for _, list := range []struct {
		asked []string
		into  *[]string
	}{
		{f.framings, &s.Framings}, {f.pipes, &s.Pipes}, {f.ios, &s.IOs},
		{f.placements, &s.Placements}, {f.peers, &s.Peers}, {f.patterns, &s.Patterns},
	} {
		if len(list.asked) > 0 {
			*list.into = list.asked
		}
	}
	if len(f.sizes) > 0 {
		s.Sizes = f.sizes
	}
	if len(f.chunks) > 0 {
		s.Chunks = f.chunks
	}
	if f.capacities != "" {
		if s.Capacities, err = measure.ParseCapacities(f.capacities); err != nil {
			return measure.Sweep{}, fmt.Errorf("--capacity: %w", err)
		}
	}
	if f.shape != "" {
		shape, err := measure.ParseShape(f.shape)
		if err != nil {
			return measure.Sweep{}, err
		}
		shape.Fit(&s)
	}
	f.further(&s.Further)
	if f.messages != "" {
		s.Recording, err = payload.ReadRecording(f.messages)
	}
	return s, unread(err)
}

// further fills in the fields of all cells that are seldom asked for.
func (f *runFlags) further(c *results.Cell) {
	c.Rate, c.Inflight, c.Batch = f.rate, f.inflight, f.batch
	c.Drain, c.ReadBuffer = f.drain, int(f.readBuffer)
	if f.transfer != string(syspipe.Copy) {
		c.Transfer = f.transfer
	}
	if f.clock != bench.Clocks[0][0] {
		c.Clock = f.clock
	}
}

func (f *runFlags) printPlan(w io.Writer, p bench.Plan) error {
	for _, c := range p.Cells {
		line := c.Key()
		if why := bench.Unsupported(c); why != nil {
			line += "  # " + why.Error()
		}
		fmt.Fprintln(w, line)
	}
	_, err := fmt.Fprintf(w, "%d cells of %d samples: about %s, at most %s\n",
		len(p.Cells), p.Samples, p.Estimate().Round(100*time.Millisecond), p.MaxTime)
	return err
}

// measure runs the plan, keeps its records in a folder, and shows and judges what they say.
func (f *runFlags) measure(cmd *cobra.Command, p bench.Plan) error {
	return f.shared.measure(cmd, task{
		run:  p.Run,
		work: func(ctx context.Context, s *session) error { return s.runPlan(ctx, p) },
		show: func(all, _ *results.Set) error {
			return errors.Join(f.shared.view(cmd, all), f.showShape(all, cmd.ErrOrStderr()))
		},
		bench: whole, page: true,
		gate: func(measured error, own *results.Set) error {
			if measured != nil {
				return nil // what was not measured is not judged
			}
			return evaluateAsserts(cmd, f.shared.format, f.asserts, func(a stat.Assert) stat.Assertion { return a.Evaluate(own) })
		},
	})
}

// runPlan measures cells, and keeps their records.
func (s *session) runPlan(ctx context.Context, p bench.Plan) error {
	const calibrations = 2                      // steps that a cell takes before its samples: the untimed one and the short one
	left, total, done := map[string]int{}, 0, 0 // steps to come, by cell
	for _, c := range p.Cells {
		left[c.Key()] = p.Samples + calibrations
		total += p.Samples + calibrations
	}
	p.Observe = func(at bench.Progress) {
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
	return bench.Run(ctx, p, func(r results.Record) error {
		s.progress.finish(len(p.Cells), bench.Label(r.Cell)+": "+outcome(r))
		return s.Write(r)
	})
}

// outcome is a record in a few words.
func outcome(r results.Record) string {
	switch {
	case r.Unsupported != "":
		return "unsupported: " + r.Unsupported
	case r.Failed != "":
		return "failed: " + r.Failed
	}
	name := "goodput"
	if r.Cell.Pattern == "roundtrip" {
		name = "time"
	}
	m, err := stat.MetricByName(name)
	if err != nil || len(r.Samples) == 0 {
		return fmt.Sprintf("%d samples", len(r.Samples))
	}
	return fmt.Sprintf("%d samples, %s", len(r.Samples), m.Format(m.Estimate(r).Median))
}

// whole has bench.txt hold all that the folder does.
func whole(all *results.Set) *results.Set { return all }

// showShape prints the figure that the other benchmark would.
func (f *runFlags) showShape(set *results.Set, w io.Writer) error {
	if f.shape == "" {
		return nil
	}
	shape, err := measure.ParseShape(f.shape)
	if err != nil {
		return err
	}
	for _, r := range set.Records {
		if figure, ok := shape.Figure(r); ok {
			fmt.Fprintln(w, figure)
		}
	}
	return nil
}

// profileFlags are what profile was asked for, as it was typed.
type profileFlags struct {
	samples           int
	duration, maxTime time.Duration
	shared            sharedFlags
}

func newProfile() *cobra.Command {
	f := &profileFlags{}
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Find the limits that no framing passes here: memory, raw bytes, zero copy",
		Long: `Find the limits of this machine's pipes, in under half a minute: how fast it copies memory,
what raw bytes do between two processes at 4 KiB, 64 KiB and 1 MiB, how long a round trip of
1 B and of 64 KiB takes, and what lent pages (vmsplice, splice) do, for each placement of the
ends that the machine has. The cells are those of run: with the same --out, what is measured
later is shown beside them.`,
		Example: `  pipebench profile
  pipebench profile --out here && pipebench run --out here --framing ndjson
  pipebench profile --samples 15 --format markdown`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.samples, "samples", 24, "samples of each cell, short slices of a fork; at least 6 give an interval")
	flags.DurationVar(&f.duration, "duration", bench.SliceTime, "of one sample, about")
	flags.DurationVar(&f.maxTime, "max-time", 30*time.Second, "begin no sample after this long")
	f.shared.register(cmd, "a folder for the files of the profile (default pipebench-out/<time>)")
	return cmd
}

func (f *profileFlags) run(cmd *cobra.Command) error {
	topology, err := placement.Read()
	if err != nil {
		return err
	}
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	plan := bench.Plan{
		Run: run, Cells: measure.ProfileCells(topology), Samples: f.samples, Duration: f.duration,
		MaxTime: f.maxTime, Seed: f.shared.seed,
	}
	if plan, err = plan.Checked(); err != nil {
		return planError(err)
	}
	return f.shared.measure(cmd, task{
		run: run, bench: whole, page: !readable(f.shared.format),
		work: func(ctx context.Context, s *session) error {
			// The memory first, while nothing else runs.
			speeds, err := measure.Memory(ctx, run, topology)
			for _, speed := range speeds {
				err = errors.Join(err, s.Write(speed))
			}
			if err != nil {
				return err
			}
			return s.runPlan(ctx, plan)
		},
		show: func(all, _ *results.Set) error {
			switch {
			case !readable(f.shared.format):
				return f.shared.view(cmd, all)
			case len(all.Records) == 0:
				return view.ErrNothing
			}
			return measure.ProfilePage(all).Write(cmd.OutOrStdout(), view.Format(f.shared.format))
		},
	})
}
