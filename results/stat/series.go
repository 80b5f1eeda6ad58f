package stat

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// A Series has the values of one metric in one case, a value for each sample. The case is a
// measurement, a server, a check or a benchmark.
type Series struct {
	Name     string        `json:"name"`           // as in Go benchmark text, without "Benchmark"
	Cell     *results.Cell `json:"cell,omitempty"` // nil if the case is no measurement
	Metric   Metric        `json:"-"`
	Machine  string        `json:"machine"`
	Values   []float64     `json:"values"`
	Figure   Estimate      `json:"-"`        // the estimate from the values
	Messages int64         `json:"messages"` // the fewest messages that any value rests on

	records []results.Record // the records of the cell
	pkg     string           // the package of the benchmark, if benchmark text names one
	below   float64          // if the limit is not exact: it is a value or more, but less than this

	// byRequests is set if a search for a limit of replies ended where that for requests did.
	byRequests bool
}

// CellMetrics lists the names of the metrics in which measurements are compared, counters first.
func CellMetrics() []string {
	return []string{
		"writer-calls", "reader-calls", "wire", "allocs", "goodput", "time", "p50", "p99",
	}
}

// compared returns those of the [CellMetrics] in which two measurements with the same settings are
// compared.
func compared(c results.Cell, samples []results.Sample) []Metric {
	isTrip := c.Pattern == results.PatternRoundtrip
	hasLatency := slices.ContainsFunc(samples, func(s results.Sample) bool {
		_, ok := primaryLatency(s.Latency)
		return ok
	})
	var out []Metric
	for _, name := range CellMetrics() {
		m := MustMetric(name)
		isLeftOut := name == "goodput" && isTrip ||
			name == "time" && (!isTrip || hasLatency) ||
			m.IsPercentile() && !hasLatency
		if !isLeftOut {
			out = append(out, m)
		}
	}
	return out
}

// SeriesOf lists everything in a set that can be compared, in the order in which tables show it.
func SeriesOf(s *results.Set) []Series {
	out := verdictSeries(s)
	rows := gatherRows(s, hashOf)
	sortRows(rows)
	for _, r := range rows {
		name := benchtext.CellName(r.Cell)
		for _, m := range compared(r.Cell, r.Pooled()) {
			if one := r.series(name, m); one.Figure.N > 0 {
				out = append(out, one)
			}
		}
	}
	return out
}

// series returns the values of a metric in the row's samples. If no sample has the metric, the
// result's Figure.N is 0.
func (r Row) series(name string, m Metric) Series {
	all := m.observations(r.Records)
	out := Series{
		Name:    name,
		Cell:    new(r.Cell),
		Metric:  m,
		Machine: r.Machine,
		Values:  valuesOf(all),
		Figure:  estimate(all),
		records: r.Records,
	}
	if m.IsPercentile() { // a single sample has none
		out.Figure = m.Estimate(r.Records...)
		out.Values = []float64{out.Figure.Median}
	}
	for i, s := range r.Pooled() {
		if i == 0 || s.Messages < out.Messages {
			out.Messages = s.Messages
		}
	}
	return out
}

// A Dataset is one side of a comparison: the results in a file, or Go benchmark text.
type Dataset struct {
	Name     string            `json:"name"`
	Series   []Series          `json:"-"`
	Set      *results.Set      `json:"-"`                  // source of the series; nil for text
	Problems []results.Problem `json:"problems,omitempty"` // what could not be read
	Failed   []string          `json:"failed,omitempty"`   // benchmarks and tests, for text
}

// DatasetOf returns a set as one side of a comparison.
func DatasetOf(name string, s *results.Set) Dataset {
	return Dataset{Name: name, Series: SeriesOf(s), Set: s, Problems: s.Problems}
}

// ReadDataset reads a results file or Go benchmark text, and finds out from the content which it
// is. It opens the path as [results.Open] does. A file with nothing to compare is an error, unless
// it says that a benchmark failed.
func ReadDataset(path string) (Dataset, error) {
	name, f, err := results.Open(path)
	if err != nil {
		return Dataset{}, err
	}
	defer f.Close()
	return ReadDatasetFrom(name, f)
}

// ReadDatasetFrom does what [ReadDataset] does, but reads from r. The name is only shown to people.
func ReadDatasetFrom(name string, r io.Reader) (Dataset, error) {
	text := bufio.NewReaderSize(r, sniffed)
	var out Dataset
	if looksLikeJSON(text) {
		set, err := results.ReadFrom(name, text)
		if err != nil {
			return Dataset{}, err
		}
		out = DatasetOf(name, set)
	} else {
		var err error
		out, err = readBench(name, text)
		if err != nil {
			return Dataset{}, err
		}
	}
	if len(out.Series)+len(out.Failed) > 0 {
		return out, nil
	}
	why := "no cell with samples, and nothing found of a server or program"
	switch {
	case out.Set == nil:
		why = "neither records nor the text of go test -bench, without -json, with a result in it"
	case len(out.Set.FindingsOf(results.AreaCompare)) > 0:
		why = "it keeps what compare found: pipebench report shows that"
	case len(out.Set.FindingsOf(results.AreaRule)) > 0:
		why = "it keeps what probe found: pipebench probe FILE FILE compares that"
	}
	if len(out.Problems) > 0 {
		why += "; " + out.Problems[0].String()
	}
	return Dataset{}, fmt.Errorf("read results: %s: %w: %s", name, results.ErrEmpty, why)
}

// sniffed is how many bytes of a file decide its format. A build prints fewer bytes before the
// results.
const sniffed = 16 << 10

// looksLikeJSON reports whether r has records rather than Go benchmark text, without consuming
// anything. A blank file counts as records, because their reader reports that it is blank.
func looksLikeJSON(r *bufio.Reader) bool {
	head, _ := r.Peek(sniffed) // an error comes again when the file is read
	blank := true
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			return !bytes.Contains(line, []byte(`"Action":"`)) // as the lines of go test -json do
		case bytes.HasPrefix(line, []byte("Benchmark")), bytes.HasPrefix(line, []byte("goos: ")):
			return false
		}
		blank = blank && len(line) == 0
	}
	return blank
}
