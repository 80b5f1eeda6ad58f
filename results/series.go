package results

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"
)

// A Series is one metric of one case, sample by sample, from a results file or
// from Go benchmark text.
type Series struct {
	Name     string    `json:"name"`           // as in Go benchmark text, without "Benchmark"
	Cell     *Cell     `json:"cell,omitempty"` // nil of Go benchmark text
	Metric   Metric    `json:"-"`
	Machine  string    `json:"machine"`
	Values   []float64 `json:"values"`
	Messages int64     `json:"messages"` // the fewest that a value rests on

	Disturbed bool `json:"disturbed,omitempty"` // others had what it needed while it was measured, as a warning says

	Since time.Time `json:"since,omitzero"` // when the first of its records was finished; zero of Go benchmark text
	Until time.Time `json:"until,omitzero"` // when the last was
}

// Compared are the metrics in which two measurements of a cell are compared:
// counters, which may be exact, then times. Of a stream that is its goodput, of
// round trips their p50 and p99; a latency that a stream carries too.
func Compared(c Cell, samples []Sample) []Metric {
	names := []string{"writer-calls", "reader-calls", "wire", "allocs"}
	_, hasLatency := felt(anyLatency(samples))
	if c.Pattern != roundtrip {
		names = append(names, "goodput")
	} else if !hasLatency {
		names = append(names, "time")
	}
	if hasLatency {
		names = append(names, "p50", "p99")
	}
	var out []Metric
	for _, name := range names {
		out = append(out, known(name))
	}
	return out
}

// anyLatency is the latency of the first sample that has any.
func anyLatency(samples []Sample) map[string]Latency {
	i := slices.IndexFunc(samples, func(s Sample) bool { return len(s.Latency) > 0 })
	if i < 0 {
		return nil
	}
	return samples[i].Latency
}

// Series are the set's measurements as far as they can be compared, in the
// order in which views show them.
func (s *Set) Series() []Series {
	var out []Series
	rows := rowsOf(s)
	sortRows(rows)
	for _, r := range rows {
		samples := r.samples()
		for _, m := range Compared(r.Cell, samples) {
			if values := m.Values(samples); len(values) > 0 {
				since, until := r.times()
				out = append(out, Series{
					Name: BenchName(r.Cell), Cell: new(r.Cell), Metric: m, Machine: r.Machine,
					Values: values, Messages: fewestMessages(samples), Since: since, Until: until,
					Disturbed: slices.ContainsFunc(r.Warnings, disturbed),
				})
			}
		}
	}
	return out
}

func fewestMessages(samples []Sample) int64 {
	return slices.MinFunc(samples, func(a, b Sample) int { return int(a.Messages - b.Messages) }).Messages
}

// A Side is one of the two things that are compared.
type Side struct {
	Name     string    `json:"name"`
	Series   []Series  `json:"-"`
	Set      *Set      `json:"-"`                  // what the series are of; nil of Go benchmark text
	Problems []Problem `json:"problems,omitempty"` // what could not be read
}

// SideOf makes a side of a set.
func SideOf(name string, s *Set) Side {
	return Side{Name: name, Series: s.Series(), Set: s, Problems: s.Problems}
}

// ReadSide reads a results file or Go benchmark text, whichever it is; paths are
// those that [Read] takes. A file that is missing or has nothing to compare is
// an error.
func ReadSide(path string) (Side, error) {
	name, f, err := open(path)
	if err != nil {
		return Side{}, err
	}
	defer f.Close()
	return ReadSideFrom(name, f)
}

// ReadSideFrom is [ReadSide] of what r gives.
func ReadSideFrom(name string, r io.Reader) (Side, error) {
	text := bufio.NewReaderSize(r, sniffed)
	var side Side
	if looksLikeJSON(text) {
		set, err := ReadFrom(name, text)
		if err != nil {
			return Side{}, err
		}
		side = SideOf(name, set)
	} else {
		var err error
		if side, err = readBench(name, text); err != nil {
			return Side{}, err
		}
	}
	if len(side.Series) == 0 {
		why := "no cell with samples"
		if side.Set == nil {
			why = "neither records nor the text of go test -bench with a result in it"
		}
		if len(side.Problems) > 0 {
			why += "; " + side.Problems[0].String()
		}
		return Side{}, fmt.Errorf("read results: %s: %w: %s", name, ErrEmpty, why)
	}
	return side, nil
}

// sniffed is how much of a file is looked at to tell what it is, in bytes: what a
// login or a build says before it is shorter.
const sniffed = 16 << 10

// looksLikeJSON tells records from Go benchmark text by the first line that is of
// either. It takes nothing away from the reader. A blank file counts as records,
// whose reader says that it is blank; one of something else as text.
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
