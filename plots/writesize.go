package plots

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// leverSetting returns what rows share that differ in capacity, write size and placement alone.
func leverSetting(row stat.Row) stat.RowID {
	c := row.Cell
	c.Capacity, c.WriteSize, c.Placement = 0, 0, ""
	return stat.RowID{Machine: row.Machine, Cell: c}
}

// leverSettings returns the settings in which cells differ in their write size.
func (r rows) leverSettings() map[stat.RowID]bool {
	varying := map[stat.RowID]bool{}
	for _, row := range r.all {
		if row.Cell.WriteSize > 0 {
			varying[leverSetting(row)] = true
		}
	}
	return varying
}

// usualCapacity returns the capacity that most cells ask for; of two, the smaller.
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

// writeSizeCharts show what a larger pipe and smaller writes do to one message size: a panel for
// each placement, a line for each capacity.
func writeSizeCharts(all rows) []Chart {
	varying := all.leverSettings()
	usual := all.usualCapacity()
	r := all.where(func(row stat.Row) bool {
		whole := row
		whole.Cell.WriteSize = 0
		return isStream(whole) && varying[leverSetting(row)]
	})
	var charts []Chart
	for _, own := range r.apart(func(c *results.Cell) {
		c.Capacity, c.WriteSize, c.Placement = 0, 0, ""
	}) {
		charts = append(charts, own.writeSizeChart(usual))
	}
	return charts
}

func (r rows) writeSizeChart(usual int) Chart {
	sizes := values(r, func(row stat.Row) int { return row.Cell.WriteSize })
	slices.SortFunc(sizes, func(a, b int) int {
		switch {
		case a == 0 || b == 0: // the whole message, first
			return a - b
		}
		return b - a
	})
	c := Chart{
		Name:     "write-size" + r.suffix,
		Title:    r.writeSizeTitle(usual),
		Subtitle: r.subtitle("placement", "capacity", "write_size"),
		X: Axis{
			Label: "bytes per write", Scale: Category, Categories: writeSizeNames(sizes),
		},
		Y: Axis{Label: "goodput", Unit: Rate, FromZero: true},
		Notes: []string{"A write that fills the pipe puts both ends to sleep until the other one " +
			"has run; each sleep costs a wake-up. Points are medians, bars their 95 % interval."},
	}
	if len(sizes) > 4 {
		c.X.Label = "KiB per write" // there is no room for each one's unit
	}
	capacities := values(r, capacityOf)
	slices.Sort(capacities)
	for _, placement := range values(r, placementOf) {
		panel := Panel{Title: panelName(placement)}
		for _, capacity := range capacities {
			line := r.at(placement).where(func(row stat.Row) bool {
				return row.Cell.Capacity == capacity
			})
			s := Series{Name: "pipe of " + line.capacityName(capacity)}
			for _, row := range line.all {
				x := float64(slices.Index(sizes, row.Cell.WriteSize))
				if p, ok := figure(row, "goodput", x); ok {
					s.Points = append(s.Points, p)
				}
			}
			slices.SortStableFunc(s.Points, compareX)
			if len(s.Points) > 0 {
				panel.Series = append(panel.Series, s)
			}
		}
		c.Panels = append(c.Panels, panel)
	}
	return c
}

// writeSizeNames names bytes per write: "whole", then "64 KiB", or many of them without the unit.
func writeSizeNames(sizes []int) []string {
	var names []string
	for _, n := range sizes {
		switch {
		case n == 0:
			names = append(names, "whole")
		case len(sizes) > 4:
			names = append(names, strconv.FormatFloat(float64(n)/1024, 'f', -1, 64))
		default:
			names = append(names, sizeText(int64(n)))
		}
	}
	return names
}

// capacityName returns the capacity that was read back from the pipes, or the one that was asked
// for.
func (r rows) capacityName(asked int) string {
	if back := r.capacities(); len(back) == 1 && back[0] > 0 {
		return results.FormatSize(int64(back[0]))
	}
	return view.FieldValue("capacity", strconv.Itoa(asked))
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
			gain, where = best/whole, whereEndsRun(placement)
		}
	}
	size := sizeText(int64(r.all[0].Cell.Size))
	if gain < 1.2 {
		return "Neither a larger pipe nor smaller writes carry " + size + " much faster"
	}
	return fmt.Sprintf("A larger pipe or smaller writes carry %s up to %.2g× faster %s",
		size, gain, where)
}
