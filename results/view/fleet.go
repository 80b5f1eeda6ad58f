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
	found := newComparison(members)
	differences := differenceSection(found)
	title := first(differences.Lead)
	attention := attentionSection(found)
	answers := answerSections(members)
	differ := answerDifference(answers)
	disagreement := disagreementSentences(members)
	if len(found.differences) == 0 {
		title = cmp.Or(first(disagreement), differ, title, first(attention.Lead))
	}
	answer := Section{ID: "answer", Title: cmp.Or(strings.TrimSuffix(title, "."),
		results.FormatCount(len(members), "machine"))}
	answer.Tables = []Table{found.machineTable()}
	// what differs is said first
	begin := slices.Concat([]string{title}, disagreement,
		[]string{missingSentence(problems), differ})
	all := slices.Concat([]Section{{Lead: begin}, differences, attention}, answers,
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

// differenceSection compares the speeds of framings and of raw bytes on the machines.
func differenceSection(c comparison) Section {
	main := c.mainStream()
	if main.all == 0 {
		return Section{}
	}
	measured := measuredOn(c.members, main.cells)
	out := Section{ID: "differences", Title: "Which machines differ, and in what"}
	out.Lead = c.sentences()
	if len(out.Lead) == 0 {
		out.Lead = nonEmpty([]string{noDifference(c.members)})
	}
	if len(measured) > stat.FewMachines {
		groups := []Group{{"all", measured}}
		for _, row := range c.rows() {
			title := c.names(row)
			if len(row) > 2 { // a short one leaves room for figures
				title = fmt.Sprintf("%s and %d more", c.members[row[0]].Name, len(row)-1)
			}
			groups = append(groups, c.group(title, row))
		}
		out.Tables = []Table{main.table("machines", groups)}
		out.Notes = []string{fmt.Sprintf("For a group of machines: the median of raw's goodput, "+
			"and of each framing's share of it; in brackets the middle 80 %% of the machines, or "+
			"all of %d or fewer. Figures that are too noisy are left out.", stat.FewMachines)}
	} else {
		out.Tables = []Table{main.table("machine", EachMachine(measured))}
		out.Notes = nonEmpty([]string{RoughNote(out.Tables)})
	}
	if odd := oddRaw(c.members, main.cells[0]); len(odd) > 0 {
		out.Notes = append(out.Notes, "Raw is unusual on "+nameSome(odd)+
			": shares of it are not compared.")
	}
	if missing := len(c.members) - len(measured); missing > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d machines did not measure this.",
			missing, len(c.members)))
	}
	return out
}

// noDifference says that machines do not differ or, if most figures of all but one are too noisy,
// that noise hides it. It returns "" if runs that disagree do.
func noDifference(members []stat.Member) string {
	clear, noisy := 0, 0
	for _, m := range members {
		n, all := clearFigures(m)
		switch {
		case all == 0 || len(m.Disagreement) > 0:
		case 2*n >= all:
			clear++
		default:
			noisy++
		}
	}
	switch {
	case clear > 1:
		return fmt.Sprintf("No framing, nor raw alone, differs by a tenth beyond the noise "+
			"between %d machines, and everything together by less than %g times.", clear,
			stat.SlowFactor)
	case noisy > 0 && clear+noisy > 1:
		return "Too noisy to tell whether a framing, or raw, differs."
	}
	return ""
}
