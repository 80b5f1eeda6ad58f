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

// tooNoisyToTell stands in a sentence instead of what noise hides.
const tooNoisyToTell = "too noisy to tell"

// mostBlur is the half-width of an interval, in percent, up to which a ratio to raw can tell
// framings apart: most cost 5 to 20 %.
const mostBlur = 25

// isBlurred reports whether a row's ratio to raw is too uncertain to tell framings apart.
func isBlurred(r stat.Row) bool {
	percent, _ := r.ToRaw.Spread()
	return percent > mostBlur
}

// A blur counts the ratios to raw of a run, and those that cannot tell framings apart.
type blur struct {
	all  int
	wide int // their intervals are wider than ±mostBlur
	few  int // they have too few samples for an interval
}

func blurOf(rows []stat.Row) blur {
	var b blur
	for _, r := range rows {
		switch {
		case r.ToRaw == nil:
			continue
		case r.ToRaw.Interval == nil:
			b.few++
		case isBlurred(r):
			b.wide++
		}
		b.all++
	}
	return b
}

// isTooNoisyToRank reports whether a run cannot tell framings apart: most of its ratios to raw are
// blurred or have no interval, and at no place something is known of all framings at the size that
// is summed up. tooFewSamples speaks of a run in which no cell has enough samples.
func isTooNoisyToRank(rows, bare []stat.Row) bool {
	b := blurOf(rows)
	if 2*(b.wide+b.few) <= b.all || b.few == b.all && hasTooFewSamples(rows) {
		return false
	}
	for _, one := range seriesIn(bare, patternStream) {
		known, noisy := one.kept()
		if len(known) > 0 && len(noisy) == 0 && one.sharesText() != tooNoisyToTell {
			return false
		}
	}
	return true
}

// noisyMeaning says that a run cannot tell framings apart and what to do about it, then the effects
// that are larger than the noise, and last the others.
func noisyMeaning(rows []stat.Row, effects []sentence) []string {
	b := blurOf(rows)
	comparisons := results.FormatCount(b.all, "comparison")
	first := fmt.Sprintf("This machine was too noisy to tell framings apart: the interval of %d "+
		"of %s with raw bytes is wider than ±%d %%.", b.wide, comparisons, mostBlur)
	if b.few > b.wide {
		first = fmt.Sprintf("Too few samples to tell framings apart: %d of %s with raw bytes have "+
			"fewer than %d, which an interval takes.", b.few, comparisons, stat.LeastSamples)
	}
	if load := loadOf(rows); load != "" {
		first = "Too busy to compare framings: " + load + "."
	}
	texts := []string{first + " " + untilKnown + " Close other programs, or try at another time. " +
		"Fewer cells get more samples each: pipebench run --size 65000 --max-time 2m."}
	var hidden []string
	for _, effect := range effects {
		switch {
		case effect.text == "":
		case effect.noisy:
			hidden = append(hidden, effect.text)
		case strings.Contains(effect.text, roughSign): // not certain either
			texts = append(texts, effect.text)
		default:
			texts = append(texts, "Certain all the same: "+strings.ToLower(effect.text[:1])+
				effect.text[1:])
		}
	}
	return append(texts, hidden...)
}

// tripSentence says how long the smallest messages take there and back at the first place, as raw
// bytes and framed.
func tripSentence(bare []stat.Row) sentence {
	all := seriesIn(bare, results.PatternRoundtrip)
	if len(all) == 0 || !all[0].hasMedianTrips() {
		return sentence{}
	}
	rows := all[0].rows
	size := rows[0].Cell.Size
	for _, r := range rows {
		size = min(size, r.Cell.Size)
	}
	var raw, framed []float64
	rough := ""
	for _, r := range rows {
		ns, measured := r.Figure("p50")
		if !measured || r.Cell.Size != size {
			continue
		}
		if IsRough(r.Estimates["p50"]) {
			rough = roughSign
		}
		if r.Cell.Framing == results.FramingRaw {
			raw = append(raw, ns)
		} else {
			framed = append(framed, ns)
		}
	}
	if size == 0 || len(raw) == 0 || len(framed) == 0 {
		return sentence{}
	}
	least := results.FormatDuration(slices.Min(framed))
	most := results.FormatDuration(slices.Max(framed))
	text := fmt.Sprintf("A round trip of %s %s takes %s raw, %s framed%s.", SizeTitle(size),
		all[0].where, rough+results.FormatDuration(raw[0]), rough+FromTo(least, most), ofMedian)
	return sentence{text, rough != ""}
}

// overheadSentence says how many bytes framings add to messages, which no clock measures.
func overheadSentence(bare []stat.Row) sentence {
	var framed []stat.Row
	for _, r := range bare {
		added, known := r.Figure("overhead")
		if known && added > 0 && r.Cell.Size > 0 { // unlike raw, compressed and recorded messages
			framed = append(framed, r)
		}
	}
	if len(framed) == 0 {
		return sentence{}
	}
	slices.SortStableFunc(framed, func(a, b stat.Row) int {
		return cmp.Or(cmp.Compare(a.Cell.Size, b.Cell.Size),
			cmp.Compare(a.Estimates["overhead"].Median, b.Estimates["overhead"].Median))
	})
	least := framed[0]
	most := least // of the same size
	for _, r := range framed {
		if r.Cell.Size == least.Cell.Size {
			most = r
		}
	}
	text := fmt.Sprintf("Framing adds %s (%s)", metricText(least, "overhead"),
		FramingPhrase(least.Cell.Framing))
	if most.Cell.Framing != least.Cell.Framing {
		text += fmt.Sprintf(" to %s (%s)", metricText(most, "overhead"),
			FramingPhrase(most.Cell.Framing))
	}
	text += " to messages of " + SizeTitle(least.Cell.Size)
	largest := framed[len(framed)-1]
	if largest.Cell.Size > least.Cell.Size {
		text += fmt.Sprintf(", at most %s to those of %s", metricText(largest, "overhead"),
			SizeTitle(largest.Cell.Size))
	}
	return sentence{text: text + ": exact on any machine."}
}

// untilKnown says what to do while framings cannot be compared.
const untilKnown = "Until you know, use the one that the other end speaks " +
	"(pipebench help framings)."

// loadOf says how busy other programs kept the CPUs, in the words of the warning of the cells; ""
// if no cell has it.
func loadOf(rows []stat.Row) string {
	for _, r := range rows {
		for _, warning := range r.Warnings {
			if text, isLoad := strings.CutPrefix(warning, "load: "); isLoad {
				found, _, _ := strings.Cut(text, ";")
				return found
			}
		}
	}
	return ""
}

// A cellCount counts the cells of a run by what became of them.
type cellCount struct {
	all, measured, failed, unsupported int
	late                               int // time was up before their first sample
	interrupted                        int // also if they have samples
	most                               int // samples of a cell
}

func countOf(rows []stat.Row) cellCount {
	c := cellCount{all: len(rows)}
	for _, r := range rows {
		c.most = max(c.most, r.Samples)
		if r.Stopped == "interrupted" {
			c.interrupted++
		}
		switch {
		case r.Samples > 0:
			c.measured++
		case r.Unsupported != "":
			c.unsupported++
		case r.Failed != "":
			c.failed++
		case r.Stopped == "max-time":
			c.late++
		}
	}
	return c
}

// text says how many cells were measured, and what became of the others.
func (c cellCount) text() string {
	text := results.FormatCount(c.all, "cell") + " measured"
	if c.measured < c.all {
		text = fmt.Sprintf("%d of %s", c.measured, text)
	}
	if c.measured == 0 {
		text = "No cell measured"
	} else if c.most < stat.LeastSamples {
		text += fmt.Sprintf(", at most %s each", results.FormatCount(c.most, "sample"))
	}
	for _, other := range []struct {
		n    int
		what string
	}{
		{c.late, "not reached (time was up)"},
		{c.failed, "failed"},
		{c.unsupported, "unsupported here"},
	} {
		if other.n > 0 {
			text += fmt.Sprintf("; %d %s", other.n, other.what)
		}
	}
	return text + "."
}

// hasTooFewSamples reports whether no cell has enough samples for an interval.
func hasTooFewSamples(rows []stat.Row) bool {
	c := countOf(rows)
	return c.all > c.unsupported+c.failed && c.most < stat.LeastSamples
}

// tooFewSamples says of cells of which none has enough samples what was measured, why no more was,
// and what to do.
func tooFewSamples(s *results.Set, rows []stat.Row) []string {
	c := countOf(rows)
	switch {
	case c.interrupted > 0:
		return []string{fmt.Sprintf("Interrupted after %s: too few samples to compare. Let it "+
			"finish.", results.FormatCount(c.measured, "cell"))}
	case c.measured == 0:
		return []string{c.text() + " Give it more time (--max-time)."}
	}
	var out []string
	if load := loadOf(rows); load != "" && blurOf(rows).all > 0 {
		out = []string{"Too busy to compare framings: " + load + ". " + untilKnown}
	}
	time := "give it more time (--max-time)"
	if minutes := neededMinutes(s); minutes > 0 {
		time = fmt.Sprintf("allow %[1]dm (--max-time %[1]dm)", minutes)
	}
	return append(out, fmt.Sprintf("%s All figures are rough (~): an interval takes %d samples "+
		"per cell. Close other programs, or %s.", c.text(), stat.LeastSamples, time))
}

// neededMinutes estimates how long the run of a set takes until each cell has enough samples: half
// more than at the pace so far, because that varies on a busy machine. It is 0 if the set does not
// tell, or holds several runs.
func neededMinutes(s *results.Set) int {
	if len(s.Environments) != 1 {
		return 0
	}
	began := s.Environments[0].Time
	ended := began
	var samples, wanted int
	for _, r := range s.Records {
		samples += len(r.Samples)
		if r.Unsupported == "" {
			wanted += stat.LeastSamples
		}
		if r.Time.After(ended) {
			ended = r.Time
		}
	}
	if began.IsZero() || samples == 0 {
		return 0
	}
	needed := 1.5 * float64(wanted) / float64(samples)
	return int(math.Ceil(needed * ended.Sub(began).Minutes()))
}

// roughSign stands before a figure that is only rough.
const roughSign = "~"

// IsRough reports whether an estimate is in doubt: its interval is wider than ±MaxShownSpread, or
// it has too few samples for one.
func IsRough(e stat.Estimate) bool {
	percent, known := e.Spread()
	return !known || percent > MaxShownSpread
}

// RoughText shows the median of a metric in its unit, marked if it is only rough.
func RoughText(metric string, e stat.Estimate) string {
	text := stat.MustMetric(metric).Format(e.Median)
	if IsRough(e) {
		return roughSign + text
	}
	return text
}

// measuredText writes half the interval behind a figure, or marks it as rough if it has none.
func measuredText(figure string, e stat.Estimate) string {
	if e.Interval == nil {
		figure = roughSign + figure
	}
	return withSpread(figure, e)
}

// RoughNote explains the mark of rough figures, "" if the tables have none.
func RoughNote(tables []Table) string {
	for _, t := range tables {
		for _, row := range t.Rows {
			for _, v := range row {
				if strings.HasPrefix(v.Text, roughSign) {
					return fmt.Sprintf("%s: a rough figure: uncertain by more than ±%d %%, "+
						"or of fewer than %d samples", roughSign, MaxShownSpread,
						stat.LeastSamples)
				}
			}
		}
	}
	return ""
}
