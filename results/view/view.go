package view

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Format is a way to write a view.
type Format string

// The formats of every view.
const (
	FormatTable    Format = "table"    // for a terminal, 120 columns at most
	FormatMarkdown Format = "markdown" // for a pull request
	FormatCSV      Format = "csv"      // one row a cell, figures in base units
	FormatJSON     Format = "json"     // the same, with what it means
	FormatBench    Format = "bench"    // Go benchmark text, a line a sample, for benchstat
)

// Formats lists the formats in the order of their documentation.
func Formats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatCSV, FormatJSON, FormatBench}
}

// ParseFormat reads the name of a format, or names those there are.
func ParseFormat(name string) (Format, error) {
	if slices.Contains(Formats(), Format(name)) {
		return Format(name), nil
	}
	return "", fmt.Errorf("format %q is not known; known are table, markdown, csv, json and bench", name)
}

// ViewOptions change how a view is written. The zero value is what a person at a terminal wants.
type Options struct {
	NoHeader bool // leave out the environment: it was shown before
	ASCII    bool // in tables and markdown, write no character beyond ASCII
}

// ErrNothing is returned by a view when there is nothing to show. Nothing measured is never a
// success.
var ErrNothing = errors.New("nothing to show: no measurement and no finding in it")

// Write writes what the set holds: its measurements, with what they mean, and its findings (probes,
// faults, claims, targets, tunes and noise). A set without any is [ErrNothing]. CSV and bench hold
// the measurements alone where there are any.
func Write(w io.Writer, s *results.Set, format Format, o Options) error {
	if len(s.Records) == 0 && len(findings(s)) == 0 {
		return ErrNothing
	}
	switch format {
	case FormatTable, FormatMarkdown:
		return writeText(w, format, o, setPage(s, o))
	case FormatCSV:
		return writeSetCSV(w, s)
	case FormatJSON:
		return writeSetJSON(w, s)
	case FormatBench:
		return WriteBench(w, s)
	}
	_, err := ParseFormat(string(format))
	return err
}

// A Page is a view for people: lines before, tables, sentences and footnotes.
type Page struct {
	Header      []string
	Tables      []Table
	Conclusions []string // in plain sentences
	Notes       []string // what has to be known to read the tables
}

// Write writes the page as text or markdown. CSV is the tables alone, and so is JSON, as an object
// by the tables' titles; bench is an error.
func (p Page) Write(w io.Writer, format Format) error {
	switch format {
	case FormatTable, FormatMarkdown:
		return writeText(w, format, Options{}, p)
	case FormatCSV:
		return writeTablesCSV(w, p.Tables)
	case FormatJSON:
		tables := make(map[string][]map[string]string)
		for _, t := range p.Tables {
			tables[t.Title] = t.objects()
		}
		return writeIndented(w, tables)
	}
	return fmt.Errorf("a page cannot be written as %s", format)
}

func setPage(s *results.Set, o Options) Page {
	var p Page
	sum := Summarise(s)
	if !o.NoHeader {
		p.Header = headers(s.Environments)
	}
	footnoteRefs := newFootnoteRefs(sum.Rows)
	p.Tables = append(cellTables(sum.Rows, footnoteRefs), findings(s)...)
	p.Conclusions = sum.Meaning
	p.Notes = append(sum.Notes, footnoteRefs.texts()...)
	return p
}

// writeText writes a page as text or markdown.
func writeText(w io.Writer, format Format, o Options, p Page) error {
	var text strings.Builder
	bullet := ""
	if format == FormatMarkdown {
		bullet = "- "
	}
	block := func(lines []string, bullet string) {
		for _, l := range lines {
			text.WriteString(bullet + l + "\n")
		}
		if len(lines) > 0 {
			text.WriteString("\n")
		}
	}
	block(p.Header, bullet)
	for _, t := range p.Tables {
		if err := t.Write(&text, format); err != nil {
			return err
		}
		text.WriteString("\n")
	}
	if format == FormatTable {
		block(Wrap(p.Conclusions), "")
		block(Wrap(p.Notes), "")
	} else {
		block([]string{strings.Join(p.Conclusions, " ")}, "")
		block(p.Notes, bullet)
	}
	out := strings.TrimRight(text.String(), "\n") + "\n"
	if o.ASCII {
		out = asASCII.Replace(out)
	}
	_, err := io.WriteString(w, out)
	return err
}

// asASCII spells what the views use beyond ASCII.
var asASCII = strings.NewReplacer("±", "+-", "µ", "u", "÷", "/", "×", "x", "─", "-", "│", "|", "┼", "+", "∞", "inf", "–", "-", "…", "...")

// pageWidth is the width that text is wrapped at.
const pageWidth = 110

// Wrap breaks lines of text at 110 columns between words; what follows the first part is indented.
func Wrap(lines []string) []string {
	var out []string
	for _, line := range lines {
		for i, part := range wrap(line, pageWidth) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, part)
		}
	}
	return out
}

// wrap breaks a line between words so that each part is at most width wide; a longer word is broken
// behind slashes, as the names of benchmarks have them, or stays whole.
func wrap(line string, width int) []string {
	var out []string
	for _, word := range strings.Fields(line) {
		between := " "
		for _, part := range breakable(word, width) {
			last := len(out) - 1
			if last >= 0 && utf8.RuneCountInString(out[last]+between+part) <= width {
				out[last] += between + part
			} else {
				out = append(out, part)
			}
			between = ""
		}
	}
	return out
}

func breakable(word string, width int) []string {
	if utf8.RuneCountInString(word) <= width {
		return []string{word}
	}
	return slices.DeleteFunc(strings.SplitAfter(word, "/"), func(part string) bool { return part == "" })
}

// footnoteRefs number the warnings of rows, so that each stands once below the table.
type footnoteRefs struct{ all []string }

func newFootnoteRefs(rows []stat.Row) *footnoteRefs {
	m := &footnoteRefs{}
	for _, r := range rows {
		for _, w := range rowWarnings(r) {
			if !slices.Contains(m.all, w) {
				m.all = append(m.all, w)
			}
		}
	}
	return m
}

// rowWarnings are all that is to be said of a row below the table.
func rowWarnings(r stat.Row) []string {
	var out []string
	if r.Unsupported != "" {
		out = append(out, "unsupported: "+r.Unsupported)
	}
	if r.Failed != "" {
		out = append(out, "failed: "+r.Failed)
	}
	return append(out, r.Warnings...)
}

// of is "[1,3]" for a row's warnings, "" for none.
func (m *footnoteRefs) of(r stat.Row) string {
	if m == nil { // a page has the warnings below the row
		return ""
	}
	var numbers []string
	for _, w := range rowWarnings(r) {
		numbers = append(numbers, fmt.Sprint(slices.Index(m.all, w)+1))
	}
	if len(numbers) == 0 {
		return ""
	}
	return " [" + strings.Join(numbers, ",") + "]"
}

func (m *footnoteRefs) texts() []string {
	var out []string
	for i, w := range m.all {
		out = append(out, fmt.Sprintf("[%d] %s", i+1, w))
	}
	return out
}

// A Summary is what the records of a set say, figure by figure and in words: the one view that all
// formats show.
type Summary struct {
	Environments []results.Environment `json:"environments"`
	Rows         []stat.Row            `json:"rows"`
	Meaning      []string              `json:"meaning,omitempty"` // what it means for the person, in plain sentences
	Notes        []string              `json:"notes,omitempty"`   // what has to be known to read the figures

	// Warnings are those that every measured row has, of which there are two at least. The rows do
	// not repeat them; the notes have them too.
	Warnings []string `json:"warnings,omitempty"`
}

// Summarise works out the figures of every cell of the set.
func Summarise(s *results.Set) Summary {
	sum := Summary{Environments: s.Environments, Rows: stat.Rows(s)}
	sum.Warnings = shareWarnings(sum.Rows)
	sum.Meaning = conclusions(sum.Rows)
	sum.Notes = notes(s, sum.Rows)
	for _, w := range sum.Warnings {
		sum.Notes = append(sum.Notes, "every cell: "+w)
	}
	return sum
}

// shareWarnings takes out of the rows what all that were measured are warned of.
func shareWarnings(rows []stat.Row) []string {
	measured := stat.Filter(rows, func(r stat.Row) bool { return r.Samples > 0 })
	if len(measured) < 2 {
		return nil
	}
	shared := stat.Filter(measured[0].Warnings, func(w string) bool {
		return !slices.ContainsFunc(measured, func(r stat.Row) bool { return !slices.Contains(r.Warnings, w) })
	})
	for i := range rows {
		rows[i].Warnings = stat.Filter(rows[i].Warnings, func(w string) bool { return !slices.Contains(shared, w) })
	}
	return shared
}
