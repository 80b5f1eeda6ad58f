package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// figureTable has a row for each cell: its machine and fields, then each metric that any cell has,
// as median, both ends of the interval and n, in base units. Each row repeats what every measured
// cell is warned of: a program may look at one row alone.
func figureTable(sum Summary) Table {
	fields := stat.Filter(results.CellFieldNames(), func(name string) bool {
		return slices.ContainsFunc(sum.Rows, func(r stat.Row) bool {
			return slices.ContainsFunc(r.Cell.Fields(), func(f results.Field) bool { return f.Name == name })
		})
	})
	shown := stat.Filter(stat.Metrics(), func(m stat.Metric) bool {
		return slices.ContainsFunc(sum.Rows, func(r stat.Row) bool { return r.Estimates[m.Name].N > 0 })
	})
	head := append(append([]string{"machine"}, fields...), "samples")
	name := func(title, base string) { head = append(head, title, base+" lo", base+" hi", base+" n") }
	for _, m := range shown {
		title := m.Name
		if m.Unit != "" {
			title += " (" + m.Unit + ")"
		}
		name(title, m.Name)
	}
	name("to_raw", "to_raw")
	name("to_raw_wire", "to_raw_wire")
	t := Table{Columns: Columns(append(head, "unsupported", "failed", "warnings", "told")...)}
	for _, r := range sum.Rows {
		row := []string{r.Machine}
		for _, field := range fields {
			row = append(row, r.Cell.Field(field))
		}
		row = append(row, strconv.Itoa(r.Samples))
		for _, m := range shown {
			e := r.Estimates[m.Name]
			row = append(row, plainEstimate(&e)...)
		}
		row = append(append(row, plainEstimate(r.ToRaw)...), plainEstimate(r.ToRawWire)...)
		warnings := r.Warnings
		if r.Samples > 0 {
			warnings = slices.Concat(warnings, sum.Warnings)
		}
		t.Append(append(row, r.Unsupported, r.Failed, strings.Join(warnings, "; "), r.Told)...)
	}
	if !slices.ContainsFunc(sum.Rows, func(r stat.Row) bool { return r.Told != "" }) {
		t = t.without(func(c Column) bool { return c.Title == "told" })
	}
	return t
}

// plainEstimate returns the median, both ends of the interval and n, each "" where it is not known.
func plainEstimate(e *stat.Estimate) []string {
	if e == nil || e.N == 0 {
		return []string{"", "", "", ""}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
	if e.Interval == nil {
		return []string{number(e.Median), "", "", strconv.Itoa(e.N)}
	}
	return []string{number(e.Median), number(e.Interval.Lo), number(e.Interval.Hi), strconv.Itoa(e.N)}
}

// setJSON is the summary and the findings as one object.
type setJSON struct {
	Summary
	Probes   []results.Probe   `json:"probes,omitempty"`
	Faults   []results.Fault   `json:"faults,omitempty"`
	Claims   []results.Claim   `json:"claims,omitempty"`
	Targets  []results.Target  `json:"targets,omitempty"`
	Checks   []results.Check   `json:"checks,omitempty"`
	Tunes    []results.Tune    `json:"tunes,omitempty"`
	Noise    []results.Noise   `json:"noise,omitempty"`
	Messages []results.Message `json:"messages,omitempty"`
}

func newSetJSON(s *results.Set) setJSON {
	return setJSON{Summarise(s), s.Probes, s.Faults, s.Claims, s.Targets, s.Checks, s.Tunes, s.Noise, s.Messages}
}

// WriteBench writes the set's samples as Go benchmark text, a line each, which benchstat reads as
// it is. An error other than the writer's is [ErrNothing].
func WriteBench(w io.Writer, s *results.Set) error {
	var lines []benchfmt.Record
	for _, r := range s.Records {
		config := benchConfig(s, r.Run)
		for _, sample := range r.Samples {
			name := benchfmt.Name(stat.BenchName(r.Cell))
			lines = append(lines, &benchfmt.Result{Config: config, Name: name, Iters: int(sample.Messages), Values: stat.BenchValues(r.Cell, sample)})
		}
	}
	if len(lines) == 0 {
		return ErrNothing
	}
	_, err := io.WriteString(w, strings.Join(stat.BenchUnits(), "\n")+"\n")
	return writeBenchLines(w, lines, err)
}

// writeBenchLines writes lines of benchmark text, unless what stands before them failed.
func writeBenchLines(w io.Writer, lines []benchfmt.Record, err error) error {
	out := benchfmt.NewWriter(w)
	for i := 0; i < len(lines) && err == nil; i++ {
		err = out.Write(lines[i])
	}
	if err != nil {
		return fmt.Errorf("write benchmark text: %w", err)
	}
	return nil
}

// benchConfig are the lines that go test prints too, and no others: benchstat compares only what
// agrees in all of them.
func benchConfig(s *results.Set, run string) []benchfmt.Config {
	e, ok := s.Environment(run)
	if !ok {
		return nil
	}
	var out []benchfmt.Config
	for _, c := range []struct{ key, value string }{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
		if c.value != "" {
			out = append(out, benchfmt.Config{Key: c.key, Value: []byte(c.value), File: true}) // without File the writer drops it
		}
	}
	return out
}

func writeComparedBench(w io.Writer, c *stat.Comparison) error {
	var lines []benchfmt.Record
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, scale := ch.BenchUnit()
		if better := ch.Before.Metric.Better.String(); better != "" && !said[unit] {
			said[unit] = true
			lines = append(lines, &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: better})
		}
		for _, side := range []struct {
			name string
			stat.Series
		}{{"old", ch.Before}, {"new", ch.After}} {
			name := benchfmt.Name(stat.BenchCase(ch.Name, side.name))
			for _, v := range side.Values {
				values := []benchfmt.Value{{Value: stat.RoundFigure(v * scale), Unit: unit}}
				lines = append(lines, &benchfmt.Result{Name: name, Iters: int(side.Messages), Values: values})
			}
		}
	}
	return writeBenchLines(w, lines, nil)
}
