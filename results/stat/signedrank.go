package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// exactRanks is the number of pairs up to which the distribution of the signed
// rank sum is counted out instead of approximated.
const exactRanks = 100

// SignedRank is Wilcoxon's test of whether differences of pairs are symmetric
// about zero, two-sided. Differences of zero say nothing and are left out; n
// is the number of the others. Equal sizes share their mean rank. Up to 100
// pairs p is exact, with ties too; above it is the normal approximation.
func SignedRank(differences []float64) (p float64, n int) {
	var diffs []float64
	for _, d := range differences {
		if d != 0 {
			diffs = append(diffs, d)
		}
	}
	slices.SortFunc(diffs, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks := doubledRanks(diffs)
	var positive, total int
	for i, d := range diffs {
		total += ranks[i]
		if d > 0 {
			positive += ranks[i]
		}
	}
	extreme := min(positive, total-positive)
	if len(diffs) > exactRanks {
		return approximateTail(ranks, extreme), len(diffs)
	}
	return min(1, 2*exactTail(ranks, extreme)), len(diffs)
}

// doubledRanks are twice the ranks of differences sorted by size: whole
// numbers even where ties share a half.
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

// exactTail is the probability that the sum of those ranks whose sign came up
// positive is at most limit, every sign being a fair coin.
func exactTail(ranks []int, limit int) float64 {
	chance := make([]float64, limit+1) // of each sum
	chance[0] = 1
	for _, r := range ranks {
		for sum := limit; sum >= 0; sum-- {
			chance[sum] /= 2
			if sum >= r {
				chance[sum] += chance[sum-r] / 2
			}
		}
	}
	var p float64
	for _, c := range chance {
		p += c
	}
	return p
}

// approximateTail is the two-sided normal approximation, with half a rank for
// continuity; the variance of the sum is a quarter of the squared ranks.
func approximateTail(ranks []int, extreme int) float64 {
	var mean, variance float64
	for _, r := range ranks {
		mean += float64(r) / 2
		variance += float64(r) * float64(r) / 4
	}
	z := (float64(extreme) + 1 - mean) / math.Sqrt(variance) // ranks are doubled: half a rank is 1
	return min(1, 2*stats.StdNormal.CDF(min(z, 0)))
}

// leastP is the smallest p that n pairs can give: all on one side.
func leastP(n int) float64 { return math.Ldexp(1, 1-n) }

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

// detection is how often a change has to be found to count as one that can be:
// four times out of five, as is usual.
const detection = 0.8

// signedRankCost is by how much wider than Student's test the signed-rank test has
// to look where differences are normal: the root of π/3.
var signedRankCost = math.Sqrt(math.Pi / 3)

// detectable is the least change, as a share, that pairs establish four times out
// of five at a level, if the logarithms of their ratios scatter as these do. The
// scatter is taken from the median absolute deviation, which a few disturbed
// pairs do not move, as they do not move the test. False if no change could be.
func detectable(logs []float64, level float64) (share float64, ok bool) {
	n := len(logs)
	if n < 2 || leastP(n) >= level {
		return 0, false
	}
	scatter := deviation(logs, middle(logs)) / math.Sqrt(float64(n))
	freedom := float64(n - 1)
	both := studentQuantile(freedom, 1-level/2) + studentQuantile(freedom, detection)
	return math.Expm1(signedRankCost * scatter * both), true
}
