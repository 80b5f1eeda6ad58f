package stat

import (
	"fmt"
	"math"
	"time"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// A Noise is how far one figure of a cell moves on a machine between runs that nothing
// distinguishes.
type Noise struct {
	Machine string
	Cell    results.Cell
	Metric  string
	Values  []float64 // the median of each run
	Since   time.Time // when the first record of the runs was finished; zero if it is not known
	Until   time.Time // when the last was
}

// NoiseOf takes the runs of a set for runs that nothing distinguishes. It lists a noise for each
// timed figure that two of them have at least; [Compare] rests on three.
func NoiseOf(s *results.Set) []Noise {
	var runs []*results.Set
	for _, e := range s.Environments {
		runs = append(runs, s.OfRun(e.Run))
	}
	return noiseBetween(runs)
}

func noiseBetween(runs []*results.Set) []Noise {
	var out []Noise
	at := make(map[seriesID]int)
	for _, run := range runs {
		for _, series := range SeriesOf(run) {
			if series.Metric.Counter || series.Cell == nil {
				continue
			}
			i, known := at[series.id()]
			if !known {
				i = len(out)
				at[series.id()] = i
				out = append(out, Noise{
					Machine: series.Machine, Cell: *series.Cell, Metric: series.Metric.Name,
					Since: series.Since, Until: series.Until,
				})
			}
			out[i].add(series)
		}
	}
	several := out[:0]
	for _, n := range out {
		if len(n.Values) >= 2 {
			several = append(several, n)
		}
	}
	return several
}

// add adds the figure of one run.
func (n *Noise) add(run Series) {
	n.Values = append(n.Values, run.Figure.Median)
	if run.Since.Before(n.Since) {
		n.Since = run.Since
	}
	if run.Until.After(n.Until) {
		n.Until = run.Until
	}
}

// Spread returns the largest ratio between two runs, less 1.
func (n Noise) Spread() float64 {
	least, most := stats.Bounds(n.Values)
	if !(least > 0) {
		return 0
	}
	return most/least - 1
}

// Detectable returns the change, as a share, that two further runs of the cell go beyond no more
// often than [DefaultAlpha] without anything having changed: what [Compare] asks of a single
// difference. False if there are too few runs to tell.
func (n Noise) Detectable() (share float64, ok bool) {
	b := n.bound(DefaultAlpha)
	return math.Expm1(b.change()), b.known && b.log <= maxBound
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

// noiseBound finds out how far a metric of a series may move without meaning anything, at a level.
func noiseBound(noise []Noise, s Series, level float64) bound {
	if s.Cell == nil {
		return bound{}
	}
	own := Noise{}
	for _, n := range noise {
		if n.Machine == s.Machine && n.Metric == s.Metric.Name && n.Cell == *s.Cell {
			own.Values = append(own.Values, n.Values...)
		}
	}
	return own.bound(level)
}

// bound returns the bound that the medians of the runs give.
func (n Noise) bound(level float64) bound {
	log, ok := predictionBound(n.Values, level)
	b := bound{log: log, rare: minEffect(len(n.Values)), known: ok}
	from := results.FormatCount(len(n.Values), "run")
	switch {
	case log > maxBound:
		b.basis = fmt.Sprintf("no between-run bound below %s from %s: "+
			"repeat runs over a longer time, or compare two builds in pairs",
			percent(maxBound), from)
	case b.rare > b.log:
		b.basis = fmt.Sprintf("between-run bound %s from %s of this cell, "+
			"and a change is more than %s", percent(log), from, percent(b.rare))
	default:
		b.basis = fmt.Sprintf("between-run bound %s from %s of this cell", percent(log), from)
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
func minEffect(runs int) float64 { return math.Log1p(2 / float64(max(1, runs))) }

// noiseWindow returns how long a machine was watched: from the first to the last of the runs.
func noiseWindow(noise []Noise, machine string) (time.Duration, bool) {
	var first, last time.Time
	for _, n := range noise {
		if n.Machine != machine || n.Since.IsZero() {
			continue
		}
		if first.IsZero() || n.Since.Before(first) {
			first = n.Since
		}
		if n.Until.After(last) {
			last = n.Until
		}
	}
	return last.Sub(first), !first.IsZero()
}
