package stat

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// readBench reads Go benchmark text. The result has a list of values for each benchmark and unit,
// and a problem for each malformed line.
func readBench(name string, r io.Reader) (Dataset, error) {
	problems := results.ProblemList{File: name}
	var list seriesList
	var text bytes.Buffer
	in := benchfmt.NewReader(io.TeeReader(r, &text), name)
	for in.Scan() {
		switch line := in.Result().(type) {
		case *benchfmt.SyntaxError:
			problems.Add(line.Line, line.Msg+": line skipped")
		case *benchfmt.Result:
			list.addLine(line, &problems)
		}
	}
	if err := in.Err(); err != nil {
		return Dataset{}, fmt.Errorf("read results: %s: %w", name, err)
	}
	// This comes last, because a line that describes a unit may come after the lines that use the
	// unit.
	units := in.Units()
	for i := range list {
		s := &list[i]
		s.Metric = benchMetric(s.Metric.Name, Better(units.GetBetter(s.Metric.Name)))
		s.Figure = Median(s.Values)
		isTime := func(o Series) bool {
			return o.pkg == s.pkg && o.Name == s.Name && o.Machine == s.Machine &&
				o.Metric.Name == "ns/op"
		}
		if s.Metric.Name == "MB/s" && slices.ContainsFunc(list, isTime) {
			s.Metric.ShownOnly = true // go test computes it from the time
		}
	}
	failed := failedBenchmarks(text.String())
	return Dataset{Name: name, Series: list, Problems: problems.All, Failed: failed}, nil
}

// namePackages adds the package to the names of benchmarks that occur in two packages. If each side
// of the comparison has only one package, the names stay, because the package may have been
// renamed.
func namePackages(before, after []Series) (namedBefore, namedAfter []Series) {
	if !hasPackages(before) && !hasPackages(after) {
		return before, after
	}
	all := slices.Concat(before, after)
	named := slices.Clone(all)
	for i, s := range all {
		isNamesake := func(o Series) bool { return o.Name == s.Name && o.pkg != s.pkg }
		if s.pkg != "" && slices.ContainsFunc(all, isNamesake) {
			named[i].Name = s.pkg + "." + s.Name
		}
	}
	return named[:len(before)], named[len(before):]
}

func hasPackages(series []Series) bool {
	return slices.ContainsFunc(series, func(s Series) bool { return s.pkg != series[0].pkg })
}

// failedBenchmarks returns the names in lines such as "--- FAIL: BenchmarkEncode-2", each once. If
// no line names what failed, but go test ended with "FAIL", as after a panic, it returns "go test".
func failedBenchmarks(text string) []string {
	var names []string
	ended := false
	for line := range strings.Lines(text) {
		// The mark "--- FAIL:" may stand behind the benchmark's name, with which go test began the
		// line.
		_, rest, failed := strings.Cut(strings.TrimSpace(line), "--- FAIL: ")
		name, _, _ := strings.Cut(rest, " ")
		if failed && !slices.Contains(names, name) {
			names = append(names, name)
		}
		ended = ended || strings.TrimSpace(line) == "FAIL"
	}
	if ended && len(names) == 0 {
		return []string{"go test"}
	}
	return names
}

func (l *seriesList) addLine(line *benchfmt.Result, problems *results.ProblemList) {
	for _, v := range line.Values {
		value, unit := v.Value, v.Unit
		if v.OrigUnit != "" { // package benchfmt changed ns to sec, for example
			value, unit = v.OrigValue, v.OrigUnit
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			_, number := line.Pos()
			problems.Add(number, fmt.Sprintf("%v %s is no figure: skipped", value, unit))
			continue
		}
		pkg := line.GetConfig("pkg")
		s := l.find(pkg, line.Name.String(), textMachine(line), Metric{Name: unit})
		s.Values = append(s.Values, value)
		iterations := int64(line.Iters)
		if s.Messages == 0 || iterations < s.Messages {
			s.Messages = iterations
		}
	}
}

// textMachine returns what benchmark text says of the machine on which a line was measured.
func textMachine(line *benchfmt.Result) string {
	var known []string
	for _, name := range []string{"goos", "goarch", "cpu"} {
		if value := line.GetConfig(name); value != "" {
			known = append(known, value)
		}
	}
	return strings.Join(known, " ")
}

// bytesPerOp is the unit of the bytes that a benchmark allocates.
const bytesPerOp = "B/op"

// benchMetric returns the metric for a unit of benchmark text, such as "ns/op". The unit is also
// the name of the metric.
func benchMetric(name string, better Better) Metric {
	m := Metric{Name: name, Better: better}
	switch {
	case name == "ns/op", strings.HasSuffix(name, "-ns"), strings.HasSuffix(name, "-ns/op"):
		m.Unit = "ns"
	case strings.HasSuffix(name, "/s"):
		m.Unit = name
	case name == bytesPerOp:
		m.fixed = 1024 // what the Go runtime allocates itself
	}
	unit, known := benchtext.FindUnit(name)
	if known {
		measured := MustMetric(unit.Metric)
		m.Better = measured.Better
		m.Counter = measured.Counter
		m.fixed = measured.fixed
		m.ByRange = unit.Metric == "allocs"
	}
	return m
}

// The method is reports whether a metric has the given name. Case does not matter, a hyphen equals
// a space, and a unit such as "ns/op" is also called "time".
func (m Metric) is(name string) bool {
	plain := strings.NewReplacer(" ", "-")
	if strings.EqualFold(plain.Replace(m.Name), plain.Replace(name)) {
		return true
	}
	unit, known := benchtext.FindUnit(m.Name)
	return known && unit.Metric == name
}

// BenchUnit returns the unit of the change's metric in Go benchmark text, and the factor that
// converts the change's values to this unit.
func (c Change) BenchUnit() (unit string, scale float64) {
	if u, known := benchtext.MetricUnit(c.Metric); known && c.Unit != unitRelative {
		return u.Name, u.Scale
	}
	switch {
	case c.Name == "" && c.Unit == "ns": // two programs are compared, so the case has no name
		return strings.TrimSuffix(c.Metric, " time") + "-ns/op", 1
	case c.Name == "":
		return strings.ReplaceAll(c.Metric, " ", "-") + "/op", 1
	case c.Cell == nil:
		return c.Metric, 1
	}
	return c.Metric + "/op", 1
}

func benchValue(v float64, u benchtext.Unit) benchfmt.Value {
	return benchfmt.Value{Value: benchtext.Round(v * u.Scale), Unit: u.Name}
}

// A BenchLine is a line of Go benchmark text, without the name.
type BenchLine struct {
	Iters  int64
	Values []benchfmt.Value
}

// BenchLines returns a line for each sample of a record. A last line has the percentiles of all
// samples together.
func BenchLines(r results.Record) []BenchLine {
	var lines []BenchLine
	units := benchtext.CellUnits(r.Cell)
	for _, s := range r.Samples {
		line := BenchLine{Iters: s.Messages}
		for _, u := range units {
			m := MustMetric(u.Metric)
			if v, ok := m.Value(s); ok && !m.IsPercentile() {
				line.Values = append(line.Values, benchValue(v, u))
			}
		}
		lines = append(lines, line)
	}
	var percentiles BenchLine
	for _, u := range units {
		m := MustMetric(u.Metric)
		if !m.IsPercentile() {
			continue
		}
		if e := m.Estimate(r); e.N > 0 {
			percentiles.Values = append(percentiles.Values, benchValue(e.Median, u))
		}
	}
	if len(percentiles.Values) == 0 {
		return lines
	}
	for _, s := range r.Samples {
		key, _ := primaryLatency(s.Latency)
		percentiles.Iters += s.Latency[key].Count
	}
	return append(lines, percentiles)
}
