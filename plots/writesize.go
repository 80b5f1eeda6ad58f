package plots

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// withoutLevers leaves out rows with an unusual pipe capacity if the rows have several write sizes:
// another chart shows such rows.
func (r rows) withoutLevers() rows {
	if len(values(r, writeSizeOf)) < 2 {
		return r
	}
	usual := r.usualCapacity()
	return r.where(func(row stat.Row) bool { return row.Cell.Capacity == usual })
}

// usualCapacity returns the pipe capacity that most rows ask for. If several are equally frequent,
// it returns the smallest of them.
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

// addLevers adds a line for the largest pipe and a line for the smallest writes, if these were
// measured. The sizes of pipes and writes change goodput more than framings do.
func (c *Chart) addLevers(own, all rows) {
	usual := own.all[0].Cell.Capacity
	if len(values(own, capacityOf)) > 1 {
		return // each capacity has a panel of its own
	}
	levers := all.where(func(row stat.Row) bool {
		inLarger := row.Cell.Capacity > usual
		inWrites := row.Cell.WriteSize > 0
		row.Cell.WriteSize = 0
		return isStream(row) && inLarger != inWrites && row.Cell.Capacity >= usual
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
	l := layout{panel: own.streamTitle(), line: leverName, place: among(own.sizes(), sizeOf)}
	for _, added := range levers.panels(l, metricPoint("goodput")) {
		for i, p := range c.Panels {
			if p.Title == added.Title {
				c.Panels[i].Series = append(p.Series, added.Series...)
			}
		}
	}
	c.Notes = append(c.Notes, fmt.Sprintf("“pipe of …” is %[1]s through a larger pipe, "+
		"“writes of …” is %[1]s in smaller writes.",
		framingName(levers.all[0])))
}

// leverName says what is special about a row, the size of its writes or of its pipe: "writes of 4
// KiB".
func leverName(row stat.Row) string {
	if row.Cell.WriteSize > 0 {
		return "writes of " + view.SizeTitle(row.Cell.WriteSize)
	}
	return capacityName(row)
}

// writeSizeChart shows how a larger pipe and smaller writes change the goodput of large messages.
func writeSizeChart(all rows) Chart {
	usual := all.usualCapacity()
	baseline := func(row stat.Row) results.Cell { // whole messages through the usual pipe
		row.Cell.Capacity = usual
		row.Cell.WriteSize = 0
		return row.Cell
	}
	inWrites := all.where(func(row stat.Row) bool {
		return row.Cell.WriteSize > 0 && isStream(stat.Row{Cell: baseline(row)})
	})
	if len(inWrites.all) == 0 {
		return Chart{}
	}
	cells := values(inWrites, baseline)
	r := all.where(func(row stat.Row) bool { return slices.Contains(cells, baseline(row)) })
	sizes := slices.Sorted(slices.Values(values(r, writeSizeOf)))
	slices.Reverse(sizes)
	if n := len(sizes); sizes[n-1] == 0 { // whole messages come first
		sizes = append([]int{0}, sizes[:n-1]...)
	}
	var places []string
	for _, size := range sizes {
		places = append(places, view.FieldValue("write_size", strconv.Itoa(size)))
	}
	title := r.titled(placeName, "placement", "capacity", "write_size")
	l := layout{panel: title, line: capacityName, place: among(sizes, writeSizeOf)}
	c := Chart{
		Name:     "write-size",
		Subtitle: r.subtitle("placement", "capacity", "write_size"),
		X:        Axis{Label: "size of each write", Places: places},
		Y:        Axis{Label: "goodput", Unit: Rate, FromZero: true},
		Panels:   r.panels(l, metricPoint("goodput")),
		Notes: []string{"whole: one write per message. A write that fills the pipe puts the two " +
			"ends to sleep in turns, which costs most on two CPUs. Small writes cost more calls. " +
			"A gain in the title is the median of the gains within rounds.", mediansNote},
	}
	if framings := values(r, framingName); len(framings) == 1 {
		c.addToSubtitle(framings[0])
	}
	c.Title = r.writeSizeTitle(usual, title)
	return c
}

// capacityName names the line of a row by the capacity of its pipe: the one that the system
// reported, or else the one that was asked for.
func capacityName(row stat.Row) string {
	reported := rows{all: []stat.Row{row}}.capacities()
	if len(reported) == 1 && reported[0] > 0 {
		return "pipe of " + view.SizeTitle(reported[0])
	}
	return "pipe of " + view.FieldValue("capacity", strconv.Itoa(row.Cell.Capacity))
}

// settingName says what is special about a row, the size of its pipe or of its writes, as the
// beginning of a sentence: "a pipe of 1 MiB carries".
func settingName(row stat.Row, usual int) string {
	size := view.SizeTitle(row.Cell.WriteSize)
	switch {
	case row.Cell.Capacity == usual:
		return "writes of " + size + " carry"
	case row.Cell.WriteSize == 0:
		return "a " + capacityName(row) + " carries"
	}
	return "a " + capacityName(row) + " and writes of " + size + " carry"
}

// writeSizeTitle says which pipe capacity and write size raise goodput the most, compared with
// whole messages through a pipe of the usual capacity, and what they do in the other panels. Rough
// gains prove nothing: on a busy machine, a shorter wait for a CPU looks like one.
func (r rows) writeSizeTitle(usual int, panel func(stat.Row) string) string {
	size := view.SizeTitle(r.all[0].Cell.Size)
	most := 0.0 // the largest gain so far
	found := ""
	var best results.Cell
	noisy := false
	for _, row := range r.all {
		gain, base := r.gainOf(row, usual, panel)
		switch {
		case row.Cell.Placement == "free" || gain.N == 0 || gain.Below(view.GainThatCounts):
		case view.IsRough(gain) || !gain.Above(view.GainThatCounts):
			noisy = true
		case gain.Median > most:
			most = gain.Median
			best = row.Cell
			found = fmt.Sprintf("On %s, %s %s× as much as whole messages in a %s", panel(row),
				settingName(row, usual), results.FormatNumber(most, 2), capacityName(base))
		}
	}
	for _, row := range r.all { // the same setting in other panels
		gain, _ := r.gainOf(row, usual, panel)
		isOther := row.Cell.Placement != best.Placement && row.Cell.Placement != "free"
		isSame := row.Cell.Capacity == best.Capacity && row.Cell.WriteSize == best.WriteSize
		counts := gain.Above(view.GainThatCounts) || gain.Below(1/view.GainThatCounts)
		if found != "" && isOther && isSame && counts && !view.IsRough(gain) {
			found += fmt.Sprintf("; on %s %s×", panel(row), results.FormatNumber(gain.Median, 2))
		}
	}
	switch {
	case found != "":
		return found
	case noisy:
		return "Too noisy to tell whether a larger pipe or smaller writes carry " + size +
			" faster" + moreTell
	}
	return "Neither a larger pipe nor smaller writes carry " + size + " much faster"
}

// gainOf returns the goodput of row divided by that of base: whole messages through a pipe of the
// usual capacity in the same panel and the same rounds. The N of the gain is 0 if it was not
// measured.
func (r rows) gainOf(row stat.Row, usual int, panel func(stat.Row) string) (
	gain stat.Estimate, base stat.Row,
) {
	whole := withValue(r, panel, panel(row)).where(func(row stat.Row) bool {
		return row.Cell.Capacity == usual && row.Cell.WriteSize == 0
	})
	if len(whole.all) == 0 {
		return stat.Estimate{}, stat.Row{}
	}
	base = whole.all[0]
	return stat.PairedRatio(stat.MustMetric("goodput"), row.Records, base.Records), base
}
