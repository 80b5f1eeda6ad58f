package plots

import (
	"cmp"
	"fmt"
	"math"
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
		curve := *e.Curve
		c := Chart{Title: curve.Title, X: axisOf(curve.X), Y: axisOf(curve.Y)}
		c.Panels = []Panel{{Series: stat.Map(curve.Series, func(trace results.Trace) Series {
			points := stat.Map(trace.Points, func(p results.CurvePoint) Point {
				return Point{X: p.X, Y: p.Y, Low: p.Low, High: p.High, Computed: p.Extrapolated}
			})
			slices.SortFunc(points, byX)
			return Series{Name: trace.Name, Reference: isRaw(trace.Name), Points: points}
		})}}
		if slices.ContainsFunc(c.points(), func(p *Point) bool { return p.Computed }) {
			c.Notes = append(c.Notes, "Hollow points are extrapolated: they follow from the fitted slope, and were not measured.")
		}
		c.Name = "fault-" + slug(f.ID)
		c.Subtitle = environmentLines(set, []results.Fault{f})
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
	return out
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
	c := chartOf("noise", environmentLines(set, set.Noise))
	series := Series{Shape: Dots}
	for _, n := range set.Noise[:min(len(set.Noise), maxCategories)] {
		median := stat.Median(n.Values).Median
		if median <= 0 {
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
	return []Chart{c}
}

// probeCharts show the rules of the pipes that have a size or a time: what fills a pipe with writes
// of a size, and how long things take.
func probeCharts(set *results.Set) []Chart { return []Chart{fillChart(set), probeTimes(set)} }

// fillStep begins the name of the probe steps that fill a pipe with writes of one size; the size
// follows.
const fillStep = "capacity/fill/"

// fillChart shows how much a pipe takes against the size of the writes that fill it. Kinds of pipes
// and their documented rules are lines enough for a panel.
func fillChart(set *results.Set) Chart {
	const documented = " as documented"
	var marks []mark
	for _, p := range set.Probes {
		size, ok := strings.CutPrefix(p.Step, fillStep)
		x, errX := strconv.ParseFloat(size, 64)
		y, isNumber := p.Number()
		if !ok || errX != nil || !isNumber {
			continue
		}
		pt, machine := exact(x, y), view.MachineTitle(set, set.Machine(p.Run))
		if p.Agrees != nil && !*p.Agrees {
			pt.Label = "differs"
		}
		marks = append(marks, mark{machine, pipeOf(p), pt})
		if rule, ok := predicted(p); ok {
			marks = append(marks, mark{machine, pipeOf(p) + documented, exact(x, rule)})
		}
	}
	c := chartOf("fill", environmentLines(set, set.Probes))
	c.Panels = panelsOf(marks)
	for _, s := range c.series() {
		slices.SortFunc(s.Points, byX)
		if strings.HasSuffix(s.Name, documented) {
			s.Reference, s.Shape = true, Curve
		}
	}
	return c
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
	timed := stat.Filter(set.Probes, func(p results.Probe) bool {
		_, ok := p.Number()
		return ok && p.Unit == "ns"
	})
	c := chartOf("probe-times", environmentLines(set, set.Probes))
	c.Y.Categories = stat.Distinct(timed, func(p results.Probe) string { return p.Step })
	c.Panels = panelsOf(stat.Map(timed, func(p results.Probe) mark {
		value, _ := p.Number()
		at := exact(value, float64(slices.Index(c.Y.Categories, p.Step)))
		return mark{view.MachineTitle(set, set.Machine(p.Run)), pipeOf(p), at}
	}))
	c.unjoin()
	return c
}

// environmentLines describes the machine on which lines of a set were found, or counts the
// machines.
func environmentLines[L results.Line](set *results.Set, lines []L) []string {
	ids := stat.Distinct(lines, func(l L) string { return set.Machine(results.RunOf(l)) })
	found := stat.Filter(view.FirstRuns(set), func(e results.Environment) bool { return slices.Contains(ids, e.Machine) })
	if len(found) == 0 {
		return nil
	}
	return []string{view.MachinesLine(found)}
}

// targetCharts show how long a server takes for a message against the size of it. Time that grows
// as the size does rises by a decade a decade.
func targetCharts(set *results.Set) []Chart {
	var marks []mark              // a line for each command
	var beyond []Region           // the smallest limit
	fails := map[string]float64{} // by command: the smallest size that fails
	for _, t := range set.Targets {
		name := view.CommandName(t.Command)
		pt, ok := medianOf("time")(selection{set: set, records: []results.Record{{Run: t.Run, Samples: t.Samples}}}, float64(t.Size))
		switch at, failed := failedAt(t); {
		case failed && (fails[name] == 0 || at < fails[name]):
			fails[name] = at
			if len(beyond) == 0 || at < beyond[0].From {
				label := view.VerdictText(t.Verdict)
				if t.Verdict == results.VerdictOK { // of records that do not tell
					label = "beyond the limit"
				}
				beyond = []Region{{From: at, To: math.Inf(1), Label: label, Bad: true}}
			}
		case failed || !ok || t.Size <= 0:
		default:
			if t.Verdict != results.VerdictOK {
				pt.Label = view.VerdictText(t.Verdict)
			}
			marks = append(marks, mark{"", name, pt})
		}
	}
	c := chartOf("target", environmentLines(set, set.Targets))
	c.Panels = panelsOf(marks)
	for i := range c.Panels {
		c.Panels[i].Regions = beyond
	}
	for _, s := range c.series() {
		slices.SortFunc(s.Points, byX)
		last := &s.Points[len(s.Points)-1]
		last.Cross = fails[s.Name] > last.X
	}
	return []Chart{c}
}

// failedAt returns the smallest size that a record says to fail: one more than a limit, or its own.
func failedAt(t results.Target) (size float64, failed bool) {
	switch {
	case t.RequestLimit != nil:
		return float64(*t.RequestLimit + 1), true
	case t.ReplyLimit != nil:
		return float64(*t.ReplyLimit + 1), true
	}
	return float64(t.Size), t.Size > 0 && t.Verdict != results.VerdictOK && len(t.Samples) == 0
}
