package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/doctor"
	"github.com/pipebench/pipebench/scenarios/turns"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/probe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// probeFlags are what probe was asked for, as it was typed.
type probeFlags struct {
	options probe.Options
	pipes   []string
	against []string
	sharedFlags
}

func (f *probeFlags) register(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.StringSliceVar(&f.pipes, "pipe", nil, "kinds of pipe (default each that this system has)")
	flags.StringSliceVar(&o.Steps, "step", nil, "experiments, of "+strings.Join(probe.Steps(), ", ")+" (default all)")
	flags.StringSliceVar(&f.against, "against", nil, "compare with: result files of other machines, or the documented rules of "+strings.Join(documentedSystems, ", ")+" (default all of them)")
	flags.DurationVar(&o.StepTimeout, "step-timeout", probe.DefaultStepTimeout, "after which an experiment is a finding that it hangs; more by default where processes start slowly")
	flags.BoolVar(&f.detail, "detail", false, "print every finding, how it was found, and its documented rule")
	f.sharedFlags.register(cmd, 0, stopAfter)
}

func (f *probeFlags) run(cmd *cobra.Command, files []string) {
	f.options.Kinds = stat.Map(f.pipes, func(name string) syspipe.Kind { return syspipe.Kind(name) })
	demand(f.options.StepTimeout > 0,
		usage(fmt.Errorf("--step-timeout %v: want a time above zero", f.options.StepTimeout)))
	if !cmd.Flags().Changed("step-timeout") {
		f.options.StepTimeout = 0 // so that it grows on a slow machine
	}
	script.Check(usage(f.options.Validate()))
	others, systems := f.comparedWith(cmd.Context())
	if len(files) > 0 {
		script.Check(f.show(cmd, script.Must(readProbes(cmd.Context(), files...)), others, systems))
		return
	}
	f.measure(cmd, task{
		maxTime: f.maxTime,
		work: func(ctx context.Context, s *session) {
			f.options.Observe = func(p probe.Progress) {
				s.progress.finish(p.Of, fmt.Sprintf("%s %s: %s", p.Pipe, p.Step, results.FormatCount(p.Findings, "finding")))
			}
			keep := func(found probe.Finding) error { return s.Write(probeRecord(s.run, found)) }
			script.Check(probe.Run(ctx, f.options, keep))
		},
		show: func(all, own *results.Set) {
			set := onPipes(own, all.Problems)
			demand(len(set.Probes) > 0, view.ErrNothing)
			script.Check(f.show(cmd, set, others, systems))
		},
		gate: func(_ error, own *results.Set) {
			demand(!probeFailed(onPipes(own, nil)), errors.New("no experiment came to a result"))
		},
	})
}

// comparedWith reads what --against names: files, and the systems of which the rules are shown. It
// does so before anything is measured in vain.
func (f *probeFlags) comparedWith(ctx context.Context) (others []*results.Set, systems []string) {
	for _, name := range f.against {
		if slices.Contains(documentedSystems, name) {
			systems = append(systems, name)
			continue
		}
		set, err := readProbes(ctx, name)
		script.Check(wrap("--against", err))
		others = append(others, set)
	}
	if len(others) > 0 && len(systems) == 0 {
		systems = documentedSystems
	}
	return others, systems
}

// readProbes reads the findings on pipes of files. Without any it is an error.
func readProbes(ctx context.Context, paths ...string) (*results.Set, error) {
	set, err := readResults(ctx, paths...)
	if err != nil {
		return nil, err
	}
	if set = onPipes(set, set.Problems); len(set.Probes) == 0 {
		return nil, noProbes(paths)
	}
	return set, nil
}

func noProbes(paths []string) error {
	return fmt.Errorf("no findings of a probe in %s: make some with pipebench probe --out FOLDER", strings.Join(paths, ", "))
}

// onPipes returns the part of a set that holds findings on pipes.
func onPipes(set *results.Set, problems []results.Problem) *results.Set {
	found := stat.Filter(set.Probes, func(p results.Probe) bool { return p.Pipe != "" })
	return &results.Set{Environments: set.Environments, Probes: found, Problems: problems}
}

// show prints the findings, beside others where that was asked for.
func (f *probeFlags) show(cmd *cobra.Command, set *results.Set, others []*results.Set, systems []string) error {
	w, o := cmd.OutOrStdout(), viewOptions(cmd, f.detail || len(f.against) > 0)
	if len(f.against) > 0 {
		return view.RulesBeside(results.Merge(append([]*results.Set{set}, others...)...), documented(systems)).Write(w, f.format, o)
	}
	switch {
	case readable(f.format) && f.detail:
		return view.RulesPage(set).Write(w, f.format, o)
	case readable(f.format):
		return view.RulesScreen(set).Write(w, f.format, o)
	}
	return view.Write(w, set, f.format, o)
}

// documentedSystems are those whose documented rules can stand beside what was measured, by the
// names that people use.
var documentedSystems = []string{"linux", "macos", "freebsd", "windows"}

// documented looks up what the rules of systems say.
func documented(systems []string) []view.DocumentedSystem {
	return stat.Map(systems, func(name string) view.DocumentedSystem {
		goos := strings.Replace(name, "macos", "darwin", 1)
		return view.DocumentedSystem{
			Name:    name,
			Predict: func(step string) (any, bool) { return probe.Predict(goos, step) },
			Rules: stat.Map(probe.Rules(goos), func(r probe.Rule) view.DocumentedRule {
				return view.DocumentedRule{About: r.About, Says: r.Says, Source: r.Source}
			}),
		}
	})
}

// probeRecord is a finding as the results file keeps it.
func probeRecord(run string, f probe.Finding) results.Probe {
	return results.Probe{
		Kind: results.KindProbe, Run: run, Time: time.Now().UTC(),
		Pipe: string(f.Pipe), Step: f.Step, Value: f.Value, Unit: f.Unit,
		How: f.How, Documented: f.Documented, Agrees: f.Agrees,
	}
}

// probeFailed reports whether no experiment of the set came to a result.
func probeFailed(set *results.Set) bool {
	return !slices.ContainsFunc(set.Probes, func(p results.Probe) bool { return !p.NoResult() })
}

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
	cmd.Flags().DurationVar(&f.over, "over", 2*time.Minute, "spread them over this long")
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
