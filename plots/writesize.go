package plots

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

func writeSizeOf(r stat.Row) int { return r.Cell.WriteSize }

// withoutLevers leaves out the cells of all but the usual capacity, if write sizes differ: those
// cells belong to the chart of capacity and write size.
func (r rows) withoutLevers() rows {
	if len(values(r, writeSizeOf)) < 2 {
		return r
	}
	usual := r.usualCapacity()
	return r.where(func(row stat.Row) bool { return row.Cell.Capacity == usual })
}

// usualCapacity returns the capacity that most cells ask for. If two are equally frequent, it is
// the smaller one.
func (r rows) usualCapacity() int {
	counts := map[int]int{}
	usual := 0
	for _, row := range r.all {
		c := row.Cell.Capacity
		counts[c]++
		if counts[c] > counts[usual] || counts[c] == counts[usual] && c < usual {
			usual = c
		}
	}
	return usual
}

// addLevers adds lines to a chart of goodput for two things that change goodput more than the
// framing does, if they were measured: the largest pipe, and the smallest writes. Each of the two
// lines changes only one of them.
func (c *Chart) addLevers(own, all rows) {
	first := own.all[0]
	usual := first.Cell.Capacity
	levers := all.where(func(row stat.Row) bool {
		write, capacity := row.Cell.WriteSize, row.Cell.Capacity
		row.Cell.WriteSize = 0
		row.Cell.Capacity = usual
		like := first.Cell
		like.Framing = row.Cell.Framing
		like.Size = row.Cell.Size
		like.Placement = row.Cell.Placement
		oneLever := write == 0 && capacity > usual || write > 0 && capacity == usual
		return row.Cell == like && oneLever
	})
	if len(levers.all) == 0 {
		return
	}
	framing := levers.all[0].Cell.Framing
	levers = levers.in(framing)
	largest := slices.Max(values(levers, func(row stat.Row) int { return row.Cell.Capacity }))
	writes := slices.DeleteFunc(values(levers, writeSizeOf), func(n int) bool { return n == 0 })
	levers = levers.where(func(row stat.Row) bool {
		if row.Cell.WriteSize == 0 {
			return row.Cell.Capacity == largest
		}
		return row.Cell.WriteSize == slices.Min(writes)
	})
	for _, added := range levers.panels(panelName, leverName, Line, along("goodput", meanSize)) {
		for i, p := range c.Panels {
			if p.Title == added.Title {
				c.Panels[i].Series = append(p.Series, added.Series...)
			}
		}
	}
	c.Notes = append(c.Notes, "A larger pipe or smaller writes ("+framingName(levers.all[0])+
		") spare sleeps: a write that fills the pipe puts both ends to sleep in turns.")
}

// leverName names in what a row differs from whole messages through the usual pipe.
func leverName(row stat.Row) string {
	if row.Cell.WriteSize > 0 {
		return "writes of " + results.FormatSize(int64(row.Cell.WriteSize))
	}
	return capacityName(row)
}

// writeSizeCharts show what a larger pipe and smaller writes do to one message size: a panel for
// each placement, a line for each capacity.
func writeSizeCharts(all rows) []Chart {
	usual := all.usualCapacity()
	r := all.where(func(row stat.Row) bool {
		row.Cell.WriteSize = 0
		return isStream(row)
	})
	shown := func(c *results.Cell) { c.Capacity, c.WriteSize, c.Placement = 0, 0, "" }
	varying := rows{set: all.set}
	for _, own := range r.apart(shown) {
		if len(values(own, writeSizeOf)) > 1 {
			varying.all = append(varying.all, own.all...)
		}
	}
	var charts []Chart
	for _, own := range varying.apart(shown) {
		charts = append(charts, own.writeSizeChart(usual))
	}
	return charts
}

func (r rows) writeSizeChart(usual int) Chart {
	sizes := values(r, writeSizeOf)
	slices.SortFunc(sizes, unlimitedFirst)
	var names []string
	for _, n := range sizes {
		name := "whole"
		if n > 0 {
			name = strconv.FormatFloat(float64(n)/1024, 'f', -1, 64)
		}
		names = append(names, name)
	}
	c := Chart{
		Name:     "write-size" + r.suffix,
		Title:    r.writeSizeTitle(usual),
		Subtitle: r.subtitle("placement", "capacity", "write_size"),
		X:        Axis{Label: "KiB per write", Scale: Category, Categories: names},
		Y:        Axis{Label: "goodput", Unit: Rate, FromZero: true},
		Notes: []string{"A write that fills the pipe puts both ends to sleep until the other one " +
			"has run; each sleep costs a wake-up. " + mediansNote},
	}
	column := func(row stat.Row) float64 {
		return float64(slices.Index(sizes, row.Cell.WriteSize))
	}
	c.Panels = r.panels(panelName, capacityName, Line, along("goodput", column))
	return c
}

// capacityName names the line of a row by the capacity that its pipes reported or, if that is not
// known, by the capacity that was asked for.
func capacityName(row stat.Row) string {
	back := rows{all: []stat.Row{row}}.capacities()
	if len(back) == 1 && back[0] > 0 {
		return "pipe of " + results.FormatSize(int64(back[0]))
	}
	return "pipe of " + view.FieldValue("capacity", strconv.Itoa(row.Cell.Capacity))
}

// writeSizeTitle says by how much the best setting of capacity and write size exceeds whole
// messages through the usual pipe, in the placement where it gains most.
func (r rows) writeSizeTitle(usual int) string {
	gain, where := 1.0, ""
	for _, placement := range values(r, placementOf) {
		whole, best := 0.0, 0.0
		for _, row := range r.at(placement).all {
			goodput := row.Estimates["goodput"].Median
			best = max(best, goodput)
			if row.Cell.Capacity == usual && row.Cell.WriteSize == 0 {
				whole = goodput
			}
		}
		if placement != "free" && whole > 0 && best/whole > gain {
			gain, where = best/whole, view.PlacementPhrase(placement)
		}
	}
	size := view.SizeText(r.all[0].Cell.Size)
	if gain < 1.2 {
		return "Neither a larger pipe nor smaller writes carry " + size + " much faster"
	}
	return fmt.Sprintf("A larger pipe or smaller writes carry %s up to %.2g× faster %s",
		size, gain, where)
}
