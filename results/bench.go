package results

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// A benchUnit is a column of Go benchmark text. Benchstat scales only ns, MB
// and B, so those are what is written.
type benchUnit struct {
	name   string // "p99-ns"
	metric string
	scale  float64 // from the metric's base unit
	only   string  // the one pattern that has it, "" for both
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
	{name: "allocs/op", metric: "allocs", scale: 1, known: true},
}

// WriteBench writes the set's samples as Go benchmark text, a line each, which
// benchstat reads as it is. An error other than the writer's is [ErrNothing].
func (s *Set) WriteBench(w io.Writer) error {
	out := benchfmt.NewWriter(w)
	wrote := false
	for _, r := range s.Records {
		config := s.benchConfig(r.Run)
		for _, sample := range r.Samples {
			if !wrote {
				if err := writeUnits(w); err != nil {
					return err
				}
				wrote = true
			}
			res := benchfmt.Result{Config: config, Name: benchfmt.Name(BenchName(r.Cell)), Iters: int(sample.Messages), Values: benchValues(r.Cell, sample)}
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

// BenchUnits are the lines that tell benchstat which way the units are better
// that it does not know: "Unit p99-ns better=lower".
func BenchUnits() []string {
	var out []string
	for _, u := range benchUnits {
		if !u.known {
			out = append(out, "Unit "+u.name+" better=lower")
		}
	}
	return out
}

func writeUnits(w io.Writer) error {
	if _, err := io.WriteString(w, strings.Join(BenchUnits(), "\n")+"\n"); err != nil {
		return fmt.Errorf("write benchmark text: %w", err)
	}
	return nil
}

// benchConfig are the lines that go test prints too, and no others: benchstat
// compares only what agrees in all of them.
func (s *Set) benchConfig(run string) []benchfmt.Config {
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

// BenchFigures are the figures of a sample by their units in Go benchmark
// text, for a benchmark that reports them itself.
func BenchFigures(c Cell, s Sample) map[string]float64 {
	out := make(map[string]float64)
	for _, v := range benchValues(c, s) {
		out[v.Unit] = v.Value
	}
	return out
}

func benchValues(c Cell, s Sample) []benchfmt.Value {
	var out []benchfmt.Value
	for _, u := range benchUnits {
		if u.only != "" && u.only != c.Pattern {
			continue
		}
		for _, v := range valuesOf(u.metric, []Sample{s}) {
			out = append(out, benchfmt.Value{Value: rounded(v * u.scale), Unit: u.name})
		}
	}
	return out
}

// benchDigits are more than any clock has, and as many as wire bytes need.
const benchDigits = 10

// rounded leaves out the digits that division makes up.
func rounded(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', benchDigits, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// benchDefaults are the values that a benchmark's name leaves out. They are
// part of the names' stability: a cell has one name, whatever else was run.
var benchDefaults = map[string]string{
	"pipe": "anonymous", "capacity": "0", "peer": "process", "payload": "json",
}

// benchNamed are the fields that every name has, in this order.
var benchNamed = []string{"framing", "size", "io", "placement"}

// BenchName is a cell's name in Go benchmark text, without "Benchmark":
// "Stream/framing=ndjson/size=65536/io=blocking/placement=same", and what is off
// its default after that, sorted. It depends on the cell alone.
func BenchName(c Cell) string {
	name := capitalised(c.Pattern)
	if c.Pattern == "" {
		name = "Cell"
	}
	fields := c.Fields()
	for _, named := range benchNamed {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == named })
		name += "/" + named + "=" + benchValue(fields[i].Value)
	}
	for _, f := range fields {
		if f.Name == "pattern" || slices.Contains(benchNamed, f.Name) || benchDefaults[f.Name] == f.Value {
			continue
		}
		name += "/" + f.Name + "=" + benchValue(f.Value)
	}
	return name
}

var nameParts = strings.NewReplacer("/", "+", " ", "_", "\t", "_")

var trailingNumber = regexp.MustCompile(`-([0-9]+)$`)

// benchValue writes a value so that it stays one part of a name: a slash would
// begin another, a blank end it, and "-8" at the end be taken for GOMAXPROCS.
func benchValue(v string) string {
	v = nameParts.Replace(v)
	return trailingNumber.ReplaceAllString(v, "_$1")
}
