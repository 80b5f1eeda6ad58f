package results

import (
	"fmt"
	"math"
)

// detection is how often a change has to be found to count as one that can be:
// four times out of five, as is usual.
const detection = 0.8

// signedRankCost is by how much wider than Student's test the signed-rank test has
// to look where differences are normal: the root of π/3.
var signedRankCost = math.Sqrt(math.Pi / 3)

// detectable is the least change, as a share, that pairs establish four times out
// of five at a level, if the logarithms of their ratios scatter as these do. The
// scatter is taken from the median absolute deviation, which a few disturbed
// pairs do not move, as they do not move the test. False if no change could be.
func detectable(logs []float64, level float64) (share float64, ok bool) {
	n := len(logs)
	if n < 2 || leastP(n) >= level {
		return 0, false
	}
	scatter := deviation(logs, middle(logs)) / math.Sqrt(float64(n))
	freedom := float64(n - 1)
	both := studentQuantile(freedom, 1-level/2) + studentQuantile(freedom, detection)
	return math.Expm1(signedRankCost * scatter * both), true
}

// detectableNote says what the column means, and of all figures without a change
// how large a one would have been found.
func (c *Comparison) detectableNote() string {
	var most float64
	n := 0
	for _, ch := range c.Changes {
		if ch.Verdict == NoChange && ch.Detectable != nil {
			most, n = max(most, *ch.Detectable), n+1
		}
	}
	text := "least is the change that so many pairs, scattered like these, establish four times out of five"
	if n > 0 {
		text += fmt.Sprintf(": %s at most of the %d times without a change", FormatPercent(100*most), n)
	}
	return text
}
