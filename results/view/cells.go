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
func cellTables(rows []stat.Row, m *footnoteRefs) []Table {
	type id struct{ machine, placement, pattern string }
	var ids []id
	groups := make(map[id][]stat.Row)
	for _, r := range rows {
		i := id{r.Machine, r.Cell.Placement, r.Cell.Pattern}
		if groups[i] == nil {
			ids = append(ids, i)
		}
		groups[i] = append(groups[i], r)
	}
	machines := make(map[string]bool)
	for _, i := range ids {
		machines[i.machine] = true
	}
	var out []Table
	for _, i := range ids {
		t := cellTable(groups[i], m)
		if len(machines) > 1 {
			t.Title = "machine " + results.ShortID(i.machine) + ", " + t.Title
		}
		out = append(out, t)
	}
	return out
}

func cellTable(rows []stat.Row, m *footnoteRefs) Table {
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
		t.Rows = append(t.Rows, cellRow(r, differ, figures, m))
	}
	return t.dropEmpty()
}

// cellRow is one row; of a cell that has no samples it says why.
func cellRow(r stat.Row, differ []string, figures []figure, m *footnoteRefs) []string {
	row := []string{r.Cell.Framing + m.of(r), sizeText(r.Cell)}
	for _, name := range differ {
		row = append(row, results.ShortValue(name, r.Cell.Field(name)))
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

// sizeText is the message size of a cell, which recorded messages do not have in common.
func sizeText(c results.Cell) string {
	if c.Size == 0 && c.Messages != "" {
		return "recorded"
	}
	return results.FormatSize(int64(c.Size))
}

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

// tableTitle says what the cells of a table share.
func tableTitle(c results.Cell, differ []string) string {
	kind := map[bool]string{true: "Round trips ", false: "Streams "}[c.Pattern == results.PatternRoundtrip]
	parts := []string{kind + placementWord(c.Placement) + " (placement " + c.Placement + ")"}
	for _, name := range titleOrder(c) {
		if value := c.Field(name); value != "" && !slices.Contains(differ, name) {
			parts = append(parts, titlePart(name, value))
		}
	}
	return strings.Join(parts, ", ")
}

// titleOrder is the fields in the order in which titles speak of them: the
// pipe, its ends, then what was sent and how.
func titleOrder(c results.Cell) []string {
	names := []string{"pipe", "capacity", "peer", "io", "payload"}
	for _, f := range c.Fields() {
		if !slices.Contains(names, f.Name) && !slices.Contains([]string{"framing", "size", "placement", "pattern"}, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

func titlePart(name, value string) string {
	switch name {
	case "pipe":
		return value + " pipe"
	case "capacity":
		return results.ShortValue(name, value) + " capacity"
	case "payload":
		return value + " payload"
	case "peer":
		if words, ok := map[string]string{"process": "two processes", "thread": "two threads"}[value]; ok {
			return words
		}
	}
	return name + " " + results.ShortValue(name, value)
}

// A figure is a column of the cell tables.
type figure struct {
	title string
	of    func(stat.Row) string
}

var streamFigures = []figure{
	{"GB/s", scaledEstimate("goodput", 1e-9)},
	{"vs raw", func(r stat.Row) string { return ratioText(r.ToRaw) }},
	{"vs raw, wire", func(r stat.Row) string { return ratioText(r.ToRawWire) }},
	{"time/msg", plainEstimate("time")},
	{"overhead", plainEstimate("overhead")},
	{"calls/msg", callsText},
	{"CPU/MiB", cpuText},
	{"p50", percentileText(func(l results.Latency) *int64 { return l.P50NS })},
	{"p99", percentileText(func(l results.Latency) *int64 { return l.P99NS })},
}

var roundtripFigures = []figure{
	{"p50", percentileText(func(l results.Latency) *int64 { return l.P50NS })},
	{"p99", percentileText(func(l results.Latency) *int64 { return l.P99NS })},
	{"p99.9", percentileText(func(l results.Latency) *int64 { return l.P999NS })},
	{"time/trip", spreadEstimate("time")},
	{"vs raw", func(r stat.Row) string { return ratioText(r.ToRaw) }},
	{"overhead", plainEstimate("overhead")},
	{"calls/trip", callsText},
	{"CPU/trip", plainEstimate("cpu-time")},
}

// scaledEstimate is a median in the column's unit with ±, "3.21 ± 4 %".
func scaledEstimate(metric string, scale float64) func(stat.Row) string {
	return func(r stat.Row) string {
		e, ok := r.Estimates[metric]
		if !ok {
			return "-"
		}
		return results.FormatNumber(e.Median*scale, 3) + spreadText(e)
	}
}

// spreadEstimate is a median with its unit and ±.
func spreadEstimate(metric string) func(stat.Row) string {
	return func(r stat.Row) string {
		e, ok := r.Estimates[metric]
		if !ok {
			return "-"
		}
		return formatMetric(metric, e.Median) + spreadText(e)
	}
}

// plainEstimate is a median with its unit.
func plainEstimate(metric string) func(stat.Row) string {
	return func(r stat.Row) string {
		e, ok := r.Estimates[metric]
		if !ok {
			return "-"
		}
		return formatMetric(metric, e.Median)
	}
}

// formatMetric writes a value in the unit of a metric that is in the list.
func formatMetric(name string, v float64) string {
	m := stat.MustMetric(name)
	return m.Format(v)
}

func spreadText(e stat.Estimate) string {
	percent, ok := e.Spread()
	if !ok {
		return ""
	}
	return fmt.Sprintf(" ±%2.0f%%", percent)
}

// ratioText is "0.94 [0.92, 0.96]".
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

// cpuText is the CPU time a MiB of payload takes; the column says the MiB.
func cpuText(r stat.Row) string {
	e, ok := r.Estimates["cpu"]
	if !ok {
		return "-"
	}
	return results.FormatDuration(e.Median)
}
