package plots

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// A cellChart describes charts of cells: figures along a dimension, with a line for each value in
// another, and a panel for each combination of values in further ones.
type cellChart struct {
	Chart              // the same in all: axes, notes, the beginning of their names
	Of     []string    // metrics of [stat.Metrics], or vsRaw; several have panels of their own
	Along  dimension   // of the x axis
	Lines  dimension   // the first that varies if it is ""
	Across []dimension // have a panel for each combination of values
	Apart  []dimension // have charts of their own where they vary; nil: all else
	guides func(panel selection) []Guide
}

// vsRaw is goodput as a share of that of raw.
const vsRaw = "vs raw"

// charts makes the charts that a description allows.
func (v selection) charts(d cellChart) []Chart {
	lines, apart := v.grouping(d.Lines, append(slices.Clone(d.Across), d.Along)...)
	if d.Apart != nil {
		apart = v.varying(d.Apart...)
	}
	var out []Chart
	for _, p := range v.groupBy(apart) {
		c := p.chart(d, lines)
		if d.Of[0] == vsRaw && len(c.legend()) < 2 { // raw alone has nothing beside it
			continue
		}
		out = append(out, c)
	}
	return out
}

// chart makes the chart that a description allows of cells that share a chart, with a line for each
// value in a dimension.
func (v selection) chart(d cellChart, lines dimension) Chart {
	c := d.Chart
	c.Name += v.suffix
	c.Subtitle = v.subtitle(d.Across...)
	values, note := v.limitSeries(lines)
	if note != "" {
		c.Notes = append(slices.Clone(c.Notes), note)
	}
	panels := v.groupBy(d.Across)
	if d.OwnRows { // one for each metric
		c.Columns = max(2, len(panels))
	}
	for _, metric := range d.Of {
		for _, own := range panels {
			panel := Panel{Title: own.title(d.Across)}
			if len(d.Of) > 1 {
				panel.Title = view.JoinParts(panel.Title, metricName(metric))
			}
			if d.guides != nil {
				panel.Guides = d.guides(own)
			}
			panel.Series = own.seriesBy(lines, values, func(line selection) []Point {
				return line.points(d.Along, c.X, medianOf(metric))
			})
			if len(panel.Series) > 0 || d.OwnRows { // an empty panel keeps its place in a row
				c.Panels = append(c.Panels, panel)
			}
		}
	}
	if d.Along == "size" && !v.varies("size") {
		c.byCategory()
	}
	if c.X.Scale == Category {
		for _, s := range c.series() {
			s.Shape = Dots
			if d.Along == "io" { // raw is one framing among others there
				s.Reference = false
			}
		}
	}
	if d.Of[0] == vsRaw {
		c.limitY()
		c.unjoin()
	}
	return c
}

// byCategory turns a chart against message size that has only one size into one with a column for
// each series.
func (c *Chart) byCategory() {
	names := stat.Distinct(c.legend(), func(s Series) string { return s.Name })
	c.Title, _, _ = strings.Cut(c.Title, " against message size")
	c.X = Axis{Scale: Category, Categories: names}
	isVertical := func(g Guide) bool { return g.Vertical }
	for i := range c.Panels {
		p := &c.Panels[i]
		p.Guides = slices.DeleteFunc(slices.Clone(p.Guides), isVertical)
	}
	for _, s := range c.series() {
		for i := range s.Points {
			s.Points[i].X = float64(slices.Index(names, s.Name))
		}
	}
}

// seriesBy makes a series for each of the values in a dimension, of the points that its records
// give.
func (v selection) seriesBy(
	d dimension, values []string, points func(own selection) []Point,
) []Series {
	var out []Series
	for _, value := range values {
		s := Series{Name: v.display(d, value), Points: points(v.where(d, value))}
		switch d {
		case "size":
			s.Name = view.FieldPhrase("size", value)
		case "framing":
			s.Reference = isRaw(value)
		}
		if s.drawn() {
			out = append(out, s)
		}
	}
	return out
}

// points estimates a figure for each value in a dimension, in the order of their places on the
// axis: a size, a framing's chunk size, or the column of a way of waiting.
func (v selection) points(d dimension, x Axis, of estimator) []Point {
	var out []Point
	for _, value := range v.values(d) {
		place, _ := numeric(value) // Cell.Fields writes a number
		switch d {
		case "framing":
			place = float64(results.ChunkSize(value))
		case "io":
			place = float64(slices.Index(x.Categories, value))
		}
		if p, ok := of(v.where(d, value), place); ok {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, byX)
	return out
}

// An estimator computes the point at x of a line from its cells there; ok is false if their samples
// do not give it.
type estimator func(at selection, x float64) (p Point, ok bool)

// medianOf estimates the median of a metric that [stat.Metrics] lists, or [vsRaw].
func medianOf(name string) estimator {
	if name == vsRaw {
		return ratioToRaw
	}
	m := stat.MustMetric(name)
	return func(at selection, x float64) (Point, bool) {
		e := m.Estimate(at.records...)
		return point(x, e, m.Values(at.samples())), e.N > 0
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
		highest = max(highest, p.Y)
		if !p.Noisy {
			reach = max(reach, p.High)
		}
	}
	limit := 1.25 * highest
	if reach <= limit {
		return
	}
	c.Y.Limit = limit
	note := "An interval that reaches the upper edge goes on beyond it, to %s at most."
	c.Notes = append(slices.Clone(c.Notes), fmt.Sprintf(note, c.Y.Unit.Format(reach)))
}

// ratioToRaw estimates goodput over that of the same cell with the framing raw on the same machine,
// within each interleaving round.
func ratioToRaw(at selection, x float64) (Point, bool) {
	first := at.records[0]
	if isRaw(first.Cell.Framing) {
		return exact(x, 1), true
	}
	own := first.Cell
	own.Framing = ""
	machine := at.set.Machine(first.Run)
	var raw []results.Record
	for _, r := range at.set.Records {
		c := r.Cell
		c.Framing = ""
		if isRaw(r.Cell.Framing) && c == own && at.set.Machine(r.Run) == machine {
			raw = append(raw, r)
		}
	}
	e := stat.PairedRatio(stat.MustMetric("goodput"), at.records, raw)
	return point(x, e, nil), e.N > 0
}

// metricName names a metric beside others: what the ends of each strategy meet, or a percentile.
func metricName(metric string) string {
	switch metric {
	case "eagain":
		return "calls refused (EAGAIN)"
	case "short":
		return "short writes"
	case "waits":
		return "waits outside the call"
	}
	_, percentile, _ := strings.Cut(metric, ".")
	return percentile
}
