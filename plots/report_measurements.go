package plots

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// answer is what the whole set means, in sentences.
func (r *reporter) answer(found []*section) *section {
	s := &section{ID: "answer", Title: "The answer"}
	s.Lead = slices.Concat(r.named(r.summary.Meaning), r.advice(), r.agreement(), r.tally(), r.traffic())
	if len(s.Lead) == 0 {
		for _, f := range found {
			holds := []string{count(len(f.Lead), "sentence"), count(len(f.Tables), "table"), count(len(f.Figures), "picture")}
			holds = slices.DeleteFunc(holds, func(s string) bool { return s == "" })
			s.Notes = append(s.Notes, f.Title+": "+strings.Join(holds, ", "))
		}
	}
	return s
}

// named writes the names that the page has for machines into sentences that
// know them by the beginning of their hash.
func (r *reporter) named(sentences []string) []string {
	var pairs []string
	for _, e := range r.machines {
		pairs = append(pairs, "machine "+shortID(e.Machine), machineName(r.set, e.Machine))
	}
	rename := strings.NewReplacer(pairs...)
	out := slices.Clone(sentences)
	for i := range out {
		out[i] = rename.Replace(out[i])
	}
	return out
}

// tally counts the verdicts of claims and faults, and names servers' limits.
func (r *reporter) tally() []string {
	var out []string
	if n := len(r.set.Claims); n > 0 {
		verdicts := verdictCounts(r.set.Claims, func(c results.Claim) string { return c.Verdict }, "holds", "refuted", "depends", "not-testable-here")
		out = append(out, fmt.Sprintf("Of %s judged: %s.", count(n, "claim"), verdicts))
	}
	if faults := r.faultsOf(stdio); len(faults) > 0 {
		verdicts := verdictCounts(faults, func(f results.Fault) string { return f.Verdict })
		out = append(out, fmt.Sprintf("Of %s of failures played through: %s.", count(len(faults), "case"), verdicts))
	}
	for _, t := range r.set.Targets {
		if t.RequestLimit != nil {
			out = append(out, fmt.Sprintf("%s takes requests of up to %d bytes.", commandName(t.Command), *t.RequestLimit))
		}
		if t.ReplyLimit != nil {
			out = append(out, fmt.Sprintf("%s gives replies of up to %d bytes.", commandName(t.Command), *t.ReplyLimit))
		}
	}
	return out
}

// verdictCounts counts lines by their verdict, "holds 3, refuted 1": those
// named first, the others as they first appear.
func verdictCounts[L any](lines []L, verdict func(L) string, first ...string) string {
	counts := map[string]int{}
	for _, l := range lines {
		counts[verdict(l)]++
	}
	var parts []string
	for _, v := range slices.Concat(first, distinct(lines, verdict)) {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(v, "-", " "), counts[v]))
			counts[v] = 0
		}
	}
	return strings.Join(parts, ", ")
}

// measurements are the cells that were run: a table for each machine and
// pattern, and the charts.
func (r *reporter) measurements() *section {
	if len(r.summary.Rows) == 0 {
		return nil
	}
	s := &section{ID: "measurements", Title: "Measurements"}
	s.Commands = r.commands(distinct(r.set.Records, func(rec results.Record) string { return rec.Run }), "pipebench run")
	r.addCharts(s, goodputCharts(r.set), ratioCharts(r.set), latencyCharts(r.set), overheadCharts(r.set), growthCharts(r.set), chunkCharts(r.set), counterCharts(r.set))
	for _, p := range newSelection(r.set, r.set.Records).groupBy([]dimension{machine, "pattern", "placement"}) {
		r.addTable(s, r.cellGrid(p.selection))
	}
	s.Notes = append(s.Notes, r.summary.Notes...)
	return s
}

// cellGrid is a row for each cell of one machine, pattern and placement. What
// all cells share stands in the caption; what they differ in has a column.
func (r *reporter) cellGrid(v selection) grid {
	pattern, placement, id := v.values("pattern")[0], v.values("placement")[0], v.values(machine)[0]
	figures, kind := streamFigures, "Streams"
	if pattern == "roundtrip" {
		figures, kind = tripFigures, "Round trips"
	}
	differ := slices.DeleteFunc(slices.Clone(seriesOrder[1:]), func(d dimension) bool { return !v.varies(d) })
	g := grid{Columns: columns("framing", ">message")}
	for _, d := range differ {
		g.Columns = append(g.Columns, column{Title: strings.ReplaceAll(string(d), "_", " ")})
	}
	for _, f := range figures {
		g.Columns = append(g.Columns, column{Title: f.title, Right: true})
	}
	name := ""
	if len(r.machines) > 1 {
		name = machineName(v.set, id)
	}
	g.Caption = joinParts(kind, name, panelTitle("placement", placement), v.cellLine([]dimension{"placement", "size"}))
	for _, row := range r.summary.Rows {
		if row.Machine == id && row.Cell.Pattern == pattern && row.Cell.Placement == placement {
			g.add(rowWarnings(row), v.cellRow(row, differ, figures)...)
		}
	}
	return g
}

func (v selection) cellRow(row stat.Row, differ []dimension, figures []figureColumn) []cell {
	out := []cell{code(framingTitle(row.Cell.Framing)), plain(sizeText(row.Cell))}
	for _, d := range differ {
		out = append(out, plain(display(d, v.valueOf(d, results.Record{Cell: row.Cell}))))
	}
	first := len(out)
	for _, f := range figures {
		out = append(out, f.of(row))
	}
	if row.Samples == 0 {
		out[first].Text = emptyWord(row)
	}
	return out
}

// A figureColumn is a column of the tables of cells.
type figureColumn struct {
	title string
	of    func(stat.Row) cell
}

var streamFigures = []figureColumn{
	{"goodput", medianColumn("goodput")},
	{"÷ raw", func(row stat.Row) cell { return ratioCell(row.ToRaw) }},
	{"÷ raw of the same wire size", func(row stat.Row) cell { return ratioCell(row.ToRawWire) }},
	{"time a message", medianColumn("time")},
	{"overhead", medianColumn("overhead")},
	{"calls a message", medianColumn("calls")},
	{"CPU a MiB", medianColumn("cpu")},
	{"p50", percentileColumn(func(l results.Latency) *int64 { return l.P50NS })},
	{"p99", percentileColumn(func(l results.Latency) *int64 { return l.P99NS })},
}

var tripFigures = []figureColumn{
	{"p50", percentileColumn(func(l results.Latency) *int64 { return l.P50NS })},
	{"p99", percentileColumn(func(l results.Latency) *int64 { return l.P99NS })},
	{"p99.9", percentileColumn(func(l results.Latency) *int64 { return l.P999NS })},
	{"time a trip", medianColumn("time")},
	{"× raw", func(row stat.Row) cell { return ratioCell(row.ToRaw) }},
	{"overhead", medianColumn("overhead")},
	{"calls a trip", medianColumn("calls")},
}

// medianColumn is a metric's median with its interval.
func medianColumn(name string) func(stat.Row) cell {
	m := metricNamed(name)
	return func(row stat.Row) cell {
		e, ok := row.Estimates[name]
		if !ok {
			return cell{}
		}
		return estimateCell(m, e)
	}
}

// estimateCell is a median, and below it how far it can be trusted. What is
// counted needs no such line.
func estimateCell(m stat.Metric, e stat.Estimate) cell {
	c := plain(m.Format(e.Median))
	if m.Name == "cpu" { // the column says the MiB
		c.Text = results.FormatDuration(e.Median)
	}
	if spread, ok := e.Spread(); ok && !m.Counter {
		c.Small = fmt.Sprintf("± %.0f %%, n = %d", spread, e.N)
	}
	return c
}

// percentileColumn is a percentile of all samples together, where they carry it.
func percentileColumn(of func(results.Latency) *int64) func(stat.Row) cell {
	return func(row stat.Row) cell {
		l, ok := row.PrimaryLatency()
		if !ok {
			return cell{}
		}
		return timeCell(of(l))
	}
}

func ratioCell(e *stat.Estimate) cell {
	if e == nil {
		return cell{}
	}
	c := plain(fmt.Sprintf("%.2f", e.Median))
	if e.Interval != nil {
		c.Small = fmt.Sprintf("%.2f to %.2f", e.Interval.Lo, e.Interval.Hi)
	}
	return c
}

// emptyWord stands where a cell without samples has no figure.
func emptyWord(row stat.Row) string {
	switch {
	case row.Unsupported != "":
		return "unsupported"
	case row.Failed != "":
		return "failed"
	}
	return "not run"
}

// rowWarnings are all that is to be said of a row.
func rowWarnings(row stat.Row) []string {
	var out []string
	if row.Unsupported != "" {
		out = append(out, "unsupported: "+row.Unsupported)
	}
	if row.Failed != "" {
		out = append(out, "failed: "+row.Failed)
	}
	return append(out, row.Warnings...)
}

func sizeText(c results.Cell) string {
	if c.Size == 0 && c.Messages != "" {
		return "recorded"
	}
	return results.FormatSize(int64(c.Size))
}
