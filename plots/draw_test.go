package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

// TestEveryChartCanBeDrawn draws what a hostile file may hold: nothing, a single point, zeros
// alone, values that are no numbers.
func TestEveryChartCanBeDrawn(t *testing.T) {
	zeros := []Point{exact(0, 0), exact(0, 0)}
	mixed := []Point{exact(0, 0), exact(1, 10), exact(1e9, 1e-9)}
	broken := []Point{exact(math.NaN(), 1), exact(1, math.Inf(1)), exact(2, 2)}
	for _, tt := range []struct {
		name   string
		points []Point
	}{
		{"single point", []Point{exact(4096, 5)}},
		{"single one", []Point{exact(1, 1)}},
		{"single zero", zeros[:1]},
		{"zeros", zeros},
		{"zero among others", mixed},
		{"negative", []Point{exact(-5, -3), exact(-1, 7)}},
		{"not a number", broken},
		{"nothing but not a number", broken[:2]},
		{"equal values", []Point{exact(3, 7), exact(9, 7)}},
		{"nearly equal", []Point{exact(1000, 9.70e9), exact(1010, 9.71e9)}},
		{"wide", []Point{exact(1, 1e-12), exact(1e12, 1e12)}},
	} {
		for _, scale := range []Scale{Linear, Log, Log2, Nines, Category} {
			t.Run(tt.name+"/"+string(scale), func(t *testing.T) {
				c := Chart{
					Name: "test", Title: "Test", X: Axis{Label: "x", Scale: scale, Unit: Bytes, Categories: []string{"a", "b"}}, Y: Axis{Label: "y", Scale: scale, Unit: Rate, Categories: []string{"c", "d"}},
					Panels: []Panel{{Series: []Series{{Name: "raw", Reference: true, Points: tt.points}, {Name: "dots", Shape: Dots, Points: tt.points}, {Name: "none"}}}},
				}
				drawn(t, c)
				if scale == Log {
					painted(t, c)
				}
				for _, axis := range []Axis{c.X, c.Y} {
					var xs []float64
					for _, p := range tt.points {
						xs = append(xs, p.X, p.Y)
					}
					checkScale(t, axis.fit(xs, 6), 6)
				}
			})
		}
	}
}

// drawn draws a chart and checks that the picture is whole.
func drawn(t *testing.T, c Chart) {
	t.Helper()
	svg, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("svg: %v", err)
		}
	}
	if i := bytes.Index(svg, []byte("NaN")); i >= 0 {
		t.Errorf("svg holds a coordinate that is no number: …%s…", svg[max(0, i-40):i+10])
	}
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

func TestPictureIsTheSameEveryTime(t *testing.T) {
	c := onlyChart(t, overheadCharts(testSet()))
	first, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.SVG()
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two drawings differ (%v)", err)
	}
	if !bytes.Contains(first, []byte("Arial,Helvetica,sans-serif")) {
		t.Error("no typeface for machines without Liberation")
	}
}

// checkScale demands an axis that is not empty, with at least one label and room for all of them.
func checkScale(t *testing.T, r fittedScale, most int) {
	t.Helper()
	labels := 0
	for _, tick := range r.ticks {
		if !tick.IsMinor() && tick.Value >= r.min && tick.Value <= r.max {
			labels++
		}
	}
	if !(r.min < r.max) || labels == 0 || r.scale != Nines && labels > most+1 {
		t.Errorf("%s axis from %v to %v with %d labels: %v", r.scale, r.min, r.max, labels, r.ticks)
	}
}

func TestLimitCutsTheAxisNotTheData(t *testing.T) {
	c := Chart{Y: Axis{Unit: Times}, Panels: []Panel{{Series: []Series{{Name: "ndjson", Points: []Point{{X: 1, Y: 0.8, Low: 0.5, High: 9}, {X: 2, Y: 1.2, Low: 1, High: 1.3}}}}}}}
	c.limitY()
	f := newAxes(c, 0, 1, 400)
	if f.y.max > 2 {
		t.Errorf("the axis ends at %v", f.y.max)
	}
	if got := f.place(c.Panels[0].Series[0].Points[0]).High; got > f.y.max {
		t.Errorf("an interval is drawn up to %v, outside the panel", got)
	}
	if c.Panels[0].Series[0].Points[0].High != 9 || len(c.Notes) != 1 {
		t.Errorf("the data was changed, or nothing said: %v", c)
	}
}
