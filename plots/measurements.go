package plots

import (
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// isStream selects closed loops one way with messages of one size.
func isStream(r results.Record) bool { return isBulk(r) && r.Cell.Size > 0 }

// isBulk selects closed loops one way.
func isBulk(r results.Record) bool { return r.Cell.Pattern == "stream" && r.Cell.Rate == 0 }

// Axes of several charts.
var (
	sizeAxis     = Axis{Label: "message size", Scale: Log2, Unit: Bytes}
	goodputAxis  = Axis{Label: "goodput: payload bytes a second", Scale: Log, Unit: Rate}
	timeAxis     = Axis{Label: "time", Scale: Log, Unit: Nanos}
	categoryAxis = Axis{Scale: Category}
)

// intervalNote explains the bars.
const intervalNote = "Points are medians over the samples; bars are the 95 % interval of the median, with fewer than six samples their range."

// goodputCharts show goodput against message size: a line for each framing, a panel for each
// placement.
func goodputCharts(set *results.Set) []Chart {
	return bySize(set, Chart{
		Name:  "goodput",
		Title: "Goodput against message size",
		X:     sizeAxis,
		Y:     goodputAxis,
		Notes: []string{intervalNote},
	}, medianOf("goodput"))
}

// bySize fills a chart with a figure of the streams. Streams of recorded messages, which have no
// size in common, get charts of their own.
func bySize(set *results.Set, c Chart, of estimator) []Chart {
	recorded := c
	recorded.Name += "-recorded"
	return append(measuredIn(set, isStream).charts(c, of),
		measuredIn(set, func(r results.Record) bool { return isBulk(r) && r.Cell.Size == 0 }).charts(recorded, of)...)
}

// charts fills a chart with a figure against message size, and copies of it for each combination of
// what else varies.
func (v selection) charts(c Chart, of estimator) []Chart {
	f := v.groupingFor("size", "placement")
	var out []Chart
	for _, p := range v.groupBy(f.charts) {
		filled := c
		filled.Name += p.suffix
		filled.Subtitle = p.subtitle("placement", f.series)
		shown, note := p.limitSeries(f.series)
		if note != "" {
			filled.Notes = append(slices.Clone(c.Notes), note)
		}
		for _, placement := range p.values("placement") {
			filled.Panels = append(filled.Panels, Panel{
				Title:  placement + ": " + view.PlacementPhrase(placement),
				Series: p.where("placement", placement).seriesBy(f.series, shown, of),
				Guides: p.where("placement", placement).capacityGuide(),
			})
		}
		if !p.varies("size") {
			filled.byCategory()
		}
		out = append(out, filled)
	}
	return slices.DeleteFunc(out, Chart.empty)
}

// byCategory turns a chart against message size that has only one size into one with a column for
// each series.
func (c *Chart) byCategory() {
	names := view.Distinct(c.legend(), func(s Series) string { return s.Name })
	c.Title, _, _ = strings.Cut(c.Title, " against message size")
	c.X = Axis{Scale: Category, Categories: names}
	for i := range c.Panels {
		p := &c.Panels[i]
		p.Guides = nil
		p.Series = withShape(p.Series, Dots)
		for k := range p.Series {
			for n := range p.Series[k].Points {
				p.Series[k].Points[n].X = float64(slices.Index(names, p.Series[k].Name))
			}
		}
	}
}

// seriesBy makes a series of the figure against message size for each of the values in a dimension.
func (v selection) seriesBy(d dimension, values []string, of estimator) []Series {
	var out []Series
	for _, value := range values {
		s := v.newSeries(d, value)
		s.Points = v.where(d, value).pointsIn(v, "size", func(size string) float64 {
			x, _ := numeric(size) // Cell.Fields writes a number
			return x
		}, of)
		if len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// pointsIn estimates a point for each value in a dimension, whose place x computes, and returns
// them in the order of their places. The panel is what a point may be compared with.
func (v selection) pointsIn(panel selection, d dimension, x func(value string) float64, of estimator) []Point {
	var out []Point
	for _, value := range v.values(d) {
		if p, ok := of(v.where(d, value), panel.where(d, value), x(value)); ok {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, byX)
	return out
}

// samples returns the samples of all records: of one cell, or of the same cell in several runs.
func (v selection) samples() []results.Sample {
	var out []results.Sample
	for _, r := range v.records {
		out = append(out, r.Samples...)
	}
	return out
}

// capacityGuide marks the pipe's capacity on a size axis if all samples have the same and it lies
// among the sizes.
func (v selection) capacityGuide() []Guide {
	sizes := view.Distinct(v.records, func(r results.Record) int { return r.Cell.Size })
	capacities := v.capacities()
	if len(capacities) != 1 || capacities[0] < slices.Min(sizes) || capacities[0] > slices.Max(sizes) || capacities[0] == 0 {
		return nil
	}
	return []Guide{{Vertical: true, Value: float64(capacities[0]), Label: "pipe capacity"}}
}

// capacities lists the capacities that were read back.
func (v selection) capacities() []int {
	return view.Distinct(v.samples(), func(s results.Sample) int { return s.Capacity })
}

// overheadCharts show the bytes that a framing adds against message size. They are exact, and the
// same in every placement.
func overheadCharts(set *results.Set) []Chart {
	v := measuredIn(set, func(r results.Record) bool { return r.Cell.Size > 0 })
	c := Chart{
		Name:     "overhead",
		Title:    "Wire overhead against message size",
		X:        sizeAxis,
		Y:        Axis{Label: "bytes added to the payload", Scale: Log, Unit: Percent},
		Subtitle: v.subtitle("placement", "size", "framing", "io", "peer", "pipe", "capacity"),
		Notes:    []string{"Exact, and the same on every pipe: bytes on the pipe over payload bytes, less 1."},
	}
	shown, note := v.limitSeries("framing")
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
	c.Panels = []Panel{{Series: v.seriesBy("framing", shown, medianOf("overhead"))}}
	if !v.varies("size") {
		c.byCategory()
	}
	return slices.DeleteFunc([]Chart{c}, Chart.empty)
}

// An estimator computes the point at x from the cells of one series, given all cells of the panel
// at x; ok is false if their samples do not give it.
type estimator func(line, panel selection, x float64) (p Point, ok bool)

// medianOf estimates the median of a metric that [stat.Metrics] lists.
func medianOf(name string) estimator {
	m := stat.MustMetric(name)
	return func(line, _ selection, x float64) (Point, bool) {
		e := m.Estimate(line.records...)
		return point(x, e, m.Values(line.samples())), e.N > 0
	}
}

// estimate returns the median of values with its interval, or with their range if they are too few
// for an interval.
func estimate(x float64, values []float64) (Point, bool) {
	values = slices.DeleteFunc(values, func(v float64) bool { return !finite(v) })
	e := stat.Median(values)
	return point(x, e, values), e.N > 0
}

func point(x float64, e stat.Estimate, values []float64) Point {
	p := exact(x, e.Median)
	switch {
	case e.Interval != nil:
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	case len(values) > 0:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	}
	return p
}
