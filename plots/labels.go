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
// other label, and nothing drawn; if there is no such place, where it hides least.
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
	role    string // its attributes for the script of a page; a label of a point where empty
}

// beside returns a label at one of the corners of a point, or a side.
func beside(at vg.Point, label string) wantedLabel {
	const gap = markerRadius + 3
	style := textStyle(labelSize, foreground, false)
	w, h := style.Width(label), style.Height(label)
	right, left, above, below := at.X+gap, at.X-gap-w, at.Y+markerRadius, at.Y-markerRadius-h
	return wantedLabel{text: label, style: style, corners: []vg.Point{
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
		if s.showsInterval(p) {
			places = append(places, interpolate([]Point{{X: p.X, Y: p.Low}, {X: p.X, Y: p.High}})...)
		}
		if p.Label != "" {
			l.wanted = append(l.wanted, beside(vg.Point{X: atX(p.X), Y: atY(p.Y)}, p.Label))
		}
	}
	for i, p := range places {
		radius := lineWidth
		if i < len(points) {
			radius = markerRadius
		}
		at, r := vg.Point{X: atX(p.X) + f.shift[s.Name], Y: atY(p.Y)}, vg.Point{X: radius, Y: radius}
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
	slices.SortStableFunc(l.wanted, func(a, b wantedLabel) int { return len(b.text) - len(a.text) }) // long ones find room least easily
	for _, wanted := range l.wanted {
		box := l.place(wanted, taken)
		taken = append(taken, box)
		group(c, cmp.Or(wanted.role, `class="label"`), "", func() {
			c.SetColor(background)
			c.Fill(box.Path())
			c.FillText(wanted.style, box.Min, wanted.text)
		})
	}
}

// place finds room for a label within the panel: the first of its places that covers no other label,
// and the least of what is drawn.
func (l pointLabels) place(wanted wantedLabel, taken []vg.Rectangle) vg.Rectangle {
	size := vg.Point{X: wanted.style.Width(wanted.text), Y: wanted.style.Height(wanted.text)}
	most := l.within.Max.Sub(size)
	boxes := stat.Map(wanted.corners, func(at vg.Point) vg.Rectangle {
		at = vg.Point{X: max(l.within.Min.X, min(at.X, most.X)), Y: max(l.within.Min.Y, min(at.Y, most.Y))}
		return vg.Rectangle{Min: at, Max: at.Add(size)}
	})
	covers := func(box vg.Rectangle, all []vg.Rectangle) int {
		return len(stat.Filter(all, func(o vg.Rectangle) bool { return overlap(box, o) }))
	}
	return slices.MinFunc(boxes, func(a, b vg.Rectangle) int {
		return cmp.Or(covers(a, taken)-covers(b, taken), covers(a, l.drawn)-covers(b, l.drawn))
	})
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
		line := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y}, Max: vg.Point{X: c.Max.X, Y: y + 1}}
		if g.Vertical {
			line = vg.Rectangle{Min: vg.Point{X: x, Y: c.Min.Y}, Max: vg.Point{X: x + 1, Y: c.Max.Y}}
		}
		labels.drawn = append(labels.drawn, line)
		switch {
		case g.Vertical && c.ContainsX(x):
			c.StrokeLine2(dashes, x, line.Min.Y, x, line.Max.Y)
			above, centres, widths = append(above, g.Label), append(centres, x), append(widths, style.Width(g.Label)+6)
		case !g.Vertical && c.ContainsY(y):
			c.StrokeLine2(dashes, line.Min.X, y, line.Max.X, y)
			wanted := wantedLabel{text: g.Label, style: style}
			left, room := c.Min.X+4, c.Max.X-c.Min.X-7-style.Width(g.Label)
			for _, share := range []vg.Length{1, 0, .875, .75, .625, .5, .375, .25, .125} {
				for _, at := range []vg.Length{y + 2, y - 3 - style.Height(g.Label)} {
					wanted.corners = append(wanted.corners, vg.Point{X: left + share*room, Y: at})
				}
			}
			labels.wanted = append(labels.wanted, wanted)
		}
	}
	style.XAlign = draw.XCenter
	for i, x := range spread(centres, widths, c.Min.X-20, c.Max.X+12) {
		group(c, `class="above"`, "", func() { c.FillText(style, vg.Point{X: x, Y: c.Max.Y + 2}, above[i]) })
	}
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
	ink := muted
	if r.Bad {
		ink = red
	}
	c.SetColor(color.NRGBA{ink.R, ink.G, ink.B, 0x1a})
	c.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: c.Min.Y}, Max: vg.Point{X: max(right, left+0.5), Y: c.Max.Y}}.Path())
	if r.Label == "" {
		return
	}
	style := textStyle(labelSize, ink, true)
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

// nameRows orders the lines of a panel by where they end, from low to high, and gives each name a row
// near that end; false where lines end at different x, or too close to each other for so many names.
func (f axes) nameRows(p Panel, low, high vg.Length) (lines []Series, ends, rows []vg.Length, ok bool) {
	last := func(s Series) Point { return s.Points[len(s.Points)-1] }
	for _, s := range p.Series {
		if s.Shape == Dots || len(s.Points) < 2 || last(s).X != last(p.Series[0]).X || !last(s).finite() {
			return nil, nil, nil, false
		}
	}
	end := func(s Series) vg.Length {
		return low + (high-low)*vg.Length((f.place(last(s)).Y-f.y.min)/(f.y.max-f.y.min))
	}
	lines = slices.SortedStableFunc(slices.Values(p.Series), func(a, b Series) int { return cmp.Compare(end(a), end(b)) })
	ends = stat.Map(lines, end)
	rows = spread(ends, slices.Repeat([]vg.Length{nameRow}, len(ends)), low, high)
	ok = len(lines) > 0
	for i, y := range rows {
		ok = ok && max(y-ends[i], ends[i]-y) <= 3*nameRow
	}
	return lines, ends, rows, ok
}

// names wants the name of each line behind its end, and leads to it.
func (f axes) names(c draw.Canvas, of *plot.Plot, p Panel, labels *pointLabels) {
	atX, _ := of.Transforms(&c)
	style := textStyle(labelSize, foreground, false)
	lines, ends, rows, _ := f.nameRows(p, c.Min.Y, c.Max.Y)
	for i, s := range lines {
		x := atX(f.place(s.Points[len(s.Points)-1]).X) + markerRadius + 2
		c.StrokeLine2(draw.LineStyle{Color: f.styles[s.Name].color, Width: 0.8}, x, ends[i], x+8, rows[i])
		corner := vg.Point{X: x + 10, Y: rows[i] - style.Height(s.Name)/2}
		labels.wanted = append(labels.wanted, wantedLabel{s.Name, style, []vg.Point{corner}, `class="name" ` + named(s.Name)})
	}
}
