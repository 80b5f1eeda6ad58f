package view

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetSections lists the sections of a page about several machines: the main result, how the
// machines differ, and which of them need attention. It says what is missing because of the
// problems. It returns nil if there is nothing to show.
func FleetSections(members []stat.Member, problems []results.Problem) []Section {
	hasLines := func(m stat.Member) bool { return m.Cells+len(m.Answers)+m.Messages > 0 }
	if !slices.ContainsFunc(members, hasLines) {
		return nil
	}
	found := newComparison(members)
	differences := differenceSection(found)
	title := cmp.Or(differences.Lead...)
	attention := attentionSection(found)
	answers := answerSections(members)
	differ := "" // how answers differ
	for _, s := range answers {
		if len(s.Lead) > 1 && differ == "" { // the last sentence only counts the differences
			differ = s.Lead[0]
		}
	}
	disagreement := disagreementSentences(members)
	if len(found.differences) == 0 {
		title = cmp.Or(cmp.Or(disagreement...), differ, title, cmp.Or(attention.Lead...))
	}
	answer := Section{ID: "answer", Title: cmp.Or(strings.TrimSuffix(title, "."),
		results.FormatCount(len(members), "machine"))}
	if t := found.machineTable(); t.hasRows() {
		answer.Tables = []Table{t}
	}
	// what differs is said first
	begin := slices.Concat([]string{title}, disagreement, []string{differ})
	missing := Section{Lead: []string{missingSentence(members, problems)}}
	all := slices.Concat([]Section{{Lead: begin}, differences, missing, attention}, answers,
		[]Section{memberSection(members)})
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
	answer.Notes = []string{"Everything about one machine: pipebench report FILE... --where " +
		"hostname=NAME, or any other condition on its environment, such as kernel=, or labels."}
	return append([]Section{answer}, shown...)
}

// missingSentence says that measurements of files and runs are missing, or returns "". It names a
// run by its machine. What is wrong stands at the end of the page, or in the messages of the
// command.
func missingSentence(members []stat.Member, problems []results.Problem) string {
	machines := make(map[string]string) // by run
	for _, m := range members {
		for _, e := range m.Runs {
			machines[e.Run] = m.Name
		}
	}
	var names []string
	for _, p := range problems {
		folder := strings.TrimSuffix(p.File, string(filepath.Separator)+results.FileName)
		file, _, _ := strings.Cut(filepath.Base(folder), ".jsonl")
		name := cmp.Or(machines[p.Run], file)
		if p.Incomplete && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Measurements of " + nameSome(names) + " are missing or incomplete."
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

// differenceSection compares the speeds of framings and of raw bytes on the machines.
func differenceSection(c comparison) Section {
	main := c.mainStream()
	if main.all == 0 {
		return Section{}
	}
	measured := measuredOn(c.members, main.cells)
	out := Section{ID: "differences", Title: "Which machines differ, and in what"}
	out.Lead = c.sentences()
	agree := func(m stat.Member) bool { return len(m.Disagreement) == 0 }
	if len(out.Lead) == 0 && len(selected(measured, agree)) > 1 {
		out.Lead = []string{"Too noisy to tell whether a framing, or raw, differs."}
	}
	if len(measured) > stat.FewMachines {
		var groups []Group
		if !slices.ContainsFunc(c.differences, stat.Difference.IsSplit) {
			groups = append(groups, Group{Title: "all", Members: measured})
		}
		for _, row := range c.rows() {
			groups = append(groups, c.row(row))
		}
		out.Tables = []Table{main.table("machines", groups)}
		out.Notes = []string{fmt.Sprintf("For a group of machines: the median of raw's goodput, "+
			"and of each framing's share of it; in brackets the middle 80 %% of the machines, or "+
			"all of %d or fewer. Figures that are too noisy are left out.", stat.FewMachines)}
	} else {
		out.Tables = []Table{main.table("machine", EachMachine(measured))}
		out.Notes = nonEmpty([]string{RoughNote(out.Tables)})
	}
	if slices.ContainsFunc(measured, stat.Member.HasOddRaw) {
		out.Notes = append(out.Notes, "Where raw is unusual, shares of it are left out.")
	}
	if missing := len(c.members) - len(measured); missing > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d machines did not measure this.",
			missing, len(c.members)))
	}
	return out
}
