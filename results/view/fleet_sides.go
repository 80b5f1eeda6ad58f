package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
)

// A comparison has what the differences are about: machines, or runs of one machine.
type comparison struct {
	members     []stat.Member
	differences []stat.Difference
	areRuns     bool
}

func others(d stat.Difference, side []int) []int {
	if slices.Equal(side, d.Slow) {
		return d.Fast
	}
	return d.Slow
}

// where says on which machines or in which runs something is so. A second side may be "elsewhere"
// or, if some machines are on neither side, "on most others".
func (c comparison) where(d stat.Difference, side []int, isSecond bool) string {
	if c.areRuns {
		return c.inRuns(d, side, isSecond)
	}
	all := len(d.Slow) + len(d.Fast)
	isExplained := len(c.causes(d, side)) > 0 && len(c.causes(d, others(d, side))) > 0
	switch {
	case !isSecond || all <= stat.FewMachines || isExplained:
		return "on " + c.name(d, side)
	case all < len(c.members):
		return fmt.Sprintf("on %d others", len(side))
	}
	return "elsewhere"
}

// inRuns says in which runs something is so.
func (c comparison) inRuns(d stat.Difference, side []int, isSecond bool) string {
	name := c.name(d, side)
	areTwo := len(d.Slow)+len(d.Fast) == 2
	switch {
	case areTwo && strings.HasPrefix(c.members[side[0]].Environment().Run, name):
		return "in run " + name
	case areTwo && isSecond:
		return "in that of " + name
	case areTwo:
		return "in the run of " + name
	case isSecond:
		return "in the others"
	}
	return fmt.Sprintf("in %d of %d runs (%s)", len(side), len(c.members), name)
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
