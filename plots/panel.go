package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

type panelDrawing struct {
	*picture
	panel  Panel
	title  []string
	area   vg.Rectangle // where series are drawn: inside the axes
	y      fitted
	shift  map[string]vg.Length // how far each series is moved, by its name
	labels bool                 // the Y axis has labels
	names  bool                 // the names of the lines stand to the right of the panel
}

func (p *picture) newPanel(i int, content Panel) *panelDrawing {
	column, row := i%p.columns, i/p.columns
	d := &panelDrawing{picture: p, panel: content, title: p.panelTitles[i], shift: p.shifts()}
	d.labels = column == 0 || content.Y != nil
	endsFirstRow := i == min(p.columns, len(p.Panels))-1
	d.names = p.nameRoom > 0 && endsFirstRow
	d.y = p.yOf(content)
	left := margin + p.axisRoom + vg.Length(column)*(p.areaWidth+gap)
	if content.Y != nil {
		left += vg.Length(column) * p.axisRoom
	}
	top := p.height - p.header - vg.Length(row)*(p.rowHeight()+gap) - p.titleRoom
	d.area.Min = vg.Point{X: left, Y: top - p.areaHeight}
	d.area.Max = vg.Point{X: left + p.areaWidth, Y: top}
	return d
}

// atX and atY return where in the picture a position on an axis lies.
func (d *panelDrawing) atX(position float64) vg.Length {
	share := (position - d.x.min) / (d.x.max - d.x.min)
	return d.area.Min.X + vg.Length(share)*d.areaWidth
}

func (d *panelDrawing) atY(position float64) vg.Length {
	share := (position - d.y.min) / (d.y.max - d.y.min)
	return d.area.Min.Y + vg.Length(share)*d.areaHeight
}

// shifts returns how far to move each series to the right, by the name of the series. Points at the
// same place on the X axis then do not cover each other.
func (p *picture) shifts() map[string]vg.Length {
	var moved []string
	for _, s := range p.Chart.series() {
		if !s.Reference && !slices.Contains(moved, s.Name) {
			moved = append(moved, s.Name)
		}
	}
	n := vg.Length(len(moved))
	step := vg.Length(2)
	if len(p.X.Places) == 1 {
		step = 10
	}
	// Make the step so small that all series fit between two places.
	step = min(step, 0.7*p.areaWidth/vg.Length(p.x.max-p.x.min)/max(n, 1))
	out := make(map[string]vg.Length)
	for i, name := range moved {
		out[name] = (vg.Length(i) - (n-1)/2) * step
	}
	return out
}

// draw draws the panel from back to front.
func (d *panelDrawing) draw(c draw.Canvas) {
	d.drawTitle(c)
	d.drawAxes(c)
	d.failing(c)
	guide := draw.LineStyle{Color: muted, Width: 0.8, Dashes: []vg.Length{3, 2}}
	for _, value := range d.panel.Guides {
		y := d.atY(d.y.at(value))
		c.StrokeLine2(guide, d.area.Min.X, y, d.area.Max.X, y)
	}
	for _, reference := range []bool{true, false} {
		for _, s := range d.panel.Series {
			if s.Reference == reference {
				d.drawSeries(c, s)
			}
		}
	}
	if d.names {
		d.drawNames(c)
	}
}

func (d *panelDrawing) drawTitle(c draw.Canvas) {
	style := panelTitle()
	style.XAlign = draw.XCenter
	at := vg.Point{X: (d.area.Min.X + d.area.Max.X) / 2, Y: d.area.Max.Y + 6}
	for _, line := range slices.Backward(d.title) {
		c.FillText(style, at, line)
		at.Y += smallRow
	}
}

// drawAxes draws both axes with their labels, and a grid line at each label.
func (d *panelDrawing) drawAxes(c draw.Canvas) {
	low, high := d.area.Min, d.area.Max
	grid := draw.LineStyle{Color: faint, Width: 0.7}
	label := regular(labelSize, foreground)
	label.XAlign = draw.XCenter
	label.YAlign = draw.YTop
	for _, tick := range d.x.ticks {
		x := d.atX(tick.Value)
		c.StrokeLine2(grid, x, low.Y, x, high.Y)
		c.FillText(label, vg.Point{X: x, Y: low.Y - labelGap}, tick.Label)
	}
	label.XAlign = draw.XRight
	label.YAlign = draw.YCenter
	for _, tick := range d.y.ticks {
		y := d.atY(tick.Value)
		c.StrokeLine2(grid, low.X, y, high.X, y)
		if d.labels {
			c.FillText(label, vg.Point{X: low.X - labelGap, Y: y + 0.7}, tick.Label)
		}
	}
	axis := draw.LineStyle{Color: muted, Width: 0.6}
	c.StrokeLine2(axis, low.X, low.Y, high.X, low.Y)
	c.StrokeLine2(axis, low.X, low.Y, low.X, high.Y)
	text := regular(9, muted)
	text.XAlign = draw.XCenter
	c.FillText(text, vg.Point{X: (low.X + high.X) / 2, Y: low.Y - belowPanel + 4}, d.x.Label)
	if d.labels {
		text.Rotation = math.Pi / 2
		text.YAlign = draw.YTop
		c.FillText(text, vg.Point{X: low.X - d.axisRoom, Y: (low.Y + high.Y) / 2}, d.y.Label)
	}
}

// A placed is a point with its position in the picture, and with the heights of both ends of its
// interval.
type placed struct {
	Point
	at        vg.Point
	low, high vg.Length
}

func (d *panelDrawing) place(s Series) []placed {
	var out []placed
	for _, p := range s.Points {
		if !p.finite() {
			continue
		}
		out = append(out, placed{
			Point: p,
			at:    vg.Point{X: d.atX(float64(p.X)) + d.shift[s.Name], Y: d.atY(d.y.at(p.Y))},
			low:   d.atY(d.y.at(p.Low)),
			high:  d.atY(d.y.at(p.High)),
		})
	}
	return out
}

// drawSeries draws one series: its line, then its points with their intervals.
func (d *panelDrawing) drawSeries(c draw.Canvas, s Series) {
	look := d.styles[s.Name]
	points := d.place(s)
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
		d.hovers = append(d.hovers, hover{at: p.at, text: d.describe(s, p.Point)})
		if !s.Reference || !joined || p.Doubt {
			look.draw(&c, p.at, p.Doubt)
		}
		label := p.at.Add(vg.Point{X: markerRadius + 3, Y: markerRadius})
		c.FillText(regular(labelSize, foreground), label, p.Label)
	}
}

// draw draws the marker of a style. The marker is hollow for a point in doubt.
func (s style) draw(c *draw.Canvas, at vg.Point, hollow bool) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: s.color, Radius: markerRadius, Shape: s.marker}, at)
	if hollow {
		inner := draw.GlyphStyle{Color: background, Radius: 0.55 * markerRadius, Shape: s.marker}
		c.DrawGlyphNoClip(inner, at)
	}
}

func (d *panelDrawing) describe(s Series, p Point) string {
	figure := d.y.Format(p.Y)
	if p.hasBar() {
		figure += fmt.Sprintf(" [%s, %s]", d.y.Format(p.Low), d.y.Format(p.High))
	}
	samples := ""
	if p.Samples > 0 {
		samples = results.FormatCount(p.Samples, cmp.Or(p.Sample, "sample"))
	}
	doubt := ""
	if p.Doubt {
		doubt = "in doubt"
	}
	return view.JoinParts(s.Name, d.X.Format(float64(p.X)), figure, samples, doubt, p.Label)
}

// failing shades the part of the panel in which a server fails, and writes into that part how the
// server fails.
func (d *panelDrawing) failing(c draw.Canvas) {
	if d.panel.Fails == nil {
		return
	}
	left := d.atX(float64(d.panel.Fails.From) - 0.5)
	from := vg.Point{X: left, Y: d.area.Min.Y}
	c.SetColor(color.NRGBA{red.R, red.G, red.B, 0x1a})
	c.Fill(vg.Rectangle{Min: from, Max: d.area.Max}.Path())
	style := bold(labelSize, red)
	if from.X+style.Width(d.panel.Fails.How)+6 > d.area.Max.X {
		style.Rotation = math.Pi / 2
		style.YAlign = draw.YTop
	}
	c.FillText(style, from.Add(vg.Point{X: 3, Y: 4}), d.panel.Fails.How)
}

// drawNames writes the names of all series to the right of the panel, each near the last point of
// its series.
func (d *panelDrawing) drawNames(c draw.Canvas) {
	last := make(map[string]vg.Point)
	for _, s := range d.panel.Series {
		if points := d.place(s); len(points) > 0 {
			last[s.Name] = points[len(points)-1].at
		}
	}
	names := d.Chart.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(last[a].Y, last[b].Y) })
	var at []vg.Length
	for _, name := range names {
		at = append(at, last[name].Y)
	}
	at = spread(at, nameRow, d.area.Min.Y+nameRow/2, d.area.Max.Y-nameRow/2)
	for i, name := range names {
		if end, drawn := last[name]; drawn {
			lead := draw.LineStyle{Color: d.styles[name].color, Width: 0.6}
			c.StrokeLine2(lead, d.area.Max.X, end.Y, d.area.Max.X+13, at[i])
		}
		d.drawName(c, name, vg.Point{X: d.area.Max.X + 14, Y: at[i]})
	}
}

// drawName writes the name of a series after its marker. It shortens a name that is too wide.
func (p *picture) drawName(c draw.Canvas, name string, at vg.Point) {
	p.styles[name].draw(&c, at.Add(vg.Point{X: 3}), false)
	style := regular(labelSize, foreground)
	style.YAlign = draw.YCenter
	for len(name) > 1 && style.Width(name) > mostNameRoom-besideName {
		runes := []rune(name)
		name = string(runes[:len(runes)-2]) + "…"
	}
	c.FillText(style, at.Add(vg.Point{X: 9, Y: 0.5}), name)
}
