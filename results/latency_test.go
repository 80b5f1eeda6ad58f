package results_test

import (
	"reflect"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestPercentilesNeedTenObservationsBeyond(t *testing.T) {
	for _, tt := range []struct {
		n                   int
		p50, p90, p99, p999 bool
	}{
		{0, false, false, false, false},
		{19, false, false, false, false},
		{20, true, false, false, false},
		{99, true, false, false, false},
		{100, true, true, false, false},
		{999, true, true, false, false},
		{1000, true, true, true, false},
		{9999, true, true, true, false},
		{10000, true, true, true, true},
	} {
		l, err := results.NewLatency(resultstest.UpTo(tt.n))
		if err != nil {
			t.Fatal(err)
		}
		got := [4]bool{l.P50NS != nil, l.P90NS != nil, l.P99NS != nil, l.P999NS != nil}
		if got != [4]bool{tt.p50, tt.p90, tt.p99, tt.p999} {
			t.Errorf("n=%d carries p50,p90,p99,p99.9: %v", tt.n, got)
		}
	}
}

func sampleWith(due results.Latency) results.Sample {
	return results.Sample{Latency: map[string]results.Latency{"due": due}}
}

func TestMergedLatencyIsThatOfAllObservations(t *testing.T) {
	all := resultstest.UpTo(1000)
	whole, err := results.NewLatency(all)
	if err != nil {
		t.Fatal(err)
	}
	var parts []results.Sample
	for i := 0; i < len(all); i += 100 {
		l, err := results.NewLatency(all[i : i+100])
		if err != nil {
			t.Fatal(err)
		}
		if l.P99NS != nil {
			t.Error("100 observations carry a p99")
		}
		parts = append(parts, sampleWith(l))
	}
	merged, err := results.MergeLatencies(parts, "due")
	if err != nil {
		t.Fatal(err)
	}
	if merged.Count != whole.Count || *merged.P99NS != *whole.P99NS ||
		merged.MinNS != 1000 || merged.MaxNS != 1_000_000 {
		t.Errorf("merged %+v, whole %+v", merged, whole)
	}
	if merged.HDR != whole.HDR {
		t.Errorf("merged %s, whole %s", merged.HDR, whole.HDR)
	}
	percentiles, err := results.MergePercentiles(parts, "due")
	merged.HDR = ""
	if err != nil || !reflect.DeepEqual(percentiles, merged) {
		t.Errorf("got the percentiles %+v, %v, want %+v", percentiles, err, merged)
	}
	const worst = 990_000
	p99 := float64(*merged.P99NS)
	if p99 < worst*0.999 || p99 > worst*1.002 {
		t.Errorf("p99 of 1..1000 µs is %d ns, want 990 µs within three digits", *merged.P99NS)
	}
}

// A stall longer than the histogram's range must show in the percentiles, not fall out of them.
func TestObservationsAboveTheRangeCount(t *testing.T) {
	ns := resultstest.UpTo(1000)
	for i := range 20 {
		ns[i*50] = 2 * results.MaxLatencyNS
	}
	l, err := results.NewLatency(ns)
	if err != nil {
		t.Fatal(err)
	}
	if l.Count != 1000 || l.Over != 20 || l.MaxNS != 2*results.MaxLatencyNS {
		t.Errorf("count %d, over %d, max %d", l.Count, l.Over, l.MaxNS)
	}
	if float64(*l.P99NS) < results.MaxLatencyNS*0.999 {
		t.Errorf("p99 is %d ns though 2 %% took longer than the range", *l.P99NS)
	}
	merged, err := results.MergeLatencies([]results.Sample{sampleWith(l), sampleWith(l)}, "due")
	if err != nil {
		t.Fatal(err)
	}
	if merged.Count != 2000 || merged.Over != 40 || *merged.P99NS != *l.P99NS {
		t.Errorf("merged: count %d, over %d, p99 %d", merged.Count, merged.Over, *merged.P99NS)
	}
}

// A file whose writer counted the long ones without keeping them.
func TestMergeKeepsWhatTheHistogramLeftOut(t *testing.T) {
	l, err := results.NewLatency(resultstest.UpTo(1000))
	if err != nil {
		t.Fatal(err)
	}
	l.Count, l.Over, l.MaxNS = 1020, 20, 2*results.MaxLatencyNS
	merged, err := results.MergeLatencies([]results.Sample{sampleWith(l), {}}, "due")
	if err != nil {
		t.Fatal(err)
	}
	p99 := float64(*merged.P99NS)
	if merged.Count != 1020 || merged.Over != 20 || p99 < results.MaxLatencyNS*0.999 {
		t.Errorf("got count %d, over %d, p99 %d", merged.Count, merged.Over, *merged.P99NS)
	}
}

func TestDamagedHistogramIsAnError(t *testing.T) {
	for _, hdr := range []string{"", "x", "HISTFAAAAA"} {
		damaged := []results.Sample{sampleWith(results.Latency{Count: 1, HDR: hdr})}
		if _, err := results.MergeLatencies(damaged, "due"); err == nil {
			t.Errorf("hdr %q: no error", hdr)
		}
	}
}

func TestClockThatReadsBackwardsCountsAsZero(t *testing.T) {
	l, err := results.NewLatency([]int64{-5, 0, 10})
	if err != nil {
		t.Fatal(err)
	}
	if l.Count != 3 || l.MinNS != 0 || l.MaxNS != 10 {
		t.Errorf("got %+v", l)
	}
}
