package results

import (
	"fmt"
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A bound is how far a metric moves between two runs that nothing
// distinguishes, as a logarithm of the ratio, and where that is known from.
type bound struct {
	log   float64
	basis string
	known bool
}

// between finds out from noise records how far a metric of a cell may move
// without meaning anything, when so many comparisons are made at a time. Where
// this cell was not measured, the widest bound of the cells that run in the
// same way (placement, peer, pattern, io and pipe) stands in, and is named.
func between(noise []Noise, machine string, cell *Cell, metric string, comparisons int) bound {
	if cell == nil {
		return bound{}
	}
	var own []float64
	alike := make(map[string][]float64)
	for _, n := range noise {
		if n.Machine != machine || n.Metric != metric {
			continue
		}
		if n.Cell == *cell {
			own = append(own, n.Values...)
		}
		if runsAlike(n.Cell, *cell) {
			alike[n.Cell.Key()] = append(alike[n.Cell.Key()], n.Values...)
		}
	}
	if log, ok := unmeaning(own, comparisons); ok {
		return bound{log, fmt.Sprintf("between-run bound %s from %d runs of this cell", boundText(log), len(own)), true}
	}
	var widest bound
	for _, values := range alike {
		if log, ok := unmeaning(values, comparisons); ok && log >= widest.log {
			widest = bound{log, fmt.Sprintf("between-run bound %s of the noisiest cell that runs alike", boundText(log)), true}
		}
	}
	return widest
}

func boundText(log float64) string { return FormatPercent(100 * (math.Exp(log) - 1)) }

// runsAlike is whether what disturbs one cell disturbs the other too.
func runsAlike(a, b Cell) bool {
	return a.Placement == b.Placement && a.Peer == b.Peer && a.Pattern == b.Pattern && a.IO == b.IO && a.Pipe == b.Pipe
}

// unmeaning is the difference, as a logarithm of the ratio, that two further
// runs stay below 95 % of the time in all comparisons together: Student's
// prediction for the difference of two, Bonferroni's correction for their
// number, and never less than the widest difference already seen. It takes
// three runs.
func unmeaning(values []float64, comparisons int) (float64, bool) {
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
	tail := (1 - Confidence) / 2 / float64(max(1, comparisons))
	predicted := studentQuantile(float64(len(logs)-1), 1-tail) * stats.StdDev(logs) * math.Sqrt2
	return max(predicted, most-least), true
}
