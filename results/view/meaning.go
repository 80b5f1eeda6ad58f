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

// tellingSize is the message size that sentences speak of where it was
// measured: the default capacity of a pipe on Linux, and about where people
// choose chunk sizes.
const tellingSize = 65536

// mostCosts is how many sentences about costs a person reads; the tables have
// the others. Several machines share them, so that none goes unmentioned.
const mostCosts = 4

// meaning says in plain sentences what rows mean for the person, one machine
// after the other. It claims nothing that the interval of the figure does not
// carry.
func meaning(rows []stat.Row) []string {
	var all []series
	var machines []string
	for _, r := range rows {
		if !slices.Contains(machines, r.Machine) {
			machines = append(machines, r.Machine)
			all = append(all, tellingSeries(rows, r.Machine)...)
		}
	}
	nameSeries(all)
	var out []string
	for _, m := range machines {
		own := stat.Filter(all, func(s series) bool { return s.machine == m })
		out = append(out, meaningOf(own, (mostCosts+len(machines)-1)/len(machines))...)
	}
	return out
}

// tellingSeries are a machine's streams, or its round trips where no stream
// can be set beside raw.
func tellingSeries(rows []stat.Row, machine string) []series {
	own := stat.Filter(rows, func(r stat.Row) bool { return r.Machine == machine })
	pattern := "stream"
	if !slices.ContainsFunc(own, func(r stat.Row) bool { return r.Cell.Pattern == pattern && r.ToRaw != nil }) {
		pattern = results.PatternRoundtrip
	}
	return seriesIn(own, pattern)
}

// meaningOf speaks of the series of one machine, in so many sentences about
// costs at the most.
func meaningOf(own []series, most int) []string {
	var out []string
	for _, s := range own {
		if text := s.cost(); text != "" && len(out) < most {
			out = append(out, text)
		}
	}
	if text := placementMatters(own); text != "" {
		out = append(out, text)
	}
	return out
}

// slowdown is how many times as long as raw the row's cell takes for a message.
func slowdown(r stat.Row) stat.Estimate {
	e := *r.ToRaw
	if r.Cell.Pattern == results.PatternRoundtrip {
		return e
	}
	return e.Inverse()
}

// cost says what the dearest and the cheapest framing cost.
func (s series) cost() string {
	if len(s.framed) == 0 {
		return ""
	}
	cheapest, dearest := s.framed[0], s.framed[len(s.framed)-1]
	text := fmt.Sprintf("%s at %s, ", capitalised(s.where), results.FormatSize(int64(s.size)))
	if s.size == 0 {
		text = capitalised(s.where) + ", "
	}
	if len(s.framed) == 1 || s.toldApart() {
		text += costOf(dearest)
		if len(s.framed) > 1 {
			text += "; " + costOf(cheapest)
		}
		return text + "."
	}
	return text + fmt.Sprintf("the framings cannot be told apart: each does between %s and %s times raw's %s.",
		results.FormatNumber(lowest(s.framed), 2), results.FormatNumber(highest(s.framed), 2), relativeWord(s.cell))
}

// toldApart is whether the intervals of the cheapest and the dearest are apart.
func (s series) toldApart() bool {
	cheapest, dearest := slowdown(s.framed[0]), slowdown(s.framed[len(s.framed)-1])
	return cheapest.Interval.Hi < dearest.Interval.Lo
}

func lowest(rows []stat.Row) float64 {
	return slices.MinFunc(rows, func(a, b stat.Row) int { return cmp.Compare(a.ToRaw.Interval.Lo, b.ToRaw.Interval.Lo) }).ToRaw.Interval.Lo
}

func highest(rows []stat.Row) float64 {
	return slices.MaxFunc(rows, func(a, b stat.Row) int { return cmp.Compare(a.ToRaw.Interval.Hi, b.ToRaw.Interval.Hi) }).ToRaw.Interval.Hi
}

// costOf is "chunked:61440 costs 6.1 % of goodput (4.0 to 8.2 %) and 0.075 % of bytes".
func costOf(r stat.Row) string {
	text := r.Cell.Framing + " " + timeCost(r)
	if o, ok := r.Estimates["overhead"]; ok && o.Median > 0 {
		text += " and adds " + results.FormatPercent(o.Median) + " of bytes"
	}
	return text
}

func timeCost(r stat.Row) string {
	e, word := *r.ToRaw, relativeWord(r.Cell)
	if !e.Above(1) && !e.Below(1) {
		return fmt.Sprintf("cannot be told from raw (%s to %s times its %s)", results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3), word)
	}
	verb := map[bool]string{true: "gains", false: "costs"}[e.Above(1)]
	if r.Cell.Pattern == results.PatternRoundtrip {
		verb = map[bool]string{true: "adds", false: "saves"}[e.Above(1)]
	}
	lo, hi := 100*math.Abs(e.Interval.Lo-1), 100*math.Abs(e.Interval.Hi-1)
	return fmt.Sprintf("%s %s of raw's %s (%s to %s)", verb, results.FormatPercent(100*math.Abs(e.Median-1)), word,
		results.FormatNumber(min(lo, hi), 2), results.FormatPercent(max(lo, hi)))
}

func relativeWord(c results.Cell) string {
	if c.Pattern == results.PatternRoundtrip {
		return "round-trip time"
	}
	return "goodput"
}

func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
