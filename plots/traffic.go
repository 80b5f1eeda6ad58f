package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// targetCharts show how long a server takes for a message against the size of it, in all and for a
// byte.
func targetCharts(set *results.Set) []Chart {
	in := Chart{
		Name:     "target",
		Title:    "Round trip through a server against message size",
		Subtitle: environmentLines(set, set.Targets, func(l results.Target) string { return l.Run }),
		X:        sizeAxis,
		Y:        Axis{Label: "time of a round trip", Scale: Log, Unit: Nanos},
		Notes:    []string{intervalNote, "A labelled point is a verdict other than ok."},
	}
	per := in
	per.Name, per.Title = "target-growth", "Time per byte of a server against message size"
	per.Y = Axis{Label: "time per byte", Scale: Log, Unit: PerByte}
	per.Notes = []string{"A flat line is time that grows as the size does; a rising one grows faster than the size.", intervalNote}
	in.Panels = []Panel{targetPanel(set, func(_ results.Target, ns float64) float64 { return ns })}
	per.Panels = []Panel{targetPanel(set, func(t results.Target, ns float64) float64 { return ns / float64(t.Size) })}
	return slices.DeleteFunc([]Chart{in, per}, Chart.empty)
}

// targetPanel has a line for each command.
func targetPanel(set *results.Set, of func(t results.Target, ns float64) float64) Panel {
	var p Panel
	for _, t := range set.Targets {
		if t.Size <= 0 || len(t.Samples) == 0 {
			continue
		}
		var values []float64
		for _, ns := range stat.MustMetric("time").Values(t.Samples) {
			values = append(values, of(t, ns))
		}
		pt, ok := estimate(float64(t.Size), values)
		if !ok {
			continue
		}
		if t.Verdict != "ok" {
			pt.Label = view.VerdictText(t.Verdict)
		}
		p.Series = addPoint(p.Series, view.CommandName(t.Command), pt)
	}
	for i := range p.Series {
		slices.SortFunc(p.Series[i].Points, byX)
	}
	p.Guides = targetLimits(set)
	return p
}

// targetLimits marks the limits that were found, and the smallest size of each kind of failure.
func targetLimits(set *results.Set) []Guide {
	var out []Guide
	mark := func(size *int64, label string) {
		if size == nil || *size <= 0 {
			return
		}
		g := Guide{Vertical: true, Value: float64(*size), Label: label}
		switch i := slices.IndexFunc(out, func(o Guide) bool { return o.Label == label }); {
		case i < 0:
			out = append(out, g)
		case g.Value < out[i].Value:
			out[i] = g
		}
	}
	for _, t := range set.Targets {
		mark(t.RequestLimit, "request limit")
		mark(t.ReplyLimit, "reply limit")
		if t.Verdict != "ok" && len(t.Samples) == 0 {
			mark(&t.Size, view.VerdictText(t.Verdict))
		}
	}
	return out
}

// trafficCharts show a recording: the sizes of its messages, and how long each method took to
// answer.
func trafficCharts(set *results.Set) []Chart {
	return slices.DeleteFunc([]Chart{sizeChart(set), methodChart(set)}, Chart.empty)
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
		Name:     "traffic-size",
		Title:    "Sizes of the recorded messages",
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
		Name:     "traffic-method",
		Title:    "Time to the reply, by method",
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
