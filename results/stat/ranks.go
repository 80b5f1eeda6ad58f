package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// mostExact is the number of differences up to which [SignedRank] is exact: the exact distribution
// takes time by the cube of their number. Its normal approximation is near enough by then: around
// 0.01 it is within two hundredths of p, and below it errs on the safe side.
const mostExact = 200

// SignedRank applies Wilcoxon's test of whether differences of pairs are symmetric about zero,
// two-sided. Differences of zero say nothing and are left out; n is the number of the others. Equal
// sizes share their mean rank. Up to 200 differences p is exact, with ties too; above, it is that
// of the normal approximation with a correction for ties and continuity.
func SignedRank(differences []float64) (p float64, n int) {
	var diffs []float64
	for _, d := range differences {
		if d != 0 {
			diffs = append(diffs, d)
		}
	}
	slices.SortFunc(diffs, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks := doubledRanks(diffs)
	positive := 0
	total := 0
	for i, d := range diffs {
		total += ranks[i]
		if d > 0 {
			positive += ranks[i]
		}
	}
	least := min(positive, total-positive)
	if len(diffs) > mostExact {
		return normalSignedRank(ranks, least, total), len(diffs)
	}
	return exactSignedRank(ranks, least), len(diffs)
}

// exactSignedRank returns how often the sum of the ranks of one sign is as small as least, or that
// of the other: every sign is a fair coin.
func exactSignedRank(ranks []int, least int) float64 {
	chance := make([]float64, least+1) // of each sum of ranks
	chance[0] = 1
	for _, r := range ranks {
		for sum := least; sum >= 0; sum-- {
			chance[sum] /= 2
			if sum >= r {
				chance[sum] += chance[sum-r] / 2
			}
		}
	}
	p := 0.0
	for _, c := range chance {
		p += c
	}
	return min(1, 2*p)
}

// normalSignedRank does the same for many ranks. Each rank is in the sum or not, so that the
// variance is the sum of their squares over four, which holds for ties as it stands. Ranks are
// doubled, so the step between two sums is 2, and half of it corrects for continuity.
func normalSignedRank(ranks []int, least, total int) float64 {
	var squares float64
	for _, r := range ranks {
		squares += float64(r) * float64(r)
	}
	z := (float64(least) + 1 - float64(total)/2) / math.Sqrt(squares/4)
	return min(1, 2*stats.StdNormal.CDF(z))
}

// doubledRanks returns twice the ranks of differences sorted by size: whole numbers even where ties
// share a half.
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

// Holm corrects p values for their number by Holm's step-down method: keeping those below a level
// keeps the chance of any false one among them below it, whatever their dependence. The result is
// in the order of p.
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

// kruskalWallis returns the chance that groups of one distribution differ in their ranks as much as
// these do: Kruskal and Wallis's test (JASA 47, 1952), its χ² by Wilson and Hilferty's cube root.
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
