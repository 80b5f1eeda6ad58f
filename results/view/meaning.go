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
	noisy := isTooNoisyToRank(rows, run.bare)
	levers := run.levers
	if n := len(run.bare); n > 0 && len(levers) == 0 { // the user may have chosen capacities
		levers = ofMessage(run.bare, run.bare[n-1].Cell) // the last one: raw comes first
	}
	effects := []sentence{
		leverSentence(levers),
		mixedSentence(run.mixed),
		refusalSentence(run.waiting),
	}
	program := programSentence(run.program)
	if noisy || allHaveTooFewSamples(rows) { // then no framing can be compared with raw
		effects = append([]sentence{overheadSentence(run.bare)}, effects...)
	}
	if noisy {
		if !program.noisy {
			effects = append([]sentence{program}, effects...)
		}
		effects = append(effects, slowerSentence(run.bare), sentence{text: slowSentence(run.bare)})
		return noisyMeaning(rows, effects)
	}
	start, told := "Speed compared with raw bytes ", -1
	if slices.ContainsFunc(run.bare, func(r stat.Row) bool { return r.Cell.Work == 0 }) {
		start = "If the reader does nothing with the bytes, speed compared with raw "
	}
	if program.cheap {
		program.text = "Use the framing that the other end speaks. " + program.text
	}
	if program.text != "" {
		told = program.size
	}
	texts := append([]string{program.text}, transportSentences(run.bare, start, told)...)
	isUnanswered := len(nonEmpty(texts)) == 0 && len(run.bare) == len(rows)
	if isUnanswered && !allHaveTooFewSamples(rows) {
		texts = figureSentences(run.bare)
	}
	if program.noisy || strings.Contains(strings.Join(texts, ""), tooNoisyToTell) {
		texts = append(texts, "A quieter machine, or more samples, may tell more.")
	}
	for _, effect := range effects {
		texts = append(texts, effect.text)
	}
	return nonEmpty(texts)
}

// A sentence says what a run found out about one question. The text is "" if the run measured
// nothing about the question.
type sentence struct {
	text  string
	noisy bool // noise hides the answer, and the text says that

	// programSentence alone sets these:
	size  int  // the message size that the text names
	cheap bool // no framing costs much
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

// mostSentencesOnSeries is the largest number of series that get a sentence.
const mostSentencesOnSeries = 4

// transportSentences say what share of the goodput of raw bytes each framing keeps if a program
// does nothing else with the bytes. The first sentence begins with start. The sentence before it
// names the message size told, if that is not -1.
func transportSentences(bare []stat.Row, start string, told int) []string {
	var out []string
	var noisy []series // those that are too noisy
	more := 0
	faster := false // whether a framing is faster than raw
	for _, one := range seriesIn(bare, patternStream) {
		text := one.sharesText()
		switch {
		case text == "":
			continue
		case len(out)+len(noisy) == mostSentencesOnSeries:
			more++
			continue
		case text == tooNoisyToTell:
			noisy = append(noisy, one)
			continue
		}
		out = append(out, one.about(told)+": "+text+".")
		told = one.size
		known, _ := one.comparedRows()
		faster = faster || len(known) > 0 && known[0].ToRaw.Above(GainThatCounts)
	}
	if len(noisy) > 0 {
		var about []string
		told = -1 // the size is named again, as others may be clear
		for _, one := range noisy {
			about = append(about, one.about(told))
			told = one.size
		}
		out = append(out, joinAnd(about)+": "+tooNoisyToTell+".")
	}
	for i, text := range out {
		if i == 0 {
			out[i] = start + text
		} else {
			out[i] = capitalised(text)
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more places and settings are in the tables.", more))
	}
	if slow := slowSentence(bare); slow != "" {
		out = append(out, slow)
	}
	if faster {
		out = append(out, "Framed bytes can be faster than raw ones: on two CPUs it matters most "+
			"how often the ends wait for each other (pipebench help sending).")
	}
	return out
}

// slowSentence names the framings that are slow at sizes that no other sentence is about.
func slowSentence(bare []stat.Row) string {
	framingOf := func(r stat.Row) string { return r.Cell.Framing }
	var parts []string
	for _, one := range seriesIn(bare, patternStream) {
		for _, own := range grouped(one.slowRows(), framingOf) {
			var sizes []string
			for _, r := range own {
				sizes = append(sizes, SizeTitle(r.Cell.Size)+" ("+rangeText([]stat.Row{r})+")")
			}
			parts = append(parts, framingNames(own[:1])+" "+one.where+" at "+joinAnd(sizes))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Certainly below half of raw's speed: " + strings.Join(parts, ", ") + "."
}

// SpeedTitle says what share of the speed of raw bytes framings reach, as the title of a picture.
func SpeedTitle(rows []stat.Row) string {
	bare := splitRun(rows).bare
	count := countRatios(rows)
	if isTooNoisyToRank(rows, bare) && count.few <= count.blurred {
		return "Too noisy to compare framings"
	}
	for _, one := range seriesIn(bare, patternStream) {
		known, noisy := one.toldRows()
		if text := one.sharesText(); text == "" || text == tooNoisyToTell {
			continue
		}
		names := "Framings reach"
		if len(known) == 1 || len(noisy) > 0 {
			names = framingNames(known) + " at"
		}
		of := "of raw's speed"
		if one.cell.Work == 0 {
			of += " if the reader does nothing"
		}
		title := fmt.Sprintf("%s %s (%s) %s (%s, %s)", names, rangeText(known), noiseText(known),
			of, SizeTitle(one.size), one.short)
		if slow := one.slowRows(); len(slow) > 0 {
			slowest := []stat.Row{slices.MinFunc(slow, compareShares)}
			title += fmt.Sprintf(", and %s %s (%s)", framingNames(slowest), rangeText(slowest),
				SizeTitle(slowest[0].Cell.Size))
		}
		return title
	}
	return "Too few samples to compare framings"
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

// programSentence says what a framing costs in a program that makes each message and parses it.
func programSentence(program []stat.Row) sentence {
	all := seriesIn(program, patternStream)
	if len(all) == 0 {
		return sentence{}
	}
	shares, noisy := all[0].comparedRows() // the first placement has the steadiest figures
	if len(shares)+len(noisy) == 0 {
		return sentence{}
	}
	text := fmt.Sprintf("If the reader parses (%g ns per byte), speed compared with raw %s: %s.",
		all[0].cell.Work, all[0].about(-1), all[0].sharesText())
	switch {
	case len(noisy) > 0 || slices.ContainsFunc(shares, isBlurred):
		return sentence{text: text + " " + untilKnown, noisy: true, size: all[0].size}
	case shares[len(shares)-1].ToRaw.Median < littleCost:
		return sentence{text: text, size: all[0].size}
	}
	text = fmt.Sprintf("If the reader parses (%g ns per byte), every framing reaches %s (%s) of "+
		"raw's speed %s.", all[0].cell.Work, rangeText(shares), noiseText(shares),
		all[0].about(-1))
	return sentence{text: text, size: all[0].size, cheap: true}
}

// goodputText shows the goodput of a measurement, with a mark if the goodput is uncertain.
func goodputText(r stat.Row) string { return RoughText("goodput", r.Estimates["goodput"]) }

// mixedSentence says how long a small message waits behind large ones, both when those are sent
// whole and when they are sent in chunks.
func mixedSentence(mixed []stat.Row) sentence {
	var told []stat.Row
	var parts []string
	for _, r := range mixed {
		wait, ok := r.Estimates["due.p50"]
		if !ok {
			continue
		}
		if len(told) > 0 && !differOnlyInFraming(r.Cell, told[0].Cell) {
			continue // the sentence is about the first reader and pipe only
		}
		told = append(told, r)
		how := "if the large one goes whole"
		if results.ChunkSize(r.Cell.Framing) > 0 {
			how = "if it goes in " + results.FramingPhrase(r.Cell.Framing)
		}
		figure := markRough(results.FormatDuration(wait.Median), wait)
		parts = append(parts, figure+" "+how)
	}
	if len(parts) < 2 {
		return sentence{}
	}
	start := fmt.Sprintf("A small message behind one of %s, with a reader of %s",
		SizeTitle(told[0].Cell.Size), results.FormatGoodput(float64(told[0].Cell.Drain)))
	if !waitsDiffer(told) {
		start += ": " + tooNoisyToTell + " whether chunks shorten its wait."
		return sentence{text: start, noisy: true}
	}
	if last := len(parts) - 1; last > 2 { // of the chunk sizes, the smallest and the largest
		parts = []string{parts[0], parts[1], parts[last]}
	}
	return sentence{text: start + ", waits " + joinAnd(parts) +
		". Chunk to shorten that wait, if both ends speak chunks: MCP and LSP do not."}
}

func differOnlyInFraming(a, b results.Cell) bool {
	return a.Size == b.Size && stat.SeriesCell(a) == stat.SeriesCell(b)
}

// waitsDiffer reports whether the small messages of any measurement surely wait longer or shorter
// than those of the first measurement: in most rounds, or in every sample.
func waitsDiffer(told []stat.Row) bool {
	metric := stat.MustMetric("due.p50")
	first := metric.Values(told[0].Pooled())
	for _, r := range told[1:] {
		ratio := stat.PairedRatio(metric, r.Records, told[0].Records)
		if ratio.Below(1) || ratio.Above(1) {
			return true
		}
		others := metric.Values(r.Pooled())
		if min(len(first), len(others)) < stat.LeastSamples {
			continue
		}
		if slices.Max(others) < slices.Min(first) || slices.Min(others) > slices.Max(first) {
			return true
		}
	}
	return false
}
