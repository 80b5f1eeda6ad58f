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
	// because clock and load differ between equal machines.
	SlowFactor = 1.5
	// MostSpread is the largest half-width of an interval, in percent of the median. Figures with
	// a wider interval are rough.
	MostSpread = 50
	// MostBlur is the largest half-width of an interval, in percent, at which figures can still be
	// compared. Most framings cost 5 to 20 %.
	MostBlur = 25

	leastFactor = 1.1  // a smaller difference is not worth telling
	sureFactor  = 1.25 // from here on, one measurement of several is enough
)

// A Difference says that a framing, raw, or everything is slower on some machines than on others,
// beyond the noise. Machines whose figures are too noisy to tell are on neither side.
type Difference struct {
	Framing    string // "" if everything is slower
	Slow, Fast []int  // the machines, as indices of the list of members
	Ratio      float64
	// Cells has the measurements in which that is so. The first is the one that most machines made
	// well enough or, of several, the most usual one in which they differ most.
	// If everything is slower, these are cells without a framing.
	Cells    []results.Cell
	Compared []results.Cell // the measurements that were clear enough
}

// Differences compares machines. The logarithm of a speed is taken apart into what is usual with
// the framing, how much everything differs on the machine, and how much this framing differs there
// after that; raw is a framing as any other. Everything and raw come first, then the framings, each
// with the largest difference first.
func Differences(members []Member) []Difference {
	return differences(members, results.Cell.IsBare)
}

// differences is [Differences] for the cells that are wanted.
func differences(members []Member, isWanted func(results.Cell) bool) []Difference {
	splits := make(map[results.Cell][]split) // by the framing and, unless it is "", the pattern
	compared := make(map[results.Cell][]results.Cell)
	streams := streamsOf(members, isWanted)
	for _, cell := range slices.SortedFunc(maps.Keys(streams), compareCells) {
		stream := streams[cell]
		for framing, values := range stream.takeApart() {
			subject := results.Cell{Framing: framing}
			least := SlowFactor
			if framing != "" {
				subject.Pattern = cell.Pattern
				least = leastFactor
			}
			own := cell
			own.Framing = framing
			if len(values) > 1 {
				compared[subject] = append(compared[subject], own)
			}
			for _, s := range splitAll(values, stream.noisy[framing], least) {
				s.cell = own
				splits[subject] = append(splits[subject], s)
			}
		}
	}
	var all []Difference
	for subject, own := range splits {
		for len(own) > 0 {
			var d Difference
			var isSure bool
			d, isSure, own = join(own)
			d.Framing = subject.Framing
			d.Compared = compared[subject]
			isFrequent := len(d.Cells) > 1 && 4*len(d.Cells) >= len(d.Compared)
			if isSure || isFrequent || len(d.Compared) == 1 {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(a.rank()-b.rank(), cmp.Compare(b.Ratio, a.Ratio),
			compareCells(a.Cells[0], b.Cells[0]), slices.Compare(a.Slow, b.Slow))
	})
	return all
}

func (d Difference) rank() int {
	if d.Framing == "" || d.Framing == results.FramingRaw {
		return 0
	}
	return 1
}

// A stream has the figures of one combination of settings.
type stream struct {
	clear map[int]map[string]Figure // by member, then by framing
	noisy map[string]int            // by framing: number of machines whose figure is not clear
}

// streamsOf groups figures by their cell without the framing. A machine with only one clear framing
// in a stream is left out: nothing can be told apart.
func streamsOf(members []Member, isWanted func(results.Cell) bool) map[results.Cell]stream {
	streams := make(map[results.Cell]stream)
	for i, m := range members {
		for _, f := range m.Figures {
			if f.RunsDiffer || !isWanted(f.Cell) {
				continue
			}
			cell := f.Cell
			cell.Framing = ""
			s, isKnown := streams[cell]
			if !isKnown {
				s = stream{make(map[int]map[string]Figure), make(map[string]int)}
				streams[cell] = s
			}
			isDoubtful := slices.Contains(m.Doubtful, f.Cell)
			if isDoubtful || !isClear(f.steady) || f.Speed.Interval.Lo <= 0 {
				s.noisy[f.Cell.Framing]++
				continue
			}
			if s.clear[i] == nil {
				s.clear[i] = make(map[string]Figure)
			}
			s.clear[i][f.Cell.Framing] = f
		}
	}
	for _, s := range streams {
		maps.DeleteFunc(s.clear, func(_ int, figures map[string]Figure) bool {
			return len(figures) < 2
		})
	}
	return streams
}

func isClear(e Estimate) bool {
	percent, known := e.Spread()
	return known && percent <= MostBlur
}

// A value is a logarithm with its interval: how much faster something is on a machine.
type value struct {
	member      int
	mid, lo, hi float64
}

// valueOf returns the value at mid with the interval of an estimate around it.
func valueOf(member int, mid float64, e Estimate, pattern string) value {
	below := math.Log(e.Median / e.Interval.Lo)
	above := math.Log(e.Interval.Hi / e.Median)
	if pattern == results.PatternRoundtrip { // a time
		below, above = above, below
	}
	return value{member, mid, mid - below, mid + above}
}

// polishSweeps is how often takeApart takes out medians. The first few sweeps change most.
const polishSweeps = 10

// takeApart returns by framing how much faster it is on each machine than usual there. With the
// framing "" is how much faster everything is. It is Tukey's median polish: as long as fewer than
// half of the framings of a machine, and of the machines of a framing, are odd, these do not change
// the other values. Of two framings, or of two equal halves of them, raw is not the odd one.
func (s stream) takeApart() map[string][]value {
	own := make(map[int]map[string]float64) // logarithms of speeds, later what is left of them
	machine := make(map[int]float64)
	framings := make(map[string]bool)
	pattern := ""
	for i, figures := range s.clear {
		own[i] = make(map[string]float64)
		for framing, f := range figures {
			framings[framing] = true
			pattern = f.Cell.Pattern
			own[i][framing] = math.Log(f.steady.Median)
			if pattern == results.PatternRoundtrip {
				own[i][framing] *= -1
			}
		}
	}
	for range polishSweeps {
		for framing := range framings {
			var column []float64
			for _, row := range own {
				if v, ok := row[framing]; ok {
					column = append(column, v)
				}
			}
			usual := medianOf(column)
			for _, row := range own {
				if _, ok := row[framing]; ok {
					row[framing] -= usual
				}
			}
		}
		for i, row := range own {
			values := slices.Collect(maps.Values(row))
			if raw, ok := row[results.FramingRaw]; ok && len(values)%2 == 0 {
				values = append(values, raw)
			}
			middle := medianOf(values)
			machine[i] += middle
			for framing := range row {
				row[framing] -= middle
			}
		}
	}
	for i, row := range own {
		raw := row[results.FramingRaw]
		if 2*math.Abs(machine[i]+raw) >= math.Abs(machine[i]) {
			continue
		}
		machine[i] += raw // raw is as fast as usual: what differs is the framings
		for framing := range row {
			row[framing] -= raw
		}
	}
	values := make(map[string][]value)
	for i, figures := range s.clear {
		var below, above []float64
		for framing, f := range figures {
			mid := own[i][framing]
			values[framing] = append(values[framing], valueOf(i, mid, f.steady, pattern))
			v := valueOf(i, machine[i], f.Speed, pattern)
			below = append(below, v.lo)
			above = append(above, v.hi)
		}
		all := value{i, machine[i], medianOf(below), medianOf(above)}
		values[""] = append(values[""], all)
	}
	return values
}

// A split has the machines that are slower and faster in one measurement.
type split struct {
	cell       results.Cell
	slow, fast []value
	isSure     bool // without another measurement
}

// splitAll cuts machines into two sides, if these differ at least by the factor, and then the
// larger side again. So many more machines are too noisy.
func splitAll(values []value, noisy int, least float64) []split {
	s, isSplit := splitOnce(values, noisy, least)
	if !isSplit {
		return nil
	}
	larger := s.fast
	if len(s.slow) > len(s.fast) {
		larger = s.slow
	}
	return append([]split{s}, splitAll(larger, noisy, least)...)
}

// splitOnce cuts machines into two sides where neighbours are furthest apart or, if that may be
// noise, in the middle of their range. isSplit is false if that may be noise, too.
func splitOnce(values []value, noisy int, least float64) (s split, isSplit bool) {
	if len(values) < 2 {
		return split{}, false
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
	noise := below.hi - below.mid + above.mid - above.lo
	middle := (sorted[0].mid + sorted[len(sorted)-1].mid) / 2
	for _, cut := range []float64{below.mid + gap/2, middle} {
		s, isSplit = splitAt(sorted, noisy, cut)
		if isSplit && s.distance() >= math.Log(least) {
			s.isSure = gap >= math.Log(sureFactor) && gap >= 2*noise
			return s, true
		}
	}
	return split{}, false
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

func common(a, b []value) int {
	n := 0
	for _, v := range a {
		if slices.ContainsFunc(b, func(w value) bool { return w.member == v.member }) {
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

// markOddRaw sets OddRaw in the figures of those machines on which raw differs. If the halves are
// equal, the slower one is odd.
func markOddRaw(members []Member, found []Difference) {
	for _, d := range found {
		if d.Framing != results.FramingRaw {
			continue
		}
		for _, i := range d.Fewer() {
			for at := range members[i].Figures {
				f := &members[i].Figures[at]
				beside := f.Cell
				beside.Framing = results.FramingRaw
				f.OddRaw = f.OddRaw || slices.Contains(d.Cells, beside)
			}
		}
	}
}

// Fewer returns the side with fewer machines or, of equal sides, the slower one.
func (d Difference) Fewer() []int {
	if len(d.Fast) < len(d.Slow) {
		return d.Fast
	}
	return d.Slow
}
