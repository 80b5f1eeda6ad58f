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

func newComparison(members []stat.Member) comparison {
	found := stat.Differences(members)
	c := comparison{members: members, differences: found, speeds: stat.Speeds(members, found)}
	for i, d := range found {
		found[i] = c.parted(d)
	}
	c.joinFramings()
	return c
}

func (c comparison) sentences() []string {
	isSlight := func(d stat.Difference) bool {
		return d.ByDegrees && d.Framing != "" && d.Ratio() < slightRatio
	}
	slight := selected(c.differences, isSlight)
	var all []string
	for _, d := range c.differences {
		if !isSlight(d) || len(slight) == 1 {
			all = append(all, capitalised(c.sentence(d)))
		}
	}
	if len(slight) > 1 {
		most := 0.0
		var names []string
		for _, d := range slight {
			most = max(most, d.Ratio())
			name := results.FramingPhrase(d.Framing)
			if !slices.Contains(names, name) { // round trips are measured of it, too
				names = append(names, name)
			}
		}
		all = append(all, fmt.Sprintf("By degrees, machines that are alike otherwise differ by up "+
			"to %s times in %s.", results.FormatNumber(most, 2), joinAnd(names)))
	}
	if alike := c.alike(); alike > 1 {
		if len(all) == 0 {
			all = []string{"No framing, nor raw alone, differs by a tenth beyond the noise."}
		}
		where := c.count(alike)
		var missing []int
		for i, speed := range c.speeds {
			if speed == 0 {
				missing = append(missing, i)
			}
		}
		if len(missing) > 0 {
			where += "; too noisy, not measured, or unlike from run to run: " + c.names(missing)
		}
		all = append(all, fmt.Sprintf("Everything together differs by less than %g times between "+
			"%s.", stat.SlowFactor, where))
	}
	return all
}

// alike returns on how many machines everything was compared, or 0 if it differs.
func (c comparison) alike() int {
	isDifferent := len(c.differences) > 0 && c.differences[0].Framing == ""
	speeds := selected(c.speeds, func(speed float64) bool { return speed > 0 })
	if isDifferent || len(speeds) == 0 ||
		slices.Max(speeds) >= stat.SlowFactor*slices.Min(speeds) {
		return 0
	}
	return len(speeds)
}

// count counts machines or runs.
func (c comparison) count(n int) string {
	if c.areRuns {
		return results.FormatCount(n, "run")
	}
	return results.FormatCount(n, "machine")
}

// sentence says how much slower or faster than the usual group the other groups are, and what is
// certain beside it.
func (c comparison) sentence(d stat.Difference) string {
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
	switch {
	case d.ByDegrees:
		text += ", with " + c.count(len(d.Groups[1].Members)) + " in between"
	case len(d.Each) > 0: // see [comparison.parted]
		each := stat.Difference{Groups: d.Each}
		text += ", and up to " + results.FormatNumber(each.Ratio(), 2) +
			" times between single machines"
	}
	if len(d.Cells) < len(d.Compared) {
		text += ", in " + measurementsOf(d)
	}
	text += "."
	if len(groups) > 2 {
		odd := oneGroup(groups[:len(groups)-1])
		two := stat.Difference{Groups: []stat.SpeedGroup{odd, usual}}
		if common, _ := c.common(two, odd); common != "" {
			return text + " Only " + c.names(odd.Members) + " have " + common + "."
		}
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

// allFramings is the Framing of a difference that is about all framings but raw.
const allFramings = "all framings"

// joinFramings makes one difference of those in streams of all framings if they are about as large,
// between the same machines, and in all measurements.
func (c *comparison) joinFramings() {
	isOfFraming := func(d stat.Difference) bool {
		return d.Framing != "" && d.Framing != results.FramingRaw && !isTrip(d.Cells[0])
	}
	each := selected(c.differences, isOfFraming)
	if len(each) < 2 || len(each) != len(c.mainStream().cells) {
		return
	}
	sameMembers := func(a, b stat.SpeedGroup) bool { return slices.Equal(a.Members, b.Members) }
	for _, d := range each {
		isAsLarge := each[0].Ratio() < leastRatio*d.Ratio() // the largest is first
		if !isAsLarge || len(d.Cells) < len(d.Compared) ||
			!slices.EqualFunc(d.Groups, each[0].Groups, sameMembers) {
			return
		}
	}
	all := each[len(each)/2]
	all.Framing = allFramings
	c.differences = append(slices.DeleteFunc(c.differences, isOfFraming), all)
}

// subject begins a sentence. What differs on a machine is always told beside everything there.
func (c comparison) subject(d stat.Difference) string {
	phrase := results.FramingPhrase(d.Framing)
	verb := " is "
	if results.ChunkSize(d.Framing) > 0 { // "60 KiB chunks"
		verb = " are "
	}
	switch {
	case d.Framing == "":
		return "everything is "
	case d.Framing == allFramings:
		return "compared with raw, all framings are "
	case isTrip(d.Cells[0]):
		return "compared with other framings, round trips of " + phrase + " are "
	}
	return "compared with other framings, " + phrase + verb
}

// slightRatio is the ratio below which one sentence is enough for all differences by degrees.
const slightRatio = 1.25

// leastRatio is the smallest ratio between two figures that is worth telling: a tenth.
const leastRatio = 1.1

// measurementsOf says in how many measurements a difference was found and, if it is so with certain
// messages or on certain CPUs alone, or in streams alone, with which.
func measurementsOf(d stat.Difference) string {
	text := fmt.Sprintf("%d of %d measurements", len(d.Cells), len(d.Compared))
	size := func(c results.Cell) string { return SizeTitle(c.Size) }
	placement := func(c results.Cell) string { return results.PlacementPhrase(c.Placement) }
	pattern := func(c results.Cell) string { return c.Pattern + "s" }
	var alone []string
	for _, title := range []func(results.Cell) string{pattern, size, placement} {
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
	if len(alone) > 0 {
		return text + " (" + strings.Join(alone, ", ") + ")"
	}
	return text
}
