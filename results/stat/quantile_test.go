package stat

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// trips is a record of so many forks of two slices with 300 round trips each, of 1 to 300 µs, of
// which the last of each slice takes slowest ms more than the one before.
func trips(t *testing.T, forks int) results.Record {
	t.Helper()
	c := resultstest.Cell("ndjson", 256)
	c.Pattern = results.PatternRoundtrip
	r := resultstest.Record(c, 257)
	for fork := range forks {
		for round := range 2 {
			s := resultstest.Sample(256, 257, 1000)
			s.Fork = fork + 1
			s.Round = 2*fork + round + 1
			ns := resultstest.UpTo(300)
			ns[299] = int64(1e6 * (2*fork + round + 1))
			l, err := results.NewLatency(ns)
			if err != nil {
				t.Fatal(err)
			}
			s.Latency = map[string]results.Latency{"roundtrip": l}
			r.Samples = append(r.Samples, s)
		}
	}
	return r
}

// A percentile has one value everywhere: that of all observations together. No slice here holds
// enough for a p99 of its own, and the largest of all is in the last.
func TestAPercentileIsThatOfAllObservations(t *testing.T) {
	r := trips(t, 5)
	set := &results.Set{Environments: []results.Environment{resultstest.Environment()}}
	set.Add(r)
	merged, err := results.MergeLatencies(r.Samples, "roundtrip")
	if err != nil {
		t.Fatal(err)
	}
	row := Rows(set)[0]
	for name, want := range map[string]int64{
		"p50": *merged.P50NS, "p99": *merged.P99NS, "max": 10e6, "roundtrip.p99": *merged.P99NS,
	} {
		e := row.Estimates[name]
		if int64(e.Median) != want || e.N != 10 {
			t.Errorf("%s is %v of %d samples, want %d of 10", name, e.Median, e.N, want)
		}
		if figure, ok := row.Figure(name); !ok || int64(figure) != want {
			t.Errorf("the figure %s is %v, %v; want %d", name, figure, ok, want)
		}
	}
	for _, s := range SeriesOf(set) {
		if s.Metric.Name == "p99" && int64(s.Figure.Median) != *merged.P99NS {
			t.Errorf("compare has p99 %v, want %d", s.Figure.Median, *merged.P99NS)
		}
	}
	lines := BenchLines(r)
	last := lines[len(lines)-1]
	if len(lines) != 11 || last.Iters != 3000 || len(last.Values) != 2 {
		t.Fatalf("%d lines of benchmark text, the last %+v", len(lines), last)
	}
	if got := last.Values[1]; got.Unit != "p99-ns" || int64(got.Value) != *merged.P99NS {
		t.Errorf("benchmark text has %v %s, want %d", got.Value, got.Unit, *merged.P99NS)
	}
}

// The interval of a percentile comes from how forks differ in it.
func TestIntervalOfAPercentile(t *testing.T) {
	m := MustMetric("p50")
	e := m.Estimate(trips(t, 5))
	if e.Interval == nil || e.Interval.Lo > e.Median || e.Interval.Hi < e.Median {
		t.Errorf("forks that are alike: %+v %+v", e, e.Interval)
	}
	if spread, ok := e.Spread(); !ok || spread > 1 {
		t.Errorf("forks that are alike have a spread of %v %%", spread)
	}
	apart := trips(t, 5)
	for i := range apart.Samples {
		ns := resultstest.UpTo(300)
		for k := range ns {
			ns[k] *= int64(1 + apart.Samples[i].Fork)
		}
		l, err := results.NewLatency(ns)
		if err != nil {
			t.Fatal(err)
		}
		apart.Samples[i].Latency["roundtrip"] = l
	}
	if spread, _ := m.Estimate(apart).Spread(); spread < 40 {
		t.Errorf("forks that take one to three times as long have a spread of %v %%", spread)
	}
	if e := m.Estimate(trips(t, 2)); e.Interval != nil {
		t.Errorf("two forks have an interval: %+v", e)
	}
	if e := MustMetric("p99").Estimate(trips(t, 5)); e.Interval != nil {
		t.Errorf("forks of 600 trips carry no p99, and p99 has an interval: %+v", e)
	}
}
