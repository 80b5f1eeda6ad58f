package plots

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/pipebench/pipebench/results"
)

// An Axis says what a chart shows along one side, and in which unit. An axis of places has a name
// for each of the values 0, 1, 2 … instead of a unit.
type Axis struct {
	Label    string
	Places   []string // nil for an axis of values
	Unit     string   // one of the units of this package, or any other
	Log      bool     // a logarithmic axis, on which there is room for zero, too
	FromZero bool     // a linear axis that begins at zero
}

// Units. Rates and times are decimal (1 GB/s = 10^9 B/s), as everywhere in pipebench.
const (
	Rate    = "B/s"
	Nanos   = "ns"
	Percent = "%"
	Times   = "×"
)

// Format writes a value as the axis labels it.
func (a Axis) Format(v float64) string {
	i := int(v)
	switch {
	case i >= 0 && i < len(a.Places):
		return a.Places[i]
	case a.Unit == Times:
		return results.FormatLabel(v, "") + Times
	}
	return results.FormatLabel(v, a.Unit)
}

// A fitted is an axis fitted to its values. It computes positions itself, because gonum's
// logarithmic scale panics for zero, for no value, and for a single value.
type fitted struct {
	Axis
	min, max float64 // its ends, as positions
	zero     float64 // position of zero on a logarithmic axis
	ticks    []plot.Tick
}

// mostTicks is how many labels an axis of values has.
const mostTicks = 9

// fit lays the axis out for values. On an axis of places, length is the room for their names.
func (a Axis) fit(values []float64, length vg.Length) fitted {
	f := fitted{Axis: a}
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
	switch {
	case a.Places != nil:
		f.fitPlaces(length)
	case a.Log:
		f.fitLog(values)
	default:
		f.fitLinear(values)
	}
	return f
}

// at returns the position of a value on the axis.
func (f fitted) at(v float64) float64 {
	switch {
	case !f.Log:
		return v
	case v <= 0:
		return f.zero
	}
	return math.Log10(v)
}

// fitPlaces names the places. If not all names have room, a unit that they share goes into the
// label of the axis, and then names that would cover the next one are left out.
func (f *fitted) fitPlaces(length vg.Length) {
	const margin = 0.4 // of the distance between two places
	n := len(f.Places)
	f.min, f.max = -margin, float64(n-1)+margin
	f.namePlaces(length, f.Places)
	numbers, unit := withoutUnit(f.Places)
	if len(f.ticks) < n && unit != "" {
		f.Label += ", " + unit
		f.namePlaces(length, numbers)
	}
}

// namePlaces labels the places that have room, from the last, of which titles speak, to the first.
func (f *fitted) namePlaces(length vg.Length, names []string) {
	const space = 3 // between two names
	f.ticks = nil
	style := regular(labelSize, foreground)
	next := vg.Length(math.Inf(1)) // where the name to the right begins
	for i, name := range slices.Backward(names) {
		middle := length * vg.Length((float64(i)-f.min)/(f.max-f.min))
		half := widerType * style.Width(name) / 2
		if middle+half+space < next {
			f.ticks = append(f.ticks, plot.Tick{Value: float64(i), Label: name})
			next = middle - half
		}
	}
	slices.Reverse(f.ticks)
}

// withoutUnit cuts the unit off names such as "64 KiB"; unit is "" if not all have the same.
func withoutUnit(names []string) (numbers []string, unit string) {
	for _, name := range names {
		number, own, _ := strings.Cut(name, " ")
		if own != "" && unit != "" && own != unit {
			return nil, ""
		}
		unit = cmp.Or(own, unit)
		numbers = append(numbers, number)
	}
	return numbers, unit
}

// span returns the range of positions. If they are all the same, the range extends from there by
// room to both sides, so that it is never empty.
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

// fitLinear lets the axis begin at zero if the values then still fill a third of the axis, because
// an axis that begins elsewhere exaggerates differences.
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
	if len(positions) < len(values) {
		f.zero = f.min - 4*margin
		f.min = f.zero - margin
		f.label([]float64{0})
	}
	if high < 8*low {
		f.label(roundValues(low, high))
	} else {
		f.label(roundPowers(low, high))
	}
}

func (f *fitted) label(values []float64) {
	for _, v := range values {
		f.ticks = append(f.ticks, plot.Tick{Value: f.at(v), Label: f.Format(v)})
	}
}

// roundPowers returns at most mostTicks values between low and high: 1, 2 and 5 times the powers of
// ten; or if these are too many, 1 and 3 times the powers; or some powers of ten alone.
func roundPowers(low, high float64) []float64 {
	first := int(math.Floor(math.Log10(low)))
	last := int(math.Ceil(math.Log10(high)))
	for _, mantissas := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		var values []float64
		step := 1
		if len(mantissas) == 1 {
			step = 1 + (last-first)/mostTicks
		}
		for exponent := first; exponent <= last; exponent += step {
			for _, m := range mantissas {
				v := m * math.Pow(10, float64(exponent))
				if v >= low && v <= high {
					values = append(values, v)
				}
			}
		}
		if len(values) <= mostTicks {
			return values
		}
	}
	return nil // cannot happen: powers alone are few enough
}

// roundValues returns at most mostTicks multiples of 1, 2 or 5 × 10^k between low and high.
func roundValues(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, factor := range []float64{2, 2.5, 2} { // from 1 to 2, 5 and 10
		if (high-low)/step > mostTicks-1 {
			step *= factor
		}
	}
	var values []float64
	for k := math.Ceil(low/step - 1e-9); k*step <= high*(1+1e-12)+1e-12; k++ {
		values = append(values, k*step)
	}
	return values
}
