package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// groups returns a group of all machines, then groups by each property, such as the processor, on
// which the speed of a framing depends. A sentence for each such grouping says how. Those in
// perhaps may be chance.
func (v fleetStream) groups(members []stat.Member) (all []group, sure, perhaps []string) {
	all = []group{{"all", members}}
	for _, g := range groupings(members) {
		text, isCertain := v.dependence(g)
		switch {
		case text == "":
			continue
		case isCertain:
			sure = append(sure, text)
		default:
			perhaps = append(perhaps, text)
		}
		for _, own := range g.groups[:min(len(g.groups), mostGroups)] {
			all = append(all, group{g.phrase(own[0]), own})
		}
	}
	return all, sure, perhaps
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

// dependence says which framings' speed, relative to raw bytes, differs between groups of machines:
// "ndjson keeps 60 % of raw's speed on linux 6.1 and 84 % on linux 6.18". If no such difference is
// certain, it says those that may be chance.
func (v fleetStream) dependence(g grouping) (text string, isCertain bool) {
	var sure, perhaps []string
	for _, framing := range slices.Concat(v.framings, []string{results.FramingRaw}) {
		cell := v.of(framing)
		var shares [][]float64
		var where []place
		for _, own := range g.groups {
			known, _ := standings(own, cell)
			if len(known) == 0 {
				continue
			}
			shares = append(shares, mediansOf(known))
			where = append(where, place{g.phrase(own[0]), mostOf(known)})
		}
		slices.SortFunc(where, func(a, b place) int {
			return cmp.Compare(a.known[0].Median, b.known[0].Median)
		})
		isSlight := framing == results.FramingRaw && len(where) > 1 &&
			where[len(where)-1].known[0].Median < stat.SlowFactor*where[0].known[0].Median
		switch certain, likely := stat.Differ(shares); {
		case isSlight: // the speed of raw depends on load and clock, too
		case certain:
			sure = append(sure, speedsText(cell, where))
		case likely:
			perhaps = append(perhaps, speedsText(cell, where))
		}
	}
	switch {
	case len(sure) > 0:
		return strings.Join(sure, "; ") + whereMeasured(v.cell) + ".", true
	case len(perhaps) > 0:
		return strings.Join(perhaps, "; ") + whereMeasured(v.cell) +
			": too few machines to rule out chance.", false
	}
	return "", false
}
