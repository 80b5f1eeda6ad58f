package plots

import (
	"fmt"
	"os"
	"path/filepath"
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

// ByReason says omissions, those that have one reason in one line.
func ByReason(omitted []Omission) []string {
	var reasons []string
	names := map[string][]string{}
	for _, o := range omitted {
		if names[o.Why] == nil {
			reasons = append(reasons, o.Why)
		}
		names[o.Why] = append(names[o.Why], o.Name)
	}
	var out []string
	for _, why := range reasons {
		out = append(out, strings.Join(names[why], ", ")+": "+why)
	}
	return out
}

// kinds of charts, in the order in which they are shown.
var kinds = []struct {
	name   string
	charts func(*results.Set) []Chart
	needs  string // what measurements lack where there is none; "" where nobody would miss it
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
// the usual ones its measurements do not. Findings alone lack none.
func Charts(set *results.Set) (charts []Chart, omitted []Omission) {
	measured := len(set.Records) > 0 || set.Len() == len(set.Environments)
	for _, k := range kinds {
		made := k.charts(set)
		if len(made) == 0 && k.needs != "" && measured {
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
