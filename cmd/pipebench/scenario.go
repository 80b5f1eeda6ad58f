package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/faults"
)

// allScenarios asks for every scenario.
const allScenarios = "all"

// ofScenarios are the flags of run that mean something to a scenario: what it measures is its own
// affair.
var ofScenarios = []string{"scenario", "out", "format", "quiet", "no-progress", "seed", "max-time"}

// scenarioFlags are what run --scenario was asked for.
type scenarioFlags struct {
	names   []string
	maxTime time.Duration
	shared  *sharedFlags
}

// chosen finds the scenarios, and refuses flags of a sweep beside them.
func (f scenarioFlags) chosen(changed []string) ([]faults.Scenario, error) {
	for _, name := range changed {
		if !slices.Contains(ofScenarios, name) {
			return nil, fmt.Errorf("--%s has no part in a scenario: leave it out, or run without --scenario", name)
		}
	}
	if slices.Contains(f.names, allScenarios) {
		return faults.All(), nil
	}
	var out []faults.Scenario
	for _, name := range f.names {
		s, err := faults.Find(name)
		if err != nil {
			return nil, fmt.Errorf("%w; %q is all of them", err, allScenarios)
		}
		out = append(out, s)
	}
	return out, nil
}

// run reproduces faults, keeps their records, and shows them.
func (f scenarioFlags) run(cmd *cobra.Command, chosen []faults.Scenario) error {
	return f.shared.measure(cmd, task{
		maxTime: f.maxTime,
		work:    func(ctx context.Context, s *session) error { return f.reproduce(ctx, s, chosen) },
		show: func(_, own *results.Set) error {
			if len(own.Faults) == 0 {
				return view.ErrNothing
			}
			return viewFaults(cmd.OutOrStdout(), view.Format(f.shared.format), own, chosen)
		},
		gate: func(_ error, own *results.Set) error {
			if !slices.ContainsFunc(own.Faults, func(r results.Fault) bool { return r.Verdict != string(faults.Unsupported) }) {
				return errors.New("this system can do nothing of that")
			}
			return nil
		},
	})
}

// reproduce runs one scenario after the other; one that fails does not keep the next from its turn.
func (f scenarioFlags) reproduce(ctx context.Context, s *session, chosen []faults.Scenario) error {
	var failed []error
	for _, scenario := range chosen {
		o := faults.Options{Run: s.run, Seed: f.shared.seed, Observe: func(step string) { s.progress.step(scenario.Name + ": " + step) }}
		kept := 0
		err := scenario.Run(ctx, o, func(l results.Line) error {
			kept++
			return s.Write(l)
		})
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
		s.progress.finish(len(chosen), fmt.Sprintf("%s: %d records", scenario.Name, kept))
	}
	return errors.Join(failed...)
}

// viewFaults writes what each scenario did, in a format.
func viewFaults(w io.Writer, format view.Format, set *results.Set, chosen []faults.Scenario) error {
	switch format {
	case view.FormatJSON, view.FormatBench:
		return view.Write(w, set, format, view.Options{})
	case view.FormatCSV:
		return scenarioTable("", set.Faults).Write(w, format)
	}
	for i, s := range chosen {
		mine := slices.DeleteFunc(slices.Clone(set.Faults), func(r results.Fault) bool {
			name, _, _ := strings.Cut(r.ID, "/")
			return name != s.Name
		})
		if len(mine) == 0 {
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := scenarioTable(s.Name+": "+s.Title, mine).Write(w, format); err != nil {
			return err
		}
		fmt.Fprintln(w)
		for _, line := range view.Wrap(adviceOf(mine)) {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

func scenarioTable(title string, all []results.Fault) view.Table {
	t := view.Table{Title: title, Columns: view.Columns("fault", "verdict", "what happened", "+advice")}
	for _, r := range all {
		t.Append(r.ID, r.Verdict, summary(r), r.Advice)
	}
	return t
}

// summary is a fault's evidence in a line.
func summary(r results.Fault) string {
	var e struct {
		Summary string `json:"summary"`
	}
	_ = r.Evidence.Decode(&e) // a record of another kind has no summary
	return e.Summary
}

// adviceOf is what there is to say of faults, each thing once, with the first of those that it is
// about.
func adviceOf(all []results.Fault) []string {
	var order []string
	about := map[string][]string{}
	for _, r := range all {
		if r.Advice == "" {
			continue
		}
		if about[r.Advice] == nil {
			order = append(order, r.Advice)
		}
		_, part, _ := strings.Cut(r.ID, "/")
		about[r.Advice] = append(about[r.Advice], part)
	}
	var out []string
	for _, text := range order {
		parts := about[text]
		who := parts[0]
		if len(parts) > 1 {
			who += fmt.Sprintf(" and %d more", len(parts)-1)
		}
		out = append(out, who+": "+text)
	}
	return out
}
