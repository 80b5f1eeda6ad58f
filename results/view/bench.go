package view

import (
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// WriteBench writes the set's samples as Go benchmark text for benchstat, a line per sample. A set
// without samples is [ErrNothing]; other errors come from the writer.
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

// benchConfig returns the lines about the machine that go test prints, too, and no others, because
// benchstat compares results only if all these lines agree. A line break in a value is replaced,
// since a value must be on one line.
func benchConfig(e results.Environment) []benchfmt.Config {
	var config []benchfmt.Config
	keys := []struct{ key, value string }{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}}
	for _, c := range keys {
		oneLine := strings.Join(strings.Fields(Escape(c.value)), " ")
		if oneLine != "" {
			// the writer drops values that are not marked as File
			config = append(config, benchfmt.Config{Key: c.key, Value: []byte(oneLine), File: true})
		}
	}
	return config
}

// writeBenchLines writes lines of benchmark text.
func writeBenchLines(w io.Writer, lines []benchfmt.Record) error {
	out := benchfmt.NewWriter(w)
	for _, line := range lines {
		if err := out.Write(line); err != nil {
			return failedTo("write benchmark text", err)
		}
	}
	return nil
}
