package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// tellingSize is the message size that sentences speak of where it was
// measured: the default capacity of a pipe on Linux, and about where people
// choose chunk sizes.
const tellingSize = 65536

// meaning says in plain sentences what rows mean for the person. It claims
// nothing that the interval of the figure does not carry.
func meaning(rows []Row) []string {
	pattern := "stream"
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Cell.Pattern == pattern && r.ToRaw != nil }) {
		pattern = roundtrip
	}
	all := seriesIn(rows, pattern)
	var out []string
	for _, s := range all {
		if text := s.cost(); text != "" {
			out = append(out, text)
		}
	}
	if text := placementMatters(all); text != "" {
		out = append(out, text)
	}
	return out
}

// A series is the rows that differ in framing and size alone, at the size that
// tells most.
type series struct {
	cell    Cell   // framing and size left out
	where   string // "on one CPU", and what else tells it from the other series
	size    int
	raw     *Row
	framed  []Row // with an interval beside raw, cheapest first
	machine string
}

func seriesIn(rows []Row, pattern string) []series {
	var all []series
	type id struct {
		machine string
		cell    Cell
	}
	seen := make(map[id]bool)
	for _, r := range rows {
		id := id{r.Machine, seriesOf(r.Cell)}
		if r.Cell.Pattern != pattern || seen[id] {
			continue
		}
		seen[id] = true
		same := filter(rows, func(o Row) bool { return o.Machine == r.Machine && seriesOf(o.Cell) == seriesOf(r.Cell) })
		all = append(all, newSeries(same))
	}
	nameSeries(all)
	return all
}

func newSeries(rows []Row) series {
	s := series{cell: seriesOf(rows[0].Cell), machine: rows[0].Machine, size: telling(rows)}
	for i, r := range rows {
		switch {
		case r.Cell.Size != s.size:
		case r.Cell.Framing == rawFraming:
			s.raw = &rows[i]
		case r.ToRaw != nil && r.ToRaw.Interval != nil:
			s.framed = append(s.framed, r)
		}
	}
	slices.SortStableFunc(s.framed, func(a, b Row) int { return cmp.Compare(a.slowdown().Median, b.slowdown().Median) })
	return s
}

// telling is the size at which to speak of the rows: the usual one, or the
// largest at which most framings can be compared.
func telling(rows []Row) int {
	count := make(map[int]int)
	for _, r := range rows {
		if r.ToRaw != nil && r.ToRaw.Interval != nil {
			count[r.Cell.Size]++
		}
	}
	best := 0
	for size, n := range count {
		if n > count[best] || n == count[best] && size > best {
			best = size
		}
	}
	if count[tellingSize] == count[best] {
		return tellingSize
	}
	return best
}

// slowdown is how many times as long as raw the row's cell takes for a message.
func (r Row) slowdown() Estimate {
	e := *r.ToRaw
	if r.Cell.Pattern == roundtrip {
		return e
	}
	return e.inverse()
}

// inverse is the estimate of 1/x.
func (e Estimate) inverse() Estimate {
	e.Median = 1 / e.Median
	if e.Interval != nil {
		e.Interval = &Interval{1 / e.Interval.Hi, 1 / e.Interval.Lo, e.Interval.Confidence}
	}
	return e
}

// cost says what the dearest and the cheapest framing cost.
func (s series) cost() string {
	if len(s.framed) == 0 {
		return ""
	}
	cheapest, dearest := s.framed[0], s.framed[len(s.framed)-1]
	text := fmt.Sprintf("%s at %s, ", capitalised(s.where), FormatSize(int64(s.size)))
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
		significant(lowest(s.framed), 2), significant(highest(s.framed), 2), relativeWord(s.cell))
}

// toldApart is whether the intervals of the cheapest and the dearest are apart.
func (s series) toldApart() bool {
	cheapest, dearest := s.framed[0].slowdown(), s.framed[len(s.framed)-1].slowdown()
	return cheapest.Interval.Hi < dearest.Interval.Lo
}

func lowest(rows []Row) float64 {
	return slices.MinFunc(rows, func(a, b Row) int { return cmp.Compare(a.ToRaw.Interval.Lo, b.ToRaw.Interval.Lo) }).ToRaw.Interval.Lo
}

func highest(rows []Row) float64 {
	return slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(a.ToRaw.Interval.Hi, b.ToRaw.Interval.Hi) }).ToRaw.Interval.Hi
}

// costOf is "chunked:61440 costs 6.1 % of goodput (4.0 to 8.2 %) and 0.075 % of bytes".
func costOf(r Row) string {
	text := r.Cell.Framing + " " + timeCost(r)
	if o, ok := r.Estimates["overhead"]; ok && o.Median > 0 {
		text += " and adds " + FormatPercent(o.Median) + " of bytes"
	}
	return text
}

func timeCost(r Row) string {
	e, word := *r.ToRaw, relativeWord(r.Cell)
	if !e.Above(1) && !e.Below(1) {
		return fmt.Sprintf("cannot be told from raw (%s to %s times its %s)", significant(e.Interval.Lo, 3), significant(e.Interval.Hi, 3), word)
	}
	verb := map[bool]string{true: "gains", false: "costs"}[e.Above(1)]
	if r.Cell.Pattern == roundtrip {
		verb = map[bool]string{true: "adds", false: "saves"}[e.Above(1)]
	}
	lo, hi := 100*abs(e.Interval.Lo-1), 100*abs(e.Interval.Hi-1)
	return fmt.Sprintf("%s %s of raw's %s (%s to %s)", verb, FormatPercent(100*abs(e.Median-1)), word,
		significant(min(lo, hi), 2), FormatPercent(max(lo, hi)))
}

func relativeWord(c Cell) string {
	if c.Pattern == roundtrip {
		return "round-trip time"
	}
	return "goodput"
}

// placementMatters compares two placements with each other, and with what the
// choice of a framing is worth.
func placementMatters(all []series) string {
	fast, slow, e := widestPlacement(all)
	if fast == nil {
		return ""
	}
	text := fmt.Sprintf("raw %s at %s does %s times (%s to %s) the %s of raw %s", fast.where, FormatSize(int64(fast.size)),
		significant(e.Median, 2), significant(e.Interval.Lo, 2), significant(e.Interval.Hi, 2), "goodput", slow.where)
	if fast.cell.Pattern == roundtrip {
		text = fmt.Sprintf("a raw round trip of %s takes %s times (%s to %s) as long %s as %s", FormatSize(int64(fast.size)),
			significant(e.Median, 2), significant(e.Interval.Lo, 2), significant(e.Interval.Hi, 2), slow.where, fast.where)
	}
	framings := append(slices.Clone(fast.framed), slow.framed...)
	if len(framings) == 0 {
		return capitalised(text) + "."
	}
	dearest := slices.MaxFunc(framings, func(a, b Row) int { return cmp.Compare(a.slowdown().Median, b.slowdown().Median) }).slowdown()
	switch {
	case e.Interval.Lo > dearest.Interval.Hi:
		return fmt.Sprintf("Where the ends run matters more than the framing: %s; the dearest framing makes a factor of %s.", text, significant(dearest.Median, 2))
	case e.Interval.Hi < dearest.Interval.Lo:
		return fmt.Sprintf("The framing matters more than where the ends run: the dearest makes a factor of %s; %s.", significant(dearest.Median, 2), text)
	}
	return capitalised(text) + "."
}

// widestPlacement finds the two series that differ in placement alone and whose
// raw cells, in the same rounds, differ most beyond doubt. The estimate is above 1.
func widestPlacement(all []series) (fast, slow *series, widest Estimate) {
	for i := range all {
		for j := range all {
			a, b := &all[i], &all[j]
			if a.raw == nil || b.raw == nil || !placementAlone(*a, *b) {
				continue
			}
			e := PairedRatio(relative(a.cell, a.cell), a.raw.records, b.raw.records)
			if a.cell.Pattern == roundtrip && e.N > 0 && e.Median > 0 {
				e = e.inverse()
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

// placementWords say where the two ends run.
var placementWords = map[string]string{
	"same":    "on one CPU",
	"sibling": "on two hardware threads of one core",
	"apart":   "on two CPUs",
	"far":     "on two CPUs that share no cache",
	"free":    "where the scheduler puts the ends",
}

func placementWord(placement string) string {
	if w, ok := placementWords[placement]; ok {
		return w
	}
	return "with placement " + placement
}

// nameSeries says of each series where it ran, and what else tells it apart.
func nameSeries(all []series) {
	var cells []Cell
	machines := make(map[string]bool)
	for _, s := range all {
		cells = append(cells, s.cell)
		machines[s.machine] = true
	}
	differ := varying(cells, "placement", "framing", "size", "pattern")
	for i := range all {
		words := []string{placementWord(all[i].cell.Placement)}
		for _, name := range differ {
			words = append(words, "with "+name+" "+shortValue(name, fieldOf(all[i].cell, name)))
		}
		if len(machines) > 1 {
			words = append(words, "of machine "+shortID(all[i].machine))
		}
		all[i].where = strings.Join(words, " ")
	}
}

func filter[T any](all []T, keep func(T) bool) []T {
	var out []T
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

func abs(v float64) float64 { return max(v, -v) }

func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
