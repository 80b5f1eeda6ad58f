package stat

import (
	"math"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// The ratio of two groups is that of the figures from which it comes, in however few measurements.
func TestARatioIsThatOfItsMeasurements(t *testing.T) {
	const near, far = 0.20, 0.26 // logarithms of speeds at two placements
	m := make(measured)
	for placement, mid := range map[string]float64{"same": near, "cross": far} {
		values := make(map[int]value)
		for i := range 6 {
			mid := math.Copysign(mid, float64(i)-2.5) // the first three are slow
			values[i] = value{i, mid, mid - 0.01, mid + 0.01}
		}
		m[results.UsualCell("ndjson", "stream", placement, 256)] = values
	}
	found := m.differences(leastFactor)
	if len(found) != 1 || len(found[0].Cells) != 2 {
		t.Fatalf("got %+v", found)
	}
	m.setSpeeds(found[0])
	if want := math.Exp(near + far); math.Abs(found[0].Ratio()-want) > 0.001 {
		t.Errorf("ratio %.3f, want %.3f", found[0].Ratio(), want)
	}
}
