package stat

import (
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// readBench reads Go benchmark text into series that can be compared.
func readBench(name string, r io.Reader) (Dataset, error) {
	benchmarks, problems, err := benchtext.Read(name, r)
	if err != nil {
		return Dataset{}, err
	}
	out := Dataset{Name: name, Problems: problems}
	for _, b := range benchmarks {
		out.Series = append(out.Series, Series{
			Name:     b.Name,
			Machine:  b.Machine,
			Metric:   benchMetric(b),
			Values:   b.Values,
			Figure:   Median(b.Values),
			Messages: b.Iterations,
		})
	}
	return out, nil
}

// benchMetric makes a metric of a benchmark's unit: of the same name, with what is known of the
// unit.
func benchMetric(b benchtext.Benchmark) Metric {
	m := Metric{Name: b.Unit, Title: b.Unit, Better: Better(b.Better)}
	switch {
	case b.Unit == "ns/op", strings.HasSuffix(b.Unit, "-ns"), strings.HasSuffix(b.Unit, "-ns/op"):
		m.Unit = "ns"
	case b.Unit == "MB/s":
		m.Unit = b.Unit
	}
	unit, known := benchtext.FindUnit(b.Unit)
	if known {
		measured := MustMetric(unit.Metric)
		m.Better = measured.Better
		m.Counter = measured.Counter
		m.fixed = measured.fixed
	}
	return m
}

// is reports whether name is the metric's name, in upper or lower case and with hyphens or spaces.
// A metric that is named after a unit of benchmark text also goes by the name of the metric that
// the unit holds.
func (m Metric) is(name string) bool {
	plain := strings.NewReplacer(" ", "-")
	if strings.EqualFold(plain.Replace(m.Name), plain.Replace(name)) {
		return true
	}
	unit, known := benchtext.FindUnit(m.Name)
	return known && unit.Metric == name
}

// BenchUnit returns the unit that the change's values have in Go benchmark text, and what to
// multiply them by.
func (c Change) BenchUnit() (unit string, scale float64) {
	if u, known := benchtext.MetricUnit(c.Metric); known {
		return u.Name, u.Scale
	}
	switch {
	case c.Name == "" && c.Unit == "ns": // of two programs
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

// BenchLines returns a line for each sample of a record, and one with the percentiles of all its
// samples together: a sample holds too few observations for percentiles of its own.
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
