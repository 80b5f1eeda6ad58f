package results

// PairedRatio estimates the ratio of a metric between two cells of the same
// runs, a over b. Sample i of every cell of a run was taken in the same
// interleaving round, minutes of drift apart from no other, so the ratio is
// taken within each round and the estimate is the median of those: what moves
// the whole machine moves both sides and drops out. Rounds that one side lacks
// are left out; without a common round N is 0.
func PairedRatio(m Metric, a, b []Record) Estimate {
	var ratios []float64
	for _, ra := range a {
		for _, rb := range b {
			if ra.Run == rb.Run {
				ratios = append(ratios, roundRatios(m, ra.Samples, rb.Samples)...)
			}
		}
	}
	return Median(ratios)
}

func roundRatios(m Metric, a, b []Sample) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		va, oka := m.of(a[i])
		vb, okb := m.of(b[i])
		if r, ok := ratio(va, vb); ok && oka && okb {
			out = append(out, r)
		}
	}
	return out
}
