package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// ratioNote explains how the ratio to raw is computed.
const ratioNote = "Points are medians of the ratios taken round by round, so that what slows the whole machine drops out; bars are the 95 % interval, with fewer than six rounds nothing."

// ratioCharts show the goodput of each framing relative to raw at the same size: what the framing
// costs.
func ratioCharts(set *results.Set) []Chart {
	charts := bySize(set, Chart{
		Name:  "ratio",
		Title: "Goodput of each framing as a share of raw",
		X:     sizeAxis,
		Y:     Axis{Label: "goodput vs raw", Scale: Linear, Unit: Times, From: new(0.0)},
		Dodge: true,
		Notes: []string{ratioNote},
	}, ratioToRaw)
	for i := range charts {
		charts[i].limitY()
		charts[i].unjoin()
	}
	return slices.DeleteFunc(charts, func(c Chart) bool { return len(c.legend()) < 2 || !c.differsFromRaw() })
}

// differsFromRaw returns whether a point of the chart lies anywhere but at exactly 1, which is raw
// against itself.
func (c Chart) differsFromRaw() bool {
	for s := range c.series() {
		if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Low != 1 || p.High != 1 || p.Y != 1 }) {
			return true
		}
	}
	return false
}

// unjoin has points stand alone, each with its interval: lines between wide intervals hide them.
func (c *Chart) unjoin() {
	for s := range c.series() {
		if !s.Reference {
			s.Shape = Dots
		}
	}
}

// limitY ends the Y axis a little above the points if one wide interval would press all lines
// together, and adds a note about it.
func (c *Chart) limitY() {
	highest, reach := 1.0, 0.0
	for s := range c.series() {
		for _, p := range s.Points {
			highest, reach = max(highest, p.Y), max(reach, p.High)
		}
	}
	if limit := 1.25 * highest; reach > limit {
		c.Y.Limit = limit
		c.Notes = append(slices.Clone(c.Notes), fmt.Sprintf("An interval that reaches the upper edge goes on beyond it, to %s at most.", c.Y.Unit.Format(reach)))
	}
}

// ratioToRaw estimates goodput over that of raw, within each interleaving round.
func ratioToRaw(line, panel selection, x float64) (Point, bool) {
	raw := panel.keep(func(r results.Record) bool { return isRaw(r.Cell.Framing) })
	if len(raw.records) == 0 || len(line.records) == 0 {
		return Point{}, false
	}
	if isRaw(line.records[0].Cell.Framing) {
		return exact(x, 1), true
	}
	e := stat.PairedRatio(stat.MustMetric("goodput"), line.records, raw.records)
	return point(x, e, nil), e.N > 0
}

// machineCharts compare machines: goodput of each framing relative to the raw pipe of the same
// machine, because absolute figures of two machines say little. Each framing has a panel, each
// machine a line.
func machineCharts(set *results.Set) []Chart {
	v := measuredIn(set, isStream)
	if !v.varies(machine) {
		return nil
	}
	var out []Chart
	for _, p := range v.groupBy(v.varying(slices.Concat([]dimension{"placement"}, seriesOrder[1:])...)) {
		c := Chart{
			Name:     "machines" + p.suffix,
			Title:    "The same framing on several machines, each against its own raw pipe",
			Subtitle: p.subtitle("framing", "size"),
			X:        sizeAxis,
			Y:        Axis{Label: "goodput vs the machine's raw", Scale: Linear, Unit: Times, From: new(0.0)},
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
		c.unjoin()
		out = append(out, c)
	}
	return slices.DeleteFunc(out, func(c Chart) bool { return c.empty() || len(c.legend()) < 2 })
}

// machinePanel shows one framing on every machine that measured raw beside it.
func (v selection) machinePanel(spec string) Panel {
	p := Panel{Title: view.FieldValue("framing", spec), Guides: []Guide{{Value: 1, Label: "raw"}}}
	if isRaw(spec) {
		return Panel{}
	}
	for _, id := range v.values(machine) {
		for _, s := range v.where(machine, id).seriesBy("framing", []string{spec}, ratioToRaw) {
			s.Name = v.set.MachineName(id)
			p.Series = append(p.Series, s)
		}
	}
	return p
}
