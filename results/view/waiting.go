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
	lines := grouped(rows, lineID)
	slices.SortStableFunc(lines, func(a, b []stat.Row) int {
		x, y := a[0].Cell, b[0].Cell
		return cmp.Or(
			cmp.Compare(x.ClosesAfter, y.ClosesAfter),
			cmp.Compare(x.Drain, y.Drain),
			cmp.Compare(x.Size, y.Size),
			cmp.Compare(x.IO, y.IO))
	})
	var tables []Table
	for _, place := range grouped(lines, func(own []stat.Row) stat.RowID {
		return stat.RowID{Machine: own[0].Machine,
			Cell: results.Cell{Placement: own[0].Cell.Placement}}
	}) {
		first := place[0][0]
		title := "Non-blocking writer, " + shortPlacement(first.Cell.Placement)
		if name := MachineTitle(s, first.Machine); name != "" {
			title += ", " + name
		}
		title += " (range over the framings, or their median)"
		t := Table{Title: title, Columns: []Column{
			{Title: "reader", Key: true},
			{Title: "message", Right: true, Key: true},
			{Title: "waits by", Key: true},
			{Title: "EAGAIN/msg", Right: true, Key: true},
			{Title: "short/msg", Right: true},
			{Title: "goodput", Right: true},
			{Title: "lost", Right: true},
			{Title: "told after", Right: true},
		}}
		for _, own := range place {
			t.AppendValues(waitingLine(own)...)
		}
		tables = append(tables, t)
	}
	return tables
}

// lineID is what the rows of a line share: all but the framing.
func lineID(r stat.Row) stat.RowID {
	r.Cell.Framing = ""
	return stat.RowID{Machine: r.Machine, Cell: r.Cell}
}

// waitingLine is a line of the table.
func waitingLine(own []stat.Row) []Value {
	c := own[0].Cell
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
