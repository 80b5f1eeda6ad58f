package view

import (
	"cmp"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// WriteBench writes the set's samples as Go benchmark text for benchstat. It returns [ErrNothing]
// if the set has no samples.
func WriteBench(w io.Writer, s *results.Set) error {
	var lines []benchfmt.Record
	for _, r := range s.Records {
		e, _ := s.Environment(r.Run)
		config := benchConfig(e)
		name := benchfmt.Name(benchtext.CellName(r.Cell))
		for _, line := range stat.BenchLines(r) {
			lines = append(lines, &benchfmt.Result{
				Config: config, Name: name, Iters: int(line.Iters), Values: line.Values,
			})
		}
	}
	if len(lines) == 0 {
		return ErrNothing
	}
	if _, err := io.WriteString(w, strings.Join(benchtext.UnitLines(), "\n")+"\n"); err != nil {
		return failedTo("write benchmark text", err)
	}
	return writeBenchLines(w, lines)
}

// benchConfig describes the machine under the same keys as go test. The program benchstat does not
// compare results that have different values under these keys.
func benchConfig(e results.Environment) []benchfmt.Config {
	var config []benchfmt.Config
	keys := []struct{ key, value string }{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}}
	for _, c := range keys {
		value := strings.Join(strings.Fields(Escape(c.value)), " ") // without line breaks
		if value != "" {
			// the writer drops values that are not marked as File
			config = append(config, benchfmt.Config{Key: c.key, Value: []byte(value), File: true})
		}
	}
	return config
}

func writeComparedBench(w io.Writer, c *stat.Comparison) error {
	var lines []benchfmt.Record
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, scale := ch.BenchUnit()
		better := ch.Before.Metric.Better.String()
		if better != "" && !said[unit] {
			said[unit] = true
			key := benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}
			lines = append(lines, &benchfmt.UnitMetadata{
				UnitMetadataKey: key, OrigUnit: unit, Value: better,
			})
		}
		name := cmp.Or(ch.Name, "Program")
		lines = append(lines, sideLines(name, "old", ch.Before, unit, scale)...)
		lines = append(lines, sideLines(name, "new", ch.After, unit, scale)...)
	}
	return writeBenchLines(w, lines)
}

func sideLines(name, side string, s stat.Series, unit string, scale float64) []benchfmt.Record {
	var lines []benchfmt.Record
	for _, v := range s.Values {
		lines = append(lines, &benchfmt.Result{
			Name:   benchfmt.Name(benchtext.WithSide(name, side)),
			Iters:  int(s.Messages),
			Values: []benchfmt.Value{{Value: benchtext.Round(v * scale), Unit: unit}},
		})
	}
	return lines
}

func writeBenchLines(w io.Writer, lines []benchfmt.Record) error {
	out := benchfmt.NewWriter(w)
	for _, line := range lines {
		if err := out.Write(line); err != nil {
			return failedTo("write benchmark text", err)
		}
	}
	return nil
}
