package view

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// waitingTables show what writers meet that do not block: a table for each place, with a line for
// each reader, size and way to wait. Figures are the range over the framings, or their median where
// the range has no room.
func waitingTables(s *results.Set, rows []stat.Row) []Table {
	groups := make(map[stat.RowID][]stat.Row)
	var order []stat.RowID // of lines: all but the framing
	for _, r := range rows {
		id := stat.RowID{Machine: r.Machine, Cell: r.Cell}
		id.Cell.Framing = ""
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], r)
	}
	slices.SortStableFunc(order, func(a, b stat.RowID) int {
		return cmp.Or(
			cmp.Compare(a.Cell.ClosesAfter, b.Cell.ClosesAfter),
			cmp.Compare(a.Cell.Drain, b.Cell.Drain),
			cmp.Compare(a.Cell.Size, b.Cell.Size),
			cmp.Compare(a.Cell.IO, b.Cell.IO))
	})
	var tables []Table
	at := make(map[string]int)
	for _, id := range order {
		title := "Non-blocking writer, " + shortPlacement(id.Cell.Placement)
		if name := MachineTitle(s, id.Machine); name != "" {
			title += ", " + name
		}
		i, known := at[title]
		if !known {
			i = len(tables)
			at[title] = i
			title += " (range over the framings, or their median)"
			tables = append(tables, Table{Title: title, Columns: []Column{
				{Title: "reader", Key: true},
				{Title: "message", Right: true, Key: true},
				{Title: "waits by", Key: true},
				{Title: "EAGAIN/msg", Right: true, Key: true},
				{Title: "short/msg", Right: true},
				{Title: "goodput", Right: true},
				{Title: "lost", Right: true},
				{Title: "told after", Right: true},
			}})
		}
		tables[i].AppendValues(waitingLine(id.Cell, groups[id])...)
	}
	return tables
}

// waitingLine is a line of the table.
func waitingLine(c results.Cell, own []stat.Row) []Value {
	writer, _, _ := strings.Cut(c.IO, "/")
	reader := fieldText(c, "drain")
	if c.ClosesAfter > 0 {
		reader = "leaves"
	}
	line := []Value{
		textValue(reader),
		textValue(sizeTitle(c.Size)),
		textValue(writer),
		spanValue(own, "eagain", countText),
	}
	if c.ClosesAfter > 0 {
		lost := func(v float64) string { return results.FormatNumber(v/1024, 3) + " KiB" }
		return append(line, Value{}, Value{},
			spanValue(own, "lost", lost), spanValue(own, "told", results.FormatDuration))
	}
	return append(line, spanValue(own, "short", countText),
		spanValue(own, "goodput", results.FormatGoodput), Value{}, Value{})
}

// spanValue shows the least and the greatest median of rows that differ in framing.
func spanValue(rows []stat.Row, metric string, format func(float64) string) Value {
	var values []float64
	for _, r := range rows {
		if e := r.Estimates[metric]; e.N > 0 {
			values = append(values, e.Median)
		}
	}
	return spanOf(values, format)
}

// mostSpan is how many characters the least and the greatest figure may take together: else their
// median stands for both, so that the columns have room.
const mostSpan = 11

func spanOf(values []float64, format func(float64) string) Value {
	if len(values) == 0 {
		return Value{}
	}
	least := format(slices.Min(values))
	most := format(slices.Max(values))
	span := least + "–" + most
	if least != most && utf8.RuneCountInString(span) <= mostSpan {
		return textValue(span)
	}
	return textValue(format(stat.Median(values).Median))
}
