package stat

import (
	"slices"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Zero values and wrong arguments give errors, no panics.
func TestZeroValuesGiveErrors(t *testing.T) {
	if v, ok := (Metric{}).Value(results.Sample{}); ok || v != 0 {
		t.Errorf("the zero metric has the value %v", v)
	}
	if _, err := FitLine([]float64{1, 2, 3}, []float64{1}); err == nil {
		t.Error("a line was fitted through three x and one y")
	}
	(&results.Set{}).Add(nil)
	w := &results.Writer{}
	if err := w.Write(results.Environment{Run: "r"}); err == nil {
		t.Error("a writer of nothing writes")
	}
	if err := w.Close(); err == nil {
		t.Error("a writer of nothing closes")
	}
}

// The order of the series of a server is the same in every run of a comparison.
func TestLimitsComeInOneOrder(t *testing.T) {
	s := &results.Set{}
	s.Add(results.Target{
		Run: "r", Command: []string{"server"}, Verdict: "ok",
		RequestLimit: new(int64(10)), ReplyLimit: new(int64(20)),
	})
	for range 50 {
		var names []string
		for _, series := range SeriesOf(s) {
			names = append(names, series.Name)
		}
		if want := []string{"Drive/requests", "Drive/replies"}; !slices.Equal(names, want) {
			t.Fatalf("series %q, want %q", names, want)
		}
	}
}
