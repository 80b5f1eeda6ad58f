package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A comparison has what the differences are about: machines, or runs of one machine.
type comparison struct {
	members     []stat.Member
	differences []stat.Difference
	speeds      []float64 // of everything on each member, see [stat.Speeds]
	areRuns     bool
}

func isTrip(c results.Cell) bool { return c.Pattern == results.PatternRoundtrip }

// isPlural reports whether the phrase of a framing is plural: "60 KiB chunks".
func isPlural(framing string) bool { return results.ChunkSize(framing) > 0 }

func newComparison(members []stat.Member) comparison {
	found := stat.Differences(members)
	return comparison{
		members:     members,
		differences: found,
		speeds:      stat.Speeds(members, found),
	}
}

func (c comparison) sentences() []string {
	var all []string
	for _, d := range c.differences {
		text := c.sentence(d)
		if !isFraming(d) || !strings.HasPrefix(text, results.FramingPhrase(d.Framing)) {
			text = capitalised(text) // names of framings keep their small letters
		}
		all = append(all, text)
	}
	return all
}

// sentence tells a difference, and what is certain beside it.
func (c comparison) sentence(d stat.Difference) string {
	text := c.claim(d) + "."
	if c.isRawAlone(d) {
		text += " Framings are as fast there as usual."
	}
	if c.isUnexplained(d) {
		text += " No recorded property is common to these alone."
	}
	return text
}

// claim tells a difference with figures of one measurement, if these show it. A share of raw's
// speed says how fast a framing is compared with others. Without it, a ratio does.
func (c comparison) claim(d stat.Difference) string {
	groups := inOrder(d)
	cell, figures := c.figures(d, groups)
	text := ""
	if isFraming(d) && figures != nil {
		text = c.shares(d, groups, figures) + whereMeasured(cell)
	} else {
		text = c.subject(d) + c.ratios(d, groups)
		if figures != nil {
			text += ": raw reaches " + joinAnd(figures) + whereMeasured(cell)
		}
	}
	if d.ByDegrees {
		unit := "machine"
		if c.areRuns {
			unit = "run"
		}
		between := len(d.Groups[1].Members)
		text += ", with " + results.FormatCount(between, unit) + " in between"
	}
	if len(d.Cells) < len(d.Compared) {
		text += ", in " + measurementsOf(d)
	}
	return text
}

// isFraming reports whether a difference is about a framing other than raw.
func isFraming(d stat.Difference) bool {
	return d.Framing != "" && d.Framing != results.FramingRaw
}

// inOrder returns the groups in the order in which a sentence tells of them: the usual one last. By
// degrees these are only the ends.
func inOrder(d stat.Difference) []stat.SpeedGroup {
	if d.ByDegrees {
		return []stat.SpeedGroup{d.Groups[0], d.Groups[len(d.Groups)-1]}
	}
	usual := d.Usual()
	groups := slices.Delete(slices.Clone(d.Groups), usual, usual+1)
	return append(groups, d.Groups[usual])
}

func (c comparison) shares(d stat.Difference, groups []stat.SpeedGroup, figures []string) string {
	var parts []string
	for i, g := range groups {
		if i == 0 {
			figures[i] += " of raw's speed"
		}
		parts = append(parts, figures[i]+" "+c.place(d, g))
	}
	verb := " keeps "
	if isPlural(d.Framing) {
		verb = " keep "
	}
	return results.FramingPhrase(d.Framing) + verb + joinAnd(parts)
}

// subject begins a sentence. What differs on a machine is always told beside everything there.
func (c comparison) subject(d stat.Difference) string {
	phrase := results.FramingPhrase(d.Framing)
	verb := " is "
	if isPlural(d.Framing) {
		verb = " are "
	}
	switch {
	case d.Framing == "":
		return "everything is "
	case c.isRawAlone(d):
		return "raw alone is "
	case isTrip(d.Cells[0]):
		return "compared with other framings, round trips of " + phrase + " are "
	}
	return "compared with other framings, " + phrase + verb
}

// ratios says how much slower or faster than the last group the others are.
func (c comparison) ratios(d stat.Difference, groups []stat.SpeedGroup) string {
	last := groups[len(groups)-1]
	var parts []string
	for _, g := range groups[:len(groups)-1] {
		ratio := last.Speed / g.Speed
		change := " times slower "
		if ratio < 1 {
			ratio = 1 / ratio
			change = " times faster "
		}
		parts = append(parts, results.FormatNumber(ratio, 2)+change+c.place(d, g))
	}
	return joinAnd(parts) + " than " + c.place(d, last)
}

// isRawAlone reports whether a difference is about raw, on machines on which everything together is
// as usual, and no other difference is of some of these machines alone.
func (c comparison) isRawAlone(d stat.Difference) bool {
	if d.Framing != results.FramingRaw {
		return false
	}
	odd := d.Odd()
	isElsewhere := func(i int) bool { return !slices.Contains(odd, i) }
	for _, i := range odd {
		if speed := c.speeds[i]; speed > leastRatio || speed < 1/leastRatio {
			return false
		}
	}
	for _, other := range c.differences {
		if other.Framing != d.Framing && !slices.ContainsFunc(other.Odd(), isElsewhere) {
			return false
		}
	}
	return true
}

// leastRatio is the smallest ratio between two figures that is worth telling: a tenth.
const leastRatio = 1.1

// figures returns the ranges of raw's speed in the groups, or of a framing's share of it, in the
// most usual measurement in which these ranges are apart. Without one, it returns nil.
func (c comparison) figures(d stat.Difference, groups []stat.SpeedGroup) (cell results.Cell,
	texts []string) {
	if d.Framing == results.FramingRaw && !c.isRawAlone(d) {
		return cell, nil
	}
	for _, cell := range byUsualness(d.Cells) {
		cell.Framing = cmp.Or(cell.Framing, results.FramingRaw)
		if isTrip(cell) {
			continue
		}
		// If raw is unusual on a machine, raw's speed and shares of it show that instead.
		if d.Framing != results.FramingRaw && len(oddRaw(c.members, cell)) > 0 {
			continue
		}
		if texts := c.rangesOf(d, groups, cell); texts != nil {
			return cell, texts
		}
	}
	return cell, nil
}

// rangesOf returns the range of the figures of each group, or nil if these ranges are not apart in
// the order of the groups' speeds.
func (c comparison) rangesOf(d stat.Difference, groups []stat.SpeedGroup,
	cell results.Cell) []string {
	var texts []string
	var spreads []stat.Spread
	for _, g := range groups {
		known, _ := standings(c.group(d, g).Members, cell)
		if len(known) == 0 {
			return nil
		}
		all := mediansOf(known)
		own := stat.Spread{Median: g.Speed, Least: slices.Min(all), Most: slices.Max(all)}
		for _, s := range spreads {
			isSlower := own.Median < s.Median && own.Most < s.Least
			isFaster := own.Median > s.Median && own.Least > s.Most
			if !isSlower && !isFaster {
				return nil
			}
		}
		spreads = append(spreads, own)
		text := PercentRange(own.Least, own.Most)
		if cell.Framing == results.FramingRaw {
			metric := stat.RelativeMetric(cell)
			text = FromTo(metric.Format(own.Least), metric.Format(own.Most))
		}
		texts = append(texts, text)
	}
	return texts
}

// byUsualness sorts measurements: those on one CPU first, then those with usual messages.
func byUsualness(cells []results.Cell) []results.Cell {
	return slices.SortedStableFunc(slices.Values(cells), func(a, b results.Cell) int {
		return cmp.Or(results.ComparePlacements(a.Placement, b.Placement),
			cmp.Compare(sizeDistance(a.Size), sizeDistance(b.Size)))
	})
}

// oddRaw names the machines on which raw is unusual in a measurement.
func oddRaw(members []stat.Member, cell results.Cell) []string {
	var names []string
	for _, m := range members {
		if slices.ContainsFunc(m.Figures, func(f stat.Figure) bool {
			return f.OddRaw && withoutFraming(f.Cell) == withoutFraming(cell)
		}) {
			names = append(names, m.Name)
		}
	}
	return names
}

// whereMeasured says which messages these are, and which settings are not the usual ones.
func whereMeasured(c results.Cell) string {
	text := "messages of " + SizeTitle(c.Size) + ", " + results.PlacementPhrase(c.Placement)
	usual := results.UsualCell(c.Framing, c.Pattern, c.Placement, c.Size)
	for _, name := range results.DifferingFields([]results.Cell{usual, c}) {
		if value := c.Field(name); value != "" {
			text += ", " + FieldPhrase(name, value)
		}
	}
	return " (" + text + ")"
}

// measurementsOf says in how many measurements a difference was found and, if it is so with certain
// messages alone, with which.
func measurementsOf(d stat.Difference) string {
	text := fmt.Sprintf("%d of %d measurements", len(d.Cells), len(d.Compared))
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
