package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// readBench reads Go benchmark text, as `go test -bench` prints it and
// [Set.WriteBench] writes it, into series that can be compared. Lines that are
// broken are problems; lines of other text are not benchmark results.
func readBench(name string, r io.Reader) (Side, error) {
	in := benchfmt.NewReader(r, name)
	b := benchReader{problems: problems{file: name}, at: make(map[string]int)}
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			b.problems.add(rec.Line, rec.Msg+": line skipped")
		case *benchfmt.Result:
			for _, v := range rec.Values {
				b.value(rec, v)
			}
		}
	}
	if err := in.Err(); err != nil {
		return Side{}, fmt.Errorf("read results: %s: %w", name, err)
	}
	for i := range b.series { // Unit lines may stand anywhere
		b.series[i].Metric = benchMetric(b.series[i].Metric.Name, in.Units())
	}
	return Side{Name: name, Series: b.series, Problems: b.problems.all}, nil
}

// A benchReader gathers the values of Go benchmark text into series.
type benchReader struct {
	series   []Series
	at       map[string]int // machine, name and unit -> index in series
	problems problems
}

// value puts one value into its series, which it starts if it is the first. The
// unit stands in for the metric until all is read.
func (b *benchReader) value(rec *benchfmt.Result, v benchfmt.Value) {
	value, unit := v.Value, v.Unit
	if v.OrigUnit != "" {
		value, unit = v.OrigValue, v.OrigUnit
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		_, line := rec.Pos()
		b.problems.add(line, fmt.Sprintf("%v %s is no figure: skipped", value, unit))
		return
	}
	machine, name := benchMachine(rec), rec.Name.String()
	id := strings.Join([]string{machine, name, unit}, "\n")
	i, ok := b.at[id]
	if !ok {
		i = len(b.series)
		b.at[id] = i
		b.series = append(b.series, Series{Name: name, Machine: machine, Metric: Metric{Name: unit}, Messages: int64(rec.Iters)})
	}
	b.series[i].Values = append(b.series[i].Values, value)
	b.series[i].Messages = min(b.series[i].Messages, int64(rec.Iters))
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
