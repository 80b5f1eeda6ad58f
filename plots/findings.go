package plots

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// faultCharts draw the curves in the evidence of faults.
func faultCharts(set *results.Set) []Chart {
	var out []Chart
	for _, f := range set.Faults {
		var e struct{ Curve *results.Curve }
		if f.Evidence.Decode(&e) != nil || e.Curve == nil {
			continue
		}
		c := curveChart(*e.Curve)
		c.Name = "fault-" + slug(f.ID)
		c.Subtitle = environmentLines(set, []results.Fault{f}, func(f results.Fault) string { return f.Run })
		if slices.ContainsFunc(out, func(o Chart) bool {
			return reflect.DeepEqual(o.Panels, c.Panels) && slices.Equal(o.Subtitle, c.Subtitle)
		}) {
			continue // faults of one scenario may show the same evidence
		}
		if slices.ContainsFunc(out, func(o Chart) bool { return o.Name == c.Name }) {
			c.Name += "-" + slug(set.MachineName(set.Machine(f.Run)))
		}
		out = append(out, c)
	}
	return slices.DeleteFunc(out, Chart.empty)
}

// curveChart draws the curve of a fault.
func curveChart(e results.Curve) Chart {
	c := Chart{Title: e.Title, X: axisOf(e.X), Y: axisOf(e.Y)}
	var p Panel
	extrapolated := false
	for _, trace := range e.Series {
		s := Series{Name: trace.Name, Reference: isRaw(trace.Name)}
		for _, pt := range trace.Points {
			point := Point{X: pt.X, Y: pt.Y, Low: pt.Low, High: pt.High}
			point.Computed = pt.Extrapolated
			extrapolated = extrapolated || pt.Extrapolated
			s.Points = append(s.Points, point)
		}
		slices.SortFunc(s.Points, byX)
		p.Series = append(p.Series, s)
	}
	if extrapolated {
		c.Notes = append(c.Notes, "Hollow points are extrapolated: they follow from the fitted slope, and were not measured.")
	}
	c.Panels = []Panel{p}
	return c
}

// axisOf makes an axis of a label, by the unit at its end.
func axisOf(label string) Axis {
	name, unit, _ := strings.Cut(label, ", ")
	switch {
	case unit == "B" || strings.HasPrefix(label, "bytes"):
		return Axis{Label: name, Scale: Log2, Unit: Bytes}
	case unit == "ns/B" || label == "ns/B":
		return Axis{Label: "time per byte", Scale: Log, Unit: PerByte}
	case unit == "B/s" || unit == "ns":
		return Axis{Label: name, Scale: Log, Unit: Unit(unit)}
	}
	return Axis{Label: label, Scale: Log, Unit: Number}
}

// maxCategories is the largest number of rows of a chart of categories.
const maxCategories = 30

// noiseCharts show what doctor found: for each cell and metric the figures of identical
// invocations, each over their median.
func noiseCharts(set *results.Set) []Chart {
	c := Chart{
		Name:     "noise",
		Title:    "How far figures move between runs that nothing distinguishes",
		Subtitle: environmentLines(set, set.Noise, func(l results.Noise) string { return l.Run }),
		X:        Axis{Label: "figure of an invocation, as a share of the median of all", Scale: Linear, Unit: Times},
		Y:        categoryAxis,
		Notes:    []string{"A difference between two runs that is not wider than these rows says nothing."},
	}
	series := Series{Shape: Dots}
	for i, n := range set.Noise {
		median := stat.Median(n.Values).Median
		if median <= 0 || i >= maxCategories {
			continue
		}
		row := float64(len(c.Y.Categories))
		c.Y.Categories = append(c.Y.Categories, view.JoinParts(n.Metric, view.FieldValue("framing", n.Cell.Framing),
			results.FormatSize(int64(n.Cell.Size)), n.Cell.Placement, n.Cell.Pattern, view.MachineTitle(set, n.Machine)))
		for _, v := range n.Values {
			series.Points = append(series.Points, exact(v/median, row))
		}
	}
	if left := len(set.Noise) - maxCategories; left > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d more are not shown.", left))
	}
	c.Panels = []Panel{{Series: []Series{series}, Guides: []Guide{{Vertical: true, Value: 1}}}}
	return slices.DeleteFunc([]Chart{c}, Chart.empty)
}

// probeCharts show the rules of the pipes that have a size or a time: what fills a pipe with writes
// of a size, and how long things take.
func probeCharts(set *results.Set) []Chart {
	return slices.DeleteFunc([]Chart{fillChart(set), probeTimes(set)}, Chart.empty)
}

// fillStep begins the name of the probe steps that fill a pipe with writes of one size; the size
// follows.
const fillStep = "capacity/fill/"

// fillChart shows how much a pipe takes against the size of the writes that fill it.
func fillChart(set *results.Set) Chart {
	c := Chart{
		Name:  "fill",
		Title: "What a pipe holds depends on how it is filled",
		X:     Axis{Label: "size of each write", Scale: Log2, Unit: Bytes},
		Y:     Axis{Label: "bytes accepted until it is full", Scale: Log2, Unit: Bytes},
		Notes: []string{"A point that is labelled differs from the system's documented rule."},
	}
	for _, id := range view.Distinct(set.Probes, func(p results.Probe) string { return set.Machine(p.Run) }) {
		if panel := fillPanel(set, id); len(panel.Series) > 0 {
			c.Panels = append(c.Panels, panel)
		}
	}
	c.Subtitle = environmentLines(set, set.Probes, func(p results.Probe) string { return p.Run })
	return c
}

// fillPanel shows one machine: kinds of pipes and their documented rules are lines enough for a
// panel.
func fillPanel(set *results.Set, id string) Panel {
	panel := Panel{Title: view.MachineTitle(set, id)}
	for _, p := range set.Probes {
		size, ok := strings.CutPrefix(p.Step, fillStep)
		x, errX := strconv.ParseFloat(size, 64)
		y, isNumber := p.Number()
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

// predicted returns the number that the system's documented rule predicts: the first word of a text
// such as "32784 B (fs/pipe.c)".
func predicted(p results.Probe) (float64, bool) {
	first, _, _ := strings.Cut(p.Documented, " ")
	n, err := strconv.ParseFloat(first, 64)
	return n, err == nil && p.Agrees != nil
}

func pipeOf(p results.Probe) string { return cmp.Or(p.Pipe, "pipe") }

// probeTimes shows the probes that found a time, a row each.
func probeTimes(set *results.Set) Chart {
	c := Chart{
		Name:  "probe-times",
		Title: "How long the pipes take to tell",
		X:     timeAxis,
		Y:     categoryAxis,
	}
	panels := map[string][]Series{}
	for _, p := range set.Probes {
		value, ok := p.Number()
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
	for _, id := range view.Distinct(set.Probes, func(p results.Probe) string { return set.Machine(p.Run) }) {
		if series := panels[id]; len(series) > 0 {
			c.Panels = append(c.Panels, Panel{Title: view.MachineTitle(set, id), Series: withShape(series, Dots)})
		}
	}
	c.Subtitle = environmentLines(set, set.Probes, func(p results.Probe) string { return p.Run })
	return c
}

// environmentLines describes the machine on which lines of a set were found, or counts the
// machines.
func environmentLines[L any](set *results.Set, lines []L, run func(L) string) []string {
	var found []results.Environment
	for _, id := range view.Distinct(lines, func(l L) string { return set.Machine(run(l)) }) {
		i := slices.IndexFunc(set.Environments, func(e results.Environment) bool { return e.Machine == id })
		if i >= 0 {
			found = append(found, set.Environments[i])
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return []string{view.MachineLine(found[0])}
	}
	return []string{results.FormatCount(len(found), "machine")}
}
