package view

import (
	"fmt"
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
	if 2*(b.wide+b.few) <= b.all || b.few == b.all && tooFewSamples(rows) != "" {
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
	texts := []string{first + " Close other programs, or try at another time. Fewer cells get " +
		"more samples each: pipebench run --size 65000 --max-time 2m."}
	var hidden []string
	for _, effect := range effects {
		switch {
		case effect.text == "":
		case effect.noisy:
			hidden = append(hidden, effect.text)
		default:
			texts = append(texts, "Certain all the same: "+strings.ToLower(effect.text[:1])+
				effect.text[1:])
		}
	}
	return append(texts, hidden...)
}

// roughSign stands before a figure that is only rough: its interval is wider than ±MaxShownSpread,
// or it has too few samples for one.
const roughSign = "~"

// RoughText shows the median of a metric in its unit, marked if it is only rough.
func RoughText(metric string, e stat.Estimate) string {
	text := stat.MustMetric(metric).Format(e.Median)
	if percent, known := e.Spread(); known && percent <= MaxShownSpread {
		return text
	}
	return roughSign + text
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
