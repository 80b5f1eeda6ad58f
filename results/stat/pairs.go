package stat

import (
	"fmt"
	"math"

	"github.com/pipebench/pipebench/results"
)

// ComparePairs compares pairs of runs, before[i] and after[i], that were measured right after each
// other. A machine that becomes slower does not change the ratio in a pair. A caller may measure
// more pairs until [Comparison.Conclusive] is true.
func ComparePairs(before, after []*results.Set, o CompareOptions) (*Comparison, error) {
	if len(before) != len(after) || len(before) == 0 {
		return nil, fmt.Errorf("compare pairs: %d old and %d new runs make no pairs",
			len(before), len(after))
	}
	old := DatasetOf("old", results.Merge(before...))
	new := DatasetOf("new", results.Merge(after...))
	var perOld, perNew [][]Series
	for i := range before {
		perOld = append(perOld, SeriesOf(before[i]))
		perNew = append(perNew, SeriesOf(after[i]))
	}
	return comparePairs(old, new, perOld, perNew, o), nil
}

// CompareTextPairs does what [ComparePairs] does for Go benchmark text. The i-th old and the i-th
// new value of a benchmark are a pair, so the old and the new side must have run in turns.
func CompareTextPairs(before, after Dataset, o CompareOptions) *Comparison {
	before.Series, after.Series = namePackages(before.Series, after.Series)
	return comparePairs(before, after, valueByValue(before.Series), valueByValue(after.Series), o)
}

// valueByValue splits each series into series of one value. The i-th list of the result has the
// i-th value of each series.
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

// comparePairs compares two sides by pairs of runs. perOld[i] and perNew[i] have the values of the
// old and the new run of the i-th pair.
func comparePairs(before, after Dataset, perOld, perNew [][]Series, o CompareOptions) *Comparison {
	c := newComparison(before, after, o)
	c.Pairs = min(len(perOld), len(perNew))
	times := c.compareCounters(before, after, o)
	for _, change := range times {
		if !c.collect(change.Before.Metric, o) {
			continue
		}
		pairs := 0
		var logs []float64
		for i := range c.Pairs {
			old := counterpart(change.Before, perOld[i])
			new := counterpart(change.After, perNew[i])
			if old < 0 || new < 0 {
				continue
			}
			pairs++
			ratio := pairRatio(perOld[i][old], perNew[i][new])
			if ratio > 0 {
				logs = append(logs, math.Log(ratio))
			}
		}
		switch {
		case pairs < LeastPairs:
			change.Verdict = TooNoisy
			change.Basis = fmt.Sprintf("%s: a verdict takes at least %d",
				results.FormatCount(pairs, "pair"), LeastPairs)
		case len(logs) < LeastPairs:
			change.judgeZeros()
		default:
			change.logRatio = logEstimate{pairs: logs, n: len(logs)}
		}
		c.Changes = append(c.Changes, change)
	}
	c.judge()
	c.note(before, after, o)
	return c
}

// PairsFor estimates how many pairs are needed in all, and says for what. If a figure seems worse
// by more than limit, a share, that is until the first such figure certainly is worse. Else it is
// until each change is certain or certainly smaller than limit. Without any interval, it is until
// there is one. Only changes for which [Change.Gating] is true count.
func (c *Comparison) PairsFor(limit float64) (what string, pairs int) {
	const most = 1e6
	forAll := 0
	forFirst := 0
	for _, change := range c.Changes {
		if !change.Gating() || change.Verdict != TooNoisy || change.Interval == nil {
			continue
		}
		middle := math.Abs(math.Log(*change.Ratio))
		half := math.Log(change.Interval.Hi/change.Interval.Lo) / 2
		enough := max(middle, math.Log1p(limit)-middle) // the largest half that gives a verdict
		times := half / enough
		needed := int(math.Ceil(min(float64(change.logRatio.n)*times*times, most)))
		forAll = max(forAll, needed)
		if change.Worse() > limit && (forFirst == 0 || needed < forFirst) {
			forFirst = needed
		}
	}
	if forFirst > 0 || forAll == 0 {
		return "a verdict", max(forFirst, LeastPairs)
	}
	return "ruling out a change of " + results.FormatPercent(100*limit), max(forAll, LeastPairs)
}

// LeastPairs is how many pairs a verdict needs. With fewer pairs, the verdict may come from starts
// of a program that happen to be faster or slower by one or two percent.
const LeastPairs = 5

// pairRatio returns the new run's metric divided by the old run's, for the two runs of a pair. If
// the runs took turns, the result is the median of the ratios of all turns. It is 0 if the old
// figure is 0.
func pairRatio(old, new Series) float64 {
	quantile := new.Metric.quantile
	if quantile == "" || quantile == "p50" { // a sample is too short for other percentiles
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

// slicesOf returns those records of a series whose samples have a Fork and a Round. It removes the
// name of the run, so that samples with the same numbers on both sides make pairs.
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
