package main

import (
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
	f := &doctorFlags{}
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
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	out, err := f.shared.openRun(run)
	if err != nil {
		return err
	}
	watch, err := f.watch(cmd, plan, out)
	err = errors.Join(err, f.conclude(out, run, watch), out.Close())
	if err != nil {
		return usageOfRun(err)
	}
	return f.show(cmd, out.dir, run, watch)
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
func (f *doctorFlags) watch(cmd *cobra.Command, p doctor.Plan, out *runFolder) (*doctor.Watch, error) {
	if p.Invocations == 0 {
		return &doctor.Watch{}, nil
	}
	progress := f.shared.tally(cmd.ErrOrStderr(), "invocation")
	defer progress.stop()
	p.Observe = progress.step
	return doctor.Run(cmd.Context(), p, func(set *results.Set) error {
		var errs []error
		for _, e := range set.Environments {
			errs = append(errs, out.Write(e))
		}
		for _, r := range set.Records {
			errs = append(errs, out.Write(r))
		}
		return errors.Join(errs...)
	})
}

// conclude adds to the file what the invocations say of the machine. Of a watch
// that was interrupted too: it is no less true for that.
func (f *doctorFlags) conclude(out *runFolder, run string, watch *doctor.Watch) error {
	env, err := out.environment(run)
	if err != nil || watch == nil {
		return err
	}
	var errs []error
	for _, fault := range watch.Faults(env) {
		errs = append(errs, out.Write(fault))
	}
	records := stat.BetweenRuns(watch.Runs)
	for i := range records {
		records[i].Run = run
		errs = append(errs, out.Write(records[i]))
	}
	if len(records) > 0 {
		_, err := doctor.Keep(env, records)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// environment reads the line again that the run's file began with.
func (f *runFolder) environment(run string) (results.Environment, error) {
	set, err := results.Read(f.dir)
	if err != nil {
		return results.Environment{}, err
	}
	env, ok := set.Environment(run)
	if !ok {
		return env, fmt.Errorf("%s has lost the line of its run", filepath.Join(f.dir, recordsFile))
	}
	return env, nil
}

// show prints what the file says of the machine, without the measurements that
// say it. Benchmark text is those.
func (f *doctorFlags) show(cmd *cobra.Command, dir, run string, watch *doctor.Watch) error {
	set, err := results.Read(dir)
	if err != nil {
		return err
	}
	found := set.OfRun(run)
	if f.shared.format == string(view.FormatBench) {
		found.Records = set.Records
	}
	err = view.Write(cmd.OutOrStdout(), found, view.Format(f.shared.format), view.Options{})
	if err != nil && (f.invocations > 0 || !errors.Is(err, view.ErrNothing)) {
		return err
	}
	if _, err := f.shared.draw(cmd.ErrOrStderr(), dir, set); err != nil {
		return err
	}
	f.explain(cmd, dir, found, watch)
	if n := len(watch.Runs); f.invocations > 0 && n < doctor.Least {
		return &statusError{exitInconclusive, fmt.Errorf("%d invocations fitted into %s, and compare rests on %d or more: give more time (--max-time), or fewer cells", n, f.maxTime, doctor.Least)}
	}
	return nil
}

// explain says what was looked at, and where the answer is kept.
func (f *doctorFlags) explain(cmd *cobra.Command, dir string, found *results.Set, watch *doctor.Watch) {
	if f.shared.quiet {
		return
	}
	stderr := cmd.ErrOrStderr()
	fmt.Fprintf(stderr, "looked at %s: %d of them at fault\n", strings.Join(watch.Looked(), ", "), len(found.Faults))
	if len(found.Noise) > 0 {
		if path, err := doctor.File(found.Noise[0].Machine); err == nil {
			fmt.Fprintf(stderr, "kept for compare in %s\n", path)
		}
	}
	fmt.Fprintf(stderr, "kept in %s: %s\n", dir, recordsFile)
}
