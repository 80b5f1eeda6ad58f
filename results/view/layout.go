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
	for i, c := range t.Columns {
		e := &out[i]
		floor := leastWidth
		if c.Style == Long {
			floor = brokenWidth
		}
		for r := -1; r < len(t.Rows); r++ {
			text := c.Title
			if r >= 0 {
				text = t.Rows[r][i].Text
			}
			n := utf8.RuneCountInString(text)
			e.natural = max(e.natural, n)
			if c.Style == Long {
				continue
			}
			if c.Right && r >= 0 {
				floor = max(floor, n)
			}
			for _, word := range wrap(text, 1) {
				floor = max(floor, utf8.RuneCountInString(word))
			}
		}
		e.least = min(e.natural, floor)
	}
	return out
}

// spared lists the columns for which a width has no room: the last of those that are no keys, and
// before them those that are Spare. If
// all is set, fit puts these columns into further tables below, so at least one column that is no
// key stays.
func (t Table) spared(extents []extent, width int, all bool) []int {
	easy := easyWidth
	switch {
	case t.Whole:
		easy = wholeWidth
	case all:
		easy = leastWidth
	}
	room := func(i int) int { // the width that a column should have
		e := extents[i]
		return 2 + max(e.least, min(e.natural, easy))
	}
	taken := 0
	var spared []int
	for i, c := range t.Columns {
		taken += room(i)
		if !c.Key && !c.Spare {
			spared = append(spared, i)
		}
	}
	for i, c := range t.Columns {
		if c.Spare {
			spared = append(spared, i)
		}
	}
	kept := len(spared)
	for kept > 0 && taken > width {
		taken -= room(spared[kept-1])
		kept--
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
	parts = []Table{part.texts(func(i int, text string) string {
		lines := wrap(text, widths[i])
		if part.Columns[i].Style == Long {
			lines = broken(lines, widths[i])
		}
		return strings.Join(lines, "\n")
	})}
	if len(left) == 0 {
		return parts, nil
	}
	if all {
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

// Wrap breaks lines of text between words so that they fit. Every part of a line but the first is
// indented.
func (o Options) Wrap(lines []string) []string {
	var out []string
	for _, line := range lines {
		if utf8.RuneCountInString(line) <= o.Columns() {
			out = append(out, line)
			continue
		}
		for i, part := range wrap(line, o.Columns()-2) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, part)
		}
	}
	return out
}

// Fill breaks a paragraph between words so that its lines fit.
func (o Options) Fill(text string) []string { return wrap(text, o.Columns()) }

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
