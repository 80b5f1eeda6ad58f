package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe"
)

type probeFlags struct {
	options  rules.Options
	pipes    []string
	against  []string
	failures bool
	claims   bool
	machine  bool
	only     []string // names of failures or claims
	sharedFlags
}

func (f *probeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.pipes, "pipe", nil,
		"kinds of pipe (default anonymous, fifo and socketpair, or those of them that there are)")
	flags.StringSliceVar(&f.options.Steps, "step", nil,
		"experiments, of "+strings.Join(rules.Steps(), ", ")+" (default all)")
	flags.StringSliceVar(&f.against, "against", nil,
		"compare with: result files of other machines, or the documented rules of "+
			strings.Join(documentedSystems, ", "))
	flags.BoolVar(&f.failures, "failures", false,
		"reproduce the ways in which stdio fails, with what to do about each")
	flags.BoolVar(&f.claims, "claims", false, "judge what people say about stdio")
	flags.BoolVar(&f.machine, "machine", false, "look for what disturbs measurements here")
	flags.StringSliceVar(&f.only, "only", nil,
		"failures by name; claims by ID, or all of a source by its number, such as 003,001-exact "+
			"(see help values)")
	flags.BoolVar(&f.detail, "detail", false,
		"print every finding, how it was found, and its documented rule")
	f.sharedFlags.register(cmd, noMaxTime, stopAfter)
	cmd.MarkFlagsMutuallyExclusive("failures", "claims", "machine")
	for _, mode := range []string{"failures", "claims", "machine"} {
		for _, other := range []string{"pipe", "step", "against"} {
			cmd.MarkFlagsMutuallyExclusive(mode, other)
		}
	}
}

func (f *probeFlags) run(cmd *cobra.Command, files []string) error {
	switch {
	case len(f.only) > 0 && !f.failures && !f.claims:
		return usageError(errors.New("--only is for --failures and --claims; see --step"))
	case f.failures:
		return f.runFailures(cmd, files)
	case f.claims:
		return f.runClaims(cmd, files)
	case f.machine:
		return f.do(cmd, files, f.machineTask(cmd, files))
	}
	return f.runRules(cmd, files)
}

// runRules finds out by experiments what pipes do. If files are named, it shows the findings in
// them instead.
func (f *probeFlags) runRules(cmd *cobra.Command, files []string) error {
	for _, name := range f.pipes {
		f.options.Kinds = append(f.options.Kinds, syspipe.Kind(name))
	}
	if err := f.options.Validate(); err != nil {
		return usageError(err)
	}
	others, systems, err := f.comparedWith(cmd.Context())
	if err != nil {
		return err
	}
	return f.do(cmd, files, task{
		limit:   f.maxTime,
		measure: f.measureRules,
		show: func(found *results.Set) error {
			return f.showRules(cmd, files, found, others, systems)
		},
		gate: func(found *results.Set) error {
			return someDecided(found.FindingsOf(results.AreaRule))
		},
	})
}

// someDecided returns an error if none of the findings has a verdict.
func someDecided(found []results.Finding) error {
	if view.AllUndecided(found) {
		return errors.New("no experiment came to a result")
	}
	return nil
}

func (f *probeFlags) measureRules(ctx context.Context, s *session) error {
	f.options.Observe = func(experiment string, findings, total int) {
		count := results.FormatCount(findings, "finding")
		s.progress.finish(total, experiment+": "+count)
	}
	return rules.Run(ctx, f.options, func(found results.Finding) error { return s.keep(found) })
}

// comparedWith returns what --against names: the records of files, and the operating systems whose
// documented rules are shown.
func (f *probeFlags) comparedWith(
	ctx context.Context,
) (others []*results.Set, systems []string, err error) {
	for _, name := range f.against {
		if slices.Contains(documentedSystems, name) {
			systems = append(systems, name)
			continue
		}
		set, err := readResults(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w, and no system of that name: there are %s", err,
				strings.Join(documentedSystems, ", "))
		}
		if err == nil && len(set.FindingsOf(results.AreaRule)) == 0 {
			err = fmt.Errorf("no findings of a probe in %s: "+
				"make some with pipebench probe -o FOLDER", name)
		}
		if err != nil {
			return nil, nil, wrap("--against", err)
		}
		nameMachines(set, filepath.Base(name))
		others = append(others, set)
	}
	return others, systems, nil
}

// nameMachines gives the machines of a set a name, so that they stay apart from those of other
// sets: one machine may have been probed before and after a change.
func nameMachines(set *results.Set, name string) {
	for i, e := range set.Environments {
		if e.Labels["node"] == "" {
			labels := map[string]string{"node": name}
			maps.Copy(labels, e.Labels)
			set.Environments[i].Labels = labels
		}
	}
}

// showRules prints the findings, which are the results of experiments. Beside them, it shows the
// findings in the files to compare with, and the documented rules of operating systems.
func (f *probeFlags) showRules(
	cmd *cobra.Command, files []string, found *results.Set, others []*results.Set,
	systems []string,
) error {
	if len(others) > 0 {
		nameMachines(found, cmp.Or(strings.Join(files, " "), "now"))
	}
	all := results.Merge(append([]*results.Set{found}, others...)...)
	o := viewOptions(cmd, f.detail)
	return view.WriteRules(cmd.OutOrStdout(), f.format, all, documented(systems), o)
}

// documentedSystems are the systems whose documented rules pipebench knows.
var documentedSystems = []string{"linux", "macos", "freebsd", "windows"}

func documented(systems []string) []view.DocumentedSystem {
	var all []view.DocumentedSystem
	for _, name := range systems {
		goos := name
		if name == "macos" {
			goos = "darwin"
		}
		system := view.DocumentedSystem{
			Name:    name,
			Predict: func(step string) (any, bool) { return rules.Predict(goos, step) },
		}
		for _, r := range rules.Documented(goos) {
			system.Rules = append(system.Rules, view.DocumentedRule{
				About: r.About, Says: r.Says, Source: r.Source,
			})
		}
		all = append(all, system)
	}
	return all
}

// machineLook is how long "probe --machine" watches what other programs do on this machine.
const machineLook = 2 * time.Second

// machineTask returns the task that looks for what disturbs measurements on this machine.
func (f *probeFlags) machineTask(cmd *cobra.Command, files []string) task {
	return task{
		limit: f.maxTime,
		measure: func(ctx context.Context, s *session) error {
			before := machine.ReadUsage()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(machineLook):
			}
			meanwhile := machine.ReadUsage().Since(before)
			for _, fault := range append(meanwhile.Faults(), machine.Faults(s.env)...) {
				if err := s.keep(fault.Finding()); err != nil {
					return err
				}
			}
			return nil
		},
		show: func(found *results.Set) error {
			faults := found.FindingsOf(results.AreaMachine)
			if len(faults) > 0 || len(files) > 0 {
				return f.showFindings(cmd, found, faults)
			}
			if f.format != view.FormatTable { // the sentence below is only for people
				return f.print(cmd, found)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing here disturbs measurements")
			return err
		},
	}
}

func (f *probeFlags) showFindings(
	cmd *cobra.Command, set *results.Set, some []results.Finding,
) error {
	only := &results.Set{Environments: set.Environments, Findings: some, Problems: set.Problems}
	o := viewOptions(cmd, f.detail)
	return view.WriteFindings(cmd.OutOrStdout(), f.format, only, o)
}
