package plots

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/pipebench/pipebench/results"
)

// An Axis says what a chart lays out along one side, on which scale, in which unit.
type Axis struct {
	Label      string
	Scale      Scale
	Unit       string   // one of the units of this package, or any other
	Categories []string // names of 0, 1, 2 … on a [Category] scale
	FromZero   bool     // the axis begins at zero
	AtValues   bool     // it is labelled where the points are, instead of at round values
}

// A Scale names the function that turns values into positions.
type Scale int

// Scales of an axis. The logarithmic one gives zero a place of its own below the smallest value:
// zero is a result ("no byte of overhead"), not an error.
const (
	Linear   Scale = iota
	Log            // labels at round values, of bytes at powers of two
	Nines          // a quantile q at log10 1/(1-q): 90 %, 99 %, 99.9 % at equal distances
	Category       // names at equal distances
)

// Units. Sizes are binary (KiB = 1024), rates and times decimal (1 GB/s = 10^9 B/s), as everywhere
// in pipebench.
const (
	Bytes   = "B"
	Rate    = "B/s"
	Nanos   = "ns"
	Percent = "%"
	Times   = "×"
)

// Format writes a value as the axis labels it.
func (a Axis) Format(v float64) string {
	switch {
	case a.Scale == Nines:
		return fmt.Sprintf("p%.5g", 100*v)
	case a.Scale == Category && v >= 0 && int(v) < len(a.Categories):
		return a.Categories[int(v)]
	case a.Unit == Bytes && v == math.Trunc(v):
		return sizeText(int64(v))
	case a.Unit == Times:
		return results.FormatLabel(v, "") + "×"
	}
	return results.FormatLabel(v, a.Unit)
}

// sizeText writes a size to the byte: "64 KiB", "65,000 B".
func sizeText(n int64) string {
	if n%1024 == 0 || n < 10_000 {
		return results.FormatSize(n)
	}
	return results.FormatGrouped(n) + " B"
}

// A fitted is an axis fitted to its values. It computes positions itself, because gonum's
// logarithmic scale panics for zero, for no value, and for a single value.
type fitted struct {
	Axis
	min, max float64 // ends of the axis, as positions
	hasZero  bool
	zero     float64 // position of zero on a logarithmic scale
	bare     bool    // labels are numbers of bytes, without the unit
	ticks    []plot.Tick
}

// tickLabel writes a value as a label beside the axis.
func (f fitted) tickLabel(v float64) string {
	switch {
	case f.bare && v < 10_000:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case f.bare:
		return results.FormatGrouped(int64(v))
	}
	return f.Format(v)
}

// setBare has labels be numbers of bytes, if one of the values is no round size.
func (f *fitted) setBare(values []float64) {
	for _, v := range values {
		if v > 1024 && math.Mod(v, 1024) != 0 {
			f.bare = true
			f.Label += ", B"
			return
		}
	}
}

// fit lays the axis out for values, along a length, with as many labels as have room.
func (a Axis) fit(values []float64, length vg.Length, across bool) fitted {
	f := fitted{Axis: a}
	var drawn []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			drawn = append(drawn, v)
		}
	}
	r := ruler{fitted: &f, length: length, across: across}
	switch a.Scale {
	case Log:
		f.fitLog(drawn)
		if a.AtValues && a.Unit == Bytes {
			f.setBare(drawn)
		}
		r.labelLog(drawn)
	case Nines:
		f.fitNines(drawn)
	case Category:
		f.min, f.max = -0.5, float64(max(len(a.Categories), 1))-0.5
		for i, name := range a.Categories {
			f.ticks = append(f.ticks, plot.Tick{Value: float64(i), Label: name})
		}
	default:
		f.fitLinear(drawn)
		for most := 10; most > 1; most-- {
			f.ticks = f.ticksAt(roundValues(f.min, f.max, most))
			if r.fits(f.ticks) {
				break
			}
		}
	}
	return f
}

// at returns the position of a value.
func (f fitted) at(v float64) float64 {
	switch f.Scale {
	case Log:
		if v <= 0 {
			return f.zero
		}
		return math.Log10(v)
	case Nines:
		return ninesOf(v)
	}
	return v
}

// ninesOf returns how many nines a quantile has: 0.99 has two. Quantile 1, the largest of all
// observations, would lie at infinity; callers keep below it.
func ninesOf(q float64) float64 { return -math.Log10(1 - min(max(q, 0), 1-1e-9)) }

// span returns the range of positions, never an empty one: around a single one it leaves room.
func span(positions []float64, room float64) (low, high float64) {
	if len(positions) == 0 {
		return 0, 1
	}
	low, high = slices.Min(positions), slices.Max(positions)
	if high-low < 1e-9*max(1, math.Abs(high)) {
		return low - room, high + room
	}
	return low, high
}

// fitLinear begins at zero if the values still fill a third of the axis then: one that begins
// elsewhere exaggerates differences.
func (f *fitted) fitLinear(values []float64) {
	if f.FromZero {
		values = append(values, 0)
	}
	room := 0.3
	if len(values) > 0 {
		room = max(room, 0.3*math.Abs(values[0]))
	}
	f.min, f.max = span(values, room)
	if f.min > 0 && f.min < f.max*2/3 {
		f.min = 0
	}
	margin := 0.04 * (f.max - f.min)
	f.max += margin
	if f.min != 0 {
		f.min -= margin
	}
}

func (f *fitted) fitLog(values []float64) {
	var positions []float64
	for _, v := range values {
		if v > 0 {
			positions = append(positions, math.Log10(v))
		}
	}
	f.min, f.max = span(positions, 0.3)
	margin := 0.04 * (f.max - f.min)
	f.min -= margin
	f.max += margin
	if len(positions) == len(values) {
		return
	}
	f.hasZero = true
	f.zero = f.min - 4*margin
	f.min = f.zero - margin
	if len(positions) == 0 { // only zeros: in the middle
		f.zero, f.min, f.max = 0, -1, 1
	}
}

func (f *fitted) fitNines(values []float64) {
	var positions []float64
	for _, v := range values {
		positions = append(positions, ninesOf(v))
	}
	_, f.max = span(positions, 0.3)
	f.ticks = []plot.Tick{{Value: 0, Label: "min"}, {Value: ninesOf(0.5), Label: "p50"}}
	for k := 1; float64(k) <= f.max+1e-9; k++ {
		percent := strconv.FormatFloat(100-math.Pow10(2-k), 'f', max(0, k-2), 64)
		f.ticks = append(f.ticks, plot.Tick{Value: float64(k), Label: "p" + percent})
	}
}

// ticksAt labels values.
func (f fitted) ticksAt(values []float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range values {
		at := f.at(v)
		if at < f.min-1e-9 || at > f.max+1e-9 {
			continue
		}
		ticks = append(ticks, plot.Tick{Value: at, Label: f.tickLabel(v)})
	}
	return ticks
}

// A ruler knows how much room labels have along an axis.
type ruler struct {
	*fitted
	length vg.Length
	across bool // the axis runs from left to right
}

// room returns how much of the axis a label takes.
func (r ruler) room(label string) vg.Length {
	if !r.across {
		return 20
	}
	return letters(labelSize, foreground, false).Width(label)*1.03 + 3
}

// fits reports whether no label of ascending ticks covers the one before.
func (r ruler) fits(ticks []plot.Tick) bool {
	for i := 1; i < len(ticks); i++ {
		if r.cover(ticks[i-1], ticks[i]) {
			return false
		}
	}
	return true
}

// cover reports whether the labels of two ticks cover each other.
func (r ruler) cover(a, b plot.Tick) bool {
	distance := r.length * vg.Length(math.Abs(b.Value-a.Value)/(r.max-r.min))
	return distance < (r.room(a.Label)+r.room(b.Label))/2
}

// labelLog labels a logarithmic axis: where the points are, or at as many round values as fit.
func (r ruler) labelLog(values []float64) {
	var zero []plot.Tick
	if r.hasZero {
		zero = []plot.Tick{{Value: r.zero, Label: r.Format(0)}}
	}
	for _, candidates := range r.candidates(values) {
		ticks := zero
		for _, t := range r.ticksAt(candidates) {
			if !r.hasZero || t.Value > r.zero && !r.cover(zero[0], t) {
				ticks = append(ticks, t)
			}
		}
		r.ticks = ticks
		if r.fits(ticks) {
			return
		}
	}
}

// candidates lists the values that a logarithmic axis may be labelled at, the most of them first.
func (r ruler) candidates(values []float64) [][]float64 {
	if r.AtValues {
		return [][]float64{r.roundest(values)}
	}
	low, high := math.Pow(10, r.min), math.Pow(10, r.max)
	var out [][]float64
	if r.Unit == Bytes {
		for step := 1; step <= 64; step *= 2 {
			out = append(out, powers(low, high, 2, step, []float64{1}))
		}
	} else {
		for _, of := range [][]float64{{1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}} {
			out = append(out, powers(low, high, 10, 1, of))
		}
		for step := 1; step <= 16; step++ {
			out = append(out, powers(low, high, 10, step, []float64{1}))
		}
	}
	if len(out[0]) < 2 || r.Unit != Bytes && high < 1.6*low { // there is no round value in between
		for most := 8; most > 1; most-- {
			out = slices.Insert(out, 8-most, roundValues(low, high, most))
		}
	}
	return out
}

// powers lists base^k times each mantissa from low to high, for every step-th k.
func powers(low, high, base float64, step int, mantissas []float64) []float64 {
	var out []float64
	first := int(math.Floor(math.Log(low) / math.Log(base)))
	last := int(math.Ceil(math.Log(high) / math.Log(base)))
	for k := first; k <= last; k++ {
		if k%step != 0 {
			continue
		}
		for _, m := range mantissas {
			v := m * math.Pow(base, float64(k))
			if v >= low && v <= high {
				out = append(out, v)
			}
		}
	}
	return out
}

// roundest lists the values of the points, without those whose labels would cover that of a rounder
// one.
func (r ruler) roundest(values []float64) []float64 {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	byRoundness := slices.SortedStableFunc(slices.Values(values), func(a, b float64) int {
		return cmp.Compare(roundness(b), roundness(a))
	})
	var kept []float64
	for _, v := range byRoundness {
		tick := plot.Tick{Value: r.at(v), Label: r.tickLabel(v)}
		covers := func(other float64) bool {
			return r.cover(tick, plot.Tick{Value: r.at(other), Label: r.tickLabel(other)})
		}
		if v > 0 && !slices.ContainsFunc(kept, covers) {
			kept = append(kept, v)
		}
	}
	slices.Sort(kept)
	return kept
}

// roundness returns how often a whole number can be halved, or divided by ten: the more, the
// rounder it is.
func roundness(v float64) int {
	n := uint64(max(v, 0))
	tens := 0
	for m := n; m > 0 && m%10 == 0; m /= 10 {
		tens++
	}
	return max(bits.TrailingZeros64(n), 3*tens)
}

// roundValues lists multiples of 1, 2 or 5 × 10^k between low and high, if possible not more than
// most.
func roundValues(low, high float64, most int) []float64 {
	magnitude := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most))))
	var out []float64
	for _, step := range []float64{1, 2, 5, 10, 20} {
		step *= magnitude
		out = out[:0]
		for k := math.Ceil(low/step - 1e-9); k*step <= high*(1+1e-12)+1e-12; k++ {
			out = append(out, k*step)
		}
		if len(out) <= most {
			break
		}
	}
	return out
}
