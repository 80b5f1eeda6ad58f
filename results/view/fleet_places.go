package view

import (
	"cmp"
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

// A Group has one machine, or machines that have something in common.
type Group struct {
	Title   string
	Members []stat.Member
}

// EachMachine returns a group for each machine.
func EachMachine(members []stat.Member) []Group {
	var each []Group
	for _, m := range members {
		each = append(each, Group{m.Name, []stat.Member{m}})
	}
	return each
}

// A place is a group with its figures in one measurement.
type place struct {
	Group
	stat.Spread
}

// A comparison returns the places that made a measurement, split where neighbours are furthest
// apart, and whether they surely differ. If there are fewer than two, both lists are empty.
type comparison func(results.Cell) (low, high []place, isSure bool)

// eachPlace compares machines by their intervals.
func eachPlace(members []stat.Member) comparison {
	return func(cell results.Cell) (low, high []place, isSure bool) {
		known := usualStandings(members, cell)
		low, high = split(placesOf(known))
		return low, high, high != nil &&
			!sharesAlike(known[0].Estimate, known[len(known)-1].Estimate)
	}
}

// usualStandings returns the figures that can be compared, without those of raw where raw alone is
// unusual.
func usualStandings(members []stat.Member, cell results.Cell) []standing {
	known, _ := standings(members, cell)
	return selected(known, func(s standing) bool { return s.rawAlone == 0 })
}

// rawAloneOn compares raw where it alone is slower with the usual raw or, if there is no such
// machine, where it alone is faster.
func rawAloneOn(members []stat.Member) comparison {
	return func(cell results.Cell) (low, high []place, isSure bool) {
		if cell.Framing != results.FramingRaw {
			return nil, nil, false
		}
		known, _ := standings(members, cell)
		below := selected(known, func(s standing) bool { return s.rawAlone > 0 && s.rawAlone < 1 })
		above := usualStandings(members, cell)
		if len(below) == 0 {
			below, above = above, selected(known, func(s standing) bool { return s.rawAlone > 1 })
		}
		if len(below) > 0 && len(above) > 0 { // without usual machines between the two
			least, most := above[0].Median, below[len(below)-1].Median
			isBetween := func(s standing) bool {
				return s.rawAlone == 0 && s.Median >= least && s.Median <= most
			}
			below = slices.DeleteFunc(below, isBetween)
			above = slices.DeleteFunc(above, isBetween)
		}
		return placesOf(below), placesOf(above), len(below) > 0 && len(above) > 0
	}
}

func placesOf(known []standing) []place {
	var places []place
	for _, s := range known {
		own := Group{s.Name, []stat.Member{s.Member}}
		places = append(places, place{own, spreadOf([]standing{s})})
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
		if places[i].Median/places[i-1].Median > places[at].Median/places[at-1].Median {
			at = i
		}
	}
	return places[:at], places[at:]
}

func namesOfPlaces(all []place) []string {
	var names []string
	for _, p := range all {
		names = append(names, p.Title)
	}
	return names
}

// rangeOf writes the range of the figures of places.
func rangeOf(c results.Cell, all []place) string {
	least, most := all[0].P10, all[0].P90
	for _, p := range all {
		least = min(least, p.P10)
		most = max(most, p.P90)
	}
	return speedRange(c, least, most)
}
