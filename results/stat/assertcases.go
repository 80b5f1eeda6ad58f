package stat

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// An assertRow is a row that assertions can be about: of a cell, of a tuned
// chunk size or of a target's messages of one size.
type assertRow struct {
	Row
	name string
}

// assertRows are all of the set's samples, case by case.
func assertRows(s *results.Set) []assertRow {
	out := cellRows(s)
	for _, t := range s.Targets {
		if len(t.Samples) > 0 {
			name := fmt.Sprintf("%s %s", strings.Join(t.Command, " "), results.FormatSize(t.Size))
			out = append(out, newAssertRow(name, s.Machine(t.Run), targetCell(t), t.Samples))
		}
	}
	return out
}

// cellRows are those of cells, measured or tuned.
func cellRows(s *results.Set) []assertRow {
	rows := Rows(s)
	var cells []results.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	var out []assertRow
	for _, r := range rows {
		out = append(out, assertRow{r, results.CellLabel(r.Cell, differ)})
	}
	for _, u := range s.Tunes {
		if len(u.Samples) > 0 {
			out = append(out, newAssertRow(results.CellLabel(u.Cell, nil), s.Machine(u.Run), u.Cell, u.Samples))
		}
	}
	return out
}

// targetCell stands for a target among cells: what it speaks is its framing.
func targetCell(t results.Target) results.Cell {
	return results.Cell{Framing: t.Protocol, Size: int(t.Size), Pattern: results.PatternRoundtrip, Messages: strings.Join(t.Command, " ")}
}

func newAssertRow(name, machine string, c results.Cell, samples []results.Sample) assertRow {
	return assertRow{SampleRow(machine, c, samples), name}
}

// unknown is a case without a figure, and why.
func (r assertRow) unknown() AssertCase {
	why := "the samples do not carry it"
	switch {
	case r.Unsupported != "":
		why = "unsupported: " + r.Unsupported
	case r.Failed != "":
		why = "failed: " + r.Failed
	case r.Samples == 0:
		why = "no samples"
	}
	return AssertCase{Case: r.name, Why: why, cell: r.Cell}
}

func (r assertRow) figure(v float64) AssertCase {
	return AssertCase{Case: r.name, cell: r.Cell, known: true, value: v}
}

func metricCases(s *results.Set, m Metric) []AssertCase {
	var out []AssertCase
	for _, r := range assertRows(s) {
		v, ok := r.merged(m.Name)
		switch {
		case ok:
			out = append(out, r.figure(v))
		case !m.latency || r.hasLatency():
			out = append(out, r.unknown())
		}
	}
	return out
}

// hasLatency is whether a row's messages have a latency each, or would have: in
// a stream without a rate nobody waits for a single one, so that what is said
// of latency is not said of it.
func (r assertRow) hasLatency() bool {
	if r.Samples == 0 {
		return r.Cell.Pattern == results.PatternRoundtrip || r.Cell.Rate > 0
	}
	_, ok := primaryLatency(r.Latency)
	return ok
}

// merged is a row's figure: a median, or a percentile of all its samples.
func (r Row) merged(metric string) (float64, bool) {
	key, name, keyed := strings.Cut(metric, ".")
	if !keyed || metric == "p99.9" {
		key, name = "", metric
		key, _ = primaryLatency(r.Latency)
	}
	for _, p := range percentiles {
		if p.name == name {
			l, ok := r.Latency[key]
			if !ok {
				return 0, false
			}
			return counted(p.of(l))
		}
	}
	e, ok := r.Estimates[metric]
	return e.Median, ok
}

func toRawCases(s *results.Set) []AssertCase {
	var out []AssertCase
	for _, r := range assertRows(s) {
		switch {
		case r.Cell.Framing == results.FramingRaw:
		case r.ToRaw != nil:
			out = append(out, r.figure(r.ToRaw.Median))
		default:
			c := r.unknown()
			if r.Samples > 0 {
				c.Why = "no raw cell beside it"
			}
			out = append(out, c)
		}
	}
	return out
}

// slopeCases are how the time of a message grows with its size, a case for each series of sizes and
// for each growth that was found of a server.
func slopeCases(s *results.Set) []AssertCase {
	type id struct {
		machine string
		cell    results.Cell
	}
	var ids []id
	rows := make(map[id][]assertRow)
	for _, r := range cellRows(s) {
		i := id{r.Machine, r.Cell}
		i.cell.Size = 0
		if rows[i] == nil {
			ids = append(ids, i)
		}
		rows[i] = append(rows[i], r)
	}
	var out []AssertCase
	for _, i := range ids {
		out = append(out, slopeCase(i.cell, rows[i]))
	}
	return append(out, serverSlopes(s)...)
}

func slopeCase(c results.Cell, rows []assertRow) AssertCase {
	out := AssertCase{Case: strings.TrimSpace(strings.Join([]string{c.Framing, c.Pattern, c.Placement}, " ")), cell: c}
	var sizes, times []float64
	for _, r := range rows {
		if e, ok := r.Estimates["time"]; ok {
			sizes, times = append(sizes, float64(r.Cell.Size)), append(times, e.Median)
		}
	}
	g, err := FitGrowth(sizes, times)
	if err != nil {
		out.Why = err.Error()
		return out
	}
	out.known, out.value = true, g.Slope
	return out
}
