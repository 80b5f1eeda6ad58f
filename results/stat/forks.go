package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// Forks is how many forks (starts of all workers) a plan should take. If forks differ, samples of
// the same fork are not independent. That makes the interval wider: by 60 % with four forks, by 40
// % with five, by 20 % with eight. With fewer than four forks, it says next to nothing.
//
// With more forks, each fork takes fewer samples in the same total time. If a fork takes fewer than
// five, its median is easily a disturbed one.
const Forks = 5

// An observation is the figure of one sample, or the ratio of two samples of one round.
type observation struct {
	moment    moment
	value     float64
	disturbed bool
}

// A moment says when a sample was taken. Samples of two cells that have the same moment make a
// pair.
type moment struct {
	fork  forkID
	round int
}

// A forkID identifies a fork: one start of the workers, which then take several samples.
type forkID struct {
	run    string
	number int // negative in old files, in which each sample had workers of its own
}

// forkOf identifies the fork in which the i-th sample of a record was taken.
func forkOf(r results.Record, i int) forkID {
	return forkID{r.Run, cmp.Or(r.Samples[i].Fork, -1-i)}
}

func (m Metric) observations(records []results.Record) []observation {
	var out []observation
	for _, r := range records {
		for i, s := range r.Samples {
			if v, ok := m.Value(s); ok {
				taken := moment{forkOf(r, i), s.Round}
				out = append(out, observation{taken, v, s.Disturbed != ""})
			}
		}
	}
	return out
}

func (o observation) isDisturbed() bool { return o.disturbed }

// byFork groups the values of observations by fork, in the order in which the forks first appear.
// It returns nil if no two observations are from the same workers, because all observations are
// then independent.
func byFork(all []observation) [][]float64 {
	if !slices.ContainsFunc(all, func(o observation) bool { return o.moment.fork.number > 0 }) {
		return nil
	}
	var order []forkID
	groups := make(map[forkID][]float64)
	for _, o := range all {
		fork := o.moment.fork
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

// forkInterval returns Student's interval of the forks' medians, on a logarithmic scale if all
// medians are above zero. centre is the median of all samples. If the interval would not contain
// centre, it is widened until it does.
//
// Samples of one fork may depend on each other in any way, and some forks may scatter more than
// others. Student's test keeps its significance level even then (Ibragimov and Müller, t-statistic
// based correlation and heterogeneity robust inference, JBES 28, 2010). A bootstrap of so few forks
// does not keep its level.
func forkInterval(forks [][]float64, centre float64) *Interval {
	var medians []float64
	for _, fork := range forks {
		medians = append(medians, medianOf(fork))
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
	return &Interval{Lo: min(lo, centre), Hi: max(hi, centre), Confidence: Confidence}
}

// forkLevel is the chance below which a difference between forks is worth a warning. The difference
// must also reach [modeDistance]. The level is low because a run has many cells, and each warning
// asks the user to do something.
const forkLevel = 0.01

// forkWarning returns a warning if the named figure differs between forks by more than chance
// explains, and by the factor [modeDistance] or more. Otherwise it returns "".
func forkWarning(figure string, format func(float64) string, all []observation) string {
	forks := byFork(undisturbed(all, observation.isDisturbed))
	if len(forks) < 2 {
		return ""
	}
	byMedian := func(a, b []float64) int { return cmp.Compare(medianOf(a), medianOf(b)) }
	slices.SortFunc(forks, byMedian)
	least, most := medianOf(forks[0]), medianOf(forks[len(forks)-1])
	if kruskalWallis(forks) >= forkLevel || most < modeDistance*least {
		return ""
	}
	return fmt.Sprintf("forks differ beyond chance: %s is %s in one start of the processes "+
		"and %s in another; more forks tell what is usual", figure, format(least), format(most))
}
