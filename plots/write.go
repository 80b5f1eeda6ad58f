package plots

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// An Omission is a picture that was not drawn, and why.
type Omission struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// String is the omission in a line.
func (o Omission) String() string { return o.Name + ": " + o.Why }

// kinds of charts, in the order in which they are shown.
var kinds = []struct {
	name   string
	charts func(*results.Set) []Chart
	needs  string // what the file lacks where there is none; "" where nobody would miss it
}{
	{"goodput", goodputCharts, "no stream with samples"},
	{"ratio", ratioCharts, "no raw stream beside another of the same size"},
	{"latency", latencyCharts, "no latencies: twenty observations make the shortest curve"},
	{"overhead", overheadCharts, "no messages of a known size"},
	{"growth", growthCharts, ""},
	{"chunk", chunkCharts, ""},
	{"machines", machineCharts, ""},
	{"eagain", counterCharts, ""},
	{"wait", tuneCharts, ""},
	{"fill", probeCharts, ""},
	{"fault", faultCharts, ""},
	{"target", targetCharts, ""},
	{"noise", noiseCharts, ""},
	{"traffic", trafficCharts, ""},
}

// Charts makes every chart that the records of a set allow, and says which of
// the usual ones they do not.
func Charts(set *results.Set) (charts []Chart, omitted []Omission) {
	for _, k := range kinds {
		made := k.charts(set)
		if len(made) == 0 && k.needs != "" {
			omitted = append(omitted, Omission{k.name, k.needs})
		}
		kept, alone := lone(made)
		charts = append(charts, kept...)
		omitted = append(omitted, alone...)
	}
	return charts, omitted
}

// Write draws the charts of a set into a folder, each as an SVG and a PNG
// named after the chart, and lists the files. The folder is made if it is not
// there; files of the same name are replaced, each whole or not at all.
func Write(dir string, set *results.Set) (files []string, omitted []Omission, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, fmt.Errorf("make folder for plots: %w", err)
	}
	charts, omitted := Charts(set)
	for _, c := range charts {
		written, err := c.write(dir)
		files = append(files, written...)
		if err != nil {
			return files, omitted, err
		}
	}
	return files, omitted, nil
}

// Gallery draws the named charts of a set into a folder as SVG alone, small
// enough to be kept beside a program's sources, and lists the files. A name
// that the set has no chart of is an error that says which it has.
func Gallery(dir string, set *results.Set, names ...string) (files []string, err error) {
	charts, _ := Charts(set)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make folder for plots: %w", err)
	}
	for _, name := range names {
		i := slices.IndexFunc(charts, func(c Chart) bool { return c.Name == name })
		if i < 0 {
			return files, fmt.Errorf("draw %s: no such chart; the results have %s", name, strings.Join(chartNames(charts), ", "))
		}
		path, err := charts[i].writeAs(dir, ".svg", charts[i].SVG)
		if err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

func chartNames(charts []Chart) []string {
	var out []string
	for _, c := range charts {
		out = append(out, c.Name)
	}
	return out
}

// write draws one chart into both files.
func (c Chart) write(dir string) (files []string, err error) {
	svg, err := c.writeAs(dir, ".svg", c.SVG)
	if err != nil {
		return nil, err
	}
	png, err := c.writeAs(dir, ".png", c.PNG)
	if err != nil {
		return []string{svg}, err
	}
	return []string{svg, png}, nil
}

func (c Chart) writeAs(dir, ending string, draw func() ([]byte, error)) (path string, err error) {
	picture, err := draw()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, c.Name+ending)
	return path, replace(path, picture)
}

// replace writes a file beside its place and moves it there, so that nobody
// ever sees half of it.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	defer os.Remove(f.Name()) // fails, as it should, once it has been moved
	_, err = f.Write(content)
	if mode := f.Chmod(0o644); err == nil {
		err = mode
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write plot %s: %w", path, err)
	}
	return nil
}
