package plots

import (
	"fmt"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// latencyKinds are the clocks of a latency, with what each one times.
var latencyKinds = []struct{ key, title string }{
	{"roundtrip", "Round-trip time"},
	{"oneway", "One-way time"},
	{"due", "Time from when a message was due"},
	{"service", "Time from when a message was sent"},
}

var timeAxis = Axis{Label: "time", Scale: Log, Unit: Nanos}

// latencyCharts show distributions of times, on an axis that gives each further nine the same room,
// with a panel for each size and placement.
func latencyCharts(set *results.Set) []Chart {
	var out []Chart
	for _, kind := range latencyKinds {
		v := measuredIn(set, func(r results.Record) bool {
			return observations(r, kind.key) > 0 && r.Cell.Pattern != patternMixed
		})
		lines, apart := v.grouping("", "size", "placement")
		for _, p := range v.groupBy(apart) {
			out = append(out, p.distribution(kind.key, kind.title, lines))
		}
		charts := v.charts(cellChart{
			Chart: Chart{
				Name:    kind.key + "-size",
				Title:   kind.title + " against message size",
				X:       sizeAxis,
				Y:       timeAxis,
				OwnRows: true,
				Notes: []string{"Medians over the samples of each one's percentile, with their " +
					"95 % interval; a percentile needs ten observations beyond it."},
			},
			Of:     []string{kind.key + ".p50", kind.key + ".p99"},
			Along:  "size",
			Across: []dimension{"placement"},
		})
		isLong := func(s *Series) bool { return len(s.Points) > 2 }
		for _, c := range charts {
			if slices.ContainsFunc(c.series(), isLong) {
				out = append(out, c)
			}
		}
	}
	return out
}

// maxSizes is the number of message sizes that a distribution has panels for: of more, the smallest,
// a middle and the largest.
const maxSizes = 3

// distribution draws the whole curve of each series, size and placement.
func (p selection) distribution(key, title string, lines dimension) Chart {
	c := Chart{
		Name:     key + p.suffix,
		Title:    title + ": the whole distribution",
		Subtitle: p.subtitle("size", "placement"),
		X:        Axis{Label: "share of messages that took no longer", Scale: Nines},
		Y:        timeAxis,
		Columns:  len(p.values("placement")),
		OwnRows:  true,
		Notes: []string{"All samples of a cell together. A curve ends where ten observations are " +
			"left beyond it."},
	}
	sizes := p.keep(func(r results.Record) bool { return observations(r, key) >= minCurveCount }).values("size")
	if n := len(sizes); n > maxSizes {
		sizes = []string{sizes[0], sizes[n/2], sizes[n-1]}
		c.Notes = append(c.Notes, fmt.Sprintf("Of %d message sizes, three are shown.", n))
	}
	if c.Columns == 1 {
		c.Columns = min(len(sizes), 2)
	}
	order, _ := p.limitSeries(lines)
	for _, size := range sizes {
		for _, placement := range p.values("placement") {
			own := p.where("size", size).where("placement", placement)
			panel := Panel{Title: view.JoinParts(placement, view.FieldPhrase("size", size))}
			panel.Series = own.seriesBy(lines, order, func(v selection) []Point {
				l, _ := results.MergeLatencies(v.samples(), key) // one that is damaged has no curve
				return curve(l)
			})
			for i := range panel.Series {
				panel.Series[i].Shape = Curve
			}
			c.Panels = append(c.Panels, panel)
		}
	}
	return c
}

// minCurveCount is the number of observations that the shortest curve takes, one up to p50.
const minCurveCount = 20

// observations counts those of a record.
func observations(r results.Record, key string) int64 {
	var n int64
	for _, s := range r.Samples {
		n += s.Latency[key].Count
	}
	return n
}

// curveStep is the distance between two points of a curve, in nines.
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
	return slices.Insert(points, 1+int(ninesOf(0.5)/curveStep), at(ninesOf(0.5), true))
}
