package benchtest

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
)

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

func TestAFramingsBenchmarkHasTheSizesAskedFor(t *testing.T) {
	for _, c := range []struct {
		name                 string
		sizes                []int
		streamed, roundTrips int // sizes
	}{
		{"the usual", nil, 4, 2},
		{"one", []int{4096}, 1, 1},
		{"as many as the usual", []int{1000, 2000, 3000, 4000}, 4, 4},
	} {
		count := map[string]int{}
		for _, cell := range framingCells("own", c.sizes) {
			if cell.Framing == "own" && cell.Placement == bench.Placed(cell)[0].Placement {
				count[cell.Pattern]++
			}
		}
		if count["stream"] != c.streamed || count["roundtrip"] != c.roundTrips {
			t.Errorf("%s: %v", c.name, count)
		}
	}
}

// A framing and a size are enough for a cell.
func TestACellWithEmptyFieldsIsMeasured(t *testing.T) {
	r := testing.Benchmark(func(b *testing.B) {
		run(b, results.Cell{Framing: "ndjson", Size: 4000})
	})
	if len(r.Extra) == 0 {
		t.Error("nothing was measured")
	}
}

// Each median by itself, ns/op and MB/s disagreed by a tenth on a busy machine.
func TestTheGoodputOfALineIsThatOfItsTime(t *testing.T) {
	for range 3 {
		r := testing.Benchmark(func(b *testing.B) {
			run(b, results.Cell{Framing: "ndjson", Size: 4000, Placement: "free"})
		})
		fromTime := 4000 / r.Extra["ns/op"] * 1000
		if got := r.Extra["MB/s"]; got < fromTime*0.99999 || got > fromTime*1.00001 {
			t.Errorf("%v: %.2f MB/s, and the time makes that %.2f", r.Extra, got, fromTime)
		}
	}
}

// A reader that closes its end, and messages at a rate, are benchmarks as others are.
func TestCellsOfEveryPatternAreBenchmarks(t *testing.T) {
	usual := results.Cell{
		Framing: "ndjson", Size: 4000, Pipe: "anonymous", IO: "poll/blocking",
		Placement: "free", Pattern: "stream", Payload: "json",
	}
	closes, rated := usual, usual
	closes.ClosesAfter = 1
	rated.Rate = 10_000
	for _, c := range []results.Cell{usual, closes, rated} {
		if bench.Unsupported(c) != nil {
			continue
		}
		r := testing.Benchmark(func(b *testing.B) { run(b, c) })
		if len(r.Extra) == 0 {
			t.Errorf("%s: nothing was measured", results.CellName(c))
		}
	}
}
