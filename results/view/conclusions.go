package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// usualSize is the message size that sentences speak of where it was measured: the default capacity
// of a pipe on Linux, and about where people choose chunk sizes.
const usualSize = 65536

// maxCostSentences is how many sentences about costs a person reads; the tables have the others.
// Several machines share them, so that none goes unmentioned.
const maxCostSentences = 4

// conclusions says in plain sentences what rows mean for the person, one machine after the other.
// It claims nothing that the interval of the figure does not carry.
func conclusions(rows []stat.Row) []string {
	rows, _ = splitWaiting(rows)
	byMachine := stat.GroupBy(rows, machineOf)
	var all []series
	for _, own := range byMachine { // its streams, or its round trips where no stream can be set beside raw
		pattern := "stream"
		if !slices.ContainsFunc(own, func(r stat.Row) bool { return r.Cell.Pattern == pattern && r.ToRaw != nil }) {
			pattern = results.PatternRoundtrip
		}
		all = append(all, seriesIn(own, pattern)...)
	}
	nameSeries(all)
	most := (maxCostSentences + len(byMachine) - 1) / max(1, len(byMachine)) // of one machine
	var out []string
	for _, own := range stat.GroupBy(all, func(s series) string { return s.machine }) {
		costs := nonEmpty(stat.Distinct(own, series.cost))
		out = append(append(out, costs[:min(len(costs), most)]...), placementMatters(own))
	}
	return nonEmpty(out)
}

// slowdown returns how many times as long as raw the row's cell takes for a message.
func slowdown(r stat.Row) stat.Estimate {
	e := *r.ToRaw
	if r.Cell.Pattern == results.PatternRoundtrip {
		return e
	}
	return e.Inverse()
}

// framingsAlike reports whether none of several framings is known to cost more than another.
func (s series) framingsAlike() bool {
	n := len(s.framed)
	return n > 1 && slowdown(s.framed[0]).Interval.Hi >= slowdown(s.framed[n-1]).Interval.Lo
}

// cost says what the slowest and the fastest framing cost, if their intervals lie apart.
func (s series) cost() string {
	if len(s.framed) == 0 {
		return ""
	}
	text := strings.TrimSuffix(capitalised(s.where)+" at "+FieldValue("size", fmt.Sprint(s.size)), " at recorded") + ", "
	fastest, slowest := s.framed[0], s.framed[len(s.framed)-1]
	switch {
	case len(s.framed) == 1:
		return text + costOf(slowest) + "."
	case !s.framingsAlike():
		return text + costOf(slowest) + "; " + costOf(fastest) + "."
	case slices.ContainsFunc(s.framed, isTooNoisy):
		return text + "the figures are too noisy to compare the framings."
	}
	lo, hi := slowest.ToRaw.Interval.Lo, slowest.ToRaw.Interval.Hi
	for _, r := range s.framed {
		lo, hi = min(lo, r.ToRaw.Interval.Lo), max(hi, r.ToRaw.Interval.Hi)
	}
	return text + fmt.Sprintf("no significant difference between the framings: each has between %s and %s times raw's %s.",
		results.FormatNumber(lo, 2), results.FormatNumber(hi, 2), relativeWord(s.cell))
}

// costOf says what a framing costs: "chunked:61440 costs 6.1 % of goodput (4.0 to 8.2 %) and 0.075 % of bytes".
func costOf(r stat.Row) string {
	text := r.Cell.Framing + " " + timeCost(r)
	if o, ok := r.Estimates["overhead"]; ok && o.Median > 0 {
		text += " and adds " + results.FormatPercent(o.Median) + " of bytes"
	}
	return text
}

func timeCost(r stat.Row) string {
	e, word := *r.ToRaw, relativeWord(r.Cell)
	if isTooNoisy(r) {
		return "is too noisy to compare with raw"
	}
	if !e.Above(1) && !e.Below(1) {
		return fmt.Sprintf("does not differ significantly from raw (%s to %s times its %s)", results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3), word)
	}
	verb := map[bool]string{true: "gains", false: "costs"}[e.Above(1)]
	if r.Cell.Pattern == results.PatternRoundtrip {
		verb = map[bool]string{true: "adds", false: "saves"}[e.Above(1)]
	}
	lo, hi := 100*math.Abs(e.Interval.Lo-1), 100*math.Abs(e.Interval.Hi-1)
	return fmt.Sprintf("%s %s of raw's %s (%s to %s)", verb, results.FormatPercent(100*math.Abs(e.Median-1)), word,
		results.FormatNumber(min(lo, hi), 2), results.FormatPercent(max(lo, hi)))
}

// isTooNoisy reports whether a row's ratio to raw is one that tables do not print.
func isTooNoisy(r stat.Row) bool {
	percent, _ := r.ToRaw.Spread()
	return percent > MaxShownSpread
}

func relativeWord(c results.Cell) string {
	return map[bool]string{true: "round-trip time", false: "goodput"}[c.Pattern == results.PatternRoundtrip]
}

func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// A series is the rows that differ in framing and size alone, at the size that tells most.
type series struct {
	cell    results.Cell // framing and size left out
	where   string       // "on the same CPU", and what else tells it from the other series
	short   string       // the same in few words, for a title: "same CPU"
	rows    []stat.Row
	size    int
	raw     *stat.Row
	framed  []stat.Row // with an interval beside raw, cheapest first
	machine string
}

// seriesIn gathers the series of rows, without their names: what tells them apart may lie in others.
func seriesIn(rows []stat.Row, pattern string) (all []series) {
	own := stat.Filter(rows, func(r stat.Row) bool { return r.Cell.Pattern == pattern })
	id := func(r stat.Row) stat.RowID { return stat.RowID{Machine: r.Machine, Cell: stat.SeriesCell(r.Cell)} }
	for _, rows := range stat.GroupBy(own, id) {
		s := series{cell: stat.SeriesCell(rows[0].Cell), machine: rows[0].Machine, size: headlineSize(rows), rows: rows}
		for i, r := range rows {
			switch {
			case r.Cell.Size != s.size:
			case r.Cell.Framing == results.FramingRaw:
				s.raw = &rows[i]
			case besideRaw(r):
				s.framed = append(s.framed, r)
			}
		}
		slices.SortStableFunc(s.framed, func(a, b stat.Row) int { return cmp.Compare(slowdown(a).Median, slowdown(b).Median) })
		all = append(all, s)
	}
	return all
}

// besideRaw reports whether a row says for sure how it stands to raw.
func besideRaw(r stat.Row) bool { return r.ToRaw != nil && r.ToRaw.Interval != nil }

// headlineSize is the size at which to speak of the rows: the usual one, or the largest at which
// most framings can be compared.
func headlineSize(rows []stat.Row) int {
	bySize := stat.GroupBy(stat.Filter(rows, besideRaw), func(r stat.Row) int { return r.Cell.Size })
	if len(bySize) == 0 {
		return usualSize
	}
	return slices.MaxFunc(bySize, func(a, b []stat.Row) int {
		x, y := a[0].Cell.Size, b[0].Cell.Size
		return cmp.Or(len(a)-len(b), when(x == usualSize, 1), when(y == usualSize, -1), x-y)
	})[0].Cell.Size
}

// nameSeries says of each series where it ran, and what else tells it apart.
func nameSeries(all []series) {
	cells := stat.Distinct(all, func(s series) results.Cell { return s.cell })
	machines := stat.Distinct(all, func(s series) string { return s.machine })
	differ := results.DifferingFields(cells, "placement", "framing", "size", "pattern")
	for i := range all {
		words, short := []string{PlacementPhrase(all[i].cell.Placement)}, []string{shortPlacement(all[i].cell.Placement)}
		for _, name := range differ {
			if value := all[i].cell.Field(name); value != "" { // a field that is off is what people take for granted
				words = append(words, "with "+name+" "+FieldValue(name, value))
				short = append(short, FieldPhrase(name, value))
			}
		}
		if len(machines) > 1 {
			words = append(words, "of machine "+results.ShortID(all[i].machine))
			short = append(short, "machine "+results.ShortID(all[i].machine))
		}
		all[i].where, all[i].short = strings.Join(words, " "), strings.Join(short, ", ")
	}
}

// placementMatters compares two placements with each other, and with what the choice of a framing
// is worth.
func placementMatters(all []series) string {
	fast, slow, e := widestPlacement(stat.Filter(all, func(s series) bool { return len(s.framed) > 0 }))
	if fast == nil { // raw alone: what a profile measures
		fast, slow, e = widestPlacement(all)
	}
	if fast == nil {
		return ""
	}
	size := results.FormatSize(int64(fast.size))
	times := fmt.Sprintf("%s times (%s to %s)", results.FormatNumber(e.Median, 2), results.FormatNumber(e.Interval.Lo, 2), results.FormatNumber(e.Interval.Hi, 2))
	text := fmt.Sprintf("raw %s at %s does %s the goodput of raw %s", fast.where, size, times, slow.where)
	if fast.cell.Pattern == results.PatternRoundtrip {
		text = fmt.Sprintf("a raw round trip of %s takes %s as long %s as %s", size, times, slow.where, fast.where)
	}
	framings := slices.Concat(fast.framed, slow.framed)
	if len(framings) == 0 {
		return capitalised(text) + "."
	}
	slowest := slowdown(slices.MaxFunc(framings, func(a, b stat.Row) int { return cmp.Compare(slowdown(a).Median, slowdown(b).Median) }))
	switch {
	case e.Interval.Lo > slowest.Interval.Hi:
		return fmt.Sprintf("Where the ends run matters more than the framing: %s; the slowest framing is %s× slower than raw.", text, results.FormatNumber(slowest.Median, 2))
	case e.Interval.Hi < slowest.Interval.Lo && !fast.framingsAlike() && !slow.framingsAlike():
		return fmt.Sprintf("The framing matters more than where the ends run: the slowest is %s× slower than raw; %s.", results.FormatNumber(slowest.Median, 2), text)
	}
	return capitalised(text) + "."
}

// widestPlacement finds the two series that differ in placement alone and whose raw cells, in the
// same rounds, differ most beyond doubt. The estimate is above 1.
func widestPlacement(all []series) (fast, slow *series, widest stat.Estimate) {
	for i := range all {
		for j := range all {
			a, b := &all[i], &all[j]
			elsewhere := a.cell
			elsewhere.Placement = b.cell.Placement
			alike := elsewhere == b.cell && a.cell != b.cell && a.machine == b.machine && a.size == b.size
			if !alike || a.raw == nil || b.raw == nil {
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
