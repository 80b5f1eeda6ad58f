package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	out.Add(gridLines{f.x, f.y})
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
		out.Add(emptyNote("nothing measured"))
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
		width := lineWidth
		if s.Reference {
			width = referenceWidth
		}
		out = append(out, &plotter.Line{XYs: centres(points), LineStyle: l.line(width)})
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
		out[i] = shifted{o, f.shift[s.Name]}
	}
	return out
}

// A shifted plotter draws another one a little to the right of its place.
type shifted struct {
	plot.Plotter
	by vg.Length
}

// Plot implements [plot.Plotter].
func (s shifted) Plot(c draw.Canvas, p *plot.Plot) {
	c.Min.X += s.by
	c.Max.X += s.by
	s.Plotter.Plot(c, p)
}

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
