package plots

import (
	"fmt"
	"math"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// latencyKinds are the clocks of a latency, with what each one times.
var latencyKinds = []struct{ key, title string }{
	{"roundtrip", "Round trips"},
	{"oneway", "One way"},
	{"due", "From when a message was due"},
	{"service", "From when a message was sent"},
}

// shownQuantiles are all but the maximum, which is a matter of luck.
var shownQuantiles = []string{"p50", "p90", "p99", "p99.9"}

// maxSizes is the number of message sizes that have a panel. If there are more, the smallest, a
// middle one and the largest are shown.
const maxSizes = 3

// latencyCharts show percentiles of times, with a panel for each size and placement.
func latencyCharts(all rows) []Chart {
	var out []Chart
	for _, kind := range latencyKinds {
		r := all.withoutLevers().where(func(row stat.Row) bool {
			return row.Latency[kind.key].Quantile("p50") != nil && isBare(row.Cell) &&
				row.Cell.Pattern != results.PatternMixed
		})
		for _, own := range r.perSetting() {
			out = append(out, own.latencyChart(kind.key, kind.title))
		}
	}
	return out
}

// latencyChart draws the percentiles of each framing, size and placement.
func (r rows) latencyChart(key, title string) Chart {
	c := Chart{
		Name:     key + r.suffix,
		Title:    title + r.latencySpan(key),
		Subtitle: r.subtitle("size", "placement"),
		X:        Axis{Label: "share of messages that took no longer", Places: shownQuantiles},
		Y:        Axis{Label: "time", Log: true, Unit: Nanos},
		Notes: []string{"All samples of a cell together. p99 is the time that 99 of 100 " +
			"messages took at most; it is shown if ten took longer."},
	}
	sizes := r.sizes()
	if n := len(sizes); n > maxSizes {
		sizes = []int{sizes[0], sizes[n/2], sizes[n-1]}
		c.Notes = append(c.Notes, fmt.Sprintf("Of %d message sizes, three are shown.", n))
	}
	for _, size := range sizes {
		for _, placement := range values(r, placementOf) {
			panel := Panel{Title: view.ShortPlacement(placement) + ", " + sizeName(size)}
			for _, row := range with(with(r, sizeOf, size), placementOf, placement).all {
				panel.Series = append(panel.Series, Series{
					Name:      framingName(row),
					Reference: isRaw(row.Cell.Framing),
					Points:    percentiles(row.Latency[key]),
				})
			}
			if len(panel.Series) > 0 {
				c.Panels = append(c.Panels, panel)
			}
		}
	}
	return c
}

// percentiles returns a point for each percentile that a latency has.
func percentiles(l results.Latency) []Point {
	var points []Point
	for i, name := range shownQuantiles {
		if ns := l.Quantile(name); ns != nil {
			points = append(points, exact(i, float64(*ns)))
		}
	}
	return points
}

// latencySpan says how long the smallest messages take in the first placement: " of 256 B on one
// CPU: p50 2.8 to 4.1 µs, p99 3.2 to 4.8 µs".
func (r rows) latencySpan(key string) string {
	placement := r.all[0].Cell.Placement
	size := r.sizes()[0]
	own := with(with(r, placementOf, placement), sizeOf, size)
	text := fmt.Sprintf(" of %s %s: ", sizeName(size), view.PlacementPhrase(placement))
	for i, quantile := range []string{"p50", "p99"} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, row := range own.all {
			if ns := row.Latency[key].Quantile(quantile); ns != nil {
				low, high = min(low, float64(*ns)), max(high, float64(*ns))
			}
		}
		if low > high {
			continue
		}
		if i > 0 {
			text += ", "
		}
		text += quantile + " " + fromTo(low, high, Nanos)
	}
	return text
}
