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
	ranks := doubledRanks(all)
	n := float64(len(all))
	var h float64
	for _, group := range groups {
		var sum float64
		for _, v := range group {
			i, _ := slices.BinarySearch(all, v)
			sum += float64(ranks[i]) / 2
		}
		h += sum * sum / float64(len(group))
	}
	h = 12/(n*(n+1))*h - 3*(n+1)
	spread := 2 / (9 * float64(len(groups)-1))
	z := (math.Cbrt(h/float64(len(groups)-1)) - (1 - spread)) / math.Sqrt(spread)
	return 1 - stats.StdNormal.CDF(z)
}

// doubledRanks returns twice the ranks of sorted values. Doubled, they are whole numbers: equal
// values share the mean of their ranks, which may end in a half.
func doubledRanks(sorted []float64) []int {
	ranks := make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && math.Abs(sorted[j]) == math.Abs(sorted[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j // twice the mean of i+1 … j
		}
		i = j
	}
	return ranks
}
