package faults

import (
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Curve is evidence that says more as a picture. It is the field "curve" of
// a fault's evidence.
type Curve struct {
	Title  string  `json:"title"`
	X      string  `json:"x"` // what the axis shows, with its unit
	Y      string  `json:"y"`
	Series []Trace `json:"series"`
}

// A Trace is one line of a curve.
type Trace struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"` // ascending by X
}

// A Point of a curve, with the interval it is known within; an exact one has
// Low and High equal to Y.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`

	Extrapolated bool `json:"extrapolated,omitempty"` // computed from the fitted slope, not measured
}

// CurveOf is the curve of a fault, if it has one.
func CurveOf(f results.Fault) (Curve, bool) {
	e, err := Decode[struct {
		Curve *Curve `json:"curve"`
	}](f)
	if err != nil || e.Curve == nil || len(e.Curve.Series) == 0 {
		return Curve{}, false
	}
	return *e.Curve, true
}

// estimated is a point with the interval of an estimate.
func estimated(x float64, e stat.Estimate) Point {
	p := Point{X: x, Y: e.Median, Low: e.Median, High: e.Median}
	if e.Interval != nil {
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	}
	return p
}
