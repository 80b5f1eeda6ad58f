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
// machines differ, and which of them need attention. It returns nil if there is nothing to show.
func FleetSections(members []stat.Member) []Section {
	if isEmptyFleet(members) {
		return nil
	}
	differences, title, isCertain := differenceSections(members)
	attention, toLookAt := attentionSection(members)
	answers := answerSections(members)
	differ := answerDifference(answers)
	if !isCertain {
		title = cmp.Or(differ, title,
			strings.Join(attention.Lead[:min(1, len(attention.Lead))], ""))
	}
	answer := Section{ID: "answer", Title: cmp.Or(strings.TrimSuffix(title, "."),
		results.FormatCount(len(members), "machine"))}
	if t := machineTable(members); t.hasRows() && len(t.Rows) <= mostGroups {
		answer.Tables = []Table{t}
	}
	all := slices.Concat([]Section{{Lead: []string{title, differ}}}, // what differs is said first
		differences, []Section{attention}, answers,
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
	one := members[max(0, slices.IndexFunc(members, func(m stat.Member) bool {
		return m.Name == toLookAt
	}))]
	answer.Notes = []string{"Everything about one machine: pipebench report FILE... --where " +
		whereCondition(one) + ", or any other condition on its environment or labels."}
	return append([]Section{answer}, shown...)
}

// whereCondition returns the argument of --where that selects a machine.
func whereCondition(m stat.Member) string {
	e := m.Environment()
	switch m.Name {
	case e.Hostname:
		return "hostname=" + e.Hostname
	case e.Labels["node"]:
		return "node=" + m.Name
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
func WriteFleet(w io.Writer, members []stat.Member, format Format, o Options) error {
	sections := FleetSections(members)
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

// differenceSections compare the speed of framings with that of raw bytes, on each machine or, if
// there are many, on groups of machines. The title says what differs most, or that nothing does; it
// is "" if noise hides that. isCertain is true if something surely differs.
func differenceSections(members []stat.Member) (all []Section, title string, isCertain bool) {
	streams := mainStreams(members)
	if len(streams) == 0 {
		return nil, "", false
	}
	measured := streams[0].measured(members)
	if len(measured) > FewMachines {
		all, title, isCertain = groupSections(measured, streams[0])
	} else {
		all, title, isCertain = machineSections(measured, streams)
	}
	if missing := len(members) - len(measured); missing > 0 {
		all[0].Lead = append(all[0].Lead, fmt.Sprintf("%d of %d machines did not measure this.",
			missing, len(members)))
	}
	return all, title, isCertain
}

// groupSections is differenceSections for many machines.
func groupSections(
	members []stat.Member, v fleetStream,
) (all []Section, title string, isCertain bool) {
	groups, sure, perhaps := v.groups(members)
	differ := slices.Concat(sure, perhaps)
	out := Section{
		ID:     "differences",
		Title:  "Which machines differ, and in what",
		Lead:   append(differ, v.sentence(members)),
		Tables: []Table{v.table("machines", groups)},
		Notes: []string{"For a group of machines: the median of raw's goodput, and of " +
			"each framing's share of it; in brackets the middle 80 % of the machines."},
	}
	return []Section{out}, strings.Join(differ[:min(1, len(differ))], ""), len(sure) > 0
}

// machineSections is differenceSections for a few machines. The first of the streams is told in a
// sentence.
func machineSections(
	members []stat.Member, streams []fleetStream,
) (all []Section, title string, isCertain bool) {
	out := Section{ID: "differences", Title: "Which machines differ, and in what"}
	others := Section{Title: "How the machines differ at other placements",
		ID: "differences-others", Folded: true}
	found, compared := differencesBetween(members)
	raw := rawSentence(members, found)
	noise := streams[0].noiseSentence(members)
	switch {
	case raw != "":
		title = raw
		out.Lead = []string{title}
	case len(found) > 0:
		title = found[0].sentence()
		out.Lead = []string{title}
		out.Tables = []Table{differenceTable(found)}
	case compared > 0:
		clear := results.FormatCount(compared, "measurement")
		out.Lead = []string{fmt.Sprintf("Between %d machines, no framing differs by a tenth "+
			"beyond the noise, nor raw by a factor of %g, in %s clear enough to compare.",
			len(members), stat.SlowFactor, clear)}
		if noise == "" {
			title = out.Lead[0]
		}
	}
	out.Lead = nonEmpty(append(out.Lead, streams[0].sentence(members), noise))
	var each []group
	for _, m := range members {
		each = append(each, group{m.Name, []stat.Member{m}})
	}
	out.Tables = append(out.Tables, streams[0].table("machine", each))
	out.Notes = nonEmpty([]string{RoughNote(out.Tables)})
	for _, stream := range streams[1:] {
		others.Tables = append(others.Tables, stream.table("machine", each))
	}
	return []Section{out, others}, title, len(found) > 0 || raw != ""
}
