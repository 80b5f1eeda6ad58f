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

// sides returns a group for each side of a difference.
func (c comparison) sides(d stat.Difference) []Group {
	var both []Group
	for _, side := range [][]int{d.Slow, d.Fast} {
		g := Group{Title: c.name(d, side)}
		for _, i := range side {
			g.Members = append(g.Members, c.members[i])
		}
		both = append(both, g)
	}
	return both
}

// groups returns a group of all machines, and one for each side of a difference that has a name.
func (c comparison) groups(all []stat.Member) []Group {
	groups := []Group{{"all", all}}
	for _, d := range c.differences {
		for i, side := range [][]int{d.Slow, d.Fast} {
			g := c.sides(d)[i]
			isKnown := slices.ContainsFunc(groups, func(o Group) bool { return o.Title == g.Title })
			if !isKnown && !c.areRest(d, side) && len(groups) < mostGroups {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// FramingGroups returns groups of machines that keep different shares of raw's speed, by framing. A
// framing in which the machines do not differ is left out.
func FramingGroups(members []stat.Member) map[string][]Group {
	groups := make(map[string][]Group)
	for _, d := range stat.Differences(members) {
		isStream := d.Cells[0].Pattern == patternStream
		isFraming := d.Framing != "" && d.Framing != results.FramingRaw
		if isStream && isFraming && groups[d.Framing] == nil {
			groups[d.Framing] = comparison{members: members}.sides(d)
		}
	}
	return groups
}
