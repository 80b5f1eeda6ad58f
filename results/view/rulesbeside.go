package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A DocumentedSystem is what the rules of an operating system say of its pipes,
// wherever that was read.
type DocumentedSystem struct {
	Name    string                                 // as people call it: "macos"
	Predict func(step string) (value any, ok bool) // what the rules say a step of a probe finds
	Rules   []DocumentedRule
}

// A DocumentedRule is one rule of a system in words.
type DocumentedRule struct {
	About, Says, Source string
}

// A probedMachine is the findings of one, by kind of pipe and step.
type probedMachine struct {
	environment results.Environment
	found       map[string]map[string]results.Probe
}

// probedMachines gathers the probes of each machine of the sets, in their order. The
// last word on a step counts.
func probedMachines(sets []*results.Set) []probedMachine {
	var all []probedMachine
	for _, set := range sets {
		for _, p := range set.Probes {
			if p.Pipe == "" {
				continue // of the machine itself, not of its pipes
			}
			e, _ := set.Environment(p.Run)
			at := slices.IndexFunc(all, func(m probedMachine) bool {
				return m.environment.Machine == e.Machine && m.environment.Hostname == e.Hostname
			})
			if at < 0 {
				at = len(all)
				all = append(all, probedMachine{e, map[string]map[string]results.Probe{}})
			}
			if all[at].found[p.Pipe] == nil {
				all[at].found[p.Pipe] = map[string]results.Probe{}
			}
			all[at].found[p.Pipe][p.Step] = p
		}
	}
	return all
}

// RulesBeside lays machines side by side, the first set's first, with a column for
// what is documented of each of the systems. The same machine in several sets
// is one column, with what was found last.
func RulesBeside(sets []*results.Set, systems []DocumentedSystem) Page {
	all := probedMachines(sets)
	v := Page{}
	columns := []string{"step"}
	for i, m := range all {
		v.Header = append(v.Header, letter(i)+"  "+probedOn(m.environment))
		columns = append(columns, ">"+letter(i))
	}
	for _, s := range systems {
		columns = append(columns, ">"+s.Name+"*")
	}
	if len(all) > 1 {
		columns = append(columns, "alike")
	}
	for _, kind := range kindsOf(sets) {
		t := Table{Title: pipeTitle(kind), Columns: Columns(columns...)}
		for _, step := range stepsOf(sets, kind) {
			t.Append(besideRow(all, systems, kind, step)...)
		}
		v.Tables = append(v.Tables, t)
	}
	if len(systems) > 0 {
		v.Tables = append(v.Tables, documented(systems))
		v.Notes = append(v.Notes, "* documented, not measured here: of pipes as the system makes them by default, Linux with pages of 4 KiB. A dash: no rule predicts a value.")
	}
	return v
}

// letter names a machine's column: "A", "B", and "M26" where the letters end.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("M%d", i)
}

// besideRow is one step on every machine and system.
func besideRow(all []probedMachine, systems []DocumentedSystem, kind, step string) []string {
	row := []string{step}
	var values []string
	unit, timed := "", false
	for _, m := range all {
		p, ok := m.found[kind][step]
		if !ok {
			row = append(row, "-")
			continue
		}
		unit, timed = p.Unit, p.Unit == "ns"
		values = append(values, exactValue(p.Value, p.Unit))
		row = append(row, values[len(values)-1])
	}
	for _, s := range systems {
		row = append(row, predictedText(s, kind, step, unit))
	}
	if len(all) > 1 {
		row = append(row, alike(values, timed))
	}
	return row
}

// predictedText is what is documented of a step on a system's pipes: a FIFO is
// the same pipe, with a name; pairs of sockets have no rules here.
func predictedText(s DocumentedSystem, kind, step, unit string) string {
	value, ok := s.Predict(step)
	if !ok || kind != "anonymous" && (kind != "fifo" || s.Name == "windows") {
		return "-"
	}
	return exactValue(value, unit)
}

// alike says whether machines do the same, where that can be told: times never
// are the same.
func alike(values []string, timed bool) string {
	switch {
	case len(values) < 2 || timed:
		return "-"
	case len(slices.Compact(slices.Clone(values))) == 1:
		return "yes"
	}
	return "NO"
}

func kindsOf(sets []*results.Set) []string {
	var probes []results.Probe
	for _, s := range sets {
		probes = append(probes, s.Probes...)
	}
	return slices.DeleteFunc(pipes(probes), func(kind string) bool { return kind == "" })
}

// stepsOf are the steps that any set has of a kind of pipe, in their order;
// what only a later set has comes after what the first has.
func stepsOf(sets []*results.Set, kind string) []string {
	var steps []string
	seen := map[string]bool{}
	for _, s := range sets {
		for _, p := range s.Probes {
			if p.Pipe == kind && !seen[p.Step] {
				seen[p.Step] = true
				steps = append(steps, p.Step)
			}
		}
	}
	return steps
}

// documented is what the rules of the systems say in words, and where that was
// read.
func documented(systems []DocumentedSystem) Table {
	var names []string
	for _, s := range systems {
		names = append(names, s.Name)
	}
	t := Table{
		Title:   "What is documented of " + strings.Join(names, ", ") + " (not measured here)",
		Columns: Columns("about", "system", "says", "source"),
	}
	about := map[string][][]string{}
	for _, s := range systems {
		for _, r := range s.Rules {
			about[r.About] = append(about[r.About], []string{r.About, s.Name, r.Says, r.Source})
		}
	}
	for _, step := range slices.Sorted(maps.Keys(about)) {
		t.Rows = append(t.Rows, about[step]...)
	}
	return t
}
