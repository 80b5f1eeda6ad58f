package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A series is the rows that differ in framing and size alone, at the size that
// tells most.
type series struct {
	cell    results.Cell // framing and size left out
	where   string       // "on one CPU", and what else tells it from the other series
	size    int
	raw     *stat.Row
	framed  []stat.Row // with an interval beside raw, cheapest first
	machine string
}

// seriesIn gathers the series of one machine's rows, without their names: what
// tells them apart may lie in those of other machines.
func seriesIn(rows []stat.Row, pattern string) []series {
	var all []series
	seen := make(map[results.Cell]bool)
	for _, r := range rows {
		id := stat.SeriesCell(r.Cell)
		if r.Cell.Pattern != pattern || seen[id] {
			continue
		}
		seen[id] = true
		all = append(all, newSeries(stat.Filter(rows, func(o stat.Row) bool { return stat.SeriesCell(o.Cell) == id })))
	}
	return all
}

func newSeries(rows []stat.Row) series {
	s := series{cell: stat.SeriesCell(rows[0].Cell), machine: rows[0].Machine, size: telling(rows)}
	for i, r := range rows {
		switch {
		case r.Cell.Size != s.size:
		case r.Cell.Framing == results.FramingRaw:
			s.raw = &rows[i]
		case r.ToRaw != nil && r.ToRaw.Interval != nil:
			s.framed = append(s.framed, r)
		}
	}
	slices.SortStableFunc(s.framed, func(a, b stat.Row) int { return cmp.Compare(slowdown(a).Median, slowdown(b).Median) })
	return s
}

// telling is the size at which to speak of the rows: the usual one, or the
// largest at which most framings can be compared.
func telling(rows []stat.Row) int {
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
	var cells []results.Cell
	machines := make(map[string]bool)
	for _, s := range all {
		cells = append(cells, s.cell)
		machines[s.machine] = true
	}
	differ := results.DifferingFields(cells, "placement", "framing", "size", "pattern")
	for i := range all {
		words := []string{placementWord(all[i].cell.Placement)}
		for _, name := range differ {
			if value := all[i].cell.Field(name); value != "" { // a field that is off is what people take for granted
				words = append(words, "with "+name+" "+results.ShortValue(name, value))
			}
		}
		if len(machines) > 1 {
			words = append(words, "of machine "+results.ShortID(all[i].machine))
		}
		all[i].where = strings.Join(words, " ")
	}
}
