package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// A panelDrawing draws what lies within the axes of a panel. It computes positions itself, and
// gonum gets them as values on linear axes.
type panelDrawing struct {
	*picture
	panel Panel
	y     fitted
	shift map[string]vg.Length // to the right: intervals at one X lie side by side
	first bool                 // it is the first in its row: its Y axis has labels
	names bool                 // the names of the lines stand to the right of it
}

func (p *picture) newPanel(i int, content Panel) *panelDrawing {
	d := &panelDrawing{picture: p, panel: content, shift: p.shifts()}
	d.first = i%p.columns == 0 || content.Y != nil
	d.names = p.nameRoom > 0 && i == min(p.columns, len(p.Panels))-1
	axis := p.Y
	alike := p.Panels
	if content.Y != nil {
		axis = *content.Y
		alike = []Panel{content}
	}
	d.y = axis.fit(heights(alike), 0)
	return d
}

// shifts says by how many points to move the dots of each series to the side, so that they do not
// cover each other. A reference is not moved.
func (p *picture) shifts() map[string]vg.Length {
	step := vg.Length(3.5)
	onePlace := len(p.X.Places) == 1
	if onePlace { // all lines are points there
		step = 10
	}
	var moved []string
	for _, s := range p.Chart.series() {
		if (s.Dots || onePlace) && !s.Reference && !slices.Contains(moved, s.Name) {
			moved = append(moved, s.Name)
		}
	}
	out := make(map[string]vg.Length)
	for i, name := range moved {
		out[name] = (vg.Length(i) - vg.Length(len(moved)-1)/2) * step
	}
	return out
}

// plot makes gonum's plot of the panel.
func (d *panelDrawing) plot() *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	title := breakText([]string{d.panel.Title}, panelTitle(), d.panelWidth()+10)
	out.Title.Text = strings.Join(title, "\n")
	out.Title.TextStyle = panelTitle()
	out.Title.TextStyle.XAlign = draw.XCenter
	out.Title.TextStyle.YAlign = draw.YTop
	out.Title.Padding = 5
	setUpAxis(&out.X, d.x, draw.XCenter, draw.YTop)
	setUpAxis(&out.Y, d.y, draw.XRight, draw.YCenter)
	if !d.first {
		out.Y.Label.Text = ""
		for i := range d.y.ticks {
			d.y.ticks[i].Label = " " // empty labels keep the ticks, which the grid needs
		}
		out.Y.Tick.Marker = plot.ConstantTicks(d.y.ticks)
	}
	out.Add(d)
	return out
}

// setUpAxis styles an axis. The grid shows where the labels belong. The ticks have the colour of
// the background: they only keep the labels away from the axis.
func setUpAxis(a *plot.Axis, f fitted, x draw.XAlignment, y draw.YAlignment) {
	a.Label.Text = f.Label
	a.Label.TextStyle = letters(9, muted, false)
	a.Label.TextStyle.XAlign = draw.XCenter
	a.Label.TextStyle.YAlign = draw.YBottom
	a.Label.Padding = 4
	a.LineStyle = draw.LineStyle{Color: muted, Width: 0.6}
	a.Padding = 0
	a.Tick.Label = letters(labelSize, foreground, false)
	a.Tick.Label.XAlign = x
	a.Tick.Label.YAlign = y
	a.Tick.LineStyle = draw.LineStyle{Color: background, Width: 0.6}
	a.Tick.Length = 4
	a.Tick.Marker = plot.ConstantTicks(f.ticks)
	a.Min = f.min
	a.Max = f.max
}

// Plot implements [plot.Plotter]: it draws from back to front.
func (d *panelDrawing) Plot(c draw.Canvas, of *plot.Plot) {
	d.failing(c, of)
	line := draw.LineStyle{Color: faint, Width: 0.7}
	grid := plotter.Grid{Vertical: line, Horizontal: line}
	grid.Plot(c, of)
	for _, g := range d.panel.Guides {
		d.guide(c, of, g)
	}
	for _, reference := range []bool{true, false} {
		for _, s := range d.panel.Series {
			if s.Reference == reference {
				d.drawSeries(c, of, s)
			}
		}
	}
	if d.names {
		d.drawNames(c, of)
	}
}

// A placed is a point with its place in the picture, and the places of the ends of its interval.
type placed struct {
	Point
	at        vg.Point
	low, high vg.Length
}

// place places the points of a series in the panel.
func (d *panelDrawing) place(c draw.Canvas, of *plot.Plot, s Series) []placed {
	atX, atY := of.Transforms(&c)
	var out []placed
	for _, p := range s.Points {
		if !p.finite() {
			continue
		}
		out = append(out, placed{
			Point: p,
			at:    vg.Point{X: atX(float64(p.X)) + d.shift[s.Name], Y: atY(d.y.at(p.Y))},
			low:   atY(d.y.at(p.Low)),
			high:  atY(d.y.at(p.High)),
		})
	}
	return out
}

// drawSeries draws one series: its line, then its points with their intervals.
func (d *panelDrawing) drawSeries(c draw.Canvas, of *plot.Plot, s Series) {
	look := d.styles[s.Name]
	points := d.place(c, of, s)
	joined := !s.Dots && len(points) > 1
	if joined {
		var line []vg.Point
		for _, p := range points {
			line = append(line, p.at)
		}
		c.StrokeLines(look.line(), line)
	}
	bar := draw.LineStyle{Color: look.color, Width: intervalWidth}
	for _, p := range points {
		if p.hasBar() {
			c.StrokeLine2(bar, p.at.X, p.low, p.at.X, p.high)
		}
		d.told = append(d.told, told{at: p.at, text: d.tell(s, p.Point)})
		if !s.Reference || !joined || p.Doubt {
			look.draw(&c, p.at, p.Doubt)
		}
		label := p.at.Add(vg.Point{X: markerRadius + 3, Y: markerRadius})
		c.FillText(letters(labelSize, foreground, false), label, p.Label)
	}
}

// draw draws the marker of a style, hollow for a point in doubt.
func (s style) draw(c *draw.Canvas, at vg.Point, hollow bool) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: s.color, Radius: markerRadius, Shape: s.marker}, at)
	if hollow {
		inner := draw.GlyphStyle{Color: background, Radius: 0.55 * markerRadius, Shape: s.marker}
		c.DrawGlyphNoClip(inner, at)
	}
}

// tell says in words what a point shows.
func (d *panelDrawing) tell(s Series, p Point) string {
	figure := d.y.Format(p.Y)
	if p.Low != p.High {
		figure += fmt.Sprintf(" [%s, %s]", d.y.Format(p.Low), d.y.Format(p.High))
	}
	samples := ""
	if p.Samples > 0 {
		samples = results.FormatCount(p.Samples, "sample")
	}
	doubt := ""
	if p.Doubt && p.Samples != 1 {
		doubt = "too noisy"
	}
	return view.JoinParts(s.Name, d.X.Format(float64(p.X)), figure, samples, doubt, p.Label)
}

// guide draws a line across the panel, with its label at the left end.
func (d *panelDrawing) guide(c draw.Canvas, of *plot.Plot, g Guide) {
	_, atY := of.Transforms(&c)
	stroke := draw.LineStyle{Color: muted, Width: 0.8, Dashes: []vg.Length{3, 2}}
	style := letters(labelSize, muted, false)
	y := atY(d.y.at(g.Value))
	c.StrokeLine2(stroke, c.Min.X, y, c.Max.X, y)
	above := y + 2
	if above+style.Height(g.Label) > c.Max.Y {
		above = y - 2 - style.Height(g.Label)
	}
	c.FillText(style, vg.Point{X: c.Min.X + 4, Y: above}, g.Label)
}

// failing shades the part of the panel in which a server fails, and says how at its left.
func (d *panelDrawing) failing(c draw.Canvas, of *plot.Plot) {
	if d.panel.Fails == nil {
		return
	}
	atX, _ := of.Transforms(&c)
	left := atX(float64(d.panel.Fails.From) - 0.5)
	from := vg.Point{X: left, Y: c.Min.Y}
	c.SetColor(color.NRGBA{red.R, red.G, red.B, 0x1a})
	c.Fill(vg.Rectangle{Min: from, Max: c.Max}.Path())
	style := letters(labelSize, red, true)
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: left - 3, Y: c.Min.Y + 4}, d.panel.Fails.How)
}

// drawNames writes the names of all lines to the right of the panel, each near its end, with its
// marker and a thin line that leads there.
func (d *panelDrawing) drawNames(c draw.Canvas, of *plot.Plot) {
	last := make(map[string]vg.Point)
	for _, s := range d.panel.Series {
		if points := d.place(c, of, s); len(points) > 0 {
			last[s.Name] = points[len(points)-1].at
		}
	}
	names := d.Chart.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(last[a].Y, last[b].Y) })
	var at []vg.Length
	for _, name := range names {
		at = append(at, last[name].Y)
	}
	at = spread(at, nameRow, c.Min.Y+nameRow/2, c.Max.Y-nameRow/2)
	for i, name := range names {
		d.drawName(c, name, last[name], at[i])
	}
}

// drawName writes a name at a height, and leads to the last point of its line, if it has one.
func (d *panelDrawing) drawName(c draw.Canvas, name string, last vg.Point, y vg.Length) {
	look := d.styles[name]
	x := c.Max.X + 14
	if last.X > 0 {
		lead := draw.LineStyle{Color: look.color, Width: 0.6}
		c.StrokeLine2(lead, last.X+markerRadius+1, last.Y, x-1, y)
	}
	if look.width == referenceWidth {
		c.StrokeLine2(look.line(), x, y, x+6, y)
	} else {
		look.draw(&c, vg.Point{X: x + 3, Y: y}, false)
	}
	style := letters(labelSize, foreground, false)
	style.YAlign = draw.YCenter
	for len(name) > 1 && style.Width(name) > mostNameRoom-28 {
		runes := []rune(name)
		name = string(runes[:len(runes)-2]) + "…"
	}
	c.FillText(style, vg.Point{X: x + 9, Y: y + 0.5}, name)
}
