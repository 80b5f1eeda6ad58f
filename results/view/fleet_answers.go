package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
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
			all = append(all, answerSection(members, a.area, a.title, isAnonymous)...)
			others := answerSection(members, a.area, "What other kinds of pipe do", isOther)
			for _, s := range others {
				s.ID = "other-" + s.ID
				s.Folded = true
				all = append(all, s)
			}
		default:
			all = append(all, answerSection(members, a.area, a.title, nil)...)
		}
	}
	return append(all, answerSection(members, stat.AreaServer, "How servers turned out", nil)...)
}

// answerSection compares the findings of machines in one area, such as rules. It takes only
// findings for which wanted returns true. If wanted is nil, it takes all. A second section has the
// answers that are alike.
func answerSection(members []stat.Member, area, title string,
	wanted func(results.Finding) bool) []Section {
	var machines []probedMachine // those that have such findings
	for _, m := range members {
		own := foundIn(m.Answers, area)
		if wanted != nil {
			own = selected(own, wanted)
		}
		if len(own) > 0 {
			machines = append(machines, probedMachine{name: m.Name, found: own})
		}
	}
	out := Section{ID: area + "-findings", Title: title}
	same := Section{ID: out.ID + "-alike", Title: title + ", alike", Folded: true}
	questions, columns := verdictColumns(machines)
	if area == results.AreaRule {
		questions, columns, same.Notes = ruleColumns(machines)
	}
	if len(questions) == 0 {
		return nil
	}
	disputed, alike := compareAnswers(columns)
	out.Lead = answerSentences(questions, columns, disputed, members)
	agreement := agreementText(title, columns, len(disputed), len(alike), len(members))
	if len(disputed) == 0 && len(alike) <= mostAlike {
		for _, i := range alike {
			agreement += " " + questions[i] + ": " + comparedAnswers(columns, i) + "."
		}
	}
	out.Lead = append(out.Lead, agreement)
	out.compare(title+", where machines disagree", questions, columns, disputed)
	same.compare("", questions, columns, alike)
	if area == results.AreaRule {
		same.Notes = append(same.Notes, notCompared)
	}
	return []Section{out, same}
}

// mostAlike is how many answers are told in sentences if all are alike.
const mostAlike = 3

// comparedAnswers lists the answers to a question that can be compared. Limits of servers that are
// not exact may be alike though their texts differ.
func comparedAnswers(columns []column, question int) string {
	var texts []string
	for _, c := range columns {
		answer := c.answers[question]
		if answer.Base != "" && !slices.Contains(texts, answer.sizeText()) {
			texts = append(texts, answer.sizeText())
		}
	}
	return nameSome(texts)
}

// answerSentences says in sentences what machines answer differently, if that is little.
func answerSentences(questions []string, columns []column, disputed []int,
	members []stat.Member) []string {
	if questions[0] == newPipeHolds { // anonymous pipes
		differing := differingAnswers(columns, members)
		return differing[:min(1, len(differing))] // the table has the others
	}
	if len(disputed) != 1 {
		return nil // the table has them
	}
	i := disputed[0]
	return []string{answerSentence(questions[i]+":", "others asked", columns, i, members)}
}

// compare adds a table with the questions of these indexes. Each answer has a row with the machines
// that gave it, the answer of most machines first.
func (s *Section) compare(title string, questions []string, columns []column, indexes []int) {
	t := Table{Title: title, Columns: []Column{
		{Title: "question", Key: true},
		{Title: "answer", Style: Verdict, Key: true},
		{Title: "machines", Style: Long, Key: true},
	}}
	for _, i := range indexes {
		asks := questions[i]
		given := answersTo(columns, i)
		slices.SortStableFunc(given, func(a, b column) int { return len(b.names) - len(a.names) })
		for n, c := range given {
			names := Truncate(strings.Join(c.names, ", "), mostReason)
			if isMost := n == 0 && len(c.names) > mostNamedMachines; isMost {
				names = results.FormatCount(len(c.names), "machine")
			}
			t.AppendValues(textValue(asks), c.answers[0].Value, textValue(names))
			asks = " "
		}
	}
	s.Tables = append(s.Tables, t)
}

// agreementText says how many questions machines answer differently. It counts only questions that
// at least two machines answered. It names the machines if others were not asked, or if a few
// differ: these may be files of one machine.
func agreementText(title string, columns []column, disputed, alike, members int) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.names...)
	}
	where := results.FormatCount(len(names), "machine")
	if len(names) < members || disputed > 0 && len(names) <= mostNamedMachines {
		where = nameSome(names)
	}
	answers := results.FormatCount(disputed+alike, "answer")
	switch {
	case disputed+alike == 0:
		return title + ": no question was answered on two machines, nothing to compare."
	case disputed == 0:
		return fmt.Sprintf("%s: %s, alike on %s.", title, answers, where)
	}
	return fmt.Sprintf("%s: %d of %s differ between %s.", title, disputed, answers, where)
}

func foundIn(answers []results.Finding, area string) []results.Finding {
	return selected(answers, func(f results.Finding) bool { return f.Area() == area })
}

// verdictColumns returns a question for each finding with a different name, and a column for each
// machine. The answers are verdicts. A question is what a claim says or a failure is, if that is
// known, and the name.
func verdictColumns(machines []probedMachine) (questions []string, columns []column) {
	nameOf := func(f results.Finding) string {
		if len(f.About) == 0 {
			return f.Name()
		}
		return f.Name() + " of " + Truncate(f.About[0], maxNameLength)
	}
	titles := make(map[string]string) // of the findings by their names
	isCut := make(map[string]bool)    // limits that are not exact on each machine
	for _, m := range machines {
		for _, f := range m.found {
			titles[nameOf(f)] = cmp.Or(titles[nameOf(f)], f.Title)
			isCut[nameOf(f)] = isCut[nameOf(f)] || f.Found == stat.CutShort
		}
	}
	names := slices.Sorted(maps.Keys(titles))
	for _, m := range machines {
		c := column{names: []string{m.name}, answers: make([]columnAnswer, len(names))}
		for _, f := range m.found {
			at, _ := slices.BinarySearch(names, nameOf(f))
			c.answers[at].Value = outcomeValue(f, isCut[nameOf(f)])
		}
		columns = append(columns, c)
	}
	for _, name := range names {
		if title := titles[name]; title != "" {
			name = capitalised(title) + " (" + name + ")"
		}
		questions = append(questions, name)
	}
	return questions, columns
}

// outcomeValue shows the verdict of a finding. If the verdict decides nothing, Base is empty, so
// that the finding never counts as different. A limit does not count if isCut is set.
func outcomeValue(f results.Finding, isCut bool) Value {
	v := verdictValue(string(f.Verdict))
	switch f.Verdict {
	case results.CannotTell, results.Unsupported, results.Noted:
		v.Base = ""
		return v
	case results.Fails:
		if f.Class != "" {
			v.Text += " (" + f.Class + ")"
			v.Base += " " + f.Class
		}
	}
	if f.Area() == stat.AreaServer && f.Value != nil {
		v.Text += " beyond " + exactValue(f.Value, f.Unit)
		if !isCut {
			v.Base = v.Text
		}
		if f.Found == stat.CutShort {
			v.Text += " (" + f.Found + ")"
		}
	}
	return v
}

// ruleColumns returns the questions about each kind of pipe, and a column of answers for each
// machine. A note names the machines that lack a kind which others have.
func ruleColumns(machines []probedMachine) (questions []string, columns []column, notes []string) {
	var all []results.Finding
	for _, m := range machines {
		all = append(all, m.found...)
		columns = append(columns, column{names: []string{m.name}})
	}
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
		for i, c := range machineColumns(machines, kind, pipeQuestions) {
			columns[i].answers = append(columns[i].answers, c.answers...)
		}
		if without, isThere := withoutKind(machines, kind); isThere && len(without) > 0 {
			notes = append(notes, pipeNames[kind]+": not there on "+nameSome(without))
		}
	}
	return questions, columns, notes
}
