package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// cellTables shows measurements with all their figures, in a table for each placement of the ends
// and each pattern of messages.
func cellTables(rows []stat.Row) []Table {
	placementAndPattern := func(r stat.Row) string {
		return fmt.Sprint(r.Cell.Placement, " ", r.Cell.Pattern, r.Cell.IsWaiting())
	}
	var tables []Table
	for _, own := range grouped(rows, placementAndPattern) {
		tables = append(tables, cellTable(own))
	}
	return tables
}

// grouped puts values with the same key into one group. The groups have the order in which their
// keys first occur.
func grouped[T any, K comparable](all []T, key func(T) K) [][]T {
	var groups [][]T
	at := make(map[K]int)
	for _, v := range all {
		k := key(v)
		i, known := at[k]
		if !known {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], v)
	}
	return groups
}

func cellTable(rows []stat.Row) Table {
	var cells []results.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	differ := results.DifferingFields(cells, "framing", "size")
	t := Table{Title: tableTitle(cells), Columns: cellHeads(differ)}
	for _, f := range figuresOf(rows[0]) {
		t.Columns = append(t.Columns, Column{Title: f.title, Right: true})
	}
	for _, r := range rows {
		row := cellValues(r, differ)
		for _, f := range figuresOf(r) {
			row = append(row, textValue(f.text))
		}
		t.AppendValues(row...)
	}
	return t
}

// A figure is one value of a measurement, and the title of its column in a table. The text is "" if
// the value was not measured.
type figure struct{ title, text string }

// figuresOf lists the figures of a measurement. Every measurement has the same number of figures,
// with the same titles.
func figuresOf(r stat.Row) []figure {
	goodput := ""
	time := metricText(r, "time")
	isRoundTrip := r.Cell.Pattern == results.PatternRoundtrip
	e, hasGoodput := r.Estimates["goodput"]
	switch {
	case r.Samples == 0 && isRoundTrip:
		time = emptyWord(r)
	case r.Samples == 0:
		goodput = emptyWord(r)
	case isRoundTrip:
		e = r.Estimates["time"]
		time = measuredText(stat.MustMetric("time").Format(e.Median), e)
	case hasGoodput:
		goodput = measuredText(results.FormatNumber(e.Median*1e-9, 3), e)
	}
	waiting := ""
	if r.Cell.ClosesAfter == 0 { // else the writer outlives the time that is measured
		waiting = metricText(r, "waiting")
	}
	return []figure{
		{"GB/s", goodput},
		{"vs raw", RatioText(r.ToRaw)},
		{"time/msg", time},
		{"p50", percentileText(r, "p50")},
		{"p99", percentileText(r, "p99")},
		{"p99.9", percentileText(r, "p99.9")},
		{"overhead", metricText(r, "overhead")},
		{"calls/msg", callsText(r)},
		{"CPU/msg", metricText(r, "cpu-time")},
		{"EAGAIN/msg", refusalText(r, "eagain")},
		{"short/msg", refusalText(r, "short")},
		{"waiting", waiting},
		{"lost", metricText(r, "lost")},
		{"told after", metricText(r, "told")}, // until a writer knew that its reader had left
		{"told", r.Told},
	}
}

// cellHeads returns the columns that tell measurements apart: framing, message size and the columns
// for the given fields.
func cellHeads(fields []string) []Column {
	heads := []Column{
		{Title: "framing", Style: Code, Key: true},
		{Title: "message", Right: true, Key: true},
	}
	for _, name := range fields {
		title := cmp.Or(fieldWords[name].title, spaced(name))
		heads = append(heads, Column{Title: title, Key: true})
	}
	return heads
}

// cellValues returns a row's values in the columns of cellHeads.
func cellValues(r stat.Row, differ []string) []Value {
	values := []Value{
		textValue(fieldText(r.Cell, "framing")),
		textValue(fieldText(r.Cell, "size")),
	}
	for _, name := range differ {
		value := Value{} // a dash
		if r.Cell.Field(name) != "" || fieldWords[name].absent != "" {
			value = textValue(fieldText(r.Cell, name))
		}
		values = append(values, value)
	}
	return values
}

// tableTitle says what the measurements in a table have in common.
func tableTitle(cells []results.Cell) string {
	c := cells[0]
	kind := "Streams "
	switch {
	case c.IsWaiting():
		kind = "Non-blocking writers "
	case c.Pattern == results.PatternRoundtrip:
		kind = "Round trips "
	}
	what := kind + results.PlacementPhrase(c.Placement) + " (placement " + c.Placement + ")"
	shared := CommonFields(cells, "framing", "size", "placement", "pattern")
	return strings.Join(append([]string{what}, shared...), ", ")
}

// metricText shows the median of a metric in its unit, marked if it is rough and not counted. It
// returns "" if the measurement does not have the metric.
func metricText(r stat.Row, metric string) string {
	e, ok := r.Estimates[metric]
	m := stat.MustMetric(metric)
	switch {
	case !ok:
		return ""
	case m.Counter:
		return m.Format(e.Median)
	}
	return RoughText(metric, e)
}

// refusalText shows a count that only non-blocking writers and readers have, such as the number of
// refused writes. For other measurements, it returns "".
func refusalText(r stat.Row, metric string) string {
	e, ok := r.Estimates[metric]
	if !ok || r.Cell.IO == "blocking" {
		return ""
	}
	return markRough(countText(e.Median), e)
}

// RatioText writes a ratio such as [stat.Row.ToRaw] with its interval, as tables do: "0.94 ± 2%".
func RatioText(e *stat.Estimate) string {
	if e == nil {
		return ""
	}
	figure := fmt.Sprintf("%.2f", e.Median)
	if e.Median < 0.1 {
		figure = results.FormatNumber(e.Median, 2)
	}
	return measuredText(figure, *e)
}

// callsText shows the system calls per message of the writer and of the reader: "1.00 + 1.02".
func callsText(r stat.Row) string {
	writer, okWriter := r.Estimates["writer-calls"]
	reader, okReader := r.Estimates["reader-calls"]
	if !okWriter || !okReader {
		return ""
	}
	return countText(writer.Median) + " + " + countText(reader.Median)
}

// countText writes a count per message with two decimals, or with three digits from 10 on.
func countText(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return results.FormatNumber(v, 3)
}

// percentileText shows a percentile, such as "p99", of the row's [stat.Row.PrimaryLatency].
func percentileText(r stat.Row, name string) string {
	l, _ := r.PrimaryLatency()
	return quantileValue(l, name).Text
}

// figureTable returns a table of measurements for programs to read, with all figures in base units.
func figureTable(s *results.Set) Table {
	names := results.MachineNames(s.Environments)
	fields := results.Fields()
	titles := []string{"machine"}
	for _, f := range fields {
		titles = append(titles, f.Name)
	}
	titles = append(titles, "samples")
	for _, m := range stat.Metrics() {
		title := m.Name
		if m.Unit != "" {
			title += " (" + m.Unit + ")"
		}
		titles = append(titles, title, m.Name+" lo", m.Name+" hi", m.Name+" n")
	}
	titles = append(titles, "to_raw", "to_raw lo", "to_raw hi", "to_raw n",
		"unsupported", "failed", "warnings", "told")
	var t Table
	for _, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title})
	}
	for _, r := range stat.Rows(s) {
		row := []string{cmp.Or(names[s.Machine(r.Runs[0])], r.Machine)}
		for _, f := range fields {
			row = append(row, f.Text(r.Cell))
		}
		row = append(row, strconv.Itoa(r.Samples))
		for _, m := range stat.Metrics() {
			row = append(row, plainEstimate(r.Estimates[m.Name])...)
		}
		toRaw := stat.Estimate{}
		if r.ToRaw != nil {
			toRaw = *r.ToRaw
		}
		row = append(row, plainEstimate(toRaw)...)
		t.Append(append(row, r.Unsupported, r.Failed, strings.Join(r.Warnings, "; "), r.Told)...)
	}
	return t.dropEmpty()
}

// plainEstimate returns the median, the two ends of the interval, and the number of samples, as
// texts. A text is "" if its value is not known.
func plainEstimate(e stat.Estimate) []string {
	if e.N == 0 {
		return make([]string, 4)
	}
	var low, high string
	if e.Interval != nil {
		low = plainNumber(e.Interval.Lo)
		high = plainNumber(e.Interval.Hi)
	}
	return []string{plainNumber(e.Median), low, high, strconv.Itoa(e.N)}
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
