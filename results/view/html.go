package view

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
)

// maxCellText is the number of characters of a value that a page shows: a page is for reading, the
// file has the rest.
const maxCellText = 1000

// HTML returns the table as an element of a page, without the columns that are empty in all rows;
// words that are the same in all rows stand in the title.
// Its classes are code, long and right, and good, bad and mixed for verdicts; the page's own style
// sheet says how they look. Texts are escaped, and very long texts are cut.
func (t Table) HTML() template.HTML {
	t = t.dropEmpty().hoistConstant()
	var out strings.Builder
	out.WriteString("<div class=\"table\"><table>\n")
	if t.Title != "" {
		fmt.Fprintf(&out, "<caption>%s</caption>\n", html.EscapeString(t.Title))
	}
	out.WriteString("<thead><tr>")
	for _, c := range t.Columns {
		class := ""
		if c.Right {
			class = ` class="right"`
		}
		fmt.Fprintf(&out, `<th scope="col"%s>%s</th>`, class, html.EscapeString(c.Title))
	}
	out.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		out.WriteString("<tr>")
		for i, v := range row {
			text := Truncate(strings.TrimPrefix(v.Text, "-"), maxCellText)
			out.WriteString(t.Columns[i].cell(v, html.EscapeString(text)))
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</tbody>\n</table></div>\n")
	return template.HTML(out.String())
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

// cell writes a value of the column, whose text is escaped. If the page should sort by something
// other than the text, that is written beside it.
func (c Column) cell(v Value, text string) string {
	class := ""
	switch {
	case c.Style == Code:
		class = "code"
		text = "<code>" + text + "</code>"
	case c.Style == Long:
		class = "long"
		text = "<div>" + text + "</div>"
	case c.Style == Verdict:
		class = string(v.Tone)
	case c.Right:
		class = "right"
	}
	attributes := ""
	if class != "" {
		attributes = ` class="` + class + `"`
	}
	if v.Base != v.Text && v.Base != "" {
		attributes += ` data-v="` + html.EscapeString(v.Base) + `"`
	}
	return "<td" + attributes + ">" + text + "</td>"
}
