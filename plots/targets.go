package plots

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// targetCharts hold what a server takes for a message against the size of it,
// in all and per byte.
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

// targetPanel has a line a command.
func targetPanel(set *results.Set, of func(t results.Target, ns float64) float64) Panel {
	var p Panel
	for _, t := range set.Targets {
		if t.Size <= 0 || len(t.Samples) == 0 {
			continue
		}
		var values []float64
		for _, ns := range metricNamed("time").Values(t.Samples) {
			values = append(values, of(t, ns))
		}
		pt, ok := estimate(float64(t.Size), values)
		if !ok {
			continue
		}
		if t.Verdict != "ok" {
			pt.Label = t.Verdict
		}
		p.Series = addPoint(p.Series, commandName(t.Command), pt)
	}
	for i := range p.Series {
		slices.SortFunc(p.Series[i].Points, byX)
	}
	p.Guides = targetLimits(set)
	return p
}

// targetLimits marks the limits that were found, and the smallest size at
// which each way of failing was met.
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
			mark(&t.Size, t.Verdict)
		}
	}
	return out
}

// mostName is how many characters of a name of somebody else's fit a legend or
// an axis.
const mostName = 60

// commandName is a command as a title: without the folders of the program.
func commandName(command []string) string {
	if len(command) == 0 {
		return "?"
	}
	return clipped(strings.Join(append([]string{filepath.Base(command[0])}, command[1:]...), " "), mostName)
}
