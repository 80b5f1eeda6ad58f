package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"

	"github.com/pipebench/pipebench/results"
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

	// LeftOut is how many samples were disturbed by others, and are not among the N. Disturbed says
	// that too few were not: disturbed ones are among the N.
	LeftOut   int  `json:"left_out,omitempty"`
	Disturbed bool `json:"disturbed,omitempty"`
}

// An Interval is where a figure lies with about the given confidence: in simulations intervals of
// 95 % held the truth in 92 to 99 of 100 cases, depending on how alike the samples of a fork are.
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// Confidence is nominal: [Confidence], or a little more if the next order statistics give more.
	Confidence float64 `json:"confidence"`
}

// Median estimates the median of values, without assuming anything about how they are distributed;
// the interval is that of benchmath's AssumeNothing. The values are left as they are. Of no values
// the estimate's N is 0.
func Median(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	sorted := slices.Clone(values) // the sample sorts what it is given
	sample := benchmath.NewSample(sorted, &benchmath.DefaultThresholds)
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
	enough := min(m.NLow, m.NHigh) >= modeValues
	return m, enough && gap >= modeGap*width && m.High >= modeDistance*m.Low
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
	var abs []float64
	for _, v := range values {
		abs = append(abs, math.Abs(v-centre))
	}
	if mad := median(abs); mad > 0 {
		return 1.4826 * mad
	}
	return 1.2533 * stats.Mean(abs)
}

// median returns the median alone.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// studentQuantile inverts the t distribution's CDF.
func studentQuantile(freedom, p float64) float64 { return stats.InvCDF(stats.TDist{V: freedom})(p) }

// Forks is how many forks a plan should take. Where forks differ, what they differ by is known from
// as few figures as there are forks, which makes an interval wider than that of as many slices from
// any number of forks would be: by three fifths with four, by two fifths with five, by a fifth with
// eight. Each costs the start of all workers, and slices of the others: of fewer than five the
// median is easily one that was disturbed. With fewer than four forks such an interval says next to
// nothing.
const Forks = 5

// An observation is a figure of one sample, or of two samples of one round.
type observation struct {
	place     place
	value     float64
	disturbed bool
}

// A place is where a sample was taken: those of two cells with the same place belong together. A
// fork is one start of workers; before there were forks each sample had workers of its own.
type place struct {
	run   string
	fork  int // less than 0 of a sample with workers of its own
	round int
}

// Estimate estimates the median of a metric over the samples of records of one cell. Samples that
// were disturbed by others are left out, unless they are more than a third or fewer than
// [LeastSamples] would be left: then all are used, and the estimate is marked. The interval holds
// for samples of few forks, too, whose workers are faster or slower by the luck of their memory.
// A percentile is that of all observations together, see distribution.quantile.
func (m Metric) Estimate(records ...results.Record) Estimate {
	if m.quantile != "" {
		d, err := mergeLatencies(records, m.key)
		if err != nil {
			return Estimate{} // one that is damaged shows nothing: a [Row] says so
		}
		return d.quantile(m.quantile)
	}
	return estimate(m.observations(records))
}

// EstimateOf estimates the median of a metric over samples of one run.
func EstimateOf(metric string, samples []results.Sample) Estimate {
	return MustMetric(metric).Estimate(results.Record{Samples: samples})
}

func (m Metric) observations(records []results.Record) []observation {
	var out []observation
	for _, r := range records {
		for i, s := range r.Samples {
			if v, ok := m.Value(s); ok {
				at := place{r.Run, cmp.Or(s.Fork, -1-i), s.Round}
				out = append(out, observation{at, v, s.Disturbed != ""})
			}
		}
	}
	return out
}

// PairedRatio estimates the ratio of a metric between two cells of the same runs, a over b, as
// [Metric.Estimate] does a median. The samples of one round were taken within milliseconds, or of a
// file without forks within a round of single samples, so the ratio is taken within each round and
// the estimate is the median of those: what moves the whole machine moves both sides and drops out.
// Rounds that one side lacks are left out, and those in which a side was disturbed; without a
// common round N is 0.
func PairedRatio(m Metric, a, b []results.Record) Estimate { return estimate(m.ratios(a, b)) }

func (m Metric) ratios(a, b []results.Record) []observation {
	return ratiosOf(m.observations(a), m.observations(b))
}

// ratiosOf divides observations by those that were taken in the same rounds.
func ratiosOf(a, b []observation) []observation {
	partners := make(map[place]observation)
	for _, o := range b {
		partners[o.place] = o
	}
	var out []observation
	for _, o := range a {
		if p := partners[o.place]; p.value > 0 { // it is not where there is no partner
			out = append(out, observation{o.place, o.value / p.value, o.disturbed || p.disturbed})
		}
	}
	return out
}

// mostLeftOut is the share of samples that may be left out as disturbed. Where there are more the
// machine is busy throughout: the rest is hardly quieter, and so few that their interval is wider
// than that of all (on two CPUs with a load of six, half of the samples left: ±21 % instead of ±16
// %).
const mostLeftOut = 1.0 / 3

// undisturbed leaves out what was disturbed by others, unless too little would be left.
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

func (o observation) isDisturbed() bool { return o.disturbed }

// estimate takes the median of observations, and the interval for the forks that they are from.
func estimate(all []observation) Estimate {
	used := undisturbed(all, observation.isDisturbed)
	e := Median(valuesOf(used))
	e.LeftOut, e.Disturbed = len(all)-len(used), slices.ContainsFunc(used, observation.isDisturbed)
	forks := byFork(used)
	if e.Interval != nil && len(forks) > 1 && kruskalWallis(forks) < alikeLevel {
		e.Interval = forkInterval(forks, e.Median)
	}
	return e
}

// alikeLevel is the chance below which forks may differ: their slices are then no longer taken for
// independent. It is far above what would prove a difference, since an interval that overlooks one
// is too narrow. On a quiet machine most forks are alike, and the interval of their slices is
// narrower by a quarter than [forkInterval], which a fork of two disturbed slices makes wide. In
// simulations of four to eight forks, with and without outliers and differences between forks, the
// two together covered in 93 to 98 cases of 100; with a level of 0.1, in 90.
const alikeLevel = 0.3

// byFork groups the values of observations by fork, in the order of the forks. It is nil where none
// shared its workers with another: then all are independent.
func byFork(all []observation) [][]float64 {
	if !slices.ContainsFunc(all, func(o observation) bool { return o.place.fork > 0 }) {
		return nil
	}
	var order []place
	groups := make(map[place][]float64)
	for _, o := range all {
		fork := o.place
		fork.round = 0
		if groups[fork] == nil {
			order = append(order, fork)
		}
		groups[fork] = append(groups[fork], o.value)
	}
	if len(groups) == len(all) {
		return nil
	}
	var out [][]float64
	for _, fork := range order {
		out = append(out, groups[fork])
	}
	return out
}

func valuesOf(all []observation) []float64 {
	var out []float64
	for _, o := range all {
		out = append(out, o.value)
	}
	return out
}

// forkInterval returns the interval of the median of slices within forks: Student's of the medians
// of the forks, on a logarithmic scale where there is one. Slices of one fork may depend on each
// other in any way, and forks scatter unequally: Ibragimov and Müller (t-statistic based
// correlation and heterogeneity robust inference, JBES 28, 2010) show that the test keeps its
// level. A bootstrap of few clusters does not.
func forkInterval(forks [][]float64, centre float64) *Interval {
	var medians []float64
	for _, fork := range forks {
		medians = append(medians, median(fork))
	}
	logarithmic := slices.Min(medians) > 0
	if logarithmic {
		for i, v := range medians {
			medians[i] = math.Log(v)
		}
	}
	n := float64(len(medians))
	half := studentQuantile(n-1, 1-(1-Confidence)/2) * stats.StdDev(medians) / math.Sqrt(n)
	lo, hi := stats.Mean(medians)-half, stats.Mean(medians)+half
	if logarithmic {
		lo, hi = math.Exp(lo), math.Exp(hi)
	}
	return &Interval{min(lo, centre), max(hi, centre), Confidence}
}

// forkLevel is how often chance lets forks differ so much; and they have to differ by as much as
// modes do ([modeDistance]): a run has many cells, and a reader has to act on what is said.
const forkLevel = 0.01

// forkWarning says that forks differ beyond chance, in a figure so named; "" where they do not.
func forkWarning(figure string, format func(float64) string, all []observation) string {
	forks := byFork(undisturbed(all, observation.isDisturbed))
	if len(forks) < 2 {
		return ""
	}
	slices.SortFunc(forks, func(a, b []float64) int { return cmp.Compare(median(a), median(b)) })
	least, most := median(forks[0]), median(forks[len(forks)-1])
	if p := kruskalWallis(forks); p >= forkLevel || most < modeDistance*least {
		return ""
	}
	return fmt.Sprintf("forks differ beyond chance: %s is %s in one start of the processes "+
		"and %s in another; more forks tell what is usual", figure, format(least), format(most))
}
