package bench

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

// A plan need not say what is as usual.
func TestAPlanOfLittleRuns(t *testing.T) {
	r, err := Measure(t.Context(), results.Cell{Framing: "ndjson", Size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	want := results.Cell{
		Framing: "ndjson", Size: 4096, Pipe: "anonymous", IO: "blocking", Pattern: "stream",
		Placement: Placed(results.Cell{})[0].Placement, Payload: "json",
	}
	if r.Cell != want || len(r.Samples) < usualSamples {
		t.Errorf("%d samples of %+v", len(r.Samples), r.Cell)
	}
	if goodput := r.Goodput(); goodput < 1e6 || goodput > 1e12 || r.Time() <= 0 {
		t.Errorf("%v B/s, %s a message", goodput, r.Time())
	}
}

func TestMeasureSaysWhatThisSystemLacks(t *testing.T) {
	_, err := Measure(t.Context(), results.Cell{Framing: "ndjson", Size: 64, Pipe: "telepathy"})
	if err == nil {
		t.Error("a pipe that there is not was measured")
	}
}
