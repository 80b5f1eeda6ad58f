package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
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
	if f.options.StepTimeout <= 0 {
		script.Check(usage(fmt.Errorf("--step-timeout %v: want a time above zero", f.options.StepTimeout)))
	}
	if !cmd.Flags().Changed("step-timeout") {
		f.options.StepTimeout = 0 // so that it grows on a slow machine
	}
	script.Check(usage(f.options.Validate()))
	others, systems := f.comparedWith()
	if len(files) > 0 {
		script.Check(f.show(cmd, script.Must(readProbes(files...)), others, systems))
		return
	}
	f.measure(cmd, task{
		maxTime: f.maxTime,
		work: func(ctx context.Context, s *session) error {
			f.options.Observe = func(p probe.Progress) {
				s.progress.finish(p.Of, fmt.Sprintf("%s %s: %s", p.Pipe, p.Step, results.FormatCount(p.Findings, "finding")))
			}
			return probe.Run(ctx, f.options, func(found probe.Finding) error { return s.Write(probeRecord(s.run, found)) })
		},
		show: func(all, own *results.Set) error {
			set := onPipes(own, all.Problems)
			if len(set.Probes) == 0 {
				return view.ErrNothing
			}
			return f.show(cmd, set, others, systems)
		},
		gate: func(_ error, own *results.Set) error {
			if probeFailed(onPipes(own, nil)) {
				return errors.New("no experiment came to a result")
			}
			return nil
		},
	})
}

// comparedWith reads what --against names: files, and the systems of which the rules are shown. It
// does so before anything is measured in vain.
func (f *probeFlags) comparedWith() (others []*results.Set, systems []string) {
	for _, name := range f.against {
		if slices.Contains(documentedSystems, name) {
			systems = append(systems, name)
			continue
		}
		set, err := readProbes(name)
		script.Check(wrap("--against", err))
		others = append(others, set)
	}
	if len(others) > 0 && len(systems) == 0 {
		systems = documentedSystems
	}
	return others, systems
}

// readProbes reads the findings on pipes of files. Without any it is an error.
func readProbes(paths ...string) (*results.Set, error) {
	set, err := results.Read(paths...)
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
