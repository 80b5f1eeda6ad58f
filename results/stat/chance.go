package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aclements/go-moremath/stats"

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

// mostExact is the number of differences up to which [SignedRank] is exact: the exact distribution
// takes time by the cube of their number. Its normal approximation is near enough by then: around
// 0.01 it is within two hundredths of p, and below it errs on the safe side.
const mostExact = 200

// SignedRank applies Wilcoxon's test of whether differences of pairs are symmetric about zero,
// two-sided. Differences of zero say nothing and are left out; n is the number of the others. Equal
// sizes share their mean rank. Up to 200 differences p is exact, with ties too; above, it is that
// of the normal approximation with a correction for ties and continuity.
func SignedRank(differences []float64) (p float64, n int) {
	var diffs []float64
	for _, d := range differences {
		if d != 0 {
			diffs = append(diffs, d)
		}
	}
	slices.SortFunc(diffs, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks := doubledRanks(diffs)
	positive := 0
	total := 0
	for i, d := range diffs {
		total += ranks[i]
		if d > 0 {
			positive += ranks[i]
		}
	}
	least := min(positive, total-positive)
	if len(diffs) > mostExact {
		return normalSignedRank(ranks, least, total), len(diffs)
	}
	return exactSignedRank(ranks, least), len(diffs)
}

// exactSignedRank returns how often the sum of the ranks of one sign is as small as least, or that
// of the other: every sign is a fair coin.
func exactSignedRank(ranks []int, least int) float64 {
	chance := make([]float64, least+1) // of each sum of ranks
	chance[0] = 1
	for _, r := range ranks {
		for sum := least; sum >= 0; sum-- {
			chance[sum] /= 2
			if sum >= r {
				chance[sum] += chance[sum-r] / 2
			}
		}
	}
	p := 0.0
	for _, c := range chance {
		p += c
	}
	return min(1, 2*p)
}

// normalSignedRank does the same for many ranks. Each rank is in the sum or not, so that the
// variance is the sum of their squares over four, which holds for ties as it stands. Ranks are
// doubled, so the step between two sums is 2, and half of it corrects for continuity.
func normalSignedRank(ranks []int, least, total int) float64 {
	var squares float64
	for _, r := range ranks {
		squares += float64(r) * float64(r)
	}
	z := (float64(least) + 1 - float64(total)/2) / math.Sqrt(squares/4)
	return min(1, 2*stats.StdNormal.CDF(z))
}

// doubledRanks returns twice the ranks of differences sorted by size: whole numbers even where ties
// share a half.
func doubledRanks(sorted []float64) []int {
	ranks := make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && math.Abs(sorted[j]) == math.Abs(sorted[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j // twice the mean of i+1 … j
		}
		i = j
	}
	return ranks
}

// leastP returns the smallest p that n pairs can give: all on one side.
func leastP(n int) float64 { return math.Ldexp(1, 1-n) }

// Holm corrects p values for their number by Holm's step-down method: keeping those below a level
// keeps the chance of any false one among them below it, whatever their dependence. The result is
// in the order of p.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	var least float64
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		out[i] = least
	}
	return out
}

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

// A bound is how far a metric moves between two runs that nothing distinguishes, as a logarithm of
// the ratio, and where that is known from. The zero bound is not known.
type bound struct {
	log   float64
	rare  float64 // what a change has to be beyond all the same, see [minEffect]
	basis string
	known bool
}

// change returns what a difference has to be beyond to be called a change.
func (b bound) change() float64 { return max(b.log, b.rare) }

// noiseBound finds out from noise records how far a metric of a series may move without meaning
// anything, at a level. Where its cell was not measured, the widest bound of the cells that run in
// the same way (placement, pattern, io and pipe) stands in, and is named.
func noiseBound(noise []results.Noise, s Series, level float64) bound {
	if s.Cell == nil {
		return bound{}
	}
	var order []results.Cell
	values := make(map[results.Cell][]float64)
	for _, n := range noise {
		if n.Machine != s.Machine || n.Metric != s.Metric.Name || !runAlike(n.Cell, *s.Cell) {
			continue
		}
		if !slices.Contains(order, n.Cell) {
			order = append(order, n.Cell)
		}
		values[n.Cell] = append(values[n.Cell], n.Values...)
	}
	if own := values[*s.Cell]; len(own) > 0 {
		b := boundFromRuns(own, level, fmt.Sprintf("from %d runs of this cell", len(own)))
		if b.known {
			return b
		}
	}
	var widest bound
	for _, cell := range order {
		b := boundFromRuns(values[cell], level, "of the noisiest cell that runs alike")
		if b.known && b.log >= widest.log {
			widest = b
		}
	}
	return widest
}

// runAlike reports whether two cells move bytes in the same way.
func runAlike(a, b results.Cell) bool {
	return a.Placement == b.Placement && a.Older == b.Older && a.Pattern == b.Pattern &&
		a.IO == b.IO && a.Pipe == b.Pipe
}

// boundFromRuns returns the bound that the medians of some runs give.
func boundFromRuns(values []float64, level float64, from string) bound {
	log, ok := predictionBound(values, level)
	b := bound{log: log, rare: minEffect(len(values)), known: ok}
	switch {
	case log > maxBound:
		b.basis = fmt.Sprintf("no between-run bound below %s %s: "+
			"doctor watches for longer, two builds compare in pairs", percent(maxBound), from)
	case b.rare > b.log:
		b.basis = fmt.Sprintf("between-run bound %s %s, and a change is more than %s",
			percent(log), from, percent(b.rare))
	default:
		b.basis = fmt.Sprintf("between-run bound %s %s", percent(log), from)
	}
	return b
}

// percent writes the logarithm of a ratio as a change in percent.
func percent(log float64) string { return results.FormatPercent(100 * math.Expm1(log)) }

// predictionBound returns the difference, as a logarithm of the ratio, that two further runs go
// beyond no more often than the level: Student's prediction for the difference of two, and never
// less than the widest difference already seen. It takes three runs.
//
// Runs are counted as half as many degrees of freedom as they are, since a machine's moods last for
// several of them and its jumps are wilder than the normal distribution has them: with all of them,
// eight invocations gave ends on two CPUs a bound of 79 %, and the next twenty runs went beyond it
// threefold.
func predictionBound(values []float64, level float64) (float64, bool) {
	if len(values) < 3 {
		return 0, false
	}
	var logs []float64
	for _, v := range values {
		log := math.Log(v)
		if math.IsNaN(log) || math.IsInf(log, 0) {
			return 0, false
		}
		logs = append(logs, log)
	}
	least, most := stats.Bounds(logs)
	freedom := float64(len(logs)-1) / 2
	predicted := studentQuantile(freedom, 1-level/2) * stats.StdDev(logs) * math.Sqrt2
	return max(predicted, most-least), true
}

// minEffect returns the least difference, as a logarithm of the ratio, that is called a change
// after so many runs. None of them tells what happens to one run in a hundred, such as a neighbour
// who comes by for a minute and takes a fifth of the machine; and the fewer they are, the more of
// that they cannot have seen. Two parts in the number of runs keeps simulated machines with such
// neighbours, and with heavy tails, below one false verdict in a hundred comparisons.
func minEffect(runs int) float64 { return math.Log1p(2 / float64(runs)) }

// NoiseBound returns the change, as a share, that two further runs of the cell go beyond no more
// often than the level without anything having changed: what [Compare] asks of a difference. False
// if there are too few runs to tell.
func NoiseBound(n results.Noise, level float64) (share float64, ok bool) {
	b := boundFromRuns(n.Values, level, "")
	return math.Expm1(b.change()), b.known && b.log <= maxBound
}

// noiseWindow returns how long a machine was watched: from the first to the last of the invocations
// that its noise records sum up.
func noiseWindow(noise []results.Noise, machine string) (time.Duration, bool) {
	var first, last time.Time
	for _, n := range noise {
		if n.Machine != machine || n.Since.IsZero() {
			continue
		}
		if first.IsZero() || n.Since.Before(first) {
			first = n.Since
		}
		if n.Time.After(last) {
			last = n.Time
		}
	}
	return last.Sub(first), !first.IsZero()
}

// BetweenRuns sums up runs of the same cells that nothing distinguishes: a noise record for each
// cell, machine and timed metric (see [Compared]), with the median of each run. Its Run is the
// caller's to fill in. It takes two runs of a cell to see any spread, and three for [Compare] to
// rest on it.
func BetweenRuns(runs []*results.Set) []results.Noise {
	var order []seriesID
	series := make(map[seriesID][]Series) // a list has the series of each run that has it
	for _, run := range runs {
		for _, s := range SeriesOf(run) {
			if s.Metric.Counter {
				continue
			}
			id := s.id()
			if series[id] == nil {
				order = append(order, id)
			}
			series[id] = append(series[id], s)
		}
	}
	var out []results.Noise
	for _, id := range order {
		if len(series[id]) >= 2 {
			out = append(out, noiseOf(series[id]))
		}
	}
	return out
}

// noiseOf sums up one series of several runs.
func noiseOf(runs []Series) results.Noise {
	first := runs[0]
	n := results.Noise{
		Kind:    results.KindNoise,
		Machine: first.Machine,
		Cell:    *first.Cell,
		Metric:  first.Metric.Name,
		Since:   first.Since,
		Time:    first.Until,
	}
	for _, s := range runs {
		n.Values = append(n.Values, s.Figure.Median)
		if s.Since.Before(n.Since) {
			n.Since = s.Since
		}
		if s.Until.After(n.Time) {
			n.Time = s.Until
		}
	}
	if least, most := stats.Bounds(n.Values); least > 0 {
		n.Spread = most/least - 1
	}
	return n
}
