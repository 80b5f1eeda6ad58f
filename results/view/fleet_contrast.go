package view

import (
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A contrast has the figures of the two sides of a difference in one measurement.
type contrast struct {
	cell       results.Cell
	slow, fast sideRange
	isShare    bool // of raw's speed, or of its time
}

// A sideRange sums up the figures of one side.
type sideRange struct {
	stat.Spread
	within, all int // machines in the range, and those of the side that have a figure
}

// areFew reports whether at most half of the machines of the side are within the range.
func (s sideRange) areFew() bool { return 2*s.within <= s.all }

// ratio returns how many times slower the slow side is.
func (v contrast) ratio() float64 {
	if isTrip(v.cell) {
		return v.slow.Median / v.fast.Median
	}
	return v.fast.Median / v.slow.Median
}

// contrast returns figures that show the difference: shares of raw's speed, or speeds where raw
// itself differs between the sides. isShown is false if no figure shows it.
func (c comparison) contrast(d stat.Difference) (best contrast, isShown bool) {
	framings := []string{d.Framing}
	if d.Framing == "" {
		framings = append([]string{results.FramingRaw}, framingsOf(c.members)...)
	} else if d.Framing != results.FramingRaw {
		shares := c.contrasts(d, d.Framing, true)
		if 2*len(shares) > len(d.Cells) {
			return shares[0], true
		}
	}
	for _, framing := range framings {
		if speeds := c.contrasts(d, framing, false); len(speeds) > 0 {
			return speeds[0], true
		}
	}
	return contrast{}, false
}

// contrasts returns a contrast for each measurement in which figures of a framing show the
// difference.
func (c comparison) contrasts(d stat.Difference, framing string, areShares bool) []contrast {
	var all []contrast
	for _, cell := range d.Cells {
		cell.Framing = framing
		v := contrast{cell: cell, isShare: areShares}
		v.slow = c.rangeOn(d, d.Slow, v)
		v.fast = c.rangeOn(d, d.Fast, v)
		if v.slow.N > 0 && v.fast.N > 0 && v.ratio() >= leastRatio {
			all = append(all, v)
		}
	}
	return all
}

// leastRatio is the smallest ratio between two figures that is worth telling: a tenth.
const leastRatio = 1.1

// rangeOn sums up the figures of those machines of a side that have no other difference in speed.
// If all have, it sums up all.
func (c comparison) rangeOn(d stat.Difference, side []int, v contrast) sideRange {
	var all, usual []float64
	for _, i := range side {
		figure, isKnown := c.figure(i, v)
		if !isKnown {
			continue
		}
		all = append(all, figure)
		if !c.isOdd(i, d) {
			usual = append(usual, figure)
		}
	}
	if len(usual) == 0 {
		usual = all
	}
	out := sideRange{Spread: stat.SpreadOf(usual), all: len(all)}
	for _, figure := range all {
		if figure*leastRatio >= out.Least && figure <= out.Most*leastRatio {
			out.within++
		}
	}
	return out
}

// isOdd reports whether everything, or raw alone, is slower or faster on a machine, and d is not
// that difference.
func (c comparison) isOdd(machine int, d stat.Difference) bool {
	return slices.ContainsFunc(c.differences, func(other stat.Difference) bool {
		isOfSpeed := other.Framing == "" || other.Framing == results.FramingRaw
		isOther := other.Framing != d.Framing
		return isOfSpeed && isOther && slices.Contains(other.Fewer(), machine)
	})
}

// figure returns the figure of a machine that a contrast is about, if it is clear.
func (c comparison) figure(machine int, v contrast) (figure float64, isKnown bool) {
	for _, f := range c.members[machine].Figures {
		if f.Cell != v.cell || f.RunsDiffer {
			continue
		}
		e := f.Speed
		if v.isShare {
			e = f.Compared()
		}
		return e.Median, stat.IsClear(e)
	}
	return 0, false
}

// oddRaw lists the machines whose raw is unusual in a measurement: shares of it say nothing.
func (c comparison) oddRaw(cell results.Cell) []int {
	var odd []int
	for i, m := range c.members {
		if slices.ContainsFunc(m.Figures, func(f stat.Figure) bool {
			return f.OddRaw && withoutFraming(f.Cell) == withoutFraming(cell)
		}) {
			odd = append(odd, i)
		}
	}
	return odd
}

// withoutOddRaw returns a difference without the machines whose raw is unusual, if the contrast has
// shares of raw's speed.
func (c comparison) withoutOddRaw(d stat.Difference, v contrast) stat.Difference {
	if !v.isShare {
		return d
	}
	odd := c.oddRaw(v.cell)
	isUsual := func(i int) bool { return !slices.Contains(odd, i) }
	slow := selected(d.Slow, isUsual)
	fast := selected(d.Fast, isUsual)
	if len(slow) > 0 && len(fast) > 0 {
		d.Slow = slow
		d.Fast = fast
	}
	return d
}

// oddRawText says where raw is unusual in a measurement, or returns "".
func (c comparison) oddRawText(cell results.Cell) string {
	d := stat.Difference{Slow: c.oddRaw(cell)}
	if len(d.Slow) == 0 {
		return ""
	}
	for i := range c.members {
		if !slices.Contains(d.Slow, i) {
			d.Fast = append(d.Fast, i)
		}
	}
	return "raw is unusual " + c.where(d, d.Slow, false)
}

// framingsOf lists the framings that machines measured, without raw.
func framingsOf(members []stat.Member) []string {
	framings := make(map[string]bool)
	for _, m := range members {
		for _, f := range m.Figures {
			framings[f.Cell.Framing] = true
		}
	}
	delete(framings, results.FramingRaw)
	return slices.Sorted(maps.Keys(framings))
}
