package plots

import (
	"fmt"
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

// noisyNote is said of charts that have such points.
var noisyNote = fmt.Sprintf("Hollow points are too noisy: their interval or range is wider than ±%d %%.", view.MaxShownSpread)

// goodputCharts show goodput against message size: a line for each framing, a panel for each
// placement.
func goodputCharts(set *results.Set) []Chart {
	return streamCharts(set, Chart{
		Name: "goodput", Title: "Goodput against message size",
		X: sizeAxis, Y: goodputAxis,
		Notes: []string{intervalNote},
	}, medianOf("goodput"))
}

// streamCharts fill a chart with a figure of the streams. Streams of recorded messages, which have no
// size in common, get charts of their own.
func streamCharts(set *results.Set, c Chart, of estimator) []Chart {
	recorded := c
	recorded.Name += "-recorded"
	return append(measuredIn(set, isStream).charts(c, of),
		measuredIn(set, func(r results.Record) bool { return isBulk(r) && r.Cell.Size == 0 }).charts(recorded, of)...)
}

// charts fills a chart with a figure against message size, and copies of it for each combination of
// what else varies.
func (v selection) charts(c Chart, of estimator) []Chart {
	series, charts := v.groupingFor("size", "placement")
	var out []Chart
	for _, p := range v.groupBy(charts) {
		filled := c
		filled.Name += p.suffix
		filled.Subtitle = p.subtitle("placement", series)
		shown, note := p.limitSeries(series)
		if note != "" {
			filled.Notes = append(slices.Clone(c.Notes), note)
		}
		filled.Panels = p.placements(func(own selection) Panel {
			return Panel{Series: own.seriesBy(series, shown, own.bySize(of)), Guides: own.capacityGuide()}
		})
		if !p.varies("size") {
			filled.byCategory()
		}
		out = append(out, filled)
	}
	return out
}

// placements has a panel for each placement.
func (v selection) placements(panel func(own selection) Panel) []Panel {
	return stat.Map(v.values("placement"), func(placement string) Panel {
		made := panel(v.where("placement", placement))
		made.Title = placement + ": " + view.PlacementPhrase(placement)
		return made
	})
}

// byCategory turns a chart against message size that has only one size into one with a column for
// each series.
func (c *Chart) byCategory() {
	names := view.Distinct(c.legend(), func(s Series) string { return s.Name })
	c.Title, _, _ = strings.Cut(c.Title, " against message size")
	c.X = Axis{Scale: Category, Categories: names}
	for i := range c.Panels {
		c.Panels[i].Guides = nil
	}
	for _, s := range c.series() {
		s.Shape = Dots
		for i := range s.Points {
			s.Points[i].X = float64(slices.Index(names, s.Name))
		}
	}
}

// seriesBy makes a series of what points says of the records, for each of the values in a dimension.
func (v selection) seriesBy(d dimension, values []string, points func(own selection) []Point) []Series {
	return stat.Filter(stat.Map(values, func(value string) Series {
		raw := d == "framing" && isRaw(value)
		return Series{Name: v.display(d, value), Reference: raw, Points: points(v.where(d, value))}
	}), Series.drawn)
}

// bySize estimates a figure at each message size, of records that may be compared with the panel's.
func (panel selection) bySize(of estimator) func(selection) []Point {
	place := func(size string) float64 {
		x, _ := numeric(size) // Cell.Fields writes a number
		return x
	}
	return func(own selection) []Point { return own.pointsIn(panel, "size", place, of) }
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
	return slices.Concat(stat.Map(v.records, func(r results.Record) []results.Sample { return r.Samples })...)
}

// capacityGuide marks the pipe's capacity on a size axis if all samples have the same and it lies
// among the sizes.
func (v selection) capacityGuide() []Guide {
	sizes := view.Distinct(v.records, func(r results.Record) int { return r.Cell.Size })
	capacities := v.capacities()
	if len(capacities) != 1 || capacities[0] < max(1, slices.Min(sizes)) || capacities[0] > slices.Max(sizes) {
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
		Name: "overhead", Title: "Wire overhead against message size",
		X:        sizeAxis,
		Y:        Axis{Label: "bytes added to the payload", Scale: Log, Unit: Percent},
		Subtitle: v.subtitle("placement", "size", "framing", "io", "peer", "pipe", "capacity"),
		Notes:    []string{"Exact, and the same on every pipe: bytes on the pipe over payload bytes, less 1."},
	}
	shown, note := v.limitSeries("framing")
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
	c.Panels = []Panel{{Series: v.seriesBy("framing", shown, v.bySize(medianOf("overhead")))}}
	if !v.varies("size") {
		c.byCategory()
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

// point is an estimate with its interval, or with the range of values too few for one.
func point(x float64, e stat.Estimate, values []float64) Point {
	p := exact(x, e.Median)
	switch {
	case e.Interval != nil:
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	case len(values) > 0:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	}
	if p.Low != p.High {
		p.Samples = e.N
		p.Noisy = max(p.High-p.Y, p.Y-p.Low) > p.Y*view.MaxShownSpread/100
	}
	return p
}

// ratioNote explains how the ratio to raw is computed.
const ratioNote = "Points are medians of the ratios taken round by round, so that what slows the whole machine drops out; bars are the 95 % interval, with fewer than six rounds nothing."

// ratioCharts show the goodput of each framing relative to raw at the same size: what the framing
// costs.
func ratioCharts(set *results.Set) []Chart {
	charts := streamCharts(set, Chart{
		Name: "ratio", Title: "Goodput of each framing as a share of raw",
		X:     sizeAxis,
		Y:     Axis{Label: "goodput vs raw", Scale: Linear, Unit: Times, From: new(0.0)},
		Dodge: true,
		Notes: []string{ratioNote},
	}, ratioToRaw)
	for i := range charts {
		charts[i].limitY()
		charts[i].unjoin()
	}
	return slices.DeleteFunc(charts, func(c Chart) bool { return len(c.legend()) < 2 || !c.differsFromRaw() })
}

// differsFromRaw returns whether a point of the chart lies anywhere but at exactly 1, which is raw
// against itself.
func (c Chart) differsFromRaw() bool {
	return slices.ContainsFunc(c.points(), func(p *Point) bool { return p.Low != 1 || p.High != 1 || p.Y != 1 })
}

// unjoin has points stand alone, each with its interval: lines between wide intervals hide them.
func (c *Chart) unjoin() {
	for _, s := range c.series() {
		if !s.Reference {
			s.Shape = Dots
		}
	}
}

// limitY ends the Y axis a little above the points if one wide interval would press all lines
// together, and adds a note about it.
func (c *Chart) limitY() {
	highest, reach := 1.0, 0.0
	for _, p := range c.points() {
		if highest = max(highest, p.Y); !p.Noisy {
			reach = max(reach, p.High)
		}
	}
	if limit := 1.25 * highest; reach > limit {
		c.Y.Limit = limit
		c.Notes = append(slices.Clone(c.Notes), fmt.Sprintf("An interval that reaches the upper edge goes on beyond it, to %s at most.", c.Y.Unit.Format(reach)))
	}
}

// ratioToRaw estimates goodput over that of raw, within each interleaving round.
func ratioToRaw(line, panel selection, x float64) (Point, bool) {
	raw := panel.keep(func(r results.Record) bool { return isRaw(r.Cell.Framing) })
	if len(raw.records) == 0 || len(line.records) == 0 {
		return Point{}, false
	}
	if isRaw(line.records[0].Cell.Framing) {
		return exact(x, 1), true
	}
	e := stat.PairedRatio(stat.MustMetric("goodput"), line.records, raw.records)
	return point(x, e, nil), e.N > 0
}

// machineCharts compare machines: goodput of each framing relative to the raw pipe of the same
// machine, because absolute figures of two machines say little. Each framing has a panel, each
// machine a line.
func machineCharts(set *results.Set) []Chart {
	v := measuredIn(set, isStream)
	if !v.varies(machine) {
		return nil
	}
	var out []Chart
	for _, p := range v.groupBy(v.varying(slices.Concat([]dimension{"placement"}, seriesOrder[1:])...)) {
		c := Chart{
			Name:     "machines" + p.suffix,
			Title:    "The same framing on several machines, each against its own raw pipe",
			Subtitle: p.subtitle("framing", "size"),
			X:        sizeAxis,
			Y:        Axis{Label: "goodput vs the machine's raw", Scale: Linear, Unit: Times, From: new(0.0)},
			Dodge:    true,
			Notes:    []string{ratioNote},
		}
		framings, _ := p.limitSeries("framing")
		for _, spec := range stat.Filter(framings, func(spec string) bool { return !isRaw(spec) }) {
			lines := p.seriesBy(machine, p.values(machine), func(own selection) []Point {
				return own.bySize(ratioToRaw)(own.where("framing", spec))
			})
			if len(lines) > 0 {
				panel := Panel{Title: view.FieldValue("framing", spec), Guides: []Guide{{Value: 1, Label: "raw"}}, Series: lines}
				c.Panels = append(c.Panels, panel)
			}
		}
		c.limitY()
		c.unjoin()
		out = append(out, c)
	}
	return slices.DeleteFunc(out, func(c Chart) bool { return len(c.legend()) < 2 })
}
