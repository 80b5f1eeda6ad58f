package bench

import (
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// precise reports whether the median time a message is known to within the
// given share of it.
func precise(samples []results.Sample, share float64) bool {
	m, err := stat.MetricByName("time")
	if err != nil {
		return false
	}
	spread, known := stat.Median(m.Values(samples)).Spread()
	return known && spread <= 100*share
}
