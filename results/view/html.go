package view

import (
	"slices"
	"strings"
)

// maxCellText is the number of characters of a value that a page shows: a page is for reading, the
// file has the rest.
const maxCellText = 1000

// ForPage returns the table as an HTML page shows it: without the columns that are empty in all
// rows, with words that are the same in all rows in the title, and with very long texts cut. A
// value has a Base only if the page sorts by that and not by the text.
func (t Table) ForPage() Table {
	t = t.dropEmpty().hoistConstant()
	for _, row := range t.Rows {
		for i := range row {
			v := &row[i]
			if v.Base == v.Text {
				v.Base = ""
			}
			v.Text = Truncate(strings.TrimPrefix(v.Text, "-"), maxCellText)
		}
	}
	return t
}

// hoistConstant moves columns of words that say the same in all rows into the title, except long
// texts.
func (t Table) hoistConstant() Table {
	if len(t.Rows) < 3 {
		return t
	}
	var constant []int
	for i, c := range t.Columns {
		differs := func(row []Value) bool { return row[i].Text != t.Rows[0][i].Text }
		movable := i > 0 && !c.Right && c.Style != Verdict && c.Style != Long
		if movable && !slices.ContainsFunc(t.Rows, differs) {
			constant = append(constant, i)
			t.Title = JoinParts(t.Title, c.Title+" "+t.Rows[0][i].Text)
		}
	}
	return t.only(func(i int) bool { return !slices.Contains(constant, i) })
}

// Class is the class of a value of the column on a page, whose style sheet says how it looks.
func (c Column) Class(v Value) string {
	switch {
	case c.Style == Code:
		return "code"
	case c.Style == Long:
		return "long"
	case c.Style == Verdict:
		return string(v.Tone)
	case c.Right:
		return "right"
	}
	return ""
}
