package view

import (
	_ "embed"
	"html/template"
	"strings"
	"sync"
)

// maxCellText is the number of characters of a value that a page shows: a page is for reading, the
// file has the rest.
const maxCellText = 1000

//go:embed table.html
var tableText string

// A pageTable is what the template shows of a table.
type pageTable struct {
	Title   string
	Columns []pageColumn
	Rows    []pageRow
	Width   int // columns
}

type pageColumn struct{ Title, Class string }

type pageRow struct {
	Values   []pageValue
	Warnings []string
}

// A pageValue is a cell. Base is what a column is sorted by, if it is another text.
type pageValue struct {
	Text, Class, Base, How string
	Code, Long             bool
}

var tableTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("table").Parse(tableText))
})

// HTML returns the table as an element of a page, without the columns that are empty in all rows.
// The page's own style sheet decides what its classes look like: code, long, right, and good, bad
// and mixed for verdicts. Texts are escaped, and cut where they are very long.
func (t Table) HTML() (template.HTML, error) {
	t = t.only(func(i int) bool { return t.Columns[i].Only != DataOnly }).dropEmpty()
	page := pageTable{Title: t.Title}
	for _, c := range t.Columns {
		if c.Style == Warning {
			continue
		}
		class := ""
		if c.Right {
			class = "right"
		}
		page.Columns = append(page.Columns, pageColumn{c.Title, class})
	}
	page.Width = len(page.Columns)
	for _, row := range t.Rows {
		page.Rows = append(page.Rows, t.pageRow(row))
	}
	var out strings.Builder
	err := tableTemplate().Execute(&out, page)
	return template.HTML(out.String()), err // the template escapes every text
}

func (t Table) pageRow(row []Value) pageRow {
	var out pageRow
	for i, v := range row {
		c := t.Columns[i]
		text := Truncate(strings.TrimPrefix(v.Text, "-"), maxCellText)
		if c.Style == Warning {
			if text != "" {
				out.Warnings = append(out.Warnings, text)
			}
			continue
		}
		cell := pageValue{Text: text, How: v.How, Code: c.Style == Code, Long: c.Style == Long}
		if v.Base != v.Text {
			cell.Base = v.Base
		}
		cell.Class = valueClass(c, v)
		out.Values = append(out.Values, cell)
	}
	return out
}

// valueClass returns the classes of a cell: its style or what its verdict means, and its alignment.
func valueClass(c Column, v Value) string {
	var classes []string
	switch c.Style {
	case Code:
		return "code"
	case Long:
		return "long"
	case Verdict:
		if v.Tone != Neutral {
			classes = append(classes, string(v.Tone))
		}
	}
	if c.Right {
		classes = append(classes, "right")
	}
	return strings.Join(classes, " ")
}
