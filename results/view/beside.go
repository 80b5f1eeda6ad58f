package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A column has the answers of one or more machines to some questions, or the answers that the
// documentation of an operating system gives.
type column struct {
	names   []string       // of the machines, or of the system
	answers []columnAnswer // one for each question
}

// A columnAnswer is empty if the question was not asked. An answer with an empty [Value.Base], such
// as a time, never counts as different from others.
type columnAnswer struct {
	Value
	ns   float64 // 0 if the answer is not a time
	open int     // how uncertain the answer is; 0: certain
}

// sizeText returns the text of an answer for a sentence: a size without all of its digits.
func (a columnAnswer) sizeText() string {
	if n, err := strconv.ParseInt(a.Base, 10, 64); err == nil {
		return results.FormatSize(n)
	}
	return a.Text
}

// longestHead is the largest number of characters of a column title that names all machines of the
// first column, or of one with many machines. Two names always stand there.
const longestHead = 60

// title names the machines of a column. If all names are too long, it gives the first one and
// counts the other machines. A few machines that differ from the first column are all named.
func (c column) title(isFirst bool) string {
	text := strings.Join(c.names, ", ")
	isLong := len(text) > longestHead && (isFirst || len(c.names) > stat.FewMachines)
	if more := len(c.names) - 1; more > 1 && isLong {
		return fmt.Sprintf("%s and %d more", c.names[0], more)
	}
	return text
}

// differs reports whether two columns have different answers to a question.
func (c column) differs(o column, question int) bool {
	a, b := c.answers[question].Base, o.answers[question].Base
	return a != "" && b != "" && a != b
}

// alike reports whether two columns give the same answers. Only times, and answers that depend on
// chance, may differ.
func (c column) alike(o column) bool {
	return slices.EqualFunc(c.answers, o.answers, func(a, b columnAnswer) bool {
		bothOpen := a.open > 0 && b.open > 0
		if a.Base != b.Base && !bothOpen || (a.Text == "") != (b.Text == "") {
			return false
		}
		return a.Base != "" || a.Text == b.Text || a.ns > 0 && b.ns > 0 || a.open+b.open > 0
	})
}

func (c column) isAsked() bool {
	return slices.ContainsFunc(c.answers, func(a columnAnswer) bool { return a.Text != "" })
}

func joinAlike(columns []column) []column {
	var groups [][]column
	for _, c := range columns {
		at := slices.IndexFunc(groups, func(group []column) bool { return c.alike(group[0]) })
		if at < 0 {
			groups = append(groups, []column{c})
			continue
		}
		groups[at] = append(groups[at], c)
	}
	var out []column
	for _, group := range groups {
		out = append(out, joined(group))
	}
	return out
}

// joined merges columns that are alike into one.
func joined(group []column) column {
	var out column
	for _, c := range group {
		out.names = append(out.names, c.names...)
	}
	for i := range group[0].answers {
		var list []columnAnswer
		for _, c := range group {
			list = append(list, c.answers[i])
		}
		out.answers = append(out.answers, joinedAnswer(list))
	}
	return out
}

// joinedAnswer merges the answers of several machines to one question. Times become a range. From
// other answers, it takes the least uncertain one.
func joinedAnswer(list []columnAnswer) columnAnswer {
	out, longest := list[0], list[0]
	for _, a := range list {
		if a.ns < out.ns || a.open < out.open {
			out = a
		}
		if a.ns > longest.ns {
			longest = a
		}
	}
	if out.ns > 0 {
		out.Text = FromTo(out.Text, longest.Text)
	}
	return out
}

// answersTo returns a column for each different answer to a question.
func answersTo(columns []column, question int) []column {
	var answers []column
	for _, c := range columns {
		own := c.answers[question]
		if own.Text != "" {
			answers = append(answers, column{names: c.names, answers: []columnAnswer{own}})
		}
	}
	return joinAlike(answers)
}

// answerSentence says which machines give which answer: "A new pipe holds 64 KiB on a and b, 256
// KiB on the 7 others probed." In this example, the text others is "others probed". It also says
// what some machines alone have in common, if members has the machines.
func answerSentence(asks, others string, columns []column, question int,
	members []stat.Member) string {
	answers := slices.DeleteFunc(answersTo(columns, question), func(c column) bool {
		return c.answers[0].Base == "" // it cannot be compared
	})
	slices.SortStableFunc(answers, func(a, b column) int {
		// answers of one machine and of two machines keep their order
		return max(len(a.names), 2) - max(len(b.names), 2)
	})
	c := comparison{members: members}
	var asked stat.Difference
	for _, a := range answers {
		var g stat.SpeedGroup
		for i, m := range members {
			if slices.Contains(a.names, m.Name) {
				g.Members = append(g.Members, i)
			}
		}
		asked.Groups = append(asked.Groups, g)
	}
	var parts []string
	for i, a := range answers {
		where := nameSome(a.names)
		if common, _ := c.common(asked, asked.Groups[i]); common != "" {
			where = common + " (" + where + ")"
		}
		isLast := i > 0 && i == len(answers)-1
		if isLast && len(a.names) > 2 {
			where = fmt.Sprintf("the %d %s", len(a.names), others)
		}
		parts = append(parts, a.answers[0].sizeText()+" on "+where)
	}
	return asks + " " + strings.Join(parts, ", ") + "."
}

func disagree(columns []column, question int) bool {
	i := slices.IndexFunc(columns, func(c column) bool { return c.answers[question].Base != "" })
	return i >= 0 && slices.ContainsFunc(columns[i:], func(c column) bool {
		return c.differs(columns[i], question)
	})
}

// compareAnswers lists the questions that machines answer differently, and those that at least two
// answer in the same way. Each column is of one machine.
func compareAnswers(columns []column) (disputed, alike []int) {
	for i := range columns[0].answers {
		isCompared := func(c column) bool { return c.answers[i].Base != "" }
		switch {
		case disagree(columns, i):
			disputed = append(disputed, i)
		case len(selected(columns, isCompared)) > 1:
			alike = append(alike, i)
		}
	}
	return disputed, alike
}

// markDifferences writes ≠ before each answer that differs from the answer in the first column.
func markDifferences(columns []column) {
	for _, c := range columns[1:] {
		for i := range c.answers {
			if c.differs(columns[0], i) {
				c.answers[i].Text = "≠ " + c.answers[i].Text
			}
		}
	}
}

// questionTable has a row for each question that any of the columns answers.
func questionTable(title string, questions []string, columns []column) Table {
	t := Table{
		Title:   title,
		Columns: []Column{{Title: "question", Key: true}},
		Whole:   true,
	}
	for i, c := range columns {
		// The other columns are compared with the first one, so the first one stands in each part
		// of a split table.
		isFirst := i == 0 && len(columns) > 1
		t.Columns = append(t.Columns, Column{Title: c.title(i == 0), Style: Verdict, Key: isFirst})
	}
	for i, asks := range questions {
		row := []Value{textValue(asks)}
		isAnswered := false
		for _, c := range columns {
			isAnswered = isAnswered || c.answers[i].Text != ""
			row = append(row, c.answers[i].Value)
		}
		if isAnswered {
			t.AppendValues(row...)
		}
	}
	return t
}
