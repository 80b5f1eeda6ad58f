// Package plots makes pictures of results: the charts of a run as SVG and PNG, and a report of any
// results as one HTML page.
//
//	set, err := results.Read("results.jsonl")
//	if err != nil {
//		return err
//	}
//	files, omitted, err := plots.Write("pictures", set)
//
// Everything goes through a [Chart], a picture as plain data, which [Charts] makes from records;
// drawing adds nothing to it. Charts for which a set has no records are left out, and listed.
// Whatever the records hold is drawn: a single point, only zeros, an axis of no width.
//
// [Report] adds the charts to the sections and tables of [view.Sections], which are those that a
// terminal shows, and is the shell of the page.
//
// Functions only read a set, so any number of goroutines may use one at once. The same set gives
// the same bytes with the same version of this package; other versions may draw a picture
// differently, but keep its name.
package plots

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// A Chart is a picture as data, before anything is drawn. Its panels share both axes, so that they
// can be compared.
type Chart struct {
	Name     string   `json:"name"` // of the files, without an ending; the same for the same records
	Title    string   `json:"title"`
	Subtitle []string `json:"subtitle,omitempty"` // lines: machine; pipe, capacity, peer, io
	X        Axis     `json:"x"`
	Y        Axis     `json:"y"`
	Columns  int      `json:"columns,omitempty"`  // panels side by side, at most 3; 0 is 2, or 3 for three panels
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
	Y      *Axis    `json:"y,omitempty"` // its own, if it does not share that of the chart
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

// joinAlike has lines that are the same in every panel drawn once, under all of their names and in the
// style of the first.
func (c *Chart) joinAlike() {
	// shape tells lines apart by what is drawn of them in all panels, others by their names
	shape := func(line Series) string {
		var drawn [][]Point
		for _, p := range c.Panels {
			i := slices.IndexFunc(p.Series, func(s Series) bool {
				return s.Name == line.Name && s.Shape != Dots
			})
			if i < 0 || len(p.Series[i].Points) < 2 {
				return line.Name
			}
			drawn = append(drawn, stat.Map(p.Series[i].Points, func(p Point) Point { p.Samples = 0; return p }))
		}
		return fmt.Sprint(line.Reference, drawn)
	}
	for _, alike := range stat.GroupBy(c.legend(), shape) {
		names := stat.Map(alike, func(s Series) string { return s.Name })
		joined := strings.Join(names, ", ")
		if style, ok := c.styles[names[0]]; ok {
			c.styles[joined] = style
		}
		for i := range c.Panels {
			p := &c.Panels[i]
			p.Series = stat.Filter(p.Series, func(s Series) bool { return !slices.Contains(names[1:], s.Name) })
			if at := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == names[0] }); at >= 0 {
				p.Series[at].Name = joined
			}
		}
	}
}

func byX(a, b Point) int { return cmp.Compare(a.X, b.X) }

// A mark is a point with the names of its panel and of its series.
type mark struct {
	panel, series string
	Point
}

// panelsOf puts marks into panels and series, in the order in which they come.
func panelsOf(marks []mark) []Panel {
	panel, series := func(m mark) string { return m.panel }, func(m mark) string { return m.series }
	point := func(m mark) Point { return m.Point }
	line := func(of []mark) Series { return Series{Name: of[0].series, Points: stat.Map(of, point)} }
	return stat.Map(stat.GroupBy(marks, panel), func(own []mark) Panel {
		return Panel{Title: own[0].panel, Series: stat.Map(stat.GroupBy(own, series), line)}
	})
}

// An Omission is a picture that was not drawn, and why.
type Omission struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// ByReason lists omissions in lines, one for each reason.
func ByReason(omitted []Omission) []string {
	byReason := stat.GroupBy(omitted, func(o Omission) string { return o.Why })
	return stat.Map(byReason, func(of []Omission) string {
		names := stat.Distinct(of, func(o Omission) string { return o.Name })
		return strings.Join(names, ", ") + ": " + of[0].Why
	})
}

// kinds lists the charts in the order in which they are shown.
var kinds = []struct {
	name    string
	section string // of the page
	charts  func(*results.Set) []Chart
	needs   string // what measurements lack if they give no such chart; "" if nobody would miss it
}{
	{"goodput", "measurements", goodputCharts, "no stream with samples"},
	{"ratio", "measurements", ratioCharts, "no raw stream beside another of the same size"},
	{"latency", "measurements", latencyCharts, "no latencies: twenty observations make the shortest curve"},
	{"overhead", "measurements", overheadCharts, "no messages of a known size"},
	{"chunk", "measurements", chunkCharts, ""},
	{"machines", "side-by-side", machineCharts, ""},
	{"eagain", "measurements", counterCharts, ""},
	{"write-size", "measurements", writeSizeCharts, ""},
	{"waiting", "measurements", waitingCharts, ""},
	{"wait", "measurements", mixedCharts, ""},
	{"fill", "rule-findings", probeCharts, ""},
	{"target", "servers", targetCharts, ""},
	{"traffic", "recording", trafficCharts, ""},
}

// Charts makes every chart that the records of a set allow, and lists the usual charts that its
// measurements do not allow. A set of findings alone lacks none.
func Charts(set *results.Set) (charts []Chart, omitted []Omission) {
	charts, alone, missing := makeCharts(set)
	if len(set.Records) > 0 || set.Len() == len(set.Environments) {
		omitted = missing
	}
	return charts, append(omitted, alone...)
}

// makeCharts makes every chart of a set, and lists those that would hold a single point, and the
// usual ones that are missing. A name has one look in all charts.
func makeCharts(set *results.Set) (charts []Chart, alone, missing []Omission) {
	var series []Series
	for _, k := range kinds {
		made := slices.DeleteFunc(k.charts(set), Chart.empty)
		if len(made) == 0 && k.needs != "" {
			missing = append(missing, Omission{k.name, k.needs})
		}
		single := func(c Chart) bool { return len(made) > 1 && len(c.points()) == 1 } // one figure needs no picture
		for _, c := range stat.Filter(made, single) {
			alone = append(alone, Omission{c.Name, "it would hold a single point"})
		}
		kept := stat.Filter(made, func(c Chart) bool { return !single(c) })
		if len(set.Machines()) > 1 {
			shareAxes(kept)
		}
		for _, c := range kept {
			c.section = k.section
			if slices.ContainsFunc(c.points(), func(p *Point) bool { return p.Noisy }) {
				c.Notes = append(slices.Clone(c.Notes), noisyNote)
			}
			charts = append(charts, c)
			series = append(series, c.legend()...)
		}
	}
	styles := assignStyles(series)
	for i := range charts {
		c := &charts[i]
		c.styles = styles
		c.joinAlike()
		about := strings.Join(c.Subtitle, " ")
		if names := c.legend(); len(names) == 1 && !strings.Contains(about, names[0].Name) { // instead of a legend
			c.Subtitle = append(slices.Clone(c.Subtitle), names[0].Name)
		}
	}
	return charts, alone, missing
}

// shareAxes has charts of the same quantity end at the same values, so that machines can be compared.
func shareAxes(charts []Chart) {
	for i := range charts {
		alike := stat.Filter(charts, func(o Chart) bool { return o.Title == charts[i].Title && o.Y.Limit == charts[i].Y.Limit })
		_, ys := coordinates(slices.Concat(stat.Map(alike, func(o Chart) []Panel { return o.Panels })...))
		if y := &charts[i].Y; len(alike) > 1 && len(ys) > 0 && y.Scale != Category {
			y.From, y.To = cmp.Or(y.From, new(slices.Min(ys))), cmp.Or(y.To, new(slices.Max(ys)))
		}
	}
}

// Write draws the charts of a set into a folder, each as an SVG and a PNG named after the chart,
// and lists the files. It makes the folder if needed, and replaces files of the same name
// atomically. Given names it draws the charts of those names alone, as SVG alone, which is small enough
// to be kept beside a program's sources; one without a chart is an error that lists those there are.
func Write(dir string, set *results.Set, names ...string) (files []string, omitted []Omission, err error) {
	charts, omitted := Charts(set)
	endings := []string{".svg", ".png"}
	if len(names) > 0 {
		all := stat.Map(charts, func(c Chart) string { return c.Name })
		if i := slices.IndexFunc(names, func(name string) bool { return !slices.Contains(all, name) }); i >= 0 {
			return nil, nil, fmt.Errorf("draw %s: no such chart; the results have %s", names[i], strings.Join(all, ", "))
		}
		charts = stat.Filter(charts, func(c Chart) bool { return slices.Contains(names, c.Name) })
		endings, omitted = endings[:1], nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, fmt.Errorf("make folder for plots: %w", err)
	}
	var drawing errgroup.Group // pictures are the longest part of what follows a run
	drawing.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range charts {
		for _, ending := range endings {
			path := filepath.Join(dir, c.Name+ending)
			files = append(files, path)
			drawing.Go(func() error {
				picture, err := map[string]func() ([]byte, error){".svg": c.SVG, ".png": c.PNG}[ending]()
				if err != nil {
					return err
				}
				if err := results.ReplaceFile(path, picture, 0o666); err != nil {
					return fmt.Errorf("write plot: %w", err)
				}
				return nil
			})
		}
	}
	if err := drawing.Wait(); err != nil {
		return nil, omitted, err
	}
	return files, omitted, nil
}

// ErrNothingToDraw is returned for a chart without a single point.
var ErrNothingToDraw = errors.New("nothing to draw")

// pixelsPerInch of a PNG is twice 96, so that a picture shown at 800 pixels is sharp on a dense
// screen too.
const pixelsPerInch = 192

// SVG draws the chart as an SVG document of 600 × about 400 points. The same chart gives the same
// bytes.
func (c Chart) SVG() ([]byte, error) {
	var out bytes.Buffer
	err := c.render(func(w, h vg.Length) vg.CanvasWriterTo { return newSVGCanvas(w, h, nil) }, &out)
	return []byte(view.Escape(out.String())), err // what other programs are called may be no XML
}

// PNG draws the chart 1600 pixels wide. The same chart gives the same bytes.
func (c Chart) PNG() ([]byte, error) {
	var out bytes.Buffer
	err := c.render(func(w, h vg.Length) vg.CanvasWriterTo {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pixelsPerInch))}
	}, &out)
	return out.Bytes(), err
}

func (c Chart) render(canvas func(w, h vg.Length) vg.CanvasWriterTo, out *bytes.Buffer) error {
	if c.empty() {
		return fmt.Errorf("draw %s: %w", c.Name, ErrNothingToDraw)
	}
	f := newLayout(c, false)
	w, h := pictureWidth, f.header()+f.footer()+vg.Length(f.rows)*f.panelHeight()+vg.Length(f.rows-1)*gapY
	on := canvas(w, h)
	f.drawOn(draw.NewCanvas(on, w, h))
	if _, err := on.WriteTo(out); err != nil {
		return fmt.Errorf("draw %s: %w", c.Name, err)
	}
	return nil
}

// The pictures in gallery show real results, which .ci/record measures and draws.
//
//go:generate ../.ci/record
