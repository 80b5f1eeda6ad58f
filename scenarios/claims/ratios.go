package claims

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// noticeable is the share below which a difference counts as none if a document says "no" or "no
// significant" difference: figures of an idle machine differ that much between two runs.
const noticeable = 0.05

// A Ratio compares a cell's figure with that of the same messages without a framing, or as plain
// lines, round by round.
type Ratio struct {
	Framing   string        `json:"framing"`
	Size      int           `json:"size"`
	Placement string        `json:"placement"`
	Ratio     stat.Estimate `json:"ratio"`
}

// ratios compares a framing with another one by one metric, for every placement of a pattern and
// every size from least on.
func ratios(records []results.Record, metric, framing, base, pattern string, least int) []Ratio {
	m := stat.MustMetric(metric)
	var out []Ratio
	for _, a := range records {
		if a.Cell.Framing != framing || a.Cell.Pattern != pattern || a.Cell.Size < least {
			continue
		}
		other := a.Cell
		other.Framing = base
		var same []results.Record
		for _, b := range records {
			if b.Cell == other {
				same = append(same, b)
			}
		}
		e := stat.PairedRatio(m, []results.Record{a}, same)
		if e.N > 0 {
			out = append(out, Ratio{framing, a.Cell.Size, a.Cell.Placement, e})
		}
	}
	return out
}

// compareAll judges the claim that no ratio lies above a bound. It holds if every interval ends at
// or below the bound, and is refuted if every interval begins above. Else it depends, which is sure
// only if some intervals lie on each side.
func compareAll(all []Ratio, bound float64) (verdict string, unsure bool) {
	above := 0
	below := 0
	for _, r := range all {
		if r.Ratio.Above(bound) {
			above++
		} else if r.Ratio.Interval != nil && r.Ratio.Interval.Hi <= bound {
			below++
		}
	}
	switch {
	case len(all) == 0:
		return Depends, true
	case below == len(all):
		return Holds, false
	case above == len(all):
		return Refuted, false
	}
	return Depends, above == 0 || below == 0
}

// ratioRange describes ratios by the lowest and the highest median, with their intervals, and the
// least number of rounds.
func ratioRange(all []Ratio) string {
	if len(all) == 0 {
		return "no figure"
	}
	lo := all[0]
	hi := all[0]
	n := all[0].Ratio.N
	for _, r := range all[1:] {
		if r.Ratio.Median < lo.Ratio.Median {
			lo = r
		}
		if r.Ratio.Median > hi.Ratio.Median {
			hi = r
		}
		n = min(n, r.Ratio.N)
	}
	return fmt.Sprintf("%s at %s to %s at %s, n = %d",
		estimate(lo.Ratio), lo.at(), estimate(hi.Ratio), hi.at(), n)
}

func (r Ratio) at() string { return results.FormatSize(int64(r.Size)) + " " + r.Placement }

// estimate writes a ratio with its interval.
func estimate(e stat.Estimate) string {
	median := "×" + results.FormatNumber(e.Median, 3)
	if e.Interval == nil {
		return median
	}
	return fmt.Sprintf("%s [%s, %s]", median,
		results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
}
