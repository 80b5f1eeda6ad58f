package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// priorWeight is the weight of the prior in a [Sequence], in observations: the smaller it is, the
// larger the changes that the sequence finds early. With 0.2 the interval of five pairs is twice as
// wide as Student's, that of twenty 1.7 times.
const priorWeight = 0.2

// blockSize is how many values a block of [Sequence] has.
const blockSize = 5

// Sequence returns the interval of the middle of values that come one after the other and scatter
// alike to both sides, such as the logarithms of the ratios of pairs in random order. All its
// intervals, after two values, three and so on, hold the middle with the chance 1−alpha *together*,
// so that whoever looks may stop at any of them: when the interval tells enough, or when the time
// is up. Student's interval holds for a number of values that was fixed before.
//
// It is what two sequences have in common, each of half of alpha: one of the values, which tells
// much from few, and one of the medians of each five, which a disturbed pair does not make wide. Of
// fewer than two values, and where the values cannot tell yet, ok is false.
func Sequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
	lo, hi, ok = meanSequence(values, alpha/2)
	var medians []float64
	for at := blockSize; at <= len(values); at += blockSize {
		medians = append(medians, median(values[at-blockSize:at]))
	}
	steadyLo, steadyHi, steady := meanSequence(medians, alpha/2)
	if !steady || !ok {
		return lo, hi, ok
	}
	if max(lo, steadyLo) > min(hi, steadyHi) { // they contradict each other: nothing is sure
		return min(lo, steadyLo), max(hi, steadyHi), true
	}
	return max(lo, steadyLo), min(hi, steadyHi), true
}

// meanSequence returns the interval of the mean of values. It inverts the test martingale of
// Student's t with a normal prior of the mean in standard deviations (Lai, On confidence sequences,
// Annals of Statistics 4, 1976; in this form Wang and Ramdas, Anytime-valid t-tests and confidence
// sequences for Gaussian means with unknown variance, Sequential Analysis 44, 2025, section 4).
func meanSequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
	n := float64(len(values))
	if n < 2 {
		return 0, 0, false
	}
	mean := stats.Mean(values)
	squares := stats.Variance(values) * (n - 1)
	shrink := priorWeight / (n + priorWeight)
	k := math.Pow(alpha*alpha*shrink, -1/n)
	if !(k*shrink < 1) {
		return 0, 0, false
	}
	half := math.Sqrt((k - 1) * squares / (n * (1 - k*shrink)))
	return mean - half, mean + half, true
}
