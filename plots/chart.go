// Package plots makes pictures of results: charts as SVG and PNG, and a report as one HTML page.
//
//	set, err := results.Read("results.jsonl")
//	if err != nil {
//		return err
//	}
//	files, err := plots.Write("pictures", plots.Charts(set))
//
// Functions only read a set, so goroutines may share it. The same version of this package makes the
// same bytes for the same set.
package plots

import (
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

// A Chart describes a picture. All its panels have the same X axis, which has names instead of
// numbers. They also have the same Y axis, except a panel with a Y axis of its own.
type Chart struct {
	Name     string   // the name of its files, without an extension
	Title    string   // says what one sees
	Subtitle []string // lines about the machine, and what all points have in common
	X        Axis
	Y        Axis
	Panels   []Panel
	Notes    []string // small print under the picture, for example how to read it

	section string // the section that shows the chart on the page of [Report]
}

// A Panel is one drawing area of a chart.
type Panel struct {
	Title  string
	Y      *Axis // its own Y axis; nil if the panel has that of the chart
	Series []Series
	Guides []float64 // values along Y, each drawn as a thin line across the panel
	Fails  *Failing  // nil if nothing fails
}

// A Series is one line of a panel. Its name decides its colour and its marker in all pictures.
type Series struct {
	Name      string
	Reference bool // drawn black and behind the other series, which are compared with it
	Dots      bool // its points are not joined by a line
	Points    []Point
}

// A Point is one figure, Y, with its interval from Low to High. If the figure is exact, Low and
// High are equal to Y.
type Point struct {
	X            int // index in [Axis.Places] of the X axis
	Y, Low, High float64

	Label   string // text beside the point
	Samples int    // number of samples behind the figure; 0 if it is exact
	Sample  string // the name of one, if it is no sample: "machine"
	Doubt   bool   // the figure is rough (see [view.IsRough]): the marker is hollow
}

// A Failing is the part of a panel in which a server fails. It begins at the place with the index
// From on the X axis.
type Failing struct {
	From int
	How  string // how the server fails, as text in that part
}

// exact returns a point without an interval.
func exact(x int, y float64) Point { return Point{X: x, Y: y, Low: y, High: y} }

// finite reports whether a point can be drawn.
func (p Point) finite() bool {
	for _, v := range []float64{p.Y, p.Low, p.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func (c Chart) series() []Series {
	var all []Series
	for _, p := range c.Panels {
		all = append(all, p.Series...)
	}
	return all
}

func (c Chart) names() []string {
	var names []string
	for _, s := range c.series() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (c Chart) points() []Point {
	var all []Point
	for _, s := range c.series() {
		all = append(all, s.Points...)
	}
	return all
}

// kinds lists the charts in the order in which they are shown, each with the section of the report
// page that shows it.
var kinds = []struct {
	section string
	chart   func(rows) Chart
}{
	{"measurements", goodputChart},
	{"measurements", ratioChart},
	{"measurements", writeSizeChart},
	{"measurements", waitingChart},
	{"measurements", waitChart},
	{"measurements", chunkChart},
	{"measurements", latencyChart("roundtrip", "A round trip")},
	{"measurements", latencyChart("oneway", "One way, a message")},
	{"measurements", latencyChart("due", "From when it was due, a message")},
	{"measurements", latencyChart("service", "From when it was sent, a message")},
	{"measurements", overheadChart},
	{"servers", serverChart},
}

// Charts makes every chart for which the set has enough records. For several machines, it makes
// only the chart that compares them.
func Charts(set *results.Set) []Chart {
	if len(set.Machines()) > 1 {
		return FleetCharts(stat.FleetOf(set).Members())
	}
	var charts []Chart
	all := rowsOf(set)
	for _, k := range kinds {
		c := k.chart(all)
		if slices.ContainsFunc(c.Panels, Panel.comparesPoints) {
			c.section = k.section
			c.complete()
			charts = append(charts, c)
		}
	}
	return charts
}

func (p Panel) comparesPoints() bool {
	n := 0
	for _, s := range p.Series {
		n += len(s.Points)
	}
	return n > 1
}

// mostPanels is the largest number of panels of a chart.
const mostPanels = 12

// complete leaves out panels beyond the first mostPanels, and adds notes.
func (c *Chart) complete() {
	if more := len(c.Panels) - mostPanels; more > 0 {
		c.Panels = c.Panels[:mostPanels]
		c.Notes = append(c.Notes, fmt.Sprintf("%d more panels are left out; --format csv has all "+
			"figures.", more))
	}
	if slices.ContainsFunc(c.points(), func(p Point) bool { return p.Doubt }) {
		c.Notes = append(c.Notes, doubtNote)
	}
	names := c.names()
	about := strings.Join(append(c.Subtitle, c.Title), " ")
	if len(names) != 1 || strings.Contains(about, names[0]) {
		return
	}
	c.addToSubtitle(names[0]) // a single series has no name beside it
}

func (c *Chart) addToSubtitle(name string) {
	n := len(c.Subtitle)
	if n == 0 {
		c.Subtitle = []string{name}
		return
	}
	c.Subtitle[n-1] = view.JoinParts(c.Subtitle[n-1], name)
}

// Write draws charts into a folder, each as an SVG and a PNG file, and replaces files of the same
// names. If names are given, it draws only the charts with these names, and only as SVG.
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
		if c.Name == "" || slices.Contains(files, path+".svg") {
			return files, fmt.Errorf("draw %q: each chart needs a name of its own", c.Name)
		}
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
		switch {
		case len(all) == 0:
			return nil, fmt.Errorf("draw %s: no such chart; the results have none", name)
		case !slices.Contains(all, name):
			return nil, fmt.Errorf("draw %s: no such chart; the results have %s",
				name, strings.Join(all, ", "))
		}
	}
	return kept, nil
}

// ErrNothingToDraw is returned for a chart without a single point.
var ErrNothingToDraw = errors.New("nothing to draw")

// The pictures in the folder gallery show real results, which .ci/record measures and draws.
//
//go:generate ../.ci/record
