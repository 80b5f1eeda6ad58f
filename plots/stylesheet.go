package plots

import (
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"slices"
	"strings"
)

// A stylesheet collects the styles of all pictures of a page: each style once, as a class, with the
// colours as variables that a dark page sets differently.
type stylesheet struct {
	styles []string
}

// How gonum's SVG canvas writes a style, and the element that an SVG document begins with.
var (
	styleAttribute = regexp.MustCompile(`\s+style="([^"]*)"`)
	svgStart       = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*" (viewBox="[^"]*")[^>]*>`)
)

// inlineSVG draws a chart as an element of a page, with classes instead of styles.
func (s *stylesheet) inlineSVG(c Chart) (template.HTML, error) {
	svg, err := c.SVG()
	if err != nil {
		return "", err
	}
	text := styleAttribute.ReplaceAllStringFunc(string(svg), func(attribute string) string {
		return fmt.Sprintf(` class="p%d"`, s.class(styleAttribute.FindStringSubmatch(attribute)[1]))
	})
	label := template.HTMLEscapeString(c.Title)
	text = svgStart.ReplaceAllString(text, `<svg class="plot" role="img" aria-label="`+label+`" $1>`)
	return template.HTML(text), nil // the canvas escapes what it writes; the label is escaped here
}

// class returns the number of a style, a new one for a new style.
func (s *stylesheet) class(style string) int {
	if i := slices.Index(s.styles, style); i >= 0 {
		return i
	}
	s.styles = append(s.styles, style)
	return len(s.styles) - 1
}

// css returns the CSS of all styles.
func (s *stylesheet) css() template.CSS {
	var css strings.Builder
	var light, dark strings.Builder // the colours of a light and of a dark page
	for _, p := range darkColours {
		fmt.Fprintf(&light, "%s:%s;", variableName(p.light), hex(p.light))
		fmt.Fprintf(&dark, "%s:%s;", variableName(p.light), hex(p.dark))
	}
	fmt.Fprintf(&css, ":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n", light.String(), dark.String())
	for i, style := range s.styles {
		fmt.Fprintf(&css, "svg .p%d{%s}\n", i, hexColour.ReplaceAllStringFunc(style, cssVariable))
	}
	return template.CSS(css.String()) // of this package's own making
}

// hexColour matches a colour in a style.
var hexColour = regexp.MustCompile(`#[0-9A-F]{6}`)

// cssVariable returns the variable for a colour of a picture. The canvas recovers a transparent
// colour from its premultiplied channels, each of which may be off by a little.
func cssVariable(written string) string {
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= 4 }
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

// darkColours maps each colour of a picture to a lighter one of the same hue for a dark page.
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

// hex writes a colour as gonum's SVG canvas writes it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

func variableName(c color.RGBA) string { return strings.ToLower("--plot-" + hex(c)[1:]) }
