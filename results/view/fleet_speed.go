package view

import (
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
		all = append(all, capitalised(c.sentence(d)))
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

// claim says how much slower or faster than the usual group the other groups are.
func (c comparison) claim(d stat.Difference) string {
	groups := inOrder(d)
	usual := groups[len(groups)-1]
	var parts []string
	for _, g := range groups[:len(groups)-1] {
		ratio := usual.Speed / g.Speed
		change := " times slower "
		if ratio < 1 {
			ratio = 1 / ratio
			change = " times faster "
		}
		parts = append(parts, results.FormatNumber(ratio, 2)+change+c.place(d, g))
	}
	text := c.subject(d) + joinAnd(parts) + " than " + c.place(d, usual)
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

// measurementsOf says in how many measurements a difference was found and, if it is so with certain
// messages or on certain CPUs alone, with which.
func measurementsOf(d stat.Difference) string {
	text := fmt.Sprintf("%d of %d measurements", len(d.Cells), len(d.Compared))
	size := func(c results.Cell) string { return SizeTitle(c.Size) }
	placement := func(c results.Cell) string { return results.PlacementPhrase(c.Placement) }
	var alone []string
	for _, title := range []func(results.Cell) string{size, placement} {
		own := grouped(d.Cells, title)
		if len(own) == len(grouped(d.Compared, title)) {
			continue
		}
		var titles []string
		for _, same := range own {
			titles = append(titles, title(same[0]))
		}
		alone = append(alone, joinAnd(titles))
	}
	if len(alone) == 0 {
		return text
	}
	return text + " (" + strings.Join(alone, ", ") + ")"
}
