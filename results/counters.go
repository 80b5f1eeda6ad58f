package results

import (
	"math"
	"slices"
)

// addCounter compares a counter. One that is the same in every sample of each
// side is exact, and any change of it is real. One that varies is left out,
// unless the sides lie so far apart that it should be looked at.
func (c *Comparison) addCounter(m match) {
	change := m.change()
	change.Exact = exact(m.old) && exact(m.new)
	switch {
	case change.Exact && moved(m.old, m.new):
		change.Verdict, change.Basis = Fewer, "exact"
		if change.New.Median > change.Old.Median {
			change.Verdict = More
		}
		change.worst = change.Worse()
	case change.Exact:
		change.Verdict, change.Basis, change.worst = NoChange, "exact", 0
	case farApart(m.old, m.new):
		change.Verdict, change.Basis = Indicative, "a counter that varies from sample to sample"
	default:
		return
	}
	c.Changes = append(c.Changes, change)
}

// slack is how much of a counter, a message, does not come from messages: the
// read that finds the end, the runtime's own allocations. Nor does the last
// digit of a division.
func slack(s Series) float64 {
	return s.Metric.fixed/float64(max(1, s.Messages)) + 1e-9*math.Abs(slices.Max(s.Values))
}

// exact is whether a counter is the same in every sample.
func exact(s Series) bool {
	return slices.Max(s.Values)-slices.Min(s.Values) <= slack(s)
}

// moved is whether the values of two sides lie apart by more than is fixed.
func moved(a, b Series) bool { return gap(a, b) > max(slack(a), slack(b)) }

// farApart is whether two sides that vary lie apart by more than either varies.
func farApart(a, b Series) bool {
	width := max(slices.Max(a.Values)-slices.Min(a.Values), slices.Max(b.Values)-slices.Min(b.Values))
	return gap(a, b) > max(width, slack(a), slack(b))
}

// gap is the distance between the ranges of two sides, negative where they
// overlap.
func gap(a, b Series) float64 {
	return max(slices.Min(b.Values)-slices.Max(a.Values), slices.Min(a.Values)-slices.Max(b.Values))
}
