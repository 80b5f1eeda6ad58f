package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Words of a column that is one of many keep as many characters on a line: sentences that they can
// be read, and what is spared for their sake that they need few lines.
const (
	leastWidth = 10
	easyWidth  = 44
)

// An extent is how wide the texts of a column are, how narrow they may become, and the widest word.
type extent struct{ natural, least, word int }

// extents measures the columns.
func (t Table) extents() []extent {
	out := make([]extent, len(t.Columns))
	titleSeen := make([]bool, len(t.Columns))
	t.texts(func(i int, text string) string {
		c := t.Columns[i]
		e := &out[i]
		n := utf8.RuneCountInString(text)
		e.natural = max(e.natural, n)
		if c.Right && c.Style != Long && titleSeen[i] { // a figure stays whole
			e.least = max(e.least, n)
		}
		titleSeen[i] = true
		if c.Style != Long {
			for _, word := range wrapText(text, func(string) bool { return false }) {
				e.word = max(e.word, utf8.RuneCountInString(word))
			}
		}
		return text
	})
	for i := range out {
		e := &out[i]
		floor := leastWidth
		if t.Columns[i].Style == Long {
			floor = easyWidth / 3
		}
		e.least = min(e.natural, max(e.least, e.word, floor))
	}
	return out
}

// spared lists the columns that have no room in a width: of those that are no keys, the last ones.
// With all, the table has further parts below, each of which has one of them at least.
func (t Table) spared(extents []extent, width int, all bool) []int {
	easy := easyWidth
	if all {
		easy = leastWidth
	}
	room := func(i int) int { // that a column is to have beside the others
		e := extents[i]
		return 2 + max(e.least, min(e.natural, easy))
	}
	taken := 0
	var spared []int
	for i, c := range t.Columns {
		taken += room(i)
		if !c.Key {
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

// narrow takes from the widest of the columns that are kept until they fit a width, and returns the
// widths of all. First each keeps what it needs, then its words alone: figures are broken before
// their intervals.
func narrow(extents []extent, kept func(int) bool, width int) []int {
	var widths, needed, words []int
	wide := 0
	for i, e := range extents {
		widths = append(widths, e.natural)
		needed = append(needed, e.least)
		words = append(words, e.word)
		if kept(i) {
			wide += e.natural + 2
		}
	}
	for _, least := range [][]int{needed, words} {
		for wide > width {
			widest := -1
			for i, n := range widths {
				if kept(i) && n > least[i] && (widest < 0 || n > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			wide--
		}
	}
	return widths
}

// fit makes a table as narrow as a screen, if it can: without columns that are no keys, the last
// of them first, and then with more lines for the widest words. With all, what was spared stands in
// tables below, beside the keys; else the titles of what was spared are returned.
func (t Table) fit(width int, all bool) (parts []Table, dropped []string) {
	extents := t.extents()
	left := t.spared(extents, width, all)
	kept := func(i int) bool { return !slices.Contains(left, i) }
	widths := narrow(extents, kept, width)
	wrapped := t.texts(func(i int, text string) string {
		var lines []string
		for _, line := range wrap(text, widths[i]) {
			if t.Columns[i].Style == Long {
				lines = append(lines, broken(line, widths[i])...)
			} else {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	})
	parts = []Table{wrapped.only(kept)}
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

// broken breaks a line of one long word.
func broken(line string, width int) (out []string) {
	for part := range slices.Chunk([]rune(line), max(1, width)) {
		out = append(out, string(part))
	}
	return out
}

// Wrap breaks lines of text at 100 columns between words; what follows the first part is indented.
func Wrap(lines []string) []string { return Options{}.wrap(lines) }

func (o Options) wrap(lines []string) []string {
	var out []string
	for _, line := range lines {
		if utf8.RuneCountInString(line) <= o.width() {
			out = append(out, line)
			continue
		}
		for i, part := range wrap(line, o.width()-2) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, part)
		}
	}
	return out
}

// wrap breaks a line between words so that each part is at most width wide.
func wrap(line string, width int) []string {
	return wrapText(line, func(part string) bool { return utf8.RuneCountInString(part) <= width })
}

// wrapText breaks a line between words so that each part fits; a word that does not fit is broken
// behind slashes, as the names of benchmarks have them, or stays whole.
func wrapText(line string, fits func(string) bool) []string {
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
