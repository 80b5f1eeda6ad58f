package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
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

// ofScenarios are the flags of run that mean something to a scenario: what it
// measures is its own affair.
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

// runScenarios reproduces faults, keeps their records, and shows them.
func (f scenarioFlags) run(cmd *cobra.Command, chosen []faults.Scenario) error {
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	out, err := f.shared.openRun(run)
	if err != nil {
		return err
	}
	ctx, cancel := withMaxTime(cmd.Context(), f.maxTime)
	defer cancel()
	err = errors.Join(f.play(ctx, cmd.ErrOrStderr(), run, chosen, out), out.Close())
	if errors.Is(context.Cause(ctx), errMaxTime) {
		fmt.Fprintln(cmd.ErrOrStderr(), "pipebench:", errMaxTime)
		err = nil
	}
	return errors.Join(err, f.show(cmd, out.dir, run, chosen))
}

// withMaxTime is ctx with an end after d; 0 is none.
func withMaxTime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, errMaxTime)
}

// play runs one scenario after the other; one that fails does not keep the
// next from its turn.
func (f scenarioFlags) play(ctx context.Context, stderr io.Writer, run string, chosen []faults.Scenario, out *runFolder) error {
	note := f.shared.notes(stderr, len(chosen))
	defer note.stop()
	var failed []error
	for _, s := range chosen {
		o := faults.Options{Run: run, Seed: f.shared.seed, Observe: func(step string) { note.step(s.Name + ": " + step) }}
		kept := 0
		err := s.Run(ctx, o, func(l results.Line) error {
			kept++
			return out.Write(l)
		})
		if ctx.Err() != nil {
			return errors.Join(append(failed, err)...)
		}
		failed = append(failed, err)
		note.done(fmt.Sprintf("%s: %d records", s.Name, kept))
	}
	return errors.Join(failed...)
}

// show prints what the run's file says of the scenarios, and draws it.
func (f scenarioFlags) show(cmd *cobra.Command, dir, run string, chosen []faults.Scenario) error {
	whole, err := results.Read(filepath.Join(dir, recordsFile))
	if err != nil {
		return err
	}
	set := whole.OfRun(run)
	if len(set.Faults) == 0 {
		return view.ErrNothing
	}
	if err := viewFaults(cmd.OutOrStdout(), view.Format(f.shared.format), set, chosen); err != nil {
		return err
	}
	drawn, err := f.shared.draw(cmd.ErrOrStderr(), dir, whole)
	if err != nil {
		return err
	}
	if !f.shared.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "kept in %s: %s and %d plots\n", dir, recordsFile, drawn)
	}
	if !slices.ContainsFunc(set.Faults, func(r results.Fault) bool { return r.Verdict != string(faults.Unsupported) }) {
		return errors.New("this system can do nothing of that")
	}
	return nil
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
		for _, a := range adviceOf(mine) {
			writeWrapped(w, a)
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
	text, _ := r.Evidence["summary"].(string)
	return text
}

// adviceOf is what there is to say of faults, each thing once, with the first
// of those that it is about.
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

// textWidth is the width at which paragraphs are wrapped.
const textWidth = 110

// writeWrapped writes a paragraph; its lines after the first are indented.
func writeWrapped(w io.Writer, text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > textWidth {
			fmt.Fprintln(w, line)
			line = " "
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

// scenarioShelf lists the scenarios for list.
func scenarioShelf() shelf {
	s := shelf{flag: "scenario", title: "ways in which stdio fails, to be reproduced (" + allScenarios + " of them, or a list)"}
	for _, f := range faults.All() {
		s.items = append(s.items, item{name: f.Name, what: f.Title})
	}
	return s
}
