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
