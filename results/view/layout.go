package view

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// fit makes a table fit the width, if it can. If all is set, columns that do not fit follow in
// further tables. Otherwise, they are left out, and the second result has their titles.
func (t Table) fit(width int, all bool) (parts []Table, dropped []string) {
	leftOut := t.columnsLeftOut(t.extents(), width, all)
	part := t.withColumns(func(i int) bool { return !slices.Contains(leftOut, i) })
	widths := narrow(part.extents(), width)
	part.rewrite(func(i int, text string) string {
		return strings.Join(breakWords(wrap(text, widths[i]), widths[i]), "\n")
	})
	parts = []Table{part}
	if all && len(leftOut) > 0 {
		rest := t.withColumns(func(i int) bool {
			return t.Columns[i].Key || slices.Contains(leftOut, i)
		})
		further, _ := rest.fit(width, all)
		return append(parts, further...), nil
	}
	for _, i := range leftOut {
		dropped = append(dropped, t.Columns[i].Title)
	}
	return parts, dropped
}

// Widths in characters.
const (
	comfortableWidth = 44 // a column of words gets no narrower while others can be left out
	wholeWidth       = 28 // is used instead of comfortableWidth if Table.Whole is set
	leastWidth       = 10 // least width of a column of words
	leastLongWidth   = 8  // least width of a column in the style Long
	columnGap        = 2  // blanks between two columns
)

// withoutFigures leaves out figures in key columns, the first ones first, until the keys fit. If
// that does not help, nothing is left out. The second result has the titles of what is left out.
func (t Table) withoutFigures(width int) (fitting Table, dropped []string) {
	extents := t.extents()
	taken := 0
	for i, c := range t.Columns {
		if c.Key {
			taken += extents[i].broken + columnGap
		}
	}
	var leftOut []int
	for i, c := range t.Columns {
		if c.Key && c.Right && taken > width {
			taken -= extents[i].broken + columnGap
			leftOut = append(leftOut, i)
			dropped = append(dropped, c.Title)
		}
	}
	if taken > width {
		return t, nil
	}
	return t.withColumns(func(i int) bool { return !slices.Contains(leftOut, i) }), dropped
}

// An extent is how wide the texts of a column are, and how narrow they may become: while words and
// figures stay whole, and if that does not fit.
type extent struct{ natural, least, broken int }

// extents measures the columns. Words in the style [Long] may be broken anywhere, other words after
// slashes, and figures between words.
func (t Table) extents() []extent {
	out := make([]extent, len(t.Columns))
	for r, row := range t.titled() {
		for i, v := range row {
			e := &out[i]
			n := utf8.RuneCountInString(v.Text)
			e.natural = max(e.natural, n)
			switch {
			case t.Columns[i].Style == Long:
				e.least = leastLongWidth
				e.broken = leastLongWidth
			case t.Columns[i].Right && r > 0:
				e.least = max(e.least, n)
				for _, word := range wrap(v.Text, 1) {
					e.broken = max(e.broken, utf8.RuneCountInString(word))
				}
			default:
				e.broken = max(e.broken, leastWidth)
				for _, word := range wrap(v.Text, 1) { // each word, broken after slashes
					e.least = max(e.least, leastWidth, utf8.RuneCountInString(word))
				}
			}
		}
	}
	for i := range out {
		out[i].least = min(out[i].least, out[i].natural)
		out[i].broken = min(out[i].broken, out[i].least)
	}
	return out
}

// columnsLeftOut lists the columns to leave out so that the table fits. It takes those that are not
// marked as Key, the last one first.
func (t Table) columnsLeftOut(extents []extent, width int, all bool) []int {
	comfortable := comfortableWidth
	switch {
	case t.Whole:
		comfortable = wholeWidth
	case all: // a narrow column is better than a further table
		comfortable = leastWidth
	}
	taken := 0
	var rooms []int    // the width that each column should have
	var optional []int // columns that are not keys
	for i, c := range t.Columns {
		e := extents[i]
		rooms = append(rooms, columnGap+max(e.least, min(e.natural, comfortable)))
		taken += rooms[i]
		if !c.Key {
			optional = append(optional, i)
		}
	}
	kept := len(optional)
	for kept > 0 && taken > width {
		kept--
		taken -= rooms[optional[kept]]
	}
	if all && kept == 0 && len(optional) > 0 {
		kept = 1 // so that each further table shows something new
	}
	return optional[kept:]
}

// narrow returns the widths of the columns. It shrinks the widest columns until all fit, and breaks
// words and figures only if nothing else helps.
func narrow(extents []extent, width int) []int {
	var widths, leasts, broken []int
	total := 0
	for _, e := range extents {
		widths = append(widths, e.natural)
		leasts = append(leasts, e.least)
		broken = append(broken, e.broken)
		total += e.natural + columnGap
	}
	total = shrink(widths, leasts, total, width)
	shrink(widths, broken, total, width)
	return widths
}

// shrink makes the widest columns narrower until all fit, or until none can become narrower. It
// returns the sum of the widths.
func shrink(widths, leasts []int, total, width int) int {
	for ; total > width; total-- {
		widest := -1
		for i, n := range widths {
			if n > leasts[i] && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return total
}

// breakWords breaks lines that are longer than width, even within words.
func breakWords(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		for part := range slices.Chunk([]rune(line), max(1, width)) {
			out = append(out, string(part))
		}
	}
	return out
}

// Wrap breaks lines that are wider than the screen between words, and indents the further parts of
// each line.
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

// Fill joins the lines of a paragraph, and breaks it between words to fit the screen.
func (o Options) Fill(text string) string { return strings.Join(wrap(text, o.Columns()), "\n") }

// unit matches a number's last digit and the unit after it.
var unit = regexp.MustCompile(`(\d) (%|(?:[nµm]?s|[kKMGT]?i?B)\b)`)

// wrap breaks a line between words, so that each part has at most width characters. A word that
// does not fit is broken only after slashes.
func wrap(line string, width int) []string {
	fits := func(part string) bool { return utf8.RuneCountInString(part) <= width }
	var out []string
	const noBreak = "\x00" // the blank between a number and its unit
	for _, word := range strings.Fields(unit.ReplaceAllString(line, "${1}"+noBreak+"${2}")) {
		word = strings.ReplaceAll(word, noBreak, " ")
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
