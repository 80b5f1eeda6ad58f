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
	slow, fast []value // the slowest machine comes first
	degrees    []value // all machines, if they differ by degrees
	isSure     bool    // without another measurement
}

// splitAll cuts machines into two sides, and then the larger side again. If they stand at no
// levels, they differ by degrees: it cuts them in the middle of their range, once. The sides, or
// both ends of the range, must differ by the factor least. noisy is how many machines more are too
// noisy.
func splitAll(values []value, noisy int, least float64) []split {
	if len(values) < 2 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(values), func(a, b value) int {
		return cmp.Or(cmp.Compare(a.mid, b.mid), a.member-b.member)
	})
	s, isSplit := splitLevels(sorted, noisy)
	if isSplit && s.distance() >= math.Log(least) {
		larger := s.fast
		if len(s.slow) > len(s.fast) {
			larger = s.slow
		}
		return append([]split{s}, splitAll(larger, noisy, least)...)
	}
	s, isSplit = splitAt(sorted, noisy, (sorted[0].mid+sorted[len(sorted)-1].mid)/2)
	if isSplit && len(sorted) > 2 {
		s.degrees = sorted
		slowest, fastest := s.ends()
		if fastest.lo-slowest.hi >= math.Log(least) {
			return []split{s}
		}
	}
	return nil
}

// ends returns the slowest and the fastest machine.
func (s split) ends() (slowest, fastest value) { return s.slow[0], s.fast[len(s.fast)-1] }

// splitLevels cuts machines that stand at levels, with a gap of at least a tenth between the sides.
// Of several gaps, it takes the one with the fewest machines on one side.
func splitLevels(sorted []value, noisy int) (s split, isSplit bool) {
	gap := func(at int) float64 { return sorted[at].mid - sorted[at-1].mid }
	widest := 0.0
	for at := 1; at < len(sorted); at++ {
		widest = max(widest, gap(at))
	}
	if !areLevels(sorted, widest/2) {
		return split{}, false
	}
	least := max(widest/2, math.Log(leastFactor))
	for few := 1; 2*few <= len(sorted); few++ {
		for _, at := range []int{few, len(sorted) - few} {
			if gap(at) < least {
				continue
			}
			below, above := sorted[at-1], sorted[at]
			s, isSplit = splitAt(sorted, noisy, (below.mid+above.mid)/2)
			if isSplit {
				noise := below.hi - below.mid + above.mid - above.lo
				s.isSure = gap(at) >= max(math.Log(sureFactor), 2*noise)
				return s, true
			}
		}
	}
	return split{}, false
}

// areLevels reports whether machines stand at a few levels, with at least this gap between them: no
// level is as wide as the gap, and at most half of the machines are alone.
func areLevels(sorted []value, gap float64) bool {
	alone := 0
	first := 0 // of the level
	for i, v := range sorted {
		if i+1 < len(sorted) && sorted[i+1].mid-v.mid < gap {
			continue
		}
		if v.lo-sorted[first].hi >= gap {
			return false
		}
		if i == first {
			alone++
		}
		first = i + 1
	}
	return len(sorted) == 2 || 2*alone <= len(sorted)
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
	if len(all[0].degrees) > 0 {
		slowest, fastest := all[0].ends()
		d.Slow = []int{slowest.member}
		d.Fast = []int{fastest.member}
		for _, v := range all[0].degrees {
			if v != slowest && v != fastest {
				d.Between = append(d.Between, v.member)
			}
		}
	}
	return d, isSure, others
}
