package plots

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

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

// addLevers adds points to a chart of goodput for two things that change goodput more than the
// framing does, if they were measured: the largest pipe, and the smallest writes. Each of the two
// changes only one of them.
func (c *Chart) addLevers(own, all rows) {
	usual := own.all[0].Cell.Capacity
	if len(values(own, capacityOf)) > 1 {
		return // they have panels of their own
	}
	levers := all.where(func(row stat.Row) bool {
		larger, inWrites := row.Cell.Capacity > usual, row.Cell.WriteSize > 0
		row.Cell.WriteSize = 0
		return isStream(row) && larger != inWrites && row.Cell.Capacity >= usual
	})
	if len(levers.all) == 0 {
		return
	}
	levers = withValue(levers, framingOf, levers.all[0].Cell.Framing)
	largest, smallest := 0, 0
	for _, row := range levers.all {
		largest = max(largest, row.Cell.Capacity)
		if n := row.Cell.WriteSize; n > 0 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	levers = levers.where(func(row stat.Row) bool {
		if row.Cell.WriteSize > 0 {
			return row.Cell.WriteSize == smallest
		}
		return row.Cell.Capacity == largest
	})
	l := layout{own.streamTitle(), leverName, among(own.sizes(), sizeOf), false}
	for _, added := range levers.panels(l, metricPoint("goodput")) {
		for i, p := range c.Panels {
			if p.Title == added.Title {
				c.Panels[i].Series = append(p.Series, added.Series...)
			}
		}
	}
	c.Notes = append(c.Notes, fmt.Sprintf("“pipe of …” is %[1]s through a larger pipe, "+
		"“writes of …” is %[1]s in smaller writes: both seldom fill the pipe.",
		framingName(levers.all[0])))
}

// leverName names in what a row differs from whole messages through the usual pipe.
func leverName(row stat.Row) string {
	if row.Cell.WriteSize > 0 {
		return "writes of " + view.SizeTitle(row.Cell.WriteSize)
	}
	return capacityName(row)
}

// writeSizeChart shows what a larger pipe and smaller writes do to a large message: a panel for
// each placement (and framing, if several were measured), a line for each capacity.
func writeSizeChart(all rows) Chart {
	usual := all.usualCapacity()
	levelled := func(row stat.Row) results.Cell {
		row.Cell.Capacity = usual
		row.Cell.WriteSize = 0
		return row.Cell
	}
	inWrites := all.where(func(row stat.Row) bool {
		return row.Cell.WriteSize > 0 && isStream(stat.Row{Cell: levelled(row)})
	})
	if len(inWrites.all) == 0 {
		return Chart{}
	}
	cells := values(inWrites, levelled)
	r := all.where(func(row stat.Row) bool { return slices.Contains(cells, levelled(row)) })
	sizes := slices.Sorted(slices.Values(values(r, writeSizeOf)))
	slices.Reverse(sizes)
	if n := len(sizes); sizes[n-1] == 0 { // whole messages come first
		sizes = append([]int{0}, sizes[:n-1]...)
	}
	var places []string
	for _, size := range sizes {
		places = append(places, writeSizeName(size))
	}
	title := r.titled(placeName, "placement", "capacity", "write_size")
	l := layout{title, capacityName, among(sizes, writeSizeOf), false}
	c := Chart{
		Name:     "write-size",
		Subtitle: r.subtitle("placement", "capacity", "write_size"),
		X:        Axis{Label: "size of each write", Places: places},
		Y:        Axis{Label: "goodput", Unit: Rate, FromZero: true},
		Panels:   r.panels(l, metricPoint("goodput")),
		Notes: []string{"whole: one write per message. If a write fills the pipe, the two ends " +
			"sleep in turns, and each sleep costs a wake-up.", mediansNote},
	}
	if framings := values(r, framingName); len(framings) == 1 {
		c.addToSubtitle(framings[0])
	}
	c.Title = r.writeSizeTitle(usual, title)
	return c
}

// writeSizeName names a size of writes; 0 is the whole message.
func writeSizeName(size int) string {
	if size == 0 {
		return "whole"
	}
	return view.SizeTitle(size)
}

// capacityName names the line of a row by the capacity that its pipes reported or, if that is not
// known, by the capacity that was asked for.
func capacityName(row stat.Row) string {
	back := rows{all: []stat.Row{row}}.capacities()
	if len(back) == 1 && back[0] > 0 {
		return "pipe of " + view.SizeTitle(back[0])
	}
	return "pipe of " + view.FieldValue("capacity", strconv.Itoa(row.Cell.Capacity))
}

// settingName names what a row changes, with the verb behind it: "A pipe of 1 MiB carries", "Writes
// of 8 KiB carry", or both.
func settingName(row stat.Row, usual int) string {
	size := view.SizeTitle(row.Cell.WriteSize)
	switch {
	case row.Cell.Capacity == usual:
		return "Writes of " + size + " carry"
	case row.Cell.WriteSize == 0:
		return "A " + capacityName(row) + " carries"
	}
	return "A " + capacityName(row) + " and writes of " + size + " carry"
}

// writeSizeTitle says by how much the best setting of capacity and write size exceeds whole
// messages through the usual pipe, in the pinned panel where it gains most beyond the noise.
func (r rows) writeSizeTitle(usual int, panel func(stat.Row) string) string {
	size := view.SizeTitle(r.all[0].Cell.Size)
	gain := 1.2 // the least that counts
	found := ""
	noisy := false
	for _, row := range r.all {
		to, _ := metricPoint("goodput")(row)
		whole := withValue(r, panel, panel(row)).where(func(row stat.Row) bool {
			return row.Cell.Capacity == usual && row.Cell.WriteSize == 0
		})
		if row.Cell.Placement == "free" || len(whole.all) == 0 {
			continue
		}
		from, _ := metricPoint("goodput")(whole.all[0])
		switch {
		case to.Doubt || from.Doubt:
			noisy = true
		case to.Low > from.High && to.Y/from.Y >= gain:
			gain = to.Y / from.Y
			found = fmt.Sprintf("%s %s %.2g× faster on %s",
				settingName(row, usual), view.SizeTitle(row.Cell.Size), gain, panel(row))
		}
	}
	switch {
	case found != "":
		return found
	case noisy:
		return "Noise hides whether a larger pipe or smaller writes carry " + size + " faster"
	}
	return "Neither a larger pipe nor smaller writes carry " + size + " much faster"
}
