package main

import (
	"context"
	"errors"
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
