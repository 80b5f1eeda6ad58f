package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// patternStream is the pattern of messages one way.
const patternStream = "stream"

// runRows are rows by the question that they answer.
type runRows struct {
	bare    []stat.Row // what a framing costs as a bare transport
	program []stat.Row // its cost in a program that makes messages and looks at them
	levers  []stat.Row // one large message, with larger pipes and smaller writes
	mixed   []stat.Row // small messages behind large ones
	waiting []stat.Row // writers that do not block
}

// splitRun sorts rows by the question that they answer. The large message through the usual pipe
// answers two questions, so its row is in bare and in levers. In a run without cells of a program,
// unlike the default one, somebody asked for the levers: they count as bare transports.
func splitRun(rows []stat.Row) runRows {
	var s runRows
	for _, r := range rows {
		c := r.Cell
		switch {
		case c.IsWaiting():
			s.waiting = append(s.waiting, r)
		case c.Pattern == results.PatternMixed:
			s.mixed = append(s.mixed, r)
		case c.Source == "fresh" && c.Touch:
			s.program = append(s.program, r)
		case c.Pattern == patternStream && (c.Capacity > 0 || c.WriteSize > 0):
			s.levers = append(s.levers, r)
		default:
			s.bare = append(s.bare, r)
		}
	}
	if len(s.levers) == 0 {
		return s
	}
	alone := s.levers
	large := alone[0].Cell
	for _, r := range s.bare {
		c := r.Cell
		if c.Framing == large.Framing && c.Size == large.Size && c.Pattern == large.Pattern {
			s.levers = append(s.levers, r)
		}
	}
	if len(s.program) == 0 { // somebody asked for these settings, and compares them
		s.levers = nil
		s.bare = append(s.bare, alone...)
	}
	return s
}

// meaning says in plain sentences what rows mean for a person. It claims only what the intervals of
// the figures show. If they are too wide to tell framings apart, it says so first, and then what is
// certain all the same.
func meaning(rows []stat.Row) []string {
	run := splitRun(rows)
	noisy := isTooNoisyToRank(rows, run.bare)
	effects := []sentence{
		leverSentence(run.levers),
		mixedSentence(run.mixed),
		refusalSentence(run.waiting, noisy),
	}
	program := programSentence(run.program)
	if noisy || hasTooFewSamples(rows) { // no shares of raw's goodput can be told
		instead := []sentence{tripSentence(run.bare), overheadSentence(run.bare)}
		effects = append(instead, effects...)
	}
	if noisy {
		if !program.noisy {
			effects = append([]sentence{program}, effects...)
		}
		return noisyMeaning(rows, effects)
	}
	texts := append(transportSentences(run.bare), program.text)
	for _, effect := range effects {
		texts = append(texts, effect.text)
	}
	return nonEmpty(texts)
}

// A sentence is what a run says about one question, "" if it did not ask it.
type sentence struct {
	text  string
	noisy bool // noise hides the answer, and the text says so
}

// mostPlaces is how many series of cells have a sentence; the others are only in the tables.
const mostPlaces = 4

// transportSentences say, for each place, what share of raw's goodput each framing keeps if nothing
// else is done with the bytes.
func transportSentences(bare []stat.Row) []string {
	var out, noisy []string
	more := 0
	size := -1
	faster := false // than raw
	for _, one := range seriesIn(bare, patternStream) {
		text := one.sharesText()
		if text == tooNoisyToTell {
			noisy = append(noisy, one.where)
			continue
		}
		if text == "" {
			continue
		}
		if len(out) == mostPlaces {
			more++
			continue
		}
		sizes := ""
		if one.size != size {
			sizes = " (messages of " + SizeTitle(one.size) + ")"
		}
		start := capitalised(one.where)
		if len(out) == 0 {
			start = "Speed compared with raw bytes " + one.where
		}
		size = one.size
		out = append(out, start+sizes+": "+text+".")
		known, _ := one.kept()
		faster = faster || len(known) > 0 && known[0].ToRaw.Above(gainThatCounts)
	}
	if room := mostPlaces - len(out); len(noisy) > room {
		more += len(noisy) - room
		noisy = noisy[:room]
	}
	if len(noisy) > 0 {
		out = append(out, "The figures "+joinAnd(noisy)+" are too noisy to tell framings apart.")
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more places and settings are in the tables.", more))
	}
	if faster {
		out = append(out, "Framed bytes can be faster than raw ones: on two CPUs it matters most "+
			"how often the ends wait for each other (pipebench help sending).")
	}
	return out
}

// capitalised returns a text with its first letter as a capital.
func capitalised(text string) string {
	return strings.ToUpper(text[:1]) + text[1:]
}

// A series is the rows that differ in framing and size alone.
type series struct {
	cell  results.Cell // framing and size left out
	where string       // "on one CPU", and the other fields in which the series differ
	short string       // the same in few words, for a title: "one CPU"
	size  int          // the message size at which the series is summed up, see tellingSize
	rows  []stat.Row
}

// seriesIn gathers the series of rows with a pattern, and says of each where it ran.
func seriesIn(rows []stat.Row, pattern string) []series {
	var own []stat.Row
	for _, r := range rows {
		if r.Cell.Pattern == pattern {
			own = append(own, r)
		}
	}
	var all []series
	var cells []results.Cell
	for _, alike := range grouped(own, func(r stat.Row) results.Cell {
		return stat.SeriesCell(r.Cell)
	}) {
		cell := stat.SeriesCell(alike[0].Cell)
		all = append(all, series{cell: cell, rows: alike})
		cells = append(cells, cell)
	}
	differ := results.DifferingFields(cells, "placement", "framing", "size", "pattern")
	for i := range all {
		one := &all[i]
		one.size = tellingSize(one.rows)
		one.where = PlacementPhrase(one.cell.Placement)
		one.short = ShortPlacement(one.cell.Placement)
		for _, name := range differ {
			value := one.cell.Field(name)
			if value != "" { // a field that is not set needs no word
				one.where += " with " + name + " " + FieldValue(name, value)
				one.short += ", " + FieldPhrase(name, value)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b series) int {
		return placementIndex(a.cell.Placement) - placementIndex(b.cell.Placement)
	})
	return all
}

// usualSize is the usual capacity of a pipe on Linux, in bytes, and close to the chunk sizes that
// people choose.
const usualSize = 65_536

// tellingSize is the size nearest to usualSize. Sizes at which a framing is compared with raw come
// first.
func tellingSize(rows []stat.Row) int {
	best := rows[0]
	for _, r := range rows {
		better := sizeDistance(r.Cell.Size) < sizeDistance(best.Cell.Size)
		if besideRaw(r) != besideRaw(best) {
			better = besideRaw(r)
		}
		if better {
			best = r
		}
	}
	return best.Cell.Size
}

// sizeDistance is how far a size is from the usual one, as the logarithm of a ratio.
func sizeDistance(size int) float64 { return math.Abs(math.Log(float64(size+1) / usualSize)) }

// besideRaw reports whether a row has a ratio to raw with an interval.
func besideRaw(r stat.Row) bool { return r.ToRaw != nil && r.ToRaw.Interval != nil }

// kept returns the rows of a series at its size that keep a known share of raw's goodput, best
// first, and apart from them the rows that are too noisy to say.
func (s series) kept() (all, noisy []stat.Row) {
	for _, r := range s.rows {
		switch {
		case r.Cell.Size != s.size || !besideRaw(r):
		case isTooNoisy(r):
			noisy = append(noisy, r)
		default:
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b stat.Row) int {
		return cmp.Compare(b.ToRaw.Median, a.ToRaw.Median)
	})
	return all, noisy
}

// alikeShare is a distance between the shares of two framings: if they are closer, their order may
// change from one run to the next.
const alikeShare = 0.01

// sharesAlike reports whether the shares of two rows may be the same: their intervals overlap, or
// nearly do.
func sharesAlike(a, b stat.Row) bool { return estimatesAlike(*a.ToRaw, *b.ToRaw) }

// estimatesAlike does the same for the shares themselves.
func estimatesAlike(a, b stat.Estimate) bool {
	return a.Interval.Lo <= b.Interval.Hi+alikeShare && b.Interval.Lo <= a.Interval.Hi+alikeShare
}

// sharesText lists framings with their shares, "" if there are none. Framings whose shares may be
// the same are named together. If some framings are too noisy, it names these too. If any is
// blurred, it tells the widest interval. If noise hides all differences, it says so alone.
func (s series) sharesText() string {
	all, noisy := s.kept()
	blurred := slices.ContainsFunc(all, isBlurred)
	if len(all) == 0 {
		if len(noisy) > 0 {
			return tooNoisyToTell
		}
		return ""
	}
	alike := sharesAlike(all[0], all[len(all)-1])
	if alike && blurred {
		return tooNoisyToTell
	}
	if alike && len(all) > 1 {
		names := "every framing"
		if len(noisy) > 0 {
			names = framingNames(all)
		}
		return names + " " + rangeText(all) + ", no difference beyond the noise of " +
			noiseText(all) + noisyText(noisy)
	}
	var parts []string
	for rest := all; len(rest) > 0; {
		n := 0
		for n < len(rest) && sharesAlike(rest[0], rest[n]) {
			n++
		}
		parts = append(parts, framingNames(rest[:n])+" "+rangeText(rest[:n]))
		rest = rest[n:]
	}
	text := strings.Join(parts, ", ")
	if blurred || len(noisy) > 0 {
		text += " (" + noiseText(all) + ")"
	}
	return text + noisyText(noisy)
}

// framingNames lists the framings of rows: "ndjson and 60 KiB chunks".
func framingNames(rows []stat.Row) string {
	var names []string
	for _, r := range rows {
		names = append(names, FramingPhrase(r.Cell.Framing))
	}
	return joinAnd(names)
}

// noisyText names the framings of rows that are too noisy, behind those that are not.
func noisyText(noisy []stat.Row) string {
	if len(noisy) == 0 {
		return ""
	}
	return "; " + framingNames(noisy) + ": " + tooNoisyToTell
}

// rangeText writes the shares of rows, the best first: "95 %", or "93 to 104 %".
func rangeText(all []stat.Row) string {
	return percentRange(all[len(all)-1].ToRaw.Median, all[0].ToRaw.Median)
}

// percentRange writes two shares as percent: "88 to 92 %", or one of them if both round to it.
func percentRange(low, high float64) string {
	return FromTo(fmt.Sprintf("%.0f %%", 100*low), fmt.Sprintf("%.0f %%", 100*high))
}

// noiseText returns the width of the widest interval of rows: "±33 %".
func noiseText(all []stat.Row) string {
	most := 0.0
	for _, r := range all {
		percent, _ := r.ToRaw.Spread()
		most = max(most, percent)
	}
	return fmt.Sprintf("±%.0f %%", most)
}

// littleCost is the share of raw's goodput above which the choice of a framing does not matter.
const littleCost = 0.9

// programSentence says what is left of a framing's cost in a program that makes each message and
// reads every byte of it. It is about the first placement, because its figures are the steadiest.
func programSentence(program []stat.Row) sentence {
	all := seriesIn(program, patternStream)
	if len(all) == 0 {
		return sentence{}
	}
	shares, noisy := all[0].kept()
	if len(shares)+len(noisy) == 0 {
		return sentence{}
	}
	text := "In a program that makes and reads each message, compared with raw " +
		all[0].where + ": "
	uncertain := len(noisy) > 0 || slices.ContainsFunc(shares, isBlurred)
	if uncertain || shares[len(shares)-1].ToRaw.Median < littleCost {
		return sentence{text + all[0].sharesText() + ".", uncertain}
	}
	text += fmt.Sprintf("every framing %s (%s). Use the one that the other end speaks.",
		rangeText(shares), noiseText(shares))
	return sentence{text: text}
}

// goodputText shows the goodput of a row, marked if it is only rough.
func goodputText(r stat.Row) string { return RoughText("goodput", r.Estimates["goodput"]) }

// mixedSentence says how long a small message waits behind large ones, whole and in chunks.
func mixedSentence(mixed []stat.Row) sentence {
	var told []stat.Row
	var parts []string
	for _, r := range mixed {
		wait, ok := r.Figure("due.p50")
		if !ok || len(told) > 0 && !differOnlyInFraming(r.Cell, told[0].Cell) {
			continue // of several readers or pipes, the first is told
		}
		told = append(told, r)
		how := "if they are sent whole"
		if results.ChunkSize(r.Cell.Framing) > 0 {
			how = "if they go in " + FramingPhrase(r.Cell.Framing)
		}
		parts = append(parts, results.FormatDuration(wait)+" "+how)
	}
	if len(parts) < 2 {
		return sentence{}
	}
	start := fmt.Sprintf("A small message behind messages of %s, for a reader of %s",
		SizeTitle(told[0].Cell.Size), results.FormatGoodput(float64(told[0].Cell.Drain)))
	if !waitsDiffer(told) {
		return sentence{start + ": " + tooNoisyToTell + " whether chunks shorten its wait.", true}
	}
	return sentence{text: start + ", waits " + joinAnd(parts) +
		". Only that is a reason to chunk, and both ends must speak chunks: MCP and LSP have none."}
}

// differOnlyInFraming reports whether two cells have all but the framing in common.
func differOnlyInFraming(a, b results.Cell) bool {
	return a.Size == b.Size && stat.SeriesCell(a) == stat.SeriesCell(b)
}

// waitsDiffer reports whether the intervals show that the wait of a row differs from that of the
// first. The wait in chunks as large as the messages is equal.
func waitsDiffer(told []stat.Row) bool {
	for _, r := range told[1:] {
		ratio := stat.PairedRatio(stat.MustMetric("due.p50"), r.Records, told[0].Records)
		if ratio.Below(1) || ratio.Above(1) {
			return true
		}
	}
	return false
}
