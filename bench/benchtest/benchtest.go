// Package benchtest runs cells and framings as benchmarks of go test, by the engine of package
// bench. The authors of an SDK benchmark their own framing, in their own repository:
//
//	func TestMain(m *testing.M) {
//		bench.Register(mine{})
//		bench.Worker()
//		os.Exit(m.Run())
//	}
//
//	func BenchmarkMine(b *testing.B) { benchtest.Framing(b, mine{}) }
//
// Benchmarks report the engine's time, in units that benchstat reads with -col /framing. The start
// of the workers and slices that others disturbed are not in the figures.
package benchtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// The message sizes of [Framing] if none are given, in bytes.
var (
	streamSizes    = []int{256, 4000, 65_000, 1_000_000}
	roundtripSizes = []int{256, 65_000}
)

// Framing benchmarks a framing through real pipes between two processes, beside raw: streams of
// messages from 256 B to 1 MB, and round trips of 256 B and 65 kB, with each placement of same and
// apart that the machine has. Other sizes than the usual may be given, in bytes: each is streamed
// and sent there and back.
func Framing(b *testing.B, f framers.Framing, sizes ...int) {
	b.Helper()
	if err := bench.CheckRegistered(f); err != nil {
		b.Fatal(err)
	}
	Cells(b, framingCells(f.String(), sizes)...)
}

// framingCells sets a framing beside raw, size by size.
func framingCells(spec string, sizes []int) []results.Cell {
	streamed, returned := sizes, sizes
	if len(sizes) == 0 {
		streamed, returned = streamSizes, roundtripSizes
	}
	var cells []results.Cell
	for _, size := range streamed {
		cells = append(cells, besideRaw(spec, "stream", size)...)
		if slices.Contains(returned, size) {
			cells = append(cells, besideRaw(spec, "roundtrip", size)...)
		}
	}
	return cells
}

func besideRaw(spec, pattern string, size int) []results.Cell {
	var cells []results.Cell
	for _, framing := range []string{results.FramingRaw, spec} {
		c := results.Cell{
			Framing: framing, Size: size, Pattern: pattern,
			Pipe: "anonymous", IO: "blocking", Payload: "json",
		}
		cells = append(cells, bench.Placed(c)...)
	}
	return cells
}

// Cells runs each cell as a benchmark of its own. The b.N messages pass in slices of some
// milliseconds, by workers that are started once, and the figures are those of the median slice.
// The workers of an open loop, and of a reader that closes its end, are started for each slice; of
// such a cell a few slices are taken, whatever b.N is.
func Cells(b *testing.B, cells ...results.Cell) {
	b.Helper()
	for _, c := range cells {
		pattern, name, _ := strings.Cut(benchtext.CellName(c), "/")
		if !strings.Contains(b.Name(), pattern) {
			name = pattern + "/" + name
		}
		var s *bench.Session
		ctx := b.Context() // which lasts for all the runs of a benchmark
		b.Run(name, func(b *testing.B) {
			if s == nil {
				var err error
				s, err = bench.OpenSession(ctx, c)
				if bench.IsUnsupported(err) {
					b.Skip(err)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			sample, err := s.Median(int64(b.N))
			if err != nil {
				b.Fatal(err)
			}
			for _, figure := range stat.BenchValues(c, sample) {
				b.ReportMetric(figure.Value, figure.Unit)
			}
		})
		if s != nil {
			s.Close()
		}
	}
}
