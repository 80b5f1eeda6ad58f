package view

import (
	"fmt"
	"io"
	"strings"
)

// A Page is a view for people: the verdict or the answer first, then tables, sentences and notes.
type Page struct {
	Verdict     string // whether something passed, first of all
	Tone        Tone   // of the verdict
	Header      []string
	Answer      []string // sentences before the tables
	Tables      []Table
	Conclusions []string // sentences after them
	Notes       []string // what has to be known to read the tables
}

// addTable adds a table, if it has a row.
func (p *Page) addTable(t Table) {
	if t.hasRows() {
		p.Tables = append(p.Tables, t)
	}
}

// Write writes the page as text or markdown. CSV is the tables alone; the other formats are
// errors.
func (p Page) Write(w io.Writer, format Format, o Options) error {
	var text strings.Builder
	switch format {
	case FormatTable, FormatMarkdown:
		if err := p.writeText(&text, format, o); err != nil {
			return err
		}
	case FormatCSV:
		for i, t := range p.Tables {
			if i > 0 {
				text.WriteString("\n")
			}
			if err := t.Write(&text, format, o); err != nil {
				return err
			}
		}
	default:
		if _, err := ParseFormat(string(format)); err != nil {
			return err
		}
		return fmt.Errorf("a page cannot be written as %s", format)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// A pageText writes the parts of a page with an empty line between them.
type pageText struct {
	out    *strings.Builder
	format Format
	o      Options
}

// begin sets the next part apart from what stands before it.
func (t pageText) begin() {
	if t.out.Len() > 0 {
		t.out.WriteString("\n")
	}
}

// lines writes a part: on a terminal wrapped, in markdown with a bullet before each line.
func (t pageText) lines(lines []string, bullet string) {
	lines = nonEmpty(lines)
	if len(lines) == 0 {
		return
	}
	t.begin()
	if t.format == FormatTable {
		lines = t.o.wrap(lines)
		bullet = ""
	}
	for _, line := range lines {
		t.out.WriteString(bullet + strings.ReplaceAll(Escape(line), "\n", " ") + "\n")
	}
}

// sentences writes a part: on a terminal a line each, in markdown as one paragraph.
func (t pageText) sentences(sentences []string) {
	if t.format == FormatMarkdown && len(sentences) > 0 {
		sentences = []string{strings.Join(sentences, " ")}
	}
	t.lines(sentences, "")
}

// verdict writes the first part, in its colour at a terminal.
func (t pageText) verdict(p Page) {
	if p.Verdict == "" {
		return
	}
	for _, line := range t.o.wrap([]string{Escape(p.Verdict)}) {
		t.out.WriteString(t.o.paint(line, p.Tone) + "\n")
	}
	for _, line := range t.o.wrap(nonEmpty(p.Header)) {
		t.out.WriteString(Escape(line) + "\n")
	}
}

// writeText writes the page for a person.
func (p Page) writeText(text *strings.Builder, format Format, o Options) error {
	t := pageText{text, format, o}
	switch {
	case p.Verdict != "" && format == FormatTable:
		t.verdict(p)
	case p.Verdict != "":
		t.lines(append([]string{p.Verdict}, p.Header...), "- ")
	default:
		t.lines(p.Header, "- ")
	}
	t.sentences(p.Answer)
	for _, table := range p.Tables {
		t.begin()
		if err := table.Write(text, format, o); err != nil {
			return err
		}
	}
	t.sentences(p.Conclusions)
	t.lines(p.Notes, "- ")
	return nil
}
