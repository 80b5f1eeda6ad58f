package results

import (
	"math"
	"slices"
)

// outlierScore is how many standard deviations' worth of the median absolute
// deviation a sample may lie from the median. Ten, as hyperfine has it: with six
// samples a cut at the textbook 3.5 calls every third honest set unclean.
const outlierScore = 10

// Outliers gives the indices of the values that do not belong with the others,
// by their distance from the median in median absolute deviations (Iglewicz
// and Hoaglin's modified z-score). Fewer than four values have no outliers.
func Outliers(values []float64) []int {
	if len(values) < 4 {
		return nil
	}
	centre := middle(values)
	scale := deviation(values, centre)
	if scale == 0 {
		return nil
	}
	var out []int
	for i, v := range values {
		if math.Abs(v-centre) > outlierScore*scale {
			out = append(out, i)
		}
	}
	return out
}

// deviation estimates the standard deviation from absolute deviations: their
// median, or their mean where more than half the values are the same and the
// median is nought. The factors make both the standard deviation of a normal
// distribution.
func deviation(values []float64, centre float64) float64 {
	abs := make([]float64, len(values))
	var sum float64
	for i, v := range values {
		abs[i] = math.Abs(v - centre)
		sum += abs[i]
	}
	if mad := middle(abs); mad > 0 {
		return 1.4826 * mad
	}
	return 1.2533 * sum / float64(len(values))
}

// middle is the median alone.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
