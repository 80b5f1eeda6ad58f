package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
)

// A Chart is a picture as data, before anything is drawn. Its panels share both axes, so that they
// can be compared.
type Chart struct {
	Name     string   `json:"name"` // of the files, without an ending; the same for the same records
	Title    string   `json:"title"`
	Subtitle []string `json:"subtitle,omitempty"` // lines: machine; pipe, capacity, peer, io
	X        Axis     `json:"x"`
	Y        Axis     `json:"y"`
	Columns  int      `json:"columns,omitempty"`  // panels side by side, at most 3; 0 is 2
	Panels   []Panel  `json:"panels"`             // row by row
	OwnRows  bool     `json:"own_rows,omitempty"` // each row of panels has a Y axis of its own
	Dodge    bool     `json:"dodge,omitempty"`    // draws series a few points beside each other, so that their intervals do not overlap
	Notes    []string `json:"notes,omitempty"`    // small print under the picture: how to read it, what is left out

	section string                 // of a page
	styles  map[string]seriesStyle // by the names of series; nil for those of the chart alone
}

// A Panel is one drawing area of a chart.
type Panel struct {
	Title  string   `json:"title,omitempty"`
	Series []Series `json:"series"`
	Guides []Guide  `json:"guides,omitempty"`

	Regions []Region `json:"regions,omitempty"`
}

// A Series is one line of a panel. Its name decides its colour, dash and marker, so that a framing
// looks the same in every picture.
type Series struct {
	Name      string  `json:"name"`
	Reference bool    `json:"reference,omitempty"` // what the others are compared with: drawn behind them, in black, without a marker
	Shape     Shape   `json:"shape,omitempty"`
	Points    []Point `json:"points"` // ascending by X, unless the order is the meaning
}

// A Shape is a way to join the points of a series.
type Shape string

// Shapes of a series.
const (
	Line  Shape = ""      // points with their intervals, joined by a line
	Curve Shape = "curve" // a line through many points, with markers only at its marked points
	Dots  Shape = "dots"  // points with their intervals, not joined: categories, or a scatter
)

// A Point is one figure with its interval. An exact figure has Low and High equal to Y.
type Point struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Label string  `json:"label,omitempty"` // beside the point
	Mark  bool    `json:"mark,omitempty"`  // on a [Curve]: this point has the marker

	Samples  int  `json:"samples,omitempty"`  // that it was estimated from
	Computed bool `json:"computed,omitempty"` // not measured: its marker is hollow
	Noisy    bool `json:"noisy,omitempty"`    // too wide an interval to be drawn: its marker is hollow
	Cross    bool `json:"cross,omitempty"`    // the last that worked: its marker is a red cross
}

// A Guide is a thin line across a panel at a value worth knowing: a pipe's capacity, a documented
// limit.
type Guide struct {
	Vertical bool    `json:"vertical,omitempty"` // at a value of X, else of Y
	Value    float64 `json:"value"`
	Label    string  `json:"label"`
}

// A Region is a shaded range of X.
type Region struct {
	From  float64 `json:"from"` // 0 is the beginning of the axis
	To    float64 `json:"to"`   // infinity is its end
	Label string  `json:"label,omitempty"`
	Bad   bool    `json:"bad,omitempty"` // where something fails: in red
}

// drawn reports whether a series has points.
func (s Series) drawn() bool { return len(s.Points) > 0 }

// exact returns a point without an interval.
func exact(x, y float64) Point { return Point{X: x, Y: y, Low: y, High: y} }

// series lists the series of all panels.
func (c Chart) series() []*Series {
	var out []*Series
	for _, p := range c.Panels {
		for i := range p.Series {
			out = append(out, &p.Series[i])
		}
	}
	return out
}

// points lists the points of all series.
func (c Chart) points() []*Point {
	var out []*Point
	for _, s := range c.series() {
		for i := range s.Points {
			out = append(out, &s.Points[i])
		}
	}
	return out
}

// empty returns whether the chart has no point at all.
func (c Chart) empty() bool { return len(c.points()) == 0 }

// legend lists the series of all panels, each name once.
func (c Chart) legend() []Series {
	byName := stat.GroupBy(c.series(), func(s *Series) string { return s.Name })
	return stat.Map(byName, func(alike []*Series) Series { return *alike[0] })
}

// joinAlike has lines that are the same in every panel drawn once, under all of their names.
func (c *Chart) joinAlike() {
	// shape tells lines apart by what is drawn of them in all panels, others by their names
	shape := func(line Series) string {
		var drawn [][]Point
		for _, p := range c.Panels {
			i := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == line.Name && s.Shape != Dots && !s.Reference })
			if i < 0 || len(p.Series[i].Points) < 2 {
				return line.Name
			}
			drawn = append(drawn, stat.Map(p.Series[i].Points, func(p Point) Point { p.Samples = 0; return p }))
		}
		return fmt.Sprint(drawn)
	}
	for _, alike := range stat.GroupBy(c.legend(), shape) {
		names := stat.Map(alike, func(s Series) string { return s.Name })
		for i := range c.Panels {
			p := &c.Panels[i]
			p.Series = stat.Filter(p.Series, func(s Series) bool { return !slices.Contains(names[1:], s.Name) })
			if at := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == names[0] }); at >= 0 {
				p.Series[at].Name = strings.Join(names, ", ")
			}
		}
	}
}

func byX(a, b Point) int { return cmp.Compare(a.X, b.X) }

// addPoint appends a point to the series with a name, which it adds if there is none.
func addPoint(series []Series, name string, p Point) []Series {
	i := slices.IndexFunc(series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		return append(series, Series{Name: name, Points: []Point{p}})
	}
	series[i].Points = append(series[i].Points, p)
	return series
}
