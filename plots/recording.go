package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// trafficCharts show a recording: the sizes of its messages, and how long each method took to
// answer.
func trafficCharts(set *results.Set) []Chart {
	about := environmentLines(set, set.Messages)
	return []Chart{laneChart(set, about), sizeChart(set, about), methodChart(set, about)}
}

// laneBins is the number of times in which a picture of a recording puts messages together.
const laneBins = 300

// laneChart shows a recording over time: a lane for each direction, in it the sizes of what passed.
func laneChart(set *results.Set, about []string) Chart {
	c := chartOf("traffic-time", about)
	size := func(m results.Message) float64 { return float64(m.Size) }
	end := slices.Max(append(stat.Map(set.Messages, func(m results.Message) int64 { return m.T }), 1))
	for _, lane := range stat.Directions(set.Messages) {
		s := Series{Name: lane[0].Dir, Shape: Dots}
		binOf := func(m results.Message) int64 { return m.T * laneBins / (end + 1) }
		for _, bin := range stat.GroupBy(lane, binOf) {
			sizes := stat.Map(bin, size)
			least, most := slices.Min(sizes), slices.Max(sizes)
			s.Points = append(s.Points, Point{X: float64(bin[0].T), Y: most, Low: least, High: most, Samples: len(bin)})
		}
		slices.SortFunc(s.Points, byX)
		stalled := stat.Filter(lane, func(m results.Message) bool { return m.Stall >= view.NotableStall })
		c.Panels = append(c.Panels, Panel{
			Title:  map[string]string{"request": "requests", "reply": "replies"}[lane[0].Dir],
			Series: []Series{s},
			Regions: stat.Map(stalled, func(m results.Message) Region {
				return Region{From: float64(m.T), To: float64(m.T + m.Stall)}
			}),
		})
	}
	return c
}

// sizeChart shows the share of messages that are no larger than a size.
func sizeChart(set *results.Set, about []string) Chart {
	c := chartOf("traffic-size", about)
	var p Panel
	var largest int64
	for _, way := range stat.Directions(set.Messages) {
		sizes := stat.Map(way, func(m results.Message) int64 { return m.Size })
		slices.Sort(sizes)
		largest = max(largest, sizes[len(sizes)-1])
		// the corners of a staircase: at each of ascending sizes, the percentage of those no larger
		points := []Point{exact(float64(sizes[0]), 0)}
		for i, v := range sizes {
			if i+1 == len(sizes) || sizes[i+1] != v {
				last := points[len(points)-1]
				points = append(points, exact(float64(v), last.Y), exact(float64(v), 100*float64(i+1)/float64(len(sizes))))
			}
		}
		p.Series = append(p.Series, Series{Name: way[0].Dir, Shape: Curve, Points: points})
	}
	for _, t := range view.Thresholds {
		if t <= largest {
			p.Guides = append(p.Guides, Guide{Vertical: true, Value: float64(t), Label: results.FormatSize(t)})
		}
	}
	c.Panels = []Panel{p}
	return c
}

// methodChart shows the time from a request to the reply of the same id, for each method.
func methodChart(set *results.Set, about []string) Chart {
	c := chartOf("traffic-method", about)
	times, _ := stat.Replies(set.Messages)
	names := []string{"p50", "p90", "p99", "max"}
	series := stat.Map(names, func(name string) Series { return Series{Name: name, Shape: Dots} })
	methods := stat.ByCount(times)
	methods = methods[:min(len(methods), maxCategories)]
	slices.Reverse(methods) // the most frequent on top
	for row, method := range methods {
		c.Y.Categories = append(c.Y.Categories, fmt.Sprintf("%s (%d)", view.Truncate(method, view.MaxNameLength), len(times[method])))
		l, _ := results.NewLatency(times[method]) // a histogram that it made itself always encodes
		for i, name := range names {
			if ns := l.Quantile(name); ns != nil {
				series[i].Points = append(series[i].Points, exact(float64(*ns), float64(row)))
			}
		}
	}
	c.Panels = []Panel{{Series: stat.Filter(series, Series.drawn)}}
	return c
}
