package stat

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
)

// readBench reads Go benchmark text, as `go test -bench` prints it and [Set.WriteBench] writes it,
// into series that can be compared. Lines that are broken are problems; lines of other text are not
// benchmark results.
func readBench(name string, r io.Reader) (Dataset, error) {
	in, problems := benchfmt.NewReader(r, name), results.ProblemList{File: name}
	var single []Series // of one value each
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			problems.Add(rec.Line, rec.Msg+": line skipped")
		case *benchfmt.Result:
			for _, v := range rec.Values {
				value, unit := v.Value, v.Unit
				if v.OrigUnit != "" {
					value, unit = v.OrigValue, v.OrigUnit
				}
				if math.IsNaN(value) || math.IsInf(value, 0) {
					_, line := rec.Pos()
					problems.Add(line, fmt.Sprintf("%v %s is no figure: skipped", value, unit))
					continue
				}
				machine := Map([]string{"goos", "goarch", "cpu"}, rec.GetConfig) // what the text tells of it
				single = append(single, Series{
					Name: rec.Name.String(), Machine: strings.Join(Filter(machine, func(v string) bool { return v != "" }), " "),
					Metric: Metric{Name: unit}, Messages: int64(rec.Iters), Values: []float64{value},
				})
			}
		}
	}
	if err := in.Err(); err != nil {
		return Dataset{}, fmt.Errorf("read results: %s: %w", name, err)
	}
	return Dataset{Name: name, Problems: problems.All, Series: Map(GroupBy(single, Series.id), func(same []Series) Series {
		s := same[0]
		s.Values = Map(same, func(one Series) float64 { return one.Values[0] })
		s.Messages = slices.Min(Map(same, func(one Series) int64 { return one.Messages }))
		s.Metric, s.Figure = benchMetric(s.Metric.Name, in.Units()), Median(s.Values) // Unit lines may stand anywhere
		return s
	})}, nil
}

// benchMetric returns what is known of a unit of Go benchmark text.
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
	written := MustMetric(benchUnits[i].metric)
	m.Better, m.Counter, m.fixed = written.Better, written.Counter, written.fixed
	return m
}

// A benchUnit is a column of Go benchmark text. Benchstat scales only ns, MB and B, so those are
// what is written.
type benchUnit struct {
	name   string // "p99-ns"
	metric string
	scale  float64 // from the metric's base unit
	only   string  // the one pattern that has it, "" for both
	waits  bool    // blocking ends have none
	known  bool    // benchstat knows by itself which way is better
}

var benchUnits = []benchUnit{
	{name: "ns/op", metric: "time", scale: 1, known: true},
	{name: "MB/s", metric: "goodput", scale: 1e-6, only: "stream", known: true},
	{name: "p50-ns", metric: "p50", scale: 1},
	{name: "p99-ns", metric: "p99", scale: 1},
	{name: "wire-B/op", metric: "wire", scale: 1},
	{name: "calls/op", metric: "calls", scale: 1},
	{name: "cpu-ns/op", metric: "cpu-time", scale: 1},
	{name: "eagain/op", metric: "eagain", scale: 1, waits: true},
	{name: "short/op", metric: "short", scale: 1, waits: true},
	{name: "allocs/op", metric: "allocs", scale: 1, known: true},
}

// is reports whether a metric has a name, or is the unit that stands for it in benchmark text.
func (m Metric) is(name string) bool {
	unit := func(u benchUnit) bool { return u.name == m.Name && u.metric == name }
	return m.Name == name || slices.ContainsFunc(benchUnits, unit)
}

// BenchUnits returns the lines that tell benchstat which way the units are better that it does not
// know: "Unit p99-ns better=lower".
func BenchUnits() []string {
	unknown := Filter(benchUnits, func(u benchUnit) bool { return !u.known })
	return Map(unknown, func(u benchUnit) string { return "Unit " + u.name + " better=lower" })
}

// BenchValues returns the figures of a sample with their units in Go benchmark text.
func BenchValues(c results.Cell, s results.Sample) []benchfmt.Value {
	var out []benchfmt.Value
	for _, u := range benchUnits {
		if u.only != "" && u.only != c.Pattern || u.waits && c.IO == "blocking" {
			continue
		}
		if v, ok := MustMetric(u.metric).Value(s); ok {
			out = append(out, benchfmt.Value{Value: RoundFigure(v * u.scale), Unit: u.name})
		}
	}
	return out
}

// benchDigits are more than any clock has, and as many as wire bytes need.
const benchDigits = 10

// RoundFigure leaves out the digits that division makes up.
func RoundFigure(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', benchDigits, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// benchDefaults are the values that a benchmark's name leaves out. They are part of the names'
// stability: a cell has one name, whatever else was run.
var benchDefaults = map[string]string{
	"pipe": "anonymous", "capacity": "0", "peer": "process", "payload": "json",
}

// benchNamed are the fields that every name has, in this order.
var benchNamed = []string{"framing", "size", "io", "placement"}

// BenchName returns a cell's name in Go benchmark text, without "Benchmark":
// "Stream/framing=ndjson/size=65536/io=blocking/placement=same", and what is off its default after
// that, sorted. It depends on the cell alone.
func BenchName(c results.Cell) string {
	name := "Cell"
	if c.Pattern != "" {
		name = strings.ToUpper(c.Pattern[:1]) + c.Pattern[1:]
	}
	for _, named := range benchNamed {
		name += "/" + named + "=" + benchValue(c.Field(named))
	}
	for _, f := range c.Fields() {
		if f.Name != "pattern" && !slices.Contains(benchNamed, f.Name) && benchDefaults[f.Name] != f.Value {
			name += "/" + f.Name + "=" + benchValue(f.Value)
		}
	}
	return name
}

var nameParts = strings.NewReplacer("/", "+", " ", "_", "\t", "_")

var trailingNumber = regexp.MustCompile(`-([0-9]+)$`)

// benchValue writes a value so that it stays one part of a name: a slash would begin another, a
// blank end it, and "-8" at the end be taken for GOMAXPROCS.
func benchValue(v string) string {
	v = nameParts.Replace(v)
	return trailingNumber.ReplaceAllString(v, "_$1")
}

// BenchCase puts the side into a name, before the GOMAXPROCS that go test leaves at its end.
func BenchCase(name, side string) string {
	base := trailingNumber.ReplaceAllString(name, "")
	return base + "/side=" + side + strings.TrimPrefix(name, base)
}

// BenchUnit returns the unit that a figure has in Go benchmark text.
func (c Change) BenchUnit() (unit string, scale float64) {
	for _, u := range benchUnits {
		if u.metric == c.Metric {
			return u.name, u.scale
		}
	}
	if c.Cell == nil {
		return c.Metric, 1
	}
	return c.Metric + "/op", 1
}
