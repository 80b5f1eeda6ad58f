package view

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Table is rows of cells under named columns, which can be written in every format but bench.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell // each as long as Columns
}

// A Cell is a figure as a person reads it, and in base units as a program does. The zero value is a
// figure that is not known.
type Cell struct {
	Text, Base string
	How        string // how it was found, which a page shows where one points at it
}

// A Column is the head of a column.
type Column struct {
	Title string
	Base  string // the title with the unit that programs read, "" if it is Title

	signs string // what is special of it, see [Columns]
}

// Columns makes columns of titles, each with a sign before it for each thing that is special: ">"
// aligns it to the right, "+" makes it a detail, which text and markdown leave out, "@" shows it on
// pages alone, "#" in CSV and JSON alone, "?" where the screen has room, the last one first to go, or
// below where all is shown.
// A page shows cells of "`" as what is typed somewhere, of "~" as texts that need room and may be
// broken anywhere, of "!" as verdicts, coloured by what they mean for a person, and of "_" as
// warnings, each in a line of its own below the row. What follows "|" is the title for programs.
func Columns(titles ...string) []Column {
	return stat.Map(titles, func(t string) Column {
		title := strings.TrimLeft(t, ">+@#?`~!_")
		c := Column{signs: strings.TrimSuffix(t, title)}
		c.Title, c.Base, _ = strings.Cut(title, "|")
		return c
	})
}

// is reports whether a column has one of the signs.
func (c Column) is(signs string) bool { return strings.ContainsAny(c.signs, signs) }

// Append adds a row of texts.
func (t *Table) Append(row ...string) { t.AppendCells(stat.Map(row, textCell)...) }

// AppendCells adds a row of figures.
func (t *Table) AppendCells(row ...Cell) {
	for i := range row {
		row[i].Text = orDash(row[i].Text)
	}
	t.Rows = append(t.Rows, row)
}

func textCell(s string) Cell { return Cell{Text: s, Base: s} }

func bytesCell(n int64) Cell {
	return Cell{Text: results.FormatSize(n), Base: strconv.FormatInt(n, 10)}
}

func nanosCell(ns float64) Cell { return figureCell(ns, results.FormatDuration(ns)) }

func figureCell(v float64, shown string) Cell {
	return Cell{Text: shown, Base: strconv.FormatFloat(v, 'f', -1, 64)}
}

// when returns what is shown if that is known or applies, else the zero value.
func when[T any](is bool, shown T) (none T) {
	if is {
		return shown
	}
	return none
}

// verdictCell shows a verdict in words; programs read it as it is in the file.
func verdictCell(verdict string) Cell { return Cell{Text: VerdictText(verdict), Base: verdict} }

// A columnOf is a column of a table of lines: its head, as [Columns] takes it, and its cells.
type columnOf[L any] struct {
	head string
	cell func(L) Cell
}

// textColumn is one of texts, which programs read as people do.
func textColumn[L any](head string, text func(L) string) columnOf[L] {
	return columnOf[L]{head, func(l L) Cell { return textCell(text(l)) }}
}

// tableOf lays lines out in columns, a row each.
func tableOf[L any](title string, lines []L, columns ...columnOf[L]) Table {
	heads := stat.Map(columns, func(c columnOf[L]) string { return c.head })
	t := Table{Title: title, Columns: Columns(heads...)}
	for _, l := range lines {
		t.AppendCells(stat.Map(columns, func(c columnOf[L]) Cell { return c.cell(l) })...)
	}
	return t
}

// Write writes the table: as text for a terminal, as wide as o allows, as markdown with its title in
// bold, as CSV without the title, or as a JSON array of objects.
func (t Table) Write(w io.Writer, format Format, o Options) error {
	switch format {
	case FormatTable:
		blueprint := renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: tw.On},
			},
		})
		for i, part := range t.without("@+#").fit(o.width(), o.Detail) {
			title := when(i == 0, strings.Join(wrap(Escape(t.Title), o.width()), "\n"))
			part.Title = when(i > 0, "\n") + when(title != "", title+"\n")
			if err := part.render(w, blueprint); err != nil {
				return err
			}
		}
		return nil
	case FormatMarkdown:
		oneCell := strings.NewReplacer("|", `\|`, "\n", " ")
		t = t.without("@+#").texts(func(_ int, s string) string { return oneCell.Replace(s) })
		t.Title = when(t.Title != "", "**"+Escape(t.Title)+"**\n\n")
		return t.render(w, renderer.NewMarkdown())
	case FormatCSV:
		return failedTo("write CSV", csv.NewWriter(w).WriteAll(t.data()))
	case FormatJSON:
		return WriteJSON(w, t.objects())
	}
	return fmt.Errorf("a table cannot be written as %s", format)
}

var trailingBlanks = regexp.MustCompile(`(?m) +$`)

// render writes the title and the table without the blanks that tablewriter leaves at line ends.
func (t Table) render(w io.Writer, r tw.Renderer) error {
	text := bytes.NewBufferString(t.Title)
	align := tw.CellAlignment{PerColumn: stat.Map(t.Columns, func(c Column) tw.Align {
		return map[bool]tw.Align{false: tw.AlignLeft, true: tw.AlignRight}[c.is(">")]
	})}
	table := tablewriter.NewTable(text,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(align),
		tablewriter.WithRowAlignmentConfig(align))
	table.Header(stat.Map(t.Columns, func(c Column) string { return c.Title }))
	err := table.Bulk(stat.Map(t.Rows, func(row []Cell) []string {
		return stat.Map(row, func(c Cell) string { return c.Text })
	}))
	if err := errors.Join(err, table.Render()); err != nil {
		return fmt.Errorf("table %q: %w", t.Title, err)
	}
	_, err = io.WriteString(w, trailingBlanks.ReplaceAllString(text.String(), ""))
	return err
}

// texts writes each title and text anew, which is escaped before, with the number of its column.
func (t Table) texts(write func(column int, text string) string) Table {
	out := Table{Title: t.Title, Columns: slices.Clone(t.Columns)}
	for i := range out.Columns {
		out.Columns[i].Title = write(i, Escape(out.Columns[i].Title))
	}
	for _, row := range t.Rows {
		row = slices.Clone(row)
		for i := range row {
			row[i].Text = write(i, Escape(row[i].Text))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Words of a column that is one of many keep as many characters on a line: sentences that they can be
// read, and what is spared for their sake that they need few lines.
const (
	leastWidth = 10
	easyWidth  = 44
)

// An extent is how wide the texts of a column are, how narrow they may become, and the widest word.
type extent struct{ natural, least, word int }

// extents measures the columns.
func (t Table) extents() []extent {
	out := make([]extent, len(t.Columns))
	heads := make([]bool, len(t.Columns)) // which were read
	t.texts(func(i int, text string) string {
		c, e, n := t.Columns[i], &out[i], utf8.RuneCountInString(text)
		e.natural = max(e.natural, n)
		if c.is(">") && !c.is("~") && heads[i] { // a figure stays whole
			e.least = max(e.least, n)
		}
		heads[i] = true
		if !c.is("~") {
			for _, word := range WrapText(text, func(string) bool { return false }) {
				e.word = max(e.word, utf8.RuneCountInString(word))
			}
		}
		return text
	})
	for i := range out {
		e := &out[i]
		floor := map[bool]int{true: easyWidth / 3, false: leastWidth}[t.Columns[i].is("~")]
		e.least = min(e.natural, max(e.least, e.word, floor))
	}
	return out
}

// spared lists the columns that have no room in a width, of those that can be spared the last first.
func (t Table) spared(extents []extent, width int, all bool) []int {
	room := func(i int) int { // that a column is to have beside the others
		e, easy := extents[i], map[bool]int{true: leastWidth, false: easyWidth}[all]
		return 2 + max(e.least, min(e.natural, easy))
	}
	taken, spared := 0, []int{}
	for i, c := range t.Columns {
		taken += room(i)
		if c.is("?") {
			spared = append(spared, i)
		}
	}
	kept := len(spared)
	for ; kept > 0 && taken > width; kept-- {
		taken -= room(spared[kept-1])
	}
	if all && kept == 0 && len(spared) > 0 {
		kept = 1 // so that each table tells something
	}
	return spared[kept:]
}

// narrow takes from the widest of the columns that are kept until they fit a width, and returns the
// widths of all. First each keeps what it needs, then its words alone: figures are broken before their
// intervals.
func narrow(extents []extent, kept func(int) bool, width int) []int {
	widths := stat.Map(extents, func(e extent) int { return e.natural })
	wide := 0
	for i, n := range widths {
		wide += when(kept(i), n+2)
	}
	for _, least := range []func(extent) int{
		func(e extent) int { return e.least },
		func(e extent) int { return e.word },
	} {
		for ; wide > width; wide-- {
			widest := -1
			for i, n := range widths {
				if kept(i) && n > least(extents[i]) && (widest < 0 || n > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

// fit makes a table as narrow as a screen, if it can: without columns that can be spared, the last
// of them first, and then with more lines for the widest words. With all, what was spared stands in
// tables below, beside the columns that cannot be spared.
func (t Table) fit(width int, all bool) []Table {
	extents := t.extents()
	left := t.spared(extents, width, all)
	kept := func(i int) bool { return !slices.Contains(left, i) }
	widths := narrow(extents, kept, width)
	wrapped := t.texts(func(i int, text string) string {
		lines := wrap(text, widths[i])
		if t.Columns[i].is("~") {
			lines = slices.Concat(stat.Map(lines, func(line string) []string { return broken(line, widths[i]) })...)
		}
		return strings.Join(lines, "\n")
	})
	out := []Table{wrapped.only(kept)}
	if all && len(left) > 0 {
		rest := t.only(func(i int) bool { return !t.Columns[i].is("?") || slices.Contains(left, i) })
		out = append(out, rest.fit(width, all)...)
	}
	return out
}

// broken breaks a line of one long word.
func broken(line string, width int) (out []string) {
	for part := range slices.Chunk([]rune(line), max(1, width)) {
		out = append(out, string(part))
	}
	return out
}

// data returns the table as programs read it: the titles of the columns, then the rows.
func (t Table) data() [][]string {
	t = t.without("@")
	out := [][]string{stat.Map(t.Columns, func(c Column) string { return cmp.Or(c.Base, c.Title) })}
	for _, row := range t.Rows {
		out = append(out, stat.Map(row, func(c Cell) string { return Escape(c.Base) }))
	}
	return out
}

// objects returns the rows by the titles of the columns.
func (t Table) objects() []map[string]string {
	rows := t.data()
	objects := make([]map[string]string, 0, len(rows))
	for _, row := range rows[1:] {
		o := make(map[string]string)
		for i, title := range rows[0] {
			o[title] = row[i]
		}
		objects = append(objects, o)
	}
	return objects
}

// WriteJSON writes a value as JSON, with escapes for what could steer a terminal that shows it.
func WriteJSON(w io.Writer, v any) error {
	var text strings.Builder
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err := out.Encode(v)
	if err == nil {
		// evidence is kept as its text, which may have bytes that are no UTF-8
		valid := strings.ToValidUTF8(text.String(), "\ufffd")
		escaped := Escape(strings.ReplaceAll(valid, "\x7f", `\u007f`)) // the encoder escapes the other ones of ASCII
		_, err = io.WriteString(w, escaped)
	}
	return failedTo("write JSON", err)
}

// failedTo says of an error what was to be done.
func failedTo(do string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", do, err)
	}
	return nil
}

func (t Table) hasRows() bool { return len(t.Rows) > 0 }

// dropEmpty leaves out the columns that say nothing in any row.
func (t Table) dropEmpty() Table {
	return t.only(func(i int) bool {
		return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].Text != "-" })
	})
}

// without leaves out the columns with one of the signs.
func (t Table) without(signs string) Table {
	return t.only(func(i int) bool { return !t.Columns[i].is(signs) })
}

// only keeps columns, by their number.
func (t Table) only(keep func(int) bool) Table {
	kept := Table{Title: t.Title, Rows: make([][]Cell, len(t.Rows))}
	for i, c := range t.Columns {
		if !keep(i) {
			continue
		}
		kept.Columns = append(kept.Columns, c)
		for r, row := range t.Rows {
			kept.Rows[r] = append(kept.Rows[r], row[i])
		}
	}
	return kept
}

// maxCellText is the number of characters of a cell that a page shows: a page is for reading, the
// file has the rest.
const maxCellText = 1000

//go:embed table.html
var tableText string

var tableTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("table").Funcs(template.FuncMap{
		"text":  func(c Cell) string { return Truncate(strings.TrimPrefix(c.Text, "-"), maxCellText) },
		"class": Column.class,
		"is":    Column.is,
		"base":  func(c Cell) string { return when(c.Base != c.Text, c.Base) }, // what a table is sorted by
	}).Parse(tableText))
})

// class returns the classes of a cell: its style or what its verdict means, and its alignment.
func (c Column) class(cell Cell) string {
	right := when(c.is(">"), "right")
	switch {
	case c.is("!"):
		class, known := words().VerdictClasses[strings.TrimPrefix(cell.Text, "-")]
		return strings.TrimSpace(class + when(!known, "bad") + " " + right)
	case c.is("`"):
		return "code"
	case c.is("~"):
		return "long"
	}
	return right
}

// HTML returns the table as an element of a page, without the columns that are empty in all rows.
// The page's own style sheet decides what its classes look like: code, long, right, and good, bad
// and mixed for verdicts. Texts are escaped, and cut where they are very long.
func (t Table) HTML() (template.HTML, error) {
	t = t.without("#").dropEmpty()
	page := struct {
		Table
		Width int
	}{t, len(stat.Filter(t.Columns, func(c Column) bool { return !c.is("_") }))}
	var out strings.Builder
	err := tableTemplate().Execute(&out, page)
	return template.HTML(out.String()), err // the template escapes every text
}
