package stat

import (
	"math"
	"slices"
)

// FewMachines is the largest number of machines that are shown one by one.
const FewMachines = 7

// A Spread says how far a figure differs between machines: the range has the middle 80 % of them,
// or all of [FewMachines] or fewer.
type Spread struct {
	N                   int
	Median, Least, Most float64
}

// SpreadOf returns the spread of values.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	cut := 0
	if last >= FewMachines {
		cut = int(math.Round(0.1 * float64(last)))
	}
	return Spread{len(sorted), medianOf(sorted), sorted[cut], sorted[last-cut]}
}
