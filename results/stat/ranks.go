package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// kruskalWallis returns the chance that groups of one distribution differ in their ranks as much as
// these do: Kruskal and Wallis's test (JASA 47, 1952), with Wilson and Hilferty's cube root
// approximation of the χ² distribution.
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
	spread := 2 / (9 * float64(len(groups)-1))
	z := (math.Cbrt(h/float64(len(groups)-1)) - (1 - spread)) / math.Sqrt(spread)
	return 1 - stats.StdNormal.CDF(z)
}

// rank returns the rank of a value among sorted values. Equal values share the mean of their ranks.
func rank(sorted []float64, v float64) float64 {
	first, _ := slices.BinarySearch(sorted, v)
	next := first
	for next < len(sorted) && sorted[next] == v {
		next++
	}
	return float64(first+1+next) / 2 // the ranks are first+1 … next
}
