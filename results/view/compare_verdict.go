package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// mostWorse is the largest number of worse figures that the verdict names.
const mostWorse = 3

// comparisonVerdict says which figures got worse or better, and how much the others may have
// changed without being noticed.
func comparisonVerdict(c *stat.Comparison) (tone Tone, text string) {
	t := tally{limit: gateLimit(c)}
	for _, ch := range c.Changes {
		t.add(ch)
	}
	reasons := []string{c.Doubt, c.Different}
	isDoubtLast := len(t.worse) > 0 && !c.NewFails // it follows what got worse
	if isDoubtLast {
		reasons = []string{c.Different}
	}
	for _, reason := range nonEmpty(reasons) {
		text += capitalised(reason) + ". "
	}
	if c.Calls != "" {
		text += "The new one makes " + c.Calls + ". "
	}
	if c.NewFails {
		return Bad, strings.TrimSpace(text)
	}
	tone, answer := t.answer(c)
	if c.Raw != "" && t.times > 0 {
		text += capitalised(c.Raw) + "; "
		answer = "compared with raw, " + strings.ToLower(answer[:1]) + answer[1:]
	}
	parts := append([]string{answer}, t.others()...)
	if isDoubtLast {
		parts = append(parts, c.Doubt)
	}
	return tone, text + strings.Join(nonEmpty(parts), "; ") + "."
}

// gateLimit returns the worsening, as a share, that matters.
func gateLimit(c *stat.Comparison) float64 { return cmp.Or(c.Limit, stat.Tolerance) }

// answer says whether anything got worse. If times were judged, it is about times alone.
func (t *tally) answer(c *stat.Comparison) (Tone, string) {
	switch {
	case len(t.worse) > 0 && t.judged == 1 && isOfPrograms(c):
		return Bad, "The new one is " + worseWord(t.worse) + ": " + changeText(t.worse[0])
	case len(t.worse) > 0:
		all := results.FormatCount(t.judged, "figure")
		if worseWord(t.worse) == "slower" {
			all = results.FormatCount(t.times, "timing")
		}
		return Bad, fmt.Sprintf("%d of %s got %s: %s", len(t.worse), all, worseWord(t.worse),
			namedChanges(t.worse, mostWorse))
	case c.Doubt != "" && isOfPrograms(c):
		return Neutral, "No verdict" // the doubt says why
	}
	isAboutTimes := t.times > 0 || len(c.Unjudged) > 0
	known, open := t.settled(c, isAboutTimes)
	tone, word := Good, "worse"
	if isAboutTimes {
		word = "slower"
	}
	if c.Doubt != "" {
		tone = Neutral
	}
	switch {
	case known == 0 && t.apart > 0:
		return Neutral, "No verdict on time: the two were measured one after the other"
	case known == 0 && isAboutTimes:
		return Neutral, "No verdict on time"
	case known == 0:
		return Neutral, "No verdict"
	case open > 0:
		return tone, "Nothing certainly got " + word
	case isOfPrograms(c) && !isAboutTimes:
		return tone, "No count grew (of calls, only reads and writes are counted; time is not)"
	case t.last.Before.Metric.IsBehaviour():
		return tone, "No verdict or limit got worse (time was not compared)"
	}
	return tone, "Nothing got " + word
}

// settled counts the times, or all figures, that certainly did not get worse by as much as matters,
// and those for which that is open.
func (t *tally) settled(c *stat.Comparison, isAboutTimes bool) (known, open int) {
	for _, ch := range c.Changes {
		if isByChance(ch) && !isAboutTimes {
			open++
		}
		switch {
		case isInformation(ch) || isAboutTimes && !ch.Before.Metric.IsTime():
		case ch.Established() || ch.Verdict == stat.NoChange || isNotWorse(ch, t.limit):
			known++
		default:
			open++
		}
	}
	return known, open + len(c.Unjudged)
}

// A tally counts the figures of a comparison by their verdicts.
type tally struct {
	judged  int // all figures but those for information
	varying int // judged figures that are no counts
	times   int // judged figures that are times

	worse, better []stat.Change // figures that changed beyond chance
	same, counts  int           // figures that did not change, and counts that did not
	notWorse      int           // figures that did not get worse, and may have got better
	noisy         int           // figures that varied too much for a verdict
	apart         int           // times of benchmark text, which has no verdict on them
	unjudged      int           // figures without a verdict for another reason

	limit float64     // a worsening by more than this share matters
	last  stat.Change // the last judged figure

	// The largest changes, as shares, that are still possible: of figures that did not change, and
	// of figures that did not get worse.
	within, worstCase float64
}

// isNotWorse reports whether a figure got worse by at most limit, a share, although noise hides
// whether it changed.
func isNotWorse(ch stat.Change, limit float64) bool {
	return ch.Verdict == stat.TooNoisy && ch.Interval != nil && ch.WorstCase() <= limit
}

// isByChance reports whether a count differs, but by no more than it varies from start to start.
func isByChance(ch stat.Change) bool { return ch.Verdict == stat.NoChange && ch.Basis != "" }

func (t *tally) add(ch stat.Change) {
	if isInformation(ch) {
		return
	}
	t.judged++
	t.last = ch
	isCount := ch.Before.Metric.Counter && !isByChance(ch)
	if !isCount {
		t.varying++
	}
	if ch.Before.Metric.IsTime() {
		t.times++
	}
	possible := 0.0
	if ch.Interval != nil {
		possible = max(1-ch.Interval.Lo, ch.Interval.Hi-1)
	}
	switch {
	case ch.Established() && ch.Worse() > 0:
		t.worse = append(t.worse, ch)
	case ch.Established():
		t.better = append(t.better, ch)
	case ch.Verdict == stat.NoChange && isCount:
		t.counts++
	case ch.Verdict == stat.NoChange:
		t.same++
		t.within = max(t.within, possible, math.Abs(ch.Worse()))
	case isNotWorse(ch, t.limit):
		t.notWorse++
		t.worstCase = max(t.worstCase, ch.WorstCase())
	case ch.Verdict == stat.TooNoisy && ch.Interval != nil:
		t.noisy++
	case ch.Verdict == stat.MeasuredApart:
		t.apart++
	default:
		t.unjudged++
	}
}

// The method others says which figures got better, which did not change, and which have no clear
// verdict.
func (t *tally) others() []string {
	var parts []string
	if len(t.better) > 0 {
		parts = append(parts, fmt.Sprintf("%d got better: %s",
			len(t.better), namedChanges(t.better, 1)))
	}
	if t.same > 0 {
		parts = append(parts, fmt.Sprintf("%s did not change by more than %s",
			t.called(t.same), results.FormatPercent(100*t.within)))
	}
	if t.notWorse > 0 {
		parts = append(parts, fmt.Sprintf("%s did not get worse by more than %s",
			t.called(t.notWorse), results.FormatPercent(100*max(t.worstCase, 0))))
	}
	if t.noisy > 0 {
		which, verb := t.called(t.noisy), "is"
		all := t.judged
		if t.times == t.varying { // then the text is about timings
			all = t.times
		}
		if all > 1 {
			which = fmt.Sprintf("%d of %s", t.noisy, t.called(all))
		}
		if t.noisy > 1 {
			verb = "are"
		}
		parts = append(parts, fmt.Sprintf("%s %s too noisy to tell a change of %s", which, verb,
			results.FormatPercent(100*t.limit)))
	}
	if t.counts > 0 {
		which := results.FormatCount(t.counts, "count")
		if t.last.Before.Metric.IsBehaviour() {
			which = strconv.Itoa(t.counts)
		}
		parts = append(parts, which+" did not change")
	}
	if t.unjudged > 0 && t.unjudged < t.judged {
		parts = append(parts, results.FormatCount(t.unjudged, "figure")+" without a verdict")
	}
	return parts
}

// called counts n of the figures that are no counts, or names the figure that alone was judged.
func (t *tally) called(n int) string {
	switch {
	case t.judged == 1:
		return t.last.Metric
	case t.times == t.varying:
		return results.FormatCount(n, "timing")
	}
	return results.FormatCount(n, "figure")
}

// worseWord returns "slower" if only times got worse, and "worse" otherwise.
func worseWord(worse []stat.Change) string {
	if slices.ContainsFunc(worse, func(ch stat.Change) bool { return ch.Verdict != stat.Slower }) {
		return "worse"
	}
	return "slower"
}

// namedChanges names the most significant changes, up to the limit, and counts the others.
func namedChanges(changes []stat.Change, limit int) string {
	shown := mostSignificant(changes, limit)
	var names []string
	for _, ch := range shown {
		names = append(names, changeText(ch))
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
