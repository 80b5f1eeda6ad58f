package plots

import (
	"fmt"
	"math"
	"slices"

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

// minCurveCount is how many observations the shortest curve needs. It ends at p50: ten of 20
// observations lie beyond that.
const minCurveCount = 20

// maxSizes is the number of message sizes that have a panel. If there are more, the smallest, a
// middle one and the largest are shown.
const maxSizes = 3

// latencyCharts show distributions of times, with a panel for each size and placement. On their
// axis 90, 99, 99.9 % and so on are equally far apart.
func latencyCharts(all rows) []Chart {
	var out []Chart
	for _, kind := range latencyKinds {
		r := all.withoutLevers().where(func(row stat.Row) bool {
			return row.Latency[kind.key].Count >= minCurveCount && isBare(row.Cell) &&
				row.Cell.Pattern != results.PatternMixed
		})
		for _, own := range r.perSetting() {
			out = append(out, own.distribution(kind.key, kind.title))
		}
	}
	return out
}

// distribution draws the whole curve of each framing, size and placement.
func (r rows) distribution(key, title string) Chart {
	placements := values(r, placementOf)
	c := Chart{
		Name:     key + r.suffix,
		Title:    title + r.latencySpan(key),
		Subtitle: r.subtitle("size", "placement"),
		X:        Axis{Label: "share of messages that took no longer", Scale: Nines},
		Y:        Axis{Label: "time", Scale: Log, Unit: Nanos},
		Columns:  min(len(placements), 3),
		Notes: []string{"All samples of a cell together. A curve ends where ten observations are " +
			"left beyond it."},
	}
	sizes := r.sizes()
	if n := len(sizes); n > maxSizes {
		sizes = []int{sizes[0], sizes[n/2], sizes[n-1]}
		c.Notes = append(c.Notes, fmt.Sprintf("Of %d message sizes, three are shown.", n))
	}
	if c.Columns == 1 {
		c.Columns = min(len(sizes), 2)
	}
	for _, size := range sizes {
		for _, placement := range placements {
			panel := Panel{
				Title: view.JoinParts(placement, messagesOf(size)),
			}
			for _, row := range r.of(size).at(placement).all {
				panel.Series = append(panel.Series, Series{
					Name:      view.FieldValue("framing", row.Cell.Framing),
					Reference: isRaw(row.Cell.Framing),
					Shape:     Curve,
					Points:    curve(row.Latency[key]),
				})
			}
			c.Panels = append(c.Panels, panel)
		}
	}
	return c
}

// latencySpan says how long the smallest messages take in the first placement: ", 256 B on one CPU:
// p50 2.8 to 4.1 µs, p99 3.2 to 4.8 µs".
func (r rows) latencySpan(key string) string {
	placement := r.all[0].Cell.Placement
	size := r.sizes()[0]
	own := r.at(placement).of(size)
	text := fmt.Sprintf(" of %s %s: ", view.SizeText(size), view.PlacementPhrase(placement))
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

// curveStep is the distance between two points of a curve, in nines (see ninesOf).
const curveStep = 0.05

// curve reads a distribution at equal steps of its axis, up to the last percentile that has ten
// observations beyond it, with a marker at p50 and at each nine.
func curve(l results.Latency) []Point {
	h, err := l.Histogram()
	if err != nil || l.Count < minCurveCount {
		return nil
	}
	last := math.Log10(float64(l.Count) / 10)
	at := func(depth float64, mark bool) Point {
		q := 1 - math.Pow(10, -depth)
		p := exact(q, float64(h.ValueAtQuantile(100*q)))
		p.Mark = mark
		return p
	}
	points := []Point{exact(0, float64(l.MinNS))}
	for i := 1; float64(i)*curveStep <= last; i++ {
		points = append(points, at(float64(i)*curveStep, i%20 == 0))
	}
	half := ninesOf(0.5)
	return slices.Insert(points, 1+int(half/curveStep), at(half, true))
}
