package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// Strokes and marks, in points.
const (
	lineWidth      = vg.Length(1.5)
	referenceWidth = vg.Length(2.2)
	intervalWidth  = vg.Length(1)
	markerRadius   = vg.Length(2.7)
	dodge          = vg.Length(3)
)

// axes holds the scales of a panel, and the styles that all panels of its chart have in common.
type axes struct {
	chart  Chart
	yAxis  Axis // of the panel: the chart's, or its own
	x, y   fittedScale
	styles map[string]seriesStyle
	shift  map[string]vg.Length // to the right, so that intervals at the same x do not overlap
	direct bool                 // names lines at their ends
}

// newAxes fits the axes to the panels that share them with the i-th one, all of a width.
func newAxes(c Chart, i, columns int, width vg.Length) axes {
	_, ys := coordinates(c.Panels)
	if first := i / columns * columns; c.OwnRows {
		_, ys = coordinates(c.Panels[first:min(first+columns, len(c.Panels))])
	}
	yAxis := c.Y
	if own := c.Panels[i].Y; own != nil {
		yAxis = *own
	}
	if slices.ContainsFunc(c.Panels, func(p Panel) bool { return p.Y != nil }) {
		_, ys = coordinates(c.Panels[i : i+1]) // figures of other units have no part in it
	}
	series := c.legend()
	f := axes{
		chart:  c,
		yAxis:  yAxis,
		x:      c.fitX(width),
		y:      yAxis.fit(ys, 8),
		styles: c.styles,
		shift:  map[string]vg.Length{},
	}
	if f.styles == nil {
		f.styles = assignStyles(series)
	}
	if c.Dodge { // spread the series around the true place of their points; the reference stays there
		series = slices.DeleteFunc(series, func(s Series) bool { return s.Reference })
		for i, s := range series {
			f.shift[s.Name] = (vg.Length(i) - vg.Length(len(series)-1)/2) * dodge
		}
	}
	return f
}

// fitX lays the horizontal axis out with as many labels as have room in a panel of a width, less what
// stands beside the lines.
func (c Chart) fitX(width vg.Length) fittedScale {
	xs, _ := coordinates(c.Panels)
	style := textStyle(smallSize, foreground, false)
	width -= slices.Max(append(stat.Map(c.Y.Categories, style.Width), besidePanel))
	for most := int(width / 20); ; most-- {
		x := c.X.fit(xs, most)
		covered := x.covered(width)
		if most <= 2 && c.X.Scale != Category { // a name is worth more than room for it
			for _, i := range covered {
				x.ticks[i].Label = ""
			}
		}
		if most <= 2 || len(covered) == 0 {
			return x
		}
	}
}

// coordinates lists all values that panels have to show.
func coordinates(panels []Panel) (xs, ys []float64) {
	for _, s := range (Chart{Panels: panels}).series() {
		for _, pt := range s.Points {
			xs, ys = append(xs, pt.X), append(ys, pt.Y)
			if s.showsInterval(pt) {
				ys = append(ys, pt.Low, pt.High)
			}
		}
	}
	for _, p := range panels {
		for _, g := range p.Guides {
			if g.Vertical {
				xs = append(xs, g.Value)
			} else {
				ys = append(ys, g.Value)
			}
		}
		for _, r := range p.Regions {
			if xs = append(xs, r.From); math.IsInf(r.To, 1) {
				xs = append(xs, 2*r.From) // room to show it
			}
		}
	}
	return xs, ys
}

// plot makes gonum's plot of one panel. It computes positions itself, and gives them to gonum on
// linear axes.
func (f axes) plot(p Panel, labelY bool) *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	title := textStyle(9.5, foreground, true)
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	out.Title.Text, out.Title.TextStyle, out.Title.Padding = p.Title, title, 5
	if slices.ContainsFunc(p.Guides, func(g Guide) bool { return g.Vertical && g.Label != "" }) {
		out.Title.Text = cmp.Or(p.Title, " ") // without one there is no padding
		out.Title.Padding += guideRow
	}
	f.setUpAxis(&out.X, f.x, f.chart.X.Label, draw.XCenter, draw.YTop)
	label := ""
	if labelY || p.Y != nil {
		label = f.yAxis.Label
	}
	f.setUpAxis(&out.Y, f.y, label, draw.XRight, draw.YCenter)
	out.Add(plotterFunc(func(c draw.Canvas, of *plot.Plot) {
		group(c, `class="data"`, "", func() { f.drawData(c, of, p) })
	}))
	return out
}

// drawData draws what lies within the axes of a panel, backmost first.
func (f axes) drawData(c draw.Canvas, of *plot.Plot, p Panel) {
	labels := pointLabels{within: c.Rectangle}
	for _, r := range p.Regions {
		f.region(c, of, r, &labels)
	}
	line := draw.LineStyle{Color: faint, Width: 0.7}
	group(c, `class="grid"`, "", func() { (&plotter.Grid{Vertical: line, Horizontal: line}).Plot(c, of) })
	if f.direct {
		f.names(c, of, p, &labels)
	}
	f.guides(c, of, p.Guides, &labels)
	others := stat.Filter(p.Series, func(s Series) bool { return !s.Reference })
	for _, s := range append(stat.Filter(p.Series, func(s Series) bool { return s.Reference }), others...) {
		f.series(c, of, s)
		labels.add(c, of, f, s)
	}
	labels.draw(c)
	if (Chart{Panels: []Panel{p}}).empty() {
		style := textStyle(9, muted, false)
		style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
		c.FillText(style, c.Center(), "nothing measured")
	}
}

// A tickText draws the labels of an axis.
type tickText struct{ text.Plain }

// Draw implements [text.Handler].
func (t tickText) Draw(c vg.Canvas, label string, style text.Style, at vg.Point) {
	group(c, `class="tick"`, "", func() { t.Plain.Draw(c, label, style, at) })
}

// setUpAxis styles an axis. Its grid says where its labels belong: it has room for ticks, and none.
func (f axes) setUpAxis(a *plot.Axis, r fittedScale, label string, x draw.XAlignment, y draw.YAlignment) {
	a.Label.Text = label
	a.Label.TextStyle = textStyle(9, muted, false)
	a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
	a.Label.Padding = 4
	a.LineStyle = draw.LineStyle{Color: muted, Width: 0.6}
	a.Padding = 0
	a.Tick.Label = textStyle(smallSize, foreground, false)
	a.Tick.Label.Handler = tickText{a.Tick.Label.Handler.(text.Plain)}
	a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
	a.Tick.LineStyle = draw.LineStyle{Color: color.Transparent, Width: 0.6}
	a.Tick.Length = 4
	a.Tick.Marker = plot.ConstantTicks(r.ticks)
	a.Min, a.Max = r.min, r.max
}

// A plotterFunc draws on the canvas of a panel.
type plotterFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements [plot.Plotter].
func (f plotterFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// series draws one series: its line, then its points with their intervals.
func (f axes) series(c draw.Canvas, of *plot.Plot, s Series) {
	l := f.styles[s.Name]
	c.Min.X, c.Max.X = c.Min.X+f.shift[s.Name], c.Max.X+f.shift[s.Name] // a little beside its place
	atX, atY := of.Transforms(&c)
	points := stat.Filter(s.Points, Point.finite)
	at := stat.Map(points, func(p Point) vg.Point { p = f.place(p); return vg.Point{X: atX(p.X), Y: atY(p.Y)} })
	group(c, named(s.Name), "", func() {
		if s.Shape != Dots && len(points) > 1 {
			c.StrokeLines(l.line(), at)
		}
		for i, p := range points {
			placed := f.place(p)
			if s.showsInterval(p) {
				c.StrokeLine2(draw.LineStyle{Color: l.color, Width: intervalWidth}, at[i].X, atY(placed.Low), at[i].X, atY(placed.High))
			}
			f.marker(c, s, p, l, at[i], len(points))
		}
	})
}

// showsInterval returns whether the interval of a point is drawn.
func (s Series) showsInterval(p Point) bool { return s.Shape != Curve && p.Low != p.High && !p.Noisy }

// marker draws that of a point, about which a page says what is known. On a curve only marked points
// have one; a point of a reference has one where no line shows it.
func (f axes) marker(c draw.Canvas, s Series, p Point, l seriesStyle, at vg.Point, points int) {
	if s.Shape == Curve && !p.Mark && !p.Cross {
		return
	}
	group(c, `class="m"`, f.tell(s, p), func() {
		switch {
		case p.Cross:
			c.DrawGlyph(draw.GlyphStyle{Color: red, Radius: 1.4 * markerRadius, Shape: cross}, at)
			return
		case s.Reference && s.Shape != Dots && points > 1: // something to point at
			c.DrawGlyph(draw.GlyphStyle{Color: color.NRGBA{}, Radius: markerRadius, Shape: draw.CircleGlyph{}}, at)
		default:
			c.DrawGlyph(l.glyph(markerRadius), at)
		}
		if p.Computed || p.Noisy {
			l.color = background
			c.DrawGlyph(l.glyph(markerRadius*0.55), at)
		}
	})
}

// tell says in words what a point shows.
func (f axes) tell(s Series, p Point) string {
	y := f.yAxis
	text := view.JoinParts(s.Name, f.chart.X.Format(p.X), y.Format(p.Y))
	if p.Low != p.High {
		text += fmt.Sprintf(" [%s, %s]", y.Format(p.Low), y.Format(p.High))
	}
	if p.Noisy {
		text += " too noisy"
	}
	samples := ""
	if p.Samples > 0 {
		samples = results.FormatCount(p.Samples, "sample")
	}
	return view.JoinParts(text, samples, p.Label)
}

// place turns the values of a point into positions.
func (f axes) place(p Point) Point {
	at := func(v float64) float64 { return f.y.at(f.yAxis.clamp(v)) }
	p.X, p.Y, p.Low, p.High = f.x.at(p.X), at(p.Y), at(p.Low), at(p.High)
	return p
}

func (p Point) finite() bool { return finite(p.X) && finite(p.Y) && finite(p.Low) && finite(p.High) }
