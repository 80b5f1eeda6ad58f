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
	// Between has the other machines if all differ by degrees, without a gap that stands out.
	// Slow is then the slowest machine alone, and Fast the fastest.
	Between []int
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
	clear  map[int]map[string]Figure // by member, then by framing
	noisy  map[string]int            // by framing: number of machines whose figure is not clear
	pooled map[int]bool              // by member: its runs differ in raw or in everything
}

// streamsOf groups figures by their cell without the framing. A machine with only one clear framing
// in a stream is left out: nothing can be told apart.
func streamsOf(members []Member, isWanted func(results.Cell) bool) map[results.Cell]stream {
	streams := make(map[results.Cell]stream)
	for i, m := range members {
		for _, f := range m.Figures {
			if !isWanted(f.Cell) {
				continue
			}
			cell := f.Cell
			cell.Framing = ""
			s, isKnown := streams[cell]
			if !isKnown {
				s = stream{
					clear:  make(map[int]map[string]Figure),
					noisy:  make(map[string]int),
					pooled: make(map[int]bool),
				}
				streams[cell] = s
			}
			if f.RunsDiffer {
				s.pooled[i] = s.pooled[i] || f.Cell.Framing == results.FramingRaw
				continue
			}
			isDoubtful := slices.Contains(m.Doubtful, f.Cell)
			if isDoubtful || !IsClear(f.steady) || f.Speed.Interval.Lo <= 0 {
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

// IsClear reports whether an estimate can be compared: see [MostBlur].
func IsClear(e Estimate) bool {
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

// takeApart returns by framing how much faster it is on each machine than usual there. With the
// framing "" is how much faster everything is.
func (s stream) takeApart() map[string][]value {
	p := s.logarithms()
	for range polishSweeps {
		p.takeUsual()
		p.takeMachines()
	}
	p.trustRaw()
	values := make(map[string][]value)
	for i, figures := range s.clear {
		var below, above []float64
		for framing, f := range figures {
			pattern := f.Cell.Pattern
			left := p.left[i][framing]
			values[framing] = append(values[framing], valueOf(i, left, f.steady, pattern))
			v := valueOf(i, p.machine[i], f.Speed, pattern)
			below = append(below, v.lo)
			above = append(above, v.hi)
		}
		if !s.pooled[i] {
			all := value{i, p.machine[i], medianOf(below), medianOf(above)}
			values[""] = append(values[""], all)
		}
	}
	return values
}

// polishSweeps is how often medians are taken out. The first few sweeps change most.
const polishSweeps = 10

// A polish takes speeds apart. It is Tukey's median polish: as long as fewer than half of the
// framings of a machine, and of the machines of a framing, are odd, these do not change the other
// values.
type polish struct {
	machine map[int]float64            // how much faster everything is, as a logarithm
	left    map[int]map[string]float64 // the same of a framing, after that and what is usual
}

// logarithms returns a polish with nothing taken out yet.
func (s stream) logarithms() polish {
	p := polish{make(map[int]float64), make(map[int]map[string]float64)}
	for i, figures := range s.clear {
		p.left[i] = make(map[string]float64)
		for framing, f := range figures {
			speed := math.Log(f.steady.Median)
			if f.Cell.Pattern == results.PatternRoundtrip { // a time
				speed = -speed
			}
			p.left[i][framing] = speed
		}
	}
	return p
}

func (p polish) takeUsual() {
	columns := make(map[string][]float64)
	for _, row := range p.left {
		for framing, speed := range row {
			columns[framing] = append(columns[framing], speed)
		}
	}
	for framing, column := range columns {
		usual := medianOf(column)
		for _, row := range p.left {
			if _, isMeasured := row[framing]; isMeasured {
				row[framing] -= usual
			}
		}
	}
}

// takeMachines takes the median framing out of each machine. Of two framings, or of two equal
// halves of them, raw is not the odd one.
func (p polish) takeMachines() {
	for i, row := range p.left {
		values := slices.Collect(maps.Values(row))
		raw, isMeasured := row[results.FramingRaw]
		if isMeasured && len(values)%2 == 0 {
			values = append(values, raw)
		}
		p.add(i, medianOf(values))
	}
}

// trustRaw lets the framings differ on machines on which raw is as fast as usual.
func (p polish) trustRaw() {
	for i, row := range p.left {
		raw := row[results.FramingRaw]
		if 2*math.Abs(p.machine[i]+raw) < math.Abs(p.machine[i]) {
			p.add(i, raw)
		}
	}
}

// add says that everything is so much faster on a machine, and takes that from its framings.
func (p polish) add(machine int, faster float64) {
	p.machine[machine] += faster
	for framing := range p.left[machine] {
		p.left[machine][framing] -= faster
	}
}

// markOddRaw sets OddRaw in the figures of those machines on which raw differs. If the halves are
// equal, the slower one is odd.
func markOddRaw(members []Member, found []Difference) {
	for _, d := range found {
		if d.Framing != results.FramingRaw {
			continue
		}
		for _, i := range slices.Concat(d.Fewer(), d.Between) {
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
