package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// WriteFindings writes the findings of a set, or returns [ErrNothing] if there are none. The text
// for people has a summary, a table and advice. The table has all findings only with
// [Options.Detail].
func WriteFindings(w io.Writer, format Format, set *results.Set, o Options) error {
	all := set.Findings
	if len(all) == 0 {
		return ErrNothing
	}
	switch format {
	case FormatJUnit:
		return writeJUnit(w, all)
	case FormatCSV:
		return findingTable(set, sorted(all), detailed).Write(w, format, o)
	case FormatJSON:
		return WriteJSON(w, struct {
			Passed bool   `json:"passed"`
			Line   string `json:"summary"`
			Summary
		}{findingTone(all) == Good, findingSummary(all), Summarise(set)})
	}
	p := Page{Verdict: findingSummary(all), Tone: findingTone(all)}
	area := all[0].Area()
	if area == results.AreaClaim && !(o.Detail && format == FormatMarkdown) {
		p.addClaims(set, sorted(all), o.Detail)
		return p.Write(w, format, o)
	}
	if o.Detail || area == results.AreaCheck || area == results.AreaMachine {
		p.Conclusions = findingAdvice(all)
	}
	if o.Detail {
		p.addTable(findingTable(set, sorted(all), detailed))
		return p.Write(w, format, o)
	}
	p.addTable(remarkableTable(set, all))
	p.Notes = unremarkable(all)
	if len(p.Conclusions) == 0 {
		p.Notes = append(p.Notes, "all of them, and what to do about each: --detail")
	}
	return p.Write(w, format, o)
}

// fewClaims is up to how many claims are shown with their reasons unasked.
const fewClaims = 3

// addClaims adds what people claim, with the verdicts: a line for each claim or, with detail, a
// paragraph that gives the reason.
func (p *Page) addClaims(s *results.Set, all []results.Finding, detail bool) {
	if detail || len(all) <= fewClaims {
		for _, f := range all {
			name := JoinParts(f.Name(), machineTitle(s, s.Machine(f.Run)))
			p.Answer = append(p.Answer, fmt.Sprintf("%s: %s (%s): %s",
				VerdictText(string(f.Verdict)), f.Title, name, f.Found))
		}
		return
	}
	t := Table{Columns: []Column{
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "what people say", Style: Long, Key: true},
		{Title: "machine"},
	}}
	for _, f := range all {
		machine := textValue(machineTitle(s, s.Machine(f.Run)))
		t.AppendValues(verdictValue(string(f.Verdict)), textValue(f.Title), machine)
	}
	p.addTable(t)
	reasonOf := func(f results.Finding) string { return string(f.Verdict) + f.Found }
	for _, alike := range grouped(all, reasonOf) {
		if alike[0].Verdict == results.CannotTell && len(alike) > 1 {
			p.Notes = append(p.Notes, fmt.Sprintf("%d cannot tell: %s", len(alike), alike[0].Found))
		}
	}
	p.Notes = append(p.Notes, "why, with figures, names and macOS: --detail FILE")
}

// isRemarkable reports whether a person has to look at a finding.
func isRemarkable(f results.Finding) bool {
	switch f.Verdict {
	case results.OK, results.Holds, results.Noted:
		return f.Area() == results.AreaMachine
	case results.Depends, results.CannotTell: // there are too many such claims
		return f.Area() != results.AreaClaim
	case results.Unsupported:
		return f.Area() != results.AreaClaim && f.Area() != results.AreaCheck
	}
	return true
}

// unremarkable returns the names of the findings that nobody has to look at, in a line for each
// verdict.
func unremarkable(all []results.Finding) []string {
	var lines []string
	others := selected(all, func(f results.Finding) bool { return !isRemarkable(f) })
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

// sorted sorts findings by verdict, those that need attention first.
func sorted(all []results.Finding) []results.Finding {
	order := results.Verdicts()
	return slices.SortedStableFunc(slices.Values(all), func(a, b results.Finding) int {
		return cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict))
	})
}

// byVerdict groups findings by verdict, in the order of sorted.
func byVerdict(all []results.Finding) [][]results.Finding {
	return grouped(sorted(all), func(f results.Finding) results.Verdict { return f.Verdict })
}

// remarkableTable shows the findings that a person has to look at. Similar findings share a row.
func remarkableTable(s *results.Set, all []results.Finding) Table {
	var shown []results.Finding
	var names []string
	for _, alike := range grouped(selected(all, isRemarkable), likeness) {
		shown = append(shown, alike[0])
		names = append(names, alikeName(alike))
	}
	t := findingTable(s, shown, brief)
	for i, name := range names {
		t.Rows[i][0].Text = name
	}
	return t
}

// findingTable returns a table with a row for each finding. If detail is set, the table on a
// terminal has a column about what was done.
func findingTable(s *results.Set, all []results.Finding, detail bool) Table {
	areClaims := len(all) > 0 && all[0].Area() == results.AreaClaim
	areChecks := len(all) > 0 && all[0].Area() == results.AreaCheck
	title := "what was done"
	if areClaims {
		title = "what the claim says"
	}
	t := Table{Columns: []Column{
		{Title: "what", Data: "id", Style: Code, Key: true},
		{Title: "machine"},
		{Title: "command", Style: Code,
			Detail: !areChecks || len(grouped(all, runAndCommand)) == 1},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "outcome", Data: "class", Key: true},
		{Title: "value", Right: true, Detail: true},
		{Title: "unit", Detail: true},
		{Title: title, Data: "title", Style: Long, Key: areClaims,
			Detail: !areClaims && !detail},
		{Title: "found", Style: Long, Key: true},
		{Title: "advice", Style: Long, Detail: true},
		{Title: "by hand", Data: "reproduce", Style: Code, Detail: true},
	}}
	for _, f := range all {
		value := Value{}
		unit := textValue(f.Unit)
		if f.Value != nil {
			value = textValue(exactValue(f.Value, ""))
		}
		number, isNumber := f.Number()
		if f.Area() == results.AreaCompare && isNumber { // the number is the ratio of new to old
			value.Text = signedPercent(number)
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

// likeness returns a key that is the same for findings that are similar enough to share a row of a
// table.
func likeness(f results.Finding) string {
	switch {
	case isUndecided(f):
		return runAndCommand(f) + "\x00" + f.Found
	case f.Area() != results.AreaFailure:
		return f.ID + "\x00" + f.Run
	}
	experiment, _, _ := strings.Cut(f.Name(), "/")
	return experiment + "\x00" + f.Class
}

// alikeName names several similar findings: all of them if they are checks, or else the first and
// how many others there are.
func alikeName(alike []results.Finding) string {
	if alike[0].Area() == results.AreaCheck {
		return namesOf(alike)
	}
	name := findingName(alike[0])
	if more := len(alike) - 1; more > 0 {
		name += fmt.Sprintf(" +%d alike", more)
	}
	return name
}

// findingName returns the part of a finding's ID that tells findings of one area apart.
func findingName(f results.Finding) string {
	name := f.Name()
	if f.Area() == results.AreaCheck { // leave out the side that was checked
		_, name, _ = strings.Cut(name, "/")
	}
	return name
}

// runAndCommand returns a key that is the same for findings about one command of one run.
func runAndCommand(f results.Finding) string {
	return f.Run + "\x00" + strings.Join(f.About, "\x00")
}

// selected returns the values for which wanted returns true.
func selected[T any](all []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range all {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// findingAdvice returns each piece of advice once, followed by the shortest shell command that
// shows the problem.
func findingAdvice(all []results.Finding) []string {
	var out []string
	for _, alike := range grouped(all, func(f results.Finding) string { return f.Advice }) {
		advice := alike[0].Advice
		if advice == "" {
			continue
		}
		out = append(out, namesOf(alike)+": "+withPeriod(advice))
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
	{results.AreaFailure, "How stdio fails"},
	{results.AreaCheck, "How programs behave at their pipes"},
	{results.AreaCompare, "What differs between two commands"},
	{results.AreaMachine, "What disturbs measurements on this machine"},
}

// findingSections returns a section for each area of findings. Without detail, a section has only
// what a person has to look at.
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
			section.Tables = []Table{findingTable(s, sorted(own), detailed)}
		case a.area == results.AreaRule:
			section.Tables = ruleTables(s, nil)
		default:
			section.Tables = []Table{remarkableTable(s, own)}
		}
		sections = append(sections, section)
	}
	return sections
}
