package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// An Axis says what is laid out along it, on which scale, in which unit.
type Axis struct {
	Label      string   `json:"label"`
	Scale      Scale    `json:"scale"`
	Unit       Unit     `json:"unit,omitempty"`
	Categories []string `json:"categories,omitempty"` // names of 0, 1, 2 … on a [Category] scale
	From       *float64 `json:"from,omitempty"`       // where the axis begins at the latest
	To         *float64 `json:"to,omitempty"`         // where it ends at the earliest
	Limit      float64  `json:"limit,omitempty"`      // where it ends at the latest, whatever the intervals reach; 0 is nowhere
}

// A Scale is how values become positions.
type Scale string

// Scales of an axis. The logarithmic ones give zero a place of its own below
// the smallest value: zero is a result ("no byte of overhead"), not an error.
const (
	Linear   Scale = "linear"
	Log      Scale = "log10"    // ticks at 1, 2 and 5 times powers of ten
	Log2     Scale = "log2"     // ticks at powers of two
	Nines    Scale = "nines"    // a quantile q at log10 1/(1-q): 90 %, 99 %, 99.9 % at equal distances
	Category Scale = "category" // names at equal distances
)

// A ruler is an axis fitted to the values it has to show: gonum's own
// logarithmic scale panics for zero, for nothing, and for a single value.
type ruler struct {
	scale    Scale
	hasZero  bool
	zero     float64 // position of zero on a logarithmic scale
	min, max float64 // ends of the axis, as positions
	ticks    []plot.Tick
}

// fit lays the axis out for values, with room for about most labels.
func (a Axis) fit(values []float64, most int) ruler {
	values = a.withBounds(values)
	r := ruler{scale: a.Scale}
	switch a.Scale {
	case Log, Log2:
		r.fitLog(values)
	case Nines:
		r.min, r.max = span(positions(values, nines))
		r.min = 0
	case Category:
		r.min, r.max = -0.5, float64(max(len(a.Categories), 1))-0.5
	default:
		r.fitLinear(values)
	}
	r.ticks = a.ticks(r, most)
	return r
}

func (a Axis) withBounds(values []float64) []float64 {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	for i, v := range values {
		values[i] = a.cut(v)
	}
	for _, bound := range []*float64{a.From, a.To} {
		if bound != nil {
			values = append(values, *bound)
		}
	}
	return values
}

// cut brings a value to the limit of the axis.
func (a Axis) cut(v float64) float64 {
	if a.Limit > 0 {
		return min(v, a.Limit)
	}
	return v
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// at is the position of a value.
func (r ruler) at(v float64) float64 {
	switch r.scale {
	case Log, Log2:
		if v <= 0 {
			return r.zero
		}
		return math.Log10(v)
	case Nines:
		return nines(v)
	default:
		return v
	}
}

// value is the inverse of at.
func (r ruler) value(position float64) float64 {
	switch r.scale {
	case Log, Log2:
		return math.Pow(10, position)
	case Nines:
		return 1 - math.Pow(10, -position)
	default:
		return position
	}
}

// nines is how many nines a quantile has: 0.99 has two. The last of all
// observations is at quantile 1; callers keep below it.
func nines(q float64) float64 { return -math.Log10(1 - min(max(q, 0), 1-1e-9)) }

func (r *ruler) fitLog(values []float64) {
	positive := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v <= 0 })
	r.min, r.max = span(positions(positive, math.Log10))
	margin := 0.04 * (r.max - r.min)
	r.min, r.max = r.min-margin, r.max+margin
	r.hasZero = len(positive) < len(values)
	if !r.hasZero {
		return
	}
	r.zero = r.min - 4*margin
	r.min = r.zero - margin
	if len(positive) == 0 { // zero alone: in the middle
		r.zero, r.min, r.max = 0, -1, 1
	}
}

// fitLinear begins a linear axis at zero where the values still fill a third
// of it: an axis that does not start there exaggerates.
func (r *ruler) fitLinear(values []float64) {
	r.min, r.max = span(values)
	if r.min > 0 && r.min < r.max*2/3 {
		r.min = 0
	}
	margin := 0.04 * (r.max - r.min)
	r.max += margin
	if r.min != 0 {
		r.min -= margin
	}
}

// span is the range of positions, never empty.
func span(positions []float64) (low, high float64) {
	if len(positions) == 0 {
		return 0, 1
	}
	low, high = slices.Min(positions), slices.Max(positions)
	if high-low < 1e-9*max(1, math.Abs(high)) {
		room := max(0.3, 0.3*math.Abs(high))
		return low - room, high + room
	}
	return low, high
}

func positions(values []float64, at func(float64) float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = at(v)
	}
	return out
}
