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
// Benchmarks report the times that the engine measured, in units that benchstat reads with
// -col /framing. The figures leave out the start of the workers, and slices that others disturbed.
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

// Framing benchmarks a framing, and beside it raw, through real pipes between two processes:
// streams of messages from 256 B to 1 MB, and round trips of 256 B and 65 kB. It does so on one
// CPU, and on two if the machine has them. If sizes are given, in bytes, each is measured in
// streams and in round trips instead.
func Framing(b *testing.B, f framers.Framing, sizes ...int) {
	b.Helper()
	if err := bench.CheckRegistered(f); err != nil {
		b.Fatal(err)
	}
	Cells(b, framingCells(f.String(), sizes)...)
}

// framingCells returns the cells of a framing and of raw, size by size.
func framingCells(spec string, sizes []int) []results.Cell {
	streams := sizes
	roundtrips := sizes
	if len(sizes) == 0 {
		streams = streamSizes
		roundtrips = roundtripSizes
	}
	var cells []results.Cell
	for _, size := range streams {
		cells = append(cells, besideRaw(spec, "stream", size)...)
		if slices.Contains(roundtrips, size) {
			cells = append(cells, besideRaw(spec, "roundtrip", size)...)
		}
	}
	return cells
}

// besideRaw returns the cells of raw and of a framing, with each placement.
func besideRaw(spec, pattern string, size int) []results.Cell {
	var cells []results.Cell
	for _, framing := range []string{results.FramingRaw, spec} {
		c := results.UsualCell(framing, pattern, "", size) // Placed sets the placement
		cells = append(cells, bench.Placed(c)...)
	}
	return cells
}

// samplesPerOp is how many slices, of some milliseconds each, an operation of go test takes.
const samplesPerOp = 6

// Cells runs each cell as a benchmark of its own. An operation of go test is a run of six slices,
// with workers started for it; the figures are medians of the slices of all operations.
func Cells(b *testing.B, cells ...results.Cell) {
	b.Helper()
	for _, c := range cells {
		pattern, name, _ := strings.Cut(benchtext.CellName(c), "/")
		if !strings.Contains(b.Name(), pattern) { // b does not say the pattern already
			name = pattern + "/" + name
		}
		b.Run(name, func(b *testing.B) { run(b, c) })
	}
}

func run(b *testing.B, c results.Cell) {
	b.Helper()
	if err := bench.Unsupported(c); err != nil {
		b.Skip(err)
	}
	plan := bench.Plan{Cells: []results.Cell{c}, Samples: samplesPerOp, Forks: 1, Seed: 1}
	var all results.Record
	for b.Loop() {
		err := bench.Run(b.Context(), plan, func(r results.Record) error {
			all.Cell = r.Cell
			all.Samples = append(all.Samples, r.Samples...)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, u := range benchtext.CellUnits(all.Cell) {
		e := stat.MustMetric(u.Metric).Estimate(all)
		if e.N > 0 {
			b.ReportMetric(benchtext.Round(e.Median*u.Scale), u.Name)
		}
	}
}
