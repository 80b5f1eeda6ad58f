package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// An Answer is a decision in plain words, with the figures behind it.
type Answer struct {
	Decision
	Sentences []string `json:"sentences"`
}

// Answer says in words what the decision means. The parameter reader is the CPU time that the
// user's own program spends on its input, or nil if that was not measured.
func (d Decision) Answer(reader *ReaderCost) Answer {
	a := Answer{Decision: d}
	measured := d.Measured()
	parses := false // noise hides no advice for a reader that parses
	if reader != nil && measured {
		a.Sentences = append(a.Sentences, d.readerAdvice(*reader))
		parses = reader.Parses()
	}
	a.Sentences = append(a.Sentences, protocolNote)
	switch {
	case parses:
	case d.Unproven != "" && d.interrupted:
		a.Sentences = append(a.Sentences, "Not proven: "+d.Unproven+". Run it again to the end.")
	case d.Unproven != "":
		a.Sentences = append(a.Sentences, "Not proven: "+d.Unproven+
			". Close other programs, or give it more time (--max-time).")
	case d.interrupted:
		a.Sentences = append(a.Sentences, "Interrupted: more samples may change this.")
	}
	if !measured {
		return a
	}
	advice := []string{d.chunkAdvice()}
	if !parses {
		advice = []string{
			d.workingAdvice(), d.movingAdvice(), d.pipeWarning(), d.chunkAdvice(), d.goodputs(),
		}
	}
	for _, sentence := range advice {
		if sentence != "" {
			a.Sentences = append(a.Sentences, sentence)
		}
	}
	return a
}

const protocolNote = "Chunks need a protocol that both ends speak: MCP and LSP have no " +
	"chunks. A larger pipe and smaller writes do not change the bytes that are sent."

// CPU time per byte, in ns. A reader that parses spends parsesNS or more, and one that only moves
// bytes spends less than movesNS.
const (
	parsesNS = 1
	movesNS  = 0.3
)

// Parses reports whether the program works on the bytes. For such a reader, noise hides no advice.
func (r ReaderCost) Parses() bool { return r >= parsesNS }

// readerAdvice says what to change for the user's reader, by the CPU time that it spends per byte.
func (d Decision) readerAdvice(r ReaderCost) string {
	text := fmt.Sprintf("Your reader spends %s ns of CPU per byte: ",
		results.FormatNumber(float64(r), 2))
	switch {
	case r.Parses():
		return text + "it works on the bytes. Change nothing."
	case r >= movesNS:
		return text + "a larger pipe may still gain. " +
			"Measure your program with the change before you keep it."
	case d.Lever == unchanged:
		return text + "it only moves them, and yet no change gains here. Change nothing."
	}
	return text + "it only moves them. Use " + d.Lever.String() + "."
}

// workingAdvice says what a change gains if the reader works on the bytes.
func (d Decision) workingAdvice() string {
	c := d.Lever
	if c == unchanged {
		c = choices[1] // the simplest change, to say what it would bring
	}
	var changes []string
	var gains, unsure bool
	for _, r := range workingReaders {
		e, ok := d.ratio("goodput", c, "free", "stream", r)
		if !ok {
			continue
		}
		gains = gains || e.Above(worthIt)
		unsure = unsure || !e.Below(worthIt)
		change := changeText(e)
		if change != "" {
			changes = append(changes, fmt.Sprintf("%s at %g ns per byte", change, r.work))
		}
	}
	all := strings.Join(changes, ", ")
	switch {
	case gains && all != "":
		return fmt.Sprintf("If your reader works on the bytes, use %s: goodput %s.", c, all)
	case unsure || gains:
		text := fmt.Sprintf("If your reader parses (1 ns per byte or more): cannot tell the "+
			"gain of %s", c)
		if all != "" {
			text += ": " + all
		}
		text += ". Change nothing until you know."
		if d.Unproven == "" { // else Answer has said how to
			text += " More time tells (--max-time)."
		}
		return text
	case all == "":
		return ""
	}
	return fmt.Sprintf("If your reader parses (1 ns per byte or more): change nothing. With %s "+
		"its goodput changes by %s.", c, all)
}

// changeText writes the interval of a ratio as a change in percent: "-2 to +6 %". It returns "" if
// there is no interval, or if its bounds differ more than fourfold.
func changeText(ratio stat.Estimate) string {
	if ratio.Interval == nil || ratio.Interval.Hi > 4*ratio.Interval.Lo {
		return ""
	}
	percent := func(ratio float64) string {
		return fmt.Sprintf("%+.0f %%", math.Round(100*(ratio-1))+0) // + 0: never "-0 %"
	}
	return view.FromTo(percent(ratio.Interval.Lo), percent(ratio.Interval.Hi))
}

// movingAdvice says what to change if the reader only moves bytes.
func (d Decision) movingAdvice() string {
	switch {
	case d.Lever == unchanged && d.Unproven != "":
		return "If your reader only moves bytes: change nothing until you know." + d.gambleText()
	case d.Lever == unchanged:
		return "If your reader only moves bytes: change nothing." + d.gambleText()
	}
	var times, alike, noisy []string
	for _, place := range d.places() {
		before, found := d.find(unchanged, place, results.PatternRoundtrip, movingReader)
		after, foundAfter := d.find(d.Lever, place, results.PatternRoundtrip, movingReader)
		if !found || !foundAfter {
			continue
		}
		gain, _ := d.ratio("time", d.Lever, place, results.PatternRoundtrip, movingReader)
		where := results.PlacementPhrase(place)
		switch {
		case gain.Above(1) || gain.Below(1):
			times = append(times, fmt.Sprintf("%s instead of %s %s",
				medianText(d.trip, after), medianText(d.trip, before), where))
		case isBlurred(gain):
			noisy = append(noisy, where)
		default:
			alike = append(alike, where)
		}
	}
	if len(alike) > 0 {
		times = append(times, "about as long as before "+strings.Join(alike, " and "))
	}
	how := ""
	if d.Lever.Capacity > 0 {
		how = " (F_SETPIPE_SZ on Linux, by either end)"
	}
	larger := Choice{Capacity: largestPipe, WriteSize: d.Lever.WriteSize}
	more, _ := d.weigh(larger, d.Lever)
	if how != "" && larger != d.Lever && more.gain < more.halfWidth {
		how += "; a larger one does not surely gain more"
	}
	verb := "use"
	if d.Unproven != "" {
		verb = "try"
	}
	advice := fmt.Sprintf("If your reader only moves bytes: %s %s%s.", verb, d.Lever, how)
	size := results.FormatSize(int64(d.shared.Size))
	if len(times) == 0 {
		return advice + " Too noisy to tell how long a round trip of " + size + " then takes."
	}
	text := fmt.Sprintf("%s The %s round trip of %s then takes %s",
		advice, d.tripName(), size, strings.Join(times, ", "))
	if len(noisy) > 0 {
		text += "; too noisy to tell " + strings.Join(noisy, " and ")
	}
	return text + "."
}

// bestGamble returns the change that gains most at a single placement, of those that surely gain
// there. It also returns the placement, which is "" if no change surely gains.
func (d Decision) bestGamble() (best Choice, at string) {
	gain := worthIt
	for _, c := range choices {
		for _, place := range d.places() {
			e, ok := d.ratio("goodput", c, place, "stream", movingReader)
			if ok && c.Chunk == 0 && e.Above(worthIt) && !isBlurred(e) && e.Median > gain {
				best = c
				gain = e.Median
				at = place
			}
		}
	}
	return best, at
}

func (d Decision) gambleText() string {
	best, at := d.bestGamble()
	if at == "" {
		return ""
	}
	gain, _ := d.ratio("goodput", best, at, "stream", movingReader)
	return fmt.Sprintf(" Only if you know that the ends run %s, use %s: goodput is %s times as "+
		"high there. Elsewhere, it may be lower.",
		results.PlacementPhrase(at), best, results.FormatNumber(gain.Median, 2))
}

// chunkAdvice says by how much chunks shorten the wait of small messages.
func (d Decision) chunkAdvice() string {
	if d.Chunk == 0 {
		return ""
	}
	c := Choice{Chunk: d.Chunk}
	text := "Use chunk frames only if small messages must not wait behind large ones: " +
		c.String() + " " + d.waitText(c)
	latency := d
	latency.Objective = Latency
	latency.decideChunk()
	smaller := Choice{Chunk: latency.Chunk}
	slowest := slowReaders[len(slowReaders)-1]
	shorter, _ := d.ratioTo(c, waitMetric, smaller, "free", bench.PatternMixed, slowest)
	if smaller.Chunk < c.Chunk && shorter.Above(1) {
		text += "; " + smaller.String() + " shorten it more and cost more: --objective latency"
	}
	return text + "."
}

// usualWrites has the size that people advise most.
var usualWrites = Choice{WriteSize: 64 << 10}

// goodputs says how the advised change, smaller writes and chunks change the goodput.
func (d Decision) goodputs() string {
	var told, noisy []string
	for _, c := range slices.Compact([]Choice{d.Lever, usualWrites, {Chunk: d.Chunk}}) {
		var changes, hidden []string
		for _, place := range d.places() {
			e, ok := d.ratio("goodput", c, place, "stream", movingReader)
			where := results.PlacementPhrase(place)
			change := changeText(e)
			switch {
			case !ok || c == unchanged:
			case change == "":
				hidden = append(hidden, where)
			default:
				changes = append(changes, change+" "+where)
			}
		}
		switch {
		case len(changes) > 0:
			told = append(told, c.String()+" "+strings.Join(changes, ", "))
			if len(hidden) > 0 {
				noisy = append(noisy, c.String()+" "+strings.Join(hidden, " and "))
			}
		case len(hidden) > 0:
			noisy = append(noisy, c.String())
		}
	}
	text := ""
	if len(told) > 0 {
		text = fmt.Sprintf("Goodput compared with %s: %s. ", unchanged, strings.Join(told, "; "))
	}
	if len(noisy) > 0 {
		text += "Too noisy to tell how goodput changes with " + strings.Join(noisy, ", with ") + "."
	}
	return strings.TrimSpace(text)
}

// waitText says by how much chunks shorten the wait of small messages.
func (d Decision) waitText(c Choice) string {
	var waits, hidden []string
	for _, r := range slowReaders {
		before, found := d.find(unchanged, "free", bench.PatternMixed, r)
		after, foundAfter := d.find(c, "free", bench.PatternMixed, r)
		if !found || !foundAfter {
			continue
		}
		rate := r.rate()
		gain, _ := d.ratio(waitMetric, c, "free", bench.PatternMixed, r)
		wait := stat.EstimateOf(waitMetric, before.Samples)
		shorter := stat.EstimateOf(waitMetric, after.Samples)
		isRough := view.IsRough(wait) || view.IsRough(shorter) // as in the picture
		if isBlurred(gain) && !gain.Above(1) && isRough {
			hidden = append(hidden, rate)
			continue
		}
		waits = append(waits, fmt.Sprintf("from %s to %s behind a reader of %s",
			view.RoughText(waitMetric, wait), view.RoughText(waitMetric, shorter), rate))
	}
	text := "may shorten that wait"
	if len(waits) > 0 {
		text = "shorten that wait " + strings.Join(waits, ", ")
	}
	if len(hidden) > 0 {
		text += "; too noisy to tell behind a reader of " + strings.Join(hidden, " or ")
	}
	return text
}

// pipeWarning says how long small messages wait for a slow reader in each pipe, if they wait longer
// in a larger one: they wait for all the bytes in it.
func (d Decision) pipeWarning() string {
	slowest := slowReaders[len(slowReaders)-1]
	largest := Choice{Capacity: largestPipe}
	ratio, ok := d.ratio(waitMetric, largest, "free", bench.PatternMixed, slowest)
	switch {
	case d.Lever.Capacity == 0 || !ok:
		return ""
	case isBlurred(ratio) && !ratio.Below(1) && !ratio.Above(1):
		return "Too noisy to tell whether small messages wait longer in a larger pipe."
	case ratio.Median > 1/1.1: // the wait is longer by less than a tenth, or shorter
		return ""
	}
	var waits []string
	for _, c := range choices {
		r, found := d.find(c, "free", bench.PatternMixed, slowest)
		if found && c.Chunk == 0 {
			pipe := strings.TrimPrefix(c.String(), "whole messages through ")
			waits = append(waits, medianText(waitMetric, r)+" with "+pipe)
		}
	}
	return fmt.Sprintf("If the reader takes %s, a small message behind a large one waits %s.",
		slowest.rate(), strings.Join(waits, ", "))
}

// rate says how fast a slow reader takes bytes: "20 MB/s".
func (r reader) rate() string {
	return view.FieldValue("drain", strconv.FormatInt(r.drain, 10))
}

func medianText(metric string, r results.Record) string {
	return view.RoughText(metric, stat.EstimateOf(metric, r.Samples))
}

// A tableColumn says which figure of each way to send stands in a column.
type tableColumn struct {
	title, metric  string
	place, pattern string
	reader         reader
}

// makeTables makes two tables with a row for each way to send: one of goodput, and one of
// round-trip times and of how long small messages wait.
func (d Decision) makeTables(detail bool) []view.Table {
	var goodput, times []tableColumn
	for _, place := range d.places() {
		title := results.ShortPlacement(place)
		goodput = append(goodput, tableColumn{title, "goodput", place, "stream", movingReader})
		times = append(times,
			tableColumn{title, d.trip, place, results.PatternRoundtrip, movingReader})
	}
	for _, r := range workingReaders {
		title := fmt.Sprintf("at %g ns/B", r.work)
		goodput = append(goodput, tableColumn{title, "goodput", "free", "stream", r})
	}
	for _, r := range slowReaders {
		title := "wait, " + r.rate()
		times = append(times, tableColumn{title, waitMetric, "free", bench.PatternMixed, r})
	}
	size := results.FormatSize(int64(d.shared.Size))
	trips := fmt.Sprintf("Round trip of %s (%s), and wait of small messages behind it",
		size, d.tripName())
	return []view.Table{
		d.makeTable("Goodput of messages of "+size, goodput, detail),
		d.makeTable(trips, times, detail),
	}
}

// makeTable makes a table of medians. It leaves out the ways to send that have none.
func (d Decision) makeTable(title string, columns []tableColumn, detail bool) view.Table {
	t := view.Table{Title: title, Columns: []view.Column{{Title: "sent with", Key: true}}}
	for _, column := range columns {
		t.Columns = append(t.Columns, view.Column{Title: column.title, Right: true})
	}
	for _, c := range choices {
		if !detail && !d.isNamed(c) {
			continue
		}
		row := []string{c.short()}
		measured := false
		for _, column := range columns {
			record, found := d.find(c, column.place, column.pattern, column.reader)
			figure := "-"
			if found {
				figure = medianText(column.metric, record)
				measured = true
			}
			row = append(row, figure)
		}
		if measured {
			t.Append(row...)
		}
	}
	return t
}

// isNamed reports whether the answer names a choice.
func (d Decision) isNamed(c Choice) bool {
	isExample := d.Lever == unchanged && c == choices[1] // see workingAdvice
	gamble, _ := d.bestGamble()
	isGamble := d.Lever == unchanged && c == gamble // see movingAdvice
	isUsual := c == usualWrites || c == Choice{Chunk: 60 << 10}
	return c == unchanged || c == d.Lever || c == Choice{Chunk: d.Chunk} || isUsual ||
		isExample || isGamble
}

// Page is the answer as a view shows it. Without detail, its tables have only the choices that the
// answer names.
func (a Answer) Page(detail bool) view.Page {
	p := view.Page{Header: a.Sentences}
	if !a.Measured() {
		return p
	}
	p.Tables = a.makeTables(detail)
	if !detail {
		p.Notes = []string{"--detail shows all ways to send"}
	}
	p.Notes = append(p.Notes, view.RoughNote(p.Tables))
	return p
}

// Finding is the answer as the results file keeps it, without the run and the time.
func (a Answer) Finding() results.Finding {
	f := results.Finding{
		ID:      results.AreaTune + "/sending",
		Title:   "How to send messages of " + results.FormatSize(int64(a.shared.Size)) + " here",
		Verdict: results.Noted,
		Value:   a.Lever.String(),
		Found:   strings.Join(a.Sentences, "\n"),
	}
	if a.Unproven != "" {
		f.Verdict = results.CannotTell
	}
	f.Evidence = results.MustEvidence(a.Decision)
	return f
}
