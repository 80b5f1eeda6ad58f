package view

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
	"github.com/pipebench/pipebench/results"
)

// A Table is rows of text under named columns, which can be written in every format but bench.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string // each as long as Columns

	base map[int][]string // of rows that programs read otherwise, by index
}

// A Column is the head of a column.
type Column struct {
	Title  string
	Base   string // the title with the unit that programs read, "" if it is Title
	Right  bool   // numbers stand to the right
	Detail bool   // left out where a person reads it: in text and markdown
	Page   bool   // left out everywhere but on a page
	Style  Style
	Width  int // at which a cell's words go on in its next line, in text; 0 is 44
}

// Columns makes columns of titles, each with a sign before it for each thing that is special: ">"
// aligns it to the right, "+" makes it a detail, "@" shows it on pages alone; "`" is the style
// [Code], "~" [Long], "!" [Verdict], "_" [Below]. What follows "|" is the title for programs.
func Columns(titles ...string) []Column {
	out := make([]Column, len(titles))
	for i, t := range titles {
		title := strings.TrimLeft(t, ">+@`~!_")
		c := &out[i]
		c.Title, c.Base, _ = strings.Cut(title, "|")
		for _, sign := range strings.TrimSuffix(t, title) {
			switch sign {
			case '>':
				c.Right = true
			case '+':
				c.Detail = true
			case '@':
				c.Page = true
			default:
				c.Style = map[rune]Style{'`': Code, '~': Long, '!': Verdict, '_': Below}[sign]
			}
		}
	}
	return out
}

// Append adds a row.
func (t *Table) Append(row ...string) { t.Rows = append(t.Rows, row) }

// A Cell is a figure as a person reads it, and in base units as a program does. The zero value is a
// figure that is not known.
type Cell struct{ Text, Base string }

// AppendCells adds a row of figures.
func (t *Table) AppendCells(cells ...Cell) {
	var texts, base []string
	for _, c := range cells {
		texts, base = append(texts, orDash(c.Text)), append(base, c.Base)
	}
	if t.base == nil {
		t.base = make(map[int][]string)
	}
	t.base[len(t.Rows)] = base
	t.Append(texts...)
}

// inBase returns the table as programs read it.
func (t Table) inBase() Table {
	t.Columns, t.Rows = slices.Clone(t.Columns), slices.Clone(t.Rows)
	for i, c := range t.Columns {
		t.Columns[i].Title = cmp.Or(c.Base, c.Title)
	}
	for i, row := range t.base {
		t.Rows[i] = row
	}
	return t
}

func textCell(s string) Cell { return Cell{s, s} }

func bytesCell(n int64) Cell { return Cell{results.FormatSize(n), strconv.FormatInt(n, 10)} }

func figureCell(v float64, shown string) Cell {
	return Cell{shown, strconv.FormatFloat(v, 'f', -1, 64)}
}

// Write writes the table: as text for a terminal, as markdown with its title in bold, as CSV
// without the title, or as a JSON array of objects.
func (t Table) Write(w io.Writer, format Format) error {
	t = t.without(func(i int) bool { return t.Columns[i].Page })
	switch format {
	case FormatTable:
		return t.without(func(i int) bool { return t.Columns[i].Detail }).writeText(w)
	case FormatMarkdown:
		return t.without(func(i int) bool { return t.Columns[i].Detail }).writeMarkdown(w)
	case FormatCSV:
		return t.inBase().writeCSV(w)
	case FormatJSON:
		return writeIndented(w, t.objects())
	}
	return fmt.Errorf("a table cannot be written as %s", format)
}

func (t Table) writeText(w io.Writer) error {
	return t.render(w, renderer.NewBlueprint(tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(tw.StyleLight),
		Settings: tw.Settings{
			Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.On},
			Lines:      tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: tw.On},
		},
	}), strings.Join(wrap(t.Title, titleWidth), "\n"), func(c Column, s string) string { return strings.Join(wrap(s, cmp.Or(c.Width, cellWidth)), "\n") })
}

// titleWidth is the width that the title of a table is wrapped at.
const titleWidth = 120

// cellWidth is a column's Width where it has none of its own.
const cellWidth = 44

func (t Table) writeMarkdown(w io.Writer) error {
	title := t.Title
	if title != "" {
		title = "**" + title + "**\n"
	}
	return t.render(w, renderer.NewMarkdown(), title, escapeMarkdown)
}

// escapeMarkdown keeps a cell's text one cell.
func escapeMarkdown(_ Column, s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

// render writes the title and the table without the blanks that tablewriter leaves at line ends.
func (t Table) render(w io.Writer, r tw.Renderer, title string, escape func(Column, string) string) error {
	var text strings.Builder
	if title != "" {
		text.WriteString(title + "\n")
	}
	align := make([]tw.Align, len(t.Columns))
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		align[i] = map[bool]tw.Align{false: tw.AlignLeft, true: tw.AlignRight}[c.Right]
		header[i] = escape(c, c.Title)
	}
	table := tablewriter.NewTable(&text,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}))
	table.Header(header)
	for _, row := range t.Rows {
		escaped := make([]string, len(row))
		for i, s := range row {
			escaped[i] = escape(t.Columns[i], s)
		}
		if err := table.Append(escaped); err != nil {
			return fmt.Errorf("table %q: %w", t.Title, err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("table %q: %w", t.Title, err)
	}
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

func (t Table) titles() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Title
	}
	return out
}

func (t Table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.WriteAll(append([][]string{t.titles()}, t.Rows...)); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// objects returns the rows by the titles of the columns.
func (t Table) objects() []map[string]string {
	t = t.inBase()
	objects := make([]map[string]string, 0, len(t.Rows))
	for _, row := range t.Rows {
		o := make(map[string]string)
		for i, c := range t.Columns {
			o[c.Title] = row[i]
		}
		objects = append(objects, o)
	}
	return objects
}

func writeIndented(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// dropEmpty leaves out the columns that say nothing in any row.
func (t Table) dropEmpty() Table {
	return t.without(func(i int) bool {
		return !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != "" && row[i] != "-" })
	})
}

// without leaves out columns.
func (t Table) without(drop func(i int) bool) Table {
	kept := Table{Title: t.Title, Rows: make([][]string, len(t.Rows)), base: make(map[int][]string)}
	for i, c := range t.Columns {
		if drop(i) {
			continue
		}
		kept.Columns = append(kept.Columns, c)
		for r, row := range t.Rows {
			kept.Rows[r] = append(kept.Rows[r], row[i])
			if base, ok := t.base[r]; ok {
				kept.base[r] = append(kept.base[r], base[i])
			}
		}
	}
	return kept
}

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
