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
	"github.com/pipebench/pipebench/scenarios/turns"
	"github.com/pipebench/pipebench/syspipe/script"
)

// doctorFlags are what doctor was asked for, as it was typed, and what came of it.
type doctorFlags struct {
	invocations int
	over        time.Duration
	sharedFlags

	watch  *doctor.Watch
	failed error
}

func (f *doctorFlags) register(cmd *cobra.Command) {
	f.part = "invocation"
	addCount(cmd, &f.invocations, "invocations", 8, 0, mostCounted, "how many; 3 are the least that compare rests on, 0 looks at the environment alone")
	addDuration(cmd, &f.over, "over", 2*time.Minute, "spread them over this long")
	f.sharedFlags.register(cmd, 0, "begin none that would end later (default twice --over)", view.FormatBench)
}

func (f *doctorFlags) run(cmd *cobra.Command, flags []string) {
	plan := f.plan(flags)
	f.measure(cmd, task{
		work: func(ctx context.Context, s *session) {
			f.failed = usageOfRun(f.examine(ctx, s, plan))
			script.Check(f.failed)
		},
		show: func(all, own *results.Set) { f.show(cmd, all, own) },
		gate: func(error, *results.Set) {
			n := len(f.watch.Runs)
			demand(f.invocations == 0 || n >= doctor.Least,
				&statusError{exitInconclusive, fmt.Errorf("%d invocations fitted into %s, and compare rests on %d or more: give more time (--max-time), or fewer cells", n, f.maxTime, doctor.Least)})
		},
	})
}

// examine watches the machine, and keeps what that found.
func (f *doctorFlags) examine(ctx context.Context, s *session, plan doctor.Plan) (err error) {
	f.watch = &doctor.Watch{}
	plan.Observe = func(_, of int, took time.Duration) {
		s.progress.finish(of, took.Round(10*time.Millisecond).String())
	}
	if plan.Invocations > 0 {
		f.watch, err = doctor.Run(ctx, plan, func(set *results.Set) error {
			return errors.Join(results.WriteAll(s.Writer, set.Environments), results.WriteAll(s.Writer, set.Records))
		})
	}
	if f.watch == nil { // one that was interrupted says something too
		return err
	}
	records := stat.BetweenRuns(f.watch.Runs)
	for i := range records {
		records[i].Run = s.run
	}
	err = errors.Join(err, results.WriteAll(s.Writer, f.watch.Faults(s.env)), results.WriteAll(s.Writer, records))
	if len(records) > 0 {
		_, unkept := doctor.Keep(s.env, records)
		err = errors.Join(err, unkept)
	}
	return err
}

// show is a script. It prints what is at fault, and the noise between the runs of a watch that came
// to its end.
func (f *doctorFlags) show(cmd *cobra.Command, all, own *results.Set) {
	demand(f.failed == nil, view.ErrNothing)
	if f.format == view.FormatBench {
		own.Records = all.Records
	}
	if err := f.view(cmd, own); f.invocations > 0 || !errors.Is(err, view.ErrNothing) {
		script.Check(err)
	}
	f.say(cmd, "looked at %s: %d of them at fault", strings.Join(f.watch.Checks(), ", "), len(own.Faults))
	if len(own.Noise) > 0 {
		if path, err := doctor.File(own.Noise[0].Machine); err == nil {
			f.say(cmd, "saved for compare in %s", path)
		}
	}
}

func (f *doctorFlags) plan(flags []string) doctor.Plan {
	if len(flags) == 0 {
		flags = doctor.DefaultFlags
	}
	if f.invocations > 0 { // before one of the times makes up for the other
		demand(f.over >= 0 && f.maxTime >= 0,
			usage(fmt.Errorf("--over %s and --max-time %s: neither can be negative", f.over, f.maxTime)))
		demand(f.over > 0 || f.maxTime > 0,
			usage(errors.New("--over 0s has one invocation follow the other: give them a time (--max-time)")))
	}
	if f.maxTime == 0 {
		f.maxTime = 2 * f.over
	}
	p := doctor.Plan{Flags: flags, Invocations: f.invocations, Over: min(f.over, f.maxTime), MaxTime: f.maxTime, Seed: f.seed}
	if f.invocations != 0 {
		script.Check(usage(p.Validate()))
	}
	self, err := os.Executable()
	script.Check(wrap("find this program, to invoke it", err))
	p.Binary = turns.Build{Name: "pipebench", Path: self}
	return p
}
