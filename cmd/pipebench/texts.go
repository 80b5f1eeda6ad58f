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

// terminalWidth returns the width in columns of the terminal that w writes to. If w is no terminal,
// it returns $COLUMNS, or 0 if that is not set.
func terminalWidth(w io.Writer) (columns int, isTerminal bool) {
	file, ok := w.(interface{ Fd() uintptr })
	if ok && term.IsTerminal(int(file.Fd())) {
		columns, _, _ = term.GetSize(int(file.Fd()))
		return columns, true
	}
	columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	return columns, false
}

// writeNotice writes a message that is not part of a result, wrapped only on a terminal.
func writeNotice(w io.Writer, text string) {
	text = view.Escape(text) // a part of the text may come from other programs
	if columns, isTerminal := terminalWidth(w); isTerminal {
		o := view.Options{Width: columns}
		text = o.Wrap(text)
	}
	fmt.Fprintln(w, text)
}

var itemStart = regexp.MustCompile(`^(-|\d+\.) `)

// writeText writes a help text or a guide, made to fit the screen. Titles and indented lines keep
// their line breaks. If one indented line is too wide, none of them is indented.
func writeText(w io.Writer, text string, o view.Options) {
	isWide := func(line string) bool {
		return strings.HasPrefix(line, "    ") && utf8.RuneCountInString(line) > o.Columns()
	}
	indent := "    "
	if slices.ContainsFunc(strings.Split(text, "\n"), isWide) {
		indent = ""
	}
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if i > 0 {
			fmt.Fprintln(w)
		}
		switch {
		case strings.HasPrefix(block, "|"):
			writeTable(w, block, o)
		case strings.HasPrefix(block, "    "):
			for line := range strings.SplitSeq(block, "\n") {
				fmt.Fprintln(w, indent+strings.TrimPrefix(line, "    "))
			}
		case strings.HasPrefix(block, "#"), strings.HasPrefix(block, " "):
			fmt.Fprintln(w, block)
		default:
			writeParagraphs(w, block, o)
		}
	}
}

// writeParagraphs writes a block that has a paragraph, a list, or a paragraph and then a list.
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
			fmt.Fprintln(w, o.Wrap(p)) // further lines are indented
		} else {
			fmt.Fprintln(w, o.Fill(p))
		}
	}
}

// writeTable writes a Markdown table. If the table is too wide, it becomes several tables.
func writeTable(w io.Writer, block string, o view.Options) {
	lines := strings.Split(block, "\n")
	var t view.Table
	for i, title := range tableCells(lines[0]) {
		t.Columns = append(t.Columns, view.Column{Title: title, Key: i == 0})
	}
	for _, line := range lines[min(2, len(lines)):] { // lines[1] is the rule below the titles
		t.Append(tableCells(line)...)
	}
	o.Detail = true                     // show all columns
	_ = t.Write(w, view.FormatTable, o) // the output of the command remembers an error
}

func tableCells(row string) []string {
	cells := strings.Split(strings.Trim(row, "| "), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
