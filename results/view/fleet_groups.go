package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// groups returns a group of all machines, then groups by each property, such as the processor, on
// which the speed of a framing depends. A sentence for each such property says how. Those in
// perhaps may be chance.
func (v fleetStream) groups(members []stat.Member) (all []group, sure, perhaps []string) {
	all = []group{{"all", members}}
	for _, factor := range factors {
		byValue := grouped(members, func(m stat.Member) string { return factorOf(m, factor) })
		// true if at least two machines have the same value, but not all do
		isShared := len(byValue) > 1 && len(byValue) < len(members)
		if !isShared {
			continue
		}
		slices.SortStableFunc(byValue, func(a, b []stat.Member) int { return len(b) - len(a) })
		text, isCertain := v.dependence(factor, byValue)
		switch {
		case text == "":
			continue
		case isCertain:
			sure = append(sure, text)
		default:
			perhaps = append(perhaps, text)
		}
		for _, own := range byValue[:min(len(byValue), mostGroups)] {
			all = append(all, group{factorPhrase(own[0], factor), own})
		}
	}
	return all, sure, perhaps
}

// mostGroups is how many groups of machines by one property, such as the processor, a table may
// have.
const mostGroups = 12

// dependence says which framings' speed, relative to raw bytes, differs between groups of machines
// by one property: "ndjson keeps 60 % of raw's speed on linux 6.1 and 84 % on linux 6.18". If no
// such difference is certain, it says those that may be chance.
func (v fleetStream) dependence(
	factor string, byValue [][]stat.Member,
) (text string, isCertain bool) {
	var sure, perhaps []string
	for _, framing := range slices.Concat(v.framings, []string{results.FramingRaw}) {
		cell := v.of(framing)
		var shares [][]float64
		var where []place
		for _, own := range byValue {
			known, _ := standings(own, cell)
			if len(known) == 0 {
				continue
			}
			shares = append(shares, mediansOf(known))
			where = append(where, place{factorPhrase(own[0], factor), mostOf(known)})
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
