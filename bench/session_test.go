package bench

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// sliceOf takes one slice of n messages of a cell.
func sliceOf(t *testing.T, c results.Cell, n int64) (results.Sample, error) {
	t.Helper()
	s, err := OpenSession(t.Context(), c)
	if err != nil {
		return results.Sample{}, err
	}
	defer s.Close()
	return s.Slice(n)
}

func TestABenchmarkReportsTheEnginesTime(t *testing.T) {
	c := cell()
	s, err := sliceOf(t, c, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := stat.BenchValues(c, s)[0]
	if got.Unit != "ns/op" || got.Value != float64(s.ElapsedNS)/10 {
		t.Errorf("%+v of %d ns for 10 messages", got, s.ElapsedNS)
	}
}

// Whatever a cell is, it can be a benchmark, in as few slices as do.
func TestASessionTakesSlicesOfEveryCell(t *testing.T) {
	for _, change := range []func(*results.Cell){
		func(*results.Cell) {},
		func(c *results.Cell) { c.Rate = 10_000 },
		func(c *results.Cell) { c.Inflight, c.Pattern = 4, "roundtrip" },
		func(c *results.Cell) { c.ClosesAfter, c.IO = 2, "poll/blocking" },
		func(c *results.Cell) { c.Rate, c.Pattern = 5000, PatternMixed },
		func(c *results.Cell) { c.Drain = 50e6 },
	} {
		c := cell(change)
		s, err := OpenSession(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", Label(c), err)
			continue
		}
		for _, n := range []int64{1, 100, 1000} {
			sample, err := s.Median(n)
			if err != nil || sample.Messages < 1 || sample.ElapsedNS < 1 {
				t.Errorf("%s: %d messages: %+v, %v", Label(c), n, sample, err)
			}
			if (sample.Left != nil) != (c.ClosesAfter > 0) {
				t.Errorf("%s: left %+v", Label(c), sample.Left)
			}
		}
		s.Close()
	}
}

// What a plan does not say is as usual.
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
