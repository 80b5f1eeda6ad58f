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
	"github.com/pipebench/pipebench/syspipe/script"
)

// profileFlags are what profile was asked for, as it was typed.
type profileFlags struct {
	plan bench.Plan
	sharedFlags
}

func (f *profileFlags) register(cmd *cobra.Command) {
	addCount(cmd, &f.plan.Samples, "samples", 24, 1, mostCounted, samplesOfCell)
	cmd.Flags().DurationVar(&f.plan.Duration, "duration", bench.SliceTime, "of one sample, about")
	f.sharedFlags.register(cmd, 30*time.Second, beginNone, view.FormatBench)
}

func (f *profileFlags) run(cmd *cobra.Command, _ []string) {
	topology := script.Must(placement.Read())
	plan := f.plan
	plan.Cells, plan.MaxTime, plan.Seed = measure.ProfileCells(topology), f.maxTime, f.seed
	plan, err := plan.Checked()
	script.Check(usage(err))
	f.measure(cmd, task{
		bench: whole,
		work: func(ctx context.Context, s *session) error {
			// The memory first, while nothing else runs.
			speeds, err := measure.Memory(ctx, s.run, topology)
			if err = errors.Join(err, results.WriteAll(s.Writer, speeds)); err != nil {
				return err
			}
			_, err = s.runStages(ctx, []measure.Stage{{Plan: plan}})
			return err
		},
		show: func(all, _ *results.Set) error {
			switch {
			case !readable(f.format):
				return f.view(cmd, all)
			case len(all.Records) == 0:
				return view.ErrNothing
			}
			return measure.ProfilePage(all).Write(cmd.OutOrStdout(), f.format, viewOptions(cmd, false))
		},
	})
}
