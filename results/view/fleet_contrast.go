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
	isUsual bool // some machines of the side are outside the range
}

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
	slow := c.usualOf(d, d.Slow)
	fast := c.usualOf(d, d.Fast)
	if len(slow) == 0 || len(fast) == 0 || areShares {
		slow = d.Slow
		fast = d.Fast
	}
	var all []contrast
	for _, cell := range d.Cells {
		cell.Framing = framing
		isOdd := d.Framing == "" && framing == results.FramingRaw
		v := contrast{
			cell:    cell,
			slow:    c.rangeOn(d.Slow, slow, cell, areShares, isOdd),
			fast:    c.rangeOn(d.Fast, fast, cell, areShares, isOdd),
			isShare: areShares,
		}
		if v.slow.N > 0 && v.fast.N > 0 && v.ratio() >= leastRatio {
			all = append(all, v)
		}
	}
	return all
}

// leastRatio is the smallest ratio between two figures that is worth telling: a tenth.
const leastRatio = 1.1

// usualOf returns the machines of a side without those on which everything is slower or faster, if
// the difference is about something else.
func (c comparison) usualOf(d stat.Difference, side []int) []int {
	if d.Framing == "" {
		return side
	}
	return selected(side, func(i int) bool {
		return !slices.ContainsFunc(c.differences, func(other stat.Difference) bool {
			return other.Framing == "" && slices.Contains(other.Fewer(), i)
		})
	})
}

// rangeOn sums up the figures of the usual machines of a side in a measurement, without those
// beside an odd raw if they are shares, or if withoutOdd is set.
func (c comparison) rangeOn(
	side, usual []int, cell results.Cell, areShares, withoutOdd bool,
) sideRange {
	out := sideRange{Spread: stat.SpreadOf(c.valuesOn(usual, cell, areShares, withoutOdd))}
	for _, value := range c.valuesOn(side, cell, areShares, false) {
		isBelow := value*leastRatio < out.Least
		isAbove := value > out.Most*leastRatio
		out.isUsual = out.isUsual || isBelow || isAbove
	}
	return out
}

// valuesOn lists the clear figures of machines in a measurement.
func (c comparison) valuesOn(
	side []int, cell results.Cell, areShares, withoutOdd bool,
) (values []float64) {
	for _, i := range side {
		for _, f := range c.members[i].Figures {
			if f.Cell != cell || withoutOdd && (f.OddRaw || f.RunsDiffer) {
				continue
			}
			e := f.Speed
			if areShares {
				e = f.Compared()
			}
			if stat.IsClear(e) {
				values = append(values, e.Median)
			}
		}
	}
	return values
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
