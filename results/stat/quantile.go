package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// leastForks is how many starts of the worker processes the interval of a percentile needs.
const leastForks = 3

// A distribution merges all observations of one latency, because a single sample has too few
// observations for a p99.
type distribution struct {
	samples   int  // number of samples that were merged
	leftOut   int  // number of samples left out, because other programs disturbed them
	disturbed bool // disturbed samples were merged, because too few others would remain
	merged    results.Latency
	forks     []results.Latency // one for each start of the workers; nil if there are too few
}

// mergeLatencies merges the latencies that records have under a key. The key "" stands for the
// latency that a user feels.
func mergeLatencies(records []results.Record, key string) (distribution, error) {
	type part struct {
		fork   forkID
		sample results.Sample // with this latency alone, under the key ""
	}
	var all []part
	for _, r := range records {
		for i, s := range r.Samples {
			own := key
			if own == "" {
				own, _ = primaryLatency(s.Latency)
			}
			l, ok := s.Latency[own]
			if !ok || l.Count == 0 {
				continue
			}
			s.Latency = map[string]results.Latency{"": l}
			all = append(all, part{forkOf(r, i), s})
		}
	}
	used := undisturbed(all, func(p part) bool { return p.sample.Disturbed != "" })
	d := distribution{samples: len(used), leftOut: len(all) - len(used)}
	var samples []results.Sample
	var order []forkID
	byFork := make(map[forkID][]results.Sample)
	for _, p := range used {
		d.disturbed = d.disturbed || p.sample.Disturbed != ""
		samples = append(samples, p.sample)
		if !slices.Contains(order, p.fork) {
			order = append(order, p.fork)
		}
		byFork[p.fork] = append(byFork[p.fork], p.sample)
	}
	var err error
	d.merged, err = results.MergeLatencies(samples, "")
	if err != nil || len(used) < LeastSamples || len(order) < leastForks {
		return d, err
	}
	for _, fork := range order {
		l, err := results.MergePercentiles(byFork[fork], "")
		if err != nil {
			return d, err
		}
		d.forks = append(d.forks, l)
	}
	return d, nil
}

// quantile estimates one of [results.Quantiles]. If there are too few observations, the estimate's
// N is 0. The interval is Student's, computed from one percentile for each start of the worker
// processes (sectioning: Asmussen and Glynn, Stochastic Simulation, 2007, III.5).
func (d distribution) quantile(name string) Estimate {
	ns := d.merged.Quantile(name)
	if ns == nil {
		return Estimate{}
	}
	e := Estimate{N: d.samples, Median: float64(*ns), LeftOut: d.leftOut, Disturbed: d.disturbed}
	if name == "max" || len(d.forks) == 0 {
		return e
	}
	var logs []float64
	for _, fork := range d.forks {
		own := fork.Quantile(name)
		if own == nil || *own <= 0 {
			return e
		}
		logs = append(logs, math.Log(float64(*own)))
	}
	n := float64(len(logs))
	half := studentQuantile(n-1, 1-(1-Confidence)/2) * stats.StdDev(logs) / math.Sqrt(n)
	lo, hi := e.Median*math.Exp(-half), e.Median*math.Exp(half)
	e.Interval = &Interval{Lo: lo, Hi: hi, Confidence: Confidence}
	return e
}
