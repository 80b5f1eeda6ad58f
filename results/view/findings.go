package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// WriteFindings writes the findings of a set. For people it writes how many hold or fail, a table
// of the findings that a person has to look at (with Options.Detail, of all findings), and advice.
// CSV has a row per finding, JUnit XML a test case per finding, and SARIF a result per finding that
// fails.
func WriteFindings(w io.Writer, format Format, set *results.Set, o Options) error {
	all := set.Findings
	if len(all) == 0 {
		return ErrNothing
	}
	switch format {
	case FormatJUnit:
		return writeJUnit(w, all)
	case FormatSARIF:
		return writeSARIF(w, set)
	case FormatCSV:
		return findingTable(set, sorted(all), true).Write(w, format, o)
	case FormatJSON:
		return WriteJSON(w, struct {
			Passed  bool   `json:"passed"`
			Summary string `json:"summary"`
			setJSON
		}{findingTone(all) == Good, findingSummary(all), newSetJSON(set)})
	}
	p := Page{Verdict: findingSummary(all), Tone: findingTone(all)}
	area := all[0].Area()
	if o.Detail || area == results.AreaCheck || area == results.AreaMachine {
		p.Conclusions = findingAdvice(all)
	}
	if o.Detail {
		p.addTable(findingTable(set, sorted(all), true))
		return p.Write(w, format, o)
	}
	p.addTable(remarkableTable(set, all))
	p.Notes = unremarkable(all)
	if len(p.Conclusions) == 0 {
		p.Notes = append(p.Notes, "all of them, and what to do about each: --detail")
	}
	return p.Write(w, format, o)
}

// isRemarkable reports whether a person has to look at a finding. Claims that hold under a
// condition are not shown, as there are too many of them, nor checks that are for other programs or
// systems: the first screen only names these.
func isRemarkable(f results.Finding) bool {
	switch f.Verdict {
	case results.OK, results.Holds, results.Noted:
		return f.Area() == results.AreaMachine
	case results.Depends, results.CannotTell:
		return f.Area() != results.AreaClaim
	case results.Unsupported:
		return f.Area() != results.AreaClaim && f.Area() != results.AreaCheck
	}
	return true
}

// unremarkable names the findings that are not remarkable, a line per verdict.
func unremarkable(all []results.Finding) []string {
	var lines []string
	others := selectFindings(all, func(f results.Finding) bool { return !isRemarkable(f) })
	for _, own := range byVerdict(others) {
		var names []string
		for _, alike := range grouped(own, likeness) {
			names = append(names, alikeName(alike))
		}
		text := VerdictText(string(own[0].Verdict))
		if own[0].Verdict == results.Unsupported {
			text = "do not apply"
		}
		lines = append(lines, text+": "+strings.Join(names, ", "))
	}
	return lines
}

// sorted sorts findings by verdict: those that a person has to look at come first.
func sorted(all []results.Finding) []results.Finding {
	order := results.Verdicts()
	return slices.SortedStableFunc(slices.Values(all), func(a, b results.Finding) int {
		return cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict))
	})
}

// byVerdict groups findings by verdict, in the same order.
func byVerdict(all []results.Finding) [][]results.Finding {
	return grouped(sorted(all), func(f results.Finding) results.Verdict { return f.Verdict })
}

// remarkableTable shows the findings that a person has to look at. It shows only the first of the
// failures that end alike.
func remarkableTable(s *results.Set, all []results.Finding) Table {
	var first []results.Finding
	var names []string
	for _, alike := range grouped(selectFindings(all, isRemarkable), likeness) {
		first = append(first, alike[0])
		names = append(names, alikeName(alike))
	}
	t := findingTable(s, first, false)
	for i, name := range names {
		t.Rows[i][0].Text = name
	}
	return t
}

// findingTable has a row for each finding. Without detail, a terminal shows what was done only for
// claims. The column for the command is shown only for checks of several commands.
func findingTable(s *results.Set, all []results.Finding, detail bool) Table {
	claims := len(all) > 0 && all[0].Area() == results.AreaClaim
	isCheck := len(all) > 0 && all[0].Area() == results.AreaCheck
	done := "what was done"
	if claims {
		done = "what the claim says"
	}
	t := Table{Columns: []Column{
		{Title: "what", Data: "id", Style: Code, Key: true},
		{Title: "machine"},
		{Title: "command", Style: Code, Detail: !isCheck || aboutOneCommand(all)},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "outcome", Data: "class", Key: true},
		{Title: "value", Right: true, Detail: true},
		{Title: "unit", Detail: true},
		{Title: done, Data: "title", Style: Long, Key: claims,
			Detail: !claims && !detail},
		{Title: "found", Style: Long, Key: true},
		{Title: "advice", Style: Long, Detail: true},
		{Title: "by hand", Data: "reproduce", Style: Code, Detail: true},
	}}
	for _, f := range all {
		value, unit := Value{}, textValue(f.Unit)
		if f.Value != nil {
			value = textValue(exactValue(f.Value, ""))
		}
		ratio, isNumber := f.Number()
		if f.Area() == results.AreaCompare && isNumber { // the unit is that of both sides
			value.Text = signedPercent(ratio)
			unit.Text = "%"
		}
		t.AppendValues(
			Value{Text: findingName(f), Base: f.ID},
			textValue(machineTitle(s, s.Machine(f.Run))),
			textValue(strings.Join(f.About, " ")),
			verdictValue(string(f.Verdict)),
			textValue(f.Class),
			value,
			unit,
			textValue(f.Title),
			textValue(f.Found),
			textValue(f.Advice),
			textValue(f.Reproduce),
		)
	}
	return t
}

// likeness returns a key that is equal for failures of the same experiment that end in the same
// way. All other findings have keys of their own.
func likeness(f results.Finding) string {
	if f.Area() != results.AreaFailure {
		return f.ID + "\x00" + f.Run
	}
	experiment, _, _ := strings.Cut(f.Name(), "/")
	return experiment + "\x00" + f.Class
}

// alikeName names findings that are alike: the first, and the number of the others.
func alikeName(alike []results.Finding) string {
	name := findingName(alike[0])
	if more := len(alike) - 1; more > 0 {
		name += fmt.Sprintf(" +%d alike", more)
	}
	return name
}

// findingName returns the part of an ID that tells the findings of one area apart. For a check it
// leaves out the side that was checked.
func findingName(f results.Finding) string {
	name := f.Name()
	if f.Area() == results.AreaCheck {
		_, name, _ = strings.Cut(name, "/")
	}
	return name
}

// aboutOneCommand reports whether all findings are about one command of one run. Then the user
// knows the command, and a table need not show it.
func aboutOneCommand(all []results.Finding) bool {
	for _, f := range all {
		if !slices.Equal(f.About, all[0].About) || f.Run != all[0].Run {
			return false
		}
	}
	return true
}

// FailedFindings returns the findings that fail. A refuted sentence is no failure: it is the answer
// to a question.
func FailedFindings(all []results.Finding) []results.Finding {
	return selectFindings(all, func(f results.Finding) bool { return f.Verdict == results.Fails })
}

// selectFindings returns the findings that are wanted.
func selectFindings(all []results.Finding, wanted func(results.Finding) bool) []results.Finding {
	var own []results.Finding
	for _, f := range all {
		if wanted(f) {
			own = append(own, f)
		}
	}
	return own
}

// findingTone returns the tone of all findings together: Good if none fails and no check is
// undecided.
func findingTone(all []results.Finding) Tone {
	switch {
	case len(FailedFindings(all)) > 0:
		return Bad
	case anyOpen(all):
		return Mixed
	}
	return Good
}

// anyOpen reports whether a check could not be judged.
func anyOpen(all []results.Finding) bool { return slices.ContainsFunc(all, isUndecided) }

func isUndecided(f results.Finding) bool {
	return f.Area() == results.AreaCheck && f.Verdict == results.CannotTell
}

// referenceID is the ID of the finding about what a program does if its output is a file.
const referenceID = results.AreaCheck + "/program/reference"

// AllUndecided reports whether none of the findings came to a verdict. An OK of the reference
// counts as a verdict only if nothing else was tried: the reference is only what the other runs of
// the program are compared with.
func AllUndecided(all []results.Finding) bool {
	return !slices.ContainsFunc(all, func(f results.Finding) bool {
		isReference := f.ID == referenceID && f.Verdict == results.OK && len(all) > 1
		return isDecided(f) && !isReference
	})
}

// isDecided reports whether a finding came to a verdict.
func isDecided(f results.Finding) bool {
	return f.Verdict != results.CannotTell && f.Verdict != results.Unsupported
}

// findingSummary says in a line how findings turned out: "FAIL: 2 of 18: late-reader: cut at 65,536
// B; …", "PASS: ok 18 of 18", "INCOMPLETE: ok 15 of 18, cannot tell 3", or for claims "57 claims:
// 41 hold, 12 refuted".
func findingSummary(all []results.Finding) string {
	switch area := all[0].Area(); area {
	case results.AreaFailure:
		return results.FormatCount(len(all), "way") + " to fail: " + countFailures(all)
	case results.AreaClaim, results.AreaMachine, results.AreaTrial:
		return results.FormatCount(len(all), area) + ": " + countVerdicts(all)
	case results.AreaRule:
		return ruleSummary(all)
	case results.AreaCompare:
		return results.FormatCount(len(all), "figure") + " of two commands: " + countVerdicts(all)
	}
	failed := FailedFindings(all)
	counts := passedOf(all)
	switch {
	case !slices.ContainsFunc(all, isDecided):
		return fmt.Sprintf("INCONCLUSIVE: none of %d could be judged", len(all))
	case len(failed) == 0 && anyOpen(all):
		return "INCOMPLETE: " + counts
	case len(failed) == 0:
		return "PASS: " + counts
	}
	causes := grouped(failed, func(f results.Finding) string { return f.Found })
	var texts []string
	for i, alike := range causes {
		if i == mostCauses {
			texts = append(texts, fmt.Sprintf("and %d more", len(causes)-mostCauses))
			break
		}
		texts = append(texts, namesOf(alike)+": "+alike[0].Found)
	}
	text := fmt.Sprintf("FAIL: %d of %d", len(failed), len(all))
	if anyOpen(all) {
		text += fmt.Sprintf(" (%d cannot tell)", len(selectFindings(all, isUndecided)))
	}
	return text + ": " + strings.Join(texts, "; ")
}

// mostCauses is how many causes of failure the first line names.
const mostCauses = 3

func namesOf(all []results.Finding) string {
	var names []string
	for _, f := range all {
		names = append(names, findingName(f))
	}
	return strings.Join(names, ", ")
}

// passedOf counts checks, those that passed first: "ok 34 of 35, unsupported 1".
func passedOf(all []results.Finding) string {
	others := selectFindings(all, func(f results.Finding) bool { return f.Verdict != results.OK })
	if len(others) == len(all) {
		return fmt.Sprintf("%s of %d", countVerdicts(all), len(all))
	}
	text := fmt.Sprintf("ok %d of %d", len(all)-len(others), len(all))
	if len(others) > 0 {
		text += ", " + countVerdicts(others)
	}
	return text
}

// countFailures counts ways to fail: "38 seen here, 35 under a condition, 60 not seen".
func countFailures(all []results.Finding) string {
	words := map[results.Verdict]string{
		results.Fails:   "seen here",
		results.Depends: "under a condition",
		results.OK:      "not seen",
	}
	var parts []string
	for _, alike := range byVerdict(all) {
		v := alike[0].Verdict
		text := cmp.Or(words[v], VerdictText(string(v)))
		parts = append(parts, fmt.Sprintf("%d %s", len(alike), text))
	}
	return strings.Join(parts, ", ")
}

// countVerdicts counts findings by verdict: "fails 2, ok 16".
func countVerdicts(all []results.Finding) string {
	var parts []string
	for _, alike := range byVerdict(all) {
		verdict := VerdictText(string(alike[0].Verdict))
		parts = append(parts, fmt.Sprintf("%s %d", verdict, len(alike)))
	}
	return strings.Join(parts, ", ")
}

// findingAdvice says what to do about problems: each piece of advice once, with the shortest shell
// line that shows the problem.
func findingAdvice(all []results.Finding) []string {
	var out []string
	for _, alike := range grouped(all, func(f results.Finding) string { return f.Advice }) {
		advice := alike[0].Advice
		if advice == "" {
			continue
		}
		out = append(out, namesOf(alike)+": "+strings.TrimSuffix(advice, ".")+".")
		shortest := ""
		for _, f := range alike {
			if f.Reproduce != "" && (shortest == "" || len(f.Reproduce) < len(shortest)) {
				shortest = f.Reproduce
			}
		}
		if shortest != "" {
			out = append(out, "by hand: "+shortest)
		}
	}
	return out
}

// areas are the areas of findings, in the order in which a page shows them.
var areas = []struct{ area, title string }{
	{results.AreaRule, "What the pipes do"},
	{results.AreaClaim, "Common claims about stdio, and whether they hold here"},
	{results.AreaTrial, "What claims are judged by"},
	{results.AreaFailure, "How stdio fails"},
	{results.AreaCheck, "How programs behave at their pipes"},
	{results.AreaCompare, "What differs between two commands"},
	{results.AreaMachine, "What disturbs measurements on this machine"},
}

// findingSections has a section for each area of findings. Without detail a section has only the
// findings that a person has to look at.
func findingSections(s *results.Set, detail bool) []Section {
	var sections []Section
	for _, a := range areas {
		own := s.FindingsOf(a.area)
		if len(own) == 0 {
			continue
		}
		section := Section{ID: a.area + "-findings", Title: a.title}
		switch {
		case detail:
			section.Tables = []Table{findingTable(s, sorted(own), true)}
		case a.area == results.AreaRule:
			section.Tables = ruleTables(s, nil)
		default:
			section.Tables = []Table{remarkableTable(s, own)}
		}
		sections = append(sections, section)
	}
	return sections
}

// findingSentences sum up findings: a sentence per area or, for checks of programs, per command.
// What disturbs the machine is left out here, because the section about the machine says it.
func findingSentences(s *results.Set) []string {
	var out []string
	for _, a := range areas {
		if a.area == results.AreaMachine {
			continue
		}
		for _, alike := range grouped(s.FindingsOf(a.area), func(f results.Finding) string {
			if a.area != results.AreaCheck {
				return a.area // failures are shown by programs of our own
			}
			return f.Run + "\x00" + strings.Join(f.About, "\x00")
		}) {
			about := ""
			if a.area == results.AreaCheck {
				about = strings.Join(alike[0].About, " ") + ": "
			}
			text := about + strings.TrimSuffix(findingSummary(alike), ".") + "."
			if a.area == results.AreaClaim { // what it needed to know is among the other findings
				out = slices.Insert(out, 0, text)
			} else {
				out = append(out, text)
			}
		}
	}
	return out
}
