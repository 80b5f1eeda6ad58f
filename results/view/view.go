// Package view shows results: as tables and sentences for a terminal or a pull request, as CSV and
// JSON for programs, and as Go benchmark text for benchstat.
//
//	set, err := results.Read("pipebench-out/results.jsonl")
//	if err != nil {
//		return err
//	}
//	return view.Write(os.Stdout, set, view.FormatTable, view.Options{})
//
// [Write] shows a set of any kinds of records, [WriteComparison] a comparison, and a [Table]
// whatever rows a command has. A view shows nothing that is not in the file.
//
// Functions do not keep or change what they are given, and may run at the same time as long as
// nobody writes to it. The wording and layout of tables and sentences may change with any version;
// scripts read the file, CSV, JSON or Go benchmark text instead.
package view

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Format is a way to write a view.
type Format string

// The formats of every view.
const (
	FormatTable    Format = "table"    // for a terminal, 100 columns at most
	FormatMarkdown Format = "markdown" // for a pull request
	FormatCSV      Format = "csv"      // one row a cell, figures in base units
	FormatJSON     Format = "json"     // the same, with what it means
	FormatBench    Format = "bench"    // Go benchmark text, a line a sample, for benchstat
)

// FormatJUnit is of [WriteChecks] alone: XML with a test case for each check, as CI systems read it.
const FormatJUnit Format = "junit"

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

// Options change how a view is written. The zero value is what a person at a terminal wants.
type Options struct {
	Detail bool // of measurements the tables with all figures, instead of what fits a screen
	Width  int  // columns of the terminal; 0, or more than 100, is 100
	Colour bool // mark what is good and what is bad by colours
}

// ErrNothing is returned by a view when there is nothing to show. Nothing measured is never a
// success.
var ErrNothing = errors.New("nothing to show: no measurement and no finding in it")

// Write writes what the set holds: its measurements, with what they mean, and its findings (probes,
// faults, claims, targets, checks, tunes and noise). A set without any is [ErrNothing]. CSV and bench hold
// the measurements alone where there are any.
func Write(w io.Writer, s *results.Set, format Format, o Options) error {
	all := []Table{ // of what there is beside measurements
		environmentTable(s), faultTable(s), claimTable(s), targetTable(s), checkTable(s), tuneTable(s), noiseTable(s), messageTable(s),
	}
	all = append(findingTables(s), all...)
	found := stat.Map(stat.Filter(all, Table.hasRows), Table.dropEmpty)
	if len(s.Records) == 0 && len(found) == 0 {
		return ErrNothing
	}
	switch format {
	case FormatCSV:
		if len(s.Records) > 0 {
			found = []Table{figureTable(Summarise(s))}
		}
		return Page{Tables: found}.Write(w, format, o)
	case FormatJSON:
		return WriteJSON(w, setJSON{Summarise(s), s})
	case FormatBench:
		return WriteBench(w, s)
	}
	if o.Detail || format != FormatTable || len(s.Records) == 0 {
		sum, refs := Summarise(s), footnotes{}
		p := Page{Header: headers(s.Environments), Conclusions: sum.Meaning}
		p.Tables = append(cellTables(sum.Rows, &refs), found...)
		p.Notes = append(sum.Notes, refs.texts()...)
		return p.Write(w, format, o)
	}
	p := screenPage(s, o)
	p.Tables = found
	return p.Write(w, format, o)
}

// A Page is a view for people: lines before, tables, sentences and footnotes.
type Page struct {
	Header      []string
	Blocks      []string // lines that are laid out already, for a terminal
	Tables      []Table
	Conclusions []string // in plain sentences
	Notes       []string // what has to be known to read the tables
}

// headline puts a verdict first, in its colour at a terminal, and below it what it is about.
func (p *Page) headline(format Format, o Options, colour, verdict, about string) {
	if p.Header = nonEmpty([]string{verdict, about}); format == FormatTable {
		p.Header = nil
		for _, line := range o.wrap([]string{Escape(verdict)}) {
			p.Blocks = append(p.Blocks, o.paint(line, colour))
		}
		p.Blocks = append(p.Blocks, o.wrap(nonEmpty([]string{Escape(about)}))...)
	}
}

// passColour is that of a headline which says whether something passed.
func passColour(passed bool) string { return map[bool]string{true: green, false: red}[passed] }

// Write writes the page as text or markdown. CSV is the tables alone, and so is JSON, as an object
// by the tables' titles; bench is an error.
func (p Page) Write(w io.Writer, format Format, o Options) error {
	var text strings.Builder
	switch format {
	case FormatTable, FormatMarkdown:
		if err := p.writeText(&text, format, o); err != nil {
			return err
		}
	case FormatCSV:
		for i, t := range p.Tables {
			text.WriteString(when(i > 0, "\n"))
			if err := t.Write(&text, format, o); err != nil {
				return err
			}
		}
	case FormatJSON:
		tables := make(map[string][]map[string]string)
		for _, t := range p.Tables {
			tables[t.Title] = t.objects()
		}
		return WriteJSON(w, tables)
	default:
		if _, err := ParseFormat(string(format)); err != nil {
			return err
		}
		return fmt.Errorf("a page cannot be written as %s", format)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeText writes the page for a person: its parts with an empty line between them.
func (p Page) writeText(text *strings.Builder, format Format, o Options) error {
	bullet, header, sentences, notes := "- ", p.Header, []string{strings.Join(p.Conclusions, " ")}, p.Notes
	if format == FormatTable {
		bullet, header, sentences, notes = "", o.wrap(p.Header), o.wrap(p.Conclusions), o.wrap(p.Notes)
	}
	block := func(lines []string, bullet string) {
		lines = nonEmpty(lines)
		text.WriteString(when(text.Len() > 0 && len(lines) > 0, "\n"))
		for _, l := range lines {
			text.WriteString(bullet + strings.ReplaceAll(Escape(l), "\n", " ") + "\n")
		}
	}
	block(header, bullet)
	for _, line := range p.Blocks {
		text.WriteString(line + "\n")
	}
	for _, t := range p.Tables {
		text.WriteString(when(text.Len() > 0, "\n"))
		if err := t.Write(text, format, o); err != nil {
			return err
		}
	}
	block(sentences, "")
	block(notes, bullet)
	return nil
}

// footnotes are texts that stand once below the tables, under a number.
type footnotes []string

// number returns that of a text, a new one for a text that has none.
func (f *footnotes) number(text string) int {
	at := slices.Index(*f, text)
	if at < 0 {
		at = len(*f)
		*f = append(*f, text)
	}
	return at + 1
}

func (f footnotes) texts() []string {
	var out []string
	for i, text := range f {
		out = append(out, fmt.Sprintf("[%d] %s", i+1, text))
	}
	return out
}

// refs returns "[1,3]" for the warnings of a row, "" for none. A page has the warnings below the
// row, and no footnotes.
func (f *footnotes) refs(r stat.Row) string {
	if f == nil {
		return ""
	}
	numbers := stat.Map(rowWarnings(r), func(w string) string { return fmt.Sprint(f.number(w)) })
	return when(len(numbers) > 0, " ["+strings.Join(numbers, ",")+"]")
}

// rowWarnings returns all that is to be said of a row below the table.
func rowWarnings(r stat.Row) []string {
	unsupported := when(r.Unsupported != "", "unsupported: "+r.Unsupported)
	failed := when(r.Failed != "", "failed: "+r.Failed)
	return append(nonEmpty([]string{unsupported, failed}), r.Warnings...)
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
	sum := Summary{Environments: append([]results.Environment{}, s.Environments...), Rows: append([]stat.Row{}, stat.Rows(s)...)} // never null
	sum.Warnings = shareWarnings(sum.Rows)
	sum.Meaning = runAnswer(sum.Rows)
	if len(sum.Meaning) == 0 {
		sum.Meaning = conclusions(sum.Rows)
	}
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

// setJSON is the summary and the findings as one object.
type setJSON struct {
	Summary
	*results.Set
}

// WriteBench writes the set's samples as Go benchmark text, a line each, which benchstat reads as
// it is. An error other than the writer's is [ErrNothing].
func WriteBench(w io.Writer, s *results.Set) error {
	var lines []benchfmt.Record
	for _, r := range s.Records {
		e, _ := s.Environment(r.Run)
		var config []benchfmt.Config // what go test prints too, and no more: benchstat compares only what agrees in all of it
		for _, c := range [][2]string{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
			if c[1] != "" {
				oneLine := strings.Join(strings.Fields(Escape(c[1])), " ")
				// without File the writer drops it
				config = append(config, benchfmt.Config{Key: c[0], Value: []byte(oneLine), File: true})
			}
		}
		name := benchfmt.Name(stat.BenchName(r.Cell))
		for _, line := range stat.BenchLines(r) {
			lines = append(lines, &benchfmt.Result{
				Config: config, Name: name, Iters: int(line.Iters), Values: line.Values,
			})
		}
	}
	if len(lines) == 0 {
		return ErrNothing
	}
	if _, err := io.WriteString(w, strings.Join(stat.BenchUnits(), "\n")+"\n"); err != nil {
		return failedTo("write benchmark text", err)
	}
	return writeBenchLines(w, lines)
}

// writeBenchLines writes lines of benchmark text.
func writeBenchLines(w io.Writer, lines []benchfmt.Record) error {
	out := benchfmt.NewWriter(w)
	for _, line := range lines {
		if err := out.Write(line); err != nil {
			return failedTo("write benchmark text", err)
		}
	}
	return nil
}
