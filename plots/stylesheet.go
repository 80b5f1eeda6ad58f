package plots

import (
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"slices"
	"strings"
)

// A wardrobe holds what the pictures of one page wear: each style once, as a
// class, with the colours as variables that a dark page sets otherwise.
type stylesheet struct {
	styles []string
}

// styleAttribute and opening are how gonum's SVG canvas writes a style, and
// the element that a document begins with.
var (
	styleAttribute = regexp.MustCompile(`\s+style="([^"]*)"`)
	svgStart       = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*" (viewBox="[^"]*")[^>]*>`)
)

// estimator draws a chart as an element of a page, without a style of its own.
func (w *stylesheet) inlineSVG(c Chart) (template.HTML, error) {
	svg, err := c.SVG()
	if err != nil {
		return "", err
	}
	text := styleAttribute.ReplaceAllStringFunc(string(svg), func(attribute string) string {
		return fmt.Sprintf(` class="p%d"`, w.class(styleAttribute.FindStringSubmatch(attribute)[1]))
	})
	label := template.HTMLEscapeString(c.Title)
	text = svgStart.ReplaceAllString(text, `<svg class="plot" role="img" aria-label="`+label+`" $1>`)
	return template.HTML(text), nil // the canvas escapes what it writes; the label is escaped here
}

// class numbers a style.
func (w *stylesheet) class(style string) int {
	if i := slices.Index(w.styles, style); i >= 0 {
		return i
	}
	w.styles = append(w.styles, style)
	return len(w.styles) - 1
}

// css is the CSS of all styles given out.
func (w *stylesheet) css() template.CSS {
	var css strings.Builder
	light, dark := colourVariables()
	fmt.Fprintf(&css, ":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n", light, dark)
	for i, style := range w.styles {
		fmt.Fprintf(&css, "svg .p%d{%s}\n", i, hexColour.ReplaceAllStringFunc(style, cssVariable))
	}
	return template.CSS(css.String()) // of this package's own making
}

// hexColour is a colour in a style.
var hexColour = regexp.MustCompile(`#[0-9A-F]{6}`)

// cssVariable is the variable for a colour of a picture. The canvas works out the
// colour under an opacity from what is left of it, so a channel may be off by
// a little.
func cssVariable(written string) string {
	var c color.RGBA
	if _, err := fmt.Sscanf(written, "#%02X%02X%02X", &c.R, &c.G, &c.B); err != nil {
		return written
	}
	for _, p := range darkColours {
		if near(c.R, p.light.R) && near(c.G, p.light.G) && near(c.B, p.light.B) {
			return "var(" + variableName(p.light) + ")"
		}
	}
	return written
}

func near(a, b uint8) bool { return max(a, b)-min(a, b) <= 4 }

// darkColours is what each colour of a picture turns to on a dark page: lighter, of
// the same hue.
var darkColours = []struct{ light, dark color.RGBA }{
	{background, color.RGBA{0x16, 0x1b, 0x22, 0xff}},
	{foreground, color.RGBA{0xe6, 0xed, 0xf3, 0xff}},
	{muted, color.RGBA{0x9d, 0xa7, 0xb3, 0xff}},
	{faint, color.RGBA{0x2d, 0x33, 0x3b, 0xff}},
	{blue, color.RGBA{0x4d, 0xa9, 0xe0, 0xff}},
	{vermillion, color.RGBA{0xf0, 0x8a, 0x45, 0xff}},
	{green, color.RGBA{0x2f, 0xc2, 0x98, 0xff}},
	{purple, color.RGBA{0xe0, 0x9a, 0xc2, 0xff}},
	{sky, color.RGBA{0x7c, 0xc7, 0xf2, 0xff}},
	{orange, color.RGBA{0xf2, 0xb5, 0x3a, 0xff}},
	{brown, color.RGBA{0xc2, 0x91, 0x5f, 0xff}},
}

// colourVariables declare the variables of a light and of a dark page.
func colourVariables() (light, dark string) {
	var l, d strings.Builder
	for _, p := range darkColours {
		fmt.Fprintf(&l, "%s:%s;", variableName(p.light), hex(p.light))
		fmt.Fprintf(&d, "%s:%s;", variableName(p.light), hex(p.dark))
	}
	return l.String(), d.String()
}

// hex is a colour as gonum's SVG canvas writes it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

func variableName(c color.RGBA) string { return strings.ToLower("--plot-" + hex(c)[1:]) }
