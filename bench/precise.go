package bench

import "github.com/pipebench/pipebench/results"

// precise reports whether the median time a message is known to within the
// given share of it.
func precise(samples []results.Sample, share float64) bool {
	m, err := results.MetricByName("time")
	if err != nil {
		return false
	}
	spread, known := results.Median(m.Values(samples)).Spread()
	return known && spread <= 100*share
}
