package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/abtest"
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
}

// abFlags are what ab was asked for, as it was typed.
type abFlags struct {
	gateFlags
	pairs int
	sharedFlags
}

func (f *abFlags) register(cmd *cobra.Command) {
	f.part = "pair"
	f.gateFlags.register(cmd)
	addCount(cmd, &f.pairs, "pairs", 0, 0, mostCounted, "how many pairs to run (default what the number of comparisons asks for, at least 20)")
	f.sharedFlags.register(cmd, abtest.DefaultMaxTime, "begin no pair that would end after this long", view.FormatBench)
}

func (f *abFlags) run(cmd *cobra.Command, args []string) error {
	oldName, newName := args[0], args[1]
	plan, err := f.plan(oldName, newName, args[2:])
	if err != nil {
		return err
	}
	if plan.Old.Same(plan.New) {
		f.say(cmd, "pipebench: both binaries are the same file: whatever is found is noise")
	}
	progress := f.progress(cmd.ErrOrStderr())
	plan.Observe = func(_, of int, took time.Duration) { progress.finish(of, took.Round(10*time.Millisecond).String()) }
	before, after, err := abtest.Run(cmd.Context(), plan)
	progress.stop()
	if err != nil {
		if len(before) > 0 {
			f.say(cmd, "pipebench: %d pairs are saved in %s; compare --pairs shows them", len(before), plan.Dir)
		}
		return usageOfRun(err)
	}
	c, err := comparePairs(before, after, oldName, newName, stat.CompareOptions{Metrics: f.metrics})
	if err != nil {
		return err
	}
	if err := f.show(cmd, plan.Dir, c); err != nil {
		return err
	}
	return allGates(f.judgeChanges(c), f.judge(cmd, f.format, results.Merge(after...)))
}

func (f *abFlags) plan(oldName, newName string, flags []string) (abtest.Plan, error) {
	p := abtest.Plan{
		Flags: append([]string{"--samples", "12"}, flags...),
		Pairs: f.pairs, Spend: 45 * time.Second, MaxTime: f.maxTime, Seed: f.seed, Dir: f.folder(),
	}
	if err := p.Validate(); err != nil {
		return p, usage(err)
	}
	var err error
	if p.Old, err = subrun.Find(oldName); err != nil {
		return p, err
	}
	p.New, err = subrun.Find(newName)
	return p, err
}

// usageOfRun gives flags that a binary's run does not take the exit code that they have there.
func usageOfRun(err error) error {
	var failed *subrun.FailedError
	if errors.As(err, &failed) && failed.Code == exitUsage {
		return usage(err)
	}
	return err
}

// show prints the comparison, and leaves it beside the records for benchstat.
func (f *abFlags) show(cmd *cobra.Command, dir string, c *stat.Comparison) error {
	var text bytes.Buffer
	if err := view.WriteComparison(&text, c, view.FormatBench, view.Options{}); err != nil {
		return err
	}
	if err := results.ReplaceFile(filepath.Join(dir, benchFile), text.Bytes()); err != nil {
		return fmt.Errorf("keep the comparison: %w", err)
	}
	if err := view.WriteComparison(cmd.OutOrStdout(), c, f.format, view.Options{}); err != nil {
		return err
	}
	f.say(cmd, "pipebench: saved in %s: %s, %s and %s", dir, abtest.OldFile, abtest.NewFile, benchFile)
	return nil
}
