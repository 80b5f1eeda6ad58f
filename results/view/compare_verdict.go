package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// mostWorse is the largest number of worse figures that the verdict names.
const mostWorse = 3

// comparisonVerdict says which figures got worse or better, and how much the others may have
// changed without being noticed.
func comparisonVerdict(c *stat.Comparison) (tone Tone, text string) {
	t := tally{limit: cmp.Or(c.Limit, stat.Tolerance)}
	for _, ch := range c.Changes {
		t.add(ch)
	}
	for _, reason := range []string{c.Different, c.Doubt} {
		if reason != "" {
			text += capitalised(reason) + ". "
		}
	}
	if c.Calls != "" {
		text += "The new one makes " + c.Calls + ". "
	}
	isAnyUnjudged := t.noisy+t.few+t.unjudged+len(c.Unjudged) > 0
	areWholesAlike := t.wholes > 0 && t.wholeWithin <= stat.Tolerance
	good := Good
	if c.Doubt != "" {
		good = Neutral
	}
	answer := "No verdict"
	switch {
	case len(t.worse) > 0:
		tone = Bad
		answer = fmt.Sprintf("%d of %d got %s: %s",
			len(t.worse), t.judged, worseWord(t.worse), namedChanges(t.worse, mostWorse))
		if t.judged == 1 && isOfPrograms(c) {
			answer = "The new one is " + worseWord(t.worse) + ": " + ChangeText(t.worse[0])
		}
	case c.Doubt != "" && isOfPrograms(c): // no verdict: the doubt says why
	case len(t.better)+t.times+t.notWorse > 0, areWholesAlike:
		tone = good
		answer = "Nothing got slower"
		if t.timings == 0 {
			answer = "Nothing got worse"
		}
	case t.counts > 0 && !isAnyUnjudged:
		tone = good
		answer = "Nothing got worse"
	case t.noisy+t.few+len(c.Unjudged) > 0:
		answer = "No verdict on time"
	}
	if t.judged == 1 && t.times == 1 { // the only figure
		return tone, fmt.Sprintf("%s%s; %s did not change by more than %s.", text, answer,
			t.unchanged.Metric, results.FormatPercent(100*t.within))
	}
	return tone, text + strings.Join(append([]string{answer}, t.others()...), "; ") + "."
}

// A tally counts the figures of a comparison by their verdicts.
type tally struct {
	judged  int // all figures but those for information
	timings int // judged figures that are times

	worse, better []stat.Change // figures that changed beyond chance
	times, counts int           // figures that did not change
	notWorse      int           // times that did not get worse, and may have got better
	noisy         int           // times that varied too much for a verdict
	few           int           // times with too few samples for a verdict
	unjudged      int           // figures without a verdict for another reason
	wholes        int           // framings as a whole that did not change beyond chance

	limit     float64     // a worsening by more than this share matters
	unchanged stat.Change // the last time that did not change

	// The largest changes, as shares, that are still possible: of times that did not change, of
	// times that did not get worse, and of framings as a whole.
	within, worstCase, wholeWithin float64
}

func (t *tally) add(ch stat.Change) {
	if isInformation(ch) {
		return
	}
	t.judged++
	isCount := ch.Before.Metric.Counter
	if !isCount {
		t.timings++
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
	case ch.IsWhole():
		t.wholes++
		t.wholeWithin = max(t.wholeWithin, possible)
	case ch.Verdict == stat.NoChange && isCount:
		t.counts++
	case ch.Verdict == stat.NoChange:
		t.times++
		t.unchanged = ch
		t.within = max(t.within, possible)
	case ch.Verdict == stat.TooNoisy && ch.Interval == nil:
		t.few++
	case ch.Verdict == stat.TooNoisy && ch.WorstCase() <= t.limit:
		t.notWorse++
		t.worstCase = max(t.worstCase, ch.WorstCase())
	case ch.Verdict == stat.TooNoisy:
		t.noisy++
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
	if t.times > 0 {
		parts = append(parts, fmt.Sprintf("%s did not change by more than %s",
			results.FormatCount(t.times, "time"), results.FormatPercent(100*t.within)))
	}
	if t.notWorse > 0 {
		parts = append(parts, fmt.Sprintf("%s did not get worse by more than %s",
			results.FormatCount(t.notWorse, "time"),
			results.FormatPercent(100*max(t.worstCase, 0))))
	}
	if t.noisy > 0 {
		verb := "are"
		if t.noisy == 1 {
			verb = "is"
		}
		parts = append(parts, fmt.Sprintf("%d of %s %s too noisy to tell a change of %s", t.noisy,
			results.FormatCount(t.timings, "timing"), verb, results.FormatPercent(100*t.limit)))
	}
	if t.few > 0 {
		parts = append(parts, results.FormatCount(t.few, "time")+" measured too seldom to tell")
	}
	if t.wholes > 0 {
		none := "no framing"
		if len(t.worse)+len(t.better) > 0 {
			none = "no other framing"
		}
		parts = append(parts, fmt.Sprintf("%s as a whole changed by more than %s",
			none, results.FormatPercent(100*t.wholeWithin)))
	}
	if t.counts > 0 {
		parts = append(parts, results.FormatCount(t.counts, "count")+" did not change")
	}
	if t.unjudged > 0 {
		parts = append(parts, results.FormatCount(t.unjudged, "figure")+" without a verdict")
	}
	return parts
}

// worseWord returns "slower" if only times got worse, and "worse" otherwise.
func worseWord(worse []stat.Change) string {
	for _, ch := range worse {
		if ch.Verdict != stat.Slower {
			return "worse"
		}
	}
	return "slower"
}

// namedChanges names the most significant changes, up to the limit, and counts the others.
func namedChanges(changes []stat.Change, limit int) string {
	shown := mostSignificant(changes, limit)
	var names []string
	for _, ch := range shown {
		names = append(names, ChangeText(ch))
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
