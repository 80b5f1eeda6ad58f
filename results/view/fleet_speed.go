package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A difference says in which measurement of a framing machines differ most.
type difference struct {
	cell      results.Cell
	about     subject
	low, high []place        // the machines, or groups of them
	cells     []results.Cell // the measurements in which the same machines are lower
	compared  int            // number of measurements that were clear enough

	mayBeChance bool // between groups of too few machines
}

// A subject is what a difference is about.
type subject int

const (
	aFraming subject = iota
	rawItself
	rawAlone   // framings are as fast as elsewhere
	everything // raw and most framings
)

// begins returns the first word or words of a sentence on raw.
func (s subject) begins() string {
	switch s {
	case rawAlone:
		return "Raw alone"
	case everything:
		return "Everything"
	}
	return "Raw"
}

// leastRatio is the smallest ratio between two machines that is worth telling: a tenth.
const leastRatio = 1.1

// differencesBetween lists the framings in which machines surely differ, the largest difference
// first. Streams and round trips of a framing are told apart. If the lower machines are others in
// some measurements, these make another difference. The speed of raw depends on load and clock,
// too, so it differs from [stat.SlowFactor] on, unless it is raw alone.
func differencesBetween(
	members []stat.Member, compare comparison, ofRaw subject,
) (all []difference) {
	framingAndPattern := func(c results.Cell) string { return c.Framing + " " + c.Pattern }
	for _, cells := range grouped(comparedCells(members), framingAndPattern) {
		about := aFraming
		least := leastRatio
		if cells[0].Framing == results.FramingRaw {
			about = ofRaw
			if about == everything {
				least = stat.SlowFactor
			}
		}
		var own []difference
		compared := 0
		for _, cell := range cells {
			low, high, isSure := compare(cell)
			if len(low)+len(high) == 0 {
				continue
			}
			compared++
			d := difference{cell: cell, about: about, low: low, high: high}
			if isSure && d.ratio() >= least {
				own = append(own, d)
			}
		}
		for _, d := range joinDifferences(own) {
			d.compared = compared
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int {
		return cmp.Compare(b.ratio(), a.ratio())
	})
	return all
}

// joinDifferences joins those of one framing in which the same machines are lower. Of each, it
// takes the measurement that most machines made well enough or, of several, the one in which they
// differ most.
func joinDifferences(all []difference) []difference {
	var joined []difference
	for len(all) > 0 {
		best := slices.MaxFunc(all, func(a, b difference) int {
			return cmp.Or(len(a.low)+len(a.high)-len(b.low)-len(b.high),
				cmp.Compare(a.ratio(), b.ratio()))
		})
		isOther := func(d difference) bool {
			return haveCommon(d.low, best.high) && haveCommon(d.high, best.low)
		}
		others := selected(all, isOther)
		for _, d := range all {
			if !isOther(d) {
				best.cells = append(best.cells, d.cell)
			}
		}
		joined = append(joined, best)
		all = others
	}
	return joined
}

func haveCommon(a, b []place) bool {
	names := namesOfPlaces(b)
	return slices.ContainsFunc(a, func(p place) bool { return slices.Contains(names, p.Title) })
}

// ratio returns how many times the largest figure is the smallest one.
func (d difference) ratio() float64 { return d.high[len(d.high)-1].Median / d.low[0].Median }

// sentence says which machines reach what. It begins with the side of fewer machines.
func (d difference) sentence() string {
	sides := [][]place{d.low, d.high}
	if len(d.high) < len(d.low) {
		slices.Reverse(sides)
	}
	var parts []string
	for i, side := range sides {
		share := rangeOf(d.cell, side)
		if i == 0 {
			share += ofRaw(d.cell)
		}
		parts = append(parts, share+" on "+d.nameOf(side))
	}
	text := framingVerb(d.cell) + " " + joinAnd(parts) + whereMeasured(d.cell)
	count := ""
	if d.compared > 1 {
		count = " in " + d.count() + " measurements" + d.sizes()
	}
	switch d.about {
	case everything:
		ratios := slices.Collect(maps.Values(d.framingRatios()))
		if stat.SpreadOf(ratios).Median < leastRatio {
			d.about = rawItself
		}
		return d.whatIsSlower() + count + ": " + text + "."
	case rawAlone:
		text = d.whatIsSlower() + count + ": " + text + ". Framings are as fast there as elsewhere"
		if changed := d.changed(); len(changed) > 0 {
			text += ", except " + joinAnd(changed)
		}
		return text + "; what they keep of that raw's speed is not compared."
	}
	if isTrip(d.cell) { // names of framings keep their small letters
		text = capitalised(text)
	}
	if count != "" {
		text += "," + count
	}
	return text + "."
}

// framingRatios returns by framing how many times its speed on the higher side is that on the lower
// side, beside d.cell.
func (d difference) framingRatios() map[string]float64 {
	low, high := framingSpeeds(d.low, d.cell), framingSpeeds(d.high, d.cell)
	ratios := make(map[string]float64)
	for framing, speeds := range low {
		if len(high[framing]) > 0 {
			ratios[framing] = stat.SpreadOf(high[framing]).Median / stat.SpreadOf(speeds).Median
		}
	}
	return ratios
}

func framingSpeeds(places []place, raw results.Cell) map[string][]float64 {
	speeds := make(map[string][]float64)
	for _, p := range places {
		for _, m := range p.Members {
			for _, f := range m.Figures {
				beside := f.Cell
				beside.Framing = results.FramingRaw
				if beside == raw && f.Cell != raw {
					speeds[f.Cell.Framing] = append(speeds[f.Cell.Framing], f.Speed.Median)
				}
			}
		}
	}
	return speeds
}

// changed lists the framings that are slower or faster on one of the sides, too.
func (d difference) changed() []string {
	var names []string
	ratios := d.framingRatios()
	for _, framing := range slices.Sorted(maps.Keys(ratios)) {
		if ratio := ratios[framing]; ratio >= leastRatio || ratio <= 1/leastRatio {
			names = append(names, results.FramingPhrase(framing))
		}
	}
	return names
}

// whatIsSlower says what is slower, or faster, on fewer of the machines.
func (d difference) whatIsSlower() string {
	slow, fast := d.low, d.high
	if isTrip(d.cell) {
		slow, fast = fast, slow
	}
	if len(fast) < len(slow) {
		return d.about.begins() + " is faster on " + d.nameOf(fast)
	}
	return d.about.begins() + " is slower on " + d.nameOf(slow)
}

// count says in how many measurements the machines differ in this way.
func (d difference) count() string { return fmt.Sprintf("%d of %d", len(d.cells), d.compared) }

// sizes says of which messages the measurements are that count counts, if these are not all.
func (d difference) sizes() string {
	if len(d.cells) == d.compared {
		return ""
	}
	var sizes []int
	for _, c := range d.cells {
		sizes = append(sizes, c.Size)
	}
	slices.Sort(sizes)
	var titles []string
	for _, size := range slices.Compact(sizes) {
		titles = append(titles, SizeTitle(size))
	}
	return " (" + joinAnd(titles) + ")"
}

// nameOf names the machines of a side. If they have something in common, it says what, and names
// only a few machines.
func (d difference) nameOf(side []place) string {
	name := nameSome(namesOfPlaces(side))
	cause := d.cause()
	if len(cause.factors) == 0 {
		return name
	}
	common := cause.phrase(side[0].Members[0])
	if len(d.low)+len(d.high) > FewMachines {
		return common
	}
	return common + " (" + name + ")"
}

// cause returns the properties, such as the processor, of which all machines on one side have one
// value, and all on the other side another. There are none if only two machines are compared, or
// groups.
func (d difference) cause() grouping {
	var members []stat.Member
	for _, p := range slices.Concat(d.low, d.high) {
		if p.Title != p.Members[0].Name { // a group
			return grouping{}
		}
		members = append(members, p.Members...)
	}
	low := namesOfPlaces(d.low)
	isLow := func(own []stat.Member) bool {
		return len(own) == len(low) && !slices.ContainsFunc(own, func(m stat.Member) bool {
			return !slices.Contains(low, m.Name)
		})
	}
	for _, g := range groupings(members) {
		if len(g.groups) == 2 && slices.ContainsFunc(g.groups, isLow) {
			return g
		}
	}
	return grouping{}
}

// isOf reports whether two differences are about the same framing and pattern.
func (d difference) isOf(other difference) bool {
	return d.cell.Framing == other.cell.Framing && d.cell.Pattern == other.cell.Pattern
}

// speedSentences says in what raw differs, and in which framing machines differ most.
func speedSentences(all []difference) []string {
	var raw, framing []string
	var first difference
	for _, d := range all {
		switch {
		case d.about != aFraming:
			raw = append(raw, d.sentence())
		case len(framing) == 0 || d.isOf(first):
			first = d
			framing = append(framing, d.sentence())
		}
	}
	return append(raw, framing...)
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
			{Title: "measurements", Key: true},
		},
	}
	for _, d := range all {
		subject := framingSubject(d.cell)
		if d.about == rawAlone {
			subject += " alone"
		}
		t.Append(subject, SizeTitle(d.cell.Size)+", "+results.ShortPlacement(d.cell.Placement),
			d.nameOf(d.low)+": "+rangeOf(d.cell, d.low),
			d.nameOf(d.high)+": "+rangeOf(d.cell, d.high), d.count()+d.sizes())
	}
	return t
}
