package stat

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// Forks is how many times a run should start the worker processes. With fewer starts, intervals are
// wider if the starts differ. With more, each start has too few samples in the same time.
const Forks = 5

// An observation is the figure of one sample, or the ratio of two samples that were taken together.
type observation struct {
	moment    moment
	value     float64
	disturbed bool
}

// A moment says when a sample was taken. Samples of two combinations of settings make a pair if
// they have the same moment.
type moment struct {
	fork  forkID
	round int
}

// A forkID identifies one start of the worker processes, which then take several samples.
type forkID struct {
	run    string
	number int // negative in a [results.Target], whose samples name no start
}

// forkOf identifies the start of the worker processes that took the i-th sample of a record.
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

// fewestValues is the share of the values of the largest fork that a fork must have to count in an
// interval. The median of a few values scatters more than the medians of the other forks.
const fewestValues = 0.25

// byFork groups the values of observations by fork, a start of the worker processes. It leaves out
// forks with few values, and returns nil if no fork has two values.
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
	most := 0
	for _, values := range groups {
		most = max(most, len(values))
	}
	var out [][]float64
	for _, fork := range order {
		if float64(len(groups[fork])) >= fewestValues*float64(most) {
			out = append(out, groups[fork])
		}
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

// forkInterval returns Student's interval of the medians of forks (starts of the worker processes),
// widened to contain centre, the median of all samples. It holds even if some forks scatter more
// than others (Ibragimov and Müller, t-statistic based correlation and heterogeneity robust
// inference, JBES 28, 2010).
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

// forkLevel is the chance below which a difference between starts of the worker processes is worth
// a warning. It is low because a run has many figures to check.
const forkLevel = 0.01

// forkWarning returns a warning if the named figure differs between starts of the worker processes
// of one run by more than chance explains and at least by the factor [modeDistance]. Otherwise, it
// returns "".
func forkWarning(figure string, format func(float64) string, all []observation) string {
	byRun := make(map[string][]observation)
	for _, o := range all {
		run := o.moment.fork.run
		byRun[run] = append(byRun[run], o)
	}
	byMedian := func(a, b []float64) int { return cmp.Compare(medianOf(a), medianOf(b)) }
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		forks := byFork(undisturbed(byRun[run], observation.isDisturbed))
		if len(forks) < 2 {
			continue
		}
		slices.SortFunc(forks, byMedian)
		least, most := medianOf(forks[0]), medianOf(forks[len(forks)-1])
		if kruskalWallis(forks) < forkLevel && most >= modeDistance*least {
			return fmt.Sprintf("forks differ beyond chance: %s is %s in one start of the "+
				"processes and %s in another; more forks tell what is usual", figure,
				format(least), format(most))
		}
	}
	return ""
}
