package stat

import (
	"maps"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A stream has the figures of one combination of settings, by member and then by framing.
type stream map[int]map[string]Figure

// streamsOf groups figures by their cell without the framing. A machine with only one clear framing
// in a stream is left out: nothing can be told apart. So is one with most figures too noisy.
func streamsOf(members []Member, isWanted func(results.Cell) bool) map[results.Cell]stream {
	streams := make(map[results.Cell]stream)
	for i, m := range members {
		if m.IsNoisy() {
			continue
		}
		for _, f := range m.Figures {
			if !isWanted(f.Cell) || f.RunsDiffer || !m.isClear(f) {
				continue
			}
			cell := f.Cell
			cell.Framing = ""
			if streams[cell] == nil {
				streams[cell] = make(stream)
			}
			if streams[cell][i] == nil {
				streams[cell][i] = make(map[string]Figure)
			}
			streams[cell][i][f.Cell.Framing] = f
		}
	}
	for _, s := range streams {
		maps.DeleteFunc(s, func(_ int, figures map[string]Figure) bool { return len(figures) < 2 })
	}
	return streams
}

// isClear reports whether the speed of a figure can be compared.
func (m Member) isClear(f Figure) bool {
	isDoubtful := slices.Contains(m.Doubtful, f.Cell)
	return !isDoubtful && IsClear(f.noise()) && f.Speed.Median > 0
}

// noise returns the estimate whose interval says how sure a speed is compared with others. Phases
// in which everything was slower do not change ratios to raw.
func (f Figure) noise() Estimate {
	if f.ToRaw.N > 0 {
		return f.ToRaw
	}
	return f.Speed
}

// IsNoisy reports whether most framings of a machine cannot be compared with raw bytes.
func (m Member) IsNoisy() bool {
	clear, all := 0, 0
	for _, f := range m.Figures {
		if f.ToRaw.N == 0 {
			continue
		}
		all++
		if IsClear(f.ToRaw) {
			clear++
		}
	}
	return 2*clear < all
}

// IsClear reports whether an estimate can be compared: see [MostBlur].
func IsClear(e Estimate) bool {
	percent, known := e.Spread()
	return known && percent <= MostBlur
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

// everything is what a value of [takeApart] is about if it is about all framings.
var everything results.Cell

// takeApart returns how much faster each framing is on each machine than usual there, and how much
// faster everything is. What a value is about is a cell with only a framing and a pattern.
func takeApart(members []Member, isWanted func(results.Cell) bool) map[results.Cell]measured {
	all := make(map[results.Cell]measured)
	add := func(subject, cell results.Cell, v value) {
		if all[subject] == nil {
			all[subject] = make(measured)
		}
		if all[subject][cell] == nil {
			all[subject][cell] = make(map[int]value)
		}
		all[subject][cell][v.member] = v
	}
	isOfEverything := func(d Difference) bool { return d.Framing == "" }
	for cell, s := range streamsOf(members, isWanted) {
		left, machine := s.polish()
		for i, figures := range s {
			var below, above []float64
			for framing, f := range figures {
				own := f.Cell
				subject := results.Cell{Framing: framing, Pattern: own.Pattern}
				add(subject, own, valueOf(i, left[i][framing], f.noise(), own.Pattern))
				v := valueOf(i, machine[i], f.Speed, own.Pattern)
				below = append(below, v.lo)
				above = append(above, v.hi)
			}
			if !slices.ContainsFunc(members[i].Disagreement, isOfEverything) {
				add(everything, cell, value{i, machine[i], medianOf(below), medianOf(above)})
			}
		}
	}
	return all
}

// polish takes the speeds of a stream apart.
func (s stream) polish() (left matrix[string], machine map[int]float64) {
	left = make(matrix[string])
	for i, figures := range s {
		raw, isMeasured := figures[results.FramingRaw]
		for framing, f := range figures {
			speed := math.Log(f.Speed.Median)
			if isMeasured && f.ToRaw.N > 0 { // in the same rounds
				speed = math.Log(raw.Speed.Median * f.ToRaw.Median)
			}
			if f.Cell.Pattern == results.PatternRoundtrip { // a time
				speed = -speed
			}
			left.set(i, framing, speed)
		}
	}
	machine = left.polish()
	var differ []int // machines on which raw is as fast as usual, so that the framings differ
	for i, row := range left {
		raw := row[results.FramingRaw]
		isAsUsual := 2*math.Abs(machine[i]+raw) < math.Abs(machine[i])
		if isAsUsual && !hasLike(left, machine, i) {
			differ = append(differ, i)
		}
	}
	for _, i := range differ {
		raw := left[i][results.FramingRaw]
		machine[i] += raw
		left[i].take(raw)
	}
	return left, machine
}

// hasLike reports whether another machine is as fast as machine i, and raw on it as the framings.
// Then raw is what differs on machine i.
func hasLike(left matrix[string], machine map[int]float64, i int) bool {
	for j, row := range left {
		isSound := isNearer(row[results.FramingRaw], 0, left[i][results.FramingRaw])
		if j != i && isSound && isNearer(machine[j], machine[i], 0) {
			return true
		}
	}
	return false
}

// isNearer reports whether a value is nearer to one place than to another.
func isNearer(value, place, other float64) bool {
	return math.Abs(value-place) < math.Abs(value-other)
}

// polishSweeps is how often medians are taken out. The first few sweeps change most.
const polishSweeps = 10

// A matrix has logarithms of speeds by machine, and then by framing or measurement.
type matrix[K comparable] map[int]row[K]

type row[K comparable] map[K]float64

func (m matrix[K]) set(machine int, column K, speed float64) {
	if m[machine] == nil {
		m[machine] = make(row[K])
	}
	m[machine][column] = speed
}

// polish returns how much faster each machine is, and takes that and what is usual in each column
// out of the matrix. It is Tukey's median polish: as long as fewer than half of the values of a
// machine, and of a column, are odd, these do not change the other values.
func (m matrix[K]) polish() map[int]float64 {
	machine := make(map[int]float64)
	for range polishSweeps {
		m.takeUsual()
		for i, row := range m {
			faster := leastMedian(slices.Collect(maps.Values(row)))
			machine[i] += faster
			row.take(faster)
		}
	}
	return machine
}

func (m matrix[K]) takeUsual() {
	columns := make(map[K][]float64)
	for _, row := range m {
		for column, speed := range row {
			columns[column] = append(columns[column], speed)
		}
	}
	for column, speeds := range columns {
		usual := medianOf(speeds)
		for _, row := range m {
			if _, isMeasured := row[column]; isMeasured {
				row[column] -= usual
			}
		}
	}
}

func (r row[K]) take(speed float64) {
	for column := range r {
		r[column] -= speed
	}
}

// leastMedian returns the median or, of two middle values, the one nearer to zero: what only half
// of the values have is not usual on a machine.
func leastMedian(values []float64) float64 {
	slices.Sort(values)
	low := values[(len(values)-1)/2]
	high := values[len(values)/2]
	if math.Abs(high) < math.Abs(low) {
		return high
	}
	return low
}
