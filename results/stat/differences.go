package stat

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
)

const (
	// SlowFactor is the ratio from which everything counts as slower on a machine. It is large
	// because clock and load differ between equal machines. Chance may make it a little smaller.
	SlowFactor = 1.5
	slowFactor = 0.98 * SlowFactor
	// MostSpread is the largest half-width of an interval, in percent of the median. Figures with
	// a wider interval are rough.
	MostSpread = 50
	// MostBlur is the largest half-width of an interval, in percent, at which figures can still be
	// compared. Most framings cost 5 to 20 %.
	MostBlur = 25

	leastFactor = 1.1  // a smaller difference of a framing, or of raw, is not worth telling
	sureFactor  = 1.25 // from here on, one measurement may differ from the others
	mostGroups  = 3    // more groups are degrees, unless one has half of the machines
)

// A Difference says that everything, raw, or a framing is faster on some machines than on others,
// beyond the noise. Machines whose figures are too noisy are in no group.
type Difference struct {
	Framing string       // "" if it is about everything
	Groups  []SpeedGroup // the slowest first
	// ByDegrees says that no gap parts the machines. The slowest machine is then the first group,
	// the fastest one the last, and the others are between them. Each then has a group for every
	// machine, the slowest first.
	ByDegrees bool
	Each      []SpeedGroup
	// Cells has the measurements in which that is so; they have no framing if it is about
	// everything. Compared has all that were clear enough.
	Cells, Compared []results.Cell
}

// A SpeedGroup has machines that are about equally fast.
type SpeedGroup struct {
	Members []int   // indices of the list of members
	Speed   float64 // how many times faster than usual
}

// Ratio is how many times faster the fastest group is than the slowest.
func (d Difference) Ratio() float64 { return d.Groups[len(d.Groups)-1].Speed / d.Groups[0].Speed }

// Usual returns the index of the largest group or, of several, of the fastest of these.
func (d Difference) Usual() int {
	usual := 0
	for i, g := range d.Groups {
		if len(g.Members) >= len(d.Groups[usual].Members) {
			usual = i
		}
	}
	return usual
}

// Odd returns the machines that are not in the usual group.
func (d Difference) Odd() []int {
	var odd []int
	for i, g := range d.Groups {
		if i != d.Usual() {
			odd = append(odd, g.Members...)
		}
	}
	return odd
}

// IsSplit reports whether no group has most of the machines.
func (d Difference) IsSplit() bool {
	return !d.ByDegrees && len(d.Groups[d.Usual()].Members) <= len(d.Odd())
}

// Differences compares machines. In each measurement, the logarithm of a speed is taken apart into
// what is usual with the framing, how much everything differs on the machine, and how much this
// framing differs there after that; raw is a framing as any other. Then all measurements of a
// framing, or of everything, are taken together. Everything comes first, then raw, then the
// framings. In each of the three, groups come before degrees, and the largest difference first.
func Differences(members []Member) []Difference {
	return differences(members, results.Cell.IsBare)
}

// differences is [Differences] for the cells that are wanted.
func differences(members []Member, isWanted func(results.Cell) bool) []Difference {
	var all []Difference
	for subject, m := range takeApart(members, isWanted) {
		least := leastFactor
		if subject == everything {
			least = slowFactor
		}
		for _, d := range m.differences(least) {
			d.Framing = subject.Framing
			d.Compared = m.cells()
			if subject != everything { // Speeds has everything in all measurements
				m.setSpeeds(d)
			}
			all = append(all, d)
		}
	}
	first := map[string]int{"": -4, results.FramingRaw: -2} // 0 of other framings
	rank := func(d Difference) int {
		if d.ByDegrees {
			return first[d.Framing] + 1
		}
		return first[d.Framing]
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(b.Ratio(), a.Ratio()),
			compareCells(a.Cells[0], b.Cells[0]),
			slices.Compare(a.Groups[0].Members, b.Groups[0].Members))
	})
	return all
}

// Speeds returns how many times faster everything is on each machine than on the usual ones, or 0
// if that is not known. If no group is usual, the machine in the middle is or, of two, the faster.
func Speeds(members []Member, found []Difference) []float64 {
	speeds := make([]float64, len(members))
	all, _ := takeApart(members, results.Cell.IsBare)[everything].together()
	if len(all) == 0 {
		return speeds
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.mid, b.mid) })
	usual := math.Exp(all[len(all)/2].mid)
	if len(found) > 0 && found[0].Framing == "" && !found[0].ByDegrees {
		usual = found[0].Groups[found[0].Usual()].Speed
	}
	for _, v := range all {
		speeds[v.member] = math.Exp(v.mid) / usual
	}
	return speeds
}

// A value is a logarithm with its interval: how much faster something is on a machine than usual.
type value struct {
	member      int
	mid, lo, hi float64
}

// measured has the values of a framing, or of everything, by measurement and machine.
type measured map[results.Cell]map[int]value

func (m measured) cells() []results.Cell { return slices.SortedFunc(maps.Keys(m), compareCells) }

// together returns one value for each machine, and what is left of each measurement after that. A
// mean of n measurements is the root of n times as exact as one, and 1.25 times as exact as a
// median. The interval is at least half as wide as that of one: a run may have a shared cause.
func (m measured) together() (all []value, left matrix[results.Cell]) {
	left = make(matrix[results.Cell])
	below := make(map[int][]float64)
	above := make(map[int][]float64)
	for cell, values := range m {
		for i, v := range values {
			left.set(i, cell, v.mid)
			below[i] = append(below[i], v.mid-v.lo)
			above[i] = append(above[i], v.hi-v.mid)
		}
	}
	for i, mid := range left.polish() {
		width := min(1, max(0.5, 1.25/math.Sqrt(float64(len(below[i])))))
		lo := mid - width*medianOf(below[i])
		hi := mid + width*medianOf(above[i])
		all = append(all, value{i, mid, lo, hi})
	}
	return all, left
}

// differences returns how machines differ in all measurements together. Measurements in which a
// machine surely is not as in the others are compared again, without these.
func (m measured) differences(least float64) []Difference {
	all, left := m.together()
	others := make(measured)
	var cells []results.Cell
	for _, cell := range m.cells() {
		if m.isOdd(cell, left) {
			others[cell] = m[cell]
		} else {
			cells = append(cells, cell)
		}
	}
	var found []Difference
	if len(cells) > 0 {
		for _, d := range groupsOf(all, least, 1) {
			d.Cells = slices.DeleteFunc(slices.Clone(cells), func(cell results.Cell) bool {
				return !d.isSeenIn(m[cell])
			})
			if len(d.Cells) > 0 {
				found = append(found, d)
			}
		}
		return append(found, others.differences(least)...)
	}
	for cell, values := range others {
		found = append(found, measured{cell: values}.differences(least)...)
	}
	return found
}

// isSeenIn reports whether the fastest and the slowest group are at least half as far apart in a
// measurement as in all together.
func (d Difference) isSeenIn(values map[int]value) bool {
	slowest := d.Groups[0].mids(values)
	fastest := d.Groups[len(d.Groups)-1].mids(values)
	if len(slowest) == 0 || len(fastest) == 0 {
		return false
	}
	return 2*(medianOf(fastest)-medianOf(slowest)) >= math.Log(d.Ratio())
}

// mids returns the values of the machines of a group in a measurement.
func (g SpeedGroup) mids(values map[int]value) []float64 {
	var mids []float64
	for _, i := range g.Members {
		if v, isMeasured := values[i]; isMeasured {
			mids = append(mids, v.mid)
		}
	}
	return mids
}

// setSpeeds takes the speeds of the groups from the measurements in which they differ alone.
func (m measured) setSpeeds(d Difference) {
	for _, groups := range [][]SpeedGroup{d.Groups, d.Each} {
		for i, g := range groups {
			var mids []float64
			for _, cell := range d.Cells {
				mids = append(mids, g.mids(m[cell])...)
			}
			if len(mids) > 0 {
				groups[i].Speed = math.Exp(medianOf(mids))
			}
		}
	}
}

// isOdd reports whether machines differ in a measurement otherwise than in all together.
func (m measured) isOdd(cell results.Cell, left matrix[results.Cell]) bool {
	var all []value
	for i, v := range m[cell] {
		mid := left[i][cell]
		all = append(all, value{i, mid, mid - v.mid + v.lo, mid - v.mid + v.hi})
	}
	return len(groupsOf(all, sureFactor, 2)) > 0
}

// isApart reports whether a faster machine is beyond a gap, and so many times beyond the noise.
func (v value) isApart(faster value, gap, noise float64) bool {
	return faster.mid-v.mid >= max(gap, noise*(v.hi-v.mid+faster.mid-faster.lo))
}

// groupsOf parts machines at gaps that are at least as wide as the factor, and so many times as
// wide as the noise. If there are many groups, the machines differ by degrees, and so may those of
// the largest group.
func groupsOf(all []value, least, noise float64) []Difference {
	slices.SortFunc(all, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.mid, b.mid), a.member-b.member)
	})
	gap := math.Log(least)
	var groups [][]value
	first := 0
	for i, v := range all {
		if i+1 == len(all) || v.isApart(all[i+1], gap, noise) {
			groups = append(groups, all[first:i+1])
			first = i + 1
		}
	}
	var found []Difference
	rest := all
	parted := newDifference(groups)
	usual := groups[parted.Usual()]
	if len(groups) > 1 && (len(groups) <= mostGroups || 2*len(usual) >= len(all)) {
		found = append(found, parted)
		rest = usual
	}
	last := len(rest) - 1
	if last > 1 && rest[0].isApart(rest[last], gap, 2) {
		d := newDifference([][]value{rest[:1], rest[1:last], rest[last:]})
		d.ByDegrees = true
		d.Each = newDifference(slices.Collect(slices.Chunk(rest, 1))).Groups
		found = append(found, d)
	}
	return found
}

func newDifference(groups [][]value) Difference {
	var d Difference
	for _, values := range groups {
		var g SpeedGroup
		var mids []float64
		for _, v := range values {
			g.Members = append(g.Members, v.member)
			mids = append(mids, v.mid)
		}
		slices.Sort(g.Members)
		g.Speed = math.Exp(medianOf(mids))
		d.Groups = append(d.Groups, g)
	}
	return d
}

// markOddRaw sets OddRaw in the figures of machines whose raw is apart from that of most. If raw
// differs by degrees, no machine is apart.
func markOddRaw(members []Member, found []Difference) {
	for _, d := range found {
		if d.Framing != results.FramingRaw || d.ByDegrees || d.IsSplit() {
			continue
		}
		for _, i := range d.Odd() {
			for at := range members[i].Figures {
				f := &members[i].Figures[at]
				beside := f.Cell
				beside.Framing = results.FramingRaw
				f.OddRaw = f.OddRaw || slices.Contains(d.Cells, beside)
			}
		}
	}
}
