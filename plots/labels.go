package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pipebench/pipebench/results/stat"
)

const (
	labelSize = vg.Length(8)
	guideRow  = vg.Length(11) // above a panel, for the labels of vertical guides
	nameRow   = vg.Length(10) // of the name of a line
)

// pointLabels are the labels within a panel. Each goes to the first of its places that has room, no
// other label, and nothing drawn; if there is no such place, across what is drawn.
type pointLabels struct {
	within vg.Rectangle
	wanted []wantedLabel
	drawn  []vg.Rectangle // everything the panel shows: points, and places along lines and intervals
}

// A wantedLabel has the lower left corners where it may stand, the best one first.
type wantedLabel struct {
	text    string
	style   text.Style
	corners []vg.Point
}

// beside returns a label at one of the corners of a point, or a side.
func beside(at vg.Point, label string) wantedLabel {
	const gap = markerRadius + 3
	style := textStyle(labelSize, foreground, false)
	w, h := style.Width(label), style.Height(label)
	right, left, above, below := at.X+gap, at.X-gap-w, at.Y+markerRadius, at.Y-markerRadius-h
	return wantedLabel{label, style, []vg.Point{
		{X: right, Y: above}, {X: left, Y: above}, {X: right, Y: below}, {X: left, Y: below}, {X: left, Y: at.Y - h/2}, {X: right, Y: at.Y - h/2},
	}}
}

// add collects the labels of a series, and the places where it is drawn.
func (l *pointLabels) add(c draw.Canvas, of *plot.Plot, f axes, s Series) {
	atX, atY := of.Transforms(&c)
	points := stat.Map(stat.Filter(s.Points, Point.finite), f.place)
	places := slices.Clone(points)
	if s.Shape != Dots {
		places = append(places, interpolate(points)...)
	}
	for _, p := range points {
		if s.Shape != Curve {
			places = append(places, interpolate([]Point{{X: p.X, Y: p.Low}, {X: p.X, Y: p.High}})...)
		}
		if p.Label != "" {
			l.wanted = append(l.wanted, beside(vg.Point{X: atX(p.X), Y: atY(p.Y)}, p.Label))
		}
	}
	for _, p := range places {
		at, r := vg.Point{X: atX(p.X) + f.shift[s.Name], Y: atY(p.Y)}, vg.Point{X: lineWidth, Y: lineWidth}
		l.drawn = append(l.drawn, vg.Rectangle{Min: at.Sub(r), Max: at.Add(r)})
	}
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

// draw writes the labels, each on the background, so that nothing runs through it.
func (l pointLabels) draw(c draw.Canvas) {
	var taken []vg.Rectangle
	for _, wanted := range l.wanted {
		box := l.place(wanted, taken)
		taken = append(taken, box)
		group(c, `class="label"`, "", func() {
			c.SetColor(background)
			c.Fill(box.Path())
			c.FillText(wanted.style, box.Min, wanted.text)
		})
	}
}

// place finds room for a label; if there is none, it returns the first of its places within the panel.
func (l pointLabels) place(wanted wantedLabel, taken []vg.Rectangle) vg.Rectangle {
	size := vg.Point{X: wanted.style.Width(wanted.text), Y: wanted.style.Height(wanted.text)}
	for _, clearOf := range [][]vg.Rectangle{slices.Concat(taken, l.drawn), taken, nil} {
		for _, corner := range wanted.corners {
			box := vg.Rectangle{Min: corner, Max: corner.Add(size)}
			if inside(box, l.within) && !slices.ContainsFunc(clearOf, func(o vg.Rectangle) bool { return overlap(box, o) }) {
				return box
			}
		}
	}
	return vg.Rectangle{Min: wanted.corners[0], Max: wanted.corners[0].Add(size)}
}

func inside(box, within vg.Rectangle) bool {
	return box.Min.X >= within.Min.X && box.Max.X <= within.Max.X && box.Min.Y >= within.Min.Y && box.Max.Y <= within.Max.Y
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// spread moves boxes of the given sizes, in a row around ascending places, as little as it takes for
// none to cover another or to leave the range, if they fit it.
func spread(at, sizes []vg.Length, low, high vg.Length) []vg.Length {
	up, down := slices.Clone(at), slices.Clone(at)
	apart := func(i int) vg.Length { return (sizes[i] + sizes[i+1]) / 2 }
	rise := func(v []vg.Length) {
		for i := range v {
			v[i] = max(v[i], low+sizes[i]/2)
			if i > 0 {
				v[i] = max(v[i], v[i-1]+apart(i-1))
			}
		}
	}
	sink := func(v []vg.Length) {
		for i := len(v) - 1; i >= 0; i-- {
			v[i] = min(v[i], high-sizes[i]/2)
			if i+1 < len(v) {
				v[i] = min(v[i], v[i+1]-apart(i))
			}
		}
	}
	rise(up)
	sink(up)
	sink(down)
	rise(down)
	for i := range up {
		up[i] = (up[i] + down[i]) / 2
	}
	return up
}

// guides draws the lines across a panel. The labels of vertical ones stand in a row above it, where
// nothing else is.
func (f axes) guides(c draw.Canvas, of *plot.Plot, guides []Guide, labels *pointLabels) {
	atX, atY := of.Transforms(&c)
	dashes := draw.LineStyle{Color: muted, Width: 0.8, Dashes: []vg.Length{3, 2}}
	style := textStyle(labelSize, muted, false)
	var above []string
	var centres, widths []vg.Length
	for _, g := range slices.SortedFunc(slices.Values(guides), func(a, b Guide) int { return cmp.Compare(a.Value, b.Value) }) {
		x, y := atX(f.x.at(g.Value)), atY(f.y.at(g.Value))
		switch {
		case g.Vertical && c.ContainsX(x):
			c.StrokeLine2(dashes, x, c.Min.Y, x, c.Max.Y)
			above, centres, widths = append(above, g.Label), append(centres, x), append(widths, style.Width(g.Label)+6)
		case !g.Vertical && c.ContainsY(y):
			c.StrokeLine2(dashes, c.Min.X, y, c.Max.X, y)
			left, right, below := c.Min.X+4, c.Max.X-3-style.Width(g.Label), y-3-style.Height(g.Label)
			labels.wanted = append(labels.wanted, wantedLabel{g.Label, style, []vg.Point{{X: right, Y: y + 2}, {X: left, Y: y + 2}, {X: right, Y: below}, {X: left, Y: below}}})
		}
	}
	style.XAlign = draw.XCenter
	for i, x := range spread(centres, widths, c.Min.X-20, c.Max.X+12) {
		group(c, `class="above"`, "", func() { c.FillText(style, vg.Point{X: x, Y: c.Max.Y + 2}, above[i]) })
	}
}

// colour returns the text and the area colour of a region.
func (r Region) colour() (name, area color.NRGBA) {
	c := map[bool]color.RGBA{true: red, false: muted}[r.Bad]
	return color.NRGBA{c.R, c.G, c.B, 0xff}, color.NRGBA{c.R, c.G, c.B, 0x1a}
}

// region shades a region, and wants its label within it or to the left of it.
func (f axes) region(c draw.Canvas, of *plot.Plot, r Region, labels *pointLabels) {
	atX, _ := of.Transforms(&c)
	left, right := c.Min.X, c.Max.X
	if r.From > 0 {
		left = max(left, atX(f.x.at(r.From)))
	}
	if !math.IsInf(r.To, 1) {
		right = min(right, atX(f.x.at(r.To)))
	}
	name, area := r.colour()
	c.SetColor(area)
	c.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: c.Min.Y}, Max: vg.Point{X: max(right, left+0.5), Y: c.Max.Y}}.Path())
	if r.Label == "" {
		return
	}
	style := textStyle(labelSize, name, true)
	w, h := style.Width(r.Label), style.Height(r.Label)
	wanted := wantedLabel{text: r.Label, style: style}
	for _, y := range []vg.Length{c.Max.Y - h - 4, c.Max.Y - 3*h, c.Min.Y + 4} {
		if left+3+w < right {
			wanted.corners = append(wanted.corners, vg.Point{X: left + 3, Y: y})
		}
		wanted.corners = append(wanted.corners, vg.Point{X: left - 3 - w, Y: y})
	}
	labels.wanted = append(labels.wanted, wanted)
}

// roomForNames returns whether the lines of a panel of some height can be named at their ends, which
// then have to be at the same x.
func (f axes) roomForNames(p Panel, height vg.Length) bool {
	var ends []vg.Length
	for _, s := range p.Series {
		n := len(s.Points)
		if s.Shape != Line || n < 2 || s.Points[n-1].X != p.Series[0].Points[len(p.Series[0].Points)-1].X || !s.Points[n-1].finite() {
			return false
		}
		ends = append(ends, height*vg.Length((f.place(s.Points[n-1]).Y-f.y.min)/(f.y.max-f.y.min)))
	}
	slices.Sort(ends)
	for i, y := range spread(ends, slices.Repeat([]vg.Length{nameRow}, len(ends)), 0, height) {
		if y-ends[i] > 3*nameRow || ends[i]-y > 3*nameRow {
			return false
		}
	}
	return true
}

// lineNames writes the name of each line behind its end.
func (f axes) lineNames(c draw.Canvas, of *plot.Plot, series []Series) {
	atX, atY := of.Transforms(&c)
	last := func(s Series) Point { return f.place(s.Points[len(s.Points)-1]) }
	series = slices.SortedStableFunc(slices.Values(series), func(a, b Series) int { return cmp.Compare(last(a).Y, last(b).Y) })
	ends := stat.Map(series, func(s Series) vg.Length { return atY(last(s).Y) })
	rows := slices.Repeat([]vg.Length{nameRow}, len(series))
	style := textStyle(labelSize, foreground, false)
	style.YAlign = draw.YCenter
	for i, y := range spread(ends, rows, c.Min.Y, c.Max.Y) {
		x := atX(last(series[i]).X) + markerRadius + 2
		c.StrokeLine2(draw.LineStyle{Color: f.styles[series[i].Name].color, Width: 0.8}, x, ends[i], x+8, y)
		group(c, `class="name" `+named(series[i].Name), "", func() {
			c.FillText(style, vg.Point{X: x + 10, Y: y}, series[i].Name)
		})
	}
}

// nameWidth is the room that the names of lines take behind their ends.
func nameWidth(series []Series) vg.Length {
	style := textStyle(labelSize, foreground, false)
	widths := stat.Map(series, func(s Series) vg.Length { return style.Width(s.Name) })
	return slices.Max(append(widths, 0)) + 16
}
