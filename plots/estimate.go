package plots

import (
	"golang.org/x/perf/benchmath"

	"github.com/pipebench/pipebench/results"
)

// A figure of a sample; ok is false where the sample cannot give it.
type metric func(results.Sample) (value float64, ok bool)

// goodput is payload bytes a second.
func goodput(s results.Sample) (float64, bool) {
	if s.ElapsedNS <= 0 {
		return 0, false
	}
	return float64(s.PayloadBytes) * 1e9 / float64(s.ElapsedNS), true
}

// nanosPerByte is the time that a payload byte takes.
func nanosPerByte(s results.Sample) (float64, bool) {
	if s.PayloadBytes <= 0 {
		return 0, false
	}
	return float64(s.ElapsedNS) / float64(s.PayloadBytes), true
}

// estimate is the median of a metric over samples at x, with its 95 %
// interval. With fewer than six samples no such interval exists: then it is
// the smallest and the largest of them.
func estimate(x float64, samples []results.Sample, m metric) (Point, bool) {
	var values []float64
	for _, s := range samples {
		if v, ok := m(s); ok && finite(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return Point{}, false
	}
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(sample, 0.95)
	p := Point{X: x, Y: sum.Center, Low: sum.Lo, High: sum.Hi}
	if !finite(p.Low) || !finite(p.High) {
		p.Low, p.High = sample.Values[0], sample.Values[len(values)-1] // sorted by NewSample
	}
	return p, true
}
