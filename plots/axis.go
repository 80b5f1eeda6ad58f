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

// An Axis says what a chart shows along one side, and in which unit. An axis with Places has names
// instead of a unit: those of the values 0, 1, 2 and so on.
type Axis struct {
	Label    string
	Places   []string // nil for an axis of values
	Unit     string   // such as [Rate], or any other
	Log      bool     // a logarithmic axis; all that is not above zero has one position
	FromZero bool     // a linear axis that begins at zero
}

// Units of axes. Rates are decimal: 1 GB/s = 10^9 B/s.
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

// A fitted is an axis whose ends and labels suit the values to show. The logarithmic scale of the
// library gonum is not used, because it panics for zero.
type fitted struct {
	Axis
	min, max float64 // the positions of its ends
	zero     float64 // the position of zero on a logarithmic axis
	ticks    []plot.Tick
}

// mostTicks is the largest number of labels on an axis of numbers.
const mostTicks = 9

// fit chooses ends and labels of the axis that suit the values. For an axis with Places, it uses
// only length, the room for the names of the places.
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

func (f fitted) at(v float64) float64 {
	switch {
	case !f.Log:
		return v
	case v <= 0:
		return f.zero
	}
	return math.Log10(v)
}

// fitPlaces labels the places of the axis with their names. If there is too little room, it leaves
// out names, and moves the unit to the label of the axis if all names have the same unit.
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

// namePlaces writes as many names under the axis as there is room for. It begins with the last
// name, because the title of a picture is often about the last place on the axis.
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

// withoutUnit cuts the unit off names such as "64 KiB", if all names have the same unit. Otherwise
// it returns nil and "".
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

// span returns the smallest and the largest position. If the two are equal, it subtracts room from
// the smallest and adds room to the largest. Without any positions, it returns 0 and 1.
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

// fitLinear chooses the ends and labels of a linear axis. The axis begins at zero if the values
// then still fill a third of the axis.
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
	if high < 3*low {
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

// roundPowers returns round multiples of powers of ten between low and high, as many as the axis
// has room for.
func roundPowers(low, high float64) []float64 {
	first := int(math.Floor(math.Log10(low)))
	last := int(math.Ceil(math.Log10(high)))
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 4, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
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
	return nil // cannot happen: the last values are few enough
}

// roundValues returns at most mostTicks values between low and high. They are the multiples of a
// step that is 1, 2 or 5 × 10^k.
func roundValues(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, factor := range []float64{2, 2.5, 2} { // the step 1 × 10^k becomes 2, then 5, then 10
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
