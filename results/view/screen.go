package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

const (
	mostSeries = 12 // if there are more series, they do not get a table each
	mostTables = 5  // if there are more tables, only some are shown
)

// screenTables returns the tables of measurements for a first screen. If there are too many, it
// returns only those of the first placement, and isPart is true.
func screenTables(rows []stat.Row) (tables []Table, isPart bool) {
	run := splitRun(rows)
	streams := seriesIn(run.bare, patternStream)
	trips := seriesIn(run.bare, results.PatternRoundtrip)
	if len(streams)+len(trips) > mostSeries { // cellTables makes fewer tables, which are longer
		return cellTables(rows), false
	}
	var all, first Page // first: what is shown if all are too many
	for _, list := range [][]series{streams, trips} {
		for _, one := range list {
			t := one.table()
			all.addTable(t)
			if one.cell.Placement == list[0].cell.Placement {
				first.addTable(t)
			}
		}
	}
	all.addTable(programTable(run.program))
	all.addTable(leverTable(run.levers))
	all.Tables = append(all.Tables, waitingTables(run.waiting)...)
	switch {
	case len(all.Tables) == 0: // only cells of the pattern "mixed", which has no table here
		return cellTables(rows), false
	case len(all.Tables) <= mostTables || len(first.Tables) == 0:
		return all.Tables, false
	}
	return first.Tables, true
}

// A pivot describes a table with a line for each value of one property, and a column for each value
// of another.
type pivot struct {
	title  string
	heads  []Column                // the first columns, which tell the lines apart
	line   func(stat.Row) []string // a row's texts in the columns of heads
	across func(stat.Row) string   // the title of the column for a row's value
	key    string                  // the title of the column that stays even on a narrow screen
	value  func(stat.Row) Value    // if the row has a sample
}

// table makes a line for each different result of p.line, and a column for each different result of
// p.across.
func (p pivot) table(rows []stat.Row) Table {
	t := Table{Title: p.title, Columns: slices.Clone(p.heads)}
	columns := make(map[string]int)
	for _, r := range rows {
		across := p.across(r)
		if _, known := columns[across]; !known {
			columns[across] = len(t.Columns)
			t.Columns = append(t.Columns, Column{Title: across, Right: true, Key: across == p.key})
		}
	}
	lines := make(map[string]int)
	for _, r := range rows {
		texts := p.line(r)
		id := strings.Join(texts, "\x00")
		at, known := lines[id]
		if !known {
			at = len(t.Rows)
			lines[id] = at
			line := make([]Value, len(t.Columns))
			for i, text := range texts {
				line[i] = textValue(text)
			}
			t.AppendValues(line...)
		}
		v := Value{Text: emptyWord(r), Tone: Mixed}
		if r.Samples > 0 {
			v = p.value(r)
		}
		t.Rows[at][columns[p.across(r)]] = v
	}
	return t
}

// table shows the series with a line for each framing and a column for each size.
func (s series) table() Table {
	rows := slices.SortedStableFunc(slices.Values(s.rows), func(a, b stat.Row) int {
		return cmp.Compare(a.Cell.Size, b.Cell.Size)
	})
	value := screenValue
	compared := s.rows
	if s.hasMedianTrips() {
		value = func(r stat.Row) Value { // the median is steadier than the mean on a busy machine
			e := r.Estimates["p50"]
			return textValue(measuredText(results.FormatDuration(e.Median), e))
		}
		compared = nil // the table has times, and no ratios to raw
	}
	return pivot{
		title:  s.quantity(),
		heads:  []Column{{Title: "framing", Key: true}},
		line:   func(r stat.Row) []string { return []string{framingLabel(r, compared)} },
		across: func(r stat.Row) string { return SizeTitle(r.Cell.Size) },
		key:    SizeTitle(s.size),
		value:  value,
	}.table(rows)
}

// hasMedianTrips reports whether the measurements are round trips at full speed whose median times
// are known, with intervals unless there are too few samples for any.
func (s series) hasMedianTrips() bool {
	if s.cell.Pattern != results.PatternRoundtrip || s.cell.Rate > 0 {
		return false
	}
	measured := false
	for _, r := range s.rows {
		e, known := r.Estimates["p50"]
		known = known && (e.Interval != nil || e.N < stat.LeastSamples)
		if r.Samples > 0 && !known {
			return false
		}
		measured = measured || known
	}
	return measured
}

// framingLabel names the framing of a measurement. Beside ratios to raw bytes, it says that the
// figures of raw bytes are absolute.
func framingLabel(r stat.Row, table []stat.Row) string {
	if r.Cell.Framing == results.FramingRaw && slices.ContainsFunc(table, hasRatio) {
		return "raw (absolute)"
	}
	return FieldValue("framing", r.Cell.Framing)
}

func hasRatio(r stat.Row) bool { return r.ToRaw != nil }

// SizeTitle returns the name of a message size. The size 0 stands for recorded messages.
func SizeTitle(size int) string {
	return FieldValue("size", strconv.Itoa(size))
}

// quantity returns the title of a table: what its figures are, and where the two ends of the pipe
// ran.
func (s series) quantity() string {
	name := "Goodput"
	switch {
	case s.cell.Rate > 0:
		return "p99 from when due, " + s.short
	case s.hasMedianTrips():
		return "Round trip (median of messages), " + s.short
	case s.cell.Pattern == results.PatternRoundtrip:
		name = "Round trip"
	}
	if slices.ContainsFunc(s.rows, hasRatio) {
		name += " vs raw"
	}
	return name + ", " + s.short
}

// programTable shows what a framing costs a program that parses the messages.
func programTable(rows []stat.Row) Table {
	return pivot{
		title: "Goodput vs raw of a program whose reader parses",
		heads: []Column{
			{Title: "framing", Key: true},
			{Title: "message", Right: true, Key: true},
		},
		line: func(r stat.Row) []string {
			return []string{framingLabel(r, rows), SizeTitle(r.Cell.Size)}
		},
		across: func(r stat.Row) string { return results.ShortPlacement(r.Cell.Placement) },
		key:    results.ShortPlacement("same"),
		value:  screenValue,
	}.table(rows)
}

// screenValue shows the main figure of a measurement: the 99th percentile of the latency if
// messages have a fixed rate, else the ratio to raw bytes, else the goodput or the time.
func screenValue(r stat.Row) Value {
	l, _ := r.PrimaryLatency()
	switch {
	case r.Cell.Rate > 0 && l.P99NS != nil:
		return textValue(results.FormatDuration(float64(*l.P99NS)))
	case r.ToRaw == nil && r.Cell.Pattern == results.PatternRoundtrip:
		return textValue(RoughText("time", r.Estimates["time"]))
	case r.ToRaw == nil:
		return textValue(goodputText(r))
	}
	v := textValue(RatioText(r.ToRaw))
	slow := r.ToRaw.Inverse() // how many times as long as raw the row takes
	if r.Cell.Pattern == results.PatternRoundtrip {
		slow = *r.ToRaw
	}
	switch {
	case IsRough(*r.ToRaw):
		v.Tone = Mixed
	case !slow.Above(1):
		v.Tone = Good
	case slow.Above(2):
		v.Tone = Bad
	}
	return v
}

// emptyWord returns the word to show instead of a figure if a measurement has no samples.
func emptyWord(r stat.Row) string {
	switch {
	case r.Unsupported != "":
		return "unsupported"
	case r.Failed != "":
		return "failed"
	}
	return "not run"
}
