package stat

import (
	"fmt"
	"math"

	"github.com/pipebench/pipebench/results"
)

// ComparePairs sets interleaved pairs of runs against each other: before[i] and after[i] were
// measured one right after the other, in either order. It takes the ratio within each pair: if the
// machine becomes slower, both runs of a pair do, and the ratio stays the same. The interval of the
// ratios' logarithms holds after each pair (see [Sequence]), so more pairs may be measured until
// [Comparison.Conclusive] is true. A pair that lacks a case does not count for that case. It is an
// error if the two sides differ in length or are empty.
func ComparePairs(before, after []*results.Set, o CompareOptions) (*Comparison, error) {
	if len(before) != len(after) || len(before) == 0 {
		return nil, fmt.Errorf("compare pairs: %d old and %d new runs make no pairs",
			len(before), len(after))
	}
	old := DatasetOf("old", results.Merge(before...))
	new := DatasetOf("new", results.Merge(after...))
	return comparePairs(old, new, seriesOfRuns(before), seriesOfRuns(after), o), nil
}

func seriesOfRuns(runs []*results.Set) [][]Series {
	var out [][]Series
	for _, run := range runs {
		out = append(out, SeriesOf(run))
	}
	return out
}

// CompareTextPairs is [ComparePairs] for Go benchmark text. The benchmarks (go test -bench, or its
// binary) must have run in turns, once for the old side and once for the new, each time adding to
// the text of that side: then the i-th values of a benchmark on the two sides are a pair.
func CompareTextPairs(before, after Dataset, o CompareOptions) *Comparison {
	return comparePairs(before, after, valueByValue(before.Series), valueByValue(after.Series), o)
}

// valueByValue takes series apart into series of single values: the i-th list has the i-th values.
func valueByValue(series []Series) [][]Series {
	var out [][]Series
	for _, s := range series {
		for i, v := range s.Values {
			if i == len(out) {
				out = append(out, nil)
			}
			one := s
			one.Values = []float64{v}
			one.Figure = Median(one.Values)
			out[i] = append(out[i], one)
		}
	}
	return out
}

// comparePairs compares two sides by the series of each pair: perOld[i] and perNew[i] are a pair.
func comparePairs(before, after Dataset, perOld, perNew [][]Series, o CompareOptions) *Comparison {
	c := newComparison(before, after, o)
	c.Pairs = min(len(perOld), len(perNew))
	times := c.compareCounters(before, after, o)
	for _, change := range times {
		if !c.collect(change.Before.Metric, o) {
			continue
		}
		var logs []float64
		for i := range c.Pairs {
			old := counterpart(change.Before, perOld[i])
			new := counterpart(change.After, perNew[i])
			if old < 0 || new < 0 {
				continue
			}
			ratio := pairRatio(perOld[i][old], perNew[i][new])
			if ratio > 0 {
				logs = append(logs, math.Log(ratio))
			}
		}
		pairs := results.FormatCount(len(logs), "pair")
		if len(logs) != c.Pairs {
			change.Basis = pairs
		}
		if len(logs) < LeastPairs {
			change.Verdict = TooNoisy
			change.Basis = fmt.Sprintf("%s: a verdict takes %d", pairs, LeastPairs)
		} else {
			change.logRatio = logEstimate{pairs: logs, n: len(logs)}
		}
		c.Changes = append(c.Changes, change)
	}
	c.judge()
	c.note(before, after)
	return c
}

// PairsFor estimates how many pairs it takes until each Gating figure that is too noisy has a
// verdict: until the interval of its ratio excludes a change as large as limit, a share, or
// excludes 1. The width of an interval shrinks with the root of the number of pairs.
func (c *Comparison) PairsFor(limit float64) int {
	const most = 1e6
	needed := LeastPairs
	for _, change := range c.Changes {
		if !change.Gating() || change.Verdict != TooNoisy || change.Interval == nil {
			continue
		}
		middle := math.Abs(math.Log(*change.Ratio))
		half := math.Log(change.Interval.Hi/change.Interval.Lo) / 2
		enough := max(middle, math.Log1p(limit)-middle) // the largest half that gives a verdict
		times := half / enough
		pairs := float64(change.logRatio.n) * times * times
		needed = max(needed, int(math.Ceil(min(pairs, most))))
	}
	return needed
}

// LeastPairs is how many pairs a verdict takes. The speed of each start of a program depends by one
// or two percent on where its memory happens to lie, which fewer starts do not show.
const LeastPairs = 5

// pairRatio returns the ratio of two runs. If the two runs took slices in turns, it is the median
// of the ratios within rounds, which does not change if the machine becomes slower between two
// rounds. Otherwise it is the ratio of the runs' medians. Zero means that there is no ratio.
func pairRatio(old, new Series) float64 {
	quantile := new.Metric.quantile
	if quantile == "" || quantile == "p50" { // a slice is too short for others
		e := estimate(new.Metric.ratios(slicesOf(new), slicesOf(old)))
		if e.N >= LeastSamples {
			return e.Median
		}
	}
	if old.Figure.Median <= 0 {
		return 0
	}
	return new.Figure.Median / old.Figure.Median
}

// slicesOf returns the records of a series that have forks, without the name of their run: it
// differs between the two sides, and would keep their rounds apart.
func slicesOf(s Series) []results.Record {
	var out []results.Record
	for _, r := range s.records {
		if len(r.Samples) > 0 && r.Samples[0].Fork > 0 {
			r.Run = ""
			out = append(out, r)
		}
	}
	return out
}
