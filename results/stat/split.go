package stat

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A split has the machines that are slower and faster in one measurement.
type split struct {
	cell       results.Cell
	slow, fast []value
	isSure     bool // without another measurement
}

// splitAll cuts machines into two sides where neighbours are furthest apart, at least by a tenth,
// and then the larger side again. If there is no such gap, it cuts them in the middle of their
// range. The sides must differ by the factor least. noisy is how many machines more are too noisy.
func splitAll(values []value, noisy int, least float64) []split {
	if len(values) < 2 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(values), func(a, b value) int {
		return cmp.Or(cmp.Compare(a.mid, b.mid), a.member-b.member)
	})
	at := 1
	for i := 2; i < len(sorted); i++ {
		if sorted[i].mid-sorted[i-1].mid > sorted[at].mid-sorted[at-1].mid {
			at = i
		}
	}
	below, above := sorted[at-1], sorted[at]
	gap := above.mid - below.mid
	s, isSplit := splitAt(sorted, noisy, below.mid+gap/2)
	if isSplit && gap >= math.Log(leastFactor) && s.distance() >= math.Log(least) {
		noise := below.hi - below.mid + above.mid - above.lo
		s.isSure = gap >= math.Log(sureFactor) && gap >= 2*noise
		larger := s.fast
		if len(s.slow) > len(s.fast) {
			larger = s.slow
		}
		return append([]split{s}, splitAll(larger, noisy, least)...)
	}
	s, isSplit = splitAt(sorted, noisy, (sorted[0].mid+sorted[len(sorted)-1].mid)/2)
	if isSplit && s.distance() >= math.Log(least) {
		return []split{s}
	}
	return nil
}

// splitAt cuts machines into those that are clearly below and clearly above. isSplit is false if
// these are not most of the machines, the noisy ones counted.
func splitAt(sorted []value, noisy int, cut float64) (s split, isSplit bool) {
	for _, v := range sorted {
		switch {
		case v.hi < cut:
			s.slow = append(s.slow, v)
		case v.lo > cut:
			s.fast = append(s.fast, v)
		}
	}
	enough := 2*(len(s.slow)+len(s.fast)) > len(sorted)+noisy
	return s, len(s.slow) > 0 && len(s.fast) > 0 && enough
}

// distance is how far the medians of the two sides are apart.
func (s split) distance() float64 {
	middle := func(side []value) float64 {
		var all []float64
		for _, v := range side {
			all = append(all, v.mid)
		}
		return medianOf(all)
	}
	return middle(s.fast) - middle(s.slow)
}

// isLike reports whether hardly any machine is on the other side in the other split.
func (s split) isLike(other split) bool {
	slow, fast := common(s.slow, other.slow), common(s.fast, other.fast)
	contrary := common(s.slow, other.fast) + common(s.fast, other.slow)
	return min(slow, fast) > 4*contrary
}

// common counts the machines that are in both lists.
func common(a, b []value) int {
	members := make(map[int]bool)
	for _, v := range a {
		members[v.member] = true
	}
	n := 0
	for _, v := range b {
		if members[v.member] {
			n++
		}
	}
	return n
}

// compareSplits orders splits by how well they show the difference between machines.
func compareSplits(a, b split) int {
	size := func(s split) int { return len(s.slow) + len(s.fast) }
	isOdd := func(s split) int {
		if s.cell.IsBare() {
			return 0
		}
		return 1
	}
	tenths := func(s split) float64 { return math.Round(10 * s.distance()) }
	fromUsual := func(s split) float64 {
		return math.Abs(math.Log(float64(max(s.cell.Size, 1)) / usualSize))
	}
	return cmp.Or(size(b)-size(a), isOdd(a)-isOdd(b), cmp.Compare(tenths(b), tenths(a)),
		results.ComparePlacements(a.cell.Placement, b.cell.Placement),
		cmp.Compare(fromUsual(a), fromUsual(b)))
}

// usualSize is a message size in bytes at which machines are compared if others show no more.
const usualSize = 65_000

// join makes one difference of the splits that are like the first, and returns the other splits.
func join(all []split) (d Difference, isSure bool, others []split) {
	slices.SortStableFunc(all, compareSplits)
	side := make(map[int]int) // by machine: how much more often it is on the fast side
	var distances []float64
	for _, s := range all {
		if !s.isLike(all[0]) {
			others = append(others, s)
			continue
		}
		d.Cells = append(d.Cells, s.cell)
		distances = append(distances, s.distance())
		isSure = isSure || s.isSure
		for _, v := range s.slow {
			side[v.member]--
		}
		for _, v := range s.fast {
			side[v.member]++
		}
	}
	for _, i := range slices.Sorted(maps.Keys(side)) {
		switch {
		case side[i] < 0:
			d.Slow = append(d.Slow, i)
		case side[i] > 0:
			d.Fast = append(d.Fast, i)
		}
	}
	d.Ratio = math.Exp(medianOf(distances))
	return d, isSure, others
}
