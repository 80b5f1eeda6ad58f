package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A comparison has what the differences are about: machines, or runs of one machine.
type comparison struct {
	members     []stat.Member
	differences []stat.Difference
	areRuns     bool
}

// others returns the other side of a difference.
func others(d stat.Difference, side []int) []int {
	if slices.Equal(side, d.Slow) {
		return d.Fast
	}
	return d.Slow
}

// where says on which machines or in which runs something is so. A second side may be "elsewhere"
// or, if some machines are on neither side, "on most others".
func (c comparison) where(d stat.Difference, side []int, isSecond bool) string {
	all := len(d.Slow) + len(d.Fast)
	name := c.name(d, side)
	switch {
	case c.areRuns && all == 2 && name == c.members[side[0]].Environment().Run:
		return "in run " + name
	case c.areRuns && all == 2 && isSecond:
		return "in that of " + name
	case c.areRuns && all == 2:
		return "in the run of " + name
	case c.areRuns && isSecond:
		return "in the others"
	case c.areRuns:
		return fmt.Sprintf("in %d of %d runs (%s)", len(side), len(c.members), name)
	case isSecond && all > stat.FewMachines &&
		(len(c.causes(d, side)) == 0 || len(c.causes(d, others(d, side))) == 0):
		if all < len(c.members) {
			return "on most others"
		}
		return "elsewhere"
	}
	return "on " + name
}

// name names the machines of a side. If they have something in common that no machine of the other
// side has, it says what, and names only a few machines.
func (c comparison) name(d stat.Difference, side []int) string {
	var names []string
	for _, i := range side {
		names = append(names, c.members[i].Name)
	}
	all := len(d.Slow) + len(d.Fast)
	name := nameSome(names)
	if len(names) > mostNamedMachines+1 {
		name += fmt.Sprintf(" (of %d)", all)
	}
	causes := c.causes(d, side)
	switch {
	case c.areRest(d, side):
		return fmt.Sprintf("%d others", len(side))
	case len(causes) == 0:
		return name
	}
	common := strings.Replace(strings.Join(causes, ", "), ", ", " with ", 1)
	if all > stat.FewMachines {
		return common
	}
	return common + " (" + name + ")"
}

// areRest reports whether a side is the larger one, with too many machines to name, and nothing
// that they alone have.
func (c comparison) areRest(d stat.Difference, side []int) bool {
	isMany := len(side) > mostNamedMachines+1 && !slices.Equal(side, d.Fewer())
	return isMany && len(c.causes(d, side)) == 0
}

// causes lists what all machines of a side have and no machine of the other side has. There is
// nothing for a single machine: its name tells more.
func (c comparison) causes(d stat.Difference, side []int) []string {
	if len(side) < 2 || c.areRuns {
		return nil
	}
	var causes []string
	for _, factor := range append(slices.Clone(factors), labelKeys(c.members)...) {
		first := factorOf(c.members[side[0]], factor)
		hasOther := func(i int) bool { return factorOf(c.members[i], factor) != first }
		hasFirst := func(i int) bool { return factorOf(c.members[i], factor) == first }
		isCause := !slices.ContainsFunc(side, hasOther) &&
			!slices.ContainsFunc(others(d, side), hasFirst)
		if isCause && first != unknown {
			causes = append(causes, factorPhrase(c.members[side[0]], factor))
		}
	}
	return causes
}

// labelKeys lists the labels that machines have.
func labelKeys(members []stat.Member) []string {
	keys := make(map[string]bool)
	for _, m := range members {
		for _, e := range m.Runs {
			for key := range e.Labels {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

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
	slow, fast := c.usualOf(d, d.Slow), c.usualOf(d, d.Fast)
	if len(slow) == 0 || len(fast) == 0 || areShares {
		slow, fast = d.Slow, d.Fast
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
			if percent, isKnown := e.Spread(); isKnown && percent <= stat.MostBlur {
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
