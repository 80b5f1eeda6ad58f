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
)

// doctorFlags are the flags of doctor, and what its run saw.
type doctorFlags struct {
	invocations int
	over        time.Duration
	sharedFlags

	watch  *doctor.Watch
	failed error // why the watch ended early
}

func (f *doctorFlags) register(cmd *cobra.Command) {
	f.part = "invocation"
	addCount(cmd, &f.invocations, "invocations", 8, 0, mostCounted,
		"how many; 3 are the least that compare rests on, 0 looks at the environment alone")
	addDuration(cmd, &f.over, "over", 2*time.Minute, "spread them over this long")
	f.sharedFlags.register(cmd, 0, "begin none that would end later (default twice --over)",
		view.FormatBench)
}

func (f *doctorFlags) run(cmd *cobra.Command, flags []string) error {
	plan, err := f.plan(flags)
	if err != nil {
		return err
	}
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	// The plan ends by its own MaxTime, after a whole invocation, so the session sets no limit.
	measured := s.measure(0, func(ctx context.Context) error {
		f.failed = usageOfRun(f.examine(ctx, s, plan))
		return f.failed
	})
	return s.finish(measured, ending{
		show: func(all, own *results.Set) error { return f.show(cmd, all, own) },
		gate: func(*results.Set) error { return f.checkInvocations() },
	})
}

// checkInvocations fails if fewer invocations fitted into the time than compare needs.
func (f *doctorFlags) checkInvocations() error {
	n := len(f.watch.Runs)
	if f.invocations == 0 || n >= doctor.Least {
		return nil
	}
	return &statusError{exitInconclusive, fmt.Errorf(
		"%d invocations fitted into %s, and compare rests on %d or more: "+
			"give more time (--max-time), or fewer cells", n, f.maxTime, doctor.Least)}
}

// examine watches the machine and writes what it found.
func (f *doctorFlags) examine(ctx context.Context, s *session, plan doctor.Plan) (err error) {
	f.watch = &doctor.Watch{}
	plan.Observe = func(_, of int, took time.Duration) {
		s.progress.finish(of, took.Round(10*time.Millisecond).String())
	}
	if plan.Invocations > 0 {
		f.watch, err = doctor.Run(ctx, plan, func(set *results.Set) error {
			return errors.Join(
				results.WriteAll(s.Writer, set.Environments),
				results.WriteAll(s.Writer, set.Records),
			)
		})
	}
	if f.watch == nil { // one that was interrupted says something too
		return err
	}
	records := stat.BetweenRuns(f.watch.Runs)
	for i := range records {
		records[i].Run = s.run
	}
	err = errors.Join(
		err,
		results.WriteAll(s.Writer, f.watch.Faults(s.env)),
		results.WriteAll(s.Writer, records),
	)
	if len(records) > 0 {
		_, unkept := doctor.Keep(s.env, records)
		err = errors.Join(err, unkept)
	}
	return err
}

// show prints what is at fault, and the noise between the runs of a watch that came to its end.
func (f *doctorFlags) show(cmd *cobra.Command, all, own *results.Set) error {
	if f.failed != nil {
		return view.ErrNothing
	}
	if f.format == view.FormatBench {
		own.Records = all.Records
	}
	err := f.view(cmd, own)
	if f.invocations == 0 && errors.Is(err, view.ErrNothing) {
		err = nil // a machine without a fault
	}
	if err != nil {
		return err
	}
	f.say(cmd, "looked at %s: %d of them at fault",
		strings.Join(f.watch.Checks(), ", "), len(own.FindingsOf(results.AreaMachine)))
	if len(own.Noise) > 0 {
		if path, err := doctor.File(own.Noise[0].Machine); err == nil {
			f.say(cmd, "saved for compare in %s", path)
		}
	}
	return nil
}

// plan returns what to invoke, by the flags of doctor and those for run.
func (f *doctorFlags) plan(flags []string) (doctor.Plan, error) {
	if len(flags) == 0 {
		flags = doctor.DefaultFlags
	}
	if f.invocations > 0 { // checked before one of the times makes up for the other
		if f.over < 0 || f.maxTime < 0 {
			return doctor.Plan{}, usage(fmt.Errorf(
				"--over %s and --max-time %s: neither can be negative", f.over, f.maxTime))
		}
		if f.over == 0 && f.maxTime == 0 {
			return doctor.Plan{}, usage(errors.New(
				"--over 0s has one invocation follow the other: give them a time (--max-time)"))
		}
	}
	if f.maxTime == 0 {
		f.maxTime = 2 * f.over
	}
	p := doctor.Plan{
		Flags:       flags,
		Invocations: f.invocations,
		Over:        min(f.over, f.maxTime),
		MaxTime:     f.maxTime,
		Seed:        f.seed,
	}
	if f.invocations != 0 {
		if err := p.Validate(); err != nil {
			return doctor.Plan{}, usage(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return doctor.Plan{}, fmt.Errorf("find this program, to invoke it: %w", err)
	}
	p.Binary = turns.Build{Name: "pipebench", Path: self}
	return p, nil
}
