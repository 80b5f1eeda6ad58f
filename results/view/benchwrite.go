package view

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"golang.org/x/perf/benchfmt"
)

// WriteBench writes the set's samples as Go benchmark text, a line each, which
// benchstat reads as it is. An error other than the writer's is [ErrNothing].
func WriteBench(w io.Writer, s *results.Set) error {
	out := benchfmt.NewWriter(w)
	wrote := false
	for _, r := range s.Records {
		config := benchConfig(s, r.Run)
		for _, sample := range r.Samples {
			if !wrote {
				if err := writeUnits(w); err != nil {
					return err
				}
				wrote = true
			}
			res := benchfmt.Result{Config: config, Name: benchfmt.Name(stat.BenchName(r.Cell)), Iters: int(sample.Messages), Values: stat.BenchValues(r.Cell, sample)}
			if err := out.Write(&res); err != nil {
				return fmt.Errorf("write benchmark text: %w", err)
			}
		}
	}
	if !wrote {
		return ErrNothing
	}
	return nil
}

func writeUnits(w io.Writer) error {
	if _, err := io.WriteString(w, strings.Join(stat.BenchUnits(), "\n")+"\n"); err != nil {
		return fmt.Errorf("write benchmark text: %w", err)
	}
	return nil
}

// benchConfig are the lines that go test prints too, and no others: benchstat
// compares only what agrees in all of them.
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
	out := benchfmt.NewWriter(w)
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, _ := ch.BenchUnit()
		if better := ch.Before.Metric.Better.String(); better != "" && !said[unit] {
			said[unit] = true
			if _, err := fmt.Fprintf(w, "Unit %s better=%s\n", unit, better); err != nil {
				return fmt.Errorf("write benchmark text: %w", err)
			}
		}
		if err := errors.Join(writeSide(ch, out, "old", ch.Before), writeSide(ch, out, "new", ch.After)); err != nil {
			return err
		}
	}
	return nil
}

// writeSide writes the samples of one side, a line each.
func writeSide(c stat.Change, out *benchfmt.Writer, side string, s stat.Series) error {
	unit, scale := c.BenchUnit()
	for _, v := range s.Values {
		res := benchfmt.Result{
			Name: benchfmt.Name(stat.BenchCase(c.Name, side)), Iters: int(s.Messages),
			Values: []benchfmt.Value{{Value: stat.RoundFigure(v * scale), Unit: unit}},
		}
		if err := out.Write(&res); err != nil {
			return fmt.Errorf("write benchmark text: %w", err)
		}
	}
	return nil
}
