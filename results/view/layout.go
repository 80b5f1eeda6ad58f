package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// How many characters a column of words keeps on a line: never fewer than leastWidth (or
// brokenWidth, if its text may be broken anywhere). Before it gets narrower than easyWidth, columns
// that are no keys are left out; in a table that is shown whole they go below, before one gets
// narrower than wholeWidth.
const (
	brokenWidth = 8
	leastWidth  = 10
	wholeWidth  = 28
	easyWidth   = 44
)

// An extent is how wide the texts of a column are, and how narrow they may become.
type extent struct{ natural, least int }

// extents measures the columns. Figures stay whole, and so do words, unless a column may be broken
// anywhere.
func (t Table) extents() []extent {
	out := make([]extent, len(t.Columns))
	for r, row := range t.titled() {
		for i, v := range row {
			e := &out[i]
			n := utf8.RuneCountInString(v.Text)
			e.natural = max(e.natural, n)
			switch {
			case t.Columns[i].Style == Long:
				e.least = brokenWidth
			case t.Columns[i].Right && r > 0:
				e.least = max(e.least, n)
			default:
				for _, word := range wrap(v.Text, 1) {
					e.least = max(e.least, leastWidth, utf8.RuneCountInString(word))
				}
			}
		}
	}
	for i := range out {
		out[i].least = min(out[i].least, out[i].natural)
	}
	return out
}

// spared lists the columns for which a width has no room: those that are Spare, and then the last
// of the others that are no keys. If all is set, fit puts these columns into further tables below,
// so at least one column that is no key stays.
func (t Table) spared(extents []extent, width int, all bool) []int {
	easy := easyWidth
	switch {
	case t.Whole:
		easy = wholeWidth
	case all:
		easy = leastWidth
	}
	taken := 0
	var rooms []int  // the width that each column should have
	var spared []int // the columns that are no keys; the last is the first that is left out
	var spare []int
	for i, c := range t.Columns {
		e := extents[i]
		rooms = append(rooms, 2+max(e.least, min(e.natural, easy)))
		taken += rooms[i]
		switch {
		case c.Spare:
			spare = append(spare, i)
		case !c.Key:
			spared = append(spared, i)
		}
	}
	spared = append(spared, spare...)
	kept := len(spared)
	for kept > 0 && taken > width {
		kept--
		taken -= rooms[spared[kept]]
	}
	if all && kept == 0 && len(spared) > 0 {
		kept = 1 // so that each table tells something
	}
	return spared[kept:]
}

// narrow makes the widest column narrower, again and again, until all fit a width or none can get
// narrower.
func narrow(extents []extent, width int) []int {
	var widths []int
	wide := 0
	for _, e := range extents {
		widths = append(widths, e.natural)
		wide += e.natural + 2
	}
	for ; wide > width; wide-- {
		widest := -1
		for i, n := range widths {
			if n > extents[i].least && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// fit makes a table as narrow as a screen, if it can: first it leaves out columns that are no keys,
// from the last one on; then it breaks the texts of the widest columns into lines. If all is set,
// the columns that were left out follow in tables below, beside the keys; otherwise their titles
// are returned.
func (t Table) fit(width int, all bool) (parts []Table, dropped []string) {
	left := t.spared(t.extents(), width, all)
	part := t.only(func(i int) bool { return !slices.Contains(left, i) })
	widths := narrow(part.extents(), width)
	part.replace(func(i int, text string) string {
		lines := wrap(text, widths[i])
		if part.Columns[i].Style == Long {
			lines = broken(lines, widths[i])
		}
		return strings.Join(lines, "\n")
	})
	parts = []Table{part}
	if all && len(left) > 0 {
		rest := t.only(func(i int) bool { return t.Columns[i].Key || slices.Contains(left, i) })
		below, _ := rest.fit(width, all)
		return append(parts, below...), nil
	}
	for _, i := range left {
		dropped = append(dropped, t.Columns[i].Title)
	}
	return parts, dropped
}

// broken breaks lines that are longer than width, even within words.
func broken(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		for part := range slices.Chunk([]rune(line), max(1, width)) {
			out = append(out, string(part))
		}
	}
	return out
}

// Wrap breaks the lines of a text between words so that they fit. Every part of a line but the
// first is indented.
func (o Options) Wrap(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > o.Columns() {
			line = strings.Join(wrap(line, o.Columns()-2), "\n  ")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Fill breaks a paragraph between words so that its lines fit.
func (o Options) Fill(text string) string { return strings.Join(wrap(text, o.Columns()), "\n") }

// wrap breaks a line between words so that each part is at most width wide; a word that does not
// fit is broken behind slashes, as the names of benchmarks have them, or stays whole.
func wrap(line string, width int) []string {
	fits := func(part string) bool { return utf8.RuneCountInString(part) <= width }
	var out []string
	for _, word := range strings.Fields(line) {
		parts := []string{word}
		between := " "
		if !fits(word) {
			parts = nonEmpty(strings.SplitAfter(word, "/"))
		}
		for _, part := range parts {
			last := len(out) - 1
			if last >= 0 && fits(out[last]+between+part) {
				out[last] += between + part
			} else {
				out = append(out, part)
			}
			between = ""
		}
	}
	return out
}
