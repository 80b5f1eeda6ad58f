package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// WriteFindings writes the findings of a set. For people that is how many hold or fail, a table of
// those that a person has to look at (with Options.Detail of all), and advice with a shell line for
// each; as CSV a row for each finding; as JUnit XML a test case for each.
func WriteFindings(w io.Writer, format Format, set *results.Set, o Options) error {
	all := set.Findings
	if len(all) == 0 {
		return ErrNothing
	}
	switch format {
	case FormatJUnit:
		return writeJUnitOf(w, all)
	case FormatCSV:
		return findingTable(set, all, "").Write(w, format, o)
	case FormatJSON:
		return WriteJSON(w, struct {
			Passed  bool   `json:"passed"`
			Summary string `json:"summary"`
			setJSON
		}{findingTone(all) == Good, FindingSummary(all), newSetJSON(set)})
	}
	area := all[0].Area()
	if !o.Detail && (area == results.AreaClaim || area == results.AreaFailure) {
		return compactPage(set, all, area).Write(w, format, o)
	}
	var p Page
	p.Verdict = FindingSummary(all)
	p.Tone = findingTone(all)
	var shown, fine []results.Finding
	for _, f := range all {
		if isFine(f.Verdict) {
			fine = append(fine, f)
		}
		if o.Detail || !isFine(f.Verdict) {
			shown = append(shown, f)
		}
	}
	if len(shown) > 0 {
		p.Tables = []Table{screenTable(set, shown)}
	}
	p.Conclusions = findingAdvice(all)
	if len(fine) > 0 && !o.Detail {
		p.Notes = []string{string(fine[0].Verdict) + ": " + strings.Join(findingNames(fine), ", ")}
	}
	return p.Write(w, format, o)
}

// compactPage fits a screen: of claims it tells those that are refuted, of failures each way to fail
// once. The rest are named.
func compactPage(set *results.Set, all []results.Finding, area string) Page {
	p := Page{Header: []string{FindingSummary(all)}}
	if area == results.AreaFailure {
		p.Tables = []Table{failureTable(all)}
		p.Notes = []string{"each of them, and what to do about it: --detail"}
		return p
	}
	var refuted []results.Finding
	for _, v := range results.Verdicts() {
		var own []results.Finding
		for _, f := range all {
			if f.Verdict == v {
				own = append(own, f)
			}
		}
		switch {
		case v == results.Refuted:
			refuted = own
		case len(own) > 0:
			text := VerdictText(string(v)) + ": " + strings.Join(findingNames(own), ", ")
			p.Conclusions = append(p.Conclusions, text)
		}
	}
	if len(refuted) > 0 {
		p.Tables = []Table{screenTable(set, refuted)}
	}
	p.Notes = []string{"every claim and its figures: --detail; one of them: --detail --only ID"}
	return p
}

// failureTable has a row for the cases of a failure that end alike.
func failureTable(all []results.Finding) Table {
	t := Table{Columns: Columns("~failure", "!verdict", "how", "~what happened")}
	failure := func(f results.Finding) string {
		name, _, _ := strings.Cut(f.Name(), "/")
		return name
	}
	for _, alike := range groupFindings(all, func(f results.Finding) string {
		return failure(f) + "\x00" + f.Class
	}) {
		first := alike[0]
		name := first.Name()
		if more := len(alike) - 1; more > 0 {
			name += fmt.Sprintf(" (+%d)", more)
		}
		t.AppendCells(textCell(name), verdictCell(string(first.Verdict)), textCell(first.Class),
			textCell(Truncate(first.Found, mostFound)))
	}
	return t
}

// mostFound is how many characters of what happened a screen shows of a failure.
const mostFound = 44

// screenTable has a row for each finding. A claim is shown with its sentence.
func screenTable(set *results.Set, shown []results.Finding) Table {
	switch {
	case aboutOneCommand(shown):
		return situationTable(shown)
	case shown[0].Area() != results.AreaClaim:
		return findingTable(set, shown, "").dropEmpty()
	}
	t := Table{Columns: Columns("`claim", "machine", "!verdict", "~sentence", "~what was found")}
	for _, f := range shown {
		t.AppendCells(textCell(f.Name()), machineCell(set, set.Machine(f.Run)),
			verdictCell(string(f.Verdict)), textCell(f.Title), textCell(f.Found))
	}
	return t.dropEmpty()
}

// isFine reports whether a verdict leaves nothing to look at.
func isFine(v results.Verdict) bool {
	return v == results.OK || v == results.Holds || v == results.Noted
}

// FailedFindings returns the findings that fail. A refuted sentence is no failure: it is the answer
// to a question.
func FailedFindings(all []results.Finding) []results.Finding {
	var failed []results.Finding
	for _, f := range all {
		if f.Verdict == results.Fails {
			failed = append(failed, f)
		}
	}
	return failed
}

// findingTone is that of findings together: Good where none fails and none of a check is open.
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
func anyOpen(all []results.Finding) bool {
	return slices.ContainsFunc(all, func(f results.Finding) bool {
		return f.Area() == results.AreaCheck && f.Verdict == results.CannotTell
	})
}

// AllUndecided reports whether none of the findings came to a verdict. That the reference of a
// program is right counts only where nothing else was tried: the others are held against it.
func AllUndecided(all []results.Finding) bool {
	for _, f := range all {
		held := f.ID == referenceID && f.Verdict == results.OK && len(all) > 1
		if !held && f.Verdict != results.CannotTell && f.Verdict != results.Unsupported {
			return false
		}
	}
	return true
}

// referenceID is the finding of what a program does when its output is a file.
const referenceID = results.AreaCheck + "/program/reference"

// noneJudged reports whether not even a reference could be judged.
func noneJudged(all []results.Finding) bool {
	return AllUndecided(all) && !slices.ContainsFunc(all, func(f results.Finding) bool {
		return f.Verdict == results.OK
	})
}

// FindingSummary says in a line how findings turned out: "FAIL: 2 of 18: late-reader: cut at
// 65,536 B; …", "PASS: ok 18 of 18", "INCOMPLETE: ok 15, cannot tell 3 of 18", or, of sentences,
// "57 claims: 41 hold, 12 refuted".
func FindingSummary(all []results.Finding) string {
	switch area := all[0].Area(); area {
	case results.AreaRule, results.AreaClaim, results.AreaFailure, results.AreaMachine,
		results.AreaTrial:
		return results.FormatCount(len(all), area) + ": " + countVerdicts(all, results.Verdicts())
	}
	failed := FailedFindings(all)
	switch {
	case noneJudged(all):
		return fmt.Sprintf("INCONCLUSIVE: none of %d could be judged", len(all))
	case len(failed) == 0 && anyOpen(all):
		order := results.Verdicts()
		slices.Reverse(order)
		return fmt.Sprintf("INCOMPLETE: %s of %d", countVerdicts(all, order), len(all))
	case len(failed) == 0:
		return fmt.Sprintf("PASS: %s of %d", countVerdicts(all, results.Verdicts()), len(all))
	}
	causes := groupFindings(failed, func(f results.Finding) string { return f.Found })
	var texts []string
	for i, alike := range causes {
		if i == mostCauses {
			texts = append(texts, fmt.Sprintf("and %d more", len(causes)-mostCauses))
			break
		}
		texts = append(texts, strings.Join(findingNames(alike), ", ")+": "+alike[0].Found)
	}
	return fmt.Sprintf("FAIL: %d of %d: %s", len(failed), len(all), strings.Join(texts, "; "))
}

// mostCauses is how many of them the first line names.
const mostCauses = 3

// countVerdicts counts findings by verdict, in an order of verdicts: "fails 2, ok 16".
func countVerdicts(all []results.Finding, order []results.Verdict) string {
	var parts []string
	for _, v := range order {
		n := 0
		for _, f := range all {
			if f.Verdict == v {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", VerdictText(string(v)), n))
		}
	}
	return strings.Join(parts, ", ")
}

// groupFindings puts findings with the same key together, in the order in which they come.
func groupFindings(all []results.Finding, key func(results.Finding) string) [][]results.Finding {
	var groups [][]results.Finding
	at := make(map[string]int)
	for _, f := range all {
		i, known := at[key(f)]
		if !known {
			i = len(groups)
			at[key(f)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// findingNames returns the last parts of the IDs, which tell the findings of one area apart: of
// checks without the side.
func findingNames(all []results.Finding) []string {
	var names []string
	for _, f := range all {
		name := f.Name()
		if f.Area() == results.AreaCheck {
			_, name, _ = strings.Cut(name, "/")
		}
		names = append(names, name)
	}
	return names
}

// findingAdvice says what to do about what is not right: each piece of advice once, with the
// shortest shell line that shows it.
func findingAdvice(all []results.Finding) []string {
	var advised []results.Finding
	for _, f := range all {
		if f.Advice != "" {
			advised = append(advised, f)
		}
	}
	var out []string
	for _, alike := range groupFindings(advised, func(f results.Finding) string { return f.Advice }) {
		text := strings.Join(findingNames(alike), ", ") + ": " + alike[0].Advice
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		out = append(out, text)
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

// findingTable has a row for each finding, what a person has to look at first.
func findingTable(s *results.Set, all []results.Finding, title string) Table {
	rows := slices.Clone(all)
	order := results.Verdicts()
	slices.SortStableFunc(rows, func(a, b results.Finding) int {
		return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
	})
	t := Table{Title: title, Columns: Columns("`finding|id", "machine", "`command", "!verdict",
		"+class", "+>value", "#unit", "~found", "+~what was done|title", "+~advice", "+`by hand|reproduce",
		"@~evidence")}
	for _, f := range rows {
		value := ""
		if f.Value != nil {
			value = exactValue(f.Value, "")
		}
		t.AppendCells(
			textCell(f.ID),
			machineCell(s, s.Machine(f.Run)),
			textCell(strings.Join(f.About, " ")),
			verdictCell(string(f.Verdict)),
			textCell(f.Class),
			textCell(value),
			textCell(f.Unit),
			textCell(f.Found),
			textCell(f.Title),
			textCell(f.Advice),
			textCell(f.Reproduce),
			textCell(EvidenceText(f.Evidence)),
		)
	}
	return t
}

// aboutOneCommand reports whether all findings are checks of one command, which its user knows.
func aboutOneCommand(all []results.Finding) bool {
	for _, f := range all {
		if f.Area() != results.AreaCheck || !slices.Equal(f.About, all[0].About) || f.Run != all[0].Run {
			return false
		}
	}
	return true
}

// situationTable has a row for each finding about one command.
func situationTable(all []results.Finding) Table {
	t := Table{Columns: Columns("`situation", "!verdict", "~what was found")}
	for i, name := range findingNames(all) {
		f := all[i]
		t.AppendCells(textCell(name), verdictCell(string(f.Verdict)), textCell(f.Found))
	}
	return t
}

// areaTitles name the tables and sections of findings.
var areaTitles = []struct{ area, title, command string }{
	{results.AreaRule, "What the pipes do", "pipebench probe"},
	{results.AreaClaim, "Common claims about stdio, and whether they hold here",
		"pipebench probe --claims"},
	{results.AreaTrial, "What claims are judged by", "pipebench probe --claims"},
	{results.AreaFailure, "How stdio fails", "pipebench probe --failures"},
	{results.AreaCheck, "How programs behave at their pipes", "pipebench check"},
	{results.AreaMachine, "What disturbs measurements on this machine",
		"pipebench probe --machine"},
}

// findingTables has a table for each area of findings.
func findingTables(s *results.Set) []Table {
	var tables []Table
	for _, a := range areaTitles {
		own := s.FindingsOf(a.area)
		if len(own) > 0 {
			tables = append(tables, findingTable(s, own, a.title))
		}
	}
	return tables
}

// findingSections has a section of a page for each area of findings.
func findingSections(s *results.Set) []Section {
	var sections []Section
	for _, a := range areaTitles {
		own := s.FindingsOf(a.area)
		if len(own) == 0 {
			continue
		}
		sections = append(sections, Section{
			ID: a.area + "-findings", Title: a.title,
			Tables:   []Table{findingTable(s, own, a.title)},
			Commands: commandsOf(s, own, a.command),
		})
	}
	return sections
}

// findingSentences sum up findings: those of each area and, if programs were tested, of each
// command.
func findingSentences(s *results.Set) []string {
	var all []results.Finding
	for _, a := range areaTitles {
		all = append(all, s.FindingsOf(a.area)...)
	}
	var out []string
	for _, own := range groupFindings(all, func(f results.Finding) string {
		return f.Area() + "\x00" + f.Run + "\x00" + strings.Join(f.About, "\x00")
	}) {
		about := strings.Join(own[0].About, " ")
		if about != "" {
			about += ": "
		}
		if own[0].Area() == results.AreaMachine {
			continue // said where the machine is
		}
		out = append(out, about+FindingSummary(own)+".")
	}
	return out
}

// A junitSuite is findings as CI systems read them.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitResult `xml:"failure,omitempty"`
	Skipped *junitResult `xml:"skipped,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnitOf writes findings as XML. Those that are undecided are skipped.
func writeJUnitOf(w io.Writer, all []results.Finding) error {
	words := append([]string{"pipebench", all[0].Area()}, all[0].About...)
	suite := junitSuite{Name: Escape(strings.Join(words, " ")), Tests: len(all)}
	for i, name := range findingNames(all) {
		f := all[i]
		class := f.Area()
		if side, _, ok := strings.Cut(f.Name(), "/"); ok {
			class = side
		}
		c := junitCase{Class: "pipebench." + Escape(class), Name: Escape(name)}
		result := &junitResult{
			Message: Escape(f.Found),
			Text:    Escape(strings.Join(nonEmpty([]string{f.Title, f.Advice, f.Reproduce}), "\n")),
		}
		switch f.Verdict {
		case results.Fails:
			c.Failure = result
			suite.Failures++
		case results.CannotTell, results.Unsupported:
			c.Skipped = result
			suite.Skipped++
		case results.OK, results.Holds:
			c.Out = Escape(f.Found)
		default:
			c.Out = string(f.Verdict) + ": " + Escape(f.Found)
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return failedTo("write JUnit XML", err)
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return failedTo("write JUnit XML", err)
}
