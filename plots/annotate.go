package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// gridLines draws a faint line at each labelled tick.
type gridLines struct{ x, y fittedScale }

// Plot implements [plot.Plotter].
func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	atX, atY := p.Transforms(&c)
	style := draw.LineStyle{Color: faint, Width: 0.7}
	for _, t := range g.x.ticks {
		if x := atX(t.Value); !t.IsMinor() && c.ContainsX(x) {
			c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, t := range g.y.ticks {
		if y := atY(t.Value); !t.IsMinor() && c.ContainsY(y) {
			c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
		}
	}
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

// emptyNote is a text in the middle of a panel that has nothing else to show.
type emptyNote string

// Plot implements [plot.Plotter].
func (r emptyNote) Plot(c draw.Canvas, _ *plot.Plot) {
	style := textStyle(9, muted, false)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, c.Center(), string(r))
}
