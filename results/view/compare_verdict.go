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

// mostWorse is the largest number of worse figures that the verdict names.
const mostWorse = 3

// comparisonVerdict says which figures got worse or better, and how much the others may have
// changed without being noticed.
func comparisonVerdict(c *stat.Comparison) (tone Tone, text string) {
	t := tallyOf(c.Changes, gateLimit(c))
	isDoubtLast := len(t.worse) > 0 && !c.NewFails // it follows what got worse
	var sentences []string
	if c.Doubt != "" && !isDoubtLast {
		sentences = append(sentences, capitalised(c.Doubt))
	}
	if c.Different != "" {
		sentences = append(sentences, capitalised(c.Different))
	}
	if c.Calls != "" {
		sentences = append(sentences, "The new one makes "+c.Calls)
	}
	if c.NewFails {
		return Bad, strings.Join(sentences, ". ") + "."
	}
	tone, answer := t.answer(c)
	parts := append([]string{answer}, t.others()...)
	if len(timesIn(c.Changes)) > 0 {
		parts = append(parts, c.Raw)
	}
	if isDoubtLast {
		parts = append(parts, c.Doubt)
	}
	sentences = append(sentences, strings.Join(nonEmpty(parts), "; "))
	return tone, strings.Join(sentences, ". ") + "."
}

// gateLimit returns the worsening, as a share, that matters.
func gateLimit(c *stat.Comparison) float64 { return cmp.Or(c.Limit, stat.Tolerance) }

// timesIn returns the changes of times that are judged.
func timesIn(changes []stat.Change) []stat.Change {
	var times []stat.Change
	for _, ch := range changes {
		if ch.Before.Metric.IsTime() && !isInformation(ch) {
			times = append(times, ch)
		}
	}
	return times
}

// answer says whether anything got worse. If times were judged, it is about times alone.
func (t *tally) answer(c *stat.Comparison) (Tone, string) {
	if len(t.worse) > 0 {
		which := "It"
		if t.judged > 1 {
			which = fmt.Sprintf("%d of %d figures", len(t.worse), t.judged)
		}
		how := "slower"
		isOther := func(ch stat.Change) bool { return ch.Verdict != stat.Slower }
		if slices.ContainsFunc(t.worse, isOther) {
			how = "worse"
		}
		return Bad, fmt.Sprintf("%s got %s: %s", which, how, namedChanges(t.worse, mostWorse))
	}
	tone := Good
	if c.Doubt != "" {
		tone = Neutral
	}
	if c.Doubt != "" && isOfPrograms(c) {
		return tone, "No verdict" // the doubt says why
	}
	asked, word, note := t, "worse", " (time was not compared)"
	if times := timesIn(c.Changes); len(times)+len(c.Unjudged) > 0 {
		asked, word, note = tallyOf(times, t.limit), "slower", ""
	}
	open := asked.noisy + asked.unjudged
	switch {
	case asked.judged == open && word == "slower":
		return Neutral, "No verdict on time"
	case asked.judged == open:
		return Neutral, "No verdict"
	case open+asked.byChance+len(c.Unjudged) > 0:
		return tone, "Nothing certainly got " + word + note
	}
	return tone, "Nothing got " + word + note
}

// A tally counts the figures of a comparison by their verdicts.
type tally struct {
	judged int // all figures but those for information

	worse, better []stat.Change // figures that changed beyond chance
	equal         int           // exact counts, verdicts and limits that did not change
	isSearched    bool          // among those are limits that no search found
	same          int           // other figures that did not change
	byChance      int           // those of them that are counts
	likelyBetter  int           // figures in whose interval all is better, but with some doubt
	notWorse      int           // figures that did not get worse, and may have got better
	noisy         int           // figures that varied too much for a verdict
	unjudged      int           // figures without a verdict for another reason

	limit float64 // a worsening by more than this share matters

	// The largest changes, as shares, that are still possible: of figures that did not change, and
	// of figures that did not get worse.
	within, worstCase float64
}

// tallyOf counts changes. A worsening by more than limit, a share, matters.
func tallyOf(changes []stat.Change, limit float64) *tally {
	t := &tally{limit: limit}
	for _, ch := range changes {
		if !isInformation(ch) {
			t.judged++
			t.add(ch)
		}
	}
	return t
}

// isNotWorse reports whether a figure got worse by at most limit, a share, although noise hides
// whether it changed.
func isNotWorse(ch stat.Change, limit float64) bool {
	return ch.Verdict == stat.TooNoisy && ch.Interval != nil && ch.WorstCase() <= limit
}

// isByChance reports whether a count differs, but by no more than it varies from start to start.
func isByChance(ch stat.Change) bool { return ch.Verdict == stat.NoChange && ch.Basis != "" }

func (t *tally) add(ch stat.Change) {
	switch {
	case ch.Established() && ch.Worse() > 0:
		t.worse = append(t.worse, ch)
	case ch.Established():
		t.better = append(t.better, ch)
	case ch.Verdict == stat.NoChange && ch.Before.Metric.Counter && !isByChance(ch):
		t.equal++
		t.isSearched = t.isSearched || ch.New.AtLeast
	case ch.Verdict == stat.NoChange && math.IsInf(ch.Worse(), -1): // it fell to 0
		t.likelyBetter++
	case ch.Verdict == stat.NoChange:
		t.same++
		t.within = max(t.within, math.Abs(ch.Worse()))
		if isByChance(ch) {
			t.byChance++
		}
		if ch.Interval != nil {
			t.within = max(t.within, 1-ch.Interval.Lo, ch.Interval.Hi-1)
		}
	case isNotWorse(ch, t.limit) && ch.WorstCase() < 0:
		t.likelyBetter++
	case isNotWorse(ch, t.limit):
		t.notWorse++
		t.worstCase = max(t.worstCase, ch.WorstCase())
	case ch.Verdict == stat.TooNoisy && ch.Interval != nil:
		t.noisy++
	default:
		t.unjudged++
	}
}

// The method others says which figures got better, which did not change, and which have no clear
// verdict.
func (t *tally) others() []string {
	var parts []string
	add := func(n int, says string) {
		if n > 0 {
			parts = append(parts, results.FormatCount(n, "figure")+" "+says)
		}
	}
	if len(t.better) > 0 {
		add(len(t.better), "got better: "+namedChanges(t.better, 1))
	}
	add(t.same, "did not change by more than "+results.FormatPercent(100*t.within))
	add(t.likelyBetter, "likely got better")
	add(t.notWorse, "did not get worse by more than "+results.FormatPercent(100*t.worstCase))
	add(t.noisy, "varied too much to tell a change of "+results.FormatPercent(100*t.limit))
	if t.isSearched {
		add(t.equal, "did not change as far as both searched")
	} else {
		add(t.equal, "did not change")
	}
	if t.unjudged < t.judged {
		add(t.unjudged, "got no verdict")
	}
	return parts
}

// namedChanges names the most significant changes, up to the limit, and counts the others.
func namedChanges(changes []stat.Change, limit int) string {
	shown := mostSignificant(changes, limit)
	var names []string
	for _, ch := range shown {
		names = append(names, changeText(ch))
	}
	text := strings.Join(names, "; ")
	if more := len(changes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
