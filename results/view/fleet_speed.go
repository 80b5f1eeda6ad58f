package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A standing is the figure of one machine in one measurement: the goodput of a framing divided by
// that of raw bytes, or the time of a round trip divided by raw's. For raw itself, it is the
// goodput or the time.
type standing struct {
	stat.Member
	stat.Estimate
}

// standings returns the figures of the machines that made a measurement, the smallest first. The
// second result has those that are too noisy to compare.
func standings(members []stat.Member, cell results.Cell) (known, noisy []standing) {
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell != cell {
				continue
			}
			e := comparedFigure(f)
			percent, ok := e.Spread()
			switch {
			case ok && percent <= maxBlur:
				known = append(known, standing{m, e})
			case e.N > 0:
				noisy = append(noisy, standing{m, e})
			}
		}
	}
	slices.SortStableFunc(known, func(a, b standing) int { return cmp.Compare(a.Median, b.Median) })
	return known, noisy
}

// comparedFigure returns the estimate by which machines are compared.
func comparedFigure(f stat.Figure) stat.Estimate {
	if f.Cell.Framing == results.FramingRaw {
		return f.Speed
	}
	return f.ToRaw
}

// surelyDiffer reports whether the intervals show that machines differ in a measurement. The speed
// of raw depends on load and clock, too, so only a difference by [stat.SlowFactor] counts. The
// smallest figure must come first.
func surelyDiffer(cell results.Cell, known []standing) bool {
	if len(known) < 2 {
		return false
	}
	least, most := known[0].Estimate, known[len(known)-1].Estimate
	if cell.Framing == results.FramingRaw && most.Median < stat.SlowFactor*least.Median {
		return false
	}
	return !sharesAlike(least, most)
}

// MachinesDiffer reports whether the goodput of a measured combination, relative to that of raw
// bytes, surely differs between machines.
func MachinesDiffer(members []stat.Member, cell results.Cell) bool {
	known, _ := standings(members, cell)
	return surelyDiffer(cell, known)
}

// A difference says in which measurement machines differ most in the speed of a framing.
type difference struct {
	cell      results.Cell
	low, high []standing // the machines, split where neighbours are furthest apart
	cells     int        // number of measurements of this framing in which machines surely differ
	compared  int        // number of those that two machines measured well enough
}

// ratio returns how many times the largest figure is the smallest one.
func (d difference) ratio() float64 { return d.high[len(d.high)-1].Median / d.low[0].Median }

// leastRatio is the smallest ratio between two machines that is worth telling: a tenth.
const leastRatio = 1.1

// differencesBetween lists the framings in which a few machines surely differ, the largest
// difference first. Streams and round trips of a framing are told apart. Of each, it takes the
// measurement that most machines made well enough or, of several, the one in which they differ
// most. Those beside a doubtful raw come last. compared is the number of measurements that could be
// compared.
func differencesBetween(members []stat.Member) (all []difference, compared int) {
	framingAndPattern := func(c results.Cell) string { return c.Framing + " " + c.Pattern }
	for _, cells := range grouped(comparedCells(members), framingAndPattern) {
		slices.SortStableFunc(cells, func(a, b results.Cell) int {
			return doubtsOn(members, a) - doubtsOn(members, b)
		})
		var best difference
		for _, cell := range cells {
			known, _ := standings(members, cell)
			if len(known) < 2 {
				continue
			}
			best.compared++
			own := difference{cell: cell}
			own.low, own.high = split(known)
			if !surelyDiffer(cell, known) || own.ratio() < leastRatio {
				continue
			}
			best.cells++
			more := len(known) - len(best.low) - len(best.high)
			isClear := best.low == nil || doubtsOn(members, cell) <= doubtsOn(members, best.cell)
			if isClear && (more > 0 || more == 0 && own.ratio() > best.ratio()) {
				best.cell, best.low, best.high = cell, own.low, own.high
			}
		}
		compared += best.compared
		if best.cells > 0 {
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int {
		return cmp.Compare(b.ratio(), a.ratio())
	})
	return all, compared
}

// doubtsOn counts the machines on which the median of raw at a measurement means little.
func doubtsOn(members []stat.Member, cell results.Cell) int {
	cell.Framing = results.FramingRaw
	n := 0
	for _, m := range members {
		if slices.Contains(m.Doubtful, cell) {
			n++
		}
	}
	return n
}

// split cuts standings into two where neighbours are furthest apart. The smallest figure must come
// first.
func split(known []standing) (low, high []standing) {
	at := 1
	for i := 2; i < len(known); i++ {
		if known[i].Median/known[i-1].Median > known[at].Median/known[at-1].Median {
			at = i
		}
	}
	return known[:at], known[at:]
}

// sentence says which machines reach what. It begins with the side of fewer machines.
func (d difference) sentence() string {
	cause := d.cause()
	var where []place
	for _, side := range [][]standing{d.low, d.high} {
		name := joinAnd(standingNames(side))
		if len(cause.factors) > 0 {
			name = cause.phrase(side[0].Member) + " (" + name + ")"
		}
		where = append(where, place{name, side})
	}
	if len(d.high) < len(d.low) {
		slices.Reverse(where)
	}
	text := speedsText(d.cell, where) + whereMeasured(d.cell) + "."
	if isTrip(d.cell) {
		return capitalised(text)
	}
	return text // names of framings keep their small letters
}

// cause returns the properties, such as the processor, of which all machines on one side have one
// value, and all on the other side another. There are none if only two machines are compared.
func (d difference) cause() grouping {
	var members []stat.Member
	for _, s := range slices.Concat(d.low, d.high) {
		members = append(members, s.Member)
	}
	isLow := func(own []stat.Member) bool {
		return slices.EqualFunc(own, d.low, func(m stat.Member, s standing) bool {
			return m.Name == s.Name
		})
	}
	for _, g := range groupings(members) {
		if len(g.groups) == 2 && slices.ContainsFunc(g.groups, isLow) {
			return g
		}
	}
	return grouping{}
}

// sides returns the names of the machines on the slower and on the faster side.
func (d difference) sides() (slow, fast []string) {
	slow = slices.Sorted(slices.Values(standingNames(d.low)))
	fast = slices.Sorted(slices.Values(standingNames(d.high)))
	if isTrip(d.cell) {
		return fast, slow
	}
	return slow, fast
}

// slowRaw returns the largest difference of raw if the same machines are the slow ones in all
// measurements of it that differ beyond the noise. isEverywhere is true if all measurements do.
func slowRaw(members []stat.Member) (most difference, isEverywhere bool) {
	isEverywhere = true
	for _, cell := range comparedCells(members) {
		known, _ := standings(members, cell)
		if cell.Framing != results.FramingRaw || len(known) < 2 {
			continue
		}
		if sharesAlike(known[0].Estimate, known[len(known)-1].Estimate) {
			isEverywhere = false
			continue
		}
		d := difference{cell: cell}
		d.low, d.high = split(known)
		slow, _ := d.sides()
		slowBefore, _ := most.sides()
		if most.low != nil && !slices.Equal(slow, slowBefore) {
			return difference{}, false
		}
		if most.low == nil || !isTrip(cell) && d.ratio() > most.ratio() {
			most = d
		}
	}
	return most, isEverywhere
}

// rawSentence says that everything is slower, or faster, on some machines, or that raw is and
// framings are not, which only seems to change what they cost. It returns "" if neither is so.
func rawSentence(members []stat.Member, found []difference) string {
	raw, isEverywhere := slowRaw(members)
	if raw.low == nil {
		return ""
	}
	var asFast []string // framings
	for _, d := range found {
		if d.cell.Framing == results.FramingRaw {
			continue
		}
		var speeds []float64
		for _, s := range slices.Concat(d.low, d.high) {
			for _, f := range s.Figures {
				if f.Cell == d.cell {
					speeds = append(speeds, f.Speed.Median)
				}
			}
		}
		if slices.Max(speeds) >= leastRatio*slices.Min(speeds) {
			return ""
		}
		asFast = append(asFast, results.FramingPhrase(d.cell.Framing))
	}
	slow, fast := raw.sides()
	where := " is slower on " + joinAnd(slow)
	if len(fast) < len(slow) {
		where = " is faster on " + joinAnd(fast)
	}
	text := where + ": " + strings.TrimSuffix(raw.sentence(), ".")
	switch {
	case len(asFast) == 0 && (!isEverywhere || len(found) == 0):
		return ""
	case len(asFast) == 0:
		return "Everything" + text + ", and no framing's share of that differs by a tenth."
	}
	slices.Sort(asFast)
	return "Raw" + text + ". As fast there as elsewhere: " +
		joinAnd(slices.Compact(asFast)) + "."
}

// A place is where some machines stand: their names, or what they have in common.
type place struct {
	name  string
	known []standing
}

// speedsText says how fast a framing is where: "ndjson keeps 57 % of raw's speed on a and 83 % on
// b".
func speedsText(c results.Cell, where []place) string {
	var parts []string
	for i, p := range where {
		share := speedText(c, p.known)
		if i == 0 {
			share += ofRaw(c)
		}
		parts = append(parts, share+" on "+p.name)
	}
	return framingVerb(c) + " " + nameSome(parts)
}

// differenceTable has a row for each difference.
func differenceTable(all []difference) Table {
	t := Table{
		Title: "Where the machines differ most, beyond the noise",
		Columns: []Column{
			{Title: "what", Key: true},
			{Title: "messages", Key: true},
			{Title: "lower on", Key: true},
			{Title: "higher on", Key: true},
			{Title: "measurements", Right: true, Key: true},
		},
	}
	for _, d := range all {
		t.Append(framingSubject(d.cell),
			SizeTitle(d.cell.Size)+", "+results.ShortPlacement(d.cell.Placement),
			strings.Join(standingNames(d.low), ", ")+": "+speedText(d.cell, d.low),
			strings.Join(standingNames(d.high), ", ")+": "+speedText(d.cell, d.high),
			fmt.Sprintf("%d of %d", d.cells, d.compared))
	}
	return t
}

func standingNames(all []standing) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}
