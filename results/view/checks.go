package view

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteChecks writes what was found of a program, a server or a client. For people that is how many
// situations it fails, a table of those, advice with a shell line for each, and the rest in a line,
// unless o asks for detail; as CSV a row for each situation; as JUnit XML a test case for each.
func WriteChecks(w io.Writer, format Format, set *results.Set, o Options) error {
	all := set.Checks
	switch {
	case len(all) == 0:
		return ErrNothing
	case format == FormatJUnit:
		return writeJUnit(w, all)
	case format == FormatJSON:
		return writeIndented(w, struct {
			Passed  bool   `json:"passed"`
			Summary string `json:"summary"`
			setJSON
		}{len(FailedChecks(all)) == 0, CheckSummary(all), newSetJSON(set)})
	case format == FormatCSV:
		return checkTable(set).Write(w, format)
	}
	var p Page
	p.headline(format, o, len(FailedChecks(all)) == 0, CheckSummary(all))
	shown := stat.Filter(all, func(c results.Check) bool { return o.Detail || c.Verdict != results.CheckOK })
	if len(shown) > 0 {
		p.Tables = []Table{tableOf("", shown, []columnOf[results.Check]{
			{"situation", func(c results.Check) Cell { return textCell(c.Name) }},
			{"verdict", func(c results.Check) Cell { return verdictCell(c.Verdict) }},
			{"what was found", func(c results.Check) Cell { return textCell(c.Found) }},
		}...)}
		p.Tables[0].Columns[2].Width = o.width() - 40
	}
	p.Conclusions = checkAdvice(all)
	if fine := stat.Filter(all, func(c results.Check) bool { return c.Verdict == results.CheckOK }); len(fine) > 0 && !o.Detail {
		p.Notes = []string{"ok: " + namesOf(fine)}
	}
	return p.write(w, format, o.width())
}

// FailedChecks returns those that fail.
func FailedChecks(all []results.Check) []results.Check {
	return stat.Filter(all, func(c results.Check) bool { return c.Verdict == results.CheckFails })
}

// NothingTold reports whether none of the checks came to a verdict.
func NothingTold(all []results.Check) bool {
	return !slices.ContainsFunc(all, func(c results.Check) bool { return c.Verdict != results.CheckCannotTell })
}

// CheckSummary says in a line how checks turned out: "FAIL: 2 of 18: late-reader: cut at 65,536 B;
// …", or "PASS: 16 of 18; 2 cannot tell".
func CheckSummary(all []results.Check) string {
	failed := FailedChecks(all)
	if len(failed) > 0 {
		var texts []string
		for _, alike := range stat.GroupBy(failed, func(c results.Check) string { return c.Found }) {
			texts = append(texts, namesOf(alike)+": "+alike[0].Found)
		}
		if more := len(texts) - mostCauses; more > 0 {
			texts = append(texts[:mostCauses], fmt.Sprintf("and %d more", more))
		}
		return fmt.Sprintf("FAIL: %d of %d: %s", len(failed), len(all), strings.Join(texts, "; "))
	}
	verdicts := countWords(all, func(c results.Check) string { return c.Verdict })
	return fmt.Sprintf("PASS: %s of %d", verdicts, len(all))
}

// mostCauses is how many of them the first line names.
const mostCauses = 3

func namesOf(all []results.Check) string {
	return strings.Join(stat.Map(all, func(c results.Check) string { return c.Name }), ", ")
}

// checkAdvice says what to do about what is not right, each piece of advice once, and the shortest
// shell line that shows it.
func checkAdvice(all []results.Check) []string {
	var out []string
	wrong := stat.Filter(all, func(c results.Check) bool { return c.Advice != "" })
	for _, alike := range stat.GroupBy(wrong, func(c results.Check) string { return c.Advice }) {
		out = append(out, namesOf(alike)+": "+alike[0].Advice+".")
		shown := stat.Filter(alike, func(c results.Check) bool { return c.Reproduce != "" })
		if len(shown) > 0 {
			by := func(a, b results.Check) int { return cmp.Compare(len(a.Reproduce), len(b.Reproduce)) }
			out = append(out, "by hand: "+slices.MinFunc(shown, by).Reproduce)
		}
	}
	return out
}

// checkTable has a row for each situation.
func checkTable(s *results.Set) Table {
	type check = results.Check
	return tableOf("How it behaves at its pipes", s.Checks, []columnOf[check]{
		{"+`command", func(c check) Cell { return textCell(strings.Join(c.Command, " ")) }},
		{"machine", func(c check) Cell { return machineCell(s, s.Machine(c.Run)) }},
		{"+side", func(c check) Cell { return textCell(c.Side) }},
		{"`situation", func(c check) Cell { return textCell(c.Name) }},
		{"!verdict", func(c check) Cell { return verdictCell(c.Verdict) }},
		{"~found", func(c check) Cell { return textCell(c.Found) }},
		{"~advice", func(c check) Cell { return textCell(c.Advice) }},
		{"+~how", func(c check) Cell { return textCell(c.How) }},
		{"+`by hand", func(c check) Cell { return textCell(c.Reproduce) }},
		{"+runtime", func(c check) Cell { return textCell(c.Runtime) }},
		{"@~evidence", func(c check) Cell { return textCell(EvidenceText(c.Evidence)) }},
	}...)
}

// checkSentences sum up the checks of a set by what was checked, in their order.
func checkSentences(s *results.Set) []string {
	checked := stat.GroupBy(s.Checks, func(c results.Check) string { return c.Run + c.Side + strings.Join(c.Command, "\x00") })
	return stat.Map(checked, func(own []results.Check) string {
		return strings.Join(own[0].Command, " ") + ": " + CheckSummary(own) + "."
	})
}

// checkSection holds what was checked, a sentence each.
func checkSection(s *results.Set) Section {
	return Section{
		ID: "checks", Title: "How programs behave at their pipes", Lead: checkSentences(s), Tables: []Table{checkTable(s)},
		Commands: commandsOf(s, s.Checks, func(c results.Check) string { return c.Run }, "pipebench check -- COMMAND"),
	}
}

// writeJUnit writes checks as the XML that CI systems read: those that cannot tell are skipped.
func writeJUnit(w io.Writer, all []results.Check) error {
	type message struct {
		Text string `xml:"message,attr"`
		Body string `xml:",chardata"`
	}
	type testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"`
		Out     string   `xml:"system-out,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}{Name: "pipebench check " + Escape(strings.Join(all[0].Command, " ")), Tests: len(all)}
	for _, c := range all {
		found := &message{Escape(c.Found), Escape(strings.Join(nonEmpty([]string{c.How, c.Advice, c.Reproduce}), "\n"))}
		made := testCase{Class: "pipebench." + c.Side, Name: c.Name}
		switch c.Verdict {
		case results.CheckFails:
			made.Failure = found
			suite.Failures++
		case results.CheckCannotTell:
			made.Skipped = found
			suite.Skipped++
		default:
			made.Out = strings.TrimPrefix(c.Verdict+": ", "ok: ") + found.Text
		}
		suite.Cases = append(suite.Cases, made)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}
