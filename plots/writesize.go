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

// writeSizeTitle says which pipe capacity and write size raise goodput most in a panel, compared
// with whole messages through a pipe of the usual capacity. Of the settings that certainly gain in
// a panel, it takes the one whose point is highest.
func (r rows) writeSizeTitle(usual int, panel func(stat.Row) string) string {
	r = r.where(func(row stat.Row) bool { return row.Cell.Placement != "free" })
	var best, base stat.Row
	var most stat.Estimate // the gain of best
	noisy := false
	for _, name := range values(r, panel) {
		var highest, own stat.Row
		var gains stat.Estimate
		for _, row := range withValue(r, panel, name).all {
			gain, whole := r.gainOf(row, usual, panel)
			effect := view.Judge(gain, view.GainThatCounts)
			noisy = noisy || gain.N > 0 && effect == view.Unclear
			if effect == view.Gain && medianGoodput(row) > medianGoodput(highest) {
				highest, own, gains = row, whole, gain
			}
		}
		if gains.Median > most.Median {
			best, base, most = highest, own, gains
		}
	}
	size := view.SizeTitle(r.all[0].Cell.Size)
	switch {
	case most.N == 0 && noisy:
		return "Too noisy to tell whether a larger pipe or smaller writes carry " + size +
			" faster" + moreTell
	case most.N == 0:
		return "Neither a larger pipe nor smaller writes carry " + size + " much faster"
	}
	return fmt.Sprintf("On %s, %s %s× as much as whole messages in a %s", panel(best),
		settingName(best, usual), results.FormatNumber(most.Median, 2), capacityName(base))
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
