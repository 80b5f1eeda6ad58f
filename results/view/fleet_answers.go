package view

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

const (
	mostColumns   = 6 // the most groups of machines that a table shows side by side
	mostSentences = 3 // if more answers differ, none gets a sentence

	// pipesSection is the ID of the section on anonymous pipes.
	pipesSection = results.AreaRule + "-findings"
)

// answerSections compares what machines found out, with a section for each area. The rules of
// anonymous pipes have a section of their own, which comes before the one for other kinds of pipe.
func answerSections(members []stat.Member) []Section {
	var all []Section
	for _, a := range areas {
		switch a.area {
		case results.AreaMachine: // attentionSection has these
		case results.AreaRule:
			isAnonymous := func(f results.Finding) bool {
				kind, _ := kindOf(f)
				return kind == "anonymous"
			}
			isOther := func(f results.Finding) bool {
				kind, _ := kindOf(f)
				return kind != "anonymous" && kind != "fifo" // a FIFO follows the same rules
			}
			others := answerSection(members, a.area, "What other kinds of pipe do", isOther)
			others.ID = "other-" + others.ID
			others.Folded = true
			all = append(all, answerSection(members, a.area, a.title, isAnonymous), others)
		default:
			all = append(all, answerSection(members, a.area, a.title, nil))
		}
	}
	servers := answerSection(members, stat.AreaServer, "How servers turned out", nil)
	servers.ID = "servers"
	return append(all, servers)
}

// answerSection compares the findings of machines in an area. The function wanted selects the
// findings; nil selects all. The table has a line for each question on which machines disagree, and
// a column for each group of machines that answer alike.
func answerSection(members []stat.Member, area, title string,
	wanted func(results.Finding) bool) Section {
	out := Section{ID: area + "-findings", Title: title}
	var names []string            // of the machines that have such findings
	var found [][]results.Finding // of each of these machines
	var all []results.Finding
	for _, m := range members {
		own := foundIn(m, area)
		if wanted != nil {
			own = selectFindings(own, wanted)
		}
		if len(own) > 0 {
			names = append(names, m.Name)
			found = append(found, own)
			all = append(all, own...)
		}
	}
	if len(all) == 0 {
		return out
	}
	questions, columns := verdictColumns(names, found, all)
	if area == results.AreaRule {
		questions, columns = ruleColumns(names, found, all)
	}
	if len(questions) == 0 {
		return out
	}
	columns = joinAlike(columns)
	slices.SortStableFunc(columns, func(a, b column) int { return len(b.names) - len(a.names) })
	differing := 0
	for i := range questions {
		if disagree(columns, i) {
			differing++
		}
	}
	switch {
	case questions[0] == pipeQuestions[0].asks: // anonymous pipes
		out.Lead = differingAnswers(columns)
	case area != results.AreaRule && differing <= mostSentences:
		for i, asks := range questions {
			if disagree(columns, i) {
				out.Lead = append(out.Lead, answerSentence(asks+":", columns, i))
			}
		}
	}
	out.Lead = append(out.Lead, agreementText(title, len(questions), differing, len(names)))
	if differing == 0 {
		return out
	}
	note := "≠ differs from the first column"
	if len(columns) > mostColumns {
		var leftOut []string
		for _, c := range columns[mostColumns:] {
			leftOut = append(leftOut, c.names...)
		}
		note += "; these give other answers and are not shown: " + nameSome(leftOut)
		columns = columns[:mostColumns]
	}
	out.Notes = []string{note}
	markDifferences(columns)
	title += ", where machines disagree"
	out.Tables = []Table{questionTable(title, questions, columns, onlyDisputed)}
	return out
}

// agreementText says on how many of the questions machines disagree.
func agreementText(title string, questions, differing, machines int) string {
	answers := results.FormatCount(questions, "answer")
	if machines == 1 {
		return fmt.Sprintf("%s: %s, on 1 machine alone.", title, answers)
	}
	if differing == 0 {
		return fmt.Sprintf("%s: %s, alike on %d machines.", title, answers, machines)
	}
	return fmt.Sprintf("%s: %d of %s differ between %d machines.", title, differing, answers,
		machines)
}

// foundIn returns the findings of a machine in an area. They have only those fields that a fleet
// keeps.
func foundIn(m stat.Member, area string) []results.Finding {
	var out []results.Finding
	for _, a := range m.Answers {
		if a.Area() != area {
			continue
		}
		f := results.Finding{
			ID: a.ID, Verdict: a.Verdict, Class: a.Class, Value: a.Value, Unit: a.Unit,
		}
		if a.About != "" {
			f.About = []string{a.About}
		}
		out = append(out, f)
	}
	return out
}

// verdictColumns returns a question for each different finding, and a column of answers for each
// machine.
func verdictColumns(names []string, found [][]results.Finding,
	all []results.Finding) (questions []string, columns []column) {
	nameOf := func(f results.Finding) string {
		if len(f.About) == 0 {
			return f.Name()
		}
		return f.Name() + " of " + Truncate(f.About[0], maxNameLength)
	}
	for _, f := range all {
		questions = append(questions, nameOf(f))
	}
	slices.Sort(questions)
	questions = slices.Compact(questions)
	for i, own := range found {
		c := column{names: []string{names[i]}, cells: make([]Value, len(questions))}
		for _, f := range own {
			at, _ := slices.BinarySearch(questions, nameOf(f))
			c.cells[at] = outcomeValue(f)
		}
		columns = append(columns, c)
	}
	return questions, columns
}

// outcomeValue shows the verdict of a finding and how it fails. A verdict that decides nothing gets
// no Base, so that machines do not count as different because of it.
func outcomeValue(f results.Finding) Value {
	v := verdictValue(string(f.Verdict))
	switch f.Verdict {
	case results.CannotTell, results.Unsupported, results.Noted:
		v.Base = ""
		return v
	case results.Fails:
		if f.Class != "" {
			v.Text = f.Class
			v.Base += " " + f.Class
		}
	}
	if f.Area() == stat.AreaServer && f.Value != nil {
		v.Text += " beyond " + exactValue(f.Value, f.Unit)
		v.Base = v.Text
	}
	return v
}

// ruleColumns returns the questions about each kind of pipe, and a column of answers for each
// machine.
func ruleColumns(names []string, found [][]results.Finding,
	all []results.Finding) (questions []string, columns []column) {
	kinds := kindsIn(all)
	slices.Sort(kinds)
	for _, kind := range kinds {
		for _, q := range pipeQuestions {
			asks := q.asks
			if kind != "anonymous" {
				asks += " (" + kind + ")"
			}
			questions = append(questions, asks)
		}
	}
	for i, rules := range found {
		c := column{names: []string{names[i]}}
		for _, kind := range kinds {
			own := answersOf("", aboutKind(rules, kind), pipeQuestions)
			c.cells = append(c.cells, own.cells...)
		}
		columns = append(columns, c)
	}
	return questions, columns
}
