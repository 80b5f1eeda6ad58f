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

// doctorFlags are what doctor was asked for.
type doctorFlags struct {
	invocations int
	over        time.Duration
	maxTime     time.Duration
	shared      sharedFlags
}

func newDoctor() *cobra.Command {
	f := &doctorFlags{shared: sharedFlags{part: "invocation"}}
	cmd := &cobra.Command{
		Use:   "doctor [flags] [-- RUN-FLAGS]",
		Short: "Find out how far figures move on this machine by themselves, and what is at fault",
		Long: `Run the same cells again and again, in invocations of their own spread over minutes
or hours (--over), and keep how far each figure moved in the user's cache folder, by
machine. compare gives verdicts beyond that, on files that are no further apart than the
machine was watched for in all: several calls, on several days, tell more than a long one.
What is rare is in no few runs, so that a change is also more than two parts in their
number: 25 % after eight, 5 % after forty.

Say behind -- what you run when you compare; without that, raw and ndjson in every place
and pattern stand for the rest. Faults of the environment are named, each with its remedy;
--invocations 0 looks for those alone.`,
		Example: `  pipebench doctor
  pipebench doctor --invocations 20 --over 1h
  pipebench doctor -- --framing chunked --size 64KiB --placement same
  pipebench doctor --invocations 0`,
		Args: func(cmd *cobra.Command, args []string) error {
			if binaries(cmd, args) > 0 {
				return usage(fmt.Errorf("doctor takes no arguments, but was given %q; flags for run go behind --", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.invocations, "invocations", 8, "how many; 3 are the least that compare rests on, 0 looks at the environment alone")
	flags.DurationVar(&f.over, "over", 2*time.Minute, "spread them over this long")
	flags.DurationVar(&f.maxTime, "max-time", 0, "begin none that would end later (default twice --over)")
	f.shared.register(cmd, "a folder for the records (default pipebench-out/<time>)")
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command, flags []string) error {
	plan, err := f.plan(flags)
	if err != nil {
		return err
	}
	var watch *doctor.Watch
	var failed error
	return f.shared.measure(cmd, task{
		work: func(ctx context.Context, s *session) error {
			watch, failed = f.watch(ctx, s, plan)
			failed = usageOfRun(errors.Join(failed, f.judge(s, watch)))
			return failed
		},
		show: func(all, own *results.Set) error {
			if failed != nil {
				return view.ErrNothing // of half a watch
			}
			return f.show(cmd, all, own, watch)
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
		flags = doctor.DefaultFlags()
	}
	if err := f.times(); err != nil && f.invocations != 0 {
		return doctor.Plan{}, usage(err)
	}
	if f.maxTime == 0 {
		f.maxTime = 2 * f.over
	}
	p := doctor.Plan{Flags: flags, Invocations: f.invocations, Over: min(f.over, f.maxTime), MaxTime: f.maxTime, Seed: f.shared.seed}
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

// times reports what of the times asked for cannot be, before one makes up for
// the other.
func (f *doctorFlags) times() error {
	switch {
	case f.over < 0 || f.maxTime < 0:
		return fmt.Errorf("--over %s and --max-time %s: neither can be negative", f.over, f.maxTime)
	case f.over == 0 && f.maxTime == 0:
		return errors.New("--over 0s has one invocation follow the other: give them a time (--max-time)")
	}
	return nil
}

// watch invokes run, and keeps what it measured.
func (f *doctorFlags) watch(ctx context.Context, s *session, p doctor.Plan) (*doctor.Watch, error) {
	if p.Invocations == 0 {
		return &doctor.Watch{}, nil
	}
	p.Observe = func(_, of int, took time.Duration) {
		s.progress.finish(of, took.Round(10*time.Millisecond).String())
	}
	return doctor.Run(ctx, p, func(set *results.Set) error {
		var errs []error
		for _, e := range set.Environments {
			errs = append(errs, s.Write(e))
		}
		for _, r := range set.Records {
			errs = append(errs, s.Write(r))
		}
		return errors.Join(errs...)
	})
}

// judge adds to the file what the invocations say of the machine. A watch that was interrupted says
// something too.
func (f *doctorFlags) judge(s *session, watch *doctor.Watch) error {
	if watch == nil {
		return nil
	}
	var errs []error
	for _, fault := range watch.Faults(s.env) {
		errs = append(errs, s.Write(fault))
	}
	records := stat.BetweenRuns(watch.Runs)
	for i := range records {
		records[i].Run = s.run
		errs = append(errs, s.Write(records[i]))
	}
	if len(records) > 0 {
		_, err := doctor.Keep(s.env, records)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// show prints what the file says of the machine, without the measurements that say it, what was
// looked at, and where the answer is kept. Benchmark text is the measurements.
func (f *doctorFlags) show(cmd *cobra.Command, all, own *results.Set, watch *doctor.Watch) error {
	if f.shared.format == string(view.FormatBench) {
		own.Records = all.Records
	}
	if err := f.shared.view(cmd, own); err != nil && (f.invocations > 0 || !errors.Is(err, view.ErrNothing)) {
		return err
	}
	f.shared.say(cmd, "looked at %s: %d of them at fault", strings.Join(watch.Checks(), ", "), len(own.Faults))
	if len(own.Noise) > 0 {
		if path, err := doctor.File(own.Noise[0].Machine); err == nil {
			f.shared.say(cmd, "kept for compare in %s", path)
		}
	}
	return nil
}
