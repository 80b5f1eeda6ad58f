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
	framed, _ := splitWaiting(rows)
	var machines []string
	byMachine := make(map[string][]stat.Row)
	for _, r := range framed {
		if byMachine[r.Machine] == nil {
			machines = append(machines, r.Machine)
		}
		byMachine[r.Machine] = append(byMachine[r.Machine], r)
	}
	if len(machines) == 0 {
		return nil
	}
	var all []series
	for _, machine := range machines {
		all = append(all, seriesIn(byMachine[machine], tellingPattern(byMachine[machine]))...)
	}
	nameSeries(all)
	most := (maxCostSentences + len(machines) - 1) / len(machines) // of one machine
	var out []string
	for _, machine := range machines {
		var own []series
		var costs []string
		for _, s := range all {
			if s.machine != machine {
				continue
			}
			own = append(own, s)
			cost := s.cost()
			if cost != "" && len(costs) < most && !slices.Contains(costs, cost) {
				costs = append(costs, cost)
			}
		}
		out = append(out, costs...)
		if text := placementMatters(own); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// tellingPattern is the pattern to speak of: streams, or round trips if no stream can be set beside
// raw.
func tellingPattern(rows []stat.Row) string {
	for _, r := range rows {
		if r.Cell.Pattern == "stream" && r.ToRaw != nil {
			return "stream"
		}
	}
	return results.PatternRoundtrip
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

// costOf says what a framing costs: "chunked:61440 costs 6.1 % of goodput (4.0 to 8.2 %) and 0.075
// % of bytes".
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
	verb := "costs"
	switch {
	case r.Cell.Pattern == results.PatternRoundtrip && e.Above(1):
		verb = "adds"
	case r.Cell.Pattern == results.PatternRoundtrip:
		verb = "saves"
	case e.Above(1):
		verb = "gains"
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
	if c.Pattern == results.PatternRoundtrip {
		return "round-trip time"
	}
	return "goodput"
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

// seriesIn gathers the series of rows, without their names: what tells them apart may lie in
// others.
func seriesIn(rows []stat.Row, pattern string) []series {
	var order []stat.RowID
	groups := make(map[stat.RowID][]stat.Row)
	for _, r := range rows {
		if r.Cell.Pattern != pattern {
			continue
		}
		id := stat.RowID{Machine: r.Machine, Cell: stat.SeriesCell(r.Cell)}
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], r)
	}
	var all []series
	for _, id := range order {
		own := groups[id]
		s := series{cell: id.Cell, machine: id.Machine, size: headlineSize(own), rows: own}
		for i, r := range own {
			switch {
			case r.Cell.Size != s.size:
			case r.Cell.Framing == results.FramingRaw:
				s.raw = &own[i]
			case besideRaw(r):
				s.framed = append(s.framed, r)
			}
		}
		slices.SortStableFunc(s.framed, bySlowdown)
		all = append(all, s)
	}
	return all
}

// bySlowdown compares rows by what they cost beside raw.
func bySlowdown(a, b stat.Row) int {
	return cmp.Compare(slowdown(a).Median, slowdown(b).Median)
}

// besideRaw reports whether a row says for sure how it stands to raw.
func besideRaw(r stat.Row) bool { return r.ToRaw != nil && r.ToRaw.Interval != nil }

// headlineSize is the size at which to speak of the rows: the usual one, or the largest at which
// most framings can be compared.
func headlineSize(rows []stat.Row) int {
	count := make(map[int]int) // rows beside raw, by size
	for _, r := range rows {
		if besideRaw(r) {
			count[r.Cell.Size]++
		}
	}
	best := usualSize
	for size, n := range count {
		switch {
		case n > count[best]:
			best = size
		case n == count[best] && best != usualSize && (size == usualSize || size > best):
			best = size
		}
	}
	return best
}

// nameSeries says of each series where it ran, and what else tells it apart.
func nameSeries(all []series) {
	var cells []results.Cell
	several := false
	for _, s := range all {
		cells = append(cells, s.cell)
		several = several || s.machine != all[0].machine
	}
	differ := results.DifferingFields(cells, "placement", "framing", "size", "pattern")
	for i := range all {
		words := []string{PlacementPhrase(all[i].cell.Placement)}
		short := []string{shortPlacement(all[i].cell.Placement)}
		for _, name := range differ {
			value := all[i].cell.Field(name)
			if value != "" { // a field that is off is what people take for granted
				words = append(words, "with "+name+" "+FieldValue(name, value))
				short = append(short, FieldPhrase(name, value))
			}
		}
		if several {
			words = append(words, "of machine "+results.ShortID(all[i].machine))
			short = append(short, "machine "+results.ShortID(all[i].machine))
		}
		all[i].where = strings.Join(words, " ")
		all[i].short = strings.Join(short, ", ")
	}
}

// placementMatters compares two placements with each other, and with what the choice of a framing
// is worth.
func placementMatters(all []series) string {
	var withFramings []series
	for _, s := range all {
		if len(s.framed) > 0 {
			withFramings = append(withFramings, s)
		}
	}
	fast, slow, e := widestPlacement(withFramings)
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
	slowest := slowdown(slices.MaxFunc(framings, bySlowdown))
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
