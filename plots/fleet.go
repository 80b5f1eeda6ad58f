package plots

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// FleetCharts compares machines: the goodput of each framing relative to the raw pipe of the same
// machine, because absolute figures of two machines say little. Each framing has a panel. If there
// are few machines, each has its own points; if there are many, there is one line of medians, and
// machines that stand out have points of their own.
func FleetCharts(members []stat.Member) []Chart {
	outliers := stat.FleetOutliers(members)
	var charts []Chart
	for _, placement := range []string{"same", "sibling", "apart", "far", "free"} {
		cells, machines := bareCells(members, placement)
		if machines < 2 {
			continue
		}
		c := Chart{
			Name:    "machines-" + placement,
			Title:   fleetTitle(members, outliers, cells) + ", " + view.PlacementPhrase(placement),
			X:       sizeAxis,
			Y:       ratioAxis,
			kind:    "machines",
			section: "differences",
		}
		for _, framing := range framingsOf(cells) {
			p := Panel{Title: view.FieldValue("framing", framing), Guides: []Guide{{Value: 1}}}
			if len(members) <= view.FewMachines {
				p.Series = eachMachine(members, cells, framing)
			} else {
				p.Series = allMachines(members, outliers, cells, framing)
			}
			c.Panels = append(c.Panels, p)
		}
		c.Notes = []string{"Points are medians of the ratios taken round by round; bars are the " +
			"95 % interval."}
		if len(members) > view.FewMachines {
			c.Notes = []string{"Points are the median machine; bars hold 80 of 100 machines. " +
				"Machines that stand out from their kind are drawn one by one, ten at most."}
		}
		c.complete()
		charts = append(charts, c)
	}
	return charts
}

// fleetTitle says how many machines stand out or, if none does, what framings keep of raw's goodput
// on the median machine.
func fleetTitle(members []stat.Member, outliers []stat.Outlier, cells []results.Cell) string {
	machines := results.FormatCount(len(members), "machine")
	if len(outliers) > 0 {
		stand := "stand"
		if len(outliers) == 1 {
			stand = "stands"
		}
		return fmt.Sprintf("%d of %s %s out in what framings keep of raw's goodput",
			len(outliers), machines, stand)
	}
	least, most := 1.0, 0.0
	for _, cell := range cells {
		median := spreadOf(members, cell).Median
		least = min(least, median)
		most = max(most, median)
	}
	return fmt.Sprintf("Framings keep %.0f to %.0f %% of raw's goodput on %s",
		100*least, 100*most, machines)
}

// spreadOf returns how far the ratio to raw of a cell differs between machines.
func spreadOf(members []stat.Member, cell results.Cell) stat.Spread {
	var values []float64
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell && f.ToRaw.N > 0 {
				values = append(values, f.ToRaw.Median)
			}
		}
	}
	return stat.SpreadOf(values)
}

// bareCells lists the streams of bare transports (see isBare) at a placement that at least one
// machine measured beside raw, by framing and size. most is the number of machines that measured
// the most common cell.
func bareCells(members []stat.Member, placement string) (cells []results.Cell, most int) {
	count := make(map[results.Cell]int)
	for _, m := range members {
		for _, f := range m.Figures {
			c := f.Cell
			if c.Placement != placement || c.Pattern != "stream" || !isBare(c) || f.ToRaw.N == 0 {
				continue
			}
			count[c]++
			most = max(most, count[c])
		}
	}
	for c, n := range count {
		if 2*n >= most { // the others are variants that few machines measured
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b results.Cell) int {
		return cmp.Or(cmp.Compare(a.Framing, b.Framing), cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Key(), b.Key()))
	})
	return cells, most
}

// framingsOf lists the framings of cells, each once.
func framingsOf(cells []results.Cell) []string {
	var framings []string
	for _, c := range cells {
		framings = append(framings, c.Framing)
	}
	return slices.Compact(framings)
}

// eachMachine makes a series for each machine.
func eachMachine(members []stat.Member, cells []results.Cell, framing string) []Series {
	var lines []Series
	for _, m := range members {
		s := Series{Name: m.Name, Shape: Dots}
		for _, f := range m.Figures {
			if f.Cell.Framing == framing && slices.Contains(cells, f.Cell) {
				s.Points = append(s.Points, pointOf(float64(f.Cell.Size), f.ToRaw, nil))
			}
		}
		slices.SortStableFunc(s.Points, compareX)
		if len(s.Points) > 0 {
			lines = append(lines, s)
		}
	}
	return lines
}

// mostOutliers is how many machines have points of their own.
const mostOutliers = 10

// allMachines makes a line of the median machine, and the points of each machine that stands out.
func allMachines(members []stat.Member, outliers []stat.Outlier, cells []results.Cell,
	framing string) []Series {
	line := Series{Name: "median machine", Shape: Line}
	for _, cell := range cells {
		if cell.Framing != framing {
			continue
		}
		s := spreadOf(members, cell)
		line.Points = append(line.Points, Point{
			X: float64(cell.Size), Y: s.Median, Low: s.P10, High: s.P90, Samples: s.N,
		})
	}
	lines := []Series{line}
	out := Series{Name: "stands out", Shape: Dots}
	for i, o := range outliers {
		if i == mostOutliers {
			break
		}
		for _, s := range eachMachine(members[o.Member:o.Member+1], cells, framing) {
			out.Points = append(out.Points, s.Points...)
		}
	}
	slices.SortStableFunc(out.Points, compareX)
	if len(out.Points) > 0 {
		lines = append(lines, out)
	}
	return lines
}
