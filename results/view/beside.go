package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A column of a questionTable has the answers to a list of questions. The answers come from one or
// more machines, or from the documentation of a system. Two columns are alike if their answers to
// every question agree. An answer without a Base agrees with every answer.
type column struct {
	names []string // of the machines, or of the system
	cells []Value  // the answers, one for each question
}

// longestHead is the number of characters above which a column's title names only its first
// machine.
const longestHead = 60

// title names the machines of a column. If the names are longer than longestHead, it gives the
// first name and the number of the others.
func (c column) title() string {
	text := strings.Join(c.names, ", ")
	if more := len(c.names) - 1; more > 0 && len(text) > longestHead {
		return fmt.Sprintf("%s and %d more", c.names[0], more)
	}
	return text
}

// differs reports whether two columns have different answers to a question.
func (c column) differs(o column, question int) bool {
	a, b := c.cells[question].Base, o.cells[question].Base
	return a != "" && b != "" && a != b
}

// alike reports whether two columns agree in all their answers.
func (c column) alike(o column) bool {
	for i := range c.cells {
		if c.differs(o, i) {
			return false
		}
	}
	return true
}

// join merges the column o into c. The two columns must be alike. join adds the names of o. Where
// an answer of o says more than the answer of c, it takes the answer of o.
func (c *column) join(o column) {
	c.names = append(c.names, o.names...)
	for i := range c.cells {
		if weight(o.cells[i].Text) > weight(c.cells[i].Text) {
			c.cells[i] = o.cells[i]
		}
	}
}

// weight ranks answers by how much they say.
func weight(answer string) int {
	switch answer {
	case "":
		return 0
	case tooFewTries:
		return 1
	case notSeen:
		return 2
	}
	return 3
}

// joinAlike merges columns that are alike. The merged column stands where the first of them was.
func joinAlike(columns []column) []column {
	var out []column
	for _, c := range columns {
		at := slices.IndexFunc(out, c.alike)
		if at < 0 {
			out = append(out, column{names: slices.Clone(c.names), cells: slices.Clone(c.cells)})
			continue
		}
		out[at].join(c)
	}
	return out
}

// answerSentence says which machines give which answer to a question: "A new pipe holds 64 KiB on a
// and b, 256 KiB on the 7 others." Answers that more than two machines give come last.
func answerSentence(asks string, columns []column, question int) string {
	var answers []column // one for each different answer to this question
	for _, c := range columns {
		cell := c.cells[question]
		if cell.Base != "" {
			answers = append(answers, column{names: slices.Clone(c.names), cells: []Value{cell}})
		}
	}
	answers = joinAlike(answers)
	slices.SortStableFunc(answers, func(a, b column) int {
		// answers of one machine and of two machines keep their order
		return max(len(a.names), 2) - max(len(b.names), 2)
	})
	var parts []string
	for i, a := range answers {
		where := nameSome(a.names)
		isLast := i > 0 && i == len(answers)-1
		if isLast && len(a.names) > 2 {
			where = fmt.Sprintf("the %d others", len(a.names))
		}
		text := a.cells[0].Text
		if n, err := strconv.ParseInt(a.cells[0].Base, 10, 64); err == nil {
			text = results.FormatSize(n)
		}
		parts = append(parts, text+" on "+where)
	}
	return asks + " " + strings.Join(parts, ", ") + "."
}

// disagree reports whether columns have different answers to a question.
func disagree(columns []column, question int) bool {
	return slices.ContainsFunc(columns, func(c column) bool {
		return slices.ContainsFunc(columns, func(o column) bool { return c.differs(o, question) })
	})
}

// markDifferences writes ≠ before each answer that differs from that of the first column.
func markDifferences(columns []column) {
	for _, c := range columns[1:] {
		for i := range c.cells {
			if c.differs(columns[0], i) {
				c.cells[i].Text = "≠ " + c.cells[i].Text
			}
		}
	}
}

// Values for the parameter disputed of questionTable: which rows the table has.
const (
	allAnswered  = false // a row for each question that has an answer
	onlyDisputed = true  // a row for each question on which the columns disagree
)

// questionTable makes a [Table] in which each row has a question, and then the answer of each
// column.
func questionTable(title string, questions []string, columns []column, disputed bool) Table {
	t := Table{
		Title:   title,
		Columns: []Column{{Title: "question", Key: true}},
		Whole:   true,
	}
	for i, c := range columns {
		// All other columns are compared with the first one. So if the table is too wide and is
		// split, each part has the first one.
		isFirst := i == 0 && len(columns) > 1
		t.Columns = append(t.Columns, Column{Title: c.title(), Style: Verdict, Key: isFirst})
	}
	for i, asks := range questions {
		row := []Value{textValue(asks)}
		isAnswered := false
		for _, c := range columns {
			isAnswered = isAnswered || c.cells[i].Text != ""
			row = append(row, c.cells[i])
		}
		if isAnswered && (!disputed || disagree(columns, i)) {
			t.AppendValues(row...)
		}
	}
	return t
}
