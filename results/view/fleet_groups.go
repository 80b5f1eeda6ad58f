package view

import (
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

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

func (c comparison) group(d stat.Difference, side []int) Group {
	g := Group{Title: c.name(d, side)}
	for _, i := range side {
		g.Members = append(g.Members, c.members[i])
	}
	return g
}

// groups returns a group of all machines, and one for each side of a difference that has a name.
func (c comparison) groups(all []stat.Member) []Group {
	groups := []Group{{"all", all}}
	for _, d := range c.differences {
		v, _ := c.contrast(d)
		d = c.withoutOddRaw(d, v)
		for _, side := range [][]int{d.Slow, d.Fast} {
			g := c.group(d, side)
			isKnown := slices.ContainsFunc(groups, func(o Group) bool { return o.Title == g.Title })
			if !isKnown && !c.areRest(d, side) && len(groups) < mostGroups {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// FramingGroups returns groups of machines that keep different shares of raw's speed, by framing. A
// framing in which the machines do not differ, or differ by degrees, is left out.
func FramingGroups(members []stat.Member) map[string][]Group {
	groups := make(map[string][]Group)
	c := comparison{members: members}
	for _, d := range stat.Differences(members) {
		isStream := d.Cells[0].Pattern == patternStream
		isFraming := d.Framing != "" && d.Framing != results.FramingRaw
		isCut := len(d.Between) == 0
		if isStream && isFraming && isCut && groups[d.Framing] == nil {
			v, _ := c.contrast(d)
			d = c.withoutOddRaw(d, v)
			groups[d.Framing] = []Group{c.group(d, d.Slow), c.group(d, d.Fast)}
		}
	}
	return groups
}
