package results

import (
	"cmp"
	"slices"
)

// Holm corrects p values for their number by Holm's step-down method: keeping
// those below a level keeps the chance of any false one among them below it,
// whatever their dependence. The result is in the order of p.
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
