package bench

import (
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// The estimate knows that a slice holds at least one message, and that another one warms up.
func TestTheEstimateGrowsWithTheMessage(t *testing.T) {
	estimate := func(size int) time.Duration {
		c := results.Cell{Framing: "ndjson", Size: size, Placement: "same"}
		return Plan{Cells: []results.Cell{c}}.Estimate()
	}
	const samples = 24
	small, large := estimate(64<<10), estimate(1<<30)
	if small > time.Minute || large < samples*2*time.Second {
		t.Errorf("64 KiB: %s, 1 GiB: %s", small, large)
	}
}
