package plots

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// An Omission is a picture that was not drawn, and why.
type Omission struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// ByReason lists omissions in lines, one for each reason.
func ByReason(omitted []Omission) []string {
	var out []string
	for _, of := range stat.GroupBy(omitted, func(o Omission) string { return o.Why }) {
		names := view.Distinct(of, func(o Omission) string { return o.Name })
		out = append(out, strings.Join(names, ", ")+": "+of[0].Why)
	}
	return out
}

// kinds lists the charts in the order in which they are shown.
var kinds = []struct {
	name    string
	section string // of the page
	charts  func(*results.Set) []Chart
	needs   string // what measurements lack if they give no such chart; "" if nobody would miss it
}{
	{"goodput", "measurements", goodputCharts, "no stream with samples"},
	{"ratio", "measurements", ratioCharts, "no raw stream beside another of the same size"},
	{"latency", "measurements", latencyCharts, "no latencies: twenty observations make the shortest curve"},
	{"overhead", "measurements", overheadCharts, "no messages of a known size"},
	{"chunk", "measurements", chunkCharts, ""},
	{"machines", "side-by-side", machineCharts, ""},
	{"eagain", "measurements", counterCharts, ""},
	{"refusals", "measurements", waitingCharts, ""},
	{"wait", "chunk-size", tuneCharts, ""},
	{"fill", "pipes", probeCharts, ""},
	{"fault", "faults", faultCharts, ""},
	{"told", "faults", goneCharts, ""},
	{"target", "servers", targetCharts, ""},
	{"noise", "noise", noiseCharts, ""},
	{"traffic", "recording", trafficCharts, ""},
}

// Charts makes every chart that the records of a set allow, and lists the usual charts that its
// measurements do not allow. A set of findings alone lacks none.
func Charts(set *results.Set) (charts []Chart, omitted []Omission) {
	charts, alone, missing := makeCharts(set)
	if len(set.Records) > 0 || set.Len() == len(set.Environments) {
		omitted = missing
	}
	return charts, append(omitted, alone...)
}

// makeCharts makes every chart of a set, and lists those that would hold a single point, and the
// usual ones that are missing. A name has one look in all charts.
func makeCharts(set *results.Set) (charts []Chart, alone, missing []Omission) {
	var series []Series
	for _, k := range kinds {
		made := slices.DeleteFunc(k.charts(set), Chart.empty)
		if len(made) == 0 && k.needs != "" {
			missing = append(missing, Omission{k.name, k.needs})
		}
		single := func(c Chart) bool { return len(made) > 1 && len(c.points()) == 1 } // one figure needs no picture
		for _, c := range stat.Filter(made, single) {
			alone = append(alone, Omission{c.Name, "it would hold a single point"})
		}
		kept := stat.Filter(made, func(c Chart) bool { return !single(c) })
		if len(set.Machines()) > 1 {
			shareAxes(kept)
		}
		for _, c := range kept {
			c.section = k.section
			c.joinAlike()
			if slices.ContainsFunc(c.points(), func(p *Point) bool { return p.Noisy }) {
				c.Notes = append(slices.Clone(c.Notes), noisyNote)
			}
			charts = append(charts, c)
			series = append(series, c.legend()...)
		}
	}
	styles := assignStyles(series)
	for i := range charts {
		charts[i].styles = styles
	}
	return charts, alone, missing
}

// shareAxes has charts of the same quantity end at the same values, so that machines can be compared.
func shareAxes(charts []Chart) {
	for i := range charts {
		alike := stat.Filter(charts, func(o Chart) bool { return o.Title == charts[i].Title && o.Y.Limit == charts[i].Y.Limit })
		_, ys := coordinates(slices.Concat(stat.Map(alike, func(o Chart) []Panel { return o.Panels })...))
		if y := &charts[i].Y; len(alike) > 1 && len(ys) > 0 && y.Scale != Category {
			y.From, y.To = cmp.Or(y.From, new(slices.Min(ys))), cmp.Or(y.To, new(slices.Max(ys)))
		}
	}
}

// Write draws the charts of a set into a folder, each as an SVG and a PNG named after the chart,
// and lists the files. It makes the folder if needed, and replaces files of the same name
// atomically.
func Write(dir string, set *results.Set) (files []string, omitted []Omission, err error) {
	charts, omitted := Charts(set)
	files, err = writeCharts(dir, charts, ".svg", ".png")
	return files, omitted, err
}

// writeCharts draws charts into a folder, with a file for each ending.
func writeCharts(dir string, charts []Chart, endings ...string) (files []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make folder for plots: %w", err)
	}
	for _, c := range charts {
		for _, ending := range endings {
			picture, err := map[string]func() ([]byte, error){".svg": c.SVG, ".png": c.PNG}[ending]()
			if err != nil {
				return files, err
			}
			path := filepath.Join(dir, c.Name+ending)
			if err := results.ReplaceFile(path, picture); err != nil {
				return files, fmt.Errorf("write plot: %w", err)
			}
			files = append(files, path)
		}
	}
	return files, nil
}

// ErrNothingToDraw is returned for a chart without a single point.
var ErrNothingToDraw = errors.New("nothing to draw")

// pixelsPerInch of a PNG is twice 96, so that a picture shown at 800 pixels is sharp on a dense
// screen too.
const pixelsPerInch = 192

// SVG draws the chart as an SVG document of 600 × about 400 points. The same chart gives the same
// bytes.
func (c Chart) SVG() ([]byte, error) {
	var out bytes.Buffer
	err := c.render(func(w, h vg.Length) vg.CanvasWriterTo { return newSVGCanvas(w, h, nil) }, &out)
	return []byte(view.Escape(out.String())), err // what other programs are called may be no XML
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
	f := newLayout(c, false)
	w, h := f.size()
	on := canvas(w, h)
	f.drawOn(draw.NewCanvas(on, w, h))
	if _, err := on.WriteTo(out); err != nil {
		return fmt.Errorf("draw %s: %w", c.Name, err)
	}
	return nil
}

// The pictures in gallery show real results: "go generate ./plots" measures and draws them again,
// in about two minutes on an otherwise idle machine. It keeps the records in pipebench-out/gallery,
// and draws earlier ones that are there with them.
//
//go:generate go build -o ../pipebench-out/gallery/ ../cmd/pipebench
//go:generate ../pipebench-out/gallery/pipebench run --out ../pipebench-out/gallery/run --no-progress
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/run --gallery goodput,roundtrip --out gallery
//go:generate ../pipebench-out/gallery/pipebench tune --out ../pipebench-out/gallery/tune --no-progress
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/tune --gallery wait,pareto --out gallery
//go:generate ../pipebench-out/gallery/pipebench run --scenario growth --out ../pipebench-out/gallery/growth --no-progress
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/growth --gallery fault-growth_ndjson --out gallery
//go:generate ../pipebench-out/gallery/pipebench drive --size 1KiB..4MiB --out ../pipebench-out/gallery/drive --no-progress -- ../pipebench-out/gallery/pipebench serve --fault deaf@1MiB
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/drive --gallery target --out gallery

// Gallery draws the named charts of a set into a folder, as SVG alone, which is small enough to be
// kept beside a program's sources, and lists the files. A name without a chart is an error that
// lists the charts there are.
func Gallery(dir string, set *results.Set, names ...string) (files []string, err error) {
	charts, _ := Charts(set)
	var named []Chart
	for _, name := range names {
		i := slices.IndexFunc(charts, func(c Chart) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("draw %s: no such chart; the results have %s", name, strings.Join(chartNames(charts), ", "))
		}
		named = append(named, charts[i])
	}
	return writeCharts(dir, named, ".svg")
}

func chartNames(charts []Chart) []string {
	return view.Distinct(charts, func(c Chart) string { return c.Name })
}
