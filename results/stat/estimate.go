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

// LeastSamples is how many samples an interval at [Confidence] needs. With exactly that many
// samples, the interval is [min, max].
const LeastSamples = 6

// An Estimate is a median with its interval and the number of its samples.
type Estimate struct {
	N        int       `json:"n"`
	Median   float64   `json:"median"`
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than LeastSamples
	AtLeast  bool      `json:"at_least,omitempty"` // the figure is Median, or more

	// LeftOut is the number of samples that were left out because other programs disturbed them. N
	// does not include them. If too few would remain, none is left out, and Disturbed is set.
	LeftOut   int  `json:"left_out,omitempty"`
	Disturbed bool `json:"disturbed,omitempty"`
}

// An Interval holds the true figure with about the given confidence. In simulations, intervals of
// 95 % held it in 92 to 99 of 100 cases.
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// Confidence is the confidence level of the interval. It may be a little above the constant
	// [Confidence].
	Confidence float64 `json:"confidence"`
}

// Median estimates the median of values by benchmath.AssumeNothing. Without values, the estimate's
// N is 0.
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

// Spread returns what is shown after "±": the distance from the median to the further end of its
// interval, in percent. The second result is false without an interval, or if the median is not
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

// Inverse returns the estimate of 1/x, where e is the estimate of x.
func (e Estimate) Inverse() Estimate {
	e.Median = 1 / e.Median
	if i := e.Interval; i != nil {
		e.Interval = &Interval{Lo: 1 / i.Hi, Hi: 1 / i.Lo, Confidence: i.Confidence}
	}
	return e
}

// The least figures for [Bimodal].
const (
	modeDistance = 1.1 // ratio of the medians: less is not worth telling
	modeGap      = 2   // gap between the groups, in widths of the wider group
	modeValues   = 2   // values in each group: a single one is an outlier
)

// TwoClusters is the warning about a cell whose samples are bimodal.
const TwoClusters = "the samples form two clusters, so that their median means little"

// Bimodal reports whether values fall into two groups that are far apart, for example because the
// scheduler moved the processes to other CPUs.
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

// outlierScore is how many standard deviations a sample may lie from the median. Ten is the value
// of the program hyperfine. With the textbook's 3.5, every third set of undisturbed samples has an
// outlier.
const outlierScore = 10

// Outliers returns the indices of the values that are far from the median, by Iglewicz and
// Hoaglin's modified z-score. Among fewer than four values, there are none.
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

// deviation estimates the standard deviation of values around centre. It uses the median of their
// distances from centre or, if that is zero, the mean distance. Its factors are those for normally
// distributed values.
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
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func studentQuantile(freedom, p float64) float64 { return stats.InvCDF(stats.TDist{V: freedom})(p) }

// Estimate estimates the median of a metric over the samples of records. For a percentile, it takes
// the latencies of all samples together. Samples that other programs disturbed are left out, unless
// too few would remain.
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

// PairedRatio estimates a metric of the records a divided by the metric of the records b, from
// pairs of samples that were taken together. A slow phase of the machine does not change the ratio.
// If there are no such pairs, the estimate's N is 0.
func PairedRatio(m Metric, a, b []results.Record) Estimate { return estimate(m.ratios(a, b)) }

func (m Metric) ratios(a, b []results.Record) []observation {
	return ratiosOf(m.observations(a), m.observations(b))
}

// ratiosOf divides each observation of a by the observation of b from the same moment.
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

// mostLeftOut is the share of samples that may be left out as disturbed. Leaving out more hardly
// helps: at a load of six on two CPUs, the remaining samples gave ±21 %, all samples ±16 %.
const mostLeftOut = 1.0 / 3

// undisturbed returns the values that other programs did not disturb. If those are too few, it
// returns all values.
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

// estimate returns the median of observations. The interval is wider if the observations differ
// between starts of the worker processes.
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

// alikeLevel is the chance below which starts of the worker processes count as different. It is
// high so that intervals are not too narrow: in simulations, 93 to 98 % of the intervals held the
// truth, but only 90 % with a level of 0.1.
const alikeLevel = 0.3
