package benchtext

import (
	"fmt"
	"io"
	"math"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
)

// A Benchmark is one benchmark in one unit, with the values from all its lines.
type Benchmark struct {
	Name    string // without "Benchmark"
	Machine string // operating system, architecture and CPU, as far as the text has them
	Unit    string
	Better  int // -1 if lower is better, 1 if higher is, 0 if that is not known

	Values     []float64 // one per line
	Iterations int64     // the smallest number on any of the lines
}

// Read reads Go benchmark text, as go test -bench prints it: it returns the benchmarks in the order
// of their first lines. The name is that of the file. Lines of other text are skipped, and broken
// lines are returned as problems.
func Read(name string, r io.Reader) ([]Benchmark, []results.Problem, error) {
	t := text{index: make(map[key]int), problems: results.ProblemList{File: name}}
	in := benchfmt.NewReader(r, name)
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			t.problems.Add(rec.Line, rec.Msg+": line skipped")
		case *benchfmt.Result:
			t.addLine(rec)
		}
	}
	if err := in.Err(); err != nil {
		return nil, nil, fmt.Errorf("read results: %s: %w", name, err)
	}
	// A line that describes a unit may come after the lines that use the unit.
	units := in.Units()
	for i := range t.benchmarks {
		t.benchmarks[i].Better = units.GetBetter(t.benchmarks[i].Unit)
	}
	return t.benchmarks, t.problems.All, nil
}

// A text gathers what lines say.
type text struct {
	benchmarks []Benchmark
	index      map[key]int // in benchmarks
	problems   results.ProblemList
}

type key struct{ name, machine, unit string }

func (t *text) addLine(line *benchfmt.Result) {
	for _, v := range line.Values {
		value, unit := v.Value, v.Unit
		if v.OrigUnit != "" {
			value, unit = v.OrigValue, v.OrigUnit
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			_, number := line.Pos()
			t.problems.Add(number, fmt.Sprintf("%v %s is no figure: skipped", value, unit))
			continue
		}
		k := key{line.Name.String(), machine(line), unit}
		t.add(k, value, int64(line.Iters))
	}
}

func (t *text) add(k key, value float64, iterations int64) {
	i, known := t.index[k]
	if !known {
		i = len(t.benchmarks)
		t.index[k] = i
		t.benchmarks = append(t.benchmarks, Benchmark{
			Name:       k.name,
			Machine:    k.machine,
			Unit:       k.unit,
			Iterations: iterations,
		})
	}
	b := &t.benchmarks[i]
	b.Values = append(b.Values, value)
	b.Iterations = min(b.Iterations, iterations)
}

// machine returns what the text says of the machine on which a line was measured.
func machine(line *benchfmt.Result) string {
	var known []string
	for _, name := range []string{"goos", "goarch", "cpu"} {
		if value := line.GetConfig(name); value != "" {
			known = append(known, value)
		}
	}
	return strings.Join(known, " ")
}
