package plots

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// probeCharts draw the rules of the pipes that have a size or a time: what
// writes of a size fill a pipe with, and how long things take.
func probeCharts(set *results.Set) []Chart {
	return slices.DeleteFunc([]Chart{fillChart(set), probeTimes(set)}, Chart.empty)
}

// fillStep begins the steps that fill a pipe with writes of one size, which
// follows it.
const fillStep = "capacity/fill/"

// fillChart holds what a pipe takes against the size of the writes that fill it.
func fillChart(set *results.Set) Chart {
	c := Chart{
		Name:  "fill",
		Title: "What a pipe holds depends on how it is filled",
		X:     Axis{Label: "size of each write", Scale: Log2, Unit: Bytes},
		Y:     Axis{Label: "bytes accepted until it is full", Scale: Log2, Unit: Bytes},
		Notes: []string{"A point that is labelled differs from the system's documented rule."},
	}
	for _, id := range runsOf(set.Probes, func(p results.Probe) string { return set.Machine(p.Run) }) {
		if panel := fillPanel(set, id); len(panel.Series) > 0 {
			c.Panels = append(c.Panels, panel)
		}
	}
	c.Subtitle = environmentLines(set, set.Probes, func(p results.Probe) string { return p.Run })
	return c
}

// fillPanel is that of one machine: kinds of pipes and their documented rules
// are lines enough for one.
func fillPanel(set *results.Set, id string) Panel {
	panel := Panel{Title: machineAbove(set, id)}
	for _, p := range set.Probes {
		size, ok := strings.CutPrefix(p.Step, fillStep)
		x, errX := strconv.ParseFloat(size, 64)
		y, isNumber := number(p.Value)
		if !ok || errX != nil || !isNumber || set.Machine(p.Run) != id {
			continue
		}
		pt := exact(x, y)
		if p.Agrees != nil && !*p.Agrees {
			pt.Label = "differs"
		}
		panel.Series = addPoint(panel.Series, pipeOf(p), pt)
		if rule, ok := predicted(p); ok {
			panel.Series = addPoint(panel.Series, pipeOf(p)+", documented", exact(x, rule))
		}
	}
	for i := range panel.Series {
		slices.SortFunc(panel.Series[i].Points, byX)
		if strings.HasSuffix(panel.Series[i].Name, ", documented") {
			panel.Series[i].Reference, panel.Series[i].Shape = true, Curve
		}
	}
	return panel
}

// predicted is the number that the documented rule of the system predicts: the
// first word of the text, "32784 B (fs/pipe.c)".
func predicted(p results.Probe) (float64, bool) {
	first, _, _ := strings.Cut(p.Documented, " ")
	n, err := strconv.ParseFloat(first, 64)
	return n, err == nil && p.Agrees != nil
}

func pipeOf(p results.Probe) string { return cmp.Or(p.Pipe, "pipe") }

// machineAbove is what stands above a machine's panel, "" where it is the only
// one.
func machineAbove(set *results.Set, id string) string {
	if len(set.Machines()) < 2 {
		return ""
	}
	return machineName(set, id)
}

// probeTimes holds the probes that found a time, a row each.
func probeTimes(set *results.Set) Chart {
	c := Chart{
		Name:  "probe-times",
		Title: "How long the pipes take to tell",
		X:     Axis{Label: "time", Scale: Log, Unit: Nanos},
		Y:     Axis{Scale: Category},
	}
	panels := map[string][]Series{}
	for _, p := range set.Probes {
		value, ok := number(p.Value)
		if p.Unit != "ns" || !ok {
			continue
		}
		row := slices.Index(c.Y.Categories, p.Step)
		if row < 0 {
			row = len(c.Y.Categories)
			c.Y.Categories = append(c.Y.Categories, p.Step)
		}
		on := set.Machine(p.Run)
		panels[on] = addPoint(panels[on], pipeOf(p), exact(value, float64(row)))
	}
	for _, id := range runsOf(set.Probes, func(p results.Probe) string { return set.Machine(p.Run) }) {
		if series := panels[id]; len(series) > 0 {
			c.Panels = append(c.Panels, Panel{Title: machineAbove(set, id), Series: shaped(series, Dots)})
		}
	}
	c.Subtitle = environmentLines(set, set.Probes, func(p results.Probe) string { return p.Run })
	return c
}

// number reads a value that JSON or a program made.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// environmentLines describe the machine that lines of a set were found on, or
// say how many there were.
func environmentLines[L any](set *results.Set, lines []L, run func(L) string) []string {
	var found []results.Environment
	for _, l := range lines {
		e, ok := set.Environment(run(l))
		same := func(o results.Environment) bool { return o.Machine == e.Machine }
		if ok && !slices.ContainsFunc(found, same) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return []string{describe(found[0])}
	default:
		return []string{strconv.Itoa(len(found)) + " machines"}
	}
}
