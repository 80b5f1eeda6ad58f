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
	attention := attentionSection(members, stat.FleetOutliers(members))
	answers := answerSections(members)
	all := slices.Concat(differences, []Section{attention}, answers,
		[]Section{memberSection(members)})
	if !isCertain {
		title = cmp.Or(answerDifference(answers), title,
			strings.Join(attention.Lead[:min(1, len(attention.Lead))], ""),
			results.FormatCount(len(members), "machine"))
	}
	answer := Section{ID: "answer", Title: strings.TrimSuffix(title, ".")}
	if t := machineTable(members); t.hasRows() && len(members) <= FewMachines {
		answer.Tables = []Table{t}
	}
	var shown []Section
	for _, s := range all {
		answer.Lead = append(answer.Lead, nonEmpty(s.Lead)...)
		s.Lead = nil
		s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return !t.hasRows() })
		if len(s.Tables) > 0 {
			shown = append(shown, s)
		}
	}
	answer.Notes = []string{"Everything about one machine: pipebench report FILE... --where " +
		whereCondition(members[0]) + ", or any other condition on its environment or labels."}
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
	out := Section{ID: "differences", Title: "Which machines differ, and in what"}
	streams := streamsToCompare(members)
	if len(streams) == 0 {
		return nil, "", false
	}
	first := streams[0]
	measured := first.measured(members)
	certain, missing := wellMeasured(members, streams)
	raw := rawDifferences(members)
	out.Notes = []string{"Shares of the goodput of raw messages of the same size on the same " +
		"machine. In a group of several machines: the median, and 10 to 90 of 100 of them.",
		"Raw itself, which depends on load and clock, too, is compared at one size. CPU time, " +
			"which noise hides less, calls and bytes: pipebench compare --across A B. EAGAIN " +
			"and wake-ups are not compared."}
	if len(measured) > FewMachines {
		groups, sure, perhaps := first.groups(measured)
		differ := slices.Concat(sure, perhaps, raw)
		if len(certain) > 0 {
			missing = append(missing, first.sentence(measured))
		}
		out.Lead = append(missing, differ...)
		out.Tables = []Table{first.table("machines", groups)}
		return []Section{out}, strings.Join(differ[:min(1, len(differ))], ""), len(sure) > 0
	}
	found, told := differences(streams, members)
	others := Section{Title: "How the machines differ at other sizes and placements",
		ID: "differences-others", Folded: true}
	for i, stream := range streams {
		var each []group
		for _, m := range stream.measured(members) {
			each = append(each, group{m.Name, []stat.Member{m}})
		}
		table := stream.table("machine", each)
		isTold := func(v fleetStream) bool { return v.cell == stream.cell }
		if i == 0 || slices.ContainsFunc(told, isTold) {
			out.Tables = append(out.Tables, table)
		} else {
			others.Tables = append(others.Tables, table)
		}
	}
	out.Notes = nonEmpty(append(out.Notes, RoughNote(out.Tables)))
	own := first.difference(members)
	_, alike, _ := first.differing(members)
	isAlike := len(alike) == len(first.framings)
	switch {
	case len(certain) == 0:
		own = nil
	case len(certain) == 1 && first.mostShares(certain) > 0:
		own = []string{first.sentence(certain)}
	}
	out.Lead = slices.Concat(found, raw, own, missing)
	if len(found)+len(raw) > 0 || isAlike {
		title = out.Lead[0]
	}
	return []Section{out, others}, title, len(found) > 0
}

// wellMeasured returns the machines that measured well enough to tell how framings compare with
// raw. A sentence names those that did not.
func wellMeasured(members []stat.Member, streams []fleetStream) (
	certain []stat.Member, missing []string,
) {
	var others []string
	for _, m := range members {
		if slices.ContainsFunc(streams, func(v fleetStream) bool {
			return v.mostShares([]stat.Member{m}) > 0
		}) {
			certain = append(certain, m)
		} else {
			others = append(others, m.Name)
		}
	}
	if len(others) == 0 {
		return certain, nil
	}
	return certain, []string{fmt.Sprintf("%d of %d machines measured well enough to tell how "+
		"framings compare with raw; not %s.", len(certain), len(members), nameSome(others))}
}
