package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every interval: 95 %.
const Confidence = 0.95

// LeastSamples is how many samples a median needs for an interval at [Confidence]. With just that
// many the interval is [min, max].
const LeastSamples = 6

// An Estimate is a median, how far it can be trusted, and on how many samples it rests.
type Estimate struct {
	N        int       `json:"n"`
	Median   float64   `json:"median"`
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than LeastSamples

	LeftOut   int  `json:"left_out,omitempty"`  // samples that were disturbed by others, and are not among the N
	Disturbed bool `json:"disturbed,omitempty"` // too few were not: disturbed ones are among the N
}

// An Interval is where a figure lies with at least the given confidence.
type Interval struct {
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"` // the true one, 0.95 or a little more: samples come in whole numbers
}

// Median estimates the median of values, without assuming anything about how they are distributed;
// the interval is that of benchmath's AssumeNothing. The values are left as they are. Of no values
// the estimate's N is 0.
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

// Spread returns the larger distance between the median and an end of its interval, in percent of
// the median: the figure after "±". False where there is no interval, or nothing to be a percentage
// of.
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

// Inverse returns the estimate of 1/x.
func (e Estimate) Inverse() Estimate {
	e.Median = 1 / e.Median
	if e.Interval != nil {
		e.Interval = &Interval{1 / e.Interval.Hi, 1 / e.Interval.Lo, e.Interval.Confidence}
	}
	return e
}

// Modes are the two groups that a set of values falls into.
type Modes struct {
	Low, High   float64 // the median of each
	NLow, NHigh int
}

// Two values apart by less than a tenth are no modes that anyone has to know of, and one value
// alone is an outlier.
const (
	modeDistance = 1.1
	modeGap      = 2 // widths of the wider mode
	modeValues   = 2
)

// Bimodal finds out whether values fall into two groups rather than scatter about one: the widest
// gap between neighbours is at least twice as wide as either group, each has two values at least,
// and the medians differ by a tenth at least. Placement that changes between samples looks like
// this.
func Bimodal(values []float64) (Modes, bool) {
	if len(values) < LeastSamples {
		return Modes{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	at := 1
	for i := 2; i < len(sorted); i++ {
		if sorted[i]-sorted[i-1] > sorted[at]-sorted[at-1] {
			at = i
		}
	}
	low, high := sorted[:at], sorted[at:]
	m := Modes{median(low), median(high), len(low), len(high)}
	gap, width := high[0]-low[len(low)-1], max(low[len(low)-1]-low[0], high[len(high)-1]-high[0])
	return m, min(m.NLow, m.NHigh) >= modeValues && gap >= modeGap*width && m.High >= modeDistance*m.Low
}

// outlierScore is how many standard deviations' worth of the median absolute deviation a sample may
// lie from the median. Ten, as hyperfine has it: with six samples a cut at the textbook 3.5 calls
// every third honest set unclean.
const outlierScore = 10

// Outliers gives the indices of the values that do not belong with the others, by their distance
// from the median in median absolute deviations (Iglewicz and Hoaglin's modified z-score). Fewer
// than four values have no outliers.
func Outliers(values []float64) []int {
	if len(values) < 4 {
		return nil
	}
	centre := median(values)
	scale := deviation(values, centre)
	if scale == 0 {
		return nil
	}
	var out []int
	for i, v := range values {
		if math.Abs(v-centre) > outlierScore*scale {
			out = append(out, i)
		}
	}
	return out
}

// deviation estimates the standard deviation from absolute deviations: their median, or their mean
// where more than half the values are the same and the median is nought. The factors make both the
// standard deviation of a normal distribution.
func deviation(values []float64, centre float64) float64 {
	abs := Map(values, func(v float64) float64 { return math.Abs(v - centre) })
	if mad := median(abs); mad > 0 {
		return 1.4826 * mad
	}
	return 1.2533 * stats.Mean(abs)
}

// median returns the median alone.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Growth is how a figure grows with size, y = c·x^Slope: a slope of 1 is linear, 2 quadratic, 0 no
// growth at all.
type Growth struct {
	Slope    float64   `json:"slope"`
	Interval *Interval `json:"interval,omitempty"` // of the slope; nil for fewer than three points
	Points   int       `json:"points"`
}

// FastGrowth is the slope above which something is said to grow faster than linear.
const FastGrowth = 1.3

// sureFrom is how many points it takes to be sure of a slope. Of three, a single residual makes the
// interval, and by chance it is narrow often enough: a server whose time is linear came to 1.47
// [1.22, 1.72] over three sizes on a busy machine.
const sureFrom = 4

// Fast reports whether the growth is faster than linear: by its slope, and beyond what the scatter
// of its points could explain.
func (g Growth) Fast() bool {
	return g.Slope > FastGrowth && g.Points >= sureFrom && g.Interval != nil && g.Interval.Lo > 1
}

// String says how something grows: "linear (exponent 1.04 [0.98, 1.10])".
func (g Growth) String() string {
	word := "linear"
	switch {
	case g.Slope > FastGrowth:
		word = "faster than linear"
	case g.Slope < 2-FastGrowth:
		word = "slower than linear"
	}
	return word + " (" + g.exponent() + ")"
}

// exponent writes the slope with its interval.
func (g Growth) exponent() string {
	s := fmt.Sprintf("exponent %.2f", max(g.Slope, 0)) // noise alone makes it less
	if i := g.Interval; i != nil {
		s += fmt.Sprintf(" [%.2f, %.2f]", i.Lo, i.Hi)
	}
	return s
}

// MayBeFast reports whether the slope says so and the points leave it open.
func (g Growth) MayBeFast() bool { return g.Slope > FastGrowth && !g.Fast() }

// FitGrowth fits a straight line through the logarithms of the points by least squares. Its
// interval is Student's, and only as good as a straight line fits: a curve that bends (a fixed cost
// at the small end) widens it. The points must be above zero, and lie at two different x at least.
func FitGrowth(x, y []float64) (Growth, error) {
	if len(x) != len(y) {
		return Growth{}, fmt.Errorf("fit growth: %d sizes for %d values", len(x), len(y))
	}
	lx, ly := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		if !(x[i] > 0 && y[i] > 0) || math.IsInf(x[i], 0) || math.IsInf(y[i], 0) {
			return Growth{}, fmt.Errorf("fit growth: point (%v, %v) has no logarithm", x[i], y[i])
		}
		lx[i], ly[i] = math.Log(x[i]), math.Log(y[i])
	}
	return FitLine(lx, ly)
}

// FitLine fits a straight line by least squares, with Student's interval of its slope. The points must
// lie at two different x at least.
func FitLine(x, y []float64) (Growth, error) {
	mx, my := stats.Mean(x), stats.Mean(y)
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if !(sxx > 0) {
		return Growth{}, fmt.Errorf("fit growth: %d points at one size; a slope takes two sizes", len(x))
	}
	g := Growth{Slope: sxy / sxx, Points: len(x)}
	if len(x) < 3 {
		return g, nil
	}
	var residual float64
	for i := range x {
		d := y[i] - my - g.Slope*(x[i]-mx)
		residual += d * d
	}
	freedom := float64(len(x) - 2)
	half := studentQuantile(freedom, 1-(1-Confidence)/2) * math.Sqrt(residual/freedom/sxx)
	g.Interval = &Interval{g.Slope - half, g.Slope + half, Confidence}
	return g, nil
}

// studentQuantile inverts the t distribution's CDF.
func studentQuantile(freedom, p float64) float64 {
	return stats.InvCDF(stats.TDist{V: freedom})(p)
}
