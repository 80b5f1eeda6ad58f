package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Whoever looks after every pair, and stops at the first interval that leaves out what is true, is
// wrong in no more than one of twenty histories, with and without outliers.
func TestASequenceHoldsAtEveryStop(t *testing.T) {
	t.Parallel()
	const histories, pairs, alpha = 3000, 50, 0.05
	for _, noise := range noises {
		rng := rand.New(rand.NewPCG(91, 92))
		wrong := 0
		for range histories {
			var values []float64
			for range pairs {
				value := noise.of(rng)
				if rng.IntN(2) == 0 { // which side of a pair is disturbed is left to chance
					value = -value
				}
				values = append(values, value)
				lo, hi, ok := Sequence(values, alpha)
				if ok && (lo > 0 || hi < 0) {
					wrong++
					break
				}
			}
		}
		t.Logf("%s: %d of %d histories are wrong", noise.name, wrong, histories)
		if wrong > alpha*histories {
			t.Errorf("%s: %d of %d histories are wrong at some stop, want %.0f %% at most",
				noise.name, wrong, histories, 100*alpha)
		}
	}
}

func TestSequenceWorkedValues(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		half   float64 // of the interval at 5 %, in standard deviations of the values
	}{
		// From (v+nδ²)/(v+rnδ²) = (α²r)^(−1/n) with r = 0.2/(n+0.2).
		{[]float64{-1, 1, -1, 1, 0}, 2.382},
		{[]float64{-1, 1, -1, 1, -1, 1, -1, 1, 0, 0}, 1.270},
	} {
		n := float64(len(tt.values))
		var squares float64
		for _, v := range tt.values {
			squares += v * v
		}
		deviation := math.Sqrt(squares / (n - 1))
		lo, hi, ok := meanSequence(tt.values, 0.05)
		if !ok || math.Abs(lo+hi) > 1e-12 || math.Abs(hi/deviation-tt.half) > 0.01 {
			t.Errorf("%v: got [%v, %v] %v, want ±%v", tt.values, lo/deviation, hi/deviation, ok,
				tt.half)
		}
	}
	for _, few := range [][]float64{nil, {1}} {
		if _, _, ok := Sequence(few, 0.05); ok {
			t.Errorf("%v: an interval of so few values", few)
		}
	}
}

// A few pairs that others disturbed do not hide a change.
func TestASequenceBearsDisturbedPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	var values []float64
	for i := range 80 {
		value := 0.02 + 0.01*rng.NormFloat64()
		if i%10 == 0 {
			value += rng.NormFloat64()
		}
		values = append(values, value)
	}
	lo, hi, ok := Sequence(values, 0.01)
	if !ok || lo <= 0 || hi > 0.04 {
		t.Errorf("got [%v, %v], %v; want an interval about 0.02", lo, hi, ok)
	}
}
