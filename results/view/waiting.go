package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
)

// waitingTables show what writers meet that do not block: a table for each place, with readers that
// stay before those that leave.
func waitingTables(rows []stat.Row) []Table {
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b stat.Row) int {
		return cmp.Or(
			cmp.Compare(a.Cell.ClosesAfter, b.Cell.ClosesAfter),
			cmp.Compare(a.Cell.Drain, b.Cell.Drain),
			cmp.Compare(a.Cell.Size, b.Cell.Size),
			cmp.Compare(a.Cell.IO, b.Cell.IO))
	})
	var tables []Table
	for _, own := range grouped(sorted, func(r stat.Row) string { return r.Cell.Placement }) {
		title := "Non-blocking writer, " + shortPlacement(own[0].Cell.Placement)
		t := Table{Title: title, Columns: []Column{
			{Title: "framing", Key: true},
			{Title: "reader", Key: true},
			{Title: "message", Right: true, Key: true},
			{Title: "waits by", Key: true},
			{Title: "EAGAIN/msg", Right: true, Key: true},
			{Title: "goodput", Right: true},
			{Title: "lost", Right: true},
			{Title: "told after", Right: true},
		}}
		for _, r := range own {
			writer, _, _ := strings.Cut(r.Cell.IO, "/")
			reader := fieldText(r.Cell, "drain")
			goodput := ""
			if r.Cell.ClosesAfter > 0 {
				reader = "leaves"
			}
			switch {
			case r.Samples == 0:
				goodput = emptyWord(r)
			case r.Cell.ClosesAfter == 0:
				goodput = goodputText(r)
			}
			t.Append(r.Cell.Framing, reader, sizeTitle(r.Cell.Size), writer,
				refusalText(r, "eagain"), goodput, metricText(r, "lost"), metricText(r, "told"))
		}
		tables = append(tables, t)
	}
	return tables
}
