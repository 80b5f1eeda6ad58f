package plots

import (
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

// axes is what the panels of a chart have in common.
type axes struct {
	chart  Chart
	x, y   fittedScale
	styles map[string]seriesStyle
	shift  map[string]vg.Length // to the right, so that intervals at the same x do not cover each other
}

// newAxes fits the axes to the panels that share them with the i-th one.
// xLabels is how many labels a panel is wide enough for.
func newAxes(c Chart, i, columns, xLabels int) axes {
	xs, ys := coordinates(c.Panels)
	switch first := i / columns * columns; c.Scales {
	case ShareRows:
		_, ys = coordinates(c.Panels[first:min(first+columns, len(c.Panels))])
	case ShareNone:
		xs, ys = coordinates(c.Panels[i : i+1])
	}
	names := c.names()
	f := axes{chart: c, x: c.X.fit(xs, xLabels), y: c.Y.fit(ys, 8), styles: assignStyles(names)}
	if c.Dodge {
		f.shift = dodged(names)
	}
	return f
}

// dodged spreads the series around the true place of their points, where the
// reference stays.
func dodged(series []Series) map[string]vg.Length {
	series = slices.DeleteFunc(slices.Clone(series), func(s Series) bool { return s.Reference })
	shift := map[string]vg.Length{}
	for i, s := range series {
		shift[s.Name] = (vg.Length(i) - vg.Length(len(series)-1)/2) * dodge
	}
	return shift
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

// plot makes gonum's plot of one panel. Positions are worked out here and
// given to gonum on linear axes.
func (f axes) plot(p Panel, labelY bool) *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	out.Title.Text, out.Title.TextStyle, out.Title.Padding = p.Title, panelTitle(), 5
	f.setUpAxis(&out.X, f.x, f.chart.X.Label, draw.XCenter, draw.YTop)
	label := ""
	if labelY {
		label = f.chart.Y.Label
	}
	f.setUpAxis(&out.Y, f.y, label, draw.XRight, draw.YCenter)
	out.Add(gridLines{f.x, f.y})
	for _, g := range p.Guides {
		out.Add(guide{g, f, f.atTop(g, p.Series), f.atLeft(g, p.Series)})
	}
	var labels pointLabels
	for _, s := range inOrder(p.Series) {
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

func panelTitle() text.Style {
	t := textStyle(9.5, foreground, true)
	t.XAlign, t.YAlign = draw.XCenter, draw.YTop
	return t
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

// inOrder puts reference lines first, so that they lie behind the others.
func inOrder(series []Series) []Series {
	out := slices.Clone(series)
	slices.SortStableFunc(out, func(a, b Series) int {
		switch {
		case a.Reference == b.Reference:
			return 0
		case a.Reference:
			return -1
		default:
			return 1
		}
	})
	return out
}

// series is everything that is drawn for one series, backmost first.
func (f axes) series(s Series) []plot.Plotter {
	l := f.styles[s.Name]
	points := f.positions(s.Points)
	if len(points) == 0 {
		return nil
	}
	var out []plot.Plotter
	if s.Shape == Line && len(points) > 1 {
		out = append(out, f.band(points, l))
	}
	if s.Shape != Dots && len(points) > 1 {
		out = append(out, f.stroke(points, s, l))
	}
	if s.Shape != Curve {
		out = append(out, f.intervals(points, l))
	}
	out = append(out, f.markers(points, s, l), f.hollowMarkers(points, l))
	for i, o := range out {
		out[i] = shifted{o, f.shift[s.Name]}
	}
	return out
}

// shifted draws a plotter a little to the right of its place.
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

// positions turns values into positions and drops what is no number.
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

// band shades the interval along a line.
func (f axes) band(points []Point, l seriesStyle) plot.Plotter {
	var outline plotter.XYs
	for _, p := range points {
		outline = append(outline, plotter.XY{X: p.X, Y: p.High})
	}
	for _, p := range slices.Backward(points) {
		outline = append(outline, plotter.XY{X: p.X, Y: p.Low})
	}
	return &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: withAlpha(l.color, 26)}
}

func (f axes) stroke(points []Point, s Series, l seriesStyle) plot.Plotter {
	width := lineWidth
	if s.Reference {
		width = referenceWidth
	}
	return &plotter.Line{XYs: centres(points), LineStyle: l.line(width)}
}

func centres(points []Point) plotter.XYs {
	var out plotter.XYs
	for _, p := range points {
		out = append(out, plotter.XY{X: p.X, Y: p.Y})
	}
	return out
}

// intervals draws a bar from the low to the high end of each point that is
// not exact.
func (f axes) intervals(points []Point, l seriesStyle) plot.Plotter {
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

// markers of a curve stand at its labelled points; those of a reference at
// none, unless it is a single point that no line would show.
func (f axes) markers(points []Point, s Series, l seriesStyle) plot.Plotter {
	switch {
	case s.Shape == Curve:
		points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !p.Mark })
	case s.Reference && len(points) == 1:
		l.marker = draw.CircleGlyph{}
	}
	return &plotter.Scatter{XYs: centres(points), GlyphStyle: l.glyph(markerRadius)}
}

// hollowMarkers take the inside out of the markers of points that were computed.
func (f axes) hollowMarkers(points []Point, l seriesStyle) plot.Plotter {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !p.Computed })
	l.color = background
	return &plotter.Scatter{XYs: centres(points), GlyphStyle: l.glyph(markerRadius * 0.55)}
}
