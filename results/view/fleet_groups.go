package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// groupsOf returns a group of all machines, then groups by each property, such as the processor, on
// which the speed of a framing depends. The differences say how. lead says it in sentences, first
// what is sure.
func groupsOf(members []stat.Member) (all []Group, found []difference, lead []string) {
	all = []Group{{"all", members}}
	found = differencesBetween(members, rawAloneOn(members), rawAlone)
	alone := found
	lead = speedSentences(found)
	var perhaps []string
	for _, g := range groupings(members) {
		own := g.differences(members, true)
		lead = append(lead, speedSentences(own)...)
		if len(own) == 0 {
			own = g.differences(members, false)
			for _, text := range speedSentences(own) {
				perhaps = append(perhaps, strings.TrimSuffix(text, ".")+chanceNote)
			}
		}
		found = append(found, own...)
		isCause := func(d difference) bool { return slices.Equal(d.cause().factors, g.factors) }
		if len(own) == 0 && !slices.ContainsFunc(alone, isCause) {
			continue
		}
		for _, alike := range g.groups[:min(len(g.groups), mostGroups)] {
			all = append(all, Group{g.phrase(alike[0]), alike})
		}
	}
	return all, found, append(lead, perhaps...)
}

// chanceNote ends a sentence on groups of machines that are too few.
const chanceNote = ": too few machines to rule out that these groups differ by chance."

// FramingGroups returns groups of machines that keep different shares of raw's speed, by framing. A
// framing without a difference between groups is left out.
func FramingGroups(members []stat.Member) map[string][]Group {
	groups := make(map[string][]Group)
	_, found, _ := groupsOf(members)
	for _, d := range found {
		framing := d.cell.Framing
		if d.about != aFraming || isTrip(d.cell) || groups[framing] != nil {
			continue
		}
		for _, side := range [][]place{d.low, d.high} {
			own := Group{Title: d.nameOf(side)}
			for _, p := range side {
				own.Members = append(own.Members, p.Members...)
			}
			groups[framing] = append(groups[framing], own)
		}
	}
	return groups
}

// A grouping is a way to part machines by a property, such as the processor, or by several that go
// together: figures cannot tell these apart.
type grouping struct {
	factors []string
	groups  [][]stat.Member // the largest first
}

// groupings parts machines by each property that at least two machines share, but not all.
func groupings(members []stat.Member) []grouping {
	var all []grouping
	known := make(map[string]int) // index in all by the names in each group
	for _, factor := range factors {
		byValue := grouped(members, func(m stat.Member) string { return factorOf(m, factor) })
		if len(byValue) < 2 || len(byValue) == len(members) {
			continue
		}
		id := ""
		for _, own := range byValue {
			for _, m := range own {
				id += m.Name + "\n"
			}
			id += "\n"
		}
		if at, isKnown := known[id]; isKnown {
			all[at].factors = append(all[at].factors, factor)
			continue
		}
		known[id] = len(all)
		slices.SortStableFunc(byValue, func(a, b []stat.Member) int { return len(b) - len(a) })
		all = append(all, grouping{[]string{factor}, byValue})
	}
	return all
}

// phrase names what a machine has of the grouping's properties: "linux 6.1 with AMD EPYC".
func (g grouping) phrase(m stat.Member) string {
	var phrases []string
	for _, factor := range g.factors {
		phrases = append(phrases, factorPhrase(m, factor))
	}
	return strings.Replace(strings.Join(phrases, ", "), ", ", " with ", 1)
}

// mostGroups is how many groups of machines by one property, such as the processor, a table may
// have.
const mostGroups = 12

// differences lists the framings in which the groups differ, in a quarter of the measurements at
// least. If they need not be certain, some may be chance.
func (g grouping) differences(members []stat.Member, isCertain bool) []difference {
	compare := func(cell results.Cell) (low, high []place, isSure bool) {
		var figures [][]float64
		var places []place
		for _, own := range g.groups {
			known := usualStandings(own, cell)
			if len(known) > 0 {
				figures = append(figures, mediansOf(known))
				places = append(places, place{Group{g.phrase(own[0]), own}, spreadOf(known)})
			}
		}
		slices.SortStableFunc(places, func(a, b place) int {
			return cmp.Compare(a.Median, b.Median)
		})
		low, high = split(places)
		certain, likely := stat.Differ(figures)
		return low, high, certain || likely && !isCertain
	}
	var frequent []difference
	for _, d := range differencesBetween(members, compare, everything) {
		if 4*len(d.cells) >= d.compared {
			d.mayBeChance = !isCertain
			frequent = append(frequent, d)
		}
	}
	return frequent
}
