package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A standing is the figure of one machine in one measurement: the goodput of a framing divided by
// that of raw bytes, or the time of a round trip divided by raw's. For raw itself, it is the
// goodput or the time.
type standing struct {
	stat.Member
	stat.Estimate
	rawAlone float64 // see [stat.Figure]
}

// standings returns the figures of the machines that made a measurement, the smallest first. The
// second result has those that are too noisy to compare.
func standings(members []stat.Member, cell results.Cell) (known, noisy []standing) {
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell != cell {
				continue
			}
			e := f.Compared()
			percent, ok := e.Spread()
			switch {
			case ok && percent <= maxBlur && !isDoubtful(m, cell):
				known = append(known, standing{m, e, f.RawAlone})
			case e.N > 0:
				noisy = append(noisy, standing{m, e, f.RawAlone})
			}
		}
	}
	slices.SortStableFunc(known, func(a, b standing) int { return cmp.Compare(a.Median, b.Median) })
	return known, noisy
}

// isDoubtful reports whether the median of raw at a measurement means little.
func isDoubtful(m stat.Member, cell results.Cell) bool {
	cell.Framing = results.FramingRaw
	return slices.Contains(m.Doubtful, cell)
}

// A place is a machine, or machines that have something in common, with the range and the median of
// their figures in one measurement.
type place struct {
	name                string
	members             []stat.Member
	median, least, most float64
}

// A comparison returns the places that made a measurement, split where neighbours are furthest
// apart, and whether they surely differ. If there are fewer than two, both lists are empty.
type comparison func(results.Cell) (low, high []place, isSure bool)

// eachPlace compares machines by their intervals, without those whose raw alone is unusual.
func eachPlace(members []stat.Member) comparison {
	return func(cell results.Cell) (low, high []place, isSure bool) {
		own := selected(members, func(m stat.Member) bool { return !isRawAlone(m, cell) })
		known, _ := standings(own, cell)
		low, high = split(placesOf(known))
		return low, high, high != nil &&
			!sharesAlike(known[0].Estimate, known[len(known)-1].Estimate)
	}
}

// isRawAlone reports whether raw alone is unusual on a machine.
func isRawAlone(m stat.Member, cell results.Cell) bool {
	return slices.ContainsFunc(m.Figures, func(f stat.Figure) bool {
		return f.Cell == cell && f.RawAlone > 0
	})
}

// rawAloneOn compares raw where it alone is slower or faster with the usual raw.
func rawAloneOn(members []stat.Member) comparison {
	return func(cell results.Cell) (low, high []place, isSure bool) {
		if cell.Framing != results.FramingRaw {
			return nil, nil, false
		}
		known, _ := standings(members, cell)
		odd := selected(known, func(s standing) bool { return s.rawAlone > 0 && s.rawAlone < 1 })
		if len(odd) > 0 {
			usual := selected(known, func(s standing) bool {
				return s.rawAlone == 0 && s.Median > odd[len(odd)-1].Median
			})
			return placesOf(odd), placesOf(usual), len(usual) > 0
		}
		odd = selected(known, func(s standing) bool { return s.rawAlone > 1 })
		usual := selected(known, func(s standing) bool {
			return s.rawAlone == 0 && (len(odd) == 0 || s.Median < odd[0].Median)
		})
		return placesOf(usual), placesOf(odd), len(usual) > 0 && len(odd) > 0
	}
}

func placesOf(known []standing) []place {
	var places []place
	for _, s := range known {
		own := []stat.Member{s.Member}
		places = append(places, place{s.Name, own, s.Median, s.Median, s.Median})
	}
	return places
}

// split cuts places into two where neighbours are furthest apart. The one with the smallest median
// must come first.
func split(places []place) (low, high []place) {
	if len(places) < 2 {
		return nil, nil
	}
	at := 1
	for i := 2; i < len(places); i++ {
		if places[i].median/places[i-1].median > places[at].median/places[at-1].median {
			at = i
		}
	}
	return places[:at], places[at:]
}

// A difference says in which measurement of a framing machines differ most.
type difference struct {
	cell      results.Cell
	what      string         // everything, rawAlone, or "" if it is about a framing
	low, high []place        // the machines, or groups of them
	cells     []results.Cell // the measurements in which the same machines are lower
	compared  int            // number of measurements that were clear enough
}

// What a difference of raw is about.
const (
	everything = "Everything"
	rawAlone   = "Raw alone"
)

// leastRatio is the smallest ratio between two machines that is worth telling: a tenth.
const leastRatio = 1.1

// differencesBetween lists the framings in which machines surely differ, the largest difference
// first. Streams and round trips of a framing are told apart. If the lower machines are others in
// some measurements, these make another difference. The speed of raw depends on load and clock,
// too, so it differs from [stat.SlowFactor] on, unless it is raw alone.
func differencesBetween(
	members []stat.Member, compare comparison, ofRaw string,
) (all []difference) {
	framingAndPattern := func(c results.Cell) string { return c.Framing + " " + c.Pattern }
	for _, cells := range grouped(comparedCells(members), framingAndPattern) {
		what, least := "", leastRatio
		if cells[0].Framing == results.FramingRaw {
			what = ofRaw
			if what == everything {
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
			d := difference{cell: cell, what: what, low: low, high: high}
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
	return slices.ContainsFunc(a, func(p place) bool { return slices.Contains(names, p.name) })
}

// ratio returns how many times the largest figure is the smallest one.
func (d difference) ratio() float64 { return d.high[len(d.high)-1].median / d.low[0].median }

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
	switch d.what {
	case everything:
		ratios := slices.Collect(maps.Values(d.framingRatios()))
		if stat.SpreadOf(ratios).Median < leastRatio {
			d.what = "Raw"
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
		for _, m := range p.members {
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
		return d.what + " is faster on " + d.nameOf(fast)
	}
	return d.what + " is slower on " + d.nameOf(slow)
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
	common := cause.phrase(side[0].members[0])
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
	low := make(map[string]bool)
	for _, p := range slices.Concat(d.low, d.high) {
		if p.name != p.members[0].Name { // a group
			return grouping{}
		}
		members = append(members, p.members...)
	}
	for _, p := range d.low {
		low[p.members[0].Name] = true
	}
	isLow := func(own []stat.Member) bool {
		return len(own) == len(low) && !slices.ContainsFunc(own, func(m stat.Member) bool {
			return !low[m.Name]
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
		case d.what != "":
			raw = append(raw, d.sentence())
		case len(framing) == 0 || d.isOf(first):
			first = d
			framing = append(framing, d.sentence())
		}
	}
	return append(raw, framing...)
}

func namesOfPlaces(all []place) []string {
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	return names
}

// rangeOf writes the range of the figures of places.
func rangeOf(c results.Cell, all []place) string {
	least, most := all[0].least, all[0].most
	for _, p := range all {
		least = min(least, p.least)
		most = max(most, p.most)
	}
	return speedRange(c, least, most)
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
		if d.what == rawAlone {
			subject += " alone"
		}
		t.Append(subject, SizeTitle(d.cell.Size)+", "+results.ShortPlacement(d.cell.Placement),
			d.nameOf(d.low)+": "+rangeOf(d.cell, d.low),
			d.nameOf(d.high)+": "+rangeOf(d.cell, d.high), d.count()+d.sizes())
	}
	return t
}
