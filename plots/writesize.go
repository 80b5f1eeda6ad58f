package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// settingName says what is special about a row, the size of its pipe or of its writes: "a pipe of
// 1 MiB and writes of 64 KiB".
func settingName(row stat.Row, usual int) string {
	var parts []string
	if row.Cell.Capacity != usual {
		parts = append(parts, "a "+capacityName(row))
	}
	if row.Cell.WriteSize > 0 {
		parts = append(parts, "writes of "+view.SizeTitle(row.Cell.WriteSize))
	}
	return strings.Join(parts, " and ")
}

// A lever is a setting that is compared with whole messages through a pipe of the usual capacity.
type lever struct {
	row, base stat.Row      // base: the whole messages, in the same panel
	gain      stat.Estimate // goodput of row ÷ goodput of base, within rounds; N is 0 without base
}

func (r rows) leverOf(row stat.Row, usual int, panel func(stat.Row) string) lever {
	whole := withValue(r, panel, panel(row)).where(func(row stat.Row) bool {
		return row.Cell.Capacity == usual && row.Cell.WriteSize == 0
	})
	if len(whole.all) == 0 {
		return lever{row: row}
	}
	base := whole.all[0]
	return lever{row, base, stat.PairedRatio(stat.MustMetric("goodput"), row.Records, base.Records)}
}

// writeSizeTitle says which pipe capacity and write size raise goodput most in a panel, compared
// with whole messages through a pipe of the usual capacity, and in which panels the same certainly
// loses. Of the settings that certainly gain, it takes the first that gains about as much as the
// best, by the medians in the chart. It prefers what tune advises, and then gains that noise leaves
// a figure.
func (r rows) writeSizeTitle(usual int, panel func(stat.Row) string) string {
	r = r.where(func(row stat.Row) bool { return row.Cell.Placement != "free" })
	var gains []lever
	var noisy []string // panels
	for _, row := range r.all {
		l := r.leverOf(row, usual, panel)
		effect := view.Judge(l.gain, view.GainThatCounts)
		isNoisy := effect == view.Unclear && l.gain.N > 0
		if isNoisy && !slices.Contains(noisy, panel(row)) {
			noisy = append(noisy, panel(row))
		}
		if effect == view.Gain {
			gains = append(gains, l)
		}
	}
	size := view.SizeTitle(r.all[0].Cell.Size)
	switch {
	case len(gains) == 0 && len(noisy) > 0:
		return "Too noisy to tell whether a larger pipe or smaller writes carry " + size +
			" faster on " + strings.Join(noisy, " and ") + moreTell
	case len(gains) == 0:
		return "Neither a larger pipe nor smaller writes carry " + size + " much faster"
	}
	advised := r.advice().Lever
	preference := func(l lever) int {
		rank := 0
		c := l.row.Cell
		if c.Capacity == advised.Capacity && c.WriteSize == advised.WriteSize {
			rank = 2
		}
		if stat.IsClear(l.gain) {
			rank++
		}
		return rank
	}
	best := slices.MaxFunc(gains, func(a, b lever) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(a.shown(), b.shown()))
	})
	first := slices.IndexFunc(gains, func(l lever) bool {
		isPreferred := preference(l) == preference(best)
		return isPreferred && l.shown()*view.GainThatCounts >= best.shown()
	})
	best = gains[first]
	title := fmt.Sprintf("On %s, %s compared with whole messages in a %s: %s", panel(best.row),
		settingName(best.row, usual), capacityName(best.base), view.TimesAsFast(best.gain))
	for _, row := range r.all {
		l := r.leverOf(row, usual, panel)
		isSame := settingName(row, usual) == settingName(best.row, usual)
		if isSame && view.Judge(l.gain, 1) == view.Loss {
			title += "; slower on " + panel(row)
		}
	}
	return title
}

// shown returns the gain by the medians that the chart shows.
func (l lever) shown() float64 { return medianGoodput(l.row) / medianGoodput(l.base) }
