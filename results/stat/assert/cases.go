package assert

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// cases lists the set's figures of the condition's metric. They are not judged yet.
func (c Condition) cases(s *results.Set) []Case {
	switch c.Metric {
	case limitName:
		return limitCases(s)
	case slopeName:
		return append(slopeCases(s), serverSlopes(s)...)
	case toRawName:
		return toRawCases(s)
	case string(results.Fails), string(results.Slow), string(results.CannotTell):
		return checkCases(s, c.Metric)
	}
	return metricCases(s, c.metric)
}

// A namedRow is a row that conditions can be about: the figures of a cell, or of a server's
// messages of one size.
type namedRow struct {
	stat.Row
	name string
}

// allRows returns the rows of cells and of servers.
func allRows(s *results.Set) []namedRow {
	out := cellRows(s)
	for _, t := range s.Targets {
		if len(t.Samples) == 0 {
			continue
		}
		name := strings.Join(t.Command, " ") + " " + results.FormatSize(t.Size)
		row := stat.SampleRow(s.Machine(t.Run), serverCell(t), t.Samples)
		out = append(out, namedRow{row, name})
	}
	return out
}

// cellRows returns the rows of measured cells.
func cellRows(s *results.Set) []namedRow {
	rows := stat.Rows(s)
	var cells []results.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	var out []namedRow
	for _, r := range rows {
		out = append(out, namedRow{r, results.CellLabel(r.Cell, differ)})
	}
	return out
}

// figure returns the case of a figure that the row has.
func (r namedRow) figure(v float64) Case {
	return Case{Case: r.name, cell: r.Cell, known: true, value: v}
}

// missing returns the case of a figure that the row does not have. If the row itself says why it
// has no figures, that is the reason, not why.
func (r namedRow) missing(why string) Case {
	switch {
	case r.Unsupported != "":
		why = "unsupported: " + r.Unsupported
	case r.Failed != "":
		why = "failed: " + r.Failed
	case r.Samples == 0:
		why = "no samples"
	}
	return Case{Case: r.name, Why: why, cell: r.Cell}
}

// hasLatency reports whether each of the row's messages has a latency, or would have one if the row
// had samples. A stream without a rate has none: nobody waits for a single message of it.
func (r namedRow) hasLatency() bool {
	if r.Samples == 0 {
		return r.Cell.Pattern == results.PatternRoundtrip || r.Cell.Rate > 0
	}
	_, ok := r.PrimaryLatency()
	return ok
}

func metricCases(s *results.Set, m stat.Metric) []Case {
	var out []Case
	for _, r := range allRows(s) {
		v, ok := r.Figure(m.Name)
		if ok {
			out = append(out, r.figure(v))
		} else if !m.IsPercentile() || r.hasLatency() {
			out = append(out, r.missing("the samples do not carry it"))
		}
	}
	return out
}

func toRawCases(s *results.Set) []Case {
	var out []Case
	for _, r := range allRows(s) {
		if r.ToRaw != nil {
			out = append(out, r.figure(r.ToRaw.Median))
		} else if r.Cell.Framing != results.FramingRaw {
			out = append(out, r.missing("no raw cell beside it"))
		}
	}
	return out
}

// checkCases counts the checks that have a verdict.
func checkCases(s *results.Set, verdict string) []Case {
	checks := s.FindingsOf(results.AreaCheck)
	if len(checks) == 0 {
		return nil
	}
	n := 0
	for _, f := range checks {
		if string(f.Verdict) == verdict {
			n++
		}
	}
	return []Case{{Case: "checks", known: true, value: float64(n)}}
}

// slopeCases returns how the time per message grows with its size: a case for the cells of one
// machine that differ in size alone.
func slopeCases(s *results.Set) []Case {
	var order []stat.RowID
	bySizes := make(map[stat.RowID][]namedRow)
	for _, r := range cellRows(s) {
		id := stat.RowID{Machine: r.Machine, Cell: r.Cell}
		id.Cell.Size = 0
		if bySizes[id] == nil {
			order = append(order, id)
		}
		bySizes[id] = append(bySizes[id], r)
	}
	var out []Case
	for _, id := range order {
		out = append(out, slopeCase(id.Cell, bySizes[id]))
	}
	return out
}

func slopeCase(c results.Cell, rows []namedRow) Case {
	name := fmt.Sprintf("%s %s %s", c.Framing, c.Pattern, c.Placement)
	out := Case{Case: strings.TrimSpace(name), cell: c}
	var sizes, times []float64
	for _, r := range rows {
		if e, ok := r.Estimates["time"]; ok {
			sizes = append(sizes, float64(r.Cell.Size))
			times = append(times, e.Median)
		}
	}
	growth, err := stat.FitGrowth(sizes, times)
	if err != nil {
		out.Why = err.Error()
		return out
	}
	out.known = true
	out.value = growth.Slope
	return out
}
