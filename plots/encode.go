package plots

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// ErrNothingToDraw is returned for a chart without a single point.
var ErrNothingToDraw = errors.New("nothing to draw")

// pixelsPerInch of a PNG: twice 96, so that a picture shown at 800 pixels is
// sharp on a dense screen too.
const pixelsPerInch = 192

// SVG draws the chart as an SVG document of 600 × about 400 points. The same
// chart gives the same bytes.
func (c Chart) SVG() ([]byte, error) {
	var out bytes.Buffer
	err := c.render(func(w, h vg.Length) vg.CanvasWriterTo { return vgsvg.New(w, h) }, &out)
	return []byte(lettered(out.String())), err
}

// PNG draws the chart 1600 pixels wide. The same chart gives the same bytes.
func (c Chart) PNG() ([]byte, error) {
	var out bytes.Buffer
	err := c.render(func(w, h vg.Length) vg.CanvasWriterTo {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pixelsPerInch))}
	}, &out)
	return out.Bytes(), err
}

func (c Chart) render(canvas func(w, h vg.Length) vg.CanvasWriterTo, out *bytes.Buffer) error {
	if c.empty() {
		return fmt.Errorf("draw %s: %w", c.Name, ErrNothingToDraw)
	}
	f := newLayout(c)
	w, h := f.size()
	on := canvas(w, h)
	f.draw(draw.NewCanvas(on, w, h))
	if _, err := on.WriteTo(out); err != nil {
		return fmt.Errorf("draw %s: %w", c.Name, err)
	}
	return nil
}

// lettered names typefaces of the same widths beside the one that gonum names
// alone: few machines but Linux ones have it installed.
func lettered(svg string) string {
	svg = strings.ReplaceAll(svg, "font-variant:none;", "")
	return strings.ReplaceAll(svg, "font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")
}
