package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels are the points of a series that have something written beside them.
func (f frame) labels(s Series) pointLabels {
	return slices.DeleteFunc(f.onPaper(s.Points), func(p Point) bool { return p.Label == "" })
}

// pointLabels writes labels beside points: to the upper right, or at the first
// other corner where there is room and no other label.
type pointLabels []Point

// Plot implements [plot.Plotter].
func (l pointLabels) Plot(c draw.Canvas, p *plot.Plot) {
	atX, atY := p.Transforms(&c)
	style := lettering(8, ink, false)
	var taken []vg.Rectangle
	for _, pt := range l {
		box := place(vg.Point{X: atX(pt.X), Y: atY(pt.Y)}, style, pt.Label, c.Rectangle, taken)
		taken = append(taken, box)
		c.FillText(style, box.Min, pt.Label)
	}
}

// place finds the room for a label beside a point; where there is none it
// stays at the upper right.
func place(at vg.Point, style text.Style, label string, within vg.Rectangle, taken []vg.Rectangle) vg.Rectangle {
	const gap = markerRadius + 3
	w, h := style.Width(label), style.Height(label)
	right, left, above, below := at.X+gap, at.X-gap-w, at.Y+markerRadius, at.Y-markerRadius-h
	corners := []vg.Point{{X: right, Y: above}, {X: left, Y: above}, {X: right, Y: below}, {X: left, Y: below}}
	for _, min := range corners {
		box := vg.Rectangle{Min: min, Max: min.Add(vg.Point{X: w, Y: h})}
		if inside(box, within) && !slices.ContainsFunc(taken, func(o vg.Rectangle) bool { return overlap(box, o) }) {
			return box
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
