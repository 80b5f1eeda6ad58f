package view

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
)

// A Style tells a page how to show the cells of a column.
type Style string

// Styles of columns.
const (
	Code    Style = "code"    // names that are typed somewhere
	Long    Style = "long"    // texts that need room and may be broken anywhere
	Verdict Style = "verdict" // coloured by what they mean for a person
	Below   Style = "below"   // warnings: each in a line of its own below the row
)

// maxCellText is the number of characters of a cell that a page shows: a page is for reading, the
// file has the rest.
const maxCellText = 1000

var tableTemplate = template.Must(template.New("table").Parse(`<div class="table"><table>
{{with .Title}}<caption>{{.}}</caption>
{{end}}<thead><tr>{{range .Heads}}<th scope="col"{{with .Class}} class="{{.}}"{{end}}>{{.Text}}</th>{{end}}</tr></thead>
<tbody>
{{$width := len .Heads}}{{range .Rows}}<tr>{{range .Cells}}<td{{with .Class}} class="{{.}}"{{end}}>{{if .Code}}<code>{{.Text}}</code>{{else}}{{.Text}}{{end}}</td>{{end}}</tr>
{{with .Warning}}<tr class="warning"><td colspan="{{$width}}">⚠ {{.}}</td></tr>
{{end}}{{end}}</tbody>
</table></div>
`))

type htmlCell struct {
	Text, Class string
	Code        bool
}

type htmlRow struct {
	Cells   []htmlCell
	Warning string
}

// HTML returns the table as an element of a page, without the columns that are empty in all rows.
// The page's own style sheet decides what its classes look like: code, long, right, and good, bad
// and mixed for verdicts. Texts are escaped, and cut where they are very long.
func (t Table) HTML() (template.HTML, error) {
	t = t.dropEmpty()
	page := struct {
		Title string
		Heads []htmlCell
		Rows  []htmlRow
	}{Title: t.Title, Rows: make([]htmlRow, len(t.Rows))}
	for i, c := range t.Columns {
		if c.Style == Below {
			for k, row := range t.Rows {
				page.Rows[k].Warning = strings.TrimPrefix(row[i], "-")
			}
			continue
		}
		right := map[bool]string{true: "right"}[c.Right]
		page.Heads = append(page.Heads, htmlCell{Text: c.Title, Class: right})
		for k, row := range t.Rows {
			cell := htmlCell{Text: Truncate(row[i], maxCellText), Class: cmp.Or(string(c.Style), right), Code: c.Style == Code}
			if cell.Text == "-" {
				cell.Text = ""
			}
			if c.Style == Verdict {
				cell.Class = strings.TrimSpace(verdictClass(cell.Text) + " " + right)
			}
			page.Rows[k].Cells = append(page.Rows[k].Cells, cell)
		}
	}
	var out strings.Builder
	err := tableTemplate.Execute(&out, page)
	return template.HTML(out.String()), err // the template escapes every text
}

// verdictClass returns what a verdict means for a person: "good", "bad", "mixed", or "" for none.
// The words of claims, faults, servers and probes differ, their meanings do not.
func verdictClass(verdict string) string {
	switch {
	case slices.Contains([]string{"holds", "ok", "sound", "exit 0", "yes", recommendedMark}, verdict):
		return "good"
	case slices.Contains([]string{"depends", "slow", "grows", "noticed", "refused", "error reply", "grows faster than linear"}, verdict):
		return "mixed"
	case slices.Contains([]string{"not-testable-here", "unsupported", "*", ""}, verdict):
		return ""
	}
	return "bad"
}

// Truncate cuts a text that is longer than most characters.
func Truncate(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// distinct lists what the elements have, each value once.
func distinct[L any](lines []L, of func(L) string) []string {
	var out []string
	for _, l := range lines {
		if value := of(l); !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}
