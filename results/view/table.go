package view

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/pipebench/pipebench/results"
)

// A Table is rows of values under named columns.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Value // each as long as Columns
	Whole   bool      // columns that do not fit always follow in further tables
}

// A Column is the head of a table's column: its title, and how its values are shown.
type Column struct {
	Title  string
	Data   string // the title in CSV, with the unit; "": the same as Title
	Right  bool   // aligned to the right, as figures are
	Detail bool   // left out on a terminal and in Markdown, not in CSV
	Key    bool   // tells rows apart, or is what they are about: is left out last
	Style  Style  // of the column's values on an HTML page
}

// A Style says how an HTML page shows the values of a column.
type Style int

const (
	Plain   Style = iota
	Code          // text that people type, such as a command
	Long          // text that needs room, and may be broken anywhere
	Verdict       // coloured by what it means for a person, see [Tone]
)

// A Value is a figure or a text. People read Text, and programs read Base, which is in base units:
// without it, CSV has an empty cell. The zero Value is a figure that is not known.
type Value struct {
	Text, Base string
	Tone       Tone // what a verdict means for a person
}

// A Tone is what a verdict means for a person.
type Tone string

// The tones. Each is the name of a class on an HTML page.
const (
	Neutral Tone = ""
	Good    Tone = "good"
	Mixed   Tone = "mixed"
	Bad     Tone = "bad"
)

// Append adds a row of texts.
func (t *Table) Append(row ...string) {
	var values []Value
	for _, text := range row {
		values = append(values, textValue(text))
	}
	t.AppendValues(values...)
}

// AppendValues adds a row. It shows a value without a text as a dash, and values that the row
// lacks, too.
func (t *Table) AppendValues(row ...Value) {
	for len(row) < len(t.Columns) {
		row = append(row, Value{})
	}
	for i := range row {
		row[i].Text = cmp.Or(row[i].Text, "-")
	}
	t.Rows = append(t.Rows, row)
}

// textValue returns a value that is the same text for people and for programs.
func textValue(s string) Value { return Value{Text: s, Base: s} }

func countValue(n int64) Value { return textValue(strconv.FormatInt(n, 10)) }

func bytesValue(n int64) Value {
	return Value{Text: results.FormatSize(n), Base: strconv.FormatInt(n, 10)}
}

func nanosValue(ns float64) Value { return figureValue(ns, results.FormatDuration(ns)) }

// figureValue returns a value for a figure in its base unit. The text shown is for people.
func figureValue(v float64, shown string) Value {
	return Value{Text: shown, Base: strconv.FormatFloat(v, 'f', -1, 64)}
}

// verdictValue shows a verdict in words to people, and as it is in the file to programs.
func verdictValue(verdict string) Value {
	return Value{Text: VerdictText(verdict), Base: verdict, Tone: toneOf(verdict)}
}

// Write writes the table as text for a terminal, as markdown, or as CSV, which has no title.
func (t Table) Write(w io.Writer, format Format, o Options) error {
	switch format {
	case FormatTable:
		return t.forScreen().writeText(w, o)
	case FormatMarkdown:
		return t.forScreen().writeMarkdown(w)
	case FormatCSV:
		return failedTo("write CSV", csv.NewWriter(w).WriteAll(t.data()))
	}
	return fmt.Errorf("a table cannot be written as %s", format)
}

// writeText writes the table for a terminal. Columns that do not fit follow in further tables, or
// are named below the table.
func (t Table) writeText(w io.Writer, o Options) error {
	rendition := renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.BorderNone,
		Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off}},
	})
	t, figures := t.withoutFigures(o.Columns())
	parts, dropped := t.fit(o.Columns(), t.Whole || o.Detail)
	dropped = append(figures, dropped...)
	for i, part := range parts {
		part.Title = ""
		if i == 0 && t.Title != "" {
			part.Title = o.Fill(t.Title) + "\n"
		}
		if i > 0 {
			part.Title = "\n"
		}
		if err := part.render(w, rendition, o); err != nil {
			return err
		}
	}
	if len(dropped) == 0 {
		return nil
	}
	note := "columns left out at this width: " + strings.Join(dropped, ", ")
	_, err := fmt.Fprintln(w, o.Wrap(note))
	return err
}

// writeMarkdown writes the table with its title in bold. It changes the texts of t, so t must be a
// copy.
func (t Table) writeMarkdown(w io.Writer) error {
	inCell := strings.NewReplacer("|", `\|`, "\n", " ")
	t.rewrite(func(_ int, text string) string { return inCell.Replace(text) })
	if t.Title != "" {
		t.Title = "**" + t.Title + "**\n\n"
	}
	return t.render(w, renderer.NewMarkdown(), Options{})
}

var trailingBlanks = regexp.MustCompile(`(?m) +$`)

// render writes the title and the table, without the blanks that tablewriter leaves at the ends of
// lines.
func (t Table) render(w io.Writer, r tw.Renderer, o Options) error {
	text := bytes.NewBufferString(t.Title)
	align := tw.MakeAlign(len(t.Columns), tw.AlignLeft)
	for i, c := range t.Columns {
		if c.Right {
			align[i] = tw.AlignRight
		}
	}
	table := tablewriter.NewTable(text,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithAlignment(align))
	var rows [][]string
	for _, row := range t.titled() {
		var texts []string
		for _, v := range row {
			texts = append(texts, o.paint(v.Text, v.Tone))
		}
		rows = append(rows, texts)
	}
	table.Header(rows[0])
	err := table.Bulk(rows[1:])
	if err := errors.Join(err, table.Render()); err != nil {
		return fmt.Errorf("table %q: %w", t.Title, err)
	}
	_, err = io.WriteString(w, trailingBlanks.ReplaceAllString(text.String(), ""))
	return err
}

// titled returns all rows, with the titles of the columns as the first row.
func (t Table) titled() [][]Value {
	var titles []Value
	for _, c := range t.Columns {
		titles = append(titles, Value{Text: c.Title, Base: cmp.Or(c.Data, c.Title)})
	}
	return append([][]Value{titles}, t.Rows...)
}

// data returns what programs read of the table: the titles of the columns, then the rows.
func (t Table) data() [][]string {
	var out [][]string
	for _, row := range t.titled() {
		var values []string
		for _, v := range row {
			values = append(values, Escape(v.Base))
		}
		out = append(out, values)
	}
	return out
}

// WriteJSON writes a value as JSON. It escapes all characters that could control a terminal.
func WriteJSON(w io.Writer, v any) error {
	var text strings.Builder
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return failedTo("write JSON", err)
	}
	// the evidence of a finding is copied from a file, and may have bytes that are not UTF-8
	valid := strings.ToValidUTF8(text.String(), "\ufffd")
	// DEL is the only control character of ASCII that the encoder does not escape
	escaped := Escape(strings.ReplaceAll(valid, "\x7f", `\u007f`))
	_, err := io.WriteString(w, escaped)
	return failedTo("write JSON", err)
}

// failedTo says in an error which action failed, such as "write CSV". err may be nil.
func failedTo(action string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}

func (t Table) hasRows() bool { return len(t.Rows) > 0 }

// dropEmpty returns the table without the columns that have no text in any row.
func (t Table) dropEmpty() Table { return t.withColumns(t.hasText) }

func (t Table) hasText(column int) bool {
	return slices.ContainsFunc(t.Rows, func(row []Value) bool { return row[column].Text != "-" })
}

// forScreen returns an escaped copy of the table for terminals and markdown. Empty columns and
// columns marked as Detail are left out.
func (t Table) forScreen() Table {
	out := t.withColumns(func(i int) bool { return !t.Columns[i].Detail && t.hasText(i) })
	out.Title = Escape(t.Title)
	out.rewrite(func(_ int, text string) string { return Escape(text) })
	return out
}

// rewrite replaces each title and text of the table by the result of change. It does not copy the
// table, so call it only on a copy, such as one that withColumns returned.
func (t Table) rewrite(change func(column int, text string) string) {
	for i := range t.Columns {
		t.Columns[i].Title = change(i, t.Columns[i].Title)
	}
	for _, row := range t.Rows {
		for i := range row {
			row[i].Text = change(i, row[i].Text)
		}
	}
}

// withColumns returns a copy of the table that has only the columns for whose index keep returns
// true.
func (t Table) withColumns(keep func(int) bool) Table {
	kept := Table{Title: t.Title, Whole: t.Whole, Rows: make([][]Value, len(t.Rows))}
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
