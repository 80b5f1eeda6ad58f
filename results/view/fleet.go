package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetSections lists the sections of a page about several machines: the main result, how the
// machines differ, and which of them need attention. It says what is missing because of the
// problems. It returns nil if there is nothing to show.
func FleetSections(members []stat.Member, problems []results.Problem) []Section {
	if isEmptyFleet(members) {
		return nil
	}
	outliers, compared := stat.FleetOutliers(members)
	differences, title, isCertain := differenceSection(members, outliers)
	attention, toLookAt := attentionSection(members, outliers, compared)
	answers := answerSections(members)
	differ := answerDifference(answers)
	disagreement := disagreementSentences(members)
	if !isCertain {
		title = cmp.Or(first(disagreement), differ, title, first(attention.Lead))
	}
	answer := Section{ID: "answer", Title: cmp.Or(strings.TrimSuffix(title, "."),
		results.FormatCount(len(members), "machine"))}
	if t := machineTable(members); t.hasRows() && len(t.Rows) <= mostGroups {
		answer.Tables = []Table{t}
	}
	// what differs is said first
	begin := slices.Concat([]string{title}, disagreement,
		[]string{missingSentence(problems), differ})
	all := slices.Concat([]Section{{Lead: begin}, differences, attention}, answers,
		[]Section{{Lead: []string{doubtSentence(members)}}, memberSection(members)})
	var shown []Section
	for _, s := range all {
		for _, sentence := range nonEmpty(s.Lead) {
			if !slices.Contains(answer.Lead, sentence) {
				answer.Lead = append(answer.Lead, sentence)
			}
		}
		s.Lead = nil
		s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return !t.hasRows() })
		if len(s.Tables) > 0 {
			shown = append(shown, s)
		}
	}
	one := members[0]
	for _, m := range members {
		if m.Name == toLookAt {
			one = m
		}
	}
	answer.Notes = []string{"Everything about one machine: pipebench report FILE... --where " +
		whereCondition(one, members) + ", or any other condition on its environment or labels."}
	return append([]Section{answer}, shown...)
}

// first returns the first of the texts, or "".
func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// missingSentence names the files and runs from which measurements are missing, or returns "".
func missingSentence(problems []results.Problem) string {
	var missing []string
	for _, p := range problems {
		if p.Incomplete {
			missing = append(missing, p.String())
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "Measurements are missing: " + nameSome(missing) + "."
}

// whereCondition returns the argument of --where that selects a machine alone.
func whereCondition(m stat.Member, members []stat.Member) string {
	e := m.Environment()
	isSameHost := func(o stat.Member) bool {
		return o.Name != m.Name && o.Environment().Machine == e.Machine
	}
	switch {
	case m.Name == e.Hostname:
		return "hostname=" + e.Hostname
	case m.Name == e.Labels["node"]:
		return "node=" + m.Name
	case slices.ContainsFunc(members, isSameHost):
		return "machine=" + e.Machine + " --where kernel=" + e.Kernel
	}
	return "machine=" + e.Machine
}

// isEmptyFleet reports whether the machines have no measurements, no findings and no messages.
func isEmptyFleet(members []stat.Member) bool {
	return !slices.ContainsFunc(members, func(m stat.Member) bool {
		return m.Cells+len(m.Answers)+m.Messages > 0
	})
}

// answerDifference returns the first sentence on how answers differ between machines, or "" if
// there is none.
func answerDifference(sections []Section) string {
	for _, s := range sections {
		if len(s.Lead) > 1 { // the last sentence only counts the differences
			return s.Lead[0]
		}
	}
	return ""
}

// FleetLead says how many machines and runs there are, and from which days.
func FleetLead(members []stat.Member) string {
	var all []results.Environment
	for _, m := range members {
		all = append(all, m.Runs...)
	}
	return JoinParts(results.FormatCount(len(members), "machine"), runsText(all))
}

// WriteFleet writes what several machines measured and found, as text or markdown. It returns
// [ErrNothing] if there is nothing to write.
func WriteFleet(w io.Writer, members []stat.Member, problems []results.Problem, format Format,
	o Options) error {
	sections := FleetSections(members, problems)
	if len(sections) == 0 {
		return ErrNothing
	}
	answer := sections[0]
	p := Page{Header: []string{FleetLead(members)}, Answer: answer.Lead, Tables: answer.Tables}
	var folded []string
	for _, s := range sections[1:] {
		if s.Folded && !o.Detail {
			folded = append(folded, s.Title)
			continue
		}
		p.addSection(s)
	}
	if len(folded) > 0 {
		p.Notes = append(p.Notes, "--detail also has: "+strings.Join(folded, "; "))
	}
	p.Notes = append(p.Notes, answer.Notes...)
	return p.Write(w, format, o)
}

// FewMachines is the largest number of machines that are shown one by one.
const FewMachines = 7

// differenceSection compares the speed of framings with that of raw bytes, on each machine or, if
// there are many, on groups of machines. The title says what differs most, or that nothing does; it
// is "" if noise hides that. isCertain is true if something surely differs.
func differenceSection(members []stat.Member, outliers []stat.Outlier) (out Section, title string,
	isCertain bool) {
	main, isMeasured := mainStream(members)
	if !isMeasured {
		return Section{}, "", false
	}
	measured := main.measured(members)
	out = Section{ID: "differences", Title: "Which machines differ, and in what"}
	if len(measured) > FewMachines {
		isCertain = out.addGroups(main.measured(stat.WithoutOutliers(members, outliers)), main)
	} else {
		isCertain = out.addMachines(measured, main)
	}
	title = first(out.Lead)
	if missing := len(members) - len(measured); missing > 0 {
		out.Lead = append(out.Lead, fmt.Sprintf("%d of %d machines did not measure this.",
			missing, len(members)))
	}
	return out, title, isCertain
}

// addGroups compares many machines that do not stand out. It reports whether something surely
// differs.
func (s *Section) addGroups(members []stat.Member, v fleetStream) bool {
	groups, found, lead := groupsOf(members)
	sure := selected(found, func(d difference) bool { return !d.mayBeChance })
	s.Lead = lead
	s.Tables = []Table{differenceTable(sure), v.table("machines", groups)}
	s.Notes = []string{fmt.Sprintf("For a group of machines: the median of raw's goodput, and of "+
		"each framing's share of it; in brackets the middle 80 %% of the machines, or all of %d "+
		"or fewer. Machines that stand out or are too noisy are left out, of the number as well.",
		FewMachines)}
	return len(sure) > 0
}

// addMachines compares a few machines. It reports whether something surely differs.
func (s *Section) addMachines(members []stat.Member, v fleetStream) bool {
	found := slices.Concat(differencesBetween(members, rawAloneOn(members), rawAlone),
		differencesBetween(members, eachPlace(members), everything))
	s.Lead = speedSentences(found)
	isOfFraming := func(d difference) bool { return d.about == aFraming }
	compared := clearMeasurements(members)
	if compared > 0 && !slices.ContainsFunc(found, isOfFraming) {
		text := "No framing's share of raw's speed differs by a tenth beyond the noise in " +
			results.FormatCount(compared, "measurement") + " clear enough to compare"
		if len(found) == 0 {
			text += fmt.Sprintf(", nor raw's speed by a factor of %g", stat.SlowFactor)
		}
		s.Lead = append(s.Lead, text+".")
	}
	s.Tables = []Table{differenceTable(found), v.table("machine", EachMachine(members))}
	s.Notes = nonEmpty([]string{RoughNote(s.Tables)})
	return len(found) > 0
}

// clearMeasurements counts the measurements of framings that at least two machines made well
// enough.
func clearMeasurements(members []stat.Member) int {
	n := 0
	for _, cell := range comparedCells(members) {
		known, _ := standings(members, cell)
		if cell.Framing != results.FramingRaw && len(known) > 1 {
			n++
		}
	}
	return n
}
