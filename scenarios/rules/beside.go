package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/probe"
)

// Systems are those whose documented rules can stand beside what was measured,
// by the names that people use.
func Systems() []string { return []string{"linux", "macos", "freebsd", "windows"} }

// goos is the name that Go has for a system.
func goos(system string) string {
	if system == "macos" {
		return "darwin"
	}
	return system
}

// A machine is the findings of one, by kind of pipe and step.
type machine struct {
	environment results.Environment
	found       map[string]map[string]results.Probe
}

// machines gathers the probes of each machine of the sets, in their order. The
// last word on a step counts.
func machines(sets []*results.Set) []machine {
	var all []machine
	for _, set := range sets {
		for _, p := range set.Probes {
			if p.Pipe == "" {
				continue // of the machine itself, not of its pipes
			}
			e, _ := set.Environment(p.Run)
			at := slices.IndexFunc(all, func(m machine) bool {
				return m.environment.Machine == e.Machine && m.environment.Hostname == e.Hostname
			})
			if at < 0 {
				at = len(all)
				all = append(all, machine{e, map[string]map[string]results.Probe{}})
			}
			if all[at].found[p.Pipe] == nil {
				all[at].found[p.Pipe] = map[string]results.Probe{}
			}
			all[at].found[p.Pipe][p.Step] = p
		}
	}
	return all
}

// Beside lays machines side by side, the first set's first, with a column for
// what is documented of each of the systems. The same machine in several sets
// is one column, with what was found last.
func Beside(sets []*results.Set, systems []string) View {
	all := machines(sets)
	v := View{}
	columns := []string{"step"}
	for i, m := range all {
		v.Header = append(v.Header, letter(i)+"  "+machineLine(m.environment))
		columns = append(columns, ">"+letter(i))
	}
	for _, s := range systems {
		columns = append(columns, ">"+s+"*")
	}
	if len(all) > 1 {
		columns = append(columns, "alike")
	}
	for _, kind := range kindsOf(sets) {
		t := view.Table{Title: title(kind), Columns: view.Columns(columns...)}
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
func besideRow(all []machine, systems []string, kind, step string) []string {
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
		values = append(values, valueText(p.Value, p.Unit))
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
func predictedText(system, kind, step, unit string) string {
	value, ok := probe.Predict(goos(system), step)
	if !ok || kind != "anonymous" && (kind != "fifo" || system == "windows") {
		return "-"
	}
	return valueText(value, unit)
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
func documented(systems []string) view.Table {
	t := view.Table{
		Title:   "What is documented of " + strings.Join(systems, ", ") + " (not measured here)",
		Columns: view.Columns("about", "system", "says", "source"),
	}
	about := map[string][][]string{}
	for _, s := range systems {
		for _, r := range probe.Rules(goos(s)) {
			about[r.About] = append(about[r.About], []string{r.About, s, r.Says, r.Source})
		}
	}
	for _, step := range slices.Sorted(maps.Keys(about)) {
		t.Rows = append(t.Rows, about[step]...)
	}
	return t
}
