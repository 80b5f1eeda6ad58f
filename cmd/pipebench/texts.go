package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
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
		text = o.Wrap(text)
	}
	fmt.Fprintln(w, text)
}

var itemStart = regexp.MustCompile(`^(-|\d+\.) `)

// writeText lays out a long text for the screen: the texts of --help and the guides. Its blocks
// stand apart by blank lines. Paragraphs and the items of lists are broken to fit, tables of
// Markdown become tables of text. Titles and indented lines stay as they are.
func writeText(w io.Writer, text string, o view.Options) {
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if i > 0 {
			fmt.Fprintln(w)
		}
		switch {
		case strings.HasPrefix(block, "|"):
			writeTable(w, block, o)
		case strings.HasPrefix(block, "    "):
			writeIndented(w, block, o)
		case strings.HasPrefix(block, "#"), strings.HasPrefix(block, " "):
			fmt.Fprintln(w, block)
		default:
			writeParagraphs(w, block, o)
		}
	}
}

// writeParagraphs writes a paragraph, or a paragraph and the items of the list behind it.
func writeParagraphs(w io.Writer, block string, o view.Options) {
	var paragraphs []string
	for line := range strings.SplitSeq(block, "\n") {
		last := len(paragraphs) - 1
		if last < 0 || itemStart.MatchString(line) {
			paragraphs = append(paragraphs, line)
		} else {
			paragraphs[last] += " " + strings.TrimSpace(line)
		}
	}
	for _, p := range paragraphs {
		if itemStart.MatchString(p) {
			fmt.Fprintln(w, o.Wrap(p))
		} else {
			fmt.Fprintln(w, o.Fill(p))
		}
	}
}

// writeTable writes a table of Markdown. Columns that do not fit beside the first go into further
// tables below.
func writeTable(w io.Writer, block string, o view.Options) {
	lines := strings.Split(block, "\n")
	var t view.Table
	for i, title := range tableCells(lines[0]) {
		t.Columns = append(t.Columns, view.Column{Title: title, Key: i == 0})
	}
	for _, line := range lines[min(2, len(lines)):] { // the second is the rule below the titles
		t.Append(tableCells(line)...)
	}
	o.Detail = true
	// If the table cannot be written, neither can the next line: the output remembers why.
	_ = t.Write(w, view.FormatTable, o)
}

// tableCells returns the cells of a row of a Markdown table.
func tableCells(row string) []string {
	cells := strings.Split(strings.Trim(row, "| "), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// writeIndented writes indented lines. They lose their indent if one of them is too wide.
func writeIndented(w io.Writer, block string, o view.Options) {
	lines := strings.Split(block, "\n")
	isWide := func(line string) bool { return utf8.RuneCountInString(line) > o.Columns() }
	cut := slices.ContainsFunc(lines, isWide)
	for _, line := range lines {
		if cut {
			line = strings.TrimPrefix(line, "    ")
		}
		fmt.Fprintln(w, line)
	}
}
