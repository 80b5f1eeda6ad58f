package stat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestMedianWorkedValues(t *testing.T) {
	for _, tt := range []struct {
		name               string
		values             []float64
		median, lo, hi, at float64 // at 0: no interval
	}{
		{"one", []float64{3}, 3, 0, 0, 0},
		{"five are too few for an interval", []float64{5, 1, 4, 2, 3}, 3, 0, 0, 0},
		{"six: the interval is all of them, 1 - 2/2^6", []float64{6, 1, 5, 2, 4, 3}, 3.5, 1, 6, 0.96875},
		{"nine: second to eighth, 1 - 2*10/2^9", []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 5, 2, 8, 0.9609375},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.values)
			e := Median(tt.values)
			if !slices.Equal(before, tt.values) {
				t.Error("the values were sorted in place")
			}
			if e.Median != tt.median || e.N != len(tt.values) {
				t.Errorf("got %+v, want median %v", e, tt.median)
			}
			if tt.at == 0 {
				if e.Interval != nil {
					t.Errorf("got interval %+v, want none", *e.Interval)
				}
				return
			}
			if want := (Interval{tt.lo, tt.hi, tt.at}); e.Interval == nil || *e.Interval != want {
				t.Errorf("got interval %+v, want %+v", e.Interval, want)
			}
		})
	}
	if e := Median(nil); e.N != 0 || e.Interval != nil {
		t.Errorf("of nothing: got %+v", e)
	}
}

func TestMedianProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]float64, 1+rng.IntN(30))
		for i := range values {
			values[i] = rng.ExpFloat64()
		}
		e := Median(values)
		shifted := slices.Clone(values)
		for i := range shifted {
			shifted[i] += 8
		}
		rng.Shuffle(len(shifted), func(i, j int) { shifted[i], shifted[j] = shifted[j], shifted[i] })
		s := Median(shifted)
		if d := s.Median - e.Median - 8; d > 1e-9 || d < -1e-9 {
			t.Fatalf("shuffled and shifted by 8, the median moved by %v", d+8)
		}
		if (e.Interval == nil) != (len(values) < LeastSamples) {
			t.Fatalf("n=%d: interval %v", len(values), e.Interval)
		}
		if e.Interval != nil && (e.Interval.Lo > e.Median || e.Interval.Hi < e.Median || e.Interval.Confidence < Confidence) {
			t.Fatalf("interval %+v of median %v", *e.Interval, e.Median)
		}
	}
}

// The interval holds the true median as often as it says.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const trials = 4000
	held := 0
	for range trials {
		values := make([]float64, 11)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		if e := Median(values); !e.Above(0) && !e.Below(0) {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.94 {
		t.Errorf("a 95 %% interval held the median in %.1f %% of trials", 100*share)
	}
}

func TestPairedRatioIsBlindToDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var a, b results.Record
	a.Run, b.Run = "r", "r"
	for range 12 {
		drift := 1 + 3*rng.Float64() // the machine slows down up to fourfold between rounds
		a.Samples = append(a.Samples, resultstest.Sample(1000, 1000, 1000*drift))
		b.Samples = append(b.Samples, resultstest.Sample(1000, 1000, 900*drift))
	}
	m, err := MetricByName("goodput")
	if err != nil {
		t.Fatal(err)
	}
	e := PairedRatio(m, []results.Record{a}, []results.Record{b})
	if e.N != 12 || !e.Above(0.8999) || !e.Below(0.9001) {
		t.Errorf("got %+v, want 0.9 in every round", e)
	}
	b.Run = "another"
	if e := PairedRatio(m, []results.Record{a}, []results.Record{b}); e.N != 0 {
		t.Errorf("rounds of different runs were paired: %+v", e)
	}
}
