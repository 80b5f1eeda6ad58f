package view

import (
	"cmp"
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
	estimate("to_raw", "to_raw", func(r stat.Row) stat.Estimate { return *cmp.Or(r.ToRaw, new(stat.Estimate)) })
	estimate("to_raw_wire", "to_raw_wire", func(r stat.Row) stat.Estimate {
		return *cmp.Or(r.ToRawWire, new(stat.Estimate))
	})
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

// setJSON is the summary and the findings as one object.
type setJSON struct {
	Summary
	*results.Set
}

// WriteBench writes the set's samples as Go benchmark text, a line each, which benchstat reads as
// it is. An error other than the writer's is [ErrNothing].
func WriteBench(w io.Writer, s *results.Set) error {
	var lines []benchfmt.Record
	for _, r := range s.Records {
		e, _ := s.Environment(r.Run)
		var config []benchfmt.Config // what go test prints too, and no more: benchstat compares only what agrees in all of it
		for _, c := range [][2]string{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
			if c[1] != "" {
				config = append(config, benchfmt.Config{Key: c[0], Value: []byte(c[1]), File: true}) // without File the writer drops it
			}
		}
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
