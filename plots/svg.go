package plots

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pipebench/pipebench/results/view"
)

// An svgCanvas writes what is drawn on it as SVG, in points, one to a unit. A file has each style
// with its element. A page has the styles once, and names what its script has to know (see [group]).
type svgCanvas struct {
	vg.Canvas     // of what no picture has: another picture within it, a shift and a scale
	width, height vg.Length
	page          *stylesheet // nil for a file
	body          bytes.Buffer
	states        []svgState // the last one counts
}

type svgState struct {
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	angle  float64 // by which all is turned, counterclockwise
}

func newSVGCanvas(width, height vg.Length, page *stylesheet) *svgCanvas {
	return &svgCanvas{width: width, height: height, page: page, states: make([]svgState, 1)}
}

func (c *svgCanvas) state() *svgState { return &c.states[len(c.states)-1] }

// Size implements [vg.CanvasSizer].
func (c *svgCanvas) Size() (w, h vg.Length) { return c.width, c.height }

// SetLineWidth implements [vg.Canvas].
func (c *svgCanvas) SetLineWidth(w vg.Length) { c.state().width = w }

// SetLineDash implements [vg.Canvas], without the offset, which no picture has.
func (c *svgCanvas) SetLineDash(dashes []vg.Length, _ vg.Length) { c.state().dashes = dashes }

// SetColor implements [vg.Canvas].
func (c *svgCanvas) SetColor(to color.Color) { c.state().color = to }

// Push implements [vg.Canvas].
func (c *svgCanvas) Push() { c.states = append(c.states, *c.state()) }

// Pop implements [vg.Canvas].
func (c *svgCanvas) Pop() { c.states = c.states[:len(c.states)-1] }

// Rotate implements [vg.Canvas].
func (c *svgCanvas) Rotate(by float64) { c.state().angle += by }

// place writes a place as SVG has it: without the rotation, and y grows downwards.
func (c *svgCanvas) place(p vg.Point, between string) string {
	s, k := math.Sincos(c.state().angle)
	sin, cos := vg.Length(s), vg.Length(k)
	return number(p.X*cos-p.Y*sin) + between + number(c.height-(p.X*sin+p.Y*cos))
}

// number writes a length to a tenth of a point, which is less than a pixel.
func number(v vg.Length) string {
	return strconv.FormatFloat(math.Round(10*float64(v))/10+0, 'f', -1, 64) // + 0 for -0
}

// Stroke implements [vg.Canvas].
func (c *svgCanvas) Stroke(p vg.Path) {
	s := c.state()
	if _, _, _, alpha := s.color.RGBA(); s.width <= 0 || alpha == 0 {
		return
	}
	style := "fill:none;" + paint("stroke", s.color) + ";stroke-width:" + number(s.width)
	for i, d := range s.dashes {
		if i == 0 {
			style += ";stroke-dasharray:"
		} else {
			style += ","
		}
		style += number(d)
	}
	c.path(p, style)
}

// Fill implements [vg.Canvas].
func (c *svgCanvas) Fill(p vg.Path) { c.path(p, paint("fill", c.state().color)) }

// path writes a path of lines and whole circles: pictures have no other curves.
func (c *svgCanvas) path(p vg.Path, style string) {
	var d strings.Builder
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			d.WriteString("M" + c.place(part.Pos, ","))
		case vg.LineComp:
			d.WriteString("L" + c.place(part.Pos, ","))
		case vg.ArcComp: // from the right of the circle
			r := number(part.Radius)
			fmt.Fprintf(&d, "a%s,%s 0 1 0 -%s,0a%s,%s 0 1 0 %s,0", r, r, number(2*part.Radius), r, r, number(2*part.Radius))
		case vg.CloseComp:
			d.WriteString("Z")
		}
	}
	fmt.Fprintf(&c.body, "<path d=\"%s\"%s/>\n", d.String(), c.styled(style))
}

// FillString implements [vg.Canvas]. Not all machines have the typeface: others of the same widths
// stand behind it, and what is wider still is pressed into the width that was reckoned with.
func (c *svgCanvas) FillString(face font.Face, at vg.Point, text string) {
	weight := ""
	if face.Font.Weight > 0 {
		weight = "bold "
	}
	style := fmt.Sprintf("font:%s%spx 'Liberation Sans',Arial,Helvetica,sans-serif;%s", weight, number(face.Font.Size), paint("fill", c.state().color))
	turn := fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, number(face.Width(text)))
	if angle := c.state().angle; angle != 0 {
		turn += fmt.Sprintf(` transform="rotate(%s %s)"`, number(vg.Length(-angle*180/math.Pi)), c.place(at, " "))
	}
	fmt.Fprintf(&c.body, "<text x=\"%s\"%s%s>%s</text>\n", c.place(at, `" y="`), turn, c.styled(style), html.EscapeString(text))
}

func (c *svgCanvas) styled(style string) string {
	if c.page == nil {
		return ` style="` + style + `"`
	}
	i := slices.Index(*c.page, style)
	if i < 0 {
		i = len(*c.page)
		*c.page = append(*c.page, style)
	}
	return ` class="p` + strconv.Itoa(i) + `"`
}

// paint writes a colour as the value of an SVG property.
func paint(property string, with color.Color) string {
	c := color.NRGBAModel.Convert(with).(color.NRGBA)
	text := property + ":" + hex(color.RGBA{c.R, c.G, c.B, 0xff})
	if c.A < 0xff {
		text += fmt.Sprintf(";%s-opacity:%.2g", property, float64(c.A)/0xff)
	}
	return text
}

// WriteTo implements [io.WriterTo]: it writes a whole document.
func (c *svgCanvas) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n"+`<svg width="%spt" height="%spt" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg">`+"\n%s</svg>\n",
		number(c.width), number(c.height), number(c.width), number(c.height), c.body.Bytes())
	return int64(n), err
}

// element returns what was drawn as an element of a page.
func (c *svgCanvas) element(class, label string, attributes ...string) template.HTML {
	open := fmt.Sprintf(`<svg class="%s" viewBox="0 0 %s %s"`, class, number(c.width), number(c.height))
	if label != "" {
		open += fmt.Sprintf(` role="img" aria-label="%s"`, html.EscapeString(label))
	}
	return template.HTML(strings.Join(append([]string{open}, attributes...), " ") + ">\n" + view.Escape(c.body.String()) + "</svg>")
}

// group draws a part of a picture that the script of a page knows by its attributes, and about which
// a browser says the title. Files have it without.
func group(c vg.Canvas, attributes, title string, part func()) {
	svg := svgUnder(c)
	if svg == nil || svg.page == nil {
		part()
		return
	}
	fmt.Fprintf(&svg.body, "<g %s>", attributes)
	if title != "" {
		fmt.Fprintf(&svg.body, "<title>%s</title>", html.EscapeString(title))
	}
	part()
	svg.body.WriteString("</g>\n")
}

// svgUnder returns what a part of a canvas writes to, nil if that is not SVG.
func svgUnder(c vg.Canvas) *svgCanvas {
	switch c := c.(type) {
	case *svgCanvas:
		return c
	case draw.Canvas:
		return svgUnder(c.Canvas)
	case *draw.Canvas:
		return svgUnder(c.Canvas)
	}
	return nil
}

// named are the attributes of what belongs to a series.
func named(series string) string { return fmt.Sprintf(`data-s="%s"`, html.EscapeString(series)) }

// A stylesheet collects the styles of all pictures of a page: each once, as a class, with the
// colours as variables that a dark page sets differently.
type stylesheet []string

// css returns the CSS of all styles.
func (s stylesheet) css() template.CSS {
	var css, light, dark strings.Builder
	var variables []string
	for _, p := range darkColours {
		name := "--plot-" + strings.ToLower(hex(p.light)[1:])
		fmt.Fprintf(&light, "%s:%s;", name, hex(p.light))
		fmt.Fprintf(&dark, "%s:%s;", name, hex(p.dark))
		variables = append(variables, hex(p.light), "var("+name+")")
	}
	fmt.Fprintf(&css, ":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n", light.String(), dark.String())
	for i, style := range s {
		fmt.Fprintf(&css, "svg .p%d{%s}\n", i, strings.NewReplacer(variables...).Replace(style))
	}
	return template.CSS(css.String()) // of this package's own making
}

// hex writes a colour as CSS has it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
