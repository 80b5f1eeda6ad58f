package plots

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// Sizes of a picture and its parts, in points. 600 points are 800 pixels at 96 pixels per inch.
const (
	pictureWidth = vg.Length(600)
	phoneWidth   = vg.Length(280)
	margin       = vg.Length(12)
	gap          = vg.Length(14) // between panels
	titleSize    = vg.Length(13)
	titleRow     = vg.Length(17)
	smallSize    = vg.Length(8.5)
	smallRow     = vg.Length(11.5)
	labelSize    = vg.Length(8)
	nameRow      = vg.Length(11) // height of the name beside a line
	besideName   = vg.Length(28) // room before and after a name
	mostNameRoom = vg.Length(170)
	axisTextRow  = vg.Length(14)
	belowPanel   = vg.Length(29) // room for the labels of the X axis, and for the text along it
	labelGap     = vg.Length(4)  // between an axis and its labels

	lineWidth      = vg.Length(1.5)
	referenceWidth = vg.Length(2.2)
	intervalWidth  = vg.Length(1)
	markerRadius   = vg.Length(2.7)
)

// pixelsPerInch is the resolution of a PNG. It is twice the usual 96, for sharp pictures on fine
// screens.
const pixelsPerInch = 192

// SVG draws the chart as an SVG document. A browser shows a text about each point under the mouse.
func (c Chart) SVG() ([]byte, error) { return c.svg(pictureWidth) }

func (c Chart) svg(width vg.Length) ([]byte, error) {
	p, err := newPicture(c, width)
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(width, p.height)
	p.draw(draw.NewCanvas(canvas, width, p.height))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s: %w", c.Name, err)
	}
	// Many machines lack the typeface Liberation Sans. Arial and Helvetica have the same widths.
	svg := strings.ReplaceAll(out.String(), "font-family:Liberation Sans",
		"font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	open := fmt.Sprintf("<svg role=\"img\" aria-label=\"%s\" ", html.EscapeString(c.Title))
	svg = strings.Replace(svg, "<svg ", open, 1)
	svg = strings.Replace(svg, "\n\txmlns:xlink=\"http://www.w3.org/1999/xlink\"", "", 1)
	svg = strings.Replace(svg, "</svg>", p.hoverElements()+"</svg>", 1)
	return []byte(view.Escape(svg)), nil // a program's name may have characters that XML forbids
}

// PNG draws the chart 1600 pixels wide.
func (c Chart) PNG() ([]byte, error) {
	p, err := newPicture(c, pictureWidth)
	if err != nil {
		return nil, err
	}
	size := vgimg.UseWH(pictureWidth, p.height)
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(size, vgimg.UseDPI(pixelsPerInch))}
	p.draw(draw.NewCanvas(canvas, pictureWidth, p.height))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s: %w", c.Name, err)
	}
	return out.Bytes(), nil
}

// A picture is a chart that is being drawn: title, subtitle, rows of panels, notes. On a phone,
// each row has one panel.
type picture struct {
	Chart
	width         vg.Length
	legend        []string // names above the panels; nil if they stand beside a row
	styles        map[string]style
	title         []string // broken into lines, like subtitle and notes
	subtitle      []string
	notes         []string
	columns, rows int
	nameRoom      vg.Length // to the right of the panels
	axisRoom      vg.Length // to the left of a panel whose Y axis has labels
	areaWidth     vg.Length // of a panel inside its axes
	areaHeight    vg.Length
	titleRoom     vg.Length // above a panel
	panelTitles   [][]string
	header        vg.Length
	footer        vg.Length
	height        vg.Length
	x, y          fitted
	hovers        []hover
}

// A hover is a text that a browser shows while the mouse rests at a point of the picture.
type hover struct {
	at   vg.Point
	text string
}

func newPicture(c Chart, width vg.Length) (*picture, error) {
	if len(c.points()) == 0 {
		return nil, fmt.Errorf("draw %s: %w", c.Name, ErrNothingToDraw)
	}
	for _, p := range c.points() {
		if p.X < 0 || p.X >= len(c.X.Places) {
			return nil, fmt.Errorf("draw %s: a point at place %d of the X axis, which has %d",
				c.Name, p.X, len(c.X.Places))
		}
	}
	p := &picture{Chart: c, width: width, styles: assignStyles(c)}
	p.columns = min(len(c.Panels), 3)
	if len(c.Panels) == 4 {
		p.columns = 2
	}
	names := c.names()
	switch {
	case width < pictureWidth:
		p.columns = 1
		if len(names) > 1 {
			p.legend = names
		}
	case len(names) > 1:
		for _, name := range names {
			room := regular(labelSize, foreground).Width(name) + besideName
			p.nameRoom = min(max(p.nameRoom, room), mostNameRoom)
		}
	}
	p.rows = (len(c.Panels) + p.columns - 1) / p.columns
	small := regular(smallSize, muted)
	room := width - 2*margin
	p.title = balance(c.Title, bold(titleSize, foreground), room)
	p.subtitle = breakText(c.Subtitle, small, room)
	p.notes = breakText(c.Notes, small, room)
	p.header = margin + vg.Length(len(p.title))*titleRow + vg.Length(len(p.subtitle))*smallRow +
		vg.Length(len(p.legend))*nameRow + 10
	p.footer = margin + 6 + vg.Length(len(p.notes))*smallRow
	p.y = p.Y.fit(heights(p.Panels), 0)
	p.layOut()
	p.height = p.header + vg.Length(p.rows)*(p.rowHeight()+gap) - gap + p.footer
	p.x = p.X.fit(nil, p.areaWidth)
	return p, nil
}

// layOut divides the room among the panels. All panels have the same size.
func (p *picture) layOut() {
	n := vg.Length(p.columns)
	axes := vg.Length(1) // number of columns with a Y axis of their own
	p.axisRoom = p.labelWidth(p.y)
	if p.Panels[0].Y != nil {
		axes = n
		p.axisRoom = 0
		for _, panel := range p.Panels {
			p.axisRoom = max(p.axisRoom, p.labelWidth(p.yOf(panel)))
		}
	}
	room := p.width - 2*margin - p.nameRoom - (n-1)*gap
	p.areaWidth = (room - axes*p.axisRoom) / n
	p.areaHeight = 185
	if p.columns == 1 {
		p.areaHeight = 225
	}
	for _, panel := range p.Panels {
		title := breakText(nonEmpty(panel.Title), panelTitle(), p.areaWidth+gap)
		p.panelTitles = append(p.panelTitles, title)
		p.titleRoom = max(p.titleRoom, vg.Length(len(title))*smallRow+6)
	}
}

func (p *picture) labelWidth(y fitted) vg.Length {
	style := regular(labelSize, foreground)
	width := vg.Length(0)
	for _, tick := range y.ticks {
		width = max(width, style.Width(tick.Label)+labelGap)
	}
	if y.Label != "" {
		width += axisTextRow
	}
	return width
}

// yOf returns the panel's own Y axis, or the Y axis of the chart if the panel has none.
func (p *picture) yOf(panel Panel) fitted {
	if panel.Y == nil {
		return p.y
	}
	return panel.Y.fit(heights([]Panel{panel}), 0)
}

// rowHeight returns the height of a row of panels, with the texts above and below the panels.
func (p *picture) rowHeight() vg.Length { return p.titleRoom + p.areaHeight + belowPanel }

// heights lists all values that the panels have to show along the Y axis.
func heights(panels []Panel) []float64 {
	var ys []float64
	for _, panel := range panels {
		for _, s := range panel.Series {
			for _, point := range s.Points {
				ys = append(ys, point.Y)
				if point.hasBar() {
					ys = append(ys, point.Low, point.High)
				}
			}
		}
		ys = append(ys, panel.Guides...)
	}
	return ys
}

// hasBar reports whether the interval of a point is drawn. A very wide interval of a point in doubt
// is not, because it would stretch the axis.
func (p Point) hasBar() bool {
	isWide := max(p.High-p.Y, p.Y-p.Low) > p.Y*stat.MostSpread/100
	return p.Low != p.High && !(p.Doubt && isWide)
}

func (p *picture) draw(c draw.Canvas) {
	c.SetColor(background)
	c.Fill(c.Rectangle.Path())
	y := c.Max.Y - margin + (titleRow - titleSize)
	for _, line := range p.title {
		y -= titleRow
		c.FillText(bold(titleSize, foreground), vg.Point{X: margin, Y: y}, line)
	}
	smallPrint(c, p.subtitle, y-2)
	y -= vg.Length(len(p.subtitle))*smallRow + 2
	for _, name := range p.legend {
		y -= nameRow
		p.drawName(c, name, vg.Point{X: margin, Y: y})
	}
	for i, panel := range p.Panels {
		p.newPanel(i, panel).draw(c)
	}
	smallPrint(c, p.notes, p.footer-6)
}

func smallPrint(c draw.Canvas, lines []string, y vg.Length) {
	for _, line := range lines {
		y -= smallRow
		c.FillText(regular(smallSize, muted), vg.Point{X: margin, Y: y}, line)
	}
}

func panelTitle() text.Style { return bold(9.5, foreground) }

// hoverElements returns the SVG elements of all hovers. Each is a transparent circle with a text.
func (p *picture) hoverElements() string {
	var out strings.Builder
	for _, h := range p.hovers {
		fmt.Fprintf(&out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"transparent\">"+
			"<title>%s</title></circle>\n", h.at.X, p.height-h.at.Y, html.EscapeString(h.text))
	}
	return out.String()
}

// Factors by which texts may be wider on a machine that lacks the typeface Liberation Sans. DejaVu
// Sans, for example, is wider by an eighth, or by a fifth in bold.
const (
	widerType     = vg.Length(1.15)
	widerBoldType = vg.Length(1.25)
)

// units matches a word that is the unit of the number before it.
var units = regexp.MustCompile(`^(%|[nµm]?s|[kKMGT]?i?B(/s)?)[,.;)]*$`)

// breakText breaks lines at spaces, so that none is wider than width, even in another typeface.
func breakText(lines []string, in text.Style, width vg.Length) []string {
	wider := widerType
	if in.Font.Weight > 0 {
		wider = widerBoldType
	}
	var out []string
	for _, line := range lines {
		current := ""
		for _, word := range strings.Fields(line) {
			longer := strings.TrimSpace(current + " " + word)
			isUnit := units.MatchString(word) // stays on the line of its number
			if current != "" && !isUnit && wider*in.Width(longer) > width {
				out = append(out, current)
				longer = word
			}
			current = longer
		}
		out = append(out, current)
	}
	return out
}

// balance breaks a text into as few lines as breakText does, but into lines of about the same
// length, because a single word in the last line looks like a mistake.
func balance(line string, in text.Style, width vg.Length) []string {
	out := breakText([]string{line}, in, width)
	for narrow := width; narrow > width/2; narrow -= 10 {
		lines := breakText([]string{line}, in, narrow)
		if len(lines) > len(out) {
			break
		}
		out = lines
	}
	return out
}

// spread moves lines of text apart so that none covers another, and all lie between low and high.
// The middles of the lines must be ascending.
func spread(middles []vg.Length, height, low, high vg.Length) []vg.Length {
	out := slices.Clone(middles)
	for i := range out {
		out[i] = max(out[i], low)
		low = out[i] + height
	}
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = min(out[i], high)
		high = out[i] - height
	}
	return out
}
