package tune

import (
	"fmt"
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
	if !parses {
		a.Sentences = append(a.Sentences, d.workingAdvice(), d.movingAdvice())
	}
	if !parses && d.Lever.Capacity > 0 { // small messages wait for all the bytes in the pipe
		a.Sentences = append(a.Sentences, d.waits(Choice{Capacity: d.Lever.Capacity}))
	}
	a.Sentences = append(a.Sentences, d.chunkAdvice())
	a.Sentences = slices.DeleteFunc(a.Sentences, func(s string) bool { return s == "" })
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
	}
	return text + "it only moves them."
}

// workingAdvice says whether a change gains if the reader works on the bytes.
func (d Decision) workingAdvice() string {
	c := d.Lever
	if c == unchanged {
		c = choices[1] // the simplest change, to say what it would bring
	}
	var gains, unsure, known []string // the readers
	for _, r := range workingReaders {
		e, ok := d.ratio("goodput", c, "free", "stream", r)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%g ns per byte", r.work)
		switch view.Judge(e, worthIt) {
		case view.Gain:
			gains = append(gains, view.TimesAsFast(e)+" at "+name)
		case view.Unclear:
			unsure = append(unsure, name)
		default:
			known = append(known, name)
		}
	}
	const start = "If your reader parses (1 ns per byte or more): "
	switch {
	case len(gains) > 0:
		return fmt.Sprintf("%suse %s: %s.", start, c, strings.Join(gains, ", "))
	case len(unsure) > 0:
		return fmt.Sprintf("%scannot tell the gain of %s at %s. Change nothing until you know.",
			start, c, strings.Join(unsure, " and "))
	case len(known) == 0:
		return ""
	}
	return fmt.Sprintf("%schange nothing: %s certainly gains less than %.0f %%.", start, c,
		100*(worthIt-1))
}

// movingAdvice says what to change if the reader only moves bytes.
func (d Decision) movingAdvice() string {
	const start = "If your reader only moves bytes: "
	switch {
	case d.Lever == unchanged && d.Unproven != "":
		return start + "change nothing until you know." + d.gambleText()
	case d.Lever == unchanged:
		return fmt.Sprintf("%schange nothing. Each change certainly loses somewhere, or certainly "+
			"gains less than %.0f %% on average.%s", start, 100*(worthIt-1), d.gambleText())
	}
	how := ""
	if d.Lever.Capacity > 0 {
		how = " (F_SETPIPE_SZ on Linux, by either end)"
	}
	verb := "use"
	if d.Unproven != "" {
		verb = "try"
	}
	return fmt.Sprintf("%s%s %s%s.", start, verb, d.Lever, how)
}

// bestGamble returns the change that gains most at a single placement by the figures of the table,
// of those that surely gain there. It also returns the placement, which is "" if no change surely
// gains, and the ratio.
func (d Decision) bestGamble() (best Choice, at string, gain stat.Estimate) {
	most := 0.0
	for _, c := range choices {
		for _, place := range d.places() {
			e, ok := d.ratio("goodput", c, place, "stream", movingReader)
			isGain := ok && view.Judge(e, worthIt) == view.Gain
			if !isGain || c.Chunk > 0 {
				continue
			}
			shown := d.shownRatio("goodput", c, unchanged, place, "stream")
			if shown > most {
				most = shown
				best = c
				at = place
				gain = e
			}
		}
	}
	return best, at, gain
}

func (d Decision) gambleText() string {
	best, at, gain := d.bestGamble()
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" Only if you know that the ends run %s, use %s: %s. "+
		"Elsewhere, it may lose.", results.PlacementPhrase(at), best, view.TimesAsFast(gain))
}

// chunkAdvice says when to use chunks, and how long small messages then wait.
func (d Decision) chunkAdvice() string {
	if d.Chunk == 0 {
		return ""
	}
	return "Use chunk frames only if small messages must not wait behind large ones. " +
		d.waits(Choice{Chunk: d.Chunk}) +
		" No other size is certainly better in speed and wait together."
}

// waits says how long small messages wait behind large ones with a choice, compared with whole
// messages through the usual pipe.
func (d Decision) waits(c Choice) string {
	pairs := d.waitPairs(c)
	if len(pairs) == 0 {
		return ""
	}
	return "With " + c.String() + ", " + view.ChunkWaits("a small message", pairs) + "."
}

// waitPairs returns the waits of whole messages and of a choice, for each slow reader.
func (d Decision) waitPairs(c Choice) (pairs [][2]stat.Row) {
	for _, r := range slowReaders {
		usual, found := d.find(unchanged, "free", bench.PatternMixed, r)
		own, foundOwn := d.find(c, "free", bench.PatternMixed, r)
		if found && foundOwn {
			pairs = append(pairs, [2]stat.Row{
				stat.SampleRow("", usual.Cell, usual.Samples),
				stat.SampleRow("", own.Cell, own.Samples),
			})
		}
	}
	return pairs
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
		title := "wait, " + view.FieldValue("drain", strconv.FormatInt(r.drain, 10))
		times = append(times, tableColumn{title, waitMetric, "free", bench.PatternMixed, r})
	}
	size := results.FormatSize(int64(d.shared.Size))
	average := "median"
	if d.trip != medianTrip {
		average = "mean"
	}
	trips := fmt.Sprintf("Round trip of %s (%s), and wait of small messages behind it",
		size, average)
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
				e := stat.EstimateOf(column.metric, record.Samples)
				figure = view.RoughText(column.metric, e)
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
	named := []Choice{
		unchanged, d.Lever, {Chunk: d.Chunk},
		{WriteSize: 64 << 10}, {Chunk: 60 << 10}, // the sizes that people advise most
	}
	if d.Lever == unchanged {
		gamble, _, _ := d.bestGamble()
		named = append(named, choices[1], gamble) // see workingAdvice and movingAdvice
	}
	return slices.Contains(named, c)
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

// JudgeAnew replaces the answers in a set, which other versions may have given, by what the records
// of their runs say. It keeps an answer whose records are not there.
func JudgeAnew(set *results.Set) {
	for i, f := range set.Findings {
		var stored struct{ Objective Objective }
		if f.Area() != results.AreaTune || f.Evidence.Decode(&stored) != nil {
			continue
		}
		d := Decide(set.OfRun(f.Run).Records, stored.Objective)
		if !d.Measured() {
			continue
		}
		var reader *ReaderCost
		var ns float64
		if n, _ := fmt.Sscanf(f.Found, "Your reader spends %g ns", &ns); n == 1 {
			reader = new(ReaderCost(ns))
		}
		judged := d.Answer(reader).Finding()
		judged.Kind = f.Kind
		judged.Run = f.Run
		judged.Time = f.Time
		set.Findings[i] = judged
	}
}
