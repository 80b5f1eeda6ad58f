package plots

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Neutral colours of a picture.
var (
	background = color.RGBA{0xff, 0xff, 0xff, 0xff}
	foreground = color.RGBA{0x24, 0x29, 0x2f, 0xff}
	muted      = color.RGBA{0x57, 0x60, 0x6a, 0xff}
	faint      = color.RGBA{0xe3, 0xe6, 0xea, 0xff}
	red        = color.RGBA{0xa4, 0x0e, 0x26, 0xff} // where a server fails; no series has it
)

// colors are the colours of series. The first six, from Okabe and Ito ("Color Universal Design",
// 2008), suit the colour-blind.
var colors = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0x56, 0xb4, 0xe9, 0xff}, // sky
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x7a, 0x4b, 0x1e, 0xff}, // brown, because their yellow is too pale

	// for series that are no framing
	{0x6a, 0x3d, 0x9a, 0xff}, // violet
	{0x7f, 0x7a, 0x00, 0xff}, // olive
	{0x6f, 0x87, 0xa0, 0xff}, // slate
	{0x0b, 0x6e, 0x7a, 0xff}, // teal
}

// framingColors is how many of the colors are for framings.
const framingColors = 7

// noFraming is the style index of series that are not about a framing, and also the index of the
// first colour for them.
const noFraming = framingColors

var markers = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.BoxGlyph{},
	draw.PyramidGlyph{},
	// diamond, pyramid upside down, bar, hexagon
	polygon{{Y: 1.25}, {X: 1.25}, {Y: -1.25}, {X: -1.25}},
	polygon{{Y: -1.15}, {X: 1, Y: 0.75}, {X: -1, Y: 0.75}},
	polygon{{X: -1.2, Y: 0.6}, {X: 1.2, Y: 0.6}, {X: 1.2, Y: -0.6}, {X: -1.2, Y: -0.6}},
	polygon{{X: -1.5}, {X: -0.65, Y: 0.85}, {X: 0.65, Y: 0.85}, {X: 1.5},
		{X: 0.65, Y: -0.85}, {X: -0.65, Y: -0.85}},
}

// dash marks the points of a reference, also where no line joins them.
var dash = polygon{{X: -1.1, Y: 0.4}, {X: 1.1, Y: 0.4}, {X: 1.1, Y: -0.4}, {X: -1.1, Y: -0.4}}

// A style is what a series looks like. In a chart, no two series have the same colour and also the
// same marker.
type style struct {
	color  color.RGBA
	width  vg.Length // of the line
	marker draw.GlyphDrawer
}

// fixedStyles has a number for each framing, which decides the colour and the marker of the
// framing. Two framings share a number, because they are seldom in one chart.
var fixedStyles = map[string]int{
	"ndjson": 0, "content-length": 1, "chunked": 2, "length-prefix": 3, "adaptive": 4,
	"ndjson-bytewise": 5, "ndjson-rescan": 6, "chunked+zstd": 6,
}

// family returns the part of a series' name that decides its style: "chunked" of "60 KiB chunks".
func family(name string) string {
	if i := strings.IndexAny(name, ":=/,"); i >= 0 {
		name = name[:i]
	}
	if strings.HasSuffix(name, " chunks") {
		return "chunked"
	}
	name, _, _ = strings.Cut(name, " of ") // "adaptive of 60 KiB"
	return name
}

// assignStyles gives each series its style. A framing has the same colour in all charts. If it has
// several lines, for several chunk sizes, their markers differ.
func assignStyles(c Chart) map[string]style {
	styles := make(map[string]style)
	used := make(map[int]int) // by style index: how many names have it so far
	assign := func(name string) {
		index, known := fixedStyles[family(name)]
		marker := index
		if !known {
			index = noFraming
			marker = 0
			for marker < framingColors && used[marker] > 0 { // a framing has it
				marker++
			}
		}
		n := used[index]
		used[index]++
		styles[name] = style{
			color:  colors[colorAt(index, n)],
			width:  lineWidth,
			marker: markers[(marker+n)%len(markers)],
		}
	}
	// Series with a fixed style come first, so that each gets the marker of its index.
	for _, s := range c.series() {
		_, known := fixedStyles[s.Name]
		_, again := styles[s.Name]
		switch {
		case s.Reference:
			styles[s.Name] = style{foreground, referenceWidth, dash}
		case !again && (known || s.Name == "60 KiB chunks"): // the usual chunk size
			assign(s.Name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(c.names())) {
		if _, known := styles[name]; !known {
			assign(name)
		}
	}
	return styles
}

// colorAt returns the index in colors for one of the series with the same style index: the n-th,
// counted from 0. The series of a framing have one colour until all markers are used.
func colorAt(index, n int) int {
	others := len(colors) - framingColors
	if index == noFraming {
		return noFraming + n%others
	}
	round := n / len(markers)
	if round == 0 {
		return index
	}
	if round <= others {
		return framingColors + round - 1
	}
	return (index + round - others) % framingColors
}

func (s style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: s.width}
}

// A polygon is a filled marker with the given corners, in units of the marker's radius.
type polygon []vg.Point

// DrawGlyph implements [draw.GlyphDrawer].
func (g polygon) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	for i, corner := range g {
		to := at.Add(corner.Scale(s.Radius))
		if i == 0 {
			p.Move(to)
		} else {
			p.Line(to)
		}
	}
	p.Close()
	c.Fill(p)
}

// regular returns a text style in the typeface that all pictures use. size is in points.
func regular(size vg.Length, c color.Color) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	return text.Style{
		Color:   c,
		Font:    font.From(f, size),
		Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

// bold returns the style that regular returns, but in bold letters.
func bold(size vg.Length, c color.Color) text.Style {
	style := regular(size, c)
	style.Font.Weight = 3 // golang.org/x/image/font.WeightBold
	return style
}
