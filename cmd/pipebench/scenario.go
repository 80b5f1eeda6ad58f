package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/faults"
)

// allScenarios asks for every scenario.
const allScenarios = "all"

// reproduce reproduces faults, keeps their records, and shows them.
func (f *runFlags) reproduce(cmd *cobra.Command) error {
	var chosen []faults.Scenario
	for _, name := range f.scenarios {
		if name == allScenarios {
			chosen = faults.All()
			break
		}
		s, err := faults.Find(name)
		if err != nil {
			return usage(fmt.Errorf("%w; %q is all of them", err, allScenarios))
		}
		chosen = append(chosen, s)
	}
	return f.measure(cmd, task{
		maxTime: f.maxTime,
		work:    func(ctx context.Context, s *session) error { return s.runScenarios(ctx, chosen) },
		show: func(_, own *results.Set) error {
			if len(own.Faults) == 0 {
				return view.ErrNothing
			}
			return viewFaults(cmd.OutOrStdout(), f.format, own, chosen)
		},
		gate: func(_ error, own *results.Set) error {
			if !slices.ContainsFunc(own.Faults, func(r results.Fault) bool { return r.Verdict != string(faults.Unsupported) }) {
				return errors.New("this system can do nothing of that")
			}
			return nil
		},
	})
}

// runScenarios runs one after the other; one that fails does not keep the next from its turn.
func (s *session) runScenarios(ctx context.Context, chosen []faults.Scenario) error {
	var failed []error
	for _, scenario := range chosen {
		o := faults.Options{Run: s.run, Seed: s.flags.seed, Observe: func(step string) { s.progress.step(scenario.Name + ": " + step) }}
		kept := 0
		err := scenario.Run(ctx, o, func(l results.Line) error {
			kept++
			return s.Write(l)
		})
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
		s.progress.finish(len(chosen), scenario.Name+": "+results.FormatCount(kept, "record"))
	}
	return errors.Join(failed...)
}

// viewFaults writes what each scenario did: for people a page each, with the advice below.
func viewFaults(w io.Writer, format view.Format, set *results.Set, chosen []faults.Scenario) error {
	if format == view.FormatCSV {
		return scenarioTable("", set.Faults).Write(w, format)
	}
	if !readable(format) {
		return view.Write(w, set, format, view.Options{})
	}
	space := ""
	for _, s := range chosen {
		mine := slices.DeleteFunc(slices.Clone(set.Faults), func(r results.Fault) bool {
			name, _, _ := strings.Cut(r.ID, "/")
			return name != s.Name
		})
		if len(mine) == 0 {
			continue
		}
		fmt.Fprint(w, space)
		space = "\n"
		page := view.Page{Tables: []view.Table{scenarioTable(s.Name+": "+s.Title, mine)}, Notes: adviceOf(mine)}
		if err := page.Write(w, format); err != nil {
			return err
		}
	}
	return nil
}

func scenarioTable(title string, all []results.Fault) view.Table {
	t := view.Table{Title: title, Columns: view.Columns("fault", "verdict", "what happened", "+advice")}
	for _, r := range all {
		var e struct {
			Summary string `json:"summary"`
		}
		_ = r.Evidence.Decode(&e) // a record of another kind has no summary
		t.Append(r.ID, r.Verdict, e.Summary, r.Advice)
	}
	return t
}

// adviceOf returns the advice on faults, each piece once, with the first of those that it is about.
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
	for i, text := range order {
		who := about[text][0]
		if more := len(about[text]) - 1; more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		order[i] = who + ": " + text
	}
	return order
}
