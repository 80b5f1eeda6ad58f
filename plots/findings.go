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
	return out
}

// curveChart draws the curve of a fault.
func curveChart(e results.Curve) Chart {
	c := Chart{Title: e.Title, X: axisOf(e.X), Y: axisOf(e.Y)}
	var p Panel
	extrapolated := false
	for _, trace := range e.Series {
		s := Series{Name: trace.Name, Reference: isRaw(trace.Name)}
		for _, pt := range trace.Points {
			extrapolated = extrapolated || pt.Extrapolated
			s.Points = append(s.Points, Point{X: pt.X, Y: pt.Y, Low: pt.Low, High: pt.High, Computed: pt.Extrapolated})
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
		Name: "noise", Title: "How far figures move between runs that nothing distinguishes",
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
	return []Chart{c}
}

// probeCharts show the rules of the pipes that have a size or a time: what fills a pipe with writes
// of a size, and how long things take.
func probeCharts(set *results.Set) []Chart {
	return []Chart{fillChart(set), probeTimes(set)}
}

// fillStep begins the name of the probe steps that fill a pipe with writes of one size; the size
// follows.
const fillStep = "capacity/fill/"

// fillChart shows how much a pipe takes against the size of the writes that fill it.
func fillChart(set *results.Set) Chart {
	c := Chart{
		Name: "fill", Title: "What a pipe holds depends on how it is filled",
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
		Name: "probe-times", Title: "How long the pipes take to tell",
		X: timeAxis, Y: categoryAxis,
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
			c.Panels = append(c.Panels, Panel{Title: view.MachineTitle(set, id), Series: series})
		}
	}
	c.unjoin()
	c.Subtitle = environmentLines(set, set.Probes, func(p results.Probe) string { return p.Run })
	return c
}

// environmentLines describes the machine on which lines of a set were found, or counts the
// machines.
func environmentLines[L any](set *results.Set, lines []L, run func(L) string) []string {
	ids := view.Distinct(lines, func(l L) string { return set.Machine(run(l)) })
	found := stat.Filter(view.FirstRuns(set), func(e results.Environment) bool { return slices.Contains(ids, e.Machine) })
	if len(found) == 0 {
		return nil
	}
	return []string{view.MachinesLine(found)}
}

// targetCharts show how long a server takes for a message against the size of it. Time that grows
// as the size does rises by a decade a decade.
func targetCharts(set *results.Set) []Chart {
	c := Chart{
		Name: "target", Title: "Round trip through a server against message size",
		Subtitle: environmentLines(set, set.Targets, func(l results.Target) string { return l.Run }),
		X:        sizeAxis,
		Y:        Axis{Label: "time of a round trip", Scale: Log, Unit: Nanos},
		Notes:    []string{intervalNote, "A line that ends in a cross fails at the next size; a labelled point is a verdict other than ok."},
		Panels:   []Panel{targetPanel(set)},
	}
	return []Chart{c}
}

// targetPanel has a line for each command, and the region beyond the smallest limit.
func targetPanel(set *results.Set) Panel {
	var p Panel
	fails := map[string]float64{} // by command: the smallest size that fails
	for _, t := range set.Targets {
		name := view.CommandName(t.Command)
		pt, ok := medianOf("time")(selection{set: set, records: []results.Record{{Run: t.Run, Samples: t.Samples}}}, selection{}, float64(t.Size))
		switch at, failed := failedAt(t); {
		case failed && (fails[name] == 0 || at < fails[name]):
			fails[name] = at
			if len(p.Regions) == 0 || at < p.Regions[0].From {
				label := view.VerdictText(t.Verdict)
				if t.Verdict == results.VerdictOK { // of records that do not tell
					label = "beyond the limit"
				}
				p.Regions = []Region{{From: at, To: math.Inf(1), Label: label, Bad: true}}
			}
		case failed || !ok || t.Size <= 0:
		default:
			if t.Verdict != results.VerdictOK {
				pt.Label = view.VerdictText(t.Verdict)
			}
			p.Series = addPoint(p.Series, name, pt)
		}
	}
	for i := range p.Series {
		s := &p.Series[i]
		slices.SortFunc(s.Points, byX)
		last := &s.Points[len(s.Points)-1]
		last.Cross = fails[s.Name] > last.X
	}
	return p
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

// trafficCharts show a recording: the sizes of its messages, and how long each method took to
// answer.
func trafficCharts(set *results.Set) []Chart {
	return []Chart{laneChart(set), sizeChart(set), methodChart(set)}
}

func recordedOn(set *results.Set) []string {
	return environmentLines(set, set.Messages, func(m results.Message) string { return m.Run })
}

// sizeChart shows the share of messages that are no larger than a size.
func sizeChart(set *results.Set) Chart {
	sizes := map[string][]float64{}
	largest := 0.0
	for _, m := range set.Messages {
		sizes[m.Dir] = append(sizes[m.Dir], float64(m.Size))
		largest = max(largest, float64(m.Size))
	}
	c := Chart{
		Name: "traffic-size", Title: "Sizes of the recorded messages",
		Subtitle: recordedOn(set),
		X:        sizeAxis,
		Y:        Axis{Label: "share of messages that are no larger", Scale: Linear, Unit: Percent, From: new(0.0), To: new(100.0)},
	}
	var p Panel
	for _, dir := range []string{"request", "reply"} {
		if len(sizes[dir]) > 0 {
			p.Series = append(p.Series, Series{Name: dir, Shape: Curve, Points: cumulative(sizes[dir])})
		}
	}
	for _, t := range view.Thresholds {
		if float64(t) <= largest {
			p.Guides = append(p.Guides, Guide{Vertical: true, Value: float64(t), Label: results.FormatSize(t)})
		}
	}
	c.Panels = []Panel{p}
	return c
}

// cumulative returns the corners of a staircase: at each value, the percentage of values that are
// no larger.
func cumulative(values []float64) []Point {
	slices.Sort(values)
	points := []Point{exact(values[0], 0)}
	for i, v := range values {
		if i+1 < len(values) && values[i+1] == v {
			continue
		}
		last := points[len(points)-1]
		points = append(points, exact(v, last.Y), exact(v, 100*float64(i+1)/float64(len(values))))
	}
	return points
}

// methodChart shows the time from a request to the reply of the same id, for each method.
func methodChart(set *results.Set) Chart {
	c := Chart{
		Name: "traffic-method", Title: "Time to the reply, by method",
		Subtitle: recordedOn(set),
		X:        Axis{Label: "time from request to reply", Scale: Log, Unit: Nanos},
		Y:        categoryAxis,
		Notes:    []string{"p99 takes 1,000 replies of a method, p90 a hundred, p50 twenty; the slowest is always shown."},
	}
	times, _ := stat.Replies(set.Messages)
	var p Panel
	for _, q := range []string{"p50", "p90", "p99", "max"} {
		p.Series = append(p.Series, Series{Name: q, Shape: Dots})
	}
	methods := stat.ByCount(times)
	methods = methods[:min(len(methods), maxCategories)]
	slices.Reverse(methods) // the most frequent on top
	for row, method := range methods {
		c.Y.Categories = append(c.Y.Categories, fmt.Sprintf("%s (%d)", view.Truncate(method, view.MaxNameLength), len(times[method])))
		l, err := results.NewLatency(times[method])
		if err != nil {
			continue // a histogram that it made itself always encodes
		}
		for i, ns := range []*int64{l.P50NS, l.P90NS, l.P99NS, &l.MaxNS} {
			if ns != nil {
				p.Series[i].Points = append(p.Series[i].Points, exact(float64(*ns), float64(row)))
			}
		}
	}
	p.Series = slices.DeleteFunc(p.Series, func(s Series) bool { return len(s.Points) == 0 })
	c.Panels = []Panel{p}
	return c
}
