package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What ab says it can find, it finds about four times out of five; half of it seldom, and twice as
// much always.
func TestWhatIsDetectableIsFound(t *testing.T) {
	const trials, n, scatter = 400, 20, 0.02
	rng := rand.New(rand.NewPCG(61, 62))
	level := DefaultAlpha / 4
	draw := func(change float64) []float64 {
		logs := make([]float64, n)
		for i := range logs {
			logs[i] = math.Log1p(change) + scatter*rng.NormFloat64()
		}
		return logs
	}
	var sum float64
	for range trials {
		share, ok := detectable(draw(0), level)
		if !ok {
			t.Fatal("twenty pairs find nothing")
		}
		sum += share
	}
	least := sum / trials
	for _, tt := range []struct{ times, from, to float64 }{{0.5, 0, 0.3}, {1, 0.65, 0.95}, {2, 0.99, 1}} {
		found := 0
		for range trials {
			if p, _ := SignedRank(draw(tt.times * least)); p < level {
				found++
			}
		}
		if share := float64(found) / trials; share < tt.from || share > tt.to {
			t.Errorf("%.1f of %.3f: found in %.2f, want %.2f to %.2f", tt.times, least, share, tt.from, tt.to)
		}
	}
}

func TestTooFewPairsDetectNothing(t *testing.T) {
	for _, n := range []int{0, 1, 7} {
		if share, ok := detectable(make([]float64, n), DefaultAlpha); ok {
			t.Errorf("%d pairs detect a change of %v", n, share)
		}
	}
	if share, ok := detectable(make([]float64, 8), DefaultAlpha); !ok || share != 0 {
		t.Errorf("eight equal pairs: %v, %v; want any change", share, ok)
	}
}
