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
			case ok && percent <= stat.MostBlur && !isDoubtful(m, cell):
				known = append(known, standing{m, e})
			case e.N > 0:
				noisy = append(noisy, standing{m, e})
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

// mostGroups is how many groups of machines a table may have.
const mostGroups = 12

// groups returns a group for each side of each difference.
func (c comparison) groups() []Group {
	var all []Group
	for _, d := range c.differences {
		for _, side := range [][]int{d.Slow, d.Fast} {
			g := Group{Title: c.name(d, side)}
			for _, i := range side {
				g.Members = append(g.Members, c.members[i])
			}
			isKnown := slices.ContainsFunc(all, func(o Group) bool { return o.Title == g.Title })
			if !isKnown && len(all) < mostGroups {
				all = append(all, g)
			}
		}
	}
	return all
}

// FramingGroups returns groups of machines that keep different shares of raw's speed, by framing. A
// framing in which the machines do not differ is left out.
func FramingGroups(members []stat.Member) map[string][]Group {
	groups := make(map[string][]Group)
	for _, d := range stat.Differences(members) {
		isTrip := d.Cells[0].Pattern == results.PatternRoundtrip
		if d.Framing != "" && !isTrip && groups[d.Framing] == nil {
			one := comparison{members: members, differences: []stat.Difference{d}}
			groups[d.Framing] = one.groups()
		}
	}
	return groups
}
