package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/pipebench/pipebench/results/view"
)

// terminalWidth returns how many columns the terminal behind w has. If w is no terminal, isTerminal
// is false, and columns is $COLUMNS, or 0 if that says nothing.
func terminalWidth(w io.Writer) (columns int, isTerminal bool) {
	file, ok := w.(interface{ Fd() uintptr })
	if ok && term.IsTerminal(int(file.Fd())) {
		columns, _, _ = term.GetSize(int(file.Fd()))
		return columns, true
	}
	columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	return columns, false
}

// writeNotice writes a message that belongs to no result. A terminal gets it broken between words;
// a log gets it on one line, where people search for it.
func writeNotice(w io.Writer, text string) {
	text = view.Escape(text)
	if columns, isTerminal := terminalWidth(w); isTerminal {
		o := view.Options{Width: columns}
		text = strings.Join(o.Wrap(strings.Split(text, "\n")), "\n")
	}
	fmt.Fprintln(w, text)
}

var numbered = regexp.MustCompile(`^\d+\. `)

// isItem reports whether a paragraph is an item of a list.
func isItem(text string) bool { return strings.HasPrefix(text, "- ") || numbered.MatchString(text) }

// A layout writes a long text for the screen: the texts of --help and the guides. Paragraphs and
// the items of lists are broken to fit, tables of Markdown become tables of text. Titles and
// indented lines stay as they are; a line indented below an item continues it, and an indented
// block that is too wide loses its indent.
type layout struct {
	w         io.Writer
	options   view.Options
	paragraph string
	block     []string   // indented lines
	rows      [][]string // of a table
}

// writeText lays a text out.
func writeText(w io.Writer, text string, o view.Options) {
	l := layout{w: w, options: o}
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		l.add(strings.TrimRight(line, " \n"))
	}
	l.flush()
}

// add takes the next line of the text.
func (l *layout) add(line string) {
	switch {
	case strings.HasPrefix(line, "|"):
		l.flushText()
		l.flushBlock()
		if strings.Trim(line, "|:- ") != "" { // no rule below the titles
			l.rows = append(l.rows, tableCells(line))
		}
	case len(l.block) > 0 && line == "" || strings.HasPrefix(line, "    "):
		l.flushText()
		l.flushTable()
		l.block = append(l.block, line)
	case strings.HasPrefix(line, "  ") && isItem(l.paragraph):
		l.paragraph += " " + strings.TrimSpace(line)
	case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, " "):
		l.flush()
		fmt.Fprintln(l.w, line)
	default:
		if isItem(line) {
			l.flushText()
		}
		l.flushTable()
		l.flushBlock()
		l.paragraph = strings.TrimSpace(l.paragraph + " " + line)
	}
}

// flush writes everything that was added and not written yet.
func (l *layout) flush() {
	l.flushText()
	l.flushTable()
	l.flushBlock()
}

func (l *layout) flushText() {
	if l.paragraph == "" {
		return
	}
	lines := l.options.Fill(l.paragraph)
	if isItem(l.paragraph) {
		lines = l.options.Wrap([]string{l.paragraph})
	}
	l.paragraph = ""
	fmt.Fprintln(l.w, strings.Join(lines, "\n"))
}

// flushTable writes the table whose first row has the titles. Columns that do not fit beside the
// first go into further tables below.
func (l *layout) flushTable() {
	if len(l.rows) == 0 {
		return
	}
	var t view.Table
	for i, title := range l.rows[0] {
		t.Columns = append(t.Columns, view.Column{Title: title, Key: i == 0})
	}
	for _, row := range l.rows[1:] {
		t.Append(row...)
	}
	l.rows = nil
	o := l.options
	o.Detail = true
	// If the table cannot be written, neither can the next line: the output remembers why.
	_ = t.Write(l.w, view.FormatTable, o)
}

// tableCells returns the cells of a row of a Markdown table.
func tableCells(row string) []string {
	cells := strings.Split(strings.Trim(row, "| "), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func (l *layout) flushBlock() {
	indent := "    "
	for _, line := range l.block {
		if utf8.RuneCountInString(line) > l.options.Columns() {
			indent = ""
		}
	}
	for _, line := range l.block {
		if line != "" {
			line = indent + strings.TrimPrefix(line, "    ")
		}
		fmt.Fprintln(l.w, line)
	}
	l.block = nil
}
