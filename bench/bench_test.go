package bench

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// announceUnits says before the first benchmark which way its units are
// better: benchstat does not know of latencies and wire bytes.
func announceUnits() {
	flag.Parse()
	if asked := flag.Lookup("test.bench"); asked != nil && asked.Value.String() != "" {
		fmt.Println(strings.Join(results.BenchUnits(), "\n"))
	}
}

// placed are the placements that this machine has of those that gate.
func placed(c results.Cell) []results.Cell {
	var cells []results.Cell
	for _, place := range []string{"same", "apart"} {
		if c.Placement = place; Unsupported(c) == nil {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		c.Placement = "free"
		cells = []results.Cell{c}
	}
	return cells
}

func BenchmarkStream(b *testing.B) {
	for _, framing := range []string{"raw", "ndjson", "content-length", "chunked:61440", "length-prefix"} {
		for _, size := range []int{256, 4 << 10, 64 << 10, 1 << 20} {
			benchmark(b, placed(cell(func(c *results.Cell) { c.Framing, c.Size = framing, size }))...)
		}
	}
}

func BenchmarkRoundtrip(b *testing.B) {
	for _, framing := range []string{"raw", "ndjson", "content-length", "chunked:61440", "length-prefix"} {
		for _, size := range []int{256, 64 << 10} {
			benchmark(b, placed(cell(func(c *results.Cell) { c.Framing, c.Size, c.Pattern = framing, size, "roundtrip" }))...)
		}
	}
}

// BenchmarkIO is the same bytes with each way to wait, at both ends.
func BenchmarkIO(b *testing.B) {
	for _, io := range syspipe.IOs() {
		if io.Supported() == nil {
			benchmark(b, placed(cell(func(c *results.Cell) { c.Framing, c.Size, c.IO = "raw", 64<<10, io.String() }))...)
		}
	}
}

// BenchmarkPipe is the same bytes through each kind of pipe.
func BenchmarkPipe(b *testing.B) {
	for _, kind := range syspipe.Kinds() {
		if kind.Supported() == nil {
			benchmark(b, placed(cell(func(c *results.Cell) { c.Framing, c.Size, c.Pipe = "raw", 64<<10, string(kind) }))...)
		}
	}
}

// benchmark runs each cell as a benchmark of its own. b.N is the messages of
// one sample. What is reported is the engine's time, without its workers'
// start.
func benchmark(b *testing.B, cells ...results.Cell) {
	for _, c := range cells {
		_, name, _ := strings.Cut(results.BenchName(c), "/")
		b.Run(name, func(b *testing.B) {
			s, err := Plan{Seed: 1, Duration: time.Minute}.Measure(b.Context(), c, int64(b.N))
			if err != nil {
				b.Fatal(err)
			}
			for unit, value := range results.BenchFigures(c, s) {
				b.ReportMetric(value, unit)
			}
		})
	}
}

func TestABenchmarkReportsTheEnginesTime(t *testing.T) {
	c := cell()
	p := Plan{Seed: 1, Duration: time.Minute}
	s, err := p.Measure(t.Context(), c, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := results.BenchFigures(c, s)["ns/op"], float64(s.ElapsedNS)/10; got != want {
		t.Errorf("%v ns/op of %d ns for 10 messages", got, s.ElapsedNS)
	}
}
