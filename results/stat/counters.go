package stat

import (
	"math"
	"slices"
)

// addCounter compares a counter. One that is the same in every sample of each
// side is exact, and any change of it is real. One that varies is left out,
// unless the sides lie so far apart that it should be looked at.
func (c *Comparison) addCounter(m match, o CompareOptions) {
	change := m.change()
	change.Exact = exact(m.old) && exact(m.new)
	switch {
	case m.elsewhere() && !o.Across:
		if gap(m.old, m.new) <= max(slack(m.old), slack(m.new)) {
			return
		}
		change.Verdict, change.Basis = DifferentMachines, elsewhereBasis
	case change.Exact:
		change.Verdict, change.Basis = exactVerdict(m), "exact"
		change.worst = 0
		if change.Established() {
			change.worst = change.Worse()
		}
	case farApart(m.old, m.new):
		change.Verdict, change.Basis = Indicative, "a counter that varies from sample to sample"
	default:
		return
	}
	c.Changes = append(c.Changes, change)
}

// exactVerdict compares counters that are the same in every sample.
func exactVerdict(m match) Verdict {
	switch {
	case gap(m.old, m.new) <= max(slack(m.old), slack(m.new)):
		return NoChange
	case slices.Min(m.new.Values) > slices.Max(m.old.Values):
		return More
	}
	return Fewer
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

// farApart is whether two sides lie apart by more than the steadier one varies.
func farApart(a, b Series) bool {
	width := min(slices.Max(a.Values)-slices.Min(a.Values), slices.Max(b.Values)-slices.Min(b.Values))
	return gap(a, b) > max(width, slack(a), slack(b))
}

// gap is the distance between the ranges of two sides, negative where they
// overlap.
func gap(a, b Series) float64 {
	return max(slices.Min(b.Values)-slices.Max(a.Values), slices.Min(a.Values)-slices.Max(b.Values))
}
