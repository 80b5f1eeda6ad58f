package view

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A waitingCell is what the rows of a line about writers that do not block share: all but the
// framing.
type waitingCell struct {
	machine, placement string
	io                 string
	size               int
	drain              int64
	closesAfter        int
}

func waitingCellOf(r stat.Row) waitingCell {
	c := r.Cell
	return waitingCell{r.Machine, c.Placement, c.IO, c.Size, c.Drain, c.ClosesAfter}
}

// waitingTables show what writers meet that do not block: a table for each placement, with a line
// for each way to wait, size and reader. Figures are the range over the framings, or their median
// where the range has no room.
func waitingTables(rows []stat.Row) []Table {
	var order []waitingCell
	groups := make(map[waitingCell][]stat.Row)
	for _, r := range rows {
		c := waitingCellOf(r)
		if groups[c] == nil {
			order = append(order, c)
		}
		groups[c] = append(groups[c], r)
	}
	slices.SortStableFunc(order, func(a, b waitingCell) int {
		return cmp.Or(
			cmp.Compare(a.closesAfter, b.closesAfter),
			cmp.Compare(a.drain, b.drain),
			cmp.Compare(a.size, b.size),
			cmp.Compare(a.io, b.io))
	})
	var tables []Table
	at := make(map[[2]string]int)
	for _, c := range order {
		place := [2]string{c.machine, c.placement}
		i, known := at[place]
		if !known {
			i = len(tables)
			at[place] = i
			tables = append(tables, Table{
				Title: "Non-blocking writer, " + shortPlacement(c.placement),
				Columns: []Column{
					{Title: "reader", Key: true},
					{Title: "message", Right: true, Key: true},
					{Title: "waits by", Key: true},
					{Title: "EAGAIN/msg", Right: true, Key: true},
					{Title: "short/msg", Right: true},
					{Title: "goodput", Right: true},
					{Title: "lost", Right: true},
					{Title: "told after", Right: true},
				},
			})
		}
		tables[i].AppendValues(waitingRow(c, groups[c], rows)...)
	}
	for i := range tables {
		tables[i] = tables[i].dropEmpty()
	}
	if note := toldNote(rows); note != "" {
		last := &tables[len(tables)-1]
		last.Notes = append(last.Notes, note)
	}
	return tables
}

// waitingRow is a line of the table. The goodput of other ways to wait is set beside that of poll.
func waitingRow(c waitingCell, own, all []stat.Row) []Value {
	writer, _, _ := strings.Cut(c.io, "/")
	row := []Value{textValue(readerText(c)), textValue(sizeTitle(c.size)), textValue(writer)}
	lost := func(v float64) string { return results.FormatNumber(v/1024, 3) + " KiB" }
	if c.closesAfter > 0 {
		return append(row,
			spanValue(own, "eagain", countText), Value{}, Value{},
			spanValue(own, "lost", lost), spanValue(own, "told", results.FormatDuration))
	}
	goodput := spanValue(own, "goodput", results.FormatGoodput)
	if writer != "poll" {
		if v := vsPoll(own, all); v.Text != "" {
			goodput = v
		}
	}
	return append(row,
		spanValue(own, "eagain", countText), spanValue(own, "short", countText), goodput, Value{}, Value{})
}

// readerText says what a reader does.
func readerText(c waitingCell) string {
	if c.closesAfter == 0 {
		return FieldValue("drain", results.Cell{Drain: c.drain}.Field("drain"))
	}
	return "leaves"
}

// toldNote says by what writers learn that their reader left, "" if nothing is known of that.
func toldNote(rows []stat.Row) string {
	for _, r := range rows {
		if r.Told != "" {
			return "a writer learns that its reader left by " + r.Told
		}
	}
	return ""
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

// vsPoll shows goodput as a multiple of what poll(2) reaches with all else the same.
func vsPoll(own, all []stat.Row) Value {
	var ratios []float64
	for _, r := range own {
		polled := r.Cell
		polled.IO = "poll/blocking"
		for _, o := range all {
			if o.Cell != polled || o.Machine != r.Machine || o.Samples == 0 {
				continue
			}
			e := stat.PairedRatio(stat.MustMetric("goodput"), r.Records, o.Records)
			if e.N > 0 {
				ratios = append(ratios, e.Median)
			}
		}
	}
	return spanOf(ratios, func(v float64) string { return "×" + results.FormatNumber(v, 2) })
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
