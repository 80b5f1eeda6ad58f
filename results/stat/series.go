package stat

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Series is one metric of one case, sample by sample, from a results file or from Go benchmark
// text.
type Series struct {
	Name     string        `json:"name"`           // as in Go benchmark text, without "Benchmark"
	Cell     *results.Cell `json:"cell,omitempty"` // nil of Go benchmark text
	Metric   Metric        `json:"-"`
	Machine  string        `json:"machine"`
	Values   []float64     `json:"values"`
	Figure   Estimate      `json:"-"`        // of the values
	Messages int64         `json:"messages"` // the fewest that a value rests on

	Disturbed bool `json:"disturbed,omitempty"` // others had what it needed while it was measured, as a warning says

	records []results.Record // what the values are from; nil of Go benchmark text

	Since time.Time `json:"since,omitzero"` // when the first of its records was finished; zero of Go benchmark text
	Until time.Time `json:"until,omitzero"` // when the last was
}

// Compared returns the metrics in which two measurements of a cell are compared: counters, which
// may be exact, then times. Of a stream that is its goodput, of round trips their p50 and p99; a
// latency that a stream carries too.
func Compared(c results.Cell, samples []results.Sample) []Metric {
	hasLatency := slices.ContainsFunc(samples, func(s results.Sample) bool {
		_, ok := primaryLatency(s.Latency)
		return ok
	})
	names := []string{"writer-calls", "reader-calls", "wire", "allocs"}
	if c.Pattern != results.PatternRoundtrip {
		names = append(names, "goodput")
	} else if !hasLatency {
		names = append(names, "time")
	}
	if hasLatency {
		names = append(names, "p50", "p99")
	}
	return Map(names, MustMetric)
}

// SeriesOf lists what the set holds as far as it can be compared, in the order in which views show it:
// measurements, those of tune among them, and what was found of servers and programs.
func SeriesOf(s *results.Set) []Series {
	out := judgedSeries(s)
	measured := *s
	for _, t := range s.Tunes {
		if len(t.Samples) > 0 {
			measured.Records = append(slices.Clip(measured.Records), results.Record{Run: t.Run, Time: t.Time, Cell: t.Cell, Samples: t.Samples})
		}
	}
	rows := rowsOf(&measured)
	sortRows(rows)
	for _, r := range rows {
		samples := r.Pooled()
		for _, m := range Compared(r.Cell, samples) {
			one := Series{Name: BenchName(r.Cell), Cell: new(r.Cell), Metric: m, Machine: r.Machine, Values: m.Values(samples), records: r.Records}
			if len(one.Values) == 0 {
				continue
			}
			byTime := func(a, b results.Record) int { return a.Time.Compare(b.Time) }
			one.Since, one.Until = slices.MinFunc(r.Records, byTime).Time, slices.MaxFunc(r.Records, byTime).Time
			byMessages := func(a, b results.Sample) int { return cmp.Compare(a.Messages, b.Messages) }
			one.Messages = slices.MinFunc(samples, byMessages).Messages
			one.Figure = m.Estimate(r.Records...)
			one.Disturbed = one.Figure.Disturbed || slices.ContainsFunc(r.Records, func(rec results.Record) bool { return rec.Disturbed })
			out = append(out, one)
		}
	}
	return out
}

// A Dataset is one of the two things that are compared.
type Dataset struct {
	Name     string            `json:"name"`
	Series   []Series          `json:"-"`
	Set      *results.Set      `json:"-"`                  // what the series are of; nil of Go benchmark text
	Problems []results.Problem `json:"problems,omitempty"` // what could not be read
}

// DatasetOf makes a side of a set.
func DatasetOf(name string, s *results.Set) Dataset {
	return Dataset{Name: name, Series: SeriesOf(s), Set: s, Problems: s.Problems}
}

// ReadDataset reads a results file or Go benchmark text, whichever it is; paths are those that
// [Read] takes. A file that is missing or has nothing to compare is an error.
func ReadDataset(path string) (Dataset, error) {
	name, f, err := results.Open(path)
	if err != nil {
		return Dataset{}, err
	}
	defer f.Close()
	return ReadDatasetFrom(name, f)
}

// ReadDatasetFrom does with what r gives as [ReadDataset] does with a file.
func ReadDatasetFrom(name string, r io.Reader) (Dataset, error) {
	text := bufio.NewReaderSize(r, sniffed)
	var side Dataset
	var err error
	if looksLikeJSON(text) {
		var set *results.Set
		if set, err = results.ReadFrom(name, text); err == nil {
			side = DatasetOf(name, set)
		}
	} else {
		side, err = readBench(name, text)
	}
	if err != nil {
		return Dataset{}, err
	}
	if len(side.Series) == 0 {
		why := "no cell with samples, and nothing found of a server or program"
		if side.Set == nil {
			why = "neither records nor the text of go test -bench with a result in it"
		}
		if len(side.Problems) > 0 {
			why += "; " + side.Problems[0].String()
		}
		return Dataset{}, fmt.Errorf("read results: %s: %w: %s", name, results.ErrEmpty, why)
	}
	return side, nil
}

// sniffed is how much of a file is looked at to tell what it is, in bytes: what a login or a build
// says before it is shorter.
const sniffed = 16 << 10

// looksLikeJSON tells records from Go benchmark text by the first line that is of either. It takes
// nothing away from the reader. A blank file counts as records, whose reader says that it is blank;
// one of something else as text.
func looksLikeJSON(r *bufio.Reader) bool {
	head, _ := r.Peek(sniffed) // an error comes again, when the file is read
	blank := true
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			return true
		case bytes.HasPrefix(line, []byte("Benchmark")), bytes.HasPrefix(line, []byte("goos: ")):
			return false
		}
		blank = blank && len(line) == 0
	}
	return blank
}

// Replies pairs each request with the next reply of its id in the same recording. It returns the
// nanoseconds between them by method, and the requests that have none, in their order.
func Replies(messages []results.Message) (times map[string][]int64, unanswered []results.Message) {
	type call struct{ run, id string }
	open := map[call]results.Message{}
	times = map[string][]int64{}
	for _, m := range messages {
		at := call{m.Run, string(m.ID)}
		switch {
		case len(m.ID) == 0:
		case m.Dir == "request" && m.Method != "":
			open[at] = m
		case m.Dir == "reply" && m.Method == "":
			if request, ok := open[at]; ok {
				times[request.Method] = append(times[request.Method], m.T-request.T)
				delete(open, at)
			}
		}
	}
	unanswered = slices.SortedFunc(maps.Values(open), func(a, b results.Message) int { return cmp.Compare(a.T, b.T) })
	return times, unanswered
}

// ByCount lists the methods of reply times, those with the most replies first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}
