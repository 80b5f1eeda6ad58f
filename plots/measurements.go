package plots

import (
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// isStream selects closed loops one way with messages of one size.
func isStream(r results.Record) bool { return isBulk(r) && r.Cell.Size > 0 }

// isBulk selects closed loops one way.
func isBulk(r results.Record) bool { return r.Cell.Pattern == "stream" && r.Cell.Rate == 0 }

// sizeAxis is the x axis of every chart against message size.
var sizeAxis = Axis{Label: "message size", Scale: Log2, Unit: Bytes}

// intervalNote explains the bars and the shade.
const intervalNote = "Points are medians over the samples; bars and shade are the 95 % interval of the median, with fewer than six samples their range."

// goodputCharts show goodput against message size: a line for each framing, a panel for each
// placement.
func goodputCharts(set *results.Set) []Chart {
	return bySize(set, Chart{
		Name:  "goodput",
		Title: "Goodput against message size",
		X:     sizeAxis,
		Y:     Axis{Label: "goodput: payload bytes a second", Scale: Log, Unit: Rate},
		Notes: []string{intervalNote},
	}, medianOf("goodput"))
}

// growthCharts show the time for a byte against message size: a flat line is linear growth, a
// rising one is faster.
func growthCharts(set *results.Set) []Chart {
	charts := bySize(set, Chart{
		Name:  "growth",
		Title: "Time per byte against message size",
		X:     sizeAxis,
		Y:     Axis{Label: "time per payload byte", Scale: Log, Unit: PerByte},
		Notes: []string{"A flat line is time that grows as the size does; a rising one grows faster than the size.", intervalNote},
	}, perByte)
	return slices.DeleteFunc(charts, func(c Chart) bool { return c.longestSeries() < 3 })
}

// longestSeries returns the number of points of the longest series.
func (c Chart) longestSeries() int {
	longest := 0
	for s := range c.series() {
		longest = max(longest, len(s.Points))
	}
	return longest
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
				Title:  panelTitle("placement", placement),
				Series: p.where("placement", placement).seriesBy(f.series, shown, of),
				Guides: p.where("placement", placement).capacityGuide(),
			})
		}
		if !p.varies("size") {
			filled.byCategory()
		}
		if !filled.empty() {
			out = append(out, filled)
		}
	}
	return out
}

// byCategory turns a chart against message size that has only one size into one with a column for
// each series.
func (c *Chart) byCategory() {
	var names []string
	for _, s := range c.legend() {
		names = append(names, s.Name)
	}
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
		s := newSeries(d, value)
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
	sizes := distinct(v.records, func(r results.Record) int { return r.Cell.Size })
	capacities := v.capacities()
	if len(capacities) != 1 || capacities[0] < slices.Min(sizes) || capacities[0] > slices.Max(sizes) || capacities[0] == 0 {
		return nil
	}
	return []Guide{{Vertical: true, Value: float64(capacities[0]), Label: "pipe capacity"}}
}

// capacities lists the capacities that were read back.
func (v selection) capacities() []int {
	return distinct(v.samples(), func(s results.Sample) int { return s.Capacity })
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
	if c.empty() {
		return nil
	}
	return []Chart{c}
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

// perByte estimates the median of the time for a payload byte, in nanoseconds.
func perByte(line, _ selection, x float64) (Point, bool) {
	var values []float64
	for _, s := range line.samples() {
		if s.PayloadBytes > 0 {
			values = append(values, float64(s.ElapsedNS)/float64(s.PayloadBytes))
		}
	}
	return estimate(x, values)
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
