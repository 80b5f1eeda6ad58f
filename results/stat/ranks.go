package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// kruskalWallis returns the chance that groups of values from one distribution differ in their
// ranks as much as these groups do (Kruskal and Wallis, JASA 47, 1952).
func kruskalWallis(groups [][]float64) float64 {
	all := slices.Sorted(slices.Values(slices.Concat(groups...)))
	n := float64(len(all))
	var h float64
	for _, group := range groups {
		var sum float64
		for _, v := range group {
			sum += rank(all, v)
		}
		h += sum * sum / float64(len(group))
	}
	h = 12/(n*(n+1))*h - 3*(n+1)
	freedom := float64(len(groups) - 1)
	// Wilson and Hilferty: the cube root of χ²/freedom is about normally distributed.
	variance := 2 / (9 * freedom)
	z := (math.Cbrt(h/freedom) - (1 - variance)) / math.Sqrt(variance)
	return 1 - stats.StdNormal.CDF(z)
}

// rank returns the rank of a value among sorted values. Equal values share the mean rank.
func rank(sorted []float64, v float64) float64 {
	first, _ := slices.BinarySearch(sorted, v)
	next := first
	for next < len(sorted) && sorted[next] == v {
		next++
	}
	return float64(first+1+next) / 2 // the ranks are first+1 … next
}
