package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// tuneCharts show both sides of the choice of a chunk size: how long a small message waits behind
// large ones, and what chunks cost.
func tuneCharts(set *results.Set) []Chart {
	// tune records as measurements, which their cells and samples are
	all := selection{set: set, records: stat.TuneMeasurements(set).Records}
	chosen := all.mostMeasured("size")
	v := all.keep(func(r results.Record) bool {
		size := all.valueOf("size", r)
		return len(all.where("size", size).values("framing")) > minFramings || slices.Contains(chosen.values("size"), size)
	})
	groups := v.groupBy(v.varying(machine, "size", "placement", "pipe", "io", "rate", "messages"))
	both := func(p selection) []Chart { return []Chart{p.waitChart(), p.paretoChart()} }
	return slices.Concat(stat.Map(groups, both)...)
}

// minFramings is the number of framings that tune tries with messages of a second size to check its
// choice; more framings are a choice of their own.
const minFramings = 3

// waitChart shows the wait of small messages against chunk size, with a panel for each reader rate
// limit. The lines are p50, p99, the prediction of the rule of thumb, and p50 of each other
// variant.
func (p selection) waitChart() Chart {
	c := chartOf("wait", p.subtitle("framing", "drain", "rate"))
	c.Name += p.suffix
	chunked := p.keep(func(r results.Record) bool {
		return family(r.Cell.Framing) == "chunked" && results.ChunkSize(r.Cell.Framing) > 0
	})
	variants := chunked.variants()
	for _, drain := range chunked.values("drain") {
		own := chunked.where("drain", drain)
		panel := Panel{Title: "reader at " + view.FieldValue("drain", drain)}
		plain := own.withVariant(variants[0])
		panel.Series = append(plain.predicted(), plain.chunkLine("p50", medianOf("due.p50")), plain.chunkLine("p99", medianOf("due.p99")))
		for _, variant := range variants[1:] {
			panel.Series = append(panel.Series, own.withVariant(variant).chunkLine("p50, "+variant, medianOf("due.p50")))
		}
		whole := p.where("drain", drain).where("framing", "ndjson")
		name := "ndjson (p99)"
		for _, spec := range p.recommended(drain) {
			if size := results.ChunkSize(spec); size > 0 {
				panel.Guides = append(panel.Guides, Guide{Vertical: true, Value: float64(size), Label: "use " + chunkLabel(spec)})
			} else { // it has no place among the sizes
				name = "use " + name
			}
		}
		if wait, ok := medianOf("due.p99")(whole, 0); ok {
			panel.Guides = append(panel.Guides, Guide{Value: wait.Y, Label: name})
		}
		c.Panels = append(c.Panels, panel)
	}
	if slices.Contains(p.values("framing"), "ndjson") {
		c.Notes = slices.Insert(c.Notes, 0, "Across: the wait behind unchunked messages (ndjson).")
	}
	if slices.ContainsFunc(c.legend(), func(s Series) bool { return s.Name == predictedName }) {
		c.Notes = slices.Insert(c.Notes, 0, "Predicted: (pipe capacity + chunk) ÷ the reader's rate.")
	}
	return c
}

// variantOf names what tune varied beside the chunk size: the pipe's capacity, or what the sender
// does.
func (v selection) variantOf(r results.Record) string {
	switch name, value, _ := strings.Cut(r.Cell.Sender, "="); name {
	case "watermark":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return "watermark of " + results.FormatSize(n)
		}
	case "wait":
		if d, err := time.ParseDuration(value); err == nil {
			return "frames of " + results.FormatDuration(float64(d)) + " each"
		}
	}
	return cmp.Or(r.Cell.Sender, "pipe of "+view.FieldValue("capacity", v.valueOf("capacity", r)))
}

// variants lists what tune varied, that of most records first: the one with all sizes to choose
// from.
func (v selection) variants() []string {
	names := stat.Distinct(v.records, v.variantOf)
	count := func(name string) int { return len(v.withVariant(name).records) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(count(b)-count(a), strings.Compare(a, b)) })
	return names
}

// withVariant selects the records of a variant.
func (v selection) withVariant(variant string) selection {
	return v.keep(func(r results.Record) bool { return v.variantOf(r) == variant })
}

// chunkLine makes a series of a figure against chunk size.
func (v selection) chunkLine(name string, of estimator) Series {
	return Series{Name: name, Points: v.points("framing", Axis{}, of)}
}

const predictedName = "predicted"

// predicted returns the wait that follows from the pipe's capacity, the chunk and the reader's rate
// limit, if the reader has one.
func (v selection) predicted() []Series {
	s := v.chunkLine(predictedName, func(at selection, x float64) (Point, bool) {
		for _, r := range at.records {
			if capacity := r.Samples[0].Capacity; r.Cell.Drain > 0 && capacity > 0 {
				return exact(x, (float64(capacity)+x)/float64(r.Cell.Drain)*1e9), true
			}
		}
		return Point{}, false
	})
	if len(s.Points) == 0 {
		return nil
	}
	s.Reference, s.Shape = true, Curve
	return []Series{s}
}

// paretoChart shows both sides of the choice: the wait with each reader against goodput with the
// fastest, since a slow reader leaves all sizes the same goodput. The best is at the lower right, and
// only what nothing else beats on both sides is shown.
func (p selection) paretoChart() Chart {
	drains := p.values("drain")
	c := chartOf("pareto", p.subtitle("framing", "drain", "rate"))
	c.Name += p.suffix
	c.X.Label = fmt.Sprintf(c.X.Label, view.FieldValue("drain", drains[0]))
	variants := p.variants()
	// tradeoff is goodput and wait of one framing, false where one of them is not known
	tradeoff := func(drain, variant, spec string) (Point, bool) {
		own := p.withVariant(variant).where("framing", spec)
		cost, wait := own.where("drain", drains[0]), own.where("drain", drain)
		x, okX := medianOf("goodput")(cost, 0)
		y, okY := medianOf("due.p99")(wait, x.Y)
		return y, okX && okY
	}
	for _, drain := range drains {
		var all, chosen []Point
		for _, variant := range variants {
			for _, spec := range p.where("drain", drain).withVariant(variant).values("framing") {
				pt, ok := tradeoff(drain, variant, spec)
				if pt.Mark, pt.Label = true, chunkLabel(spec); variant != variants[0] {
					pt.Label += ", " + variant
				}
				if ok {
					all = append(all, pt)
				}
			}
		}
		front := stat.Filter(all, func(pt Point) bool {
			return !slices.ContainsFunc(all, func(o Point) bool {
				return o.X >= pt.X && o.Y <= pt.Y && (o.X > pt.X || o.Y < pt.Y)
			})
		})
		slices.SortFunc(front, byX)
		for _, spec := range p.recommended(drain) {
			if pt, ok := tradeoff(drain, variants[0], spec); ok {
				pt.Low, pt.High, pt.Label = pt.Y, pt.Y, "use "+chunkLabel(spec)
				if i := slices.IndexFunc(front, func(o Point) bool { return o.X == pt.X && o.Y == pt.Y }); i >= 0 {
					front[i].Label = ""
				}
				chosen = append(chosen, pt)
			}
		}
		both := []Series{
			{Name: "best trade-offs", Shape: Curve, Points: front},
			{Name: "recommended", Shape: Dots, Points: chosen},
		}
		c.Panels = append(c.Panels, Panel{
			Title:  "wait: reader at " + view.FieldValue("drain", drain),
			Series: stat.Filter(both, Series.drawn),
		})
	}
	return c
}

// chunkLabel returns the chunk size of a spec, or the spec if it has none.
func chunkLabel(spec string) string {
	if n := results.ChunkSize(spec); n > 0 {
		return results.FormatSize(int64(n))
	}
	return spec
}

// recommended lists the framings that the records recommend for a reader rate limit: runs may differ.
func (p selection) recommended(drain string) []string {
	return stat.Distinct(stat.Filter(p.set.Tunes, func(u results.Tune) bool {
		return u.Recommended && p.valueOf("drain", results.Record{Cell: u.Cell}) == drain
	}), func(u results.Tune) string { return u.Cell.Framing })
}

// latencyKinds are the clocks of a latency, with what each one times.
var latencyKinds = []struct{ key, title string }{
	{"roundtrip", "Round-trip time"},
	{"oneway", "One-way time"},
	{"due", "Time from when a message was due"},
	{"service", "Time from when a message was sent"},
}

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
		d := cellChartOf("latency-size")
		d.Name, d.Title = kind.key+"-size", fmt.Sprintf(d.Title, kind.title)
		d.Of = []string{kind.key + ".p50", kind.key + ".p99"}
		out = append(out, stat.Filter(v.charts(d), func(c Chart) bool {
			return slices.ContainsFunc(c.series(), func(s *Series) bool { return len(s.Points) > 2 })
		})...)
	}
	return out
}

// maxSizes is the number of message sizes that a distribution has panels for: of more, the smallest,
// a middle and the largest.
const maxSizes = 3

// distribution draws the whole curve of each series, size and placement.
func (p selection) distribution(key, title string, lines dimension) Chart {
	c := chartOf("distribution", p.subtitle("size", "placement"))
	c.Name, c.Title, c.Columns = key+p.suffix, fmt.Sprintf(c.Title, title), len(p.values("placement"))
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
