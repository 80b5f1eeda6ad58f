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
	"github.com/pipebench/pipebench/results/view"
)

// An Axis says what a chart shows along one side, on which scale, in which unit.
type Axis struct {
	Label      string
	Scale      Scale
	Unit       string   // one of the units of this package, or any other
	Categories []string // names of 0, 1, 2 … on a [Category] scale
	FromZero   bool     // the axis begins at zero
	AtValues   bool     // labels stand where the points are, not at round values
}

// A Scale names the function that turns values into positions.
type Scale int

// Scales of an axis. A logarithmic axis has a place for zero below the smallest value, because zero
// is a result ("no byte of overhead"), not an error.
const (
	Linear   Scale = iota
	Log            // labels at round values, or at powers of two for bytes
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
		return view.SizeText(int(v))
	case a.Unit == Times:
		return results.FormatLabel(v, "") + "×"
	}
	return results.FormatLabel(v, a.Unit)
}

// A fitted is an axis fitted to its values and to its length. It computes positions itself, because
// gonum's logarithmic scale panics for zero, for no value, and for a single value.
type fitted struct {
	Axis
	length   vg.Length
	across   bool    // it runs from left to right
	min, max float64 // its ends, as positions
	hasZero  bool
	zero     float64 // position of zero on a logarithmic scale
	bare     bool    // labels are numbers of bytes, without the unit
	ticks    []plot.Tick
}

// fit lays the axis out for values, with as many labels as fit along its length.
func (a Axis) fit(values []float64, length vg.Length, across bool) fitted {
	f := fitted{Axis: a, length: length, across: across}
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
	switch a.Scale {
	case Log:
		f.fitLog(values)
	case Nines:
		f.fitNines(values)
	case Category:
		f.min, f.max = -0.5, float64(max(len(a.Categories), 1))-0.5
		for i, name := range a.Categories {
			f.ticks = append(f.ticks, plot.Tick{Value: float64(i), Label: name})
		}
	default:
		f.fitLinear(values)
	}
	return f
}

// at returns the position of a value.
func (f fitted) at(v float64) float64 {
	switch {
	case f.Scale == Log && v <= 0:
		return f.zero
	case f.Scale == Log:
		return math.Log10(v)
	case f.Scale == Nines:
		return ninesOf(v)
	}
	return v
}

// ninesOf returns how many nines a quantile has: 0.99 has two. Quantile 1, the largest of all
// observations, would lie at infinity; callers pass smaller ones, and this keeps below 1-1e-9.
func ninesOf(q float64) float64 { return -math.Log10(1 - min(max(q, 0), 1-1e-9)) }

// span returns the range of positions. The range is never empty: if there is only one position, it
// extends by room to both sides.
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

// fitLinear lets the axis begin at zero if the values then still fill a third of it, because an
// axis that begins elsewhere exaggerates differences.
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
	f.label(roundValues(f.min, f.max))
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
	low, high := math.Pow(10, f.min), math.Pow(10, f.max)
	switch {
	case len(positions) == 0 && len(values) > 0: // only zeros: put them in the middle
		f.hasZero = true
		f.zero, f.min, f.max = 0, -1, 1
	case len(positions) < len(values):
		f.hasZero = true
		f.zero = f.min - 4*margin
		f.min = f.zero - margin
	}
	switch {
	case f.AtValues:
		f.bare = f.Unit == Bytes && slices.ContainsFunc(values, isUnevenSize)
		if f.bare {
			f.Label += ", B"
		}
		f.label([][]float64{f.roundest(values)})
	case f.Unit == Bytes && high >= 2*low:
		f.label(powers(low, high, 2, []float64{1}))
	case high < 8*low:
		f.label(roundValues(low, high))
	default:
		fine := powers(low, high, 10, []float64{1, 2, 5})[:1]
		coarse := powers(low, high, 10, []float64{1, 3})[:1]
		f.label(slices.Concat(fine, coarse, powers(low, high, 10, []float64{1})))
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

// label chooses the labels of the axis: the first of the candidates, lists of ascending values,
// whose labels do not cover each other. Zero always has a label, if the axis has a place for it.
func (f *fitted) label(candidates [][]float64) {
	for _, values := range candidates {
		f.ticks = nil
		if f.hasZero {
			f.ticks = append(f.ticks, f.tick(0))
		}
		fits := true
		for _, v := range values {
			t := f.tick(v)
			n := len(f.ticks)
			covers := n > 0 && f.cover(f.ticks[n-1], t)
			switch {
			case t.Value < f.min || t.Value > f.max:
			case covers && n == 1 && f.hasZero: // keep the label of zero instead
			default:
				fits = fits && !covers
				f.ticks = append(f.ticks, t)
			}
		}
		if fits {
			return
		}
	}
}

// tick returns the label of a value.
func (f *fitted) tick(v float64) plot.Tick {
	t := plot.Tick{Value: f.at(v), Label: f.Format(v)}
	switch {
	case f.bare && v < 10_000:
		t.Label = strconv.FormatFloat(v, 'f', -1, 64)
	case f.bare:
		t.Label = results.FormatGrouped(int64(v))
	}
	return t
}

// cover reports whether the labels of two ticks cover each other.
func (f *fitted) cover(a, b plot.Tick) bool {
	distance := f.length * vg.Length(math.Abs(b.Value-a.Value)/(f.max-f.min))
	if !f.across {
		return distance < 20
	}
	style := letters(labelSize, foreground, false)
	return distance < (style.Width(a.Label)+style.Width(b.Label))*0.515+3
}

// powers returns lists of the values base^k times a mantissa between low and high. The first list
// has them for every k, the next for every second k, then for every third and so on.
func powers(low, high, base float64, mantissas []float64) [][]float64 {
	var out [][]float64
	first := int(math.Floor(math.Log(low) / math.Log(base)))
	last := int(math.Ceil(math.Log(high) / math.Log(base)))
	for step := 1; step <= last-first; step++ {
		var values []float64
		for k := first; k <= last; k++ {
			for _, m := range mantissas {
				v := m * math.Pow(base, float64(k))
				if k%step == 0 && v >= low && v <= high {
					values = append(values, v)
				}
			}
		}
		out = append(out, values)
	}
	return out
}

// roundValues returns lists of the multiples of 1, 2 or 5 × 10^k between low and high. The first
// list has about ten values, each further one has fewer.
func roundValues(low, high float64) [][]float64 {
	var out [][]float64
	magnitude := math.Pow(10, math.Floor(math.Log10((high-low)/10)))
	for _, step := range []float64{1, 2, 5, 10, 20, 50} {
		step *= magnitude
		var values []float64
		for k := math.Ceil(low/step - 1e-9); k*step <= high*(1+1e-12)+1e-12; k++ {
			values = append(values, k*step)
		}
		if len(values) <= 12 && len(values) > 0 {
			out = append(out, values)
		}
	}
	return out
}

// isUnevenSize reports whether a size is no whole number of KiB.
func isUnevenSize(v float64) bool { return v > 1024 && math.Mod(v, 1024) != 0 }

// roundest leaves out the values whose labels would cover the label of a rounder value.
func (f *fitted) roundest(values []float64) []float64 {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	slices.SortStableFunc(values, func(a, b float64) int {
		return cmp.Compare(roundness(b), roundness(a))
	})
	var kept []float64
	for _, v := range values {
		covers := func(other float64) bool { return f.cover(f.tick(v), f.tick(other)) }
		if v > 0 && !slices.ContainsFunc(kept, covers) {
			kept = append(kept, v)
		}
	}
	slices.Sort(kept)
	return kept
}

// roundness returns how often a whole number can be halved, or three times how often it can be
// divided by ten: the more, the rounder it is.
func roundness(v float64) int {
	n := uint64(max(v, 0))
	tens := 0
	for m := n; m > 0 && m%10 == 0; m /= 10 {
		tens++
	}
	return max(bits.TrailingZeros64(n), 3*tens)
}
