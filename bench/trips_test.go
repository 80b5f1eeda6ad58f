package bench

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Round trips that are not timed one by one have a time, and no latency that
// nobody measured.
func TestTripsNeedNotBeTimedOneByOne(t *testing.T) {
	trips := func(clock, framing string) results.Cell {
		return cell(func(c *results.Cell) { c.Framing, c.Pattern, c.Clock = framing, "roundtrip", clock })
	}
	for _, r := range collect(t, small(trips("", "raw"), trips("", "ndjson"), trips("sample", "raw"), trips("sample", "ndjson"))) {
		for _, s := range r.Samples {
			_, timed := s.Latency["roundtrip"]
			if timed != (r.Cell.Clock == "") || s.ElapsedNS <= 0 {
				t.Errorf("%s: latency %v, %d ns", Label(r.Cell), s.Latency, s.ElapsedNS)
			}
		}
	}
}
