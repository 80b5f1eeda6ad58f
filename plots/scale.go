package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// An Axis says what a chart lays out along one side, on which scale, in which unit.
type Axis struct {
	Label      string   `json:"label"`
	Scale      Scale    `json:"scale"`
	Unit       Unit     `json:"unit,omitempty"`
	Categories []string `json:"categories,omitempty"` // names of 0, 1, 2 … on a [Category] scale
	From       *float64 `json:"from,omitempty"`       // the axis begins here or below
	To         *float64 `json:"to,omitempty"`         // the axis ends here or above
	Limit      float64  `json:"limit,omitempty"`      // the axis ends here at most, however far intervals reach; 0 is no limit
}

// Format writes a value as the axis labels it.
func (a Axis) Format(v float64) string {
	switch {
	case a.Scale == Nines:
		return fmt.Sprintf("p%.5g", 100*v)
	case a.Scale == Category && v >= 0 && int(v) < len(a.Categories):
		return a.Categories[int(v)]
	}
	return a.Unit.Format(v)
}

// A Scale names the function that turns values into positions.
type Scale string

// Scales of an axis. The logarithmic ones give zero a place of its own below the smallest value:
// zero is a result ("no byte of overhead"), not an error.
const (
	Linear   Scale = "linear"
	Log      Scale = "log10"    // ticks at 1, 2 and 5 times powers of ten
	Log2     Scale = "log2"     // ticks at powers of two
	Nines    Scale = "nines"    // a quantile q at log10 1/(1-q): 90 %, 99 %, 99.9 % at equal distances
	Category Scale = "category" // names at equal distances
)

// A fittedScale is an axis fitted to its values. It computes positions itself because gonum's
// logarithmic scale panics for zero, for no value, and for a single value.
type fittedScale struct {
	scale    Scale
	hasZero  bool
	zero     float64 // position of zero on a logarithmic scale
	min, max float64 // ends of the axis, as positions
	ticks    []plot.Tick
}

// fit lays the axis out for values, with tick marks at round values of the scale. At most about
// maxLabels of them have a label, which carries the unit.
func (a Axis) fit(values []float64, maxLabels int) fittedScale {
	values = stat.Map(stat.Filter(values, finite), a.clamp)
	for _, bound := range []*float64{a.From, a.To} {
		if bound != nil {
			values = append(values, *bound)
		}
	}
	r := fittedScale{scale: a.Scale}
	switch a.Scale {
	case Log:
		r.fitLog(values)
		r.ticks = a.withZero(r, a.decimalTicks(r, maxLabels))
	case Log2:
		r.fitLog(values)
		r.ticks = a.withZero(r, a.binaryTicks(r, maxLabels))
	case Nines:
		_, r.max = span(stat.Map(values, ninesOf), 0)
		r.ticks = []plot.Tick{{Value: 0, Label: "min"}, {Value: ninesOf(0.5), Label: "p50"}}
		for k := 1; float64(k) <= r.max+1e-9; k++ {
			q := 100 - math.Pow10(2-k)
			r.ticks = append(r.ticks, plot.Tick{Value: float64(k), Label: "p" + strconv.FormatFloat(q, 'f', max(0, k-2), 64)})
		}
	case Category:
		r.min, r.max = -0.5, float64(max(len(a.Categories), 1))-0.5
		for i, name := range a.Categories {
			r.ticks = append(r.ticks, plot.Tick{Value: float64(i), Label: name})
		}
	default:
		// It starts at zero if the values still fill a third of it: an axis that starts elsewhere
		// exaggerates differences.
		r.min, r.max = span(values, 0.3)
		if r.min > 0 && r.min < r.max*2/3 {
			r.min = 0
		}
		margin := 0.04 * (r.max - r.min)
		r.max += margin
		if r.min != 0 {
			r.min -= margin
		}
		r.ticks = a.labelled(r, roundValues(r.min, r.max, maxLabels))
	}
	return r
}

// covered lists the ticks whose labels cover the one before on an axis of a width, or would in a wider
// typeface.
func (r fittedScale) covered(width vg.Length) (ticks []int) {
	end := -width
	for i, t := range r.ticks {
		at, half := width*vg.Length((t.Value-r.min)/(r.max-r.min)), 0.6*textStyle(smallSize, foreground, false).Width(t.Label)
		switch {
		case at-half < end:
			ticks = append(ticks, i)
		default:
			end = at + half
		}
	}
	return ticks
}

// clamp lowers a value to the limit of the axis, if it has one.
func (a Axis) clamp(v float64) float64 { return min(v, cmp.Or(a.Limit, math.Inf(1))) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// at returns the position of a value.
func (r fittedScale) at(v float64) float64 {
	switch r.scale {
	case Log, Log2:
		if v <= 0 {
			return r.zero
		}
		return math.Log10(v)
	case Nines:
		return ninesOf(v)
	default:
		return v
	}
}

// ninesOf returns how many nines a quantile has: 0.99 has two. Quantile 1, the largest of all
// observations, would lie at infinity; callers keep below it.
func ninesOf(q float64) float64 { return -math.Log10(1 - min(max(q, 0), 1-1e-9)) }

func (r *fittedScale) fitLog(values []float64) {
	positive := stat.Filter(values, func(v float64) bool { return v > 0 })
	r.min, r.max = span(stat.Map(positive, math.Log10), 0)
	margin := 0.04 * (r.max - r.min)
	r.min, r.max = r.min-margin, r.max+margin
	if r.hasZero = len(positive) < len(values); r.hasZero {
		r.zero = r.min - 4*margin
		r.min = r.zero - margin
	}
	if r.hasZero && len(positive) == 0 { // only zeros: in the middle
		r.zero, r.min, r.max = 0, -1, 1
	}
}

// span returns the range of positions, never an empty one: around a single one it leaves room, which may
// be a share of it.
func span(positions []float64, share float64) (low, high float64) {
	if len(positions) == 0 {
		return 0, 1
	}
	low, high = slices.Min(positions), slices.Max(positions)
	if high-low < 1e-9*max(1, math.Abs(high)) {
		room := max(0.3, share*math.Abs(high))
		return low - room, high + room
	}
	return low, high
}

func (a Axis) labelled(r fittedScale, values []float64) []plot.Tick {
	return stat.Map(values, func(v float64) plot.Tick { return plot.Tick{Value: r.at(v), Label: a.Unit.Format(v)} })
}

// withZero adds a label at zero's own place, if it has one, and drops the ticks of the logarithmic
// scale that would lie next to or below it.
func (a Axis) withZero(r fittedScale, ticks []plot.Tick) []plot.Tick {
	if !r.hasZero {
		return ticks
	}
	ticks = slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < r.zero+(r.zero-r.min) || r.zero == 0 })
	return append([]plot.Tick{{Value: r.zero, Label: a.Unit.Format(0)}}, ticks...)
}

// decimalTicks labels as many round values as fit.
func (a Axis) decimalTicks(r fittedScale, most int) []plot.Tick {
	var labelled []float64
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		labelled = decades(r, 1, mantissas)
		if len(labelled) <= most {
			break
		}
	}
	for step := 2; len(labelled) > most; step++ {
		labelled = decades(r, step, []float64{1})
	}
	if len(labelled) < 2 { // less than a factor of 1.5 in all
		labelled = roundValues(math.Pow(10, r.min), math.Pow(10, r.max), max(3, most*3/4))
	}
	return a.labelled(r, labelled)
}

// decades lists mantissa × 10^k within the scale, for every step-th k.
func decades(r fittedScale, step int, mantissas []float64) []float64 {
	var out []float64
	for k := int(math.Floor(r.min)); k <= int(math.Ceil(r.max)); k++ {
		if k%step != 0 {
			continue
		}
		for _, m := range mantissas {
			if v := m * math.Pow10(k); r.holds(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func (r fittedScale) holds(v float64) bool {
	at := r.at(v)
	return at >= r.min-1e-9 && at <= r.max+1e-9
}

// binaryTicks labels every power of two, or every second, fourth … of them.
func (a Axis) binaryTicks(r fittedScale, most int) []plot.Tick {
	var powers []float64
	for k := math.Floor(r.min / math.Log10(2)); k <= math.Ceil(r.max/math.Log10(2)); k++ {
		if r.holds(math.Pow(2, k)) {
			powers = append(powers, k)
		}
	}
	if len(powers) == 0 { // less than a factor of two in all
		return a.labelled(r, roundValues(math.Pow(10, r.min), math.Pow(10, r.max), most))
	}
	step := 1
	for len(powers)/step >= most {
		step *= 2
	}
	powers = stat.Filter(powers, func(k float64) bool { return math.Mod(k, float64(step)) == 0 })
	return a.labelled(r, stat.Map(powers, math.Exp2))
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

// A Unit is the unit in which the labels of an axis are written.
type Unit string

// Units. Sizes are binary (KiB = 1024), rates and times decimal (1 GB/s = 10^9 B/s), as everywhere
// in pipebench.
const (
	Bytes   Unit = "B"
	Rate    Unit = "B/s"
	Nanos   Unit = "ns"
	PerByte Unit = "ns/B"
	Percent Unit = "%"
	Times   Unit = "×"
	Number  Unit = ""
)

// Format writes a value with its unit as shortly as a label needs it.
func (u Unit) Format(v float64) string {
	text := results.FormatLabel(v, string(u))
	if u == Times {
		return strings.ReplaceAll(text, " ", "")
	}
	return text
}
