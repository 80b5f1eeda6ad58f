package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// screenWidth is how many columns a screen has at most.
const screenWidth = 100

// width returns the columns that text may take.
func (o Options) width() int {
	if o.Width <= 0 {
		return screenWidth
	}
	return min(o.Width, screenWidth)
}

// Colours of figures and verdicts on a terminal.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
)

// paint colours a text where the terminal can.
func (o Options) paint(text, colour string) string {
	if !o.Colour || colour == "" {
		return text
	}
	return colour + text + "\x1b[0m"
}

// passTone is that of whether something passed.
func passTone(passed bool) Tone {
	if passed {
		return Good
	}
	return Bad
}

// colour is that of a tone on a terminal.
func (t Tone) colour() string {
	switch t {
	case Good:
		return green
	case Mixed:
		return yellow
	case Bad:
		return red
	}
	return ""
}

// mostSentences is how many sentences about a run of chosen cells stand on the first screen.
const mostSentences = 3

// screenPage shows the measurements of a set: first what they mean, then a table for each placement
// with framings down and message sizes across, streams before round trips, and last the writers
// that do not block. Detail has the rest.
func screenPage(s *results.Set, o Options) Page {
	sum := Summarise(s)
	var p Page
	for _, e := range FirstRuns(s) {
		line := JoinParts(MachineLine(e), "load "+loadText(e))
		p.Header = append(p.Header, Truncate(line, o.width()-1))
	}
	p.Answer = sum.Meaning
	framed, waiting := splitWaiting(sum.Rows)
	var program, levers []stat.Row
	if isDefaultRun(sum.Rows) {
		parts := splitRun(sum.Rows)
		framed = parts.bare
		program = parts.program
		levers = parts.levers
	} else if n := len(p.Answer); n > mostSentences { // the last is about placements
		p.Answer = append(slices.Clone(p.Answer[:mostSentences-1]), p.Answer[n-1])
	}
	blocks := append(seriesIn(framed, "stream"), seriesIn(framed, results.PatternRoundtrip)...)
	nameSeries(blocks)
	for _, b := range blocks {
		p.Tables = append(p.Tables, b.pivot())
	}
	if len(program) > 0 {
		p.Tables = append(p.Tables, programTable(program))
	}
	if len(levers) > 0 {
		p.Tables = append(p.Tables, leverTable(levers))
	}
	p.Tables = append(p.Tables, waitingTables(waiting)...)
	if len(p.Tables) == 0 { // cells of no pattern that has a table of its own, such as mixed
		p.Tables = cellTables(sum.Rows)
	}
	p.Notes = screenNotes(s, sum)
	return p
}

// isDefaultRun reports whether rows answer the questions of a run without flags, see [runAnswer].
func isDefaultRun(rows []stat.Row) bool { return len(runAnswer(rows)) > 0 }

// splitWaiting takes out of rows those about writers that do not block.
func splitWaiting(rows []stat.Row) (framed, waiting []stat.Row) {
	for _, r := range rows {
		if r.Cell.IsWaiting() {
			waiting = append(waiting, r)
		} else {
			framed = append(framed, r)
		}
	}
	return framed, waiting
}

// pivot lays a series out: framings down, sizes across. The size that tells most stays however
// narrow the screen is.
func (s series) pivot() Table {
	var framings []string
	var sizes []int
	for _, r := range s.rows {
		if !slices.Contains(framings, r.Cell.Framing) {
			framings = append(framings, r.Cell.Framing)
		}
		if !slices.Contains(sizes, r.Cell.Size) {
			sizes = append(sizes, r.Cell.Size)
		}
	}
	slices.Sort(sizes)
	t := Table{Title: s.quantity(), Columns: []Column{{Title: "framing", Key: true}}}
	for _, size := range sizes {
		t.Columns = append(t.Columns, Column{Title: sizeTitle(size), Right: true, Key: size == s.size})
	}
	for _, framing := range framings {
		row := []Value{textValue(framing)}
		for _, size := range sizes {
			row = append(row, s.figure(framing, size))
		}
		t.AppendValues(row...)
	}
	return t
}

// sizeTitle names a column of sizes.
func sizeTitle(size int) string {
	if size == 0 {
		return FieldValue("size", "0")
	}
	return SizeText(size)
}

// figure is that of a framing at a size, none if it was not measured.
func (s series) figure(framing string, size int) Value {
	for _, r := range s.rows {
		if r.Cell.Framing == framing && r.Cell.Size == size {
			return screenValue(r)
		}
	}
	return Value{}
}

// quantity names what the figures of a series are, and where it ran.
func (s series) quantity() string {
	related := false
	for _, r := range s.rows {
		related = related || r.ToRaw != nil
	}
	name := "Goodput"
	switch {
	case s.cell.Rate > 0:
		return "p99 from when due, " + s.short
	case s.cell.Pattern == results.PatternRoundtrip:
		name = "Round trip"
	}
	if related {
		name += " vs raw"
	}
	return name + ", " + s.short
}

// screenValue is the figure of a cell with half its interval: what it has of raw's, or what raw
// has. Good costs nothing that can be seen, bad is half of raw or less.
func screenValue(r stat.Row) Value {
	l, _ := r.PrimaryLatency()
	switch {
	case r.Unsupported != "":
		return textValue("unsupp.")
	case r.Samples == 0:
		text := strings.TrimSuffix(emptyWord(r), " ("+r.Stopped+")")
		return Value{Text: text, Tone: Mixed}
	case r.Cell.Rate > 0 && l.P99NS != nil:
		return textValue(results.FormatDuration(float64(*l.P99NS)))
	case r.ToRaw == nil && r.Cell.Pattern == results.PatternRoundtrip:
		return textValue(results.FormatDuration(r.Estimates["time"].Median))
	case r.ToRaw == nil:
		return textValue(results.FormatGoodput(r.Estimates["goodput"].Median))
	}
	v := textValue(withSpread(fmt.Sprintf("%.2f", r.ToRaw.Median), *r.ToRaw))
	slow := slowdown(r)
	switch {
	case isTooNoisy(r):
		v.Tone = Mixed
	case isRough(r):
		percent, _ := r.ToRaw.Spread()
		v = Value{Text: fmt.Sprintf("%.2f?±%2.0f%%", r.ToRaw.Median, percent), Tone: Mixed}
	case r.ToRaw.Interval != nil && !slow.Above(1):
		v.Tone = Good
	case slow.Above(2):
		v.Tone = Bad
	}
	return v
}

// roughSpread is the half-width, in percent, beyond which the screen marks a ratio.
const roughSpread = 25

func isRough(r stat.Row) bool {
	if r.ToRaw == nil {
		return false
	}
	percent, _ := r.ToRaw.Spread()
	return percent > roughSpread && percent <= MaxShownSpread
}

// programTable shows what a framing costs a program that makes each message and looks at it.
func programTable(rows []stat.Row) Table {
	places := placesOf(rows)
	t := Table{
		Title:   "Goodput vs raw of a program that makes each message and looks at it",
		Columns: []Column{{Title: "framing", Key: true}, {Title: "message", Right: true, Key: true}},
	}
	for i, place := range places {
		title := shortPlacement(place)
		t.Columns = append(t.Columns, Column{Title: title, Right: true, Key: i == 0})
	}
	type line struct {
		framing string
		size    int
	}
	var order []line
	for _, r := range rows {
		l := line{r.Cell.Framing, r.Cell.Size}
		if !slices.Contains(order, l) {
			order = append(order, l)
		}
	}
	for _, l := range order {
		row := []Value{textValue(l.framing), textValue(sizeTitle(l.size))}
		for _, place := range places {
			var v Value
			for _, r := range rows {
				if r.Cell.Placement == place && r.Cell.Framing == l.framing && r.Cell.Size == l.size {
					v = screenValue(r)
				}
			}
			row = append(row, v)
		}
		t.AppendValues(row...)
	}
	return t
}

// leverTable shows what a larger pipe and smaller writes do to one large message.
func leverTable(rows []stat.Row) Table {
	places := placesOf(rows)
	t := Table{
		Title:   fmt.Sprintf("Goodput of messages of %s (%s)", sizeTitle(rows[0].Cell.Size), rows[0].Cell.Framing),
		Columns: []Column{{Title: "pipe", Key: true}, {Title: "bytes per write", Right: true, Key: true}},
	}
	for i, place := range places {
		title := shortPlacement(place)
		t.Columns = append(t.Columns, Column{Title: title, Right: true, Key: i == 0})
	}
	type line struct{ capacity, writeSize int }
	var order []line
	for _, r := range rows {
		l := line{r.Cell.Capacity, r.Cell.WriteSize}
		if !slices.Contains(order, l) {
			order = append(order, l)
		}
	}
	slices.SortFunc(order, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.capacity, b.capacity), cmp.Compare(b.writeSize, a.writeSize))
	})
	for _, l := range order {
		written := "all"
		if l.writeSize > 0 {
			written = results.FormatSize(int64(l.writeSize))
		}
		row := []Value{textValue(FieldValue("capacity", fmt.Sprint(l.capacity))), textValue(written)}
		for _, place := range places {
			var v Value
			for _, r := range rows {
				c := r.Cell
				if c.Placement == place && c.Capacity == l.capacity && c.WriteSize == l.writeSize && r.Samples > 0 {
					e := r.Estimates["goodput"]
					v = textValue(withSpread(results.FormatGoodput(e.Median), e))
				}
			}
			row = append(row, v)
		}
		t.AppendValues(row...)
	}
	return t
}
