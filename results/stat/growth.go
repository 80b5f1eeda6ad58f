package stat

import (
	"fmt"
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Growth is how a figure grows with size, y = c·x^Slope: a slope of 1 is
// linear, 2 quadratic, 0 no growth at all.
type Growth struct {
	Slope    float64   `json:"slope"`
	Interval *Interval `json:"interval,omitempty"` // of the slope; nil for fewer than three points
	Points   int       `json:"points"`
}

// FastGrowth is the slope above which something is said to grow faster than
// linear.
const FastGrowth = 1.3

// sureFrom is how many points it takes to be sure of a slope. Of three, a single
// residual makes the interval, and by chance it is narrow often enough: a server
// whose time is linear came to 1.47 [1.22, 1.72] over three sizes on a busy
// machine.
const sureFrom = 4

// Fast reports whether the growth is faster than linear: by its slope, and beyond
// what the scatter of its points could explain.
func (g Growth) Fast() bool {
	return g.Slope > FastGrowth && g.Points >= sureFrom && g.Interval != nil && g.Interval.Lo > 1
}

// MayBeFast reports whether the slope says so and the points leave it open.
func (g Growth) MayBeFast() bool { return g.Slope > FastGrowth && !g.Fast() }

// FitGrowth fits a straight line through the logarithms of the points by least
// squares. Its interval is Student's, and only as good as a straight line fits:
// a curve that bends (a fixed cost at the small end) widens it. The points must
// be above zero, and lie at two different x at least.
func FitGrowth(x, y []float64) (Growth, error) {
	if len(x) != len(y) {
		return Growth{}, fmt.Errorf("fit growth: %d sizes for %d values", len(x), len(y))
	}
	lx, ly := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		if !(x[i] > 0 && y[i] > 0) || math.IsInf(x[i], 0) || math.IsInf(y[i], 0) {
			return Growth{}, fmt.Errorf("fit growth: point (%v, %v) has no logarithm", x[i], y[i])
		}
		lx[i], ly[i] = math.Log(x[i]), math.Log(y[i])
	}
	return fitLine(lx, ly)
}

func fitLine(x, y []float64) (Growth, error) {
	mx, my := stats.Mean(x), stats.Mean(y)
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if !(sxx > 0) {
		return Growth{}, fmt.Errorf("fit growth: %d points at one size; a slope takes two sizes", len(x))
	}
	g := Growth{Slope: sxy / sxx, Points: len(x)}
	if len(x) < 3 {
		return g, nil
	}
	var residual float64
	for i := range x {
		d := y[i] - my - g.Slope*(x[i]-mx)
		residual += d * d
	}
	freedom := float64(len(x) - 2)
	half := studentQuantile(freedom, 1-(1-Confidence)/2) * math.Sqrt(residual/freedom/sxx)
	g.Interval = &Interval{g.Slope - half, g.Slope + half, Confidence}
	return g, nil
}

// studentQuantile inverts the t distribution's CDF.
func studentQuantile(freedom, p float64) float64 {
	return stats.InvCDF(stats.TDist{V: freedom})(p)
}
