package stat

import (
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
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

// Inverse is the estimate of 1/x.
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

// Two values apart by less than a tenth are no modes that anyone has to know
// of, and one value alone is an outlier.
const (
	modeDistance = 1.1
	modeGap      = 2 // widths of the wider mode
	modeValues   = 2
)

// Bimodal finds out whether values fall into two groups rather than scatter
// about one: the widest gap between neighbours is at least twice as wide as
// either group, each has two values at least, and the medians differ by a tenth
// at least. Placement that changes between samples looks like this.
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
	m := Modes{middle(low), middle(high), len(low), len(high)}
	gap, width := high[0]-low[len(low)-1], max(low[len(low)-1]-low[0], high[len(high)-1]-high[0])
	return m, min(m.NLow, m.NHigh) >= modeValues && gap >= modeGap*width && m.High >= modeDistance*m.Low
}

// outlierScore is how many standard deviations' worth of the median absolute
// deviation a sample may lie from the median. Ten, as hyperfine has it: with six
// samples a cut at the textbook 3.5 calls every third honest set unclean.
const outlierScore = 10

// Outliers gives the indices of the values that do not belong with the others,
// by their distance from the median in median absolute deviations (Iglewicz
// and Hoaglin's modified z-score). Fewer than four values have no outliers.
func Outliers(values []float64) []int {
	if len(values) < 4 {
		return nil
	}
	centre := middle(values)
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

// deviation estimates the standard deviation from absolute deviations: their
// median, or their mean where more than half the values are the same and the
// median is nought. The factors make both the standard deviation of a normal
// distribution.
func deviation(values []float64, centre float64) float64 {
	abs := make([]float64, len(values))
	var sum float64
	for i, v := range values {
		abs[i] = math.Abs(v - centre)
		sum += abs[i]
	}
	if mad := middle(abs); mad > 0 {
		return 1.4826 * mad
	}
	return 1.2533 * sum / float64(len(values))
}

// middle is the median alone.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// PairedRatio estimates the ratio of a metric between two cells of the same
// runs, a over b. Sample i of every cell of a run was taken in the same
// interleaving round, minutes of drift apart from no other, so the ratio is
// taken within each round and the estimate is the median of those: what moves
// the whole machine moves both sides and drops out. Rounds that one side lacks
// are left out; without a common round N is 0.
func PairedRatio(m Metric, a, b []results.Record) Estimate {
	var ratios []float64
	for _, ra := range a {
		for _, rb := range b {
			if ra.Run == rb.Run {
				ratios = append(ratios, roundRatios(m, ra.Samples, rb.Samples)...)
			}
		}
	}
	return Median(ratios)
}

func roundRatios(m Metric, a, b []results.Sample) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		va, oka := m.of(a[i])
		vb, okb := m.of(b[i])
		if r, ok := ratio(va, vb); ok && oka && okb {
			out = append(out, r)
		}
	}
	return out
}
