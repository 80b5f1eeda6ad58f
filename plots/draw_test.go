package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestEveryChartCanBeDrawn draws what a hostile file may hold: nothing, a single point, zeros
// alone, values that are no numbers.
func TestEveryChartCanBeDrawn(t *testing.T) {
	zeros := []Point{exact(0, 0), exact(0, 0)}
	mixed := []Point{exact(0, 0), exact(1, 10), exact(1, 1e-9)}
	broken := []Point{exact(0, math.NaN()), exact(1, math.Inf(1)), exact(1, 2)}
	for _, tt := range []struct {
		name   string
		points []Point
	}{
		{"single point", []Point{exact(1, 5)}},
		{"single one", []Point{exact(0, 1)}},
		{"single zero", zeros[:1]},
		{"zeros", zeros},
		{"zero among others", mixed},
		{"negative", []Point{exact(0, -3), exact(1, 7)}},
		{"not a number", broken},
		{"nothing but not a number", broken[:2]},
		{"equal values", []Point{exact(0, 7), exact(1, 7)}},
		{"nearly equal", []Point{exact(0, 9.70e9), exact(1, 9.71e9)}},
		{"wide", []Point{exact(0, 1e-12), exact(1, 1e12)}},
	} {
		for _, log := range []bool{true, false} {
			t.Run(tt.name+fmt.Sprint("/log=", log), func(t *testing.T) {
				c := Chart{
					Name:  "test",
					Title: "Test",
					X:     Axis{Label: "x", Places: []string{"a", "b"}},
					Y:     Axis{Label: "y", Log: log, Unit: Rate},
					Panels: []Panel{{Series: []Series{
						{Name: "raw", Reference: true, Points: tt.points},
						{Name: "dots", Dots: true, Points: tt.points},
						{Name: "none"},
					}}},
				}
				drawn(t, c)
				if log {
					painted(t, c)
				}
				var values []float64
				for _, p := range tt.points {
					values = append(values, p.Y)
				}
				checkScale(t, c.Y.fit(values, 0))
			})
		}
	}
}

// drawn draws a chart and checks that the picture is whole.
func drawn(t *testing.T, c Chart) []byte {
	t.Helper()
	svg, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("svg: %v", err)
		}
	}
	for _, broken := range []string{"NaN", "#-"} {
		if i := bytes.Index(svg, []byte(broken)); i >= 0 {
			t.Errorf("svg holds what is no number or colour: …%s…", svg[max(0, i-40):i+10])
		}
	}
	return svg
}

// painted does so in pixels, which takes many times as long.
func painted(t *testing.T, c Chart) {
	t.Helper()
	picture, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || decoded.Width != 1600 {
		t.Errorf("png: %v, %d wide", err, decoded.Width)
	}
}

func TestNothingToDrawIsSaid(t *testing.T) {
	_, err := Chart{Name: "empty", Panels: []Panel{{Series: []Series{{Name: "none"}}}}}.SVG()
	if !errors.Is(err, ErrNothingToDraw) || !strings.Contains(err.Error(), "empty") {
		t.Errorf("got %v", err)
	}
}

func TestAChartOfOthersIsChecked(t *testing.T) {
	chart := func(name string, x int) Chart {
		panel := Panel{Series: []Series{{Name: "ours", Points: []Point{exact(x, 1)}}}}
		return Chart{Name: name, X: Axis{Places: []string{"1 KiB"}}, Panels: []Panel{panel}}
	}
	for _, x := range []int{-1, 1} {
		_, err := chart("outside", x).SVG()
		if err == nil || !strings.Contains(err.Error(), "X axis, which has 1") {
			t.Errorf("place %d: got %v", x, err)
		}
	}
	for _, names := range [][]string{{""}, {"a", "a"}} {
		var charts []Chart
		for _, name := range names {
			charts = append(charts, chart(name, 0))
		}
		_, err := Write(t.TempDir(), charts)
		if err == nil || !strings.Contains(err.Error(), "a name of its own") {
			t.Errorf("names %q: got %v", names, err)
		}
	}
}

func TestPictureIsTheSameEveryTime(t *testing.T) {
	charts := Charts(testSet())
	for _, c := range charts {
		first := drawn(t, c)
		if second := drawn(t, c); !bytes.Equal(first, second) {
			t.Errorf("two drawings of %s differ", c.Name)
		}
		if !bytes.Contains(first, []byte("Arial,Helvetica,sans-serif")) {
			t.Errorf("%s has no typeface for machines without Liberation", c.Name)
		}
	}
}

// A mouse that rests on a point reads what it shows.
func TestPointsSayWhatTheyShow(t *testing.T) {
	charts := Charts(testSet())
	svg := string(drawn(t, charts[0]))
	if n := len(charts[0].points()); strings.Count(svg, "<circle ") != n {
		t.Errorf("%d points, %d circles", n, strings.Count(svg, "<circle "))
	}
	want := "<title>ndjson · 64 KiB · 6.42 GB/s [6.19 GB/s, 6.59 GB/s] · 6 samples</title>"
	if !strings.Contains(svg, want) {
		t.Errorf("no %s", want)
	}
}

// Names stand beside the lines, each once; a single line needs none.
func TestNamesStandBesideTheirLines(t *testing.T) {
	charts := Charts(testSet())
	svg := string(drawn(t, charts[0]))
	for _, name := range charts[0].names() {
		if n := strings.Count(svg, ">"+name+"</text>"); n != 1 {
			t.Errorf("%s is written %d times", name, n)
		}
	}
	line := Series{Name: "lone", Points: []Point{exact(1, 1), exact(2, 2)}}
	places := []string{"a", "b", "c"}
	lone := Chart{X: Axis{Places: places}, Panels: []Panel{{Series: []Series{line}}}}
	if strings.Contains(string(drawn(t, lone)), ">lone</text>") {
		t.Error("a single line has a name beside it")
	}
}

// A framing has one look in all pictures of a set, and two lines of a picture never have the same.
func TestAFramingLooksTheSameInAllCharts(t *testing.T) {
	charts := Charts(fullSet())
	looks := map[string]string{}
	for _, c := range charts {
		own := map[string]string{}
		for name, s := range assignStyles(c) {
			look := fmt.Sprintf("%v %#v %v", s.color, s.marker, s.width)
			_, fixed := fixedStyles[family(name)]
			if before, ok := looks[name]; ok && fixed && before != look {
				t.Errorf("%s: %s looks like %s, elsewhere like %s", c.Name, name, look, before)
			}
			if other, ok := own[look]; ok {
				t.Errorf("%s: %s and %s look the same", c.Name, name, other)
			}
			looks[name] = look
			own[look] = name
		}
	}
}

// A framing of the user has a marker that no usual framing has.
func TestAnUnknownFramingHasItsOwnMarker(t *testing.T) {
	c := Chart{Panels: []Panel{{Series: []Series{
		{Name: "netstring"}, {Name: "ndjson"}, {Name: "60 KiB chunks"}, {Name: "content-length"},
	}}}}
	seen := map[string]string{}
	for name, s := range assignStyles(c) {
		marker := fmt.Sprintf("%#v", s.marker)
		if other, ok := seen[marker]; ok {
			t.Errorf("%s and %s have the same marker", name, other)
		}
		seen[marker] = name
	}
}

func TestNoTwoOfManyLinesLookTheSame(t *testing.T) {
	var p Panel
	for i := range 7 * 7 {
		p.Series = append(p.Series, Series{Name: fmt.Sprintf("%d KiB chunks", 512+i)})
	}
	seen := map[string]string{}
	for name, s := range assignStyles(Chart{Panels: []Panel{p}}) {
		look := fmt.Sprintf("%v %#v", s.color, s.marker)
		if other, ok := seen[look]; ok {
			t.Errorf("%s and %s have the same colour and marker", name, other)
		}
		seen[look] = name
	}
}

// All panels of a chart are equally wide and high, in whichever row and with whichever axis.
func TestPanelsAreEquallyLarge(t *testing.T) {
	for _, c := range Charts(fullSet()) {
		p, err := newPicture(c, pictureWidth)
		if err != nil {
			t.Fatal(err)
		}
		for i, panel := range c.Panels {
			area := p.newPanel(i, panel).area
			if w, h := area.Max.X-area.Min.X, area.Max.Y-area.Min.Y; !near(w, p.areaWidth) ||
				!near(h, p.areaHeight) || area.Max.X > pictureWidth || area.Min.Y < p.footer {
				t.Errorf("%s: panel %d is %v", c.Name, i, area)
			}
		}
	}
}

func near(a, b vg.Length) bool { return math.Abs(float64(a-b)) < 1e-6 }

// shaded matches the left and the right end of what is shaded.
var shaded = regexp.MustCompile(
	`d="M([\d.]+),[\d.]+L([\d.]+),[^"]*" style="fill:#[0-9A-F]*;fill-opacity`)

// The part of a panel in which a server fails is seen wherever it begins.
func TestWhereAServerFailsIsSeen(t *testing.T) {
	for from := range 3 {
		s := Series{Name: "server", Points: []Point{exact(0, 1), exact(1, 2)}}
		panel := Panel{Series: []Series{s}, Fails: &Failing{From: from}}
		c := Chart{X: Axis{Places: []string{"1", "2", "3"}}, Panels: []Panel{panel}}
		m := shaded.FindStringSubmatch(string(drawn(t, c)))
		if m == nil {
			t.Fatal("nothing is shaded")
		}
		left, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		right, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if right-left < 40 || right > float64(pictureWidth) {
			t.Errorf("from %v: shaded from %v to %v", from, left, right)
		}
	}
}

// How a server fails stands in the part in which it fails, upwards if that is narrow.
func TestHowAServerFailsStandsWhereItFails(t *testing.T) {
	for how, upwards := range map[string]bool{
		"deaf": false,
		"answers in frames, not in the lines of MCP, and never ends": true,
	} {
		s := Series{Name: "server", Points: []Point{exact(0, 1), exact(1, 2)}}
		panel := Panel{Series: []Series{s}, Fails: &Failing{From: 2, How: how}}
		c := Chart{X: Axis{Places: []string{"1", "2", "3"}}, Panels: []Panel{panel}}
		svg := string(drawn(t, c))
		text := regexp.MustCompile(`(rotate\(90\)">\s*)?<text x="([\d.]+)" y="([\d.-]+)"[^>]*>` +
			how + `</text>`)
		m := text.FindStringSubmatch(svg)
		if m == nil || (m[1] != "") != upwards {
			t.Fatalf("%q is not there, or its direction is wrong: %q", how, m)
		}
		begins := m[2]
		if upwards {
			begins = m[3] // turned by 90 degrees
		}
		x, err := strconv.ParseFloat(begins, 64)
		if err != nil {
			t.Fatal(err)
		}
		left, err := strconv.ParseFloat(shaded.FindStringSubmatch(svg)[1], 64)
		if err != nil || x < left || x > left+12 {
			t.Errorf("%q is at %v, and the part begins at %v, %v", how, x, left, err)
		}
	}
}

// Names in rows keep their order, and none covers another or leaves the range.
func TestNamesAreSpread(t *testing.T) {
	for _, at := range [][]vg.Length{
		{50, 50, 50, 50}, {0, 0, 0, 0}, {100, 100, 100, 100}, {1, 2, 99, 99}, {10, 40, 60, 90},
	} {
		got := spread(at, 10, 5, 95)
		low := vg.Length(-5)
		for _, y := range got {
			if y < low+10-1e-9 || y > 95+1e-9 {
				t.Errorf("%v became %v", at, got)
			}
			low = y
		}
	}
	if clear := []vg.Length{10, 40, 60, 90}; !slices.Equal(spread(clear, 10, 5, 95), clear) {
		t.Error("names were moved that had room")
	}
}

func TestAPercentSignStaysBesideItsNumber(t *testing.T) {
	const line = "bars are the 95 % interval"
	for width := range 200 {
		for _, part := range breakText([]string{line}, panelTitle(), vg.Length(width)) {
			if strings.HasPrefix(part, "%") {
				t.Fatalf("at %d a line begins %q", width, part)
			}
		}
	}
}

func TestNoWordStandsAloneInTheLastLineOfATitle(t *testing.T) {
	const title = "Framings carry 65,000 B at 3.1 to 3.4 GB/s on one CPU, " +
		"2.9 to 3.1 GB/s on two CPUs"
	in := bold(titleSize, foreground)
	width := in.Width(title)
	lines := balance(title, in, width)
	if len(lines) != 2 || strings.Join(lines, " ") != title {
		t.Fatalf("lines %q, want two that are the title", lines)
	}
	if in.Width(lines[1]) < 0.7*in.Width(lines[0]) {
		t.Errorf("lines %q differ much in length", lines)
	}
}

// On a phone the panels of a picture stand below each other, and the names above them.
func TestAPictureForAPhoneHasOneColumn(t *testing.T) {
	for _, c := range Charts(testSet()) {
		p, err := newPicture(c, phoneWidth)
		if err != nil {
			t.Fatal(err)
		}
		for i, content := range c.Panels {
			area := p.newPanel(i, content).area
			if p.columns != 1 || area.Max.X > phoneWidth || area.Min.X < 0 {
				t.Errorf("%s: %d columns, a panel at %v", c.Name, p.columns, area)
			}
		}
		if names := c.names(); len(names) > 1 && !slices.Equal(p.legend, names) {
			t.Errorf("%s: the legend is %q, the lines are %q", c.Name, p.legend, names)
		}
	}
}

// A panel of one point stands beside others: its place is not left out without a word.
func TestAPanelOfOnePointStays(t *testing.T) {
	one := Panel{Series: []Series{{Name: "ndjson", Points: []Point{exact(0, 5)}}}}
	two := Panel{Series: []Series{{Name: "ndjson", Points: []Point{exact(0, 5), exact(1, 6)}}}}
	c := Chart{Panels: []Panel{one, two}}
	c.complete()
	if len(c.Panels) != 2 {
		t.Errorf("%d panels, want 2", len(c.Panels))
	}
}
