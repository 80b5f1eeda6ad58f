package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// shownQuantiles are the percentiles that charts show. The maximum is left out, because it depends
// too much on chance.
var shownQuantiles = []string{"p50", "p90", "p99", "p99.9"}

// maxSizes is the largest number of message sizes that have panels.
const maxSizes = 3

// latencyChart returns a function that makes a chart of one kind of latency, found under key in
// [stat.Row.Latency]. The title of the chart begins with the text in start.
func latencyChart(key, start string) func(rows) Chart {
	return func(all rows) Chart {
		r := all.withoutLevers().where(func(row stat.Row) bool {
			return row.Latency[key].Quantile("p50") != nil && row.Cell.IsBare() &&
				row.Cell.Pattern != results.PatternMixed
		})
		if len(r.all) == 0 {
			return Chart{}
		}
		c := Chart{
			Name:     key,
			Subtitle: r.subtitle("placement"),
			X:        Axis{Label: "percentile of messages", Places: shownQuantiles},
			Y:        Axis{Label: "time", Log: true, Unit: Nanos},
			Notes: []string{"90 of 100 messages took p90 or less. A percentile that fewer " +
				"than ten messages exceeded is not shown."},
		}
		if sizes := r.sizes(); len(sizes) > maxSizes {
			shown := []int{sizes[0], sizes[len(sizes)/2], sizes[len(sizes)-1]}
			r = r.where(func(row stat.Row) bool { return slices.Contains(shown, row.Cell.Size) })
			c.Notes = append(c.Notes, fmt.Sprintf("Three of %d message sizes are shown.",
				len(sizes)))
		}
		c.addLatencies(r, key)
		c.dropRarePercentiles()
		c.Title = start + r.latencySpan(key)
		return c
	}
}

// addLatencies adds a panel for each message size and placement, with a line for each framing.
func (c *Chart) addLatencies(r rows, key string) {
	title := r.titled(placeName, "framing", "placement")
	for _, name := range values(r, title) {
		panel := Panel{Title: name}
		for _, row := range withValue(r, title, name).all {
			panel.Series = append(panel.Series, Series{
				Name:      framingName(row),
				Reference: isRaw(row.Cell.Framing),
				Points:    percentiles(row, key),
			})
		}
		c.Panels = append(c.Panels, panel)
	}
}

// dropRarePercentiles drops the highest percentiles if fewer than half of the chart's lines have
// them.
func (c *Chart) dropRarePercentiles() {
	lines := c.series()
	shown := len(c.X.Places)
	for ; shown > 1; shown-- {
		have := 0
		for _, s := range lines {
			if len(s.Points) >= shown {
				have++
			}
		}
		if 2*have >= len(lines) {
			break
		}
	}
	c.X.Places = c.X.Places[:shown]
	for _, panel := range c.Panels {
		for i := range panel.Series {
			s := &panel.Series[i]
			s.Points = s.Points[:min(len(s.Points), shown)]
		}
	}
}

func percentiles(row stat.Row, key string) []Point {
	var points []Point
	for i, name := range shownQuantiles {
		if ns := row.Latency[key].Quantile(name); ns != nil {
			p := exact(i, float64(*ns))
			p.Doubt = isRoughTime(row, key)
			points = append(points, p)
		}
	}
	return points
}

// isRoughTime reports whether the row's median of one kind of latency is so uncertain that tables
// mark it as rough.
func isRoughTime(row stat.Row, key string) bool { return view.IsRough(row.Estimates[key+".p50"]) }

// latencySpan returns the end of a title, about the latency of the smallest messages: " of 256 B on
// one CPU takes 2.8 to 4.1 µs (median of messages)".
func (r rows) latencySpan(key string) string {
	r = r.where(func(row stat.Row) bool { return !isRoughTime(row, key) })
	if len(r.all) == 0 {
		return ", by percentile of messages"
	}
	size := r.sizes()[0]
	r = withValue(r, sizeOf, size)
	placement := r.all[0].Cell.Placement
	medians := values(withValue(r, placeName, placeName(r.all[0])), func(row stat.Row) float64 {
		return float64(*row.Latency[key].Quantile("p50"))
	})
	return fmt.Sprintf(" of %s %s takes %s (median of messages)", view.SizeTitle(size),
		results.PlacementPhrase(placement),
		fromTo(slices.Min(medians), slices.Max(medians), Nanos))
}
