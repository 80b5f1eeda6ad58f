package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Page is a view for people: the verdict or the answer first, then tables, sentences and notes.
type Page struct {
	Verdict     string // whether something passed
	Tone        Tone   // of the Verdict
	Header      []string
	Answer      []string // sentences before the tables
	Tables      []Table
	Conclusions []string // sentences after the tables
	Notes       []string // how to read the tables
}

// addTable adds a table, if it has a row.
func (p *Page) addTable(t Table) {
	if t.hasRows() {
		p.Tables = append(p.Tables, t)
	}
}

// addSection adds the content of a section. It adds no note twice.
func (p *Page) addSection(s Section) {
	for _, t := range s.Tables {
		t.Title = cmp.Or(t.Title, s.Title)
		p.Tables = append(p.Tables, t)
	}
	p.Conclusions = append(p.Conclusions, s.Lead...)
	for _, note := range s.Notes {
		if !slices.Contains(p.Notes, note) {
			p.Notes = append(p.Notes, note)
		}
	}
}

// Write writes the page as text or markdown, or its tables as CSV. Any other format is an error.
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
		return fmt.Errorf("a page cannot be written as %s", format)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeText writes the page for a person, with empty lines between its parts.
func (p Page) writeText(out *strings.Builder, format Format, o Options) error {
	header := p.Header
	if p.Verdict != "" {
		header = append([]string{p.Verdict}, header...)
	}
	o.writeLines(out, format, header, "- ", p.Tone)
	o.writeSentences(out, format, p.Answer)
	for _, table := range p.Tables {
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		if err := table.Write(out, format, o); err != nil {
			return err
		}
	}
	o.writeSentences(out, format, p.Conclusions)
	o.writeLines(out, format, p.Notes, "- ", Neutral)
	return nil
}

// writeSentences writes each sentence as a line of its own. In markdown, all sentences become one
// paragraph.
func (o Options) writeSentences(out *strings.Builder, format Format, sentences []string) {
	if format == FormatMarkdown && len(sentences) > 0 {
		sentences = []string{strings.Join(sentences, " ")}
	}
	o.writeLines(out, format, sentences, "", Neutral)
}

// writeLines writes the lines that are not empty, the first one in the colour of tone. In markdown,
// the text in bullet begins each line.
func (o Options) writeLines(out *strings.Builder, format Format, lines []string, bullet string,
	tone Tone) {
	lines = nonEmpty(lines)
	if len(lines) > 0 && out.Len() > 0 {
		out.WriteString("\n")
	}
	for i, line := range lines {
		line = strings.ReplaceAll(Escape(line), "\n", " ")
		if format == FormatMarkdown {
			out.WriteString(bullet + line + "\n")
			continue
		}
		line = o.Wrap(line)
		if i == 0 {
			line = o.paint(line, tone)
		}
		out.WriteString(line + "\n")
	}
}
