package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A column has the answers of machines to a list of questions, or those that a system documents.
// Two columns are alike if no answer has a Base in both and differs in it.
type column struct {
	names []string // of the machines, or of the system
	cells []Value  // one for each question
}

// longestHead is the largest number of characters that the names of a column take.
const longestHead = 60

// title names the machines of a column, or the first and the number of the others.
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

// alike reports whether no answers of two columns differ.
func (c column) alike(o column) bool {
	for i := range c.cells {
		if c.differs(o, i) {
			return false
		}
	}
	return true
}

// join adds the names of a column that answers alike, and those of its answers that say more.
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

// joinAlike joins the columns that answer alike. Each joined column is at the place of its first.
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
// and b, 256 KiB on the 7 others." An answer of more than two machines comes after the others.
func answerSentence(asks string, columns []column, question int) string {
	var answers []column // to this question alone
	for _, c := range columns {
		cell := c.cells[question]
		if cell.Base != "" {
			answers = append(answers, column{names: slices.Clone(c.names), cells: []Value{cell}})
		}
	}
	answers = joinAlike(answers)
	slices.SortStableFunc(answers, func(a, b column) int {
		return max(len(a.names), 2) - max(len(b.names), 2) // one and two machines stay in order
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

// Which rows a questionTable has.
const (
	allAnswered  = false // each question that has an answer
	onlyDisputed = true  // each question on which the columns disagree
)

// questionTable has a row for each question, and a column for each of the columns.
func questionTable(title string, questions []string, columns []column, disputed bool) Table {
	t := Table{
		Title:   title,
		Columns: []Column{{Title: "question", Key: true}},
		Whole:   true,
	}
	for i, c := range columns {
		// All others are compared with the first column, so a broken table repeats it.
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
