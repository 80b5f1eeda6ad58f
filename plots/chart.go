package plots

import (
	"cmp"
	"slices"
)

// A Chart is a picture as data: what it says, before anything is drawn. Its
// panels share both axes, so that they can be compared, unless Scales says else.
type Chart struct {
	Name     string   `json:"name"` // of the files, without an ending; the same for the same records
	Title    string   `json:"title"`
	Subtitle []string `json:"subtitle,omitempty"` // lines: machine; pipe, capacity, peer, io
	X        Axis     `json:"x"`
	Y        Axis     `json:"y"`
	Columns  int      `json:"columns,omitempty"` // panels side by side, at most 3; 0 is 2
	Panels   []Panel  `json:"panels"`            // row by row
	Scales   Sharing  `json:"scales,omitempty"`
	Dodge    bool     `json:"dodge,omitempty"` // series are drawn a few points beside each other, for intervals that would cover each other
	Notes    []string `json:"notes,omitempty"` // small print under the picture: how to read it, what is left out
}

// A Panel is one drawing area of a chart.
type Panel struct {
	Title  string   `json:"title,omitempty"`
	Series []Series `json:"series"`
	Guides []Guide  `json:"guides,omitempty"`
}

// A Series is one line of a panel. Its colour, dash and marker follow from
// its name, so that a framing looks the same in every picture.
type Series struct {
	Name      string  `json:"name"`
	Reference bool    `json:"reference,omitempty"` // what the others are held against: drawn behind them, in ink, without a marker
	Shape     Shape   `json:"shape,omitempty"`
	Points    []Point `json:"points"` // ascending by X, unless the order is the meaning
}

// A Shape says how the points of a series are joined.
type Shape string

// Shapes of a series.
const (
	Line  Shape = ""      // points with their intervals, joined by a line, the interval shaded
	Curve Shape = "curve" // a line through many points, with markers only at its marked points
	Dots  Shape = "dots"  // points with their intervals, not joined: categories, or a scatter
)

// A Point is one figure with the interval it is known within. An exact figure
// has Low and High equal to Y.
type Point struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Label string  `json:"label,omitempty"` // hexColour beside the point
	Mark  bool    `json:"mark,omitempty"`  // on a [Curve]: this point has the marker

	Computed bool `json:"computed,omitempty"` // not measured: its marker is hollow
}

// A Guide is a thin line across a panel at a value worth knowing: a pipe's
// capacity, a documented limit.
type Guide struct {
	Vertical bool    `json:"vertical,omitempty"` // at a value of X, else of Y
	Value    float64 `json:"value"`
	Label    string  `json:"label"`
}

// Sharing says which panels of a chart have an axis in common.
type Sharing string

// Sharings of axes.
const (
	ShareAll  Sharing = ""     // all panels have both axes in common
	ShareRows Sharing = "rows" // all panels have the X axis in common, those of a row the Y axis
	ShareNone Sharing = "none" // each panel has its own
)

// exact is a point without an interval.
func exact(x, y float64) Point { return Point{X: x, Y: y, Low: y, High: y} }

// dropSinglePoints splits off the charts of a single point, where there are others of
// their kind: what they say is one figure.
func dropSinglePoints(charts []Chart) (kept []Chart, omitted []Omission) {
	for _, c := range charts {
		if len(charts) > 1 && c.points() == 1 {
			omitted = append(omitted, Omission{c.Name, "it would hold a single point"})
			continue
		}
		kept = append(kept, c)
	}
	return kept, omitted
}

// points counts those of all series.
func (c Chart) points() int {
	n := 0
	for _, p := range c.Panels {
		for _, s := range p.Series {
			n += len(s.Points)
		}
	}
	return n
}

// empty says whether the chart has no point at all.
func (c Chart) empty() bool { return c.points() == 0 }

// names lists the series of all panels, each name once: the legend.
func (c Chart) names() []Series {
	var out []Series
	seen := map[string]bool{}
	for _, p := range c.Panels {
		for _, s := range p.Series {
			if !seen[s.Name] {
				seen[s.Name] = true
				out = append(out, s)
			}
		}
	}
	return out
}

func byX(a, b Point) int { return cmp.Compare(a.X, b.X) }

// addPoint appends a point to the series of a name, which is made if need be.
func addPoint(series []Series, name string, p Point) []Series {
	i := slices.IndexFunc(series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		return append(series, Series{Name: name, Points: []Point{p}})
	}
	series[i].Points = append(series[i].Points, p)
	return series
}

// withShape gives all series a shape.
func withShape(series []Series, shape Shape) []Series {
	for i := range series {
		series[i].Shape = shape
	}
	return series
}
