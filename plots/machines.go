package plots

import (
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
)

// machineCharts lay several machines side by side: goodput of each framing as
// a share of what the same machine's raw pipe does, because absolute figures
// of two machines say little. A panel a framing, a line a machine.
func machineCharts(set *results.Set) []Chart {
	v := measuredIn(set, isStream)
	if !v.varies(machine) {
		return nil
	}
	var out []Chart
	for _, p := range v.groupBy(v.machineFiles()) {
		c := Chart{
			Name:     "machines" + p.suffix,
			Title:    "The same framing on several machines, each against its own raw pipe",
			Subtitle: p.subtitle("framing", "size"),
			X:        sizeAxis,
			Y:        Axis{Label: "goodput ÷ goodput of the machine's raw", Scale: Linear, Unit: Times, From: new(0.0)},
			Dodge:    true,
			Notes:    []string{ratioNote},
		}
		framings, _ := p.limitSeries("framing")
		for _, spec := range framings {
			if panel := p.machinePanel(spec); len(panel.Series) > 0 {
				c.Panels = append(c.Panels, panel)
			}
		}
		c.limitY()
		out = append(out, c)
	}
	return slices.DeleteFunc(out, func(c Chart) bool { return c.empty() || len(c.names()) < 2 })
}

func (v selection) machineFiles() []dimension {
	var out []dimension
	for _, d := range append([]dimension{"placement"}, seriesOrder[1:]...) {
		if v.varies(d) {
			out = append(out, d)
		}
	}
	return out
}

// machinePanel is one framing on every machine that has raw beside it.
func (v selection) machinePanel(spec string) Panel {
	p := Panel{Title: display("framing", spec), Guides: []Guide{{Value: 1, Label: "raw"}}}
	if isRaw(spec) {
		return Panel{}
	}
	for _, id := range v.values(machine) {
		all := v.where(machine, id)
		s := Series{Name: machineName(v.set, id)}
		for _, size := range all.values("size") {
			x, err := strconv.ParseFloat(size, 64)
			if err != nil {
				continue // a size is a number: Cell.Fields writes it
			}
			panel := all.where("size", size)
			if pt, ok := ratioToRaw(panel.where("framing", spec), panel, x); ok {
				s.Points = append(s.Points, pt)
			}
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}
