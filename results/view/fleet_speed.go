package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

func (c comparison) sentences() []string {
	var all []string
	for _, d := range c.differences {
		text := c.sentence(d)
		isFraming := d.Framing != "" && d.Framing != results.FramingRaw
		if !isFraming || isTrip(d.Cells[0]) { // names of framings keep their small letters
			text = capitalised(text)
		}
		all = append(all, text)
	}
	return all
}

// sentence begins with the side of fewer machines.
func (c comparison) sentence(d stat.Difference) string {
	v, isShown := c.contrast(d)
	d = c.withoutOddRaw(d, v)
	few := d.Fewer()
	many := others(d, few)
	here := v.slow
	there := v.fast
	change := "slower"
	if slices.Equal(few, d.Fast) {
		here, there = there, here
		change = "faster"
	}
	on := c.where(d, few, false)
	elsewhere := c.where(d, many, true)
	if there.areFew() {
		elsewhere = "others"
	}
	if isShown && v.isShare {
		text := fmt.Sprintf("%s %s%s %s and %s %s%s%s", measuredVerb(v.cell, "keeps", "keep"),
			c.rangeOf(v, here), ofRaw(v.cell), on, c.rangeOf(v, there), elsewhere,
			whereMeasured(v.cell), c.countOf(d))
		return strings.Join(nonEmpty([]string{text, c.oddRawText(v.cell)}), "; ") + "."
	}
	subject, areMany := c.subject(d)
	verb := " is"
	if areMany {
		verb = " are"
	}
	if !isShown {
		return fmt.Sprintf("%s%s %s times %s %s, compared with other framings there%s.",
			subject, verb, results.FormatNumber(d.Ratio, 2), change, on, c.countOf(d))
	}
	text := fmt.Sprintf("%s%s %s times %s %s: %s %s there and %s %s%s%s.", subject, verb,
		results.FormatNumber(v.ratio(), 2), change, on, reaches(d, v.cell), c.rangeOf(v, here),
		c.rangeOf(v, there), elsewhere, whereMeasured(v.cell), c.countOf(d))
	if c.isAlone(d) {
		text += " Framings are as fast there as elsewhere."
	}
	return text
}

func (c comparison) subject(d stat.Difference) (text string, areMany bool) {
	if d.Framing == "" {
		return "everything", false
	}
	text = results.FramingPhrase(d.Framing)
	if c.isAlone(d) {
		text += " alone"
	}
	if isTrip(d.Cells[0]) {
		return "round trips of " + text, true
	}
	return text, isPlural(d.Framing)
}

// isAlone reports whether a difference is about raw, and nothing else differs on the machines of
// its smaller side.
func (c comparison) isAlone(d stat.Difference) bool {
	if d.Framing != results.FramingRaw {
		return false
	}
	for _, other := range c.differences {
		isOther := other.Framing != d.Framing
		isThere := func(i int) bool { return slices.Contains(other.Fewer(), i) }
		if isOther && slices.ContainsFunc(d.Fewer(), isThere) {
			return false
		}
	}
	return true
}

// rangeOf writes the range of the figures of one side: of most of its machines, or of how many.
func (c comparison) rangeOf(v contrast, side sideRange) string {
	metric := stat.RelativeMetric(v.cell)
	text := FromTo(metric.Format(side.Least), metric.Format(side.Most))
	switch {
	case v.isShare && isTrip(v.cell):
		text = FromTo(fmt.Sprintf("%.2f times", side.Least), fmt.Sprintf("%.2f times", side.Most))
	case v.isShare:
		text = PercentRange(side.Least, side.Most)
	}
	switch {
	case side.areFew() && c.areRuns:
		return fmt.Sprintf("%s in %d of %d", text, side.within, side.all)
	case side.areFew():
		return fmt.Sprintf("%s on %d of %d", text, side.within, side.all)
	case side.within < side.all:
		return "usually " + text
	}
	return text
}

// countOf says in how many measurements a difference was found, if it could be in several. If they
// are of certain messages alone, it says of which. By degrees, it counts the machines in between.
func (c comparison) countOf(d stat.Difference) string {
	text := ""
	if len(d.Compared) > 1 {
		text = ", in " + measurementsOf(d, " measurements")
	}
	unit := "machine"
	if c.areRuns {
		unit = "run"
	}
	if n := len(d.Between); n > 0 {
		text += ", with " + results.FormatCount(n, unit) + " in between"
	}
	return text
}

func measurementsOf(d stat.Difference, unit string) string {
	text := fmt.Sprintf("%d of %d%s", len(d.Cells), len(d.Compared), unit)
	sizes := sizesOf(d.Cells)
	if slices.Equal(sizes, sizesOf(d.Compared)) {
		return text
	}
	return text + " (" + joinAnd(sizes) + ")"
}

func sizesOf(cells []results.Cell) []string {
	var sizes []int
	for _, c := range cells {
		sizes = append(sizes, c.Size)
	}
	slices.Sort(sizes)
	var titles []string
	for _, size := range slices.Compact(sizes) {
		titles = append(titles, SizeTitle(size))
	}
	return titles
}

func (c comparison) table() Table {
	t := Table{
		Title: "Where the machines differ most, beyond the noise",
		Columns: []Column{
			{Title: "what", Key: true},
			{Title: "messages", Key: true},
			{Title: "slower on", Key: true},
			{Title: "faster on", Key: true},
			{Title: "measurements", Key: true},
		},
	}
	for _, d := range c.differences {
		v, isShown := c.contrast(d)
		d = c.withoutOddRaw(d, v)
		subject, _ := c.subject(d)
		if len(d.Between) > 0 {
			subject += ", by degrees"
		}
		slow := c.name(d, d.Slow)
		fast := c.name(d, d.Fast)
		messages := ""
		if isShown {
			slow += ": " + c.rangeOf(v, v.slow)
			fast += ": " + c.rangeOf(v, v.fast)
			messages = SizeTitle(v.cell.Size) + ", " + results.ShortPlacement(v.cell.Placement)
		}
		t.Append(subject, messages, slow, fast, measurementsOf(d, ""))
	}
	return t
}
