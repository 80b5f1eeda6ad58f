package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// What a screen holds. The lines of figures leave room for a header, sentences and notes, and for a
// line that says where the files are.
const (
	screenWidth   = 100
	screenLines   = 39
	screenFigures = 29 // lines
	screenWaiting = 10 // lines about writers that do not block, for which there may be fewer sentences
	screenMost    = 43 // lines with them
	screenFigure  = 11 // columns of a figure and the gap before it
	screenMeaning = 3  // sentences
)

// screenPage shows the measurements of a set so that they fit a screen: for each placement a block
// with framings down and message sizes across, streams before round trips, and then what they mean.
// Detail has the rest.
func screenPage(s *results.Set, o Options) Page {
	sum := Summarise(s)
	var p Page
	p.Header = stat.Map(FirstRuns(s), func(e results.Environment) string {
		return Truncate(JoinParts(MachineLine(e), "load "+loadText(e)), o.width()-1)
	})
	answer := runAnswer(sum.Rows)
	if len(answer) > 0 {
		p.Blocks = append(append(p.Blocks, ""), o.wrap(answer)...)
	}
	framed, waiting := splitWaiting(sum.Rows)
	if len(answer) > 0 {
		framed = splitRun(sum.Rows).bare // the answer has the figures of the others
	}
	blocks := slices.Concat(seriesIn(framed, "stream"), seriesIn(framed, results.PatternRoundtrip))
	nameSeries(blocks)
	first, left := 0, 0 // the width of the first column; blocks without room
	for _, b := range blocks {
		first = max(first, b.firstColumn())
	}
	for _, b := range blocks {
		if lines := b.lines(o, first); len(answer) > 0 || len(p.Blocks) == 0 || len(p.Blocks)+len(lines) < screenFigures {
			p.Blocks = append(append(p.Blocks, ""), lines...)
		} else {
			left++
		}
	}
	most := screenLines
	lines := slices.Concat(stat.Map(
		stat.GroupBy(waiting, func(r stat.Row) [2]string { return [2]string{r.Machine, r.Cell.Placement} }),
		func(rows []stat.Row) []string { return waitingBlock(rows, o) })...)
	if len(lines) > 0 && (len(lines) < screenWaiting || len(answer) > 0) {
		p.Blocks, most = append(p.Blocks, lines...), screenMost
	} else if len(lines) > 0 {
		left++
	}
	if len(answer) == 0 {
		p.Conclusions = sum.Meaning
	}
	if n := len(p.Conclusions); n > screenMeaning { // the last is about placements
		p.Conclusions = append(p.Conclusions[:screenMeaning-1:screenMeaning-1], p.Conclusions[n-1])
	}
	p.Notes = screenNotes(s, sum)
	if left > 0 {
		p.Notes = append(p.Notes, results.FormatCount(left, "table")+" more with --detail")
	}
	height := func() int {
		return len(p.Header) + len(p.Blocks) + 1 + len(o.wrap(p.Conclusions)) + 1 + len(o.wrap(p.Notes))
	}
	for len(p.Conclusions) > 1 && height() > most {
		p.Conclusions = slices.Delete(slices.Clone(p.Conclusions), 1, 2)
	}
	return p
}

// width returns the columns that text may take.
func (o Options) width() int { return min(cmp.Or(max(o.Width, 0), screenWidth), screenWidth) }

// firstColumn returns the columns that the names of the framings take, and the title, which goes on
// above the first figure.
func (s series) firstColumn() int {
	const size = len("256 KiB ") // of it, right above the figure
	first := utf8.RuneCountInString(s.quantity()) - screenFigure + size
	for _, r := range s.rows {
		first = max(first, utf8.RuneCountInString(r.Cell.Framing)+1)
	}
	return first
}

// lines lays a series out: its name and sizes, raw, and each framing against it.
func (s series) lines(o Options, first int) []string {
	framings := stat.Distinct(s.rows, func(r stat.Row) string { return r.Cell.Framing })
	all := stat.Distinct(s.rows, func(r stat.Row) int { return r.Cell.Size })
	slices.Sort(all)
	// those that have room: the size that tells most, the ends, then the others
	sizes := slices.Concat([]int{s.size, all[len(all)-1], all[0]}, all)
	sizes = stat.Filter(stat.Distinct(sizes, stat.Itself), func(n int) bool { return slices.Contains(all, n) })
	sizes = sizes[:min(len(sizes), max(1, (o.width()-first)/screenFigure))]
	slices.Sort(sizes)
	line := s.quantity()
	for i, size := range sizes {
		line += fmt.Sprintf("%*s", first+(i+1)*screenFigure-utf8.RuneCountInString(line), FieldValue("size", fmt.Sprint(size)))
	}
	out := []string{line}
	for _, framing := range framings[:min(len(framings), screenFigures-2)] {
		line = fmt.Sprintf(" %-*s", first-1, Escape(framing))
		for _, size := range sizes {
			text, colour := "-", ""
			at := slices.IndexFunc(s.rows, func(r stat.Row) bool { return r.Cell.Framing == framing && r.Cell.Size == size })
			if at >= 0 {
				text, colour = screenText(s.rows[at])
			}
			line += strings.Repeat(" ", max(1, screenFigure-utf8.RuneCountInString(text))) + o.paint(text, colour)
		}
		out = append(out, line)
	}
	return out
}

// quantity names what the figures of a series are, and where it ran.
func (s series) quantity() string {
	due, roundTrip := s.cell.Rate > 0, s.cell.Pattern == results.PatternRoundtrip
	name := cmp.Or(when(due, "p99 from when due"), when(roundTrip, "Round trip"), "Goodput")
	if slices.ContainsFunc(s.rows, func(r stat.Row) bool { return r.ToRaw != nil }) && !due {
		name += " vs raw"
	}
	return name + ", " + Escape(s.short)
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

// screenText writes the figure of a cell with half its interval: what it has of raw's, or what raw
// has. Green costs nothing that can be seen, red is half of raw or less.
func screenText(r stat.Row) (text, colour string) {
	l, _ := r.PrimaryLatency()
	switch {
	case r.Unsupported != "":
		return "unsupp.", ""
	case r.Samples == 0:
		return strings.TrimSuffix(emptyWord(r), " ("+r.Stopped+")"), yellow
	case r.Cell.Rate > 0 && l.P99NS != nil:
		return results.FormatDuration(float64(*l.P99NS)), ""
	case r.ToRaw == nil && r.Cell.Pattern == results.PatternRoundtrip:
		return results.FormatDuration(r.Estimates["time"].Median), ""
	case r.ToRaw == nil:
		return results.FormatGoodput(r.Estimates["goodput"].Median), ""
	}
	text = withSpread(fmt.Sprintf("%.2f", r.ToRaw.Median), *r.ToRaw)
	slow := slowdown(r)
	switch {
	case text == tooNoisy:
		colour = yellow
	case isRough(r):
		text, colour = strings.Replace(text, " ±", "?±", 1), yellow
	case r.ToRaw.Interval != nil && !slow.Above(1):
		colour = green
	case slow.Above(2):
		colour = red
	}
	return text, colour
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

// screenNotes say how to read the figures, and what a person can do about them, in few lines.
func screenNotes(s *results.Set, sum Summary) []string {
	out := sampleNotes(sum.Rows)
	for i, text := range out {
		out[i] = strings.Replace(text, "± is the 95 % interval of the median", "± is half the 95 % interval", 1)
	}
	if slices.ContainsFunc(sum.Rows, isRough) {
		out = append(out, fmt.Sprintf("? is known to no better than ±%d %%: run again on a quieter machine, or longer (--max-time)", roughSpread))
	}
	if i := slices.IndexFunc(sum.Rows, func(r stat.Row) bool { return r.ToRawByCPU != nil }); i >= 0 {
		r := sum.Rows[i]
		out = append(out, fmt.Sprintf("by CPU time, which others do not touch, %s at %s has %.2f of raw, not %.2f", r.Cell.Framing,
			fieldText(r.Cell, "size"), r.ToRawByCPU.Median, r.ToRaw.Median))
	}
	said, doubts := []string{}, slices.Clone(sum.Warnings)
	for _, r := range sum.Rows {
		doubts = append(doubts, r.Warnings...)
		said = append(said, rowWarnings(stat.Row{Unsupported: r.Unsupported, Failed: r.Failed})...)
	}
	out = append(out, stat.Distinct(said, stat.Itself)...)
	doubts = stat.Distinct(doubts, stat.Itself)
	warned := len(stat.Filter(sum.Rows, func(r stat.Row) bool { return len(r.Warnings) > 0 }))
	busy := slices.IndexFunc(doubts, func(w string) bool { return strings.HasPrefix(w, busyWarning) })
	cells := fmt.Sprintf("%d of %s", warned, results.FormatCount(len(sum.Rows), "cell"))
	switch {
	case busy >= 0:
		out = append(out, "busy machine: "+strings.TrimPrefix(doubts[busy], busyWarning))
	case len(sum.Warnings) > 0:
		out = append(out, "every cell: "+sum.Warnings[0])
	case len(doubts) == 1:
		out = append(out, cells+": "+doubts[0])
	case warned > 0:
		out = append(out, cells+" have warnings, see --detail")
	}
	isCut := func(r results.Record) bool { return r.Stopped == "interrupted" || r.Stopped == "failed" }
	if i := slices.IndexFunc(s.Records, isCut); i >= 0 {
		out = append(out, "the run was cut short ("+s.Records[i].Stopped+"): this is what was finished")
	}
	return out
}

// busyWarning begins the warning that others use the machine.
const busyWarning = "load: "

// A waitingColumn is a column of the block about writers that do not block: a figure against one
// kind of reader, of all framings together.
type waitingColumn struct {
	title  string
	width  int
	metric string
	format func(float64) string
}

// Columns of a reader that stays, and of one that leaves.
var (
	stayColumns = []waitingColumn{
		{"EAGAIN/msg", 11, "eagain", countText},
		{"short/msg", 10, "short", countText},
		{"goodput", 10, "goodput", results.FormatGoodput},
	}
	leaveColumns = []waitingColumn{
		{"lost", 9, "lost", func(v float64) string { return results.FormatNumber(v/1024, 3) + " KiB" }},
		{"told in", 10, "told", results.FormatDuration},
	}
)

// splitWaiting takes out of rows those about writers that do not block.
func splitWaiting(rows []stat.Row) (framed, waiting []stat.Row) {
	framed = stat.Filter(rows, func(r stat.Row) bool { return !r.Cell.IsWaiting() })
	return framed, stat.Filter(rows, func(r stat.Row) bool { return r.Cell.IsWaiting() })
}

// waitingBlock is about writers that do not block: a line for each way to wait and size, with columns
// for a fast, a slow and a leaving reader, as many as have room. Figures are the range over the framings.
func waitingBlock(rows []stat.Row, o Options) []string {
	const first = 19
	readers := stat.Distinct(rows, readerOf)
	slices.SortFunc(readers, func(a, b results.Cell) int { return cmp.Or(a.ClosesAfter-b.ClosesAfter, cmp.Compare(a.Drain, b.Drain)) })
	columns := func(c results.Cell) []waitingColumn {
		return map[bool][]waitingColumn{true: leaveColumns, false: stayColumns}[c.ClosesAfter > 0]
	}
	room := o.width() - first
	readers = stat.Filter(readers, func(c results.Cell) bool {
		taken := 0
		for _, column := range columns(c) {
			taken += column.width
		}
		if taken > room {
			return false
		}
		room -= taken
		return true
	})
	title, heads := "Non-blocking writer, "+shortPlacement(rows[0].Cell.Placement), strings.Repeat(" ", first)
	for i, to := range readers {
		name := readerPhrase(to, rows)
		at := len(heads) + 2
		for _, c := range columns(to) {
			heads += fmt.Sprintf("%*s", c.width, c.title)
		}
		if i == len(readers)-1 && len(readers) > 1 {
			at = len(heads) - utf8.RuneCountInString(name)
		}
		title += strings.Repeat(" ", max(1, at-utf8.RuneCountInString(title))) + name
	}
	out := []string{"", title, heads}
	for _, alike := range stat.GroupBy(rows, func(r stat.Row) string { return fmt.Sprintf("%012d %s", r.Cell.Size, r.Cell.IO) }) {
		c := alike[0].Cell
		writer, _, _ := strings.Cut(c.IO, "/")
		line := fmt.Sprintf(" %-*s%*s", first-9, writer, 8, fieldText(c, "size"))
		for _, to := range readers {
			own := stat.Filter(alike, func(r stat.Row) bool { return readerOf(r) == to && r.Samples > 0 })
			for _, column := range columns(to) {
				line += fmt.Sprintf(" %*s", column.width-1, column.text(own, rows))
			}
		}
		out = append(out, line)
	}
	return out
}

// readerOf returns what a cell says of its reader alone.
func readerOf(r stat.Row) results.Cell {
	return results.Cell{Drain: r.Cell.Drain, ClosesAfter: r.Cell.ClosesAfter}
}

// readerPhrase says what a reader does, and of one that leaves by what the writers learned it.
func readerPhrase(c results.Cell, rows []stat.Row) string {
	at := slices.IndexFunc(rows, func(r stat.Row) bool { return readerOf(r) == c && r.Told != "" })
	switch {
	case at >= 0:
		return "leaves (" + rows[at].Told + ")"
	case c.ClosesAfter > 0:
		return FieldPhrase("closes_after", c.Field("closes_after"))
	}
	return FieldPhrase("drain", c.Field("drain"))
}

// text writes the least and the greatest figure of the framings' rows where they differ and have
// room, else the median. Goodput has that of poll(2) as its measure, all else the same, where that
// is among all.
func (c waitingColumn) text(rows, all []stat.Row) string {
	var values []float64
	for _, r := range rows {
		e, polled := r.Estimates[c.metric], r.Cell
		polled.IO = "poll/blocking"
		at := slices.IndexFunc(all, func(o stat.Row) bool {
			return o.Cell == polled && o.Machine == r.Machine && o.Samples > 0
		})
		if c.metric == "goodput" && at >= 0 && polled != r.Cell {
			e = stat.PairedRatio(stat.MustMetric("goodput"), r.Records, all[at].Records)
			c.format = func(v float64) string { return "×" + results.FormatNumber(v, 2) }
		}
		if e.N > 0 {
			values = append(values, e.Median)
		}
	}
	if len(values) == 0 {
		return "-"
	}
	least, most := c.format(slices.Min(values)), c.format(slices.Max(values))
	if text := least + "–" + most; least != most && utf8.RuneCountInString(text) < c.width {
		return text
	}
	return c.format(stat.Median(values).Median)
}
