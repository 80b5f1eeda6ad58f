// Package plots makes pictures of results: the charts of a run as SVG and PNG, and a report of any
// results as one HTML page.
//
//	set, err := results.Read("results.jsonl")
//	if err != nil {
//		return err
//	}
//	files, err := plots.Write("pictures", plots.Charts(set))
//
// [Charts] makes a [Chart] of each thing that a set can show: plain data, with a title that says
// what one sees. Drawing adds nothing to that. All records can be drawn, also if they give a single
// point, only zeros, or an axis without width.
//
// [Report] adds the charts to the sections and tables of [view.Sections].
//
// Functions only read a set, so any number of goroutines may use one at once. The same set gives
// the same bytes with the same version of this package; other versions may draw a picture
// differently, but under the same name.
package plots

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// A Chart is a picture as data, before anything is drawn. Its panels share both axes, so that they
// can be compared.
type Chart struct {
	Name     string   // of the files, without an extension; the same for the same records
	Title    string   // what one sees
	Subtitle []string // lines about the machine, and what all points have in common
	X, Y     Axis
	Panels   []Panel
	Columns  int      // panels side by side; 0 chooses up to three by their number
	Notes    []string // small print under the picture: how to read it

	kind    string // a page shows the first chart of each kind, and folds the others
	section string // of a page
}

// A Panel is one drawing area of a chart.
type Panel struct {
	Title  string
	Y      *Axis // its own Y axis; nil: it shares that of the chart
	Series []Series
	Guides []Guide
	Fails  *Failing // nil: nothing fails
}

// A Series is one line of a panel. Its name decides its colour, dash and marker, so that a framing
// looks the same in every picture.
type Series struct {
	Name      string
	Reference bool // the others are compared with it: drawn behind them, in black
	Shape     Shape
	Points    []Point // ascending by X
}

// A Shape is a way to join the points of a series.
type Shape int

// Shapes of a series.
const (
	Line  Shape = iota // points with their intervals, joined by a line
	Curve              // a line through many points, with markers at some
	Dots               // points with their intervals, not joined
)

// A Point is one figure with its interval. An exact figure has Low and High equal to Y.
type Point struct {
	X, Y, Low, High float64

	Label   string // beside the point
	Samples int    // number of samples behind the figure; 0 if it is exact
	Doubt   bool   // one sample, or an interval too wide to draw: the marker is hollow
	Mark    bool   // on a [Curve]: this point has a marker
	Last    bool   // last size that worked: the marker is a red cross
}

// A Guide is a thin line across a panel at a value worth knowing, such as a pipe's capacity.
type Guide struct {
	Vertical bool // the value is on the X axis, else on Y
	Value    float64
	Label    string
}

// A Failing is the part of a panel in which a server fails: from the X value From on.
type Failing struct {
	From float64
	How  string
}

// exact returns a point without an interval.
func exact(x, y float64) Point { return Point{X: x, Y: y, Low: y, High: y} }

// finite reports whether a point can be drawn.
func (p Point) finite() bool {
	for _, v := range []float64{p.X, p.Y, p.Low, p.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// series lists the series of all panels.
func (c Chart) series() []Series {
	var all []Series
	for _, p := range c.Panels {
		all = append(all, p.Series...)
	}
	return all
}

// names lists the names of all series, each once.
func (c Chart) names() []string {
	var names []string
	for _, s := range c.series() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// points lists the points of all series.
func (c Chart) points() []Point {
	var all []Point
	for _, s := range c.series() {
		all = append(all, s.Points...)
	}
	return all
}

// places lists the X values of all points, each once.
func (c Chart) places() []float64 {
	var xs []float64
	for _, p := range c.points() {
		xs = append(xs, p.X)
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// A kind is a kind of chart, with the function that makes such charts.
type kind struct {
	name    string
	section string // of the page
	charts  func(rows) []Chart
}

// kinds lists the charts in the order in which they are shown.
var kinds = []kind{
	{"goodput", "measurements", goodputCharts},
	{"ratio", "measurements", ratioCharts},
	{"write-size", "measurements", writeSizeCharts},
	{"waiting", "measurements", waitingCharts},
	{"wait", "measurements", waitCharts},
	{"chunk", "measurements", chunkCharts},
	{"latency", "measurements", latencyCharts},
	{"overhead", "measurements", overheadCharts},
	{"fill", "rule-findings", fillCharts},
	{"server", "servers", serverCharts},
}

// Charts makes every chart that the records of a set allow. If they are from several machines, it
// makes the charts that compare machines.
func Charts(set *results.Set) []Chart {
	if len(set.Machines()) > 1 {
		return FleetCharts(stat.FleetOf(set).Members())
	}
	var charts []Chart
	all := rowsOf(set)
	for _, k := range kinds {
		for _, c := range withoutSinglePoints(k.charts(all)) {
			c.kind = k.name
			c.section = k.section
			c.complete()
			charts = append(charts, c)
		}
	}
	return charts
}

// complete adds a note if points are in doubt. If the chart has a single line, which has no name
// beside it, complete puts the name into the subtitle.
func (c *Chart) complete() {
	if slices.ContainsFunc(c.points(), func(p Point) bool { return p.Doubt }) {
		c.Notes = append(c.Notes, doubtNote)
	}
	names := c.names()
	about := strings.Join(append(c.Subtitle, c.Title), " ")
	if len(names) > 1 || strings.Contains(about, names[0]) {
		return
	}
	n := len(c.Subtitle)
	if n == 0 {
		c.Subtitle = names
		return
	}
	c.Subtitle[n-1] = view.JoinParts(c.Subtitle[n-1], names[0])
}

// withoutSinglePoints leaves out charts without points. It also leaves out charts of a single
// point, if there are others: one figure needs no picture.
func withoutSinglePoints(charts []Chart) []Chart {
	var some, more []Chart
	for _, c := range charts {
		n := len(c.points())
		if n > 0 {
			some = append(some, c)
		}
		if n > 1 {
			more = append(more, c)
		}
	}
	if len(more) == 0 {
		return some
	}
	return more
}

// Write draws charts into a folder, each as an SVG and a PNG named after the chart, and lists the
// files. It makes the folder if needed, and replaces files of the same name atomically. If names
// are given, it draws only the charts of those names, and only as SVG, which is small enough to be
// kept beside a program's sources. A name without a chart is an error that lists the names of all
// charts.
func Write(dir string, charts []Chart, names ...string) (files []string, err error) {
	if len(names) > 0 {
		charts, err = named(charts, names)
		if err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make folder for plots: %w", err)
	}
	for _, c := range charts {
		path := filepath.Join(dir, c.Name)
		if err := writePicture(path+".svg", c.SVG); err != nil {
			return files, err
		}
		files = append(files, path+".svg")
		if len(names) > 0 {
			continue
		}
		if err := writePicture(path+".png", c.PNG); err != nil {
			return files, err
		}
		files = append(files, path+".png")
	}
	return files, nil
}

func writePicture(path string, draw func() ([]byte, error)) error {
	picture, err := draw()
	if err != nil {
		return err
	}
	if err := results.ReplaceFile(path, picture, 0o666); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// named returns the charts of the given names.
func named(charts []Chart, names []string) ([]Chart, error) {
	var all []string
	var kept []Chart
	for _, c := range charts {
		all = append(all, c.Name)
		if slices.Contains(names, c.Name) {
			kept = append(kept, c)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("draw %s: no such chart; the results have %s",
				name, strings.Join(all, ", "))
		}
	}
	return kept, nil
}

// ErrNothingToDraw is returned for a chart without a single point.
var ErrNothingToDraw = errors.New("nothing to draw")

// compareX orders points by X.
func compareX(a, b Point) int { return cmp.Compare(a.X, b.X) }

// The pictures in gallery show real results, which .ci/record measures and draws.
//
//go:generate ../.ci/record
