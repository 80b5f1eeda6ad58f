package plots

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A picture is 600 points wide: 800 pixels at 96 to the inch. On a page each panel is one of its own,
// so narrow that its letters can be read on a phone.
const (
	pictureWidth   = vg.Length(600)
	pagePanelWidth = vg.Length(360)
)

// Room around and between the parts of a picture, in points.
const (
	margin      = vg.Length(12)
	titleSize   = vg.Length(13)
	smallSize   = vg.Length(8.5)
	lineHeight  = vg.Length(11.5)
	legendSize  = vg.Length(9)
	legendRow   = vg.Length(14)
	swatchWidth = vg.Length(26)
	gapX, gapY  = vg.Length(14), vg.Length(12)
	besidePanel = vg.Length(70) // takes what is written beside or below the lines of a panel
)

// layout arranges the parts of a picture: title and subtitle, the panels in a grid, the legend
// below them where no line can run through it, and the notes.
type layout struct {
	chart         Chart
	axes          []axes // of each panel
	columns, rows int
	legend        [][]Series // by row
	notes         []string   // wrapped to the picture's width
	subtitle      []string
	page          bool // each panel is a picture of its own
}

func newLayout(c Chart, page bool) layout {
	columns := c.Columns
	if columns == 0 {
		columns = 2
		if len(c.Panels) == 3 {
			columns = 3
		}
	}
	columns = max(1, min(columns, len(c.Panels), 3))
	f := layout{chart: c, columns: columns, rows: (len(c.Panels) + columns - 1) / columns, page: page}
	width := (pictureWidth-2*margin+gapX)/vg.Length(columns) - gapX
	if page {
		width = pagePanelWidth
	}
	for i := range c.Panels {
		f.axes = append(f.axes, newAxes(c, i, columns, width))
	}
	if !f.nameLines(width) {
		f.legend = c.legendRows()
	}
	f.subtitle, f.notes = wrapLines(c.Subtitle), wrapLines(c.Notes)
	return f
}

// nameLines has lines named at their ends if all panels have the room. A legend names them elsewhere.
func (f layout) nameLines(width vg.Length) bool {
	names := f.chart.legend()
	// the room that the names take behind the ends of their lines
	style := textStyle(labelSize, foreground, false)
	widths := stat.Map(names, func(s Series) vg.Length { return style.Width(s.Name) })
	room := slices.Max(append(widths, 0)) + 16
	if len(names) < 2 || room > width/4 {
		return false
	}
	for i, p := range f.chart.Panels {
		if _, _, _, ok := f.axes[i].nameRows(p, 0, f.panelHeight()-besidePanel); !ok {
			return false
		}
	}
	share := float64(room / (width - besidePanel - room))
	for i := range f.axes {
		a := &f.axes[i]
		a.direct, a.x = true, f.chart.fitX(width-room)
		a.x.max += share * (a.x.max - a.x.min)
	}
	return true
}

// panelHeight returns a lower height for panels side by side, and for a list of categories the
// height that it needs.
func (f layout) panelHeight() vg.Length {
	switch n := len(f.chart.Y.Categories); {
	case n > 0:
		return 60 + 18*vg.Length(n)
	case f.columns == 1 && !f.page:
		return 280
	}
	return 240
}

func (f layout) header() vg.Length {
	return margin + titleSize + 6 + vg.Length(len(f.subtitle))*lineHeight + 8
}

func (f layout) footer() vg.Length {
	h := margin + 6 + vg.Length(len(f.legend))*legendRow
	if len(f.notes) > 0 {
		h += 4 + vg.Length(len(f.notes))*lineHeight
	}
	return h
}

// panels draws each panel as an element of a page, which tells its script where the axes are.
func (f layout) panels(sheet *stylesheet) []template.HTML {
	var out []template.HTML
	for i, p := range f.chart.Panels {
		on := newSVGCanvas(pagePanelWidth, f.panelHeight(), sheet)
		c := draw.Crop(draw.NewCanvas(on, on.width, on.height), 2, -10, 2, -4)
		drawn := f.axes[i].plot(p, true)
		drawn.Draw(c)
		data := drawn.DataCanvas(c)
		side := func(name string, a Axis, r fittedScale, from, to vg.Length) string {
			return fmt.Sprintf(`data-%s="%s|%s|%.6g|%.6g|%s|%s"`, name, a.Scale, a.Unit, r.min, r.max, number(from), number(to))
		}
		out = append(out, on.element("plot", view.JoinParts(f.chart.Title, p.Title),
			side("x", f.chart.X, f.axes[i].x, data.Min.X, data.Max.X),
			side("y", f.axes[i].yAxis, f.axes[i].y, on.height-data.Min.Y, on.height-data.Max.Y)))
	}
	return out
}

// drawOn draws the picture on a canvas of its size.
func (f layout) drawOn(c draw.Canvas) {
	c.SetColor(background)
	c.Fill(c.Rectangle.Path())
	y := c.Max.Y - margin - titleSize
	c.FillText(textStyle(titleSize, foreground, true), vg.Point{X: margin, Y: y}, f.chart.Title)
	smallPrint(c, f.subtitle, y-6)
	// the panels
	tiles := draw.Tiles{Cols: f.columns, Rows: f.rows, PadX: gapX, PadY: gapY}
	plots := make([]*plot.Plot, f.rows*f.columns) // nil behind the last panel
	for i, p := range f.chart.Panels {
		plots[i] = f.axes[i].plot(p, i%f.columns == 0)
	}
	within := draw.Crop(c, margin, -margin, f.footer(), -f.header())
	canvases := plot.Align(slices.Collect(slices.Chunk(plots, f.columns)), tiles, within)
	for i := range f.chart.Panels {
		plots[i].Draw(canvases[i/f.columns][i%f.columns])
	}
	// the legend, and the notes
	below := f.footer() - 6
	for _, row := range f.legend {
		below -= legendRow
		x := margin
		for _, s := range row {
			f.swatch(c, s, vg.Point{X: x, Y: below + legendRow/2})
			style := textStyle(legendSize, foreground, false)
			style.YAlign = draw.YCenter
			c.FillText(style, vg.Point{X: x + swatchWidth + 4, Y: below + legendRow/2}, s.title())
			x += entryWidth(s)
		}
	}
	smallPrint(c, f.notes, below-4)
}

// smallPrint writes lines below y.
func smallPrint(c draw.Canvas, lines []string, y vg.Length) {
	for _, line := range lines {
		y -= lineHeight
		c.FillText(textStyle(smallSize, muted, false), vg.Point{X: margin, Y: y + 3}, line)
	}
}

// swatch draws a legend's sample of a series, with its left end at a point.
func (f layout) swatch(c draw.Canvas, s Series, at vg.Point) {
	l := f.axes[0].styles[s.Name]
	if s.Shape != Dots {
		c.StrokeLine2(l.line(), at.X, at.Y, at.X+swatchWidth, at.Y)
	}
	if s.Shape == Dots || !s.Reference {
		c.DrawGlyphNoClip(l.glyph(markerRadius), vg.Point{X: at.X + swatchWidth/2, Y: at.Y})
	}
}

func (s Series) title() string {
	if s.Reference && isRaw(s.Name) {
		return s.Name + " (reference)"
	}
	return s.Name
}

func entryWidth(s Series) vg.Length {
	return swatchWidth + 4 + textStyle(legendSize, foreground, false).Width(s.title()) + 16
}

// legendRows breaks the legend to the picture's width. It leaves out the series that the axis names
// already; a single series needs no legend.
func (c Chart) legendRows() [][]Series {
	series := slices.DeleteFunc(c.legend(), func(s Series) bool { return slices.Contains(c.X.Categories, s.Name) })
	if len(series) == 1 {
		return nil
	}
	var rows [][]Series
	x := pictureWidth
	for _, s := range series {
		if x += entryWidth(s); len(rows) == 0 || x > pictureWidth-margin {
			rows = append(rows, nil)
			x = margin + entryWidth(s)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
	}
	return rows
}

// wrapLines breaks lines at spaces by the width of their letters, with room for a wider typeface than
// this one, which not every machine has.
func wrapLines(lines []string) []string {
	style := textStyle(smallSize, muted, false)
	fits := func(part string) bool { return 1.1*style.Width(part) <= pictureWidth-2*margin }
	return slices.Concat(stat.Map(lines, func(line string) []string { return view.WrapText(line, fits) })...)
}
