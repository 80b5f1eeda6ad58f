// Package benchtest runs measurements of package bench as benchmarks of go test. With it you can
// benchmark a framing of your own (package framerstest tests it):
//
//	func TestMain(m *testing.M) {
//		bench.Register(mine{})
//		bench.Worker()
//		os.Exit(m.Run())
//	}
//
//	func BenchmarkMine(b *testing.B) { benchtest.Framing(b, mine{}) }
//
// The benchmarks report the times that package bench measured, not those of go test. Run benchstat
// with -col /framing to see a column for each framing. Start go test several times instead of with
// -count, which repeats one benchmark before the next: so framings take turns, as in [bench.Run].
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

// The message sizes, in bytes, that [Framing] uses if its caller gives none.
var (
	streamSizes    = []int{256, 4000, 65_000, 1_000_000}
	roundtripSizes = []int{256, 65_000}
)

// Framing benchmarks f, a way of telling messages apart, beside the framing "raw", which adds
// nothing to a message. It measures streams and round trips between two processes. The parameter
// sizes holds the bytes of messages. Without sizes, Framing takes 256 B to 1 MB.
func Framing(b *testing.B, f framers.Framing, sizes ...int) {
	b.Helper()
	if err := bench.CheckRegistered(f); err != nil {
		b.Fatal(err)
	}
	Cells(b, framingCells(f.String(), sizes)...)
}

// framingCells returns the measurements that [Framing] makes for the framing named spec.
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

// besideRaw returns measurements with the framing "raw" and with the framing named spec, for each
// placement of the two processes on CPUs that [bench.Placed] chooses.
func besideRaw(spec, pattern string, size int) []results.Cell {
	var cells []results.Cell
	for _, framing := range []string{results.FramingRaw, spec} {
		c := results.UsualCell(framing, pattern, "", size) // Placed sets the placement
		cells = append(cells, bench.Placed(c)...)
	}
	return cells
}

// samplesPerOp is how many samples, of some milliseconds, each of the b.N iterations takes.
const samplesPerOp = 6

// Cells makes each of the measurements in a sub-benchmark of b, and reports medians of the samples;
// MB/s follows from ns/op. Empty fields get their usual values, as in [bench.Complete].
// Measurements that this machine cannot make are skipped.
func Cells(b *testing.B, cells ...results.Cell) {
	b.Helper()
	for _, c := range cells {
		c = bench.Complete(c)
		pattern, name, _ := strings.Cut(benchtext.CellName(c), "/")
		if !strings.Contains(b.Name(), pattern) { // the name of b does not contain the pattern yet
			name = pattern + "/" + name
		}
		b.Run(name, func(b *testing.B) { run(b, c) })
	}
}

func run(b *testing.B, c results.Cell) {
	b.Helper()
	err := bench.Unsupported(c)
	if bench.IsUnsupported(err) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
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
	var payload, messages int64
	for _, s := range all.Samples {
		payload += s.PayloadBytes
		messages += s.Messages
	}
	for _, u := range benchtext.CellUnits(all.Cell) {
		e := stat.MustMetric(u.Metric).Estimate(all)
		if u.Metric == "goodput" {
			// The median of the goodput could come from other samples than that of the time.
			size := float64(payload) / float64(messages)
			e.Median = size * 1e9 / stat.MustMetric("time").Estimate(all).Median
		}
		if e.N > 0 {
			b.ReportMetric(benchtext.Round(e.Median*u.Scale), u.Name)
		}
	}
}
