package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// cellTables lays rows out for a person: a table for each machine, placement and pattern. What all
// cells of a table share stands in its title, what they differ in has a column.
func cellTables(rows []stat.Row, m *footnotes) []Table {
	machines := stat.Distinct(rows, machineOf)
	alike := stat.GroupBy(rows, func(r stat.Row) [4]string {
		return [4]string{r.Machine, r.Cell.Placement, r.Cell.Pattern, fmt.Sprint(r.Cell.IsWaiting())}
	})
	return stat.Map(alike, func(own []stat.Row) Table {
		t := cellTable(own, m)
		if len(machines) > 1 {
			t.Title = "machine " + results.ShortID(own[0].Machine) + ", " + t.Title
		}
		return t
	})
}

func cellTable(rows []stat.Row, m *footnotes) Table {
	cells := stat.Distinct(rows, cellOf)
	differ := results.DifferingFields(cells, "framing", "size")
	figures := streamFigures
	if cells[0].Pattern == results.PatternRoundtrip {
		figures = roundtripFigures
	}
	columns := slices.Concat(cellColumns(differ, m, func(r stat.Row) stat.Row { return r }), figures)
	return tableOf(tableTitle(cells[0], differ), rows, columns...).dropEmpty()
}

// cellColumns tell the cells of rows apart: by framing, size and the fields that differ.
func cellColumns[L any](differ []string, m *footnotes, row func(L) stat.Row) []columnOf[L] {
	columns := []columnOf[L]{
		textColumn("`framing", func(l L) string { return row(l).Cell.Framing + m.refs(row(l)) }),
		textColumn(">message", func(l L) string { return fieldText(row(l).Cell, "size") }),
	}
	for _, name := range differ {
		columns = append(columns, textColumn(name, func(l L) string { return fieldText(row(l).Cell, name) }))
	}
	return columns
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

// emptyWord stands where a cell without samples has no figure.
func emptyWord(r stat.Row) string {
	known := when(r.Unsupported != "", "unsupported")
	return cmp.Or(known, when(r.Failed != "", "failed"), "not run ("+r.Stopped+")")
}

// tableTitle says what the cells of a table share: the pipe, its ends, then what was sent and how.
func tableTitle(c results.Cell, differ []string) string {
	roundTrips := when(c.Pattern == results.PatternRoundtrip, "Round trips ")
	kind := cmp.Or(when(c.IsWaiting(), "Non-blocking writers "), roundTrips, "Streams ")
	parts := []string{kind + PlacementPhrase(c.Placement) + " (placement " + c.Placement + ")"}
	names := []string{"pipe", "capacity", "io", "payload"}
	for _, f := range c.Values() {
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

// Figures of the cell tables.
var (
	streamFigures = []columnOf[stat.Row]{
		textColumn("?>GB/s", orWhyNot(estimated("goodput", func(e stat.Estimate) string {
			return withSpread(results.FormatNumber(e.Median*1e-9, 3), e)
		}))),
		textColumn("?>vs raw", func(r stat.Row) string { return ratioText(r.ToRaw) }),
		textColumn("?>vs raw, wire", func(r stat.Row) string { return ratioText(r.ToRawWire) }),
		textColumn("?>time/msg", inUnit("time")),
		textColumn("?>overhead", inUnit("overhead")),
		textColumn("?>calls/msg", callsText),
		textColumn("?>CPU/MiB", estimated("cpu", func(e stat.Estimate) string { return results.FormatDuration(e.Median) })),
		textColumn("?>p50", percentileText("p50")),
		textColumn("?>p99", percentileText("p99")),
		textColumn("?>EAGAIN/msg", refusals("eagain")),
		textColumn("?>short/msg", refusals("short")),
		textColumn("?>waiting", inUnit("waiting")),
		textColumn("?>lost", inUnit("lost")),
		textColumn("?>told after", inUnit("told")),
		textColumn("?>told", func(r stat.Row) string { return r.Told }),
		warningsColumn,
	}
	roundtripFigures = []columnOf[stat.Row]{
		textColumn("?>p50", orWhyNot(percentileText("p50"))),
		textColumn("?>p99", percentileText("p99")),
		textColumn("?>p99.9", percentileText("p99.9")),
		textColumn("?>time/trip", estimated("time", func(e stat.Estimate) string { return withSpread(results.FormatDuration(e.Median), e) })),
		textColumn("?>vs raw", func(r stat.Row) string { return ratioText(r.ToRaw) }),
		textColumn("?>overhead", inUnit("overhead")),
		textColumn("?>calls/trip", callsText),
		textColumn("?>EAGAIN/trip", refusals("eagain")),
		textColumn("?>CPU/trip", inUnit("cpu-time")),
		warningsColumn,
	}
)

var warningsColumn = textColumn("@_warnings", func(r stat.Row) string {
	return strings.Join(rowWarnings(r), "; ")
})

// orWhyNot shows in the place of a figure why a cell has no samples.
func orWhyNot(figure func(stat.Row) string) func(stat.Row) string {
	return func(r stat.Row) string { return cmp.Or(when(r.Samples == 0, emptyWord(r)), figure(r)) }
}

// estimated shows the median of a metric that the row has.
func estimated(metric string, show func(stat.Estimate) string) func(stat.Row) string {
	return func(r stat.Row) string {
		e, ok := r.Estimates[metric]
		return when(ok, show(e))
	}
}

// inUnit shows the median of a metric in its unit.
func inUnit(metric string) func(stat.Row) string {
	return estimated(metric, func(e stat.Estimate) string { return stat.MustMetric(metric).Format(e.Median) })
}

// refusals shows what ends meet that do not block.
func refusals(metric string) func(stat.Row) string {
	count := estimated(metric, func(e stat.Estimate) string { return countText(e.Median) })
	return func(r stat.Row) string { return when(r.Cell.IO != "blocking", count(r)) }
}

// MaxShownSpread is the half-width of an interval, in percent, beyond which a figure is no figure.
const MaxShownSpread = 50

// tooNoisy stands in the place of such a figure.
const tooNoisy = "too noisy"

// withSpread writes half the interval behind a figure: "0.94 ± 2%".
func withSpread(figure string, e stat.Estimate) string {
	percent, ok := e.Spread()
	switch {
	case !ok:
		return figure
	case percent > MaxShownSpread:
		return tooNoisy
	}
	return fmt.Sprintf("%s ±%2.0f%%", figure, percent)
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
	w, okw := r.Estimates["writer-calls"]
	rd, okr := r.Estimates["reader-calls"]
	return when(okw && okr, countText(w.Median)+" + "+countText(rd.Median))
}

// countText writes a count a message: two decimals, fewer where it is large.
func countText(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return results.FormatNumber(v, 3)
}

func percentileText(name string) func(stat.Row) string {
	return func(r stat.Row) string {
		l, _ := r.PrimaryLatency()
		return quantileCell(l, name).Text
	}
}

// notes returns what has to be known to read the rows rightly. Each is there only if it applies.
func notes(s *results.Set, rows []stat.Row) []string {
	out := sampleNotes(rows)
	add := func(text string, applies bool) {
		if applies && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	some := func(of func(stat.Row) bool) bool { return slices.ContainsFunc(rows, of) }
	related := some(func(r stat.Row) bool { return r.ToRaw != nil })
	add("vs raw sets a cell beside raw with all else the same: the median of the ratios within each interleaving round, [95 % interval]", related)
	add("no raw cell of the same size was measured: what a framing costs cannot be said",
		!related && some(func(r stat.Row) bool { return r.Cell.Framing != results.FramingRaw && r.Samples > 0 }))
	add("vs raw, wire sets messages a second beside those of raw messages as long as the framed ones are on the wire: whole pages fill a pipe better than a byte more does",
		some(func(r stat.Row) bool { return r.ToRawWire != nil }))
	add("a percentile is shown only where ten observations lie beyond it: p99 takes 1,000 of them", some(func(r stat.Row) bool {
		l, ok := r.PrimaryLatency()
		return ok && (l.P50NS == nil || l.P99NS == nil)
	}))
	runs := slices.Max(append(stat.Map(rows, func(r stat.Row) int { return len(r.Runs) }), 0))
	add(fmt.Sprintf("cells of up to %d runs are pooled; their intervals hold what changed between the runs too", runs), runs > 1)
	add(freeNote(rows), some(func(r stat.Row) bool { return r.Cell.Placement == "free" }))
	var checked results.Verified
	stopped := map[string]int{}
	for _, r := range s.Records {
		stopped[r.Stopped]++
		if r.Verified != nil {
			checked.Sequence += r.Verified.Sequence
			checked.Compared += r.Verified.Compared
			checked.Bytes += r.Verified.Bytes
		}
	}
	add(fmt.Sprintf("%s messages were checked by number and length while the clock ran, %s more (%s bytes) byte for byte",
		results.FormatGrouped(checked.Sequence), results.FormatGrouped(checked.Compared), results.FormatGrouped(checked.Bytes)),
		checked.Sequence+checked.Compared > 0)
	for _, w := range []struct{ stopped, text string }{
		{"interrupted", "the run was interrupted in %s: they hold what was finished"},
		{"max-time", "%s stopped at the time allowed for the run: give it more (--max-time)"},
		{"failed", "%s stopped because one failed"},
	} {
		add(fmt.Sprintf(w.text, results.FormatCount(stopped[w.stopped], "cell")), stopped[w.stopped] > 0)
	}
	for _, p := range s.Problems {
		add(p.String(), true)
	}
	return out
}

// usedSamples returns how many samples the main figure of a row rests on, and how many were left out
// of it because others disturbed them.
func usedSamples(r stat.Row) (used, leftOut int) {
	e, ok := r.Estimates[stat.RelativeMetric(r.Cell, r.Cell).Name]
	if !ok {
		return r.Samples, 0
	}
	return e.N, e.LeftOut
}

// sampleNotes say what stands after ±, how many samples it rests on, and where they are too few.
func sampleNotes(rows []stat.Row) []string {
	var least, most, few, mostCounted, leftOut, disturbed int
	for _, r := range rows {
		n, left := usedSamples(r)
		if left > 0 {
			leftOut += left
			disturbed++
		}
		switch {
		case n == 0:
		case n >= stat.LeastSamples:
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
		case r.Cell.IsWaiting():
			mostCounted = max(mostCounted, n)
		default:
			few++
		}
	}
	var out []string
	if least > 0 {
		text := fmt.Sprintf("± is the 95 %% interval of the median, n = %d", least)
		if most > least {
			text += fmt.Sprintf(" to %d", most)
		}
		text += " samples a cell"
		if least == stat.LeastSamples {
			text += "; of six samples it is [min, max]"
		}
		out = append(out, text)
	}
	if leftOut > 0 {
		out = append(out, fmt.Sprintf("%s of %s left out: other programs disturbed them",
			results.FormatCount(leftOut, "sample"), results.FormatCount(disturbed, "cell")))
	}
	if mostCounted > 0 {
		out = append(out, fmt.Sprintf("non-blocking writers: the range over the framings of medians of at most %s, "+
			"no interval", results.FormatCount(mostCounted, "sample")))
	}
	if few > 0 {
		out = append(out, fmt.Sprintf("fewer than %d samples in %d of %s: their medians have no interval, "+
			"and nothing is claimed from them", stat.LeastSamples, few, results.FormatCount(len(rows), "cell")))
	}
	return out
}

// freeNote says what to think of cells whose ends the scheduler placed.
func freeNote(rows []stat.Row) string {
	var texts []string
	for _, r := range rows {
		m := stat.RelativeMetric(r.Cell, r.Cell)
		if modes, is := stat.Bimodal(m.Values(r.Pooled())); is && r.Cell.Placement == "free" {
			texts = append(texts, fmt.Sprintf("%s %s at %s (%d samples) and %s (%d)", r.Cell.Framing, results.FormatSize(int64(r.Cell.Size)),
				m.Format(modes.Low), modes.NLow, m.Format(modes.High), modes.NHigh))
		}
	}
	bimodal := when(len(texts) > 0, ", and the figures are bimodal: "+strings.Join(texts, "; "))
	return "unpinned (placement free): the scheduler chose the CPUs" + cmp.Or(bimodal, "; another run may fall out differently")
}

// headerLines is how many lines about environments a view begins with at most.
const headerLines = 6

// headers are the environments, a line for the machine and one for the run, and those that repeat
// themselves once. Of several machines each is given the name that tables and sentences have for
// it. What the file does not tell is left out.
func headers(environments []results.Environment) []string {
	several := slices.ContainsFunc(environments, func(e results.Environment) bool { return e.Machine != environments[0].Machine })
	var out []string
	for _, e := range environments {
		out = append(out, JoinParts(
			when(several, "machine "+results.ShortID(e.Machine)), when(several, e.Hostname),
			strings.Join(strings.Fields(systemText(e)), " "),
			e.CPU, cpusText(e), e.Topology, e.Imitation,
			when(e.Virtualisation != "", "virtualised by "+e.Virtualisation),
			when(e.Governor != "", "governor "+e.Governor),
			when(e.PageSize > 0, pagesText(e))))
		out = append(out, JoinParts(
			when(e.Version != "", "pipebench "+e.Version), e.Go, e.Hostname,
			when(!e.Time.IsZero(), e.Time.UTC().Format("2006-01-02 15:04 UTC")),
			"load "+loadText(e), fmt.Sprintf("seed %d", e.Seed),
			when(e.ClockNS > 0, "clock "+results.FormatDuration(e.ClockNS)+" a reading")))
	}
	if out = stat.Distinct(out, stat.Itself); len(out) > headerLines {
		more := fmt.Sprintf("and %d lines more: %d runs in all", len(out)-headerLines+1, len(environments))
		out = append(out[:headerLines-1], more)
	}
	return out
}

// figureTable has a row for each cell: its machine and fields, then each metric that any cell has,
// as median, both ends of the interval and n, in base units. Each row repeats what every measured
// cell is warned of: a program may look at one row alone.
func figureTable(sum Summary) Table {
	some := func(of func(stat.Row) bool) bool { return slices.ContainsFunc(sum.Rows, of) }
	var columns []columnOf[stat.Row]
	column := func(head string, text func(stat.Row) string) {
		columns = append(columns, textColumn(head, text))
	}
	estimate := func(title, name string, of func(stat.Row) stat.Estimate) {
		for i, head := range []string{title, name + " lo", name + " hi", name + " n"} {
			column(head, func(r stat.Row) string { return plainEstimate(of(r))[i] })
		}
	}
	column("machine", machineOf)
	for _, name := range results.CellFieldNames() {
		if some(func(r stat.Row) bool { return r.Cell.Field(name) != "" }) {
			column(name, func(r stat.Row) string { return r.Cell.Field(name) })
		}
	}
	column("samples", func(r stat.Row) string { return strconv.Itoa(r.Samples) })
	for _, m := range stat.Metrics() {
		if some(func(r stat.Row) bool { return r.Estimates[m.Name].N > 0 }) {
			title := m.Name + when(m.Unit != "", " ("+m.Unit+")")
			estimate(title, m.Name, func(r stat.Row) stat.Estimate { return r.Estimates[m.Name] })
		}
	}
	known := func(e *stat.Estimate) stat.Estimate { return *cmp.Or(e, new(stat.Estimate)) }
	estimate("to_raw", "to_raw", func(r stat.Row) stat.Estimate { return known(r.ToRaw) })
	estimate("to_raw_wire", "to_raw_wire", func(r stat.Row) stat.Estimate { return known(r.ToRawWire) })
	column("unsupported", func(r stat.Row) string { return r.Unsupported })
	column("failed", func(r stat.Row) string { return r.Failed })
	column("warnings", func(r stat.Row) string {
		return strings.Join(slices.Concat(r.Warnings, when(r.Samples > 0, sum.Warnings)), "; ")
	})
	if some(func(r stat.Row) bool { return r.Told != "" }) {
		column("told", func(r stat.Row) string { return r.Told })
	}
	return tableOf("", sum.Rows, columns...)
}

// plainEstimate returns the median, both ends of the interval and n, each "" where it is not known.
func plainEstimate(e stat.Estimate) (out [4]string) {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
	if e.N > 0 {
		out[0], out[3] = number(e.Median), strconv.Itoa(e.N)
	}
	if e.N > 0 && e.Interval != nil {
		out[1], out[2] = number(e.Interval.Lo), number(e.Interval.Hi)
	}
	return out
}
