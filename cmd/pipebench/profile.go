package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/measure"
)

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
	flags.IntVar(&f.samples, "samples", 7, "samples of each cell; at least 6 give an interval")
	flags.DurationVar(&f.duration, "duration", 40*time.Millisecond, "of one sample, about")
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
	if err := plan.Validate(); err != nil {
		return planError(err)
	}
	out, err := f.shared.openRun(run)
	if err != nil {
		return err
	}
	err = errors.Join(f.fill(cmd.Context(), cmd.ErrOrStderr(), out, plan, topology), out.Close())
	shown := f.show(cmd.OutOrStdout(), cmd.ErrOrStderr(), out.dir)
	if err != nil && errors.Is(shown, view.ErrNothing) {
		return err
	}
	return errors.Join(err, shown)
}

// fill measures the memory first, while nothing else runs, and then the pipes.
func (f *profileFlags) fill(ctx context.Context, stderr io.Writer, out *runFolder, plan bench.Plan, t placement.Topology) error {
	speeds, err := measure.Memory(ctx, plan.Run, t)
	if err != nil {
		return err
	}
	for _, s := range speeds {
		if err := out.Write(s); err != nil {
			return err
		}
	}
	progress := f.shared.progress(stderr, plan)
	defer progress.stop()
	plan.Observe = progress.observe
	return bench.Run(ctx, plan, func(r results.Record) error {
		progress.kept(r)
		return out.Write(r)
	})
}

// show prints the table of limits, or in the formats for programs all records.
func (f *profileFlags) show(stdout, stderr io.Writer, dir string) error {
	format := view.Format(f.shared.format)
	if format != view.FormatTable && format != view.FormatMarkdown {
		return f.shared.show(dir, stdout, stderr)
	}
	set, err := results.Read(filepath.Join(dir, recordsFile))
	if err != nil {
		return err
	}
	if len(set.Records) == 0 {
		return view.ErrNothing
	}
	if err := measure.ProfilePage(set).Write(stdout, format); err != nil {
		return err
	}
	return f.keep(stderr, dir, set)
}

// keep leaves what a run leaves: benchmark text and plots.
func (f *profileFlags) keep(stderr io.Writer, dir string, set *results.Set) error {
	if err := writeBench(filepath.Join(dir, benchFile), set); err != nil {
		return err
	}
	drawn, err := f.shared.draw(stderr, dir, set)
	if err == nil && !f.shared.quiet {
		fmt.Fprintf(stderr, "kept in %s: %s, %s and %d plots\n", dir, recordsFile, benchFile, drawn)
	}
	return err
}
