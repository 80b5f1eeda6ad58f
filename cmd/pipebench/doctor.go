package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/doctor"
	"github.com/pipebench/pipebench/scenarios/subrun"
)

// doctorFlags are what doctor was asked for, as it was typed.
type doctorFlags struct {
	invocations int
	over        time.Duration
	sharedFlags
}

func (f *doctorFlags) register(cmd *cobra.Command) {
	f.part = "invocation"
	addCount(cmd, &f.invocations, "invocations", 8, 0, mostCounted, "how many; 3 are the least that compare rests on, 0 looks at the environment alone")
	cmd.Flags().DurationVar(&f.over, "over", 2*time.Minute, "spread them over this long")
	f.sharedFlags.register(cmd, 0, "begin none that would end later (default twice --over)", view.FormatBench)
}

func (f *doctorFlags) run(cmd *cobra.Command, flags []string) error {
	plan, err := f.plan(flags)
	if err != nil {
		return err
	}
	var watch *doctor.Watch
	var failed error
	return f.measure(cmd, task{
		work: func(ctx context.Context, s *session) error {
			watch = &doctor.Watch{}
			plan.Observe = func(_, of int, took time.Duration) {
				s.progress.finish(of, took.Round(10*time.Millisecond).String())
			}
			if plan.Invocations > 0 {
				watch, failed = doctor.Run(ctx, plan, func(set *results.Set) error {
					return errors.Join(results.WriteAll(s.Writer, set.Environments), results.WriteAll(s.Writer, set.Records))
				})
			}
			if watch != nil { // one that was interrupted says something too
				records := stat.BetweenRuns(watch.Runs)
				for i := range records {
					records[i].Run = s.run
				}
				failed = errors.Join(failed, results.WriteAll(s.Writer, watch.Faults(s.env)), results.WriteAll(s.Writer, records))
				if len(records) > 0 {
					_, err := doctor.Keep(s.env, records)
					failed = errors.Join(failed, err)
				}
			}
			failed = usageOfRun(failed)
			return failed
		},
		show: func(all, own *results.Set) error {
			if failed != nil {
				return view.ErrNothing // of half a watch
			}
			if f.format == view.FormatBench {
				own.Records = all.Records
			}
			if err := f.view(cmd, own); err != nil && (f.invocations > 0 || !errors.Is(err, view.ErrNothing)) {
				return err
			}
			f.say(cmd, "looked at %s: %d of them at fault", strings.Join(watch.Checks(), ", "), len(own.Faults))
			if len(own.Noise) > 0 {
				if path, err := doctor.File(own.Noise[0].Machine); err == nil {
					f.say(cmd, "saved for compare in %s", path)
				}
			}
			return nil
		},
		gate: func(error, *results.Set) error {
			if n := len(watch.Runs); f.invocations > 0 && n < doctor.Least {
				return &statusError{exitInconclusive, fmt.Errorf("%d invocations fitted into %s, and compare rests on %d or more: give more time (--max-time), or fewer cells", n, f.maxTime, doctor.Least)}
			}
			return nil
		},
	})
}

func (f *doctorFlags) plan(flags []string) (doctor.Plan, error) {
	if len(flags) == 0 {
		flags = doctor.DefaultFlags
	}
	switch { // before one of the times makes up for the other
	case f.invocations == 0:
	case f.over < 0 || f.maxTime < 0:
		return doctor.Plan{}, usage(fmt.Errorf("--over %s and --max-time %s: neither can be negative", f.over, f.maxTime))
	case f.over == 0 && f.maxTime == 0:
		return doctor.Plan{}, usage(errors.New("--over 0s has one invocation follow the other: give them a time (--max-time)"))
	}
	if f.maxTime == 0 {
		f.maxTime = 2 * f.over
	}
	p := doctor.Plan{Flags: flags, Invocations: f.invocations, Over: min(f.over, f.maxTime), MaxTime: f.maxTime, Seed: f.seed}
	if f.invocations != 0 {
		if err := p.Validate(); err != nil {
			return p, usage(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return p, fmt.Errorf("find this program, to invoke it: %w", err)
	}
	p.Binary = subrun.Binary{Name: "pipebench", Path: self}
	return p, nil
}
