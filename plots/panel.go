package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
	x, y   fittedScale
	styles map[string]seriesStyle
	shift  map[string]vg.Length // to the right, so that intervals at the same x do not overlap
}

// newAxes fits the axes to the panels that share them with the i-th one. xLabels is the number of
// labels that fit the width of a panel.
func newAxes(c Chart, i, columns, xLabels int) axes {
	xs, ys := coordinates(c.Panels)
	if first := i / columns * columns; c.OwnRows {
		_, ys = coordinates(c.Panels[first:min(first+columns, len(c.Panels))])
	}
	series := c.legend()
	f := axes{chart: c, x: c.X.fit(xs, xLabels), y: c.Y.fit(ys, 8), styles: assignStyles(series), shift: map[string]vg.Length{}}
	if c.Dodge { // spread the series around the true place of their points; the reference stays there
		series = slices.DeleteFunc(series, func(s Series) bool { return s.Reference })
		for i, s := range series {
			f.shift[s.Name] = (vg.Length(i) - vg.Length(len(series)-1)/2) * dodge
		}
	}
	return f
}

// coordinates lists all values that panels have to show.
func coordinates(panels []Panel) (xs, ys []float64) {
	for _, p := range panels {
		for _, s := range p.Series {
			for _, pt := range s.Points {
				xs = append(xs, pt.X)
				ys = append(ys, pt.Y, pt.Low, pt.High)
			}
		}
		for _, g := range p.Guides {
			if g.Vertical {
				xs = append(xs, g.Value)
			} else {
				ys = append(ys, g.Value)
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
	f.setUpAxis(&out.X, f.x, f.chart.X.Label, draw.XCenter, draw.YTop)
	label := ""
	if labelY {
		label = f.chart.Y.Label
	}
	f.setUpAxis(&out.Y, f.y, label, draw.XRight, draw.YCenter)
	grid := draw.LineStyle{Color: faint, Width: 0.7}
	out.Add(&plotter.Grid{Vertical: grid, Horizontal: grid})
	for _, g := range p.Guides {
		top, left := f.room(g, p.Series)
		out.Add(guide{g, f, top, left})
	}
	var labels pointLabels
	behind := func(s Series) int { return map[bool]int{true: 0, false: 1}[s.Reference] } // reference lines lie behind the others
	for _, s := range slices.SortedStableFunc(slices.Values(p.Series), func(a, b Series) int { return behind(a) - behind(b) }) {
		out.Add(f.series(s)...)
		labels.add(f, s)
	}
	out.Add(labels)
	if (Chart{Panels: []Panel{p}}).empty() {
		out.Add(plotterFunc(func(c draw.Canvas, _ *plot.Plot) {
			style := textStyle(9, muted, false)
			style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
			c.FillText(style, c.Center(), "nothing measured")
		}))
	}
	out.X.Min, out.X.Max, out.Y.Min, out.Y.Max = f.x.min, f.x.max, f.y.min, f.y.max
	return out
}

func (f axes) setUpAxis(a *plot.Axis, r fittedScale, label string, x draw.XAlignment, y draw.YAlignment) {
	a.Label.Text = label
	a.Label.TextStyle = textStyle(9, muted, false)
	a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
	a.Label.Padding = 4
	a.LineStyle = draw.LineStyle{Color: muted, Width: 0.6}
	a.Padding = 0
	a.Tick.Label = textStyle(8.5, foreground, false)
	a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
	a.Tick.LineStyle = draw.LineStyle{Color: muted, Width: 0.6}
	a.Tick.Length = 4
	a.Tick.Marker = plot.ConstantTicks(r.ticks)
	a.Min, a.Max = r.min, r.max
}

// series returns the plotters that draw one series, backmost first.
func (f axes) series(s Series) []plot.Plotter {
	l := f.styles[s.Name]
	points := f.positions(s.Points)
	if len(points) == 0 {
		return nil
	}
	var out []plot.Plotter
	if s.Shape != Dots && len(points) > 1 {
		out = append(out, &plotter.Line{XYs: centres(points), LineStyle: l.line()})
	}
	if s.Shape != Curve {
		out = append(out, errorBars(points, l))
	}
	out = append(out, scatter(points, s, l))
	if computed := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !p.Computed }); len(computed) > 0 {
		inside := l
		inside.color = background
		out = append(out, &plotter.Scatter{XYs: centres(computed), GlyphStyle: inside.glyph(markerRadius * 0.55)})
	}
	for i, o := range out {
		out[i] = plotterFunc(func(c draw.Canvas, p *plot.Plot) { // a little to the right of its place
			c.Min.X += f.shift[s.Name]
			c.Max.X += f.shift[s.Name]
			o.Plot(c, p)
		})
	}
	return out
}

// A plotterFunc draws on the canvas of a panel.
type plotterFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements [plot.Plotter].
func (f plotterFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// positions turns values into positions and drops points that have no finite value.
func (f axes) positions(points []Point) []Point {
	at := func(v float64) float64 { return f.y.at(f.chart.Y.clamp(v)) }
	var out []Point
	for _, p := range points {
		if finite(p.X) && finite(p.Y) && finite(p.Low) && finite(p.High) {
			placed := p
			placed.X, placed.Y, placed.Low, placed.High = f.x.at(p.X), at(p.Y), at(p.Low), at(p.High)
			out = append(out, placed)
		}
	}
	return out
}

func centres(points []Point) plotter.XYs {
	var out plotter.XYs
	for _, p := range points {
		out = append(out, plotter.XY{X: p.X, Y: p.Y})
	}
	return out
}

// errorBars draws a bar from the low to the high end of each point that is not exact.
func errorBars(points []Point, l seriesStyle) plot.Plotter {
	bounded := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Low == p.High })
	bars := &plotter.YErrorBars{
		XYs:       centres(bounded),
		LineStyle: draw.LineStyle{Color: l.color, Width: intervalWidth},
		CapWidth:  4,
	}
	for _, p := range bounded {
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{p.Y - p.Low, p.High - p.Y})
	}
	return bars
}

// scatter draws the markers of a series: of a curve only those of its marked points, of a reference
// none, unless it is a single point that no line would show.
func scatter(points []Point, s Series, l seriesStyle) plot.Plotter {
	switch {
	case s.Shape == Curve:
		points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !p.Mark })
	case s.Reference && len(points) == 1:
		l.marker = draw.CircleGlyph{}
	}
	return &plotter.Scatter{XYs: centres(points), GlyphStyle: l.glyph(markerRadius)}
}

// pointLabels writes labels beside points: to the upper right, or at the first other corner that
// has room, no other label, and nothing drawn; if there is no such corner, across what is drawn.
type pointLabels struct {
	labelled []Point
	drawn    []Point // everything the panel shows: points, and places along its lines
}

// add collects the labels of a series, and the places where it is drawn.
func (l *pointLabels) add(f axes, s Series) {
	points := f.positions(s.Points)
	l.drawn = append(l.drawn, points...)
	if s.Shape != Dots {
		l.drawn = append(l.drawn, interpolate(points)...)
	}
	l.labelled = append(l.labelled, slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Label == "" })...)
}

// interpolate returns places along the lines that join points, so close to each other that no label
// fits between them.
func interpolate(points []Point) []Point {
	const steps = 32
	var out []Point
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		for k := 1; k < steps; k++ {
			share := float64(k) / steps
			out = append(out, Point{X: a.X + share*(b.X-a.X), Y: a.Y + share*(b.Y-a.Y)})
		}
	}
	return out
}

// Plot implements [plot.Plotter].
func (l pointLabels) Plot(c draw.Canvas, p *plot.Plot) {
	if len(l.labelled) == 0 {
		return
	}
	atX, atY := p.Transforms(&c)
	style := textStyle(8, foreground, false)
	var taken, drawn []vg.Rectangle
	for _, pt := range l.drawn {
		at, r := vg.Point{X: atX(pt.X), Y: atY(pt.Y)}, lineWidth
		drawn = append(drawn, vg.Rectangle{Min: vg.Point{X: at.X - r, Y: at.Y - r}, Max: vg.Point{X: at.X + r, Y: at.Y + r}})
	}
	for _, pt := range l.labelled {
		box := placeLabel(vg.Point{X: atX(pt.X), Y: atY(pt.Y)}, style, pt.Label, c.Rectangle, taken, drawn)
		taken = append(taken, box)
		c.FillText(style, box.Min, pt.Label)
	}
}

// placeLabel finds room for a label beside a point; if there is none, it returns the upper right
// corner.
func placeLabel(at vg.Point, style text.Style, label string, within vg.Rectangle, taken, drawn []vg.Rectangle) vg.Rectangle {
	const gap = markerRadius + 3
	w, h := style.Width(label), style.Height(label)
	right, left, above, below := at.X+gap, at.X-gap-w, at.Y+markerRadius, at.Y-markerRadius-h
	corners := []vg.Point{{X: right, Y: above}, {X: left, Y: above}, {X: right, Y: below}, {X: left, Y: below}}
	for _, clearOf := range [][]vg.Rectangle{slices.Concat(taken, drawn), taken} {
		for _, min := range corners {
			box := vg.Rectangle{Min: min, Max: min.Add(vg.Point{X: w, Y: h})}
			if inside(box, within) && !slices.ContainsFunc(clearOf, func(o vg.Rectangle) bool { return overlap(box, o) }) {
				return box
			}
		}
	}
	return vg.Rectangle{Min: corners[0], Max: corners[0].Add(vg.Point{X: w, Y: h})}
}

func inside(box, within vg.Rectangle) bool {
	return box.Min.X >= within.Min.X && box.Max.X <= within.Max.X && box.Min.Y >= within.Min.Y && box.Max.Y <= within.Max.Y
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// A guide draws a [Guide].
type guide struct {
	Guide
	axes
	top  bool // puts the label of a vertical guide at its upper end
	left bool // puts the label of a horizontal guide at its left end
}

// Plot implements [plot.Plotter].
func (g guide) Plot(c draw.Canvas, p *plot.Plot) {
	atX, atY := p.Transforms(&c)
	style := draw.LineStyle{Color: muted, Width: 0.8, Dashes: []vg.Length{3, 2}}
	label := textStyle(8, muted, false)
	x, y := atX(g.x.at(g.Value)), atY(g.y.at(g.Value))
	switch {
	case g.Vertical && c.ContainsX(x):
		c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		label.Rotation = math.Pi / 2
		at := vg.Point{X: x - 3, Y: c.Min.Y + 4}
		if g.top {
			label.XAlign, at.Y = draw.XRight, c.Max.Y-4
		}
		c.FillText(label, at, g.Label)
	case !g.Vertical && c.ContainsY(y):
		c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
		at := vg.Point{X: c.Min.X + 4, Y: y + 3}
		if !g.left {
			label.XAlign, at.X = draw.XRight, c.Max.X-3
		}
		c.FillText(label, at, g.Label)
	}
}

// room returns where points leave more room for the label of a guide: at the upper end of a vertical
// one, near which they lie, and at the left end of a horizontal one, above which they lie.
func (f axes) room(g Guide, series []Series) (top, left bool) {
	x, y := f.x.at(g.Value), f.y.at(g.Value)
	below, above := f.y.max-f.y.min, f.y.max-f.y.min
	onLeft, onRight := f.y.max-y, f.y.max-y
	for _, s := range series {
		for _, p := range f.positions(s.Points) {
			if math.Abs(p.X-x) < (f.x.max-f.x.min)/8 {
				below, above = min(below, p.Low-f.y.min), min(above, f.y.max-p.High)
			}
			switch near := max(0, p.Low-y); {
			case p.High < y:
			case p.X < (f.x.min+f.x.max)/2:
				onLeft = min(onLeft, near)
			default:
				onRight = min(onRight, near)
			}
		}
	}
	return above > below, onLeft > onRight
}
