package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// mostColumns is how many groups of machines a table shows side by side.
const mostColumns = 6

// answerSection compares what machines found out in an area: a table with a line per question on
// which they disagree, and a column for each group of machines that answer alike.
func answerSection(members []stat.Member, area, title string) Section {
	out := Section{ID: area + "-findings", Title: title}
	if area == stat.AreaServer {
		out.ID = "servers"
	}
	var names []string
	var found [][]results.Finding // of each of the machines
	var all []results.Finding
	for _, m := range members {
		if own := foundIn(m, area); len(own) > 0 {
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
	out.Lead = []string{agreementText(title, len(questions), differing, len(names))}
	if differing == 0 {
		return out
	}
	more := len(columns) - mostColumns
	columns = columns[:min(len(columns), mostColumns)]
	legend := title + " (≠ differs from A): "
	for i, c := range columns {
		legend += letter(i) + " is " + nameSome(c.names) + "; "
		columns[i].names = []string{letter(i)}
	}
	if more > 0 {
		legend += fmt.Sprintf("%d more groups that answer otherwise are not shown; ", more)
	}
	out.Notes = []string{strings.TrimSuffix(legend, "; ")}
	markDifferences(columns)
	t := questionTable(title+", where machines disagree", questions, columns,
		func(question int) bool { return disagree(columns, question) })
	t.Columns[2].Key = true // the first group says nothing without another
	out.Tables = []Table{t}
	return out
}

// agreementText says on how many questions machines disagree.
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

// foundIn returns the findings of a machine in an area, with the parts that a fleet keeps.
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

// verdictColumns has a question for each finding, and a column for each machine.
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

// outcomeValue shows how something turned out. A verdict that decides nothing has no Base, so
// machines do not differ by it.
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

// ruleColumns has the questions about each kind of pipe, and a column for each machine. FIFOs are
// left out, because they follow the rules of anonymous pipes.
func ruleColumns(names []string, found [][]results.Finding,
	all []results.Finding) (questions []string, columns []column) {
	kinds := slices.DeleteFunc(kindsIn(all), func(kind string) bool { return kind == "fifo" })
	slices.Sort(kinds)
	for _, kind := range kinds {
		for _, q := range pipeQuestions {
			questions = append(questions, q.asks+" ("+kind+")")
		}
	}
	for i, own := range found {
		c := column{names: []string{names[i]}}
		for _, kind := range kinds {
			c.cells = append(c.cells, answers("", aboutKind(own, kind), pipeQuestions).cells...)
		}
		columns = append(columns, c)
	}
	return questions, columns
}
