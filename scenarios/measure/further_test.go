package measure

import (
	"slices"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// A run that nobody asked anything particular of goes on with writers that do not block, each against
// three readers, below and above the capacity of a pipe, and with large messages if there is time.
func TestARunOfNothingInParticularGoesFurther(t *testing.T) {
	sweep := DefaultSweep(placement.Topology{})
	cells, err := sweep.Cells()
	if err != nil {
		t.Fatal(err)
	}
	asked := bench.Plan{Cells: cells, Samples: 24, Duration: bench.SliceTime, Precision: 0.02, MaxTime: 15 * time.Second}
	plans, err := sweep.WithFurther(asked)
	if err != nil || len(plans) != 3 {
		t.Fatalf("%d plans: %v", len(plans), err)
	}
	main, waiting, large := plans[0], plans[1], plans[2]
	if main.MaxTime != 11250*time.Millisecond || waiting.MaxTime != asked.MaxTime || large.MaxTime != asked.MaxTime || waiting.Precision+large.Precision != 0 {
		t.Errorf("times %s, %s, %s", main.MaxTime, waiting.MaxTime, large.MaxTime)
	}
	framings := len(defaultFramings)
	if len(waiting.Cells) != 3*3*2*framings || len(large.Cells) != framings || waiting.Samples < 3 || large.Samples < 12 {
		t.Errorf("%d and %d cells, %d and %d samples", len(waiting.Cells), len(large.Cells), waiting.Samples, large.Samples)
	}
	readers := map[results.Cell]int{}
	for _, c := range waiting.Cells {
		if !c.IsWaiting() || slices.Contains(cells, c) {
			t.Errorf("%s", c.Key())
		}
		readers[results.Cell{Drain: c.Drain, ClosesAfter: c.ClosesAfter}]++
	}
	if len(readers) != 3 {
		t.Errorf("readers %v", readers)
	}
	if _, err := waiting.Checked(); err != nil {
		t.Error(err)
	}
	for _, row := range []struct {
		nsPerByte int64
		fits      bool
	}{{0, false}, {1, true}, {40, false}} { // of as much as a gigabyte and two a second, and of 25 megabytes
		mib := results.Record{Cell: results.Cell{Size: 1 << 20, Pattern: "stream"}, Samples: []results.Sample{{ElapsedNS: row.nsPerByte << 20, PayloadBytes: 1 << 20}}}
		if row.nsPerByte == 0 {
			mib.Samples = nil
		}
		if got := large.Fits([]results.Record{mib}, 5*time.Second); got != row.fits {
			t.Errorf("%d ns a byte: fits %v", row.nsPerByte, got)
		}
	}
}
