package results

import "slices"

// Modes are the two groups that a set of values falls into.
type Modes struct {
	Low, High   float64 // the median of each
	NLow, NHigh int
}

// Two values apart by less than a tenth are no modes that anyone has to know
// of, and one value alone is an outlier.
const (
	modeDistance = 1.1
	modeGap      = 2 // widths of the wider mode
	modeValues   = 2
)

// Bimodal finds out whether values fall into two groups rather than scatter
// about one: the widest gap between neighbours is at least twice as wide as
// either group, each has two values at least, and the medians differ by a tenth
// at least. Placement that changes between samples looks like this.
func Bimodal(values []float64) (Modes, bool) {
	if len(values) < LeastSamples {
		return Modes{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	at := 1
	for i := 2; i < len(sorted); i++ {
		if sorted[i]-sorted[i-1] > sorted[at]-sorted[at-1] {
			at = i
		}
	}
	low, high := sorted[:at], sorted[at:]
	m := Modes{middle(low), middle(high), len(low), len(high)}
	gap, width := high[0]-low[len(low)-1], max(low[len(low)-1]-low[0], high[len(high)-1]-high[0])
	return m, min(m.NLow, m.NHigh) >= modeValues && gap >= modeGap*width && m.High >= modeDistance*m.Low
}
