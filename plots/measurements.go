package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// isStream is a closed loop one way with messages of one size.
func isStream(r results.Record) bool { return isBulk(r) && r.Cell.Size > 0 }

// isBulk is a closed loop one way.
func isBulk(r results.Record) bool { return r.Cell.Pattern == "stream" && r.Cell.Rate == 0 }

// sizeAxis is the x axis of everything that is held against the message size.
var sizeAxis = Axis{Label: "message size", Scale: Log2, Unit: Bytes}

// intervalNote says what the bars and the shade are.
const intervalNote = "Points are medians over the samples; bars and shade are the 95 % interval of the median, with fewer than six samples their range."

// ratioNote says how the share of raw is taken.
const ratioNote = "Points are medians of the ratios taken round by round, so that what slows the whole machine drops out; bars and shade are the 95 % interval, with fewer than six rounds nothing."

// goodputCharts hold goodput against message size: a line a framing, a panel a
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

// growthCharts hold the time a byte takes against message size: flat is
// linear, rising is worse than linear.
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

// longestSeries is the length of the longest series.
func (c Chart) longestSeries() int {
	most := 0
	for _, p := range c.Panels {
		for _, s := range p.Series {
			most = max(most, len(s.Points))
		}
	}
	return most
}

// bySize fills a chart with a figure of the streams; those of recorded
// messages, which have no size in common, have charts of their own.
func bySize(set *results.Set, c Chart, of estimator) []Chart {
	recorded := c
	recorded.Name += "-recorded"
	return append(measuredIn(set, isStream).charts(c, of),
		measuredIn(set, func(r results.Record) bool { return isBulk(r) && r.Cell.Size == 0 }).charts(recorded, of)...)
}

// charts fill a chart, and its siblings for whatever else varies, with a figure
// against message size.
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
				Title:  facetTitle("placement", placement),
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

// byCategory lays a chart of one message size out by its lines: each is a point
// above its name.
func (c *Chart) byCategory() {
	var names []string
	for _, s := range c.names() {
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

// lines makes a series a value of the line dimension: the figure against
// message size.
func (v selection) seriesBy(d dimension, values []string, of estimator) []Series {
	var out []Series
	for _, value := range values {
		s := newSeries(d, value)
		own := v.where(d, value)
		for _, size := range own.values("size") {
			x, err := strconv.ParseFloat(size, 64)
			if err != nil {
				continue // a size is a number: Cell.Fields writes it
			}
			if p, ok := of(own.where("size", size), v.where("size", size), x); ok {
				s.Points = append(s.Points, p)
			}
		}
		if len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// samples are those of all records of the view: of one cell, or of the same
// cell in several runs.
func (v selection) samples() []results.Sample {
	var out []results.Sample
	for _, r := range v.records {
		out = append(out, r.Samples...)
	}
	return out
}

// capacityGuide marks the pipe's capacity on a size axis, where it is one and
// lies among the sizes.
func (v selection) capacityGuide() []Guide {
	var capacities []int
	low, high := 0, 0
	for _, r := range v.records {
		low, high = minOf(low, r.Cell.Size), max(high, r.Cell.Size)
		for _, s := range r.Samples {
			capacities = append(capacities, s.Capacity)
		}
	}
	slices.Sort(capacities)
	capacities = slices.Compact(capacities)
	if len(capacities) != 1 || capacities[0] < low || capacities[0] > high || capacities[0] == 0 {
		return nil
	}
	return []Guide{{Vertical: true, Value: float64(capacities[0]), Label: "pipe capacity"}}
}

// minOf is the smaller of two sizes, where zero is none yet.
func minOf(a, b int) int {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// maxSeriesOfFraming is how many sizes of one framing a chart shows as lines; more
// than that is a sweep, which has a chart of its own.
const maxSeriesOfFraming = 3

// limitSeries keeps of a framing with many sizes the smallest, the largest, and of
// the others the one with the most records, and says so. The reference comes
// first.
func (v selection) limitSeries(d dimension) (values []string, note string) {
	values = v.values(d)
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Or(rank(a)-rank(b), compareChunks(a, b)) })
	if d != "framing" {
		return values, ""
	}
	for _, name := range v.families() {
		all := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return family(s) != name })
		if len(all) <= maxSeriesOfFraming {
			continue
		}
		inner := all[1 : len(all)-1]
		keep := []string{all[0], v.fullest(d, inner), all[len(all)-1]}
		values = slices.DeleteFunc(values, func(s string) bool { return family(s) == name && !slices.Contains(keep, s) })
		note = joinWords(note, fmt.Sprintf("Of %d sizes of %s, three are shown.", len(all), name))
	}
	return values, note
}

// fullest is the value with the most records, the middle one of several.
func (v selection) fullest(d dimension, values []string) string {
	best := values[len(values)/2]
	most := len(v.where(d, best).records)
	for _, value := range values {
		if n := len(v.where(d, value).records); n > most {
			best, most = value, n
		}
	}
	return best
}

func compareChunks(a, b string) int { return chunkOf(a) - chunkOf(b) }

// chunkOf is the size in a framing's spec, 0 where there is none.
func chunkOf(spec string) int {
	_, size, _ := strings.Cut(spec, ":")
	n, err := strconv.Atoi(size)
	if err != nil {
		return 0
	}
	return n
}

// ratioCharts hold each framing's goodput against that of raw at the same
// size: what the framing costs.
func ratioCharts(set *results.Set) []Chart {
	charts := bySize(set, Chart{
		Name:  "ratio",
		Title: "Goodput of each framing as a share of raw",
		X:     sizeAxis,
		Y:     Axis{Label: "goodput ÷ goodput of raw", Scale: Linear, Unit: Times, From: new(0.0)},
		Dodge: true,
		Notes: []string{ratioNote},
	}, ratioToRaw)
	for i := range charts {
		charts[i].limitY()
	}
	return slices.DeleteFunc(charts, func(c Chart) bool { return len(c.names()) < 2 || !c.differsFromRaw() })
}

// differsFromRaw says whether a point of the chart lies anywhere but at exactly 1,
// which is where raw is against itself.
func (c Chart) differsFromRaw() bool {
	for _, p := range c.Panels {
		for _, s := range p.Series {
			if slices.ContainsFunc(s.Points, func(pt Point) bool { return pt.Low != 1 || pt.High != 1 || pt.Y != 1 }) {
				return true
			}
		}
	}
	return false
}

// limitY ends the Y axis not far above the points, where one wide interval
// would press all lines together, and says so.
func (c *Chart) limitY() {
	highest, reach := 1.0, 0.0
	for _, p := range c.Panels {
		for _, s := range p.Series {
			for _, pt := range s.Points {
				highest, reach = max(highest, pt.Y), max(reach, pt.High)
			}
		}
	}
	if limit := 1.25 * highest; reach > limit {
		c.Y.Limit = limit
		c.Notes = append(slices.Clone(c.Notes), fmt.Sprintf("An interval that reaches the upper edge goes on beyond it, to %s at most.", c.Y.Unit.Format(reach)))
	}
}

// overheadCharts hold the bytes that a framing adds against message size.
// They are exact, and the same in every placement.
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

// chunkCharts hold goodput against chunk size where a run tried at least three:
// a line a message size.
func chunkCharts(set *results.Set) []Chart {
	v := measuredIn(set, func(r results.Record) bool {
		return isStream(r) && chunkOf(r.Cell.Framing) > 0 && !isRaw(r.Cell.Framing)
	})
	var out []Chart
	for _, name := range v.families() {
		out = append(out, v.chunkChart(name)...)
	}
	return out
}

// families lists the framings that have a size, without it.
func (v selection) families() []string {
	var out []string
	for _, spec := range v.values("framing") {
		if !slices.Contains(out, family(spec)) {
			out = append(out, family(spec))
		}
	}
	return out
}

func (v selection) chunkChart(name string) []Chart {
	v = v.keep(func(r results.Record) bool { return family(r.Cell.Framing) == name })
	if len(v.values("framing")) < 3 {
		return nil
	}
	f := v.groupingFor("framing", "placement")
	f.charts = slices.DeleteFunc(append(f.charts, f.series), func(d dimension) bool { return d == "size" || d == "framing" || !v.varies(d) })
	var out []Chart
	for _, p := range v.groupBy(f.charts) {
		c := Chart{
			Name:     "chunk-" + name + p.suffix,
			Title:    "Goodput against chunk size, " + name,
			Subtitle: p.subtitle("placement"),
			X:        Axis{Label: "chunk size: bytes of a whole frame, at most", Scale: Log2, Unit: Bytes},
			Y:        Axis{Label: "goodput: payload bytes a second", Scale: Log, Unit: Rate},
			Notes:    []string{intervalNote},
		}
		for _, placement := range p.values("placement") {
			c.Panels = append(c.Panels, Panel{
				Title:  facetTitle("placement", placement),
				Series: p.where("placement", placement).chunkLines(),
			})
		}
		out = append(out, c)
	}
	return out
}

func (v selection) chunkLines() []Series {
	var out []Series
	for _, size := range v.values("size") {
		s := Series{Name: display("size", size) + " messages"}
		own := v.where("size", size)
		specs := own.values("framing")
		slices.SortFunc(specs, compareChunks)
		for _, spec := range specs {
			if p, ok := medianOf("goodput")(own.where("framing", spec), own, float64(chunkOf(spec))); ok {
				s.Points = append(s.Points, p)
			}
		}
		out = append(out, s)
	}
	return out
}
