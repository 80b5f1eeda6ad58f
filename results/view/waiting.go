package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A waitingColumn is a column of the block about writers that do not block: a figure against one
// kind of reader, of all framings together.
type waitingColumn struct {
	title  string
	width  int
	metric string
	format func(float64) string
}

// Columns of a reader that stays, and of one that leaves.
var (
	stayColumns = []waitingColumn{
		{"EAGAIN/msg", 11, "eagain", countText},
		{"short/msg", 10, "short", countText},
		{"goodput", 10, "goodput", results.FormatGoodput},
	}
	leaveColumns = []waitingColumn{
		{"lost", 9, "lost", func(v float64) string { return results.FormatNumber(v/1024, 3) + " KiB" }},
		{"told in", 10, "told", results.FormatDuration},
	}
)

// splitWaiting takes out of rows those about writers that do not block.
func splitWaiting(rows []stat.Row) (framed, waiting []stat.Row) {
	framed = stat.Filter(rows, func(r stat.Row) bool { return !r.Cell.IsWaiting() })
	return framed, stat.Filter(rows, func(r stat.Row) bool { return r.Cell.IsWaiting() })
}

// waitingLines are the block about writers that do not block: a line for each way to wait and size,
// with columns for a fast, a slow and a leaving reader. Figures are the range over the framings.
func waitingLines(all []stat.Row) []string {
	var out []string
	for _, rows := range stat.GroupBy(all, func(r stat.Row) [2]string { return [2]string{r.Machine, r.Cell.Placement} }) {
		out = append(append(out, ""), waitingBlock(rows)...)
	}
	return out
}

func waitingBlock(rows []stat.Row) []string {
	const first = 19
	readers := Distinct(rows, readerOf)
	slices.SortFunc(readers, func(a, b results.Cell) int { return cmp.Or(a.Leave-b.Leave, cmp.Compare(a.Drain, b.Drain)) })
	columns := func(c results.Cell) []waitingColumn {
		return map[bool][]waitingColumn{true: leaveColumns, false: stayColumns}[c.Leave > 0]
	}
	title, heads := "Non-blocking writer, "+shortPlacement(rows[0].Cell.Placement), strings.Repeat(" ", first)
	for i, to := range readers {
		name := readerPhrase(to, rows)
		at := len(heads) + 2
		for _, c := range columns(to) {
			heads += fmt.Sprintf("%*s", c.width, c.title)
		}
		if i == len(readers)-1 && len(readers) > 1 {
			at = len(heads) - utf8.RuneCountInString(name)
		}
		title += strings.Repeat(" ", max(1, at-utf8.RuneCountInString(title))) + name
	}
	out := []string{title, heads}
	for _, alike := range stat.GroupBy(rows, func(r stat.Row) string { return fmt.Sprintf("%012d %s", r.Cell.Size, r.Cell.IO) }) {
		c := alike[0].Cell
		writer, _, _ := strings.Cut(c.IO, "/")
		line := fmt.Sprintf(" %-*s%*s", first-9, writer, 8, fieldText(c, "size"))
		for _, to := range readers {
			own := stat.Filter(alike, func(r stat.Row) bool { return readerOf(r) == to && r.Samples > 0 })
			for _, column := range columns(to) {
				text := column.text(own, rows)
				line += strings.Repeat(" ", max(1, column.width-utf8.RuneCountInString(text))) + text
			}
		}
		out = append(out, line)
	}
	return out
}

// readerOf returns what a cell says of its reader alone.
func readerOf(r stat.Row) results.Cell { return results.Cell{Drain: r.Cell.Drain, Leave: r.Cell.Leave} }

// readerPhrase says what a reader does, and of one that leaves by what the writers learned it.
func readerPhrase(c results.Cell, rows []stat.Row) string {
	at := slices.IndexFunc(rows, func(r stat.Row) bool { return readerOf(r) == c && r.Told != "" })
	switch {
	case at >= 0:
		return "leaves (" + rows[at].Told + ")"
	case c.Leave > 0:
		return FieldPhrase("leave", c.Field("leave"))
	}
	return FieldPhrase("drain", c.Field("drain"))
}

// text writes the least and the greatest figure of the framings' rows where they differ and have
// room, else the median. Goodput has that of poll(2) as its measure, all else the same, where that
// is among all.
func (c waitingColumn) text(rows, all []stat.Row) string {
	var values []float64
	for _, r := range rows {
		e := r.Estimates[c.metric]
		if c.metric == "goodput" {
			e, c.format = besidePoll(r, all, e, c.format)
		}
		if e.N > 0 {
			values = append(values, e.Median)
		}
	}
	if len(values) == 0 {
		return "-"
	}
	least, most := c.format(slices.Min(values)), c.format(slices.Max(values))
	if text := least + "–" + most; least != most && utf8.RuneCountInString(text) < c.width {
		return text
	}
	return c.format(stat.Median(values).Median)
}

func besidePoll(r stat.Row, all []stat.Row, own stat.Estimate, format func(float64) string) (stat.Estimate, func(float64) string) {
	c := r.Cell
	c.IO = "poll/blocking"
	at := slices.IndexFunc(all, func(o stat.Row) bool { return o.Cell == c && o.Machine == r.Machine && o.Samples > 0 })
	if at < 0 || c == r.Cell {
		return own, format
	}
	times := func(v float64) string { return "×" + results.FormatNumber(v, 2) }
	return stat.PairedRatio(stat.MustMetric("goodput"), r.Records, all[at].Records), times
}
