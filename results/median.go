package results

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every interval: 95 %.
const Confidence = 0.95

// LeastSamples is how many samples a median needs for an interval at
// [Confidence]. With just that many the interval is [min, max].
const LeastSamples = 6

// An Estimate is a median, how far it can be trusted, and on how many samples
// it rests.
type Estimate struct {
	N        int       `json:"n"`
	Median   float64   `json:"median"`
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than LeastSamples
}

// An Interval is where a figure lies with at least the given confidence.
type Interval struct {
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"` // the true one, 0.95 or a little more: samples come in whole numbers
}

// Median estimates the median of values, without assuming anything about how
// they are distributed; the interval is that of benchmath's AssumeNothing. The
// values are left as they are. Of no values the estimate's N is 0.
func Median(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds) // it sorts what it is given
	sum := benchmath.AssumeNothing.Summary(sample, Confidence)
	e := Estimate{N: len(values), Median: sum.Center}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		e.Interval = &Interval{sum.Lo, sum.Hi, sum.Confidence}
	}
	return e
}

// Spread is the larger distance between the median and an end of its interval,
// in percent of the median: the figure after "±". False where there is no
// interval, or nothing to be a percentage of.
func (e Estimate) Spread() (percent float64, ok bool) {
	if e.Interval == nil || e.Median <= 0 {
		return 0, false
	}
	return 100 * max(e.Interval.Hi/e.Median-1, 1-e.Interval.Lo/e.Median), true
}

// Above tells whether the whole interval lies above v.
func (e Estimate) Above(v float64) bool { return e.Interval != nil && e.Interval.Lo > v }

// Below tells whether the whole interval lies below v.
func (e Estimate) Below(v float64) bool { return e.Interval != nil && e.Interval.Hi < v }
