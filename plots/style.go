package plots

import (
	"hash/fnv"
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
)

// The colours of the series are those of Okabe and Ito ("Color Universal
// Design", 2008), told apart with every common kind of colour blindness. Their
// yellow, too pale for a line on white, gives way to a brown.
var (
	blue       = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	vermillion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	green      = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple     = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	sky        = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	orange     = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	brown      = color.RGBA{0x7a, 0x4b, 0x1e, 0xff}
)

// A look is what a series is recognised by: colour, dash and marker, any one
// of which is enough to tell it from its neighbours.
type seriesStyle struct {
	color  color.RGBA
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

// The marks of the looks: the colours, dashes and markers of the same index go
// together first, other combinations of them after that.
var (
	colors  = []color.RGBA{blue, vermillion, green, purple, sky, orange, brown}
	dashes  = [][]vg.Length{solid, dashed, longDash, dashDot, dotted, dashed, dashDot}
	markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, diamond{}, invertedTriangle{}, cross{}, hexagon{}}
)

// maxStyles is how many can be told apart: every colour with four markers.
const maxStyles = 28

// styleAt is the i-th look.
func styleAt(i int) seriesStyle {
	n := len(colors)
	round := i / n
	return seriesStyle{colors[i%n], dashes[(i+round)%n], markers[(i+2*round)%n]}
}

// fixedStyles gives the names that are known a look for good. Every other name (a
// chunk size, a machine) takes one by its hash.
var fixedStyles = map[string]int{
	"ndjson": 0, "content-length": 1, "chunked": 2, "length-prefix": 3, "adaptive": 4, "ndjson-bytewise": 5, "ndjson-rescan": 6, "chunked+zstd": 6,
	"blocking": 0, "poller": 1, "poll": 2, "spin": 3, "sleep": 4,
	"anonymous": 0, "fifo": 1, "socketpair": 2, "named": 3,
	"same": 0, "apart": 1, "sibling": 2, "far": 3, "free": 4,
	"p50": 0, "p90": 2, "p99": 1, "max": 5, "request": 0, "reply": 1,
	"linux": 0, "darwin": 1, "windows": 2, "freebsd": 3,
}

// family is the part of a name that has a look: "chunked" of "chunked:61440",
// "sleep" of "sleep=10ms", "linux" of "linux/amd64".
func family(name string) string {
	if i := strings.IndexAny(name, ":=/,"); i >= 0 {
		return name[:i]
	}
	return name
}

// assignStyles gives each series its look: its family's own where that is free,
// else the next that no other series of the chart has.
func assignStyles(series []Series) map[string]seriesStyle {
	out := make(map[string]seriesStyle, len(series))
	taken := map[int]bool{}
	var rest []Series
	for _, s := range defaultSizesFirst(series) {
		i, known := fixedStyles[family(s.Name)]
		switch {
		case s.Reference:
			out[s.Name] = seriesStyle{color: foreground}
		case known && !taken[i]:
			taken[i] = true
			out[s.Name] = styleAt(i)
		default:
			rest = append(rest, s)
		}
	}
	for _, s := range rest {
		i := nextFree(hash(s.Name), taken)
		taken[i] = true
		out[s.Name] = styleAt(i)
	}
	return out
}

// defaultSizesFirst puts the sizes that framings have by default before the others, so
// that the family's look is theirs.
func defaultSizesFirst(series []Series) []Series {
	out := slices.Clone(series)
	slices.SortStableFunc(out, func(a, b Series) int { return customSize(a.Name) - customSize(b.Name) })
	return out
}

// customSize is 0 for a name without a size, or with the default one.
func customSize(name string) int {
	if _, size, ok := strings.Cut(name, ":"); ok && size != "60KiB" {
		return 1
	}
	return 0
}

// nextFree is the first look from i on that is not taken, those of the first round
// before the others, or i where all are.
func nextFree(i int, taken map[int]bool) int {
	n := len(colors)
	for k := range maxStyles {
		if j := k/n*n + (i+k)%n; !taken[j] {
			return j
		}
	}
	return i
}

func hash(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name)) // never fails
	return int(h.Sum32() % uint32(len(colors)))
}

// line is the stroke of a look.
func (l seriesStyle) line(width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: width, Dashes: l.dashes}
}

// glyph is the marker of a look.
func (l seriesStyle) glyph(radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color, Radius: radius, Shape: l.marker}
}

// withAlpha is the colour at an opacity of 0 to 255.
func withAlpha(c color.RGBA, alpha uint8) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, alpha} }

// diamond is a filled square on its corner.
type diamond struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius * 1.25
	c.Fill(polygon(at, vg.Point{Y: r}, vg.Point{X: r}, vg.Point{Y: -r}, vg.Point{X: -r}))
}

// invertedTriangle is a filled triangle on its tip.
type invertedTriangle struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (invertedTriangle) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius
	c.Fill(polygon(at, vg.Point{Y: -r * 1.15}, vg.Point{X: r, Y: r * 0.75}, vg.Point{X: -r, Y: r * 0.75}))
}

// cross is a filled x.
type cross struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (cross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r, w := s.Radius*1.1, s.Radius*0.45
	c.Fill(polygon(at,
		vg.Point{X: -r, Y: r - w}, vg.Point{X: -r + w, Y: r}, vg.Point{Y: w}, vg.Point{X: r - w, Y: r}, vg.Point{X: r, Y: r - w}, vg.Point{X: w},
		vg.Point{X: r, Y: -r + w}, vg.Point{X: r - w, Y: -r}, vg.Point{Y: -w}, vg.Point{X: -r + w, Y: -r}, vg.Point{X: -r, Y: -r + w}, vg.Point{X: -w}))
}

// hexagon is a filled bar with pointed ends.
type hexagon struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (hexagon) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	w, h := s.Radius*1.5, s.Radius*0.85
	c.Fill(polygon(at, vg.Point{X: -w}, vg.Point{X: -w + h, Y: h}, vg.Point{X: w - h, Y: h}, vg.Point{X: w}, vg.Point{X: w - h, Y: -h}, vg.Point{X: -w + h, Y: -h}))
}

func polygon(at vg.Point, corners ...vg.Point) vg.Path {
	var p vg.Path
	for i, corner := range corners {
		if i == 0 {
			p.Move(at.Add(corner))
		} else {
			p.Line(at.Add(corner))
		}
	}
	p.Close()
	return p
}

// textStyle is a text style in the picture's one typeface, size in points.
func textStyle(size vg.Length, c color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = 3 // golang.org/x/image/font.WeightBold
	}
	return text.Style{Color: c, Font: font.From(f, size), Handler: text.Plain{Fonts: font.DefaultCache}}
}
