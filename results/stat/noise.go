package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// A Noise says how much one figure varies between runs of one build on one machine. The figure is
// the CPU time with one framing, divided by the CPU time with raw, the framing that adds nothing.
type Noise struct {
	Cell   results.Cell
	Values []float64 // the ratio of each run
	// Spread is the largest ratio between two of Values, minus 1. By chance, two further runs
	// differ by more than Bound only once in twenty times.
	Spread, Bound float64
}

// NoiseOf returns the noise of each combination of settings that at least two runs measured
// together with the framing raw. All runs must be of one build.
func NoiseOf(s *results.Set) []Noise {
	var out []Noise
	rows := gatherRows(s, hashOf)
	sortRows(rows)
	for _, row := range rows {
		raw := row.findRaw(rows)
		if row.Cell.Framing == results.FramingRaw || raw == nil || Incomparable(row.Cell) {
			continue
		}
		n := Noise{Cell: row.Cell}
		var logs []float64
		for _, run := range row.Runs {
			own, base := recordsOf(row.Records, run), recordsOf(raw.Records, run)
			one := ratioToRaw(MustMetric("cpu-time"), own, base)
			if one.n > 0 {
				logs = append(logs, one.mean)
				n.Values = append(n.Values, math.Exp(one.mean))
			}
		}
		if len(logs) < 2 {
			continue
		}
		least, most := stats.Bounds(logs)
		n.Spread = math.Expm1(most - least)
		quantile := studentQuantile(float64(len(logs)-1), (1+Confidence)/2)
		n.Bound = math.Expm1(quantile * math.Sqrt2 * stats.StdDev(logs)) // √2: both runs vary
		out = append(out, n)
	}
	return out
}

func recordsOf(all []results.Record, run string) []results.Record {
	var out []results.Record
	for _, r := range all {
		if r.Run == run {
			out = append(out, r)
		}
	}
	return out
}
