package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// writersIO returns how the writing end of a cell waits.
func writersIO(io string) string {
	writer, _, _ := strings.Cut(io, "/")
	return writer
}

// waitingCharts show what writers meet that do not block: refusals a message by way of waiting and
// framing, and how long they take to learn that their reader left.
func waitingCharts(set *results.Set) []Chart {
	v := selection{set: set, records: set.Records}.keep(func(r results.Record) bool { return len(r.Samples) > 0 && r.Cell.IsWaiting() })
	stays := v.keep(func(r results.Record) bool { return r.Cell.Leave == 0 })
	leaves := v.keep(func(r results.Record) bool { return r.Cell.Leave > 0 })
	return append(stays.byWriter("refusals"), leaves.byWriter("told")...)
}

// byWriter makes charts that have a column for each way in which the writer waits.
func (v selection) byWriter(name string) []Chart {
	writers := stat.Distinct(v.records, func(r results.Record) string { return writersIO(r.Cell.IO) })
	slices.SortFunc(writers, func(a, b string) int { return rank(a) - rank(b) })
	return v.columns(name, writers)
}

// columns makes charts of cells that have a column for each of the categories.
func (v selection) columns(name string, categories []string) []Chart {
	d := cellChartOf(name)
	d.X.Categories = categories
	return v.charts(d)
}

// goneCharts show the same of the experiments that close a reader before, during and after a write,
// with each kind of pipe.
func goneCharts(set *results.Set) []Chart {
	type evidence struct {
		Pipe, IO, When string
		Noticed        float64 `json:"noticed_ns"`
	}
	var all []evidence
	faults := stat.Filter(set.Faults, func(f results.Fault) bool { return strings.HasPrefix(f.ID, "reader-gone/") })
	for _, f := range faults {
		var e evidence
		if f.Evidence.Decode(&e) == nil && e.Noticed > 0 && e.When != "" {
			all = append(all, e)
		}
	}
	c := chartOf("told-by-pipe", environmentLines(set, faults))
	c.X.Categories = stat.Distinct(all, func(e evidence) string { return e.IO })
	c.Panels = panelsOf(stat.Map(all, func(e evidence) mark {
		at := slices.Index(c.X.Categories, e.IO)
		return mark{"closed " + e.When + " a write", e.Pipe, exact(float64(at), e.Noticed)}
	}))
	c.unjoin()
	return []Chart{c}
}

// counterCharts compare the io strategies: goodput, and refused calls, short writes and waits, for
// a framing and size that all of them were measured with.
func counterCharts(set *results.Set) []Chart {
	v := measuredIn(set, isStream)
	if !v.varies("io") {
		return nil
	}
	v = v.mostMeasured("framing").nearest(typicalSize)
	charts := append(v.columns("io", v.values("io")), v.columns("eagain", v.values("io"))...)
	return slices.DeleteFunc(charts, func(c Chart) bool { // of one way there is nothing to compare
		return len(stat.Distinct(c.points(), func(p *Point) float64 { return p.X })) < 2
	})
}

// mostMeasured selects the value of a dimension with the most records, which allows the most
// comparisons.
func (v selection) mostMeasured(d dimension) selection {
	best := selection{set: v.set}
	for _, value := range v.values(d) {
		if own := v.where(d, value); len(own.records) > len(best.records) {
			best = own
		}
	}
	return best
}

// typicalSize is the message size of figures that are shown for one size only: the usual capacity
// of a pipe.
const typicalSize = 64 << 10

// nearest selects the message size that is nearest to a size, by ratio.
func (v selection) nearest(size float64) selection {
	distance := func(value string) float64 {
		n, _ := numeric(value) // Cell.Fields writes a number
		return math.Abs(math.Log(n / size))
	}
	nearer := func(a, b string) int { return cmp.Compare(distance(a), distance(b)) }
	return v.where("size", slices.MinFunc(v.values("size"), nearer))
}

// metricName names a metric beside others: what the ends of each strategy meet, or a percentile.
func metricName(metric string) string {
	_, percentile, _ := strings.Cut(metric, ".")
	return cmp.Or(map[string]string{
		"eagain": "calls refused (EAGAIN)", "short": "short writes", "waits": "waits outside the call",
	}[metric], percentile)
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
		v := measuredIn(set, func(r results.Record) bool { return observations(r, kind.key) > 0 })
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
