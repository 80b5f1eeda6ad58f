package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Group has one machine, or machines that are about equally fast in something.
type Group struct {
	Title   string
	Members []stat.Member
	alike   int // how many machines have what the title says, if it names no machine
}

func (c comparison) group(title string, members []int) Group {
	group := Group{Title: title}
	for _, i := range members {
		group.Members = append(group.Members, c.members[i])
	}
	return group
}

// EachMachine returns a group for each machine.
func EachMachine(members []stat.Member) []Group {
	var each []Group
	for _, m := range members {
		each = append(each, Group{Title: m.Name, Members: []stat.Member{m}})
	}
	return each
}

// FramingGroups returns groups of machines that keep different shares of raw's speed, by framing. A
// framing in which the machines do not differ, or differ by degrees, is left out. If no raw is that
// of most machines, there are the groups of raw alone: they differ in the shares of all framings.
func FramingGroups(members []stat.Member) map[string][]Group {
	groups := make(map[string][]Group)
	c := comparison{members: members, differences: stat.Differences(members)}
	for _, d := range c.differences {
		isRaw := d.Framing == results.FramingRaw
		isShare := d.Framing != "" && !isTrip(d.Cells[0]) && (!isRaw || d.IsSplit())
		if d.ByDegrees || !isShare || groups[d.Framing] != nil {
			continue
		}
		for _, g := range d.Groups {
			groups[d.Framing] = append(groups[d.Framing], c.group(c.name(d, g), g.Members))
		}
		if isRaw { // which comes first
			break
		}
	}
	return groups
}

// place says on which machines or in which runs something is so.
func (c comparison) place(d stat.Difference, g stat.SpeedGroup) string {
	name := c.name(d, g)
	switch {
	case !c.areRuns:
		return "on " + name
	case c.areOthers(d, g):
		return "in " + name
	case len(g.Members) > 1:
		return "in the runs of " + name
	}
	return "in the run of " + name
}

// name names the machines of a group by what they have in common and no other machine has. It names
// a few of them, too.
func (c comparison) name(d stat.Difference, g stat.SpeedGroup) string {
	common, _ := c.common(d, g)
	switch {
	case common != "" && len(c.members) > stat.FewMachines:
		return common
	case common != "":
		return common + " (" + c.names(g.Members) + ")"
	case c.areOthers(d, g):
		return fmt.Sprintf("%d others", len(g.Members))
	}
	return c.names(g.Members)
}

func (c comparison) names(members []int) string {
	var names []string
	for _, i := range members {
		names = append(names, c.members[i].Name)
	}
	return nameSome(names)
}

// areOthers reports whether a group is the usual one and has too many machines to name.
func (c comparison) areOthers(d stat.Difference, g stat.SpeedGroup) bool {
	isUsual := slices.Equal(g.Members, d.Groups[d.Usual()].Members)
	return isUsual && len(g.Members) > mostNamedMachines+1
}

// mostExceptions is how many machines may be exceptions from what a group has in common. The group
// must have this many times as many machines as exceptions.
const (
	mostExceptions = 2
	perException   = 4
)

// common returns what the machines of a group have and no other machine has, such as "linux 6.1".
// One or two machines may be exceptions, which are then named. There is nothing for a single
// machine: its name tells more. Properties are those that the phrase is about.
func (c comparison) common(d stat.Difference, g stat.SpeedGroup) (phrase string,
	properties []string) {
	if len(g.Members) < 2 || c.areRuns {
		return "", nil
	}
	var others []int
	for _, other := range d.Groups {
		if !slices.Equal(other.Members, g.Members) {
			others = append(others, other.Members...)
		}
	}
	fewest := min(mostExceptions, min(len(g.Members), len(others))/perException)
	all := c.properties()
	var found []string // with the fewest exceptions
	for _, factor := range all {
		value, missing, extra := c.mostUsual(factor, g.Members, others)
		exceptions := len(missing) + len(extra)
		if value == "" || exceptions > fewest {
			continue
		}
		if exceptions < fewest {
			fewest = exceptions
			found, properties = nil, nil
		}
		if len(extra) > 0 {
			value += " except " + joinAnd(extra)
		}
		if len(missing) > 0 {
			value += " and " + joinAnd(missing)
		}
		found = append(found, value)
		properties = append(properties, factor)
	}
	if len(found) == 0 {
		return c.commonPair(all, g.Members, others)
	}
	if fewest > 0 { // several would name the exceptions several times
		return found[0], properties[:1]
	}
	return strings.Replace(strings.Join(found, ", "), ", ", " with ", 1), properties
}

// commonPair returns two properties that all the machines have and none of the others has both of.
// It returns nothing for two machines, which may have them by chance.
func (c comparison) commonPair(all []string, machines, others []int) (string, []string) {
	if len(machines) < 3 {
		return "", nil
	}
	for i, first := range all {
		phrase, missing, extra := c.mostUsual(first, machines, others)
		if phrase == "" || len(missing) > 0 {
			continue
		}
		isExtra := func(name string) bool { return slices.Contains(extra, name) }
		for _, second := range all[i+1:] {
			beside, missing, both := c.mostUsual(second, machines, others)
			if beside != "" && len(missing) == 0 && !slices.ContainsFunc(both, isExtra) {
				return phrase + " with " + beside, []string{first, second}
			}
		}
	}
	return "", nil
}

// leastWays is how many sets of machines as large as the slower ones there must be. Then a property
// that just these have is hardly there by chance.
const leastWays = 100

// parted returns a difference by degrees as one between two groups, if a property parts the slower
// machines from the others. Else it returns the difference itself.
func (c comparison) parted(d stat.Difference) stat.Difference {
	if !d.ByDegrees || c.areRuns {
		return d
	}
	least := leastRatio
	if d.Framing == "" {
		least = stat.SlowFactor
	}
	n := len(d.Each)
	ways := 1.0 // to choose the slower machines
	for slower := 1; slower < n; slower++ {
		ways *= float64(n-slower+1) / float64(slower)
		if ways < leastWays {
			continue
		}
		two := d
		two.ByDegrees = false
		two.Groups = []stat.SpeedGroup{oneGroup(d.Each[:slower]), oneGroup(d.Each[slower:])}
		slow, fast := two.Groups[0].Members, two.Groups[1].Members
		parts := func(property string) bool {
			return c.parts(property, slow, fast) || c.parts(property, fast, slow)
		}
		if two.Ratio() >= least && slices.ContainsFunc(c.properties(), parts) {
			return two
		}
	}
	return d
}

// parts reports whether all the machines have the same value of a property, and none of the others.
func (c comparison) parts(property string, machines, others []int) bool {
	value, missing, extra := c.mostUsual(property, machines, others)
	return value != "" && len(missing)+len(extra) == 0
}

// properties lists what machines may have in common.
func (c comparison) properties() []string {
	labels := make(map[string]string)
	for _, m := range c.members {
		for _, e := range m.Runs {
			maps.Copy(labels, e.Labels)
		}
	}
	return append(slices.Clone(factors), slices.Sorted(maps.Keys(labels))...)
}

// oneGroup makes one group of the groups of single machines.
func oneGroup(each []stat.SpeedGroup) stat.SpeedGroup {
	var all stat.SpeedGroup
	for _, g := range each {
		all.Members = append(all.Members, g.Members...)
	}
	slices.Sort(all.Members)
	all.Speed = each[len(each)/2].Speed
	return all
}

// row returns machines as a group with a short title, which leaves room for figures: by the
// properties that sentences tell of, if all of several machines have them.
func (c comparison) row(machines []int) Group {
	row := c.group(c.names(machines), machines)
	if len(machines) < 3 {
		return row
	}
	row.Title = fmt.Sprintf("%s and %d more", row.Members[0].Name, len(machines)-1)
	alike := c.members
	var common []string
	for _, property := range c.told() {
		phrase, missing, _ := c.mostUsual(property, machines, nil)
		if phrase != "" && len(missing) == 0 {
			common = append(common, phrase)
			alike = selected(alike, func(m stat.Member) bool {
				return factorOf(m, property) == factorOf(row.Members[0], property)
			})
		}
	}
	if len(common) > 0 {
		row.Title = strings.Join(common, ", ")
		row.alike = len(alike)
	}
	return row
}

// factors returns the properties that may influence figures, and the labels in sentences.
func (c comparison) factors() []string {
	told := c.told()
	return selected(c.properties(), func(property string) bool {
		return slices.Contains(factors, property) || slices.Contains(told, property)
	})
}

// told returns the properties that sentences tell of.
func (c comparison) told() []string {
	var all []string
	for _, d := range c.differences {
		for _, g := range inOrder(d) {
			_, properties := c.common(d, g)
			all = append(all, properties...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mostUsual returns a phrase for the value of a property that most of the machines have, the names
// of those that lack it, and the names of other machines that have it. It returns "" if that value
// is not known.
func (c comparison) mostUsual(factor string, machines, others []int) (phrase string, missing,
	extra []string) {
	byValue := grouped(machines, func(i int) string { return factorOf(c.members[i], factor) })
	most := slices.MaxFunc(byValue, func(a, b []int) int { return len(a) - len(b) })
	value := factorOf(c.members[most[0]], factor)
	if value == unknown {
		return "", nil, nil
	}
	for _, i := range machines {
		if factorOf(c.members[i], factor) != value {
			missing = append(missing, c.members[i].Name)
		}
	}
	for _, i := range others {
		if factorOf(c.members[i], factor) == value {
			extra = append(extra, c.members[i].Name)
		}
	}
	return factorPhrase(c.members[most[0]], factor), missing, extra
}
