package plots

import (
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A figure is the point at x of the cells of one line, given all cells of the
// panel at x; ok is false where their samples do not give it.
type estimator func(line, panel selection, x float64) (p Point, ok bool)

// medianOf is the median of a metric that [results.Metrics] lists.
func medianOf(name string) estimator {
	m := metricNamed(name)
	return func(line, _ selection, x float64) (Point, bool) { return estimate(x, m.Values(line.samples())) }
}

func metricNamed(name string) results.Metric {
	m, err := results.MetricByName(name)
	if err != nil {
		panic("plots: " + err.Error()) // the names are constants of this package, and each is tested
	}
	return m
}

// perByte is the median of the time that a payload byte takes, in nanoseconds.
func perByte(line, _ selection, x float64) (Point, bool) {
	var values []float64
	for _, s := range line.samples() {
		if s.PayloadBytes > 0 {
			values = append(values, float64(s.ElapsedNS)/float64(s.PayloadBytes))
		}
	}
	return estimate(x, values)
}

// ratioToRaw is goodput over that of raw, taken within each interleaving round.
func ratioToRaw(line, panel selection, x float64) (Point, bool) {
	raw := panel.keep(func(r results.Record) bool { return isRaw(r.Cell.Framing) })
	if len(raw.records) == 0 || len(line.records) == 0 {
		return Point{}, false
	}
	if isRaw(line.records[0].Cell.Framing) {
		return exact(x, 1), true
	}
	e := results.PairedRatio(metricNamed("goodput"), line.records, raw.records)
	return point(x, e, nil), e.N > 0
}

// estimate is the median of values with its interval. Fewer samples than an
// interval takes have their range instead.
func estimate(x float64, values []float64) (Point, bool) {
	values = slices.DeleteFunc(values, func(v float64) bool { return !finite(v) })
	e := results.Median(values)
	return point(x, e, values), e.N > 0
}

func point(x float64, e results.Estimate, values []float64) Point {
	p := exact(x, e.Median)
	switch {
	case e.Interval != nil:
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	case len(values) > 0:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	}
	return p
}
