package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// patternStream is the pattern of messages that go one way only.
const patternStream = "stream"

// meaning says in plain sentences what measurements mean for a person. It claims only what the
// intervals prove.
func meaning(rows []stat.Row) []string {
	run := splitRun(rows)
	levers := run.levers
	if n := len(run.bare); n > 0 && len(levers) == 0 { // the user may have chosen capacities
		levers = ofMessage(run.bare, run.bare[n-1].Cell) // the last one: raw comes first
	}
	isNoisy := isTooNoisyToRank(rows, run.bare)
	var texts []string
	if isNoisy {
		texts = append(texts, noisySentence(rows))
	}
	told := -1 // the message size that the last sentence names
	program, isCheap := programSentence(run.program, &told)
	if isCheap && !isNoisy {
		program = "Use the framing that the other end speaks. " + program
	}
	texts = append(texts, program)
	texts = append(texts, transportSentences(run.bare, isNoisy, &told)...)
	isAnswered := len(nonEmpty(texts)) > 0
	switch {
	case !isAnswered && !allHaveTooFewSamples(rows) && len(run.bare) == len(rows):
		texts = figureSentences(run.bare)
	case !isNoisy && strings.Contains(strings.Join(texts, ""), tooNoisyToTell):
		if !isCheap { // else the first sentence says so
			texts = append(texts, untilKnown)
		}
		texts = append(texts, "A quieter machine, or more samples, may tell more.")
	}
	return nonEmpty(append(texts, leverSentence(levers), mixedSentence(run.mixed),
		refusalSentence(run.waiting)))
}

// runRows has the measurements of a run, sorted by the question that they answer.
type runRows struct {
	bare    []stat.Row // what does a framing cost if nothing else is done with the bytes?
	program []stat.Row // what does a framing cost in a program that parses the messages?
	levers  []stat.Row // what do a larger pipe and smaller writes do for one large message?
	mixed   []stat.Row // how long do small messages wait behind large ones?
	waiting []stat.Row // what happens to writers that do not block?
}

func splitRun(rows []stat.Row) runRows {
	var s runRows
	for _, r := range rows {
		c := r.Cell
		switch {
		case c.IsWaiting():
			s.waiting = append(s.waiting, r)
		case c.Pattern == results.PatternMixed:
			s.mixed = append(s.mixed, r)
		case c.Source == "fresh" && c.Work > 0:
			s.program = append(s.program, r)
		case c.Pattern == patternStream && (c.Capacity > 0 || c.WriteSize > 0):
			s.levers = append(s.levers, r)
		default:
			s.bare = append(s.bare, r)
		}
	}
	// not the default run: the user chose capacity and write size
	if len(s.program) == 0 {
		s.bare = append(s.bare, s.levers...)
		s.levers = nil
	}
	if len(s.levers) == 0 {
		return s
	}
	// of one message alone, also through the usual pipe
	large := s.levers[0].Cell
	s.levers = append(ofMessage(s.levers, large), ofMessage(s.bare, large)...)
	return s
}

// mostSentencesOnSeries is the largest number of series that get a sentence. Tables show all.
const mostSentencesOnSeries = 4

// transportSentences say what share of the goodput of raw bytes each framing keeps if a program
// does nothing else with the bytes. For a run that is too noisy to compare framings, which another
// sentence says, they only name those that are certainly slow. See [series.about] for told.
func transportSentences(bare []stat.Row, isNoisy bool, told *int) []string {
	start := "Speed compared with raw bytes "
	if slices.ContainsFunc(bare, func(r stat.Row) bool { return r.Cell.Work == 0 }) {
		start = "If the reader does nothing with the bytes, speed compared with raw "
	}
	var out []string
	gains := false // whether a framing is faster than raw
	for _, one := range seriesIn(bare, patternStream) {
		text := one.sharesText()
		if text == "" || isNoisy || len(out) == mostSentencesOnSeries {
			continue
		}
		out = append(out, capitalised(start+one.about(told))+": "+text+".")
		start = ""
		gains = gains || slices.ContainsFunc(one.comparedRows(), func(r stat.Row) bool {
			return Judge(*r.ToRaw, GainThatCounts) == Gain
		})
	}
	if slow := slowText(bare, isNoisy); slow != "" {
		out = append(out, capitalised(slow)+".")
	}
	if gains {
		out = append(out, "Framed bytes can be faster than raw ones: on two CPUs it matters most "+
			"how often the ends wait for each other (pipebench help sending).")
	}
	return out
}

// slowText names the framings that are certainly slow. It leaves out the sizes that stand for a
// series in sentences, unless the run is too noisy for such sentences.
func slowText(bare []stat.Row, isNoisy bool) string {
	var names, places []string
	for _, one := range seriesIn(bare, patternStream) {
		for _, r := range one.rows {
			if !isBelow(r, 0.5) || !isNoisy && r.Cell.Size == one.size {
				continue
			}
			places = append(places, "messages of "+SizeTitle(r.Cell.Size)+" "+one.where)
			name := results.FramingPhrase(r.Cell.Framing)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	where := "at some sizes or placements"
	switch len(slices.Compact(places)) {
	case 0:
		return ""
	case 1:
		where = "with " + places[0]
	}
	return "certainly below half of raw's speed, " + where + ": " + joinAnd(names)
}

// SpeedTitle says what share of the speed of raw bytes framings reach, as the title of a picture.
// It is short: the text has more.
func SpeedTitle(rows []stat.Row) string {
	bare := splitRun(rows).bare
	if isTooNoisyToRank(rows, bare) {
		return strings.Join(nonEmpty([]string{tooNoisyToCompare, slowText(bare, true)}), "; ")
	}
	for _, one := range seriesIn(bare, patternStream) {
		if title := one.sharesTitle(); title != "" {
			return title
		}
	}
	return "Too noisy, or too few samples, to compare framings"
}

// figureSentences give the figures of a run that compares no goodputs with raw bytes, such as a run
// of round trips alone.
func figureSentences(bare []stat.Row) []string {
	trips := seriesIn(bare, results.PatternRoundtrip)
	var out []string
	for _, one := range append(trips, seriesIn(bare, patternStream)...) {
		metric := stat.RelativeMetric(one.cell)
		what := "Goodput of "
		switch {
		case one.hasMedianTrips():
			metric = stat.MustMetric("p50")
			what = "Median round trip of "
		case one.cell.Pattern == results.PatternRoundtrip:
			what = "Round trip of "
		}
		var parts []string
		for _, r := range one.rows {
			e, measured := r.Estimates[metric.Name]
			if measured && r.Cell.Size == one.size && r.Cell.Rate == 0 {
				figure := measuredText(metric.Format(e.Median), e)
				parts = append(parts, results.FramingPhrase(r.Cell.Framing)+" "+figure)
			}
		}
		if len(parts) > 0 && len(out) < mostSentencesOnSeries {
			out = append(out, what+SizeTitle(one.size)+" "+one.where+": "+joinAnd(parts)+".")
		}
	}
	return out
}

func capitalised(text string) string {
	return strings.ToUpper(text[:1]) + text[1:]
}

// littleCost is the share of the goodput of raw bytes above which the choice of a framing does not
// matter.
const littleCost = 0.9

// programSentence says what a framing costs in a program that makes each message and parses it. It
// reports isCheap if no framing costs much.
func programSentence(program []stat.Row, told *int) (text string, isCheap bool) {
	all := seriesIn(program, patternStream)
	if len(all) == 0 || len(all[0].comparedRows()) == 0 {
		return "", false
	}
	first := all[0] // the first placement has the steadiest figures
	start := fmt.Sprintf("If the reader parses (%g ns per byte), ", first.cell.Work)
	known, noisy := first.toldRows()
	isCheap = len(noisy) == 0 && known[len(known)-1].ToRaw.Median >= littleCost
	if isCheap {
		return start + fmt.Sprintf("every framing reaches %s (%s) of raw's speed %s.",
			rangeText(known), noiseText(known), first.about(told)), true
	}
	start += "speed compared with raw " + first.about(told) + ": "
	return start + first.sharesText() + ".", false
}

// goodputText shows the goodput of a measurement, with a mark if the goodput is uncertain.
func goodputText(r stat.Row) string { return RoughText("goodput", r.Estimates["goodput"]) }

// mixedSentence says how long a small message waits behind large ones that are sent whole, and
// behind those that are sent in the smallest chunks. It is about the first reader and pipe only.
func mixedSentence(mixed []stat.Row) string {
	alike := selected(mixed, func(r stat.Row) bool {
		a, b := r.Cell, mixed[0].Cell // they are to differ only in framing
		return r.Samples > 0 && a.Size == b.Size && stat.SeriesCell(a) == stat.SeriesCell(b)
	})
	chunkOf := func(r stat.Row) int { return results.ChunkSize(r.Cell.Framing) }
	slices.SortStableFunc(alike, func(a, b stat.Row) int { return chunkOf(a) - chunkOf(b) })
	isChunked := func(r stat.Row) bool { return chunkOf(r) > 0 }
	first := slices.IndexFunc(alike, isChunked)
	if first <= 0 {
		return ""
	}
	return fmt.Sprintf("With %s, %s. Both ends must speak chunks: MCP and LSP do not.",
		results.FramingPhrase(alike[first].Cell.Framing),
		ChunkWaits("a small message behind one of "+SizeTitle(alike[first].Cell.Size),
			[][2]stat.Row{{alike[0], alike[first]}}))
}

// ChunkWaits says how long small messages wait behind chunks instead of whole messages. Each pair
// has the measurements of whole messages and of chunks for one reader. The sentence begins with
// who: "a small message".
func ChunkWaits(who string, pairs [][2]stat.Row) string {
	var waits, hidden []string
	for _, pair := range pairs {
		whole, chunked := pair[0], pair[1]
		reader := "behind a reader of " + fieldText(whole.Cell, "drain")
		if waitsDiffer(whole, chunked) {
			waits = append(waits, fmt.Sprintf("%s instead of %s %s",
				metricText(chunked, "due.p50"), metricText(whole, "due.p50"), reader))
		} else {
			hidden = append(hidden, reader)
		}
	}
	switch {
	case len(waits) == 0:
		return tooNoisyToTell + " whether " + who + " waits less " + strings.Join(hidden, " or ")
	case len(hidden) > 0:
		waits[len(waits)-1] += "; " + tooNoisyToTell + " " + strings.Join(hidden, " or ")
	}
	return who + " waits " + strings.Join(waits, ", ")
}

// waitsDiffer reports whether small messages certainly wait longer or shorter behind chunks than
// behind whole messages: in the rounds, by figures that are not rough, or in every sample. [Judge]
// would hide waits that a picture shows apart: the interval of the rounds of a few starts is wide.
func waitsDiffer(whole, chunked stat.Row) bool {
	metric := stat.MustMetric("due.p50")
	ratio := stat.PairedRatio(metric, chunked.Records, whole.Records)
	if ratio.Below(1) || ratio.Above(1) {
		return true
	}
	a, b := whole.Estimates[metric.Name], chunked.Estimates[metric.Name]
	if !IsRough(a) && !IsRough(b) {
		return a.Above(b.Interval.Hi) || b.Above(a.Interval.Hi)
	}
	before, after := metric.Values(whole.Pooled()), metric.Values(chunked.Pooled())
	return min(len(before), len(after)) >= stat.LeastSamples &&
		(slices.Min(before) > slices.Max(after) || slices.Min(after) > slices.Max(before))
}
