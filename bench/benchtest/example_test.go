package benchtest_test

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/benchtest"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

var b *testing.B

// A framing of one's own is measured at 256, 4000, 65,000 and 1,000,000 B, beside raw.
func ExampleFraming() {
	// in func BenchmarkMine(b *testing.B):
	benchtest.Framing(b, framers.LengthPrefix())
}

// The sizes may be others.
func ExampleFraming_sizes() {
	benchtest.Framing(b, framers.LengthPrefix(), 512, 2_000_000)
}

// Cells are measured as package bench measures them.
func ExampleCells() {
	benchtest.Cells(b,
		results.Cell{Framing: "ndjson", Size: 65_000},
		results.Cell{Framing: "ndjson", Size: 65_000, Capacity: 1 << 20})
}

// The workers of a benchmark are the test binary, started again.
func Example() {
	// func TestMain(m *testing.M)
	main := func(m *testing.M) {
		bench.Worker()
		os.Exit(m.Run())
	}
	_ = main
}
