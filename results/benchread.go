package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// readBench reads Go benchmark text, as `go test -bench` prints it and
// [Set.WriteBench] writes it, into series that can be compared. Lines that are
// broken are problems; lines of other text are not benchmark results.
func readBench(name string, r io.Reader) (Side, error) {
	in := benchfmt.NewReader(r, name)
	side := Side{Name: name}
	at := make(map[string]int)
	problems := problems{file: name}
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			problems.add(rec.Line, rec.Msg+": line skipped")
		case *benchfmt.Result:
			for _, v := range rec.Values {
				side.add(at, rec, v)
			}
		}
	}
	if err := in.Err(); err != nil {
		return Side{}, fmt.Errorf("read results: %s: %w", name, err)
	}
	for i := range side.Series { // Unit lines may stand anywhere
		s := &side.Series[i]
		s.Metric = benchMetric(s.Metric.Name, in.Units())
	}
	side.Problems = problems.all
	return side, nil
}

// add puts one value into its series, which it starts if it is the first. The
// unit stands in for the metric until all is read.
func (s *Side) add(at map[string]int, rec *benchfmt.Result, v benchfmt.Value) {
	value, unit := v.Value, v.Unit
	if v.OrigUnit != "" {
		value, unit = v.OrigValue, v.OrigUnit
	}
	series := Series{Name: rec.Name.String(), Machine: benchMachine(rec), Metric: Metric{Name: unit}, Messages: int64(rec.Iters)}
	id := series.Machine + "\n" + series.Name + "\n" + unit
	i, ok := at[id]
	if !ok {
		i = len(s.Series)
		at[id] = i
		s.Series = append(s.Series, series)
	}
	s.Series[i].Values = append(s.Series[i].Values, value)
	s.Series[i].Messages = min(s.Series[i].Messages, int64(rec.Iters))
}

// benchMachine is what the text tells of the machine.
func benchMachine(rec *benchfmt.Result) string {
	var parts []string
	for _, key := range []string{"goos", "goarch", "cpu"} {
		if v := rec.GetConfig(key); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, " ")
}

// benchMetric is what is known of a unit of Go benchmark text.
func benchMetric(unit string, units benchfmt.UnitMetadataMap) Metric {
	m := Metric{Name: unit, Title: unit, Better: Better(units.GetBetter(unit))}
	switch {
	case unit == "ns/op" || strings.HasSuffix(unit, "-ns") || strings.HasSuffix(unit, "-ns/op"):
		m.Unit = "ns"
	case unit == "MB/s":
		m.Unit = unit
	}
	i := slices.IndexFunc(benchUnits, func(u benchUnit) bool { return u.name == unit })
	if i < 0 {
		m.Counter = unit == "allocs/op"
		return m
	}
	written := known(benchUnits[i].metric)
	m.Better, m.Counter, m.fixed = written.Better, written.Counter, written.fixed
	return m
}
