package stat

import (
	"fmt"
	"math"

	"github.com/pipebench/pipebench/results"
)

// ComparePairs sets interleaved pairs of runs against each other: before[i] and after[i] were
// measured one right after the other, in either order. It takes the ratio within each pair, so that
// what moves the machine moves both, tests the logarithms of the ratios with [SignedRank], and
// corrects the p of all times with [Holm]. Pairs that lack a case are left out of it; without two
// equally long sides it is an error.
func ComparePairs(before, after []*results.Set, o CompareOptions) (*Comparison, error) {
	if len(before) != len(after) || len(before) == 0 {
		return nil, fmt.Errorf("compare pairs: %d old and %d new runs make no pairs",
			len(before), len(after))
	}
	old := DatasetOf("old", results.Merge(before...))
	new := DatasetOf("new", results.Merge(after...))
	return comparePairs(old, new, seriesOfRuns(before), seriesOfRuns(after), o), nil
}

// seriesOfRuns lists the series of each run.
func seriesOfRuns(runs []*results.Set) [][]Series {
	var out [][]Series
	for _, run := range runs {
		out = append(out, SeriesOf(run))
	}
	return out
}

// CompareTextPairs does the same with Go benchmark text, to which the runs of each side were added
// in turn (go test -bench, or its binary, once for the one and once for the other): the i-th values
// of a benchmark are a pair.
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
	c := &Comparison{Old: before.Name, New: after.Name, Pairs: min(len(perOld), len(perNew))}
	var old, new []map[seriesID]Series
	for i := range c.Pairs {
		old = append(old, byID(perOld[i]))
		new = append(new, byID(perNew[i]))
	}
	c.compare(before, after, o, func(change Change, _ float64) Change {
		return change.paired(old, new)
	})
	return c
}

// A seriesID is what the same series has in every run.
type seriesID struct{ name, metric, machine string }

func (s Series) id() seriesID { return seriesID{s.Name, s.Metric.Name, s.Machine} }

func byID(all []Series) map[seriesID]Series {
	out := make(map[seriesID]Series)
	for _, s := range all {
		out[s.id()] = s
	}
	return out
}

// pairRatio returns the ratio of two runs. Where they took slices in turns that is the median of
// the ratios within rounds, which a change of the machine between two of them does not move; else
// it is the ratio of their medians. Zero is none.
func pairRatio(old, new Series) float64 {
	if q := new.Metric.quantile; q != "" && q != "p50" { // a slice has no percentile but its median
		if old.Figure.Median > 0 {
			return new.Figure.Median / old.Figure.Median
		}
		return 0
	}
	if e := estimate(new.Metric.ratios(slicesOf(new), slicesOf(old))); e.N >= LeastSamples {
		return e.Median
	}
	if old.Figure.Median > 0 {
		return new.Figure.Median / old.Figure.Median
	}
	return 0
}

// slicesOf returns the records of a series that have forks, without the name of their run, which is
// another on the other side.
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

// paired takes the ratio of each pair. Its p is not corrected yet.
func (c Change) paired(before, after []map[seriesID]Series) Change {
	var ratios []float64
	var logs []float64
	for i := range before {
		ratio := pairRatio(before[i][c.Before.id()], after[i][c.After.id()])
		if ratio > 0 {
			ratios = append(ratios, ratio)
			logs = append(logs, math.Log(ratio))
		}
	}
	e := Median(ratios)
	p, n := SignedRank(logs)
	c.Ratio = nil
	c.Interval = e.Interval
	c.P = new(p)
	c.logs = logs
	c.Basis = results.FormatCount(e.N, "pair")
	if e.N > 0 {
		c.Ratio = new(e.Median)
	}
	if e.Interval != nil {
		better := c.Before.Metric.Better
		c.worst = max(worsening(better, e.Interval.Lo), worsening(better, e.Interval.Hi))
	}
	if n < e.N {
		c.Basis += fmt.Sprintf(", %d of them equal", e.N-n)
	}
	return c
}

// correct applies Holm's correction to the times and gives the verdicts.
func (c *Comparison) correct() {
	var times []*Change
	var p []float64
	for i := range c.Changes {
		if c.Changes[i].P != nil {
			times = append(times, &c.Changes[i])
			p = append(p, *c.Changes[i].P)
		}
	}
	n := len(times)
	for i, corrected := range Holm(p) {
		change := times[i]
		change.P = new(corrected)
		change.Verdict = pairedVerdict(*change)
		if share, ok := detectable(change.logs, DefaultAlpha/float64(n)); ok {
			change.MinDetectableEffect = new(share)
		}
	}
	need := enoughPairs(n)
	if c.Pairs < need {
		c.addNote("%s cannot establish any change among %s: that takes %d",
			results.FormatCount(c.Pairs, "pair"), results.FormatCount(n, "comparison"), need)
	}
}

// enoughPairs returns the fewest pairs that can establish a change among so many comparisons at
// [DefaultAlpha]: with all of them on one side.
func enoughPairs(comparisons int) int {
	n := 1
	for leastP(n)*float64(comparisons) >= DefaultAlpha {
		n++
	}
	return n
}

// WantedPairs returns how many pairs to run for so many comparisons of times: twice as many as
// could establish a change if all agreed, so that some may point the other way, and never fewer
// than 20.
func WantedPairs(comparisons int) int { return max(20, 2*enoughPairs(comparisons)) }

// pairedVerdict says "no change" only where the interval excludes one as large as the tolerance.
func pairedVerdict(c Change) Verdict {
	switch {
	case c.Ratio == nil || c.Before.Metric.Better == Neither:
		return Indicative
	case *c.P < DefaultAlpha && *c.Ratio != 1:
		return direction(c.Before.Metric.Better, *c.Ratio)
	case c.Interval != nil && c.Interval.Lo >= 1-Tolerance && c.Interval.Hi <= 1+Tolerance:
		return NoChange
	}
	return TooNoisy
}

// leastP returns the smallest p that n pairs can give: all on one side.
func leastP(n int) float64 { return math.Ldexp(1, 1-n) }

// power is how often a change has to be found to count as one that can be: four times out of five,
// as is usual.
const power = 0.8

// signedRankCost is by how much wider than Student's test the signed-rank test has to look where
// differences are normal: the root of π/3.
var signedRankCost = math.Sqrt(math.Pi / 3)

// detectable returns the least change, as a share, that pairs establish four times out of five at a
// level, if the logarithms of their ratios scatter as these do. The scatter is taken from the
// median absolute deviation, which a few disturbed pairs do not move, as they do not move the test.
// False if no change could be.
func detectable(logs []float64, level float64) (share float64, ok bool) {
	n := len(logs)
	if n < 2 || leastP(n) >= level {
		return 0, false
	}
	scatter := deviation(logs, median(logs)) / math.Sqrt(float64(n))
	freedom := float64(n - 1)
	both := studentQuantile(freedom, 1-level/2) + studentQuantile(freedom, power)
	return math.Expm1(signedRankCost * scatter * both), true
}
