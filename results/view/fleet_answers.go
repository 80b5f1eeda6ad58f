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

// answerSections compares what machines found out, area by area.
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
				return kind != "" && kind != "anonymous" // without a kind, it is about costs
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

// answerSection compares the findings of machines in one area, such as rules. It takes only
// findings for which wanted returns true. If wanted is nil, it takes all.
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
	var disputed []int
	for i := range questions {
		if disagree(columns, i) {
			disputed = append(disputed, i)
		}
	}
	switch {
	case questions[0] == newPipeHolds: // anonymous pipes
		out.Lead = differingAnswers(columns)
	case area != results.AreaRule && len(disputed) <= mostSentences:
		for _, i := range disputed {
			text := answerSentence(questions[i]+":", "others asked", columns, i)
			out.Lead = append(out.Lead, text)
		}
	}
	agreement := agreementText(title, columns, len(disputed))
	switch {
	case len(disputed) > 0:
		out.Tables, out.Notes = disputedTable(title, questions, columns, disputed)
	case area == results.AreaRule:
		out.Tables = []Table{questionTable(title, questions, joinAlike(columns))}
		out.Folded = true
		holds := columns[0].answers[0]
		if len(columns) > 1 && questions[0] == newPipeHolds && holds.Base != "" {
			agreement += fmt.Sprintf(" %s %s.", newPipeHolds, holds.Text)
		}
	}
	out.Lead = append(out.Lead, agreement)
	return out
}

// disputedTable shows the questions on which machines disagree. The indexes of these questions are
// in disputed. The notes say how to read the table.
func disputedTable(
	title string, questions []string, columns []column, disputed []int,
) (tables []Table, notes []string) {
	var asks []string
	for _, i := range disputed {
		asks = append(asks, questions[i])
	}
	var shown []column
	for _, c := range columns {
		own := column{names: c.names}
		for _, i := range disputed {
			own.answers = append(own.answers, c.answers[i])
		}
		if own.isAsked() {
			shown = append(shown, own)
		}
	}
	shown = joinAlike(shown)
	slices.SortStableFunc(shown, func(a, b column) int { return len(b.names) - len(a.names) })
	note := "≠ differs from the first column"
	if len(shown) > mostColumns {
		var leftOut []string
		for _, c := range shown[mostColumns:] {
			leftOut = append(leftOut, c.names...)
		}
		note += "; these give other answers or fewer, and are not shown: " + nameSome(leftOut)
		shown = shown[:mostColumns]
	}
	markDifferences(shown)
	title += ", where machines disagree"
	return []Table{questionTable(title, asks, shown)}, []string{note}
}

// agreementText says how many questions machines answer differently. It counts only questions that
// at least two machines answered.
func agreementText(title string, columns []column, differing int) string {
	if len(columns) == 1 {
		return fmt.Sprintf("%s: only %s was asked, nothing to compare.", title,
			columns[0].names[0])
	}
	questions, fewest, most := 0, 0, 0
	for i := range columns[0].answers {
		machines := 0
		for _, c := range columns {
			if c.answers[i].Base != "" {
				machines++
			}
		}
		if machines < 2 {
			continue
		}
		questions++
		most = max(most, machines)
		if fewest == 0 || machines < fewest {
			fewest = machines
		}
	}
	answers := results.FormatCount(questions, "answer")
	machines := results.FormatCount(most, "machine")
	if fewest < most {
		machines = fmt.Sprintf("%d to %s", fewest, machines)
	}
	switch {
	case questions == 0:
		return title + ": no question was answered on two machines, nothing to compare."
	case differing == 0:
		return fmt.Sprintf("%s: %s, alike on %s.", title, answers, machines)
	}
	return fmt.Sprintf("%s: %d of %s differ between %s.", title, differing, answers, machines)
}

// foundIn returns the findings of one machine in an area. Only some fields of these findings are
// set.
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

// verdictColumns returns a question for each finding with a different name, and a column for each
// machine. The answers are verdicts.
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
		c := column{names: []string{names[i]}, answers: make([]columnAnswer, len(questions))}
		for _, f := range own {
			at, _ := slices.BinarySearch(questions, nameOf(f))
			c.answers[at].Value = outcomeValue(f)
		}
		columns = append(columns, c)
	}
	return questions, columns
}

// outcomeValue shows the verdict of a finding. If the verdict decides nothing, Base is empty, so
// that the finding never counts as different.
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
			c.answers = append(c.answers, own.answers...)
		}
		columns = append(columns, c)
	}
	return questions, columns
}
