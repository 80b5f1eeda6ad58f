package results

import (
	"cmp"
	"slices"
	"strings"
)

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

// seriesIn gathers the series of one machine's rows, without their names: what
// tells them apart may lie in those of other machines.
func seriesIn(rows []Row, pattern string) []series {
	var all []series
	seen := make(map[Cell]bool)
	for _, r := range rows {
		id := seriesOf(r.Cell)
		if r.Cell.Pattern != pattern || seen[id] {
			continue
		}
		seen[id] = true
		all = append(all, newSeries(filter(rows, func(o Row) bool { return seriesOf(o.Cell) == id })))
	}
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
			if value := fieldOf(all[i].cell, name); value != "" { // a field that is off is what people take for granted
				words = append(words, "with "+name+" "+shortValue(name, value))
			}
		}
		if len(machines) > 1 {
			words = append(words, "of machine "+shortID(all[i].machine))
		}
		all[i].where = strings.Join(words, " ")
	}
}
