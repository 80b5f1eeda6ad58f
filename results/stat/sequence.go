package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// priorWeight is the weight of the prior in a [Sequence], in observations. A smaller weight finds
// large changes earlier, but small changes later. At 0.2, the interval of five values is at most
// 2.4 times as wide as Student's if alpha is 0.05, and 2.7 times if it is 0.01.
const priorWeight = 0.2

// blockSize is how many neighbouring values share a median in [Sequence].
const blockSize = 5

// Sequence returns an interval for the mean of independent, normally distributed values. A caller
// may look at the interval after each value and stop at any time: the chance that *all* these
// intervals hold the mean is at least 1−alpha. ok is false if there are too few values.
// In simulations, that also held for heavy tails. But values on two equal levels may all begin on
// one: with an alpha of 0.05, 26 of 100 histories of 40 values had an interval without the mean.
func Sequence(values []float64, alpha float64) (lo, hi float64, ok bool) {
	// This interval needs few values. The second interval, of medians, withstands a value that is
	// far off.
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

// meanSequence returns an interval of the mean that holds as that of [Sequence] does. ok is false
// if there are too few values.
//
// With the average a, V = Σ(x-m)² and shrink = priorWeight/(n + priorWeight), the interval has
// each m for which
//
//	√shrink · (V / (V - (1-shrink)·n(a-m)²))^(n/2)  <  1/alpha.
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
	// The formula, solved for V / (squares + shrink·n(a-m)²): this quotient must be below the
	// bound.
	bound := math.Pow(alpha*alpha*shrink, -1/n)
	if !(bound*shrink < 1) {
		return 0, 0, false // the quotient is below 1/shrink for every m, so m may be anything
	}
	half := math.Sqrt((bound - 1) * squares / (n * (1 - bound*shrink)))
	return mean - half, mean + half, true
}
