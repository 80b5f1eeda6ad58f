package plots

import (
	"cmp"
	"hash/fnv"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// darkColours maps each colour of a picture to one of the same hue for a dark page.
var darkColours []struct{ light, dark color.RGBA }

// colour returns a colour, given as 0xRRGGBB, and keeps the one that a dark page has in its place.
func colour(light, dark uint32) color.RGBA {
	rgb := func(v uint32) color.RGBA { return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff} }
	darkColours = append(darkColours, struct{ light, dark color.RGBA }{rgb(light), rgb(dark)})
	return rgb(light)
}

// Neutral colours of a picture.
var (
	background = colour(0xffffff, 0x161b22)
	foreground = colour(0x24292f, 0xe6edf3)
	muted      = colour(0x57606a, 0x9da7b3)
	faint      = colour(0xe3e6ea, 0x2d333b)
)

// The colours of the series are those of Okabe and Ito ("Color Universal Design", 2008), which can
// be told apart with every common kind of colour blindness. Brown replaces their yellow, which is
// too pale for a line on white.
var (
	blue       = colour(0x0072b2, 0x4da9e0)
	vermillion = colour(0xd55e00, 0xf08a45)
	green      = colour(0x009e73, 0x2fc298)
	purple     = colour(0xcc79a7, 0xe09ac2)
	sky        = colour(0x56b4e9, 0x7cc7f2)
	orange     = colour(0xe69f00, 0xf2b53a)
	brown      = colour(0x7a4b1e, 0xc2915f)
	red        = colour(0xa40e26, 0xff8e86) // of what fails, never of a series
)

// A seriesStyle is the colour, dash and marker of a series. Any one of the three is enough to tell
// it from its neighbours.
type seriesStyle struct {
	color  color.RGBA
	width  vg.Length // of the line
	dashes []vg.Length
	marker draw.GlyphDrawer
}

// Dashes, in points.
var (
	solid    []vg.Length
	dashed   = []vg.Length{6, 2.5}
	dotted   = []vg.Length{1.5, 2}
	dashDot  = []vg.Length{7, 2, 1.5, 2}
	longDash = []vg.Length{11, 3}
)

// The first styles combine the colour, dash and marker of the same index; further styles use other
// combinations.
var (
	colors  = []color.RGBA{blue, vermillion, green, purple, sky, orange, brown}
	dashes  = [][]vg.Length{solid, dashed, longDash, dashDot, dotted, dashed, dashDot}
	markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, diamond, invertedTriangle, cross, hexagon}
)

// maxStyles is the number of styles that can be told apart: every colour with four markers.
const maxStyles = 28

// styleAt returns the i-th style.
func styleAt(i int) seriesStyle {
	n := len(colors)
	round := i / n
	return seriesStyle{colors[i%n], lineWidth, dashes[(i+round)%n], markers[(i+2*round)%n]}
}

// fixedStyles holds the style of each known name. Every other name (a chunk size, a machine) takes
// one by its hash.
var fixedStyles = map[string]int{
	"ndjson": 0, "content-length": 1, "chunked": 2, "length-prefix": 3, "adaptive": 4, "ndjson-bytewise": 5, "ndjson-rescan": 6, "chunked+zstd": 6,
	"blocking": 0, "poller": 1, "poll": 2, "spin": 3, "sleep": 4,
	"anonymous": 0, "fifo": 1, "socketpair": 2, "named": 3, "unix": 3, "seqpacket": 4, "pty": 5, "ring": 6,
	"same": 0, "apart": 1, "sibling": 2, "far": 3, "free": 4,
	"p50": 0, "p90": 2, "p99": 1, "max": 5, "request": 0, "reply": 1,
	"linux": 0, "darwin": 1, "windows": 2, "freebsd": 3,
}

// family returns the part of a name that decides its style: "chunked" of "chunked:61440", "sleep"
// of "sleep=10ms", "linux" of "linux/amd64".
func family(name string) string { return name[:strings.IndexAny(name+":", ":=/,")] }

// assignStyles gives each series the style of its family if that is free, else the next that no
// other one has. Names with a framing's default size choose first. Given the series of all charts, a
// name looks the same in all of them.
func assignStyles(series []Series) map[string]seriesStyle {
	out := make(map[string]seriesStyle, len(series))
	taken, owner := map[int]bool{}, map[string]string{}
	var rest []string
	for _, s := range slices.SortedStableFunc(slices.Values(series), func(a, b Series) int { return customSize(a.Name) - customSize(b.Name) }) {
		i, known := fixedStyles[family(s.Name)]
		known = known && cmp.Or(owner[family(s.Name)], s.Name) == s.Name
		switch {
		case s.Reference:
			out[s.Name] = seriesStyle{color: foreground, width: referenceWidth, marker: draw.CircleGlyph{}}
		case known:
			taken[i], owner[family(s.Name)] = true, s.Name
			out[s.Name] = styleAt(i)
		default:
			rest = append(rest, s.Name)
		}
	}
	for _, name := range rest {
		if _, styled := out[name]; styled {
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(name)) // never fails
		i := nextFree(int(h.Sum32()%uint32(len(colors))), taken)
		taken[i] = true
		out[name] = styleAt(i)
	}
	return out
}

// customSize returns 0 for a name without a size or with the default one, else 1.
func customSize(name string) int {
	if _, size, ok := strings.Cut(name, ":"); ok && size != "60KiB" {
		return 1
	}
	return 0
}

// nextFree returns the first style from i on that is not taken, i if all are. It tries each round
// of styles before the next.
func nextFree(i int, taken map[int]bool) int {
	n := len(colors)
	for k := range maxStyles {
		if j := k/n*n + (i+k)%n; !taken[j] {
			return j
		}
	}
	return i
}

// line returns the stroke of a style.
func (l seriesStyle) line() draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: l.width, Dashes: l.dashes}
}

// glyph returns the marker of a style.
func (l seriesStyle) glyph(radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color, Radius: radius, Shape: l.marker}
}

// A polygonGlyph is a filled marker with the given corners, in units of the marker's radius.
type polygonGlyph []vg.Point

var (
	diamond          = polygonGlyph{{Y: 1.25}, {X: 1.25}, {Y: -1.25}, {X: -1.25}}
	invertedTriangle = polygonGlyph{{Y: -1.15}, {X: 1, Y: 0.75}, {X: -1, Y: 0.75}}
	cross            = polygonGlyph{
		{X: -1.1, Y: 0.65}, {X: -0.65, Y: 1.1}, {Y: 0.45}, {X: 0.65, Y: 1.1}, {X: 1.1, Y: 0.65}, {X: 0.45},
		{X: 1.1, Y: -0.65}, {X: 0.65, Y: -1.1}, {Y: -0.45}, {X: -0.65, Y: -1.1}, {X: -1.1, Y: -0.65}, {X: -0.45},
	}
	hexagon = polygonGlyph{{X: -1.5}, {X: -0.65, Y: 0.85}, {X: 0.65, Y: 0.85}, {X: 1.5}, {X: 0.65, Y: -0.85}, {X: -0.65, Y: -0.85}}
)

// DrawGlyph implements [draw.GlyphDrawer].
func (g polygonGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	for i, corner := range g {
		if to := at.Add(corner.Scale(s.Radius)); i == 0 {
			p.Move(to)
		} else {
			p.Line(to)
		}
	}
	p.Close()
	c.Fill(p)
}

// textStyle returns a text style in the one typeface of all pictures, size in points.
func textStyle(size vg.Length, c color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = 3 // golang.org/x/image/font.WeightBold
	}
	return text.Style{Color: c, Font: font.From(f, size), Handler: text.Plain{Fonts: font.DefaultCache}}
}
