package plots

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// writersIO returns how the writing end of a cell waits.
func writersIO(io string) string {
	writer, _, _ := strings.Cut(io, "/")
	return writer
}

// waitingCharts show what writers meet that do not block: refusals a message by way of waiting and
// framing, and how long they take to learn that their reader left.
func waitingCharts(set *results.Set) []Chart {
	v := selection{set, set.Records}.keep(func(r results.Record) bool { return len(r.Samples) > 0 && r.Cell.IsWaiting() })
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
	best, distance := v, math.Inf(1)
	for _, value := range v.values("size") {
		n, _ := numeric(value) // Cell.Fields writes a number
		if d := math.Abs(math.Log(n / size)); d < distance {
			best, distance = v.where("size", value), d
		}
	}
	return best
}

// metricName names a metric beside others: what the ends of each strategy meet, or a percentile.
func metricName(metric string) string {
	_, percentile, _ := strings.Cut(metric, ".")
	return cmp.Or(map[string]string{
		"eagain": "calls refused (EAGAIN)", "short": "short writes", "waits": "waits outside the call",
	}[metric], percentile)
}
