package stat

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pipebench/pipebench/results"
)

// ComparePairs sets interleaved pairs of runs against each other: before[i] and
// after[i] were measured one right after the other, in either order. It takes
// the ratio within each pair, so that what moves the machine moves both, tests
// the logarithms of the ratios with [SignedRank], and corrects the p of all
// times with [Holm]. Pairs that lack a case are left out of it; without two
// equally long sides it is an error.
func ComparePairs(before, after []*results.Set, o CompareOptions) (*Comparison, error) {
	if len(before) != len(after) || len(before) == 0 {
		return nil, fmt.Errorf("compare pairs: %d old and %d new runs make no pairs", len(before), len(after))
	}
	c := &Comparison{Old: "old", New: "new", Pairs: len(before)}
	matches := o.chosen(c.match(SeriesOf(results.Merge(before...)), SeriesOf(results.Merge(after...))))
	perOld, perNew := mediansByRun(before), mediansByRun(after)
	for _, m := range matches {
		if m.old.Metric.Counter {
			c.addCounter(m, o)
			continue
		}
		c.Changes = append(c.Changes, paired(m, perOld, perNew))
	}
	c.correct(o)
	c.note(matches)
	return c, nil
}

// A seriesID is what the same series has in every run.
type seriesID struct{ name, metric, machine string }

func (s Series) id() seriesID { return seriesID{s.Name, s.Metric.Name, s.Machine} }

// mediansByRun are the medians of each run, by series.
func mediansByRun(sets []*results.Set) []map[seriesID]float64 {
	out := make([]map[seriesID]float64, len(sets))
	for i, set := range sets {
		out[i] = make(map[seriesID]float64)
		for _, s := range SeriesOf(set) {
			out[i][s.id()] = Median(s.Values).Median
		}
	}
	return out
}

// paired takes the ratio of each pair. Its p is not corrected yet.
func paired(m match, before, after []map[seriesID]float64) Change {
	c := m.change()
	var ratios, logs []float64
	for i := range before {
		vo, oko := before[i][m.old.id()]
		vn, okn := after[i][m.new.id()]
		if oko && okn && vo > 0 && vn > 0 {
			ratios = append(ratios, vn/vo)
			logs = append(logs, math.Log(vn/vo))
		}
	}
	e := Median(ratios)
	p, n := SignedRank(logs)
	c.Ratio, c.Interval, c.P, c.logs = nil, e.Interval, new(p), logs
	c.Basis = cmp.Or(results.FormatCount(e.N, "pair"), "no pair")
	if e.N > 0 {
		c.Ratio = new(e.Median)
	}
	if e.Interval != nil {
		c.worst = max(worsening(c.Before.Metric.Better, e.Interval.Lo), worsening(c.Before.Metric.Better, e.Interval.Hi))
	}
	if n < e.N {
		c.Basis += fmt.Sprintf(", %d of them equal", e.N-n)
	}
	return c
}

// correct applies Holm's correction to the times and gives the verdicts.
func (c *Comparison) correct(o CompareOptions) {
	var at []int
	var p []float64
	for i, change := range c.Changes {
		if change.P != nil {
			at, p = append(at, i), append(p, *change.P)
		}
	}
	for k, corrected := range Holm(p) {
		change := &c.Changes[at[k]]
		change.P = new(corrected)
		change.Verdict = pairedVerdict(*change, o)
		if share, ok := detectable(change.logs, o.alpha()/float64(len(p))); ok {
			change.MinDetectableEffect = new(share)
		}
	}
	if need := EnoughPairs(len(p), o.Alpha); c.Pairs < need {
		c.Notes = append(c.Notes, fmt.Sprintf("%s cannot establish any change among %s: that takes %d", results.FormatCount(c.Pairs, "pair"), results.FormatCount(len(p), "comparison"), need))
	}
}

// EnoughPairs is the fewest pairs that can establish a change among so many
// comparisons at a level (0 is [DefaultAlpha]): with all of them on one side.
func EnoughPairs(comparisons int, alpha float64) int {
	alpha = CompareOptions{Alpha: alpha}.alpha()
	n := 1
	for leastP(n)*float64(comparisons) >= alpha {
		n++
	}
	return n
}

// pairedVerdict says "no change" only where the interval excludes one as
// large as the tolerance.
func pairedVerdict(c Change, o CompareOptions) Verdict {
	tolerance := o.tolerance()
	switch {
	case c.Ratio == nil || c.Before.Metric.Better == Neither:
		return Indicative
	case *c.P < o.alpha() && *c.Ratio != 1:
		return direction(c.Before.Metric.Better, *c.Ratio)
	case c.Interval != nil && c.Interval.Lo >= 1-tolerance && c.Interval.Hi <= 1+tolerance:
		return NoChange
	}
	return TooNoisy
}
