package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// placementMatters compares two placements with each other, and with what the
// choice of a framing is worth.
func placementMatters(all []series) string {
	fast, slow, e := widestPlacement(stat.Filter(all, func(s series) bool { return len(s.framed) > 0 }))
	if fast == nil { // raw alone: what a profile measures
		fast, slow, e = widestPlacement(all)
	}
	if fast == nil {
		return ""
	}
	text := fmt.Sprintf("raw %s at %s does %s times (%s to %s) the %s of raw %s", fast.where, results.FormatSize(int64(fast.size)),
		results.FormatNumber(e.Median, 2), results.FormatNumber(e.Interval.Lo, 2), results.FormatNumber(e.Interval.Hi, 2), "goodput", slow.where)
	if fast.cell.Pattern == results.PatternRoundtrip {
		text = fmt.Sprintf("a raw round trip of %s takes %s times (%s to %s) as long %s as %s", results.FormatSize(int64(fast.size)),
			results.FormatNumber(e.Median, 2), results.FormatNumber(e.Interval.Lo, 2), results.FormatNumber(e.Interval.Hi, 2), slow.where, fast.where)
	}
	framings := append(slices.Clone(fast.framed), slow.framed...)
	if len(framings) == 0 {
		return capitalised(text) + "."
	}
	dearest := slowdown(slices.MaxFunc(framings, func(a, b stat.Row) int { return cmp.Compare(slowdown(a).Median, slowdown(b).Median) }))
	switch {
	case e.Interval.Lo > dearest.Interval.Hi:
		return fmt.Sprintf("Where the ends run matters more than the framing: %s; the dearest framing makes a factor of %s.", text, results.FormatNumber(dearest.Median, 2))
	case e.Interval.Hi < dearest.Interval.Lo:
		return fmt.Sprintf("The framing matters more than where the ends run: the dearest makes a factor of %s; %s.", results.FormatNumber(dearest.Median, 2), text)
	}
	return capitalised(text) + "."
}

// widestPlacement finds the two series that differ in placement alone and whose
// raw cells, in the same rounds, differ most beyond doubt. The estimate is above 1.
func widestPlacement(all []series) (fast, slow *series, widest stat.Estimate) {
	for i := range all {
		for j := range all {
			a, b := &all[i], &all[j]
			if a.raw == nil || b.raw == nil || !placementAlone(*a, *b) {
				continue
			}
			e := stat.PairedRatio(stat.RelativeMetric(a.cell, a.cell), a.raw.Records, b.raw.Records)
			if a.cell.Pattern == results.PatternRoundtrip && e.N > 0 && e.Median > 0 {
				e = e.Inverse()
			}
			if e.Above(1) && e.Median > widest.Median {
				fast, slow, widest = a, b, e
			}
		}
	}
	return fast, slow, widest
}

func placementAlone(a, b series) bool {
	if a.machine != b.machine || a.size != b.size || a.cell.Placement == b.cell.Placement {
		return false
	}
	a.cell.Placement = b.cell.Placement
	return a.cell == b.cell
}
