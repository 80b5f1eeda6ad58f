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
	"github.com/pipebench/pipebench/syspipe/script"
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

func (f *doctorFlags) run(cmd *cobra.Command, flags []string) {
	e := &examination{doctorFlags: f, plan: f.plan(flags)}
	f.measure(cmd, task{
		work: e.work,
		show: func(all, own *results.Set) error { return e.show(cmd, all, own) },
		gate: func(error, *results.Set) error {
			if n := len(e.watch.Runs); f.invocations > 0 && n < doctor.Least {
				return &statusError{exitInconclusive, fmt.Errorf("%d invocations fitted into %s, and compare rests on %d or more: give more time (--max-time), or fewer cells", n, f.maxTime, doctor.Least)}
			}
			return nil
		},
	})
}

// An examination is what doctor plans to do, and what came of it.
type examination struct {
	*doctorFlags
	plan   doctor.Plan
	watch  *doctor.Watch
	failed error
}

// work watches the machine, and keeps what that found.
func (e *examination) work(ctx context.Context, s *session) error {
	e.watch = &doctor.Watch{}
	e.plan.Observe = func(_, of int, took time.Duration) {
		s.progress.finish(of, took.Round(10*time.Millisecond).String())
	}
	if e.plan.Invocations > 0 {
		e.watch, e.failed = doctor.Run(ctx, e.plan, func(set *results.Set) error {
			return errors.Join(results.WriteAll(s.Writer, set.Environments), results.WriteAll(s.Writer, set.Records))
		})
	}
	if e.watch != nil { // one that was interrupted says something too
		records := stat.BetweenRuns(e.watch.Runs)
		for i := range records {
			records[i].Run = s.run
		}
		e.failed = errors.Join(e.failed, results.WriteAll(s.Writer, e.watch.Faults(s.env)), results.WriteAll(s.Writer, records))
		if len(records) > 0 {
			_, err := doctor.Keep(s.env, records)
			e.failed = errors.Join(e.failed, err)
		}
	}
	e.failed = usageOfRun(e.failed)
	return e.failed
}

// show prints what is at fault, and the noise between the runs of a watch that came to its end.
func (e *examination) show(cmd *cobra.Command, all, own *results.Set) error {
	if e.failed != nil {
		return view.ErrNothing
	}
	if e.format == view.FormatBench {
		own.Records = all.Records
	}
	if err := e.view(cmd, own); err != nil && (e.invocations > 0 || !errors.Is(err, view.ErrNothing)) {
		return err
	}
	e.say(cmd, "looked at %s: %d of them at fault", strings.Join(e.watch.Checks(), ", "), len(own.Faults))
	if len(own.Noise) > 0 {
		if path, err := doctor.File(own.Noise[0].Machine); err == nil {
			e.say(cmd, "saved for compare in %s", path)
		}
	}
	return nil
}

func (f *doctorFlags) plan(flags []string) doctor.Plan {
	if len(flags) == 0 {
		flags = doctor.DefaultFlags
	}
	switch { // before one of the times makes up for the other
	case f.invocations == 0:
	case f.over < 0 || f.maxTime < 0:
		script.Check(usage(fmt.Errorf("--over %s and --max-time %s: neither can be negative", f.over, f.maxTime)))
	case f.over == 0 && f.maxTime == 0:
		script.Check(usage(errors.New("--over 0s has one invocation follow the other: give them a time (--max-time)")))
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
	p.Binary = subrun.Binary{Name: "pipebench", Path: self}
	return p
}
