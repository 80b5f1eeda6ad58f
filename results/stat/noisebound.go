package stat

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

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
// the same way (placement, peer, pattern, io and pipe) stands in, and is named.
func noiseBound(noise []results.Noise, s Series, level float64) bound {
	if s.Cell == nil {
		return bound{}
	}
	alike := Filter(noise, func(n results.Noise) bool {
		a, b := n.Cell, *s.Cell
		return n.Machine == s.Machine && n.Metric == s.Metric.Name && a.Placement == b.Placement && a.Peer == b.Peer &&
			a.Pattern == b.Pattern && a.IO == b.IO && a.Pipe == b.Pipe
	})
	var widest bound
	for _, cell := range GroupBy(alike, func(n results.Noise) results.Cell { return n.Cell }) {
		values := slices.Concat(Map(cell, func(n results.Noise) []float64 { return n.Values })...)
		if cell[0].Cell == *s.Cell {
			if own := boundFromRuns(values, level, fmt.Sprintf("from %d runs of this cell", len(values))); own.known {
				return own
			}
		}
		if b := boundFromRuns(values, level, "of the noisiest cell that runs alike"); b.known && b.log >= widest.log {
			widest = b
		}
	}
	return widest
}

// boundFromRuns returns the bound that the medians of some runs give.
func boundFromRuns(values []float64, level float64, from string) bound {
	log, ok := predictionBound(values, level)
	b := bound{log: log, rare: minEffect(len(values)), known: ok}
	text := func(log float64) string { return results.FormatPercent(100 * (math.Exp(log) - 1)) }
	switch {
	case log > maxBound:
		b.basis = fmt.Sprintf("no between-run bound below %s %s: doctor watches for longer, ab compares in pairs", text(maxBound), from)
	case b.rare > b.log:
		b.basis = fmt.Sprintf("between-run bound %s %s, and a change is more than %s", text(log), from, text(b.rare))
	default:
		b.basis = fmt.Sprintf("between-run bound %s %s", text(log), from)
	}
	return b
}

// predictionBound returns the difference, as a logarithm of the ratio, that two further runs go beyond
// no more often than the level: Student's prediction for the difference of two, and never less than
// the widest difference already seen. It takes three runs.
//
// Runs are counted as half as many degrees of freedom as they are, since a machine's moods last for
// several of them and its jumps are wilder than the normal distribution has them: with all of them,
// eight invocations gave ends on two CPUs a bound of 79 %, and the next twenty runs went beyond it
// threefold.
func predictionBound(values []float64, level float64) (float64, bool) {
	if len(values) < 3 {
		return 0, false
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			return 0, false
		}
		logs[i] = math.Log(v)
	}
	least, most := stats.Bounds(logs)
	predicted := studentQuantile(float64(len(logs)-1)/2, 1-level/2) * stats.StdDev(logs) * math.Sqrt2
	return max(predicted, most-least), true
}

// minEffect returns the least difference, as a logarithm of the ratio, that is called a change after so
// many runs. None of them tells what happens to one run in a hundred, such as a neighbour who comes
// by for a minute and takes a fifth of the machine; and the fewer they are, the more of that they
// cannot have seen. Two parts in the number of runs keeps simulated machines with such neighbours,
// and with heavy tails, below one false verdict in a hundred comparisons.
func minEffect(runs int) float64 { return math.Log1p(2 / float64(runs)) }

// NoiseBound returns the change, as a share, that two further runs of the cell go beyond no more
// often than the level without anything having changed: what [Compare] asks of a difference. False
// if there are too few runs to tell.
func NoiseBound(n results.Noise, level float64) (share float64, ok bool) {
	b := boundFromRuns(n.Values, level, "")
	return math.Expm1(b.change()), b.known && b.log <= maxBound
}

// noiseWindow returns how long a machine was watched: from the first to the last of the invocations that
// its noise records sum up.
func noiseWindow(noise []results.Noise, machine string) (time.Duration, bool) {
	own := Filter(noise, func(n results.Noise) bool { return n.Machine == machine && !n.Since.IsZero() })
	if len(own) == 0 {
		return 0, false
	}
	first := slices.MinFunc(own, func(a, b results.Noise) int { return a.Since.Compare(b.Since) }).Since
	last := slices.MaxFunc(own, func(a, b results.Noise) int { return a.Time.Compare(b.Time) }).Time
	return last.Sub(first), true
}

// BetweenRuns sums up runs of the same cells that nothing distinguishes: a noise record for each
// cell, machine and timed metric (see [Compared]), with the median of each run. Its Run is the
// caller's to fill in. It takes two runs of a cell to see any spread, and three for [Compare] to
// rest on it.
func BetweenRuns(runs []*results.Set) []results.Noise {
	all := Filter(slices.Concat(Map(runs, SeriesOf)...), func(s Series) bool { return !s.Metric.Counter })
	var out []results.Noise
	for _, own := range GroupBy(all, Series.id) {
		if len(own) < 2 {
			continue
		}
		n := results.Noise{Kind: results.KindNoise, Machine: own[0].Machine, Cell: *own[0].Cell, Metric: own[0].Metric.Name,
			Since:  slices.MinFunc(own, func(a, b Series) int { return a.Since.Compare(b.Since) }).Since,
			Time:   slices.MaxFunc(own, func(a, b Series) int { return a.Until.Compare(b.Until) }).Until,
			Values: Map(own, func(s Series) float64 { return s.Figure.Median })}
		if least, most := stats.Bounds(n.Values); least > 0 {
			n.Spread = most/least - 1
		}
		out = append(out, n)
	}
	return out
}
