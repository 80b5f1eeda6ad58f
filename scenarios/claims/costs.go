package claims

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A ratio is the figure of a cell divided by the figure of the same messages in another framing,
// compared round by round.
type ratio struct {
	size      int
	placement string
	stat.Estimate
}

// plainCells returns the records of a pattern and a framing whose cells are usual in everything
// else. It leaves out the placement "free", since there the scheduler chooses the CPUs.
func (e *Evidence) plainCells(pattern, framing string) []results.Record {
	var plain []results.Record
	for _, r := range e.records {
		c := r.Cell
		isPlain := c == results.UsualCell(framing, pattern, c.Placement, c.Size)
		if isPlain && c.Placement != "free" && len(r.Samples) > 0 {
			plain = append(plain, r)
		}
	}
	return plain
}

// anySize is the least size of messages for ratios and costsAtMost if all sizes count.
const anySize = 0

// ratios compares a framing with the framing base by one metric, at every placement, and at every
// size from least on.
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
		if r.N > 0 { // else no round has both
			all = append(all, r)
			e.basis.From[fmt.Sprintf("%s %s/%s %s", metric, framing, base, r.at())] = r.Estimate
		}
	}
	return all
}

func (r ratio) at() string { return results.FormatSize(int64(r.size)) + " " + r.placement }

// within judges the claim that no ratio lies above a bound. The claim holds if every interval ends
// at or below the bound, and is refuted if every interval begins above it. Otherwise it depends,
// and that is sure only if at least one interval lies on each side of the bound.
func within(all []ratio, bound float64) (verdict results.Verdict, unsure bool) {
	above := 0
	below := 0
	for _, r := range all {
		if r.Above(bound) {
			above++
		} else if r.Interval != nil && r.Interval.Hi <= bound {
			below++
		}
	}
	switch {
	case len(all) == 0:
		return results.Depends, true
	case below == len(all):
		return results.Holds, false
	case above == len(all):
		return results.Refuted, false
	}
	return results.Depends, above == 0 || below == 0
}

// rangeOf describes ratios by the lowest and the highest, each with its interval, and by the
// smallest number of rounds that any of them rests on.
func rangeOf(all []ratio) string {
	if len(all) == 0 {
		return "no figure"
	}
	lo := all[0]
	hi := all[0]
	n := all[0].N
	for _, r := range all {
		if r.Median < lo.Median {
			lo = r
		}
		if r.Median > hi.Median {
			hi = r
		}
		n = min(n, r.N)
	}
	return fmt.Sprintf("%s at %s to %s at %s, n = %d",
		estimateText(lo.Estimate), lo.at(), estimateText(hi.Estimate), hi.at(), n)
}

func estimateText(e stat.Estimate) string {
	median := "×" + results.FormatNumber(e.Median, 3)
	if e.Interval == nil {
		return median
	}
	return fmt.Sprintf("%s [%s, %s]", median,
		results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
}

// costsAtMost judges whether chunks cost at most bound times as much as raw bytes, by one metric,
// "time" or "cpu", for streams of messages of least bytes or more.
func (e *Evidence) costsAtMost(bound float64, metric string, least int) Judgement {
	all := e.ratios(metric, "stream", costFraming, results.FramingRaw, least)
	figure := "against raw: " + rangeOf(all)
	limit := fmt.Sprintf("%.0f %%", 100*(bound-1))
	what := "time"
	if metric == "cpu" {
		what = "CPU time"
	}
	verdict, unsure := within(all, bound)
	switch {
	case verdict == results.Holds:
		return holds(figure, "less than "+limit+" more "+what+
			" than the same bytes without a framing, at every size and placement")
	case verdict == results.Refuted:
		return refuted(figure, "more than "+limit+" more "+what+
			" than the same bytes without a framing, at every size and placement")
	case unsure:
		return Judgement{Verdict: results.Depends, Figure: figure, Unsure: true,
			Why: "the intervals leave open whether " + limit + " is kept to everywhere"}
	}
	return depends(figure, limit+" is kept to at some sizes and placements, and not at others")
}

// noticeable is the smallest share that counts as a difference if a document says "no" or "no
// significant" difference: figures of an idle machine differ that much between two runs.
const noticeable = 0.05

// judgeSmall compares round trips with those of lines, for two senders: one that frames every
// message, and one that chunks only large messages.
func judgeSmall(e *Evidence) Judgement {
	framedRatios := e.ratios("time", "roundtrip", costFraming, "ndjson", anySize)
	bareRatios := e.ratios("time", "roundtrip", bareFraming, "ndjson", anySize)
	framed, _ := within(framedRatios, 1+noticeable)
	bare, _ := within(bareRatios, 1+noticeable)
	figure := fmt.Sprintf("framed: %s; bare: %s", rangeOf(framedRatios), rangeOf(bareRatios))
	isOpen := framed == results.Depends || bare == results.Depends
	isAbsurd := framed == results.Holds && bare == results.Refuted // bare lines are cheaper to make
	switch {
	case isOpen || isAbsurd:
		return Judgement{Verdict: results.Depends, Figure: figure, Unsure: true,
			Why: "the intervals leave open whether small messages take more than 5 % longer, " +
				"framed or bare"}
	case framed != bare:
		return depends(figure,
			"small messages that go as bare lines take no longer, framed ones do")
	case bare == results.Holds:
		return holds(figure, "round trips take as long as those of lines, within 5 %")
	}
	return refuted(figure, "round trips take more than 5 % longer than those of lines")
}

// judgeWire looks at the bytes on the wire beyond the payload, in percent, by size.
func judgeWire(e *Evidence) Judgement {
	percent := make(map[int]float64)
	for _, r := range e.plainCells("stream", costFraming) {
		// The overhead is the same at all placements: any of them will do.
		percent[r.Cell.Size] = stat.MustMetric("overhead").Estimate(r).Median
	}
	var c count
	var values []float64
	for _, size := range slices.Sorted(maps.Keys(percent)) {
		values = append(values, percent[size])
		c.add(results.FormatSize(int64(size)), percent[size] < 1)
	}
	figure := ""
	if len(values) > 0 {
		figure = fmt.Sprintf("%.2g %% to %.2g %%, exact", slices.Min(values), slices.Max(values))
	}
	return inAllCases(c, figure, "below 1 % for every size", "1 % and more for every size",
		"where every message is framed, small ones pay more: {}")
}
