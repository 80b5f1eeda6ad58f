package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// priorWeight is the weight of the prior in a [Sequence], in observations. A smaller weight finds
// large changes earlier, but small ones later.
const priorWeight = 0.2

// blockSize is how many values have a median of their own in a [Sequence].
const blockSize = 5

// Sequence returns an interval for the middle of values that scatter equally to both sides of it. A
// caller may look at the interval after each value and stop at any time: the chance that *all*
// intervals hold the middle is at least 1−alpha. ok is false if there are too few values.
func Sequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
	// Few values suffice for this interval. The other one withstands a value that is far off.
	lo, hi, ok = meanSequence(values, alpha/2)
	var medians []float64
	for at := blockSize; at <= len(values); at += blockSize {
		medians = append(medians, medianOf(values[at-blockSize:at]))
	}
	steadyLo, steadyHi, steady := meanSequence(medians, alpha/2)
	if !steady || !ok {
		return lo, hi, ok
	}
	contradict := max(lo, steadyLo) > min(hi, steadyHi)
	if contradict {
		return min(lo, steadyLo), max(hi, steadyHi), true
	}
	return max(lo, steadyLo), min(hi, steadyHi), true
}

// meanSequence returns the interval of all m that a test does not reject as the mean of n values
// with average a. With shrink = priorWeight/(n + priorWeight) and V the sum of squared distances
// from m, it rejects m if
//
//	√shrink · (V / (V - (1-shrink)·n(a-m)²))^(n/2)  >=  1/alpha.
//
// For normal values with the mean m, the left side is a martingale that starts at 1, so it ever
// reaches 1/alpha with a chance of at most alpha. ok is false if no m is rejected.
//
// See Lai, On confidence sequences, Annals of Statistics 4, 1976, and Wang and Ramdas,
// Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance,
// Sequential Analysis 44, 2025, section 4.
func meanSequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
	n := float64(len(values))
	if n < 2 {
		return 0, 0, false
	}
	mean := stats.Mean(values)
	squares := stats.Variance(values) * (n - 1)
	shrink := priorWeight / (n + priorWeight)
	// The test, solved for V / (squares + shrink·n(a-m)²), rejects m from this value on.
	most := math.Pow(alpha*alpha*shrink, -1/n)
	if !(most*shrink < 1) {
		return 0, 0, false // the quotient is below 1/shrink for every m, so no m is rejected
	}
	half := math.Sqrt((most - 1) * squares / (n * (1 - most*shrink)))
	return mean - half, mean + half, true
}
