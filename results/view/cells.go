package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// cellTables lays rows out for a person: a table for each machine, placement and pattern. What all
// cells of a table share stands in its title, what they differ in has a column.
func cellTables(rows []stat.Row, m *footnotes) []Table {
	type id struct{ machine, placement, pattern string }
	idOf := func(r stat.Row) id { return id{r.Machine, r.Cell.Placement, r.Cell.Pattern} }
	machines := Distinct(rows, func(r stat.Row) string { return r.Machine })
	var out []Table
	for _, i := range Distinct(rows, idOf) {
		t := cellTable(stat.Filter(rows, func(r stat.Row) bool { return idOf(r) == i }), m)
		if len(machines) > 1 {
			t.Title = "machine " + results.ShortID(i.machine) + ", " + t.Title
		}
		out = append(out, t)
	}
	return out
}

func cellTable(rows []stat.Row, m *footnotes) Table {
	var cells []results.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	differ := results.DifferingFields(cells, "framing", "size")
	figures := streamFigures
	if cells[0].Pattern == results.PatternRoundtrip {
		figures = roundtripFigures
	}
	t := Table{Title: tableTitle(cells[0], differ), Columns: Columns(append([]string{"`framing", ">message"}, differ...)...)}
	for _, f := range figures {
		t.Columns = append(t.Columns, Column{Title: f.title, Right: true})
	}
	t.Columns = append(t.Columns, Columns("@_warnings")...)
	for _, r := range rows {
		t.Append(cellRow(r, differ, figures, m)...)
	}
	return t.dropEmpty()
}

// cellRow is one row; of a cell that has no samples it says why.
func cellRow(r stat.Row, differ []string, figures []figure, m *footnotes) []string {
	row := []string{r.Cell.Framing + m.refs(r), sizeText(r.Cell)}
	for _, name := range differ {
		row = append(row, FieldValue(name, r.Cell.Field(name)))
	}
	for i, f := range figures {
		text := f.of(r)
		if i == 0 && r.Samples == 0 {
			text = emptyWord(r)
		}
		row = append(row, text)
	}
	return append(row, orDash(strings.Join(rowWarnings(r), "; ")))
}

// sizeText returns the message size of a cell, which recorded messages do not have in common.
func sizeText(c results.Cell) string { return FieldValue("size", c.Field("size")) }

// emptyWord stands where a cell without samples has no figure.
func emptyWord(r stat.Row) string {
	switch {
	case r.Unsupported != "":
		return "unsupported"
	case r.Failed != "":
		return "failed"
	}
	return "not run (" + r.Stopped + ")"
}

// tableTitle says what the cells of a table share: the pipe, its ends, then what was sent and how.
func tableTitle(c results.Cell, differ []string) string {
	kind := map[bool]string{true: "Round trips ", false: "Streams "}[c.Pattern == results.PatternRoundtrip]
	parts := []string{kind + PlacementPhrase(c.Placement) + " (placement " + c.Placement + ")"}
	names := []string{"pipe", "capacity", "peer", "io", "payload"}
	for _, f := range c.Fields() {
		if !slices.Contains(names, f.Name) && !slices.Contains([]string{"framing", "size", "placement", "pattern"}, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, name := range names {
		if value := c.Field(name); value != "" && !slices.Contains(differ, name) {
			parts = append(parts, FieldPhrase(name, value))
		}
	}
	return strings.Join(parts, ", ")
}

// A figure is a column of the cell tables.
type figure struct {
	title string
	of    func(stat.Row) string
}

var streamFigures = []figure{
	{"GB/s", estimated("goodput", func(e stat.Estimate) string { return results.FormatNumber(e.Median*1e-9, 3) + spreadText(e) })},
	{"vs raw", func(r stat.Row) string { return ratioText(r.ToRaw) }},
	{"vs raw, wire", func(r stat.Row) string { return ratioText(r.ToRawWire) }},
	{"time/msg", inUnit("time")},
	{"overhead", inUnit("overhead")},
	{"calls/msg", callsText},
	{"CPU/MiB", estimated("cpu", func(e stat.Estimate) string { return results.FormatDuration(e.Median) })},
	{"p50", percentileText(func(l results.Latency) *int64 { return l.P50NS })},
	{"p99", percentileText(func(l results.Latency) *int64 { return l.P99NS })},
}

var roundtripFigures = []figure{
	{"p50", percentileText(func(l results.Latency) *int64 { return l.P50NS })},
	{"p99", percentileText(func(l results.Latency) *int64 { return l.P99NS })},
	{"p99.9", percentileText(func(l results.Latency) *int64 { return l.P999NS })},
	{"time/trip", estimated("time", func(e stat.Estimate) string { return results.FormatDuration(e.Median) + spreadText(e) })},
	{"vs raw", func(r stat.Row) string { return ratioText(r.ToRaw) }},
	{"overhead", inUnit("overhead")},
	{"calls/trip", callsText},
	{"CPU/trip", inUnit("cpu-time")},
}

// estimated shows the median of a metric that the row has, "-" of others.
func estimated(metric string, show func(stat.Estimate) string) func(stat.Row) string {
	return func(r stat.Row) string {
		e, ok := r.Estimates[metric]
		if !ok {
			return "-"
		}
		return show(e)
	}
}

// inUnit shows the median of a metric in its unit.
func inUnit(metric string) func(stat.Row) string {
	return estimated(metric, func(e stat.Estimate) string { return stat.MustMetric(metric).Format(e.Median) })
}

func spreadText(e stat.Estimate) string {
	percent, ok := e.Spread()
	if !ok {
		return ""
	}
	return fmt.Sprintf(" ±%2.0f%%", percent)
}

// ratioText writes a ratio with its interval: "0.94 [0.92, 0.96]".
func ratioText(e *stat.Estimate) string {
	if e == nil {
		return "-"
	}
	if e.Interval == nil {
		return fmt.Sprintf("%.2f", e.Median)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", e.Median, e.Interval.Lo, e.Interval.Hi)
}

// callsText is the system calls of the writing and the reading end.
func callsText(r stat.Row) string {
	w, okw := r.Estimates["writer-calls"]
	rd, okr := r.Estimates["reader-calls"]
	if !okw || !okr {
		return "-"
	}
	return countText(w.Median) + " + " + countText(rd.Median)
}

// countText writes a count a message: two decimals, fewer where it is large.
func countText(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return results.FormatNumber(v, 3)
}

func percentileText(of func(results.Latency) *int64) func(stat.Row) string {
	return func(r stat.Row) string {
		l, ok := r.PrimaryLatency()
		if !ok || l.Count == 0 || of(l) == nil {
			return "-"
		}
		return results.FormatDuration(float64(*of(l)))
	}
}
