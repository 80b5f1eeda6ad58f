package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A column has an answer to each question: what machines that answer alike found, or what a system
// documents. An answer that should be the same in every run has a Base; machines are alike if these
// are equal.
type column struct {
	names []string
	cells []Value
}

// longestHead is how many characters the names of a column may take.
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

// alike reports whether two columns give the same answers, as far as both have one.
func (c column) alike(o column) bool {
	for i := range c.cells {
		if c.differs(o, i) {
			return false
		}
	}
	return true
}

// join adds a column that answers alike. Its answers take the place of those that say less.
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

// joinAlike puts the columns that answer alike together, in the order of the first of each.
func joinAlike(columns []column) []column {
	var out []column
	for _, c := range columns {
		at := slices.IndexFunc(out, c.alike)
		if at < 0 {
			out = append(out, column{slices.Clone(c.names), slices.Clone(c.cells)})
			continue
		}
		out[at].join(c)
	}
	return out
}

// answerSentence says which columns give which answer to a question: "A new pipe holds 64 KiB on a
// and b, 256 KiB on c." The answer of most machines is that of "the 7 others" if these are more
// than two.
func answerSentence(asks string, columns []column, question int) string {
	var answers []column // of this question alone
	for _, c := range columns {
		cell := c.cells[question]
		if cell.Base != "" {
			answers = append(answers, column{slices.Clone(c.names), []Value{cell}})
		}
	}
	answers = joinAlike(answers)
	slices.SortStableFunc(answers, func(a, b column) int {
		return max(len(a.names), 2) - max(len(b.names), 2)
	})
	var parts []string
	for i, a := range answers {
		where := nameSome(a.names)
		if i > 0 && i == len(answers)-1 && len(a.names) > 2 {
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

// questionTable has a row for each question that has an answer or, if disputed is set, for each on
// which the columns disagree.
func questionTable(title string, questions []string, columns []column, disputed bool) Table {
	t := Table{
		Title:   title,
		Columns: []Column{{Title: "question", Key: true}},
		Whole:   true,
	}
	for i, c := range columns {
		// The others are compared with the first, which each part of the table repeats.
		first := i == 0 && len(columns) > 1
		t.Columns = append(t.Columns, Column{Title: c.title(), Style: Verdict, Key: first})
	}
	for i, asks := range questions {
		row := []Value{textValue(asks)}
		known := false
		for _, c := range columns {
			known = known || c.cells[i].Text != ""
			row = append(row, c.cells[i])
		}
		if known && (!disputed || disagree(columns, i)) {
			t.AppendValues(row...)
		}
	}
	return t
}
