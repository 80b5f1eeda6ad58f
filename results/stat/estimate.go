package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"

	"github.com/pipebench/pipebench/results"
)

// Confidence is the level of every interval: 95 %.
const Confidence = 0.95

// LeastSamples is how many samples a median needs for an interval at [Confidence]. With exactly
// that many, the interval is [min, max].
const LeastSamples = 6

// An Estimate is a median with its interval and the number of samples on which it rests.
type Estimate struct {
	N        int       `json:"n"`
	Median   float64   `json:"median"`
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than LeastSamples

	// LeftOut is the number of samples that are not counted in N because other programs disturbed
	// them. If too few samples would remain, none is left out, and Disturbed is set.
	LeftOut   int  `json:"left_out,omitempty"`
	Disturbed bool `json:"disturbed,omitempty"`
}

// An Interval holds the true figure with about the given confidence. In simulations, intervals of
// 95 % held the true figure in 92 to 99 of 100 cases. This depends on how similar the samples of a
// fork (see [Forks]) are to each other.
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// Confidence is the nominal level. It is a little above the constant [Confidence] if the ends
	// of the interval are two of the values.
	Confidence float64 `json:"confidence"`
}

// Median estimates the median of values, with the interval that benchmath.AssumeNothing gives. It
// does not change the values. If there are no values, the estimate's N is 0.
func Median(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	sorted := slices.Clone(values) // a benchmath sample sorts its values in place
	sample := benchmath.NewSample(sorted, &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(sample, Confidence)
	e := Estimate{N: len(values), Median: sum.Center}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		e.Interval = &Interval{Lo: sum.Lo, Hi: sum.Hi, Confidence: sum.Confidence}
	}
	return e
}

// Spread returns the figure after "±": the distance from the median to the further end of its
// interval, in percent of the median. ok is false if there is no interval, or if the median is not
// above zero.
func (e Estimate) Spread() (percent float64, ok bool) {
	if e.Interval == nil || e.Median <= 0 {
		return 0, false
	}
	return 100 * max(e.Interval.Hi/e.Median-1, 1-e.Interval.Lo/e.Median), true
}

// Above reports whether the whole interval lies above v.
func (e Estimate) Above(v float64) bool { return e.Interval != nil && e.Interval.Lo > v }

// Below reports whether the whole interval lies below v.
func (e Estimate) Below(v float64) bool { return e.Interval != nil && e.Interval.Hi < v }

// Inverse returns the estimate of 1/x, if e is the estimate of x.
func (e Estimate) Inverse() Estimate {
	e.Median = 1 / e.Median
	if i := e.Interval; i != nil {
		e.Interval = &Interval{Lo: 1 / i.Hi, Hi: 1 / i.Lo, Confidence: i.Confidence}
	}
	return e
}

// [Bimodal] reports two modes only if the two groups of values reach these figures.
const (
	modeDistance = 1.1 // ratio of the medians: less is not worth telling
	modeGap      = 2   // gap between the groups, in widths of the wider group
	modeValues   = 2   // values in each group: a single one is an outlier
)

// Bimodal reports whether values fall into two groups, for example because the scheduler moved the
// processes to other CPUs. All of this must hold:
//
//   - The widest gap between neighbours is at least twice as wide as either group.
//   - Each group has at least two values.
//   - The medians of the groups differ by at least a tenth.
func Bimodal(values []float64) bool {
	if len(values) < LeastSamples {
		return false
	}
	sorted := slices.Sorted(slices.Values(values))
	at := 1
	for i := 2; i < len(sorted); i++ {
		if sorted[i]-sorted[i-1] > sorted[at]-sorted[at-1] {
			at = i
		}
	}
	low, high := sorted[:at], sorted[at:]
	gap := high[0] - low[len(low)-1]
	width := max(low[len(low)-1]-low[0], high[len(high)-1]-high[0])
	enough := min(len(low), len(high)) >= modeValues
	separate := gap >= modeGap*width
	return enough && separate && medianOf(high) >= modeDistance*medianOf(low)
}

// outlierScore is how many standard deviations (see [deviation]) a sample may lie from the median.
// Ten is hyperfine's value. With the textbook's 3.5, every third set of six undisturbed samples
// would have an outlier.
const outlierScore = 10

// Outliers returns the indices of the values that are more than [outlierScore] standard deviations
// away from the median (Iglewicz and Hoaglin's modified z-score). Fewer than four values have no
// outliers.
func Outliers(values []float64) []int {
	if len(values) < 4 {
		return nil
	}
	centre := medianOf(values)
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

// deviation estimates the standard deviation from the median of the distances from centre. If that
// median is zero, it uses the mean of the distances. The factors are those of normally distributed
// values.
func deviation(values []float64, centre float64) float64 {
	var abs []float64
	for _, v := range values {
		abs = append(abs, math.Abs(v-centre))
	}
	if mad := medianOf(abs); mad > 0 {
		return 1.4826 * mad
	}
	return 1.2533 * stats.Mean(abs)
}

// medianOf returns the median without an interval.
func medianOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// studentQuantile returns the p-quantile of Student's t distribution with the given degrees of
// freedom.
func studentQuantile(freedom, p float64) float64 { return stats.InvCDF(stats.TDist{V: freedom})(p) }

// Estimate estimates the median of a metric over the samples of one cell's records. A percentile is
// computed from all latencies together (see [distribution.quantile]).
//
// Samples that other programs disturbed are left out. But if more than a third are disturbed, or
// fewer than [LeastSamples] would remain, all samples are used, and Disturbed is set in the result.
//
// The interval allows for forks that differ: a fork's speed depends on where the memory of its
// workers happens to lie.
func (m Metric) Estimate(records ...results.Record) Estimate {
	if m.quantile != "" {
		d, err := mergeLatencies(records, m.key)
		if err != nil {
			return Estimate{} // damaged data gives no figure; a [Row] warns of it
		}
		return d.quantile(m.quantile)
	}
	return estimate(m.observations(records))
}

// EstimateOf estimates the median of a metric over samples of one run.
func EstimateOf(metric string, samples []results.Sample) Estimate {
	return MustMetric(metric).Estimate(results.Record{Samples: samples})
}

// PairedRatio estimates the ratio of a metric between two cells of the same runs, a divided by b.
// It is the median of the ratios within the rounds that both cells have. If there is no such round,
// N is 0. A round counts as disturbed if either of its samples is disturbed.
//
// The two samples of a round were taken within milliseconds of each other. So their ratio stays the
// same if the whole machine is slower for a while.
func PairedRatio(m Metric, a, b []results.Record) Estimate { return estimate(m.ratios(a, b)) }

func (m Metric) ratios(a, b []results.Record) []observation {
	return ratiosOf(m.observations(a), m.observations(b))
}

// ratiosOf divides each observation of a by the observation of b that was taken in the same round.
func ratiosOf(a, b []observation) []observation {
	partners := make(map[moment]observation)
	for _, o := range b {
		partners[o.moment] = o
	}
	var out []observation
	for _, o := range a {
		if p := partners[o.moment]; p.value > 0 { // p.value is 0 if there is no partner
			out = append(out, observation{o.moment, o.value / p.value, o.disturbed || p.disturbed})
		}
	}
	return out
}

// mostLeftOut is the share of samples that may be left out as disturbed. If more are disturbed, the
// remaining samples are hardly quieter, and too few for a narrow interval. On two CPUs with a load
// average of six, the interval was ±16 % with all samples, and ±21 % with the undisturbed half.
const mostLeftOut = 1.0 / 3

// undisturbed returns the values that other programs did not disturb. It returns all values if too
// few are undisturbed.
func undisturbed[T any](all []T, disturbed func(T) bool) []T {
	var quiet []T
	for _, v := range all {
		if !disturbed(v) {
			quiet = append(quiet, v)
		}
	}
	if len(quiet) < LeastSamples || float64(len(all)-len(quiet)) > mostLeftOut*float64(len(all)) {
		return all
	}
	return quiet
}

// estimate returns the median of observations. The interval allows for forks that differ.
func estimate(all []observation) Estimate {
	used := undisturbed(all, observation.isDisturbed)
	e := Median(valuesOf(used))
	e.LeftOut = len(all) - len(used)
	e.Disturbed = slices.ContainsFunc(used, observation.isDisturbed)
	forks := byFork(used)
	if e.Interval != nil && len(forks) > 1 && kruskalWallis(forks) < alikeLevel {
		e.Interval = forkInterval(forks, e.Median)
	}
	return e
}

// alikeLevel is the result of [kruskalWallis] below which forks count as different. The interval is
// then [forkInterval]. Otherwise all samples count as independent, which makes the interval
// narrower by a quarter. On a quiet machine, most cells get the narrower one.
//
// The level is high because the interval is too narrow if a difference is overlooked. In
// simulations of four to eight forks, 93 to 98 % of the intervals held the truth. With a level of
// 0.1, only 90 % did.
const alikeLevel = 0.3
