package view

import "slices"

// maxCellText is the largest number of characters of a text in the tables of a page.
const maxCellText = 1000

// ForPage returns the table as an HTML page shows it: without empty columns and repeated texts, and
// with very long texts cut.
func (t Table) ForPage() Table {
	t = t.dropEmpty().hoistConstant()
	for _, row := range t.Rows {
		for i := range row {
			v := &row[i]
			if v.Base == v.Text { // the page sorts by the text then
				v.Base = ""
			}
			if v.Text == "-" { // AppendValues put the dash there
				v.Text = ""
			}
			v.Text = Truncate(v.Text, maxCellText)
		}
	}
	return t
}

// hoistConstant removes columns in which all rows have the same short text, and adds that text to
// the title of the table.
func (t Table) hoistConstant() Table {
	if len(t.Rows) < 3 { // in so few rows, a column takes little room
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
	return t.withColumns(func(i int) bool { return !slices.Contains(constant, i) })
}

// Class returns the name of the CSS class for a value in the column.
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
