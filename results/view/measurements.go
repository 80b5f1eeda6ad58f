package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// cellTables lays rows out with all their figures: a table for each machine, placement and pattern.
// The title says what all cells of a table share; each thing they differ in has a column.
func cellTables(s *results.Set, rows []stat.Row) []Table {
	type group struct {
		machine, placement, pattern string
		waiting                     bool
	}
	var order []group
	groups := make(map[group][]stat.Row)
	for _, r := range rows {
		g := group{r.Machine, r.Cell.Placement, r.Cell.Pattern, r.Cell.IsWaiting()}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], r)
	}
	var tables []Table
	for _, g := range order {
		t := cellTable(groups[g])
		if machine := MachineTitle(s, g.machine); machine != "" {
			t.Title = machine + ": " + t.Title
		}
		tables = append(tables, t)
	}
	return tables
}

// cellTable has a row for each cell, and a column for each figure that any of them has.
func cellTable(rows []stat.Row) Table {
	var cells []results.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	differ := results.DifferingFields(cells, "framing", "size")
	t := Table{Title: tableTitle(cells[0], differ), Columns: cellHeads(differ)}
	for _, f := range figuresOf(rows[0]) {
		t.Columns = append(t.Columns, Column{Title: f.title, Right: true})
	}
	for _, r := range rows {
		row := cellValues(r, differ)
		for i, f := range figuresOf(r) {
			if i == 0 && r.Samples == 0 {
				f.text = emptyWord(r)
			}
			row = append(row, textValue(f.text))
		}
		t.AppendValues(row...)
	}
	return t
}

// A figure is a column of a detailed table, "" where a cell does not have it.
type figure struct{ title, text string }

// figuresOf are the figures of a cell: of a stream the goodput first, of a round trip its time.
func figuresOf(r stat.Row) []figure {
	calls := figure{"calls/msg", callsText(r)}
	eagain := figure{"EAGAIN/msg", refusalText(r, "eagain")}
	vsRaw := figure{"vs raw", ratioText(r.ToRaw)}
	overhead := figure{"overhead", metricText(r, "overhead")}
	p50 := figure{"p50", percentileText(r, "p50")}
	p99 := figure{"p99", percentileText(r, "p99")}
	if r.Cell.Pattern == results.PatternRoundtrip {
		trip := figure{title: "time/trip"}
		if e, ok := r.Estimates["time"]; ok {
			trip.text = withSpread(results.FormatDuration(e.Median), e)
		}
		p999 := figure{"p99.9", percentileText(r, "p99.9")}
		cpu := figure{"CPU/trip", metricText(r, "cpu-time")}
		return []figure{p50, p99, p999, trip, vsRaw, overhead, calls, eagain, cpu}
	}
	goodput := figure{title: "GB/s"}
	if e, ok := r.Estimates["goodput"]; ok {
		goodput.text = withSpread(results.FormatNumber(e.Median*1e-9, 3), e)
	}
	cpu := figure{title: "CPU/MiB"}
	if e, ok := r.Estimates["cpu"]; ok {
		cpu.text = results.FormatDuration(e.Median)
	}
	return []figure{
		goodput,
		vsRaw,
		{"vs raw, wire", ratioText(r.ToRawWire)},
		{"time/msg", metricText(r, "time")},
		overhead,
		calls,
		cpu,
		p50,
		p99,
		eagain,
		{"short/msg", refusalText(r, "short")},
		{"waiting", metricText(r, "waiting")},
		{"lost", metricText(r, "lost")},
		{"told after", metricText(r, "told")},
		{"told", r.Told},
	}
}

// cellHeads are the columns that tell the cells of rows apart: framing, size and the fields that
// differ.
func cellHeads(differ []string) []Column {
	heads := []Column{
		{Title: "framing", Style: Code, Key: true},
		{Title: "message", Right: true, Key: true},
	}
	for _, name := range differ {
		heads = append(heads, Column{Title: name, Key: true})
	}
	return heads
}

// cellValues are the values of those columns.
func cellValues(r stat.Row, differ []string) []Value {
	values := []Value{textValue(r.Cell.Framing), textValue(fieldText(r.Cell, "size"))}
	for _, name := range differ {
		values = append(values, textValue(fieldText(r.Cell, name)))
	}
	return values
}

// tableTitle says what the cells of a table share: the pipe, its ends, then what was sent and how.
func tableTitle(c results.Cell, differ []string) string {
	kind := "Streams "
	switch {
	case c.IsWaiting():
		kind = "Non-blocking writers "
	case c.Pattern == results.PatternRoundtrip:
		kind = "Round trips "
	}
	parts := []string{kind + PlacementPhrase(c.Placement) + " (placement " + c.Placement + ")"}
	names := []string{"pipe", "capacity", "io", "payload"}
	left := append([]string{"framing", "size", "placement", "pattern"}, differ...)
	for _, v := range c.Values() {
		if !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	for _, name := range names {
		if value := c.Field(name); value != "" && !slices.Contains(left, name) {
			parts = append(parts, FieldPhrase(name, value))
		}
	}
	return strings.Join(parts, ", ")
}

// metricText shows the median of a metric in its unit, "" if the row has none.
func metricText(r stat.Row, metric string) string {
	e, ok := r.Estimates[metric]
	if !ok {
		return ""
	}
	return stat.MustMetric(metric).Format(e.Median)
}

// refusalText shows what ends meet that do not block.
func refusalText(r stat.Row, metric string) string {
	e, ok := r.Estimates[metric]
	if !ok || r.Cell.IO == "blocking" {
		return ""
	}
	return countText(e.Median)
}

// ratioText writes a ratio with its interval: "0.94 [0.92, 0.96]".
func ratioText(e *stat.Estimate) string {
	if e == nil {
		return ""
	}
	text := withSpread(fmt.Sprintf("%.2f", e.Median), *e)
	if e.Interval == nil || text == tooNoisy {
		return text
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", e.Median, e.Interval.Lo, e.Interval.Hi)
}

// callsText is the system calls of the writing and the reading end.
func callsText(r stat.Row) string {
	writer, okWriter := r.Estimates["writer-calls"]
	reader, okReader := r.Estimates["reader-calls"]
	if !okWriter || !okReader {
		return ""
	}
	return countText(writer.Median) + " + " + countText(reader.Median)
}

// countText writes a count a message: two decimals, fewer where it is large.
func countText(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return results.FormatNumber(v, 3)
}

// percentileText shows a percentile of the latency that is felt.
func percentileText(r stat.Row, name string) string {
	l, _ := r.PrimaryLatency()
	return quantileValue(l, name).Text
}

// figureTable has a row for each cell: its machine and fields, then each metric that any cell has,
// as median, both ends of the interval and n, in base units.
func figureTable(sum Summary) Table {
	var fields []string
	for _, f := range results.Fields() {
		for _, r := range sum.Rows {
			if f.Text(r.Cell) != "" {
				fields = append(fields, f.Name)
				break
			}
		}
	}
	slices.Sort(fields)
	var metrics []stat.Metric
	for _, m := range stat.Metrics() {
		for _, r := range sum.Rows {
			if r.Estimates[m.Name].N > 0 {
				metrics = append(metrics, m)
				break
			}
		}
	}
	told := false
	for _, r := range sum.Rows {
		told = told || r.Told != ""
	}
	var t Table
	add := func(titles ...string) {
		for _, title := range titles {
			t.Columns = append(t.Columns, Column{Title: title, Key: true})
		}
	}
	add("machine")
	add(fields...)
	add("samples")
	for _, m := range metrics {
		title := m.Name
		if m.Unit != "" {
			title += " (" + m.Unit + ")"
		}
		add(title, m.Name+" lo", m.Name+" hi", m.Name+" n")
	}
	add("to_raw", "to_raw lo", "to_raw hi", "to_raw n")
	add("to_raw_wire", "to_raw_wire lo", "to_raw_wire hi", "to_raw_wire n")
	add("unsupported", "failed", "warnings")
	if told {
		add("told")
	}
	for _, r := range sum.Rows {
		row := []string{r.Machine}
		for _, name := range fields {
			row = append(row, r.Cell.Field(name))
		}
		row = append(row, strconv.Itoa(r.Samples))
		for _, m := range metrics {
			row = append(row, plainEstimate(r.Estimates[m.Name])...)
		}
		row = append(row, plainRatio(r.ToRaw)...)
		row = append(row, plainRatio(r.ToRawWire)...)
		row = append(row, r.Unsupported, r.Failed, strings.Join(r.Warnings, "; "))
		if told {
			row = append(row, r.Told)
		}
		t.Append(row...)
	}
	return t
}

func plainRatio(e *stat.Estimate) []string {
	if e == nil {
		return plainEstimate(stat.Estimate{})
	}
	return plainEstimate(*e)
}

// plainEstimate returns the median, both ends of the interval and n, each "" where it is not known.
func plainEstimate(e stat.Estimate) []string {
	out := make([]string, 4)
	if e.N == 0 {
		return out
	}
	out[0] = plainNumber(e.Median)
	if e.Interval != nil {
		out[1] = plainNumber(e.Interval.Lo)
		out[2] = plainNumber(e.Interval.Hi)
	}
	out[3] = strconv.Itoa(e.N)
	return out
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
