package claims

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A ratio is what was measured for one framing, a way of telling messages apart, divided by what
// was measured for another.
type ratio struct {
	size      int
	placement string
	stat.Estimate
}

// plainCells returns the records of [results.UsualCell], the usual measurement, with that pattern
// and framing. The message size may be any, and the placement any except "free".
func (e *Evidence) plainCells(pattern, framing string) []results.Record {
	var plain []results.Record
	for _, r := range e.set.Records {
		c := r.Cell
		isPlain := c == results.UsualCell(framing, pattern, c.Placement, c.Size)
		// At the placement "free", the scheduler chooses the CPUs.
		if isPlain && c.Placement != "free" && len(r.Samples) > 0 {
			plain = append(plain, r)
		}
	}
	return plain
}

// anySize, as the smallest message size that counts, means that all sizes count.
const anySize = 0

// ratios compares one framing with another (base) by one metric, for each placement on CPUs and
// each message size of at least "least" bytes. It notes the ratios in the claim's evidence.
func (e *Evidence) ratios(metric, pattern, framing, base string, least int) []ratio {
	var all []ratio
	for _, a := range e.plainCells(pattern, framing) {
		if a.Cell.Size < least {
			continue
		}
		var same []results.Record
		for _, b := range e.plainCells(pattern, base) {
			alike := b.Cell.Size == a.Cell.Size && b.Cell.Placement == a.Cell.Placement
			if b.Run == a.Run && alike {
				same = append(same, b)
			}
		}
		r := ratio{
			size: a.Cell.Size, placement: a.Cell.Placement,
			Estimate: stat.PairedRatio(stat.MustMetric(metric), []results.Record{a}, same),
		}
		if r.N > 0 { // otherwise the two framings were never measured together
			all = append(all, r)
			name := fmt.Sprintf("%s %s/%s %s %s", metric, framing, base,
				results.FormatSize(int64(r.size)), r.placement)
			e.basis.From[name] = r.Estimate
		}
	}
	return all
}

// at says where the ratio was measured: "65,000 B on one CPU".
func (r ratio) at() string {
	return results.FormatSize(int64(r.size)) + " " + results.PlacementPhrase(r.placement)
}

// sides says where ratios are above a bound, where they are not, and where noise hides it. A ratio
// is on a side only if its whole interval is.
func sides(all []ratio, bound float64) (above, below, hidden []string) {
	for _, r := range all {
		switch {
		case r.Above(bound):
			above = append(above, r.at())
		case r.Interval != nil && r.Interval.Hi <= bound:
			below = append(below, r.at())
		default:
			hidden = append(hidden, r.at())
		}
	}
	return above, below, hidden
}

// within judges the claim that no ratio is above a bound. The verdict "depends" is sure only if
// there are ratios on both sides of the bound.
func within(all []ratio, bound float64) (verdict results.Verdict, unsure bool) {
	above, below, _ := sides(all, bound)
	switch {
	case len(all) == 0:
		return results.Depends, true
	case len(below) == len(all):
		return results.Holds, false
	case len(above) == len(all):
		return results.Refuted, false
	}
	return results.Depends, len(above) == 0 || len(below) == 0
}

// rangeOf describes the lowest and the highest of the ratios, and the smallest number of samples of
// any ratio.
func rangeOf(all []ratio) string {
	if len(all) == 0 {
		return "no figure"
	}
	lo := slices.MinFunc(all, byMedian)
	hi := slices.MaxFunc(all, byMedian)
	n := all[0].N
	for _, r := range all {
		n = min(n, r.N)
	}
	return fmt.Sprintf("%s at %s to %s at %s, n = %d",
		estimateText(lo.Estimate), lo.at(), estimateText(hi.Estimate), hi.at(), n)
}

func byMedian(a, b ratio) int { return cmp.Compare(a.Median, b.Median) }

func estimateText(e stat.Estimate) string {
	median := "×" + results.FormatNumber(e.Median, 3)
	if e.Interval == nil {
		return median
	}
	return fmt.Sprintf("%s [%s, %s]", median,
		results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
}

// costsAtMost judges whether messages that are sent in chunks cost at most "bound" times as much as
// raw bytes. Only messages of at least "least" bytes count. The metric is "time" or "cpu".
func (e *Evidence) costsAtMost(bound float64, metric string, least int) Judgement {
	all := e.ratios(metric, "stream", costFraming, results.FramingRaw, least)
	figure := "against raw: " + rangeOf(all)
	limit := fmt.Sprintf("%.0f %%", 100*(bound-1))
	what := "time"
	if metric == "cpu" {
		what = "CPU time"
	}
	verdict, unsure := within(all, bound)
	more := limit + " more " + what +
		" than the same bytes without a framing, at every size and placement"
	switch verdict {
	case results.Holds:
		return holds(figure, "less than "+more)
	case results.Refuted:
		return refuted(figure, "more than "+more)
	}
	above, below, hidden := sides(all, bound)
	var parts []string
	if len(above) > 0 {
		parts = append(parts, limit+" is not kept to at "+strings.Join(above, ", "))
	}
	if len(below) > 0 {
		parts = append(parts, limit+" is kept to at "+strings.Join(below, ", "))
	}
	if len(hidden) > 0 {
		parts = append(parts,
			"noise hides whether "+limit+" is kept to at "+strings.Join(hidden, ", "))
	}
	return Judgement{Verdict: results.Depends, Figure: figure, Unsure: unsure,
		Why: strings.Join(parts, "; ")}
}

// noticeable is the relative difference up to which two times count as equal: even on an idle
// machine, two runs differ by as much.
const noticeable = 0.05

// judgeSmall compares round trips of messages in chunks with round trips in lines. There are two
// senders of chunks. One frames every message, and the other one sends small messages as bare
// lines.
func judgeSmall(e *Evidence) Judgement {
	framedRatios := e.ratios("time", "roundtrip", costFraming, "ndjson", anySize)
	bareRatios := e.ratios("time", "roundtrip", bareFraming, "ndjson", anySize)
	framed, _ := within(framedRatios, 1+noticeable)
	bare, _ := within(bareRatios, 1+noticeable)
	figure := fmt.Sprintf("framed: %s; bare: %s", rangeOf(framedRatios), rangeOf(bareRatios))
	switch {
	case framed == results.Holds && bare == results.Holds:
		return holds(figure, "round trips take as long as those of lines, within 5 %")
	case framed == results.Refuted && bare == results.Refuted:
		return refuted(figure, "round trips take more than 5 % longer than those of lines")
	case framed == results.Refuted && bare == results.Holds:
		return depends(figure,
			"small messages that go as bare lines take no longer, framed ones do")
	}
	return Judgement{Verdict: results.Depends, Figure: figure, Unsure: true,
		Why: "the intervals leave open whether small messages take more than 5 % longer, " +
			"framed or bare"}
}

// judgeWire judges the overhead at each message size. The overhead is the bytes that are sent
// beyond the payload, in percent of the payload.
func judgeWire(e *Evidence) Judgement {
	percent := make(map[int]float64)
	for _, r := range e.plainCells("stream", costFraming) {
		// The overhead is the same at all placements, so the record of any placement will do.
		percent[r.Cell.Size] = stat.MustMetric("overhead").Estimate(r).Median
	}
	var c count
	var values []float64
	for _, size := range slices.Sorted(maps.Keys(percent)) {
		values = append(values, percent[size])
		c.add(results.FormatSize(int64(size)), percent[size] < 1)
	}
	figure := fmt.Sprintf("%.2g %% to %.2g %%, exact", slices.Min(values), slices.Max(values))
	return inAllCases(c, figure, "below 1 % for every size", "1 % and more for every size",
		"where every message is framed, small ones pay more: {}")
}
