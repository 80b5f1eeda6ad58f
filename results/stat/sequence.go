package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// priorWeight is the weight of the prior in a [Sequence], in observations. A smaller weight finds
// large changes earlier, but small changes later. With 0.2, the 95 % interval of five pairs is at
// most 2.4 times as wide as Student's. The interval of twenty pairs is at most 1.9 times as wide.
const priorWeight = 0.2

// blockSize is how many values are in each of the groups whose medians [Sequence] uses.
const blockSize = 5

// Sequence returns an interval for the middle of values that come one after the other and scatter
// equally to both sides of the middle. Such values are, for example, the logarithms of the ratios
// of pairs in random order. ok is false if there are too few values.
//
// A caller may compute an interval after each new value. The chance that *all* these intervals hold
// the middle is at least 1−alpha. So the caller may stop after any value: when the interval tells
// enough, or when the time is up. Student's interval holds only if the number of values was fixed
// in advance.
//
// The result is what two intervals have in common, each with half of alpha. The first is computed
// from the values, and is narrow after a few of them. The second is computed from the medians of
// groups of five values, and stays narrow if a single value is far off. If the two have nothing in
// common, the result covers both.
func Sequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
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

// meanSequence returns the interval of all m that a test does not reject as the mean of the values.
// For n values, let a be their average, and squares the sum of their squared distances from a. Let
// shrink = priorWeight/(n + priorWeight) and V = squares + n(a-m)². The test rejects m if
//
//	√shrink · (V / (V - (1-shrink)·n(a-m)²))^(n/2)  >=  1/alpha.
//
// For normally distributed values with the mean m, the left side is a martingale that starts at 1.
// So the chance that it ever reaches 1/alpha is at most alpha. Solved for a-m, the inequality gives
// the variable half, which is half the width of the interval. After a few values, the left side may
// be less than 1/alpha for every m. Then ok is false.
//
// See Lai, On confidence sequences, Annals of Statistics 4, 1976. For this form, with a normal
// prior of the mean in standard deviations, see Wang and Ramdas, Anytime-valid t-tests and
// confidence sequences for Gaussian means with unknown variance, Sequential Analysis 44, 2025,
// section 4.
func meanSequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
	n := float64(len(values))
	if n < 2 {
		return 0, 0, false
	}
	mean := stats.Mean(values)
	squares := stats.Variance(values) * (n - 1)
	shrink := priorWeight / (n + priorWeight)
	// In the test, V is divided by squares + shrink·n(a-m)². The test rejects m if the quotient is
	// at least most.
	most := math.Pow(alpha*alpha*shrink, -1/n)
	if !(most*shrink < 1) {
		return 0, 0, false // the quotient is below 1/shrink for every m, so no m is rejected
	}
	half := math.Sqrt((most - 1) * squares / (n * (1 - most*shrink)))
	return mean - half, mean + half, true
}
