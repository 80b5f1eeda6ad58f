package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// markRawAlone sets RawAlone in the figures of members on which raw is slower or faster than on
// other machines, and most framings are not.
func markRawAlone(members []Member) {
	streams := make(map[results.Cell][]figuresOf)
	for _, m := range members {
		own := make(map[results.Cell]figuresOf)
		for at := range m.Figures {
			f := &m.Figures[at]
			stream := f.Cell
			stream.Framing = ""
			if own[stream] == nil {
				own[stream] = make(figuresOf)
			}
			if _, ok := f.toCompare(); ok {
				own[stream][f.Cell.Framing] = f
			}
		}
		for stream, figures := range own {
			if figures[results.FramingRaw] != nil && len(figures) > 1 {
				streams[stream] = append(streams[stream], figures)
			}
		}
	}
	for _, machines := range streams {
		markStream(machines)
	}
}

// figuresOf has the clear figures of one machine by framing. All else is the same.
type figuresOf map[string]*Figure

// markStream marks the machines whose ratios to raw are far from the usual ones, if raw alone is
// the reason. If there are two halves, the one with the faster raw is usual.
func markStream(machines []figuresOf) {
	var usual, odd []figuresOf
	for _, figures := range machines {
		change := figures.changeFrom(machines, func(f *Figure) float64 { return f.ToRaw.Median })
		if math.Abs(change) < math.Log(OutlierFactor) {
			usual = append(usual, figures)
		} else {
			odd = append(odd, figures)
		}
	}
	if len(usual) == 0 {
		return
	}
	for _, figures := range odd {
		factor := figures.rawAlone(usual)
		for _, f := range figures {
			f.RawAlone = factor
		}
	}
}

// rawAlone returns how many times the figure of raw is what it is on that usual machine whose
// framings are most like these. It is 0 if the framings differ, too, or if that may be noise.
func (figures figuresOf) rawAlone(usual []figuresOf) float64 {
	speedFrom := func(other figuresOf) float64 {
		return math.Abs(figures.changeFrom([]figuresOf{other},
			func(f *Figure) float64 { return f.Speed.Median }))
	}
	like := slices.MinFunc(usual, func(a, b figuresOf) int {
		return cmp.Compare(speedFrom(a), speedFrom(b))
	})
	raw := figures[results.FramingRaw].Speed
	usualRaw := like[results.FramingRaw].Speed.Median
	factor := raw.Median / usualRaw
	isSure := raw.Above(usualRaw) || raw.Below(usualRaw)
	if isSure && 2*speedFrom(like) < math.Abs(math.Log(factor)) {
		return factor
	}
	return 0
}

// changeFrom returns the logarithm of what the framings' values are in relation to the usual ones:
// the median of the framings.
func (figures figuresOf) changeFrom(machines []figuresOf, value func(*Figure) float64) float64 {
	var changes []float64
	for framing, f := range figures {
		if framing == results.FramingRaw {
			continue
		}
		var all []float64
		for _, m := range machines {
			if m[framing] != nil {
				all = append(all, value(m[framing]))
			}
		}
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		middle := (len(all) - 1) / 2 // a fast raw makes small ratios of goodput
		if f.Cell.Pattern == results.PatternRoundtrip {
			middle = len(all) / 2 // and large ones of times
		}
		changes = append(changes, math.Log(value(f)/all[middle]))
	}
	if len(changes) == 0 {
		return math.Inf(1)
	}
	return medianOf(changes)
}
