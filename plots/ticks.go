package plots

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks marks an axis at round values of its scale, with at most most labels.
// Their labels carry the unit.
func (a Axis) ticks(r ruler, most int) []plot.Tick {
	switch a.Scale {
	case Log:
		return a.withZero(r, a.decimalTicks(r, most))
	case Log2:
		return a.withZero(r, a.binaryTicks(r, most))
	case Nines:
		return a.ninesTicks(r)
	case Category:
		return a.categoryTicks()
	default:
		return a.labelled(r, roundValues(r.min, r.max, most))
	}
}

func (a Axis) labelled(r ruler, values []float64) []plot.Tick {
	var out []plot.Tick
	for _, v := range values {
		out = append(out, plot.Tick{Value: r.at(v), Label: a.Unit.Format(v)})
	}
	return out
}

// withZero labels zero's own place, where there is one, and drops the marks of
// a scale that has ended there.
func (a Axis) withZero(r ruler, ticks []plot.Tick) []plot.Tick {
	if !r.hasZero {
		return ticks
	}
	ticks = slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < r.zero+(r.zero-r.min) || r.zero == 0 })
	return append([]plot.Tick{{Value: r.zero, Label: a.Unit.Format(0)}}, ticks...)
}

// decimalTicks labels as many round values as there is room for, and marks
// the rest of 1 to 9 without a label.
func (a Axis) decimalTicks(r ruler, most int) []plot.Tick {
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
		labelled = roundValues(r.value(r.min), r.value(r.max), max(3, most*3/4))
	}
	ticks := a.labelled(r, labelled)
	if r.max-r.min > 5 {
		return ticks
	}
	for _, v := range decades(r, 1, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		ticks = append(ticks, plot.Tick{Value: r.at(v)})
	}
	return ticks
}

// decades lists mantissa × 10^k within the ruler, for every step-th k.
func decades(r ruler, step int, mantissas []float64) []float64 {
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

func (r ruler) holds(v float64) bool {
	at := r.at(v)
	return at >= r.min-1e-9 && at <= r.max+1e-9
}

// binaryTicks labels every power of two, or every second, fourth … of them.
func (a Axis) binaryTicks(r ruler, most int) []plot.Tick {
	var powers []int
	for k := int(math.Floor(r.min / math.Log10(2))); k <= int(math.Ceil(r.max/math.Log10(2))); k++ {
		if r.holds(math.Pow(2, float64(k))) {
			powers = append(powers, k)
		}
	}
	step := 1
	for len(powers)/step >= most {
		step *= 2
	}
	var ticks []plot.Tick
	for _, k := range powers {
		t := plot.Tick{Value: r.at(math.Pow(2, float64(k)))}
		if k%step == 0 {
			t.Label = a.Unit.Format(math.Pow(2, float64(k)))
		}
		ticks = append(ticks, t)
	}
	if len(ticks) > 0 {
		return ticks
	}
	return a.labelled(r, roundValues(r.value(r.min), r.value(r.max), most)) // less than a factor of two in all
}

func (a Axis) ninesTicks(r ruler) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "min"}, {Value: nines(0.5), Label: "p50"}}
	for k := 1; float64(k) <= r.max+1e-9; k++ {
		q := 100 - math.Pow10(2-k)
		ticks = append(ticks, plot.Tick{Value: float64(k), Label: "p" + strconv.FormatFloat(q, 'f', max(0, k-2), 64)})
	}
	return ticks
}

func (a Axis) categoryTicks() []plot.Tick {
	var ticks []plot.Tick
	for i, name := range a.Categories {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	return ticks
}

// roundValues lists multiples of 1, 2 or 5 × 10^k between low and high,
// at most most of them.
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
