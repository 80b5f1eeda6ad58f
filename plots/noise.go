package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// mostRows is how many rows a chart of categories has at the most.
const mostRows = 30

// noiseCharts hold what doctor found: for each cell and metric the figures of
// invocations that nothing distinguishes, each over their median.
func noiseCharts(set *results.Set) []Chart {
	c := Chart{
		Name:     "noise",
		Title:    "How far figures move between runs that nothing distinguishes",
		Subtitle: environmentLines(set, set.Noise, func(l results.Noise) string { return l.Run }),
		X:        Axis{Label: "figure of an invocation, as a share of the median of all", Scale: Linear, Unit: Times},
		Y:        Axis{Scale: Category},
		Notes:    []string{"A difference between two runs that is not wider than these rows says nothing."},
	}
	series := Series{Shape: Dots}
	for i, n := range set.Noise {
		median := results.Median(n.Values).Median
		if median <= 0 || i >= mostRows {
			continue
		}
		row := float64(len(c.Y.Categories))
		c.Y.Categories = append(c.Y.Categories, joinParts(noiseTitle(set, n)...))
		for _, v := range n.Values {
			series.Points = append(series.Points, exact(v/median, row))
		}
	}
	if left := len(set.Noise) - mostRows; left > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d more are not shown.", left))
	}
	c.Panels = []Panel{{Series: []Series{series}, Guides: []Guide{{Vertical: true, Value: 1}}}}
	return slices.DeleteFunc([]Chart{c}, Chart.empty)
}

// noiseTitle names a noise record's cell, metric, and machine where there are
// several.
func noiseTitle(set *results.Set, n results.Noise) []string {
	title := []string{n.Metric, framingTitle(n.Cell.Framing), results.FormatSize(int64(n.Cell.Size)), n.Cell.Placement, n.Cell.Pattern}
	if len(set.Machines()) > 1 {
		title = append(title, machineName(set, n.Machine))
	}
	return title
}
