package view

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results/resultstest"
)

// historyLine is what actions that keep a history of Go benchmarks take for a result: a name, how
// often it ran, then pairs of a value and a unit.
var historyLine = regexp.MustCompile(`^(Benchmark\w+[^\s]*?)(-\d+)?\s+(\d+)\s+(.+)$`)

// bench.txt is read as it is by benchstat and by actions that keep a history: each line is either a
// result that both understand alike, or one that the actions pass over.
func TestBenchTextIsReadByOthers(t *testing.T) {
	var text bytes.Buffer
	if err := WriteBench(&text, resultstest.Sweep()); err != nil {
		t.Fatal(err)
	}
	byStat := make(map[string]int) // values by name, of benchstat's reader
	in := benchfmt.NewReader(strings.NewReader(text.String()), "bench.txt")
	for in.Scan() {
		switch line := in.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("benchstat: line %d: %s", line.Line, line.Msg)
		case *benchfmt.Result:
			byStat["Benchmark"+line.Name.String()] += len(line.Values)
		}
	}
	byHistory := make(map[string]int)
	for line := range strings.Lines(text.String()) {
		m := historyLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		fields := strings.Fields(m[4])
		if len(fields)%2 != 0 {
			t.Fatalf("values without units: %q", line)
		}
		for i := 0; i < len(fields); i += 2 {
			if _, err := strconv.ParseFloat(fields[i], 64); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			byHistory[m[1]+m[2]]++
		}
	}
	if len(byStat) == 0 || len(byHistory) != len(byStat) {
		t.Fatalf("benchstat reads %d benchmarks, a history %d", len(byStat), len(byHistory))
	}
	for name, n := range byStat {
		if byHistory[name] != n {
			t.Errorf("%s: benchstat reads %d values, a history %d", name, n, byHistory[name])
		}
	}
}
