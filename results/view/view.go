// Package view shows results: as tables and sentences for people, as CSV and JSON for programs, and
// as Go benchmark text for benchstat.
//
//	set, err := results.Read("pipebench-out/results.jsonl")
//	if err != nil {
//		return err
//	}
//	return view.Write(os.Stdout, set, view.FormatTable, view.Options{})
//
// Functions do not keep or change their arguments, and may run concurrently if nobody else changes
// the arguments. Wording and layout may change with any version, so scripts read CSV, JSON or Go
// benchmark text.
package view

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Format is a way to write a view.
type Format string

// The formats of every view.
const (
	FormatTable    Format = "table"    // for a terminal, at most as wide as that
	FormatMarkdown Format = "markdown" // for a pull request
	FormatCSV      Format = "csv"      // one row per results.Cell, figures in base units
	FormatJSON     Format = "json"     // the same figures, and sentences that explain them
	FormatBench    Format = "bench"    // Go benchmark text for benchstat, one line per sample
)

// FormatJUnit is a format of [WriteFindings] alone: XML with a test case per finding, for CI
// systems.
const FormatJUnit Format = "junit"

// Formats lists the formats in the order of their documentation.
func Formats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatCSV, FormatJSON, FormatBench}
}

// Options change how a view is written. The zero value is what a person at a terminal wants.
type Options struct {
	Detail bool // show tables with all figures, not only what fits a screen
	Width  int  // columns of the terminal; 0 means 80, and at most 100 are used
	Colour bool // show in colours what is good and what is bad
	// File is the file that the set was read from, as a shell takes its name; "" if not known.
	File string
}

const (
	usualScreen  = 80  // columns that any terminal has
	widestScreen = 100 // longer lines are hard to read
)

// Values for parameters that are named detail, see [Options.Detail].
const (
	detailed = true
	brief    = false
)

// Columns returns how wide text may be, in columns of the terminal.
func (o Options) Columns() int {
	if o.Width <= 0 {
		return usualScreen
	}
	return min(o.Width, widestScreen)
}

// Colours of figures and verdicts on a terminal.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

// paint returns the text in the colour of its tone, if colours are on.
func (o Options) paint(text string, tone Tone) string {
	colour := ""
	switch tone {
	case Good:
		colour = green
	case Mixed:
		colour = yellow
	case Bad:
		colour = red
	}
	if !o.Colour || colour == "" {
		return text
	}
	return colour + strings.ReplaceAll(text, "\n", reset+"\n"+colour) + reset
}

// ErrNothing is the error of a view that has nothing to show.
var ErrNothing = errors.New("nothing to show: no results, or none of the kind to show here")

// Write writes what the set holds, or returns [ErrNothing] if the set is empty. CSV has only the
// measurements, unless there are none. Go benchmark text never has anything but measurements.
func Write(w io.Writer, s *results.Set, format Format, o Options) error {
	if s.IsEmpty() {
		return ErrNothing
	}
	switch format {
	case FormatCSV:
		if len(s.Records) > 0 {
			return figureTable(s).Write(w, format, o)
		}
		return Page{Tables: dataTables(s)}.Write(w, format, o)
	case FormatJSON:
		return WriteJSON(w, Summarise(s))
	case FormatBench:
		return WriteBench(w, s)
	}
	if len(s.Machines()) > 1 {
		return WriteFleet(w, stat.FleetOf(s).Members(), s.Problems, format, o)
	}
	sum := Summarise(s)
	p := Page{Header: header(s, sum.Rows), Answer: answer(s, sum, o.File)}
	p.Header = append(p.Header, loadOf(s))
	detail := o.Detail || format == FormatMarkdown
	for _, section := range sections(s, sum.Rows, detail) {
		p.addSection(section)
	}
	return p.Write(w, format, o)
}

// dataTables returns the tables of findings, servers and messages in the form that programs read.
func dataTables(s *results.Set) []Table {
	var p Page
	for _, a := range areas {
		p.addTable(findingTable(s, sorted(s.FindingsOf(a.area)), detailed))
	}
	p.addTable(targetTable(s, s.Targets))
	p.addTable(messageTable(s).dropEmpty())
	return p.Tables
}

// A Summary is what a set says, in figures and in words, as it is written as JSON.
type Summary struct {
	Environments []results.Environment `json:"environments"`
	Rows         []stat.Row            `json:"rows"`
	Meaning      []string              `json:"meaning,omitempty"` // for a person, in sentences
	Notes        []string              `json:"notes,omitempty"`   // how to read the figures

	// All records that are not measurements.
	Findings []results.Finding `json:"findings,omitempty"`
	Targets  []results.Target  `json:"targets,omitempty"`
	Messages []results.Message `json:"messages,omitempty"`
}

// rowsToTell returns the rows of the runs that do not say themselves what they mean: tune does, in
// a finding.
func rowsToTell(s *results.Set, rows []stat.Row) []stat.Row {
	tuned := s.FindingsOf(results.AreaTune)
	if len(tuned) == 0 {
		return rows
	}
	var rest []*results.Set
	for _, e := range s.Environments {
		isOf := func(f results.Finding) bool { return f.Run == e.Run }
		if !slices.ContainsFunc(tuned, isOf) {
			rest = append(rest, s.OfRun(e.Run))
		}
	}
	return stat.Rows(results.Merge(rest...))
}

// Summarise works out the figures of every [results.Cell] of the set.
func Summarise(s *results.Set) Summary {
	rows := stat.Rows(s)
	var members []stat.Member
	if len(s.Environments) > 1 {
		members = stat.FleetOf(s).Members()
	}
	disagreement := disagreementSentences(members)
	var sentences []string
	if len(members) <= 1 {
		told := meaning(agreedRows(rowsToTell(s, rows)))
		sentences = nonEmpty(slices.Concat([]string{interruption(rows)}, disagreement, told))
	} else if fleet := FleetSections(members, s.Problems); len(fleet) > 0 {
		sentences = fleet[0].Lead // the first section is the answer
	}
	return Summary{
		// append turns nil into an empty list, which JSON writes as [] instead of null
		Environments: append([]results.Environment{}, s.Environments...),
		Rows:         append([]stat.Row{}, rows...),
		Meaning:      sentences,
		Notes:        detailedNotes(s, rows),
		Findings:     s.Findings,
		Targets:      s.Targets,
		Messages:     s.Messages,
	}
}
