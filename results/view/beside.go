package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A column of a questionTable has the answers to a list of questions. The answers come from one or
// more machines, or from the documentation of a system. The cell of a question that was not asked
// is empty. An answer without a Base, such as a time, does not differ from any other.
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

// alike reports whether two columns were asked the same questions and gave the same answers. Times,
// and answers that depend on chance, need not be the same.
func (c column) alike(o column) bool {
	return slices.EqualFunc(c.cells, o.cells, func(a, b Value) bool {
		switch {
		case a.Base != b.Base || (a.Text == "") != (b.Text == ""):
			return false
		case a.Base != "" || a.Text == b.Text:
			return true
		}
		_, isTimeA := parseTime(a.Text)
		_, isTimeB := parseTime(b.Text)
		return min(weight(a.Text), weight(b.Text)) < decided || isTimeA && isTimeB
	})
}

// parseTime returns the time that an answer such as "1.50 µs" gives.
func parseTime(answer string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(strings.ReplaceAll(answer, " ", ""))
	return d, err == nil
}

// isAsked reports whether the column has any answer.
func (c column) isAsked() bool {
	return slices.ContainsFunc(c.cells, func(v Value) bool { return v.Text != "" })
}

// joinAlike merges columns that are alike. The merged column stands where the first of them was.
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
	for i := range group[0].cells {
		var answers []Value
		for _, c := range group {
			answers = append(answers, c.cells[i])
		}
		out.cells = append(out.cells, joinedAnswer(answers))
	}
	return out
}

// joinedAnswer merges the answers of machines to one question; the machines are alike. Of answers
// that depend on chance, it takes the one that says most. It lists times in the order of the
// machines. If the list is longer than longestHead, it gives the shortest and the longest time.
func joinedAnswer(answers []Value) Value {
	strongest := answers[0]
	var times []string
	for _, a := range answers {
		if weight(a.Text) > weight(strongest.Text) {
			strongest = a
		}
		if _, ok := parseTime(a.Text); ok && a.Base == "" {
			times = append(times, a.Text)
		}
	}
	if len(times) < 2 {
		return strongest
	}
	list := strings.Join(times, ", ")
	if len(list) > longestHead {
		slices.SortFunc(times, func(a, b string) int {
			timeA, _ := parseTime(a)
			timeB, _ := parseTime(b)
			return cmp.Compare(timeA, timeB)
		})
		list = times[0] + " to " + times[len(times)-1]
	}
	return Value{Text: list}
}

const decided = 2 // the weight of an answer that does not leave the question open

// weight ranks answers by how much they say.
func weight(answer string) int {
	switch answer {
	case tooFewTries:
		return 0
	case notSeen:
		return 1
	}
	return decided
}

// answerSentence says which machines give which answer to a question: "A new pipe holds 64 KiB on a
// and b, 256 KiB on the 7 others probed." Answers that more than two machines give come last.
// The text others is what the other machines are called.
func answerSentence(asks, others string, columns []column, question int) string {
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
			where = fmt.Sprintf("the %d %s", len(a.names), others)
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
	i := slices.IndexFunc(columns, func(c column) bool { return c.cells[question].Base != "" })
	return i >= 0 && slices.ContainsFunc(columns[i:], func(c column) bool {
		return c.differs(columns[i], question)
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

// questionTable makes a [Table] in which each row has a question, and then the answer of each
// column. It leaves out questions without an answer.
func questionTable(title string, questions []string, columns []column) Table {
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
		if isAnswered {
			t.AppendValues(row...)
		}
	}
	return t
}
