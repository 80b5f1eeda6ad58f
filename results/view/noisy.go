package view

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// noisySentence says that a run is too noisy to tell framings apart, and what to do about it.
func noisySentence(rows []stat.Row) string {
	count := countRatios(rows)
	comparisons := results.FormatCount(count.all, "comparison")
	text := fmt.Sprintf("Too noisy to compare framings: noise of more than ±%d %% in %d of %s "+
		"with raw bytes. ", stat.MostBlur, count.blurred, comparisons)
	if count.few > count.blurred {
		text = fmt.Sprintf("Too few samples to compare framings: fewer than %d, which an "+
			"interval takes, in %d of %s with raw bytes. ",
			stat.LeastSamples, count.few, comparisons)
	}
	text += untilKnown + " Close other programs, "
	isOther := func(r stat.Row) bool { return r.Cell.Size != rows[0].Cell.Size }
	if slices.ContainsFunc(rows, isOther) {
		return text + "measure longer, or measure one size alone."
	}
	return text + "or measure longer."
}

// longerRun has commands for narrower intervals. See isOfRun.
const longerRun = "For more samples: pipebench run --max-time 3m. For one size alone: pipebench " +
	"run --max-time 1m --size 65000 --placement same"

// defaultRun matches a command line of run that measures what run does without flags.
var defaultRun = regexp.MustCompile(
	`^pipebench run( (--(max-time|seed|out|label)|-o)[ =]\S+| --(quiet|no-progress|detail))*$`)

// isOfRun reports whether the commands of longerRun fit a run.
func isOfRun(e results.Environment) bool { return defaultRun.MatchString(e.Command) }

// untilKnown says which framing to use as long as framings cannot be compared.
const untilKnown = "Until you know, use the framing that the other end speaks."

// loadPrefix begins a warning that other programs kept the CPUs busy.
const loadPrefix = "load: "

// loadOf says that other programs kept the CPUs busy, or returns "" if no warning does.
func loadOf(s *results.Set) string {
	var busy []string // runs with such a warning
	text := ""
	for _, r := range s.Records {
		for _, warning := range r.Warnings {
			if strings.HasPrefix(warning, loadPrefix) && !slices.Contains(busy, r.Run) {
				busy = append(busy, r.Run)
				text = capitalised(stat.WithoutAdvice(warning)) + "."
			}
		}
	}
	if runs := len(s.Environments); runs > 1 && len(busy) > 0 {
		return fmt.Sprintf("Other programs kept CPUs busy in %d of %d runs.", len(busy), runs)
	}
	return text
}

// tooNoisyToTell takes the place of a result in a sentence if noise hides that result.
const tooNoisyToTell = "too noisy to tell"

// isBlurred reports whether the speed of a measurement, relative to raw bytes, is too uncertain to
// tell framings apart.
func isBlurred(r stat.Row) bool {
	percent, _ := r.ToRaw.Spread()
	return percent > stat.MostBlur
}

// A ratioCount counts the measurements of a run that are compared with raw bytes.
type ratioCount struct {
	all     int
	blurred int // those whose interval is too wide to tell framings apart
	few     int // those with too few samples for an interval
}

func countRatios(rows []stat.Row) ratioCount {
	var c ratioCount
	for _, r := range rows {
		switch {
		case r.ToRaw == nil || r.Cell.Pattern != patternStream || r.Cell.IsWaiting():
			continue // tables show other ratios of trips, and none of writers that do not block
		case r.ToRaw.Interval == nil:
			c.few++
		case isBlurred(r):
			c.blurred++
		}
		c.all++
	}
	return c
}

// isTooNoisyToRank reports whether noise hides how framings differ. This needs two things: most
// comparisons with raw bytes are too noisy, and so is each group of measurements in bare.
func isTooNoisyToRank(rows, bare []stat.Row) bool {
	count := countRatios(rows)
	if 2*(count.blurred+count.few) <= count.all {
		return false
	}
	if count.few == count.all && allHaveTooFewSamples(rows) {
		return false // not noise: the text of tooFewSamples says what to do
	}
	for _, one := range seriesIn(bare, patternStream) {
		known, noisy := one.toldRows()
		if len(known) > 0 && len(noisy) == 0 {
			return false
		}
	}
	return true
}

// overheadSentence says how many bytes framings add to a message. Noise has no influence on this
// number.
func overheadSentence(bare []stat.Row) string {
	var framed []stat.Row
	for _, r := range bare {
		added, known := r.Figure("overhead")
		isRaw := r.Cell.Framing == results.FramingRaw
		if known && added > 0 && !isRaw && r.Cell.Size > 0 { // not compressed or recorded messages
			framed = append(framed, r)
		}
	}
	if len(framed) == 0 {
		return ""
	}
	slices.SortStableFunc(framed, func(a, b stat.Row) int {
		return cmp.Or(cmp.Compare(a.Cell.Size, b.Cell.Size),
			cmp.Compare(a.Estimates["overhead"].Median, b.Estimates["overhead"].Median),
			cmp.Compare(a.Cell.Framing, b.Cell.Framing))
	})
	framed = slices.CompactFunc(framed, func(a, b stat.Row) bool {
		return a.Cell.Size == b.Cell.Size && a.Cell.Framing == b.Cell.Framing
	})
	least := framed[0]
	framed = slices.DeleteFunc(framed, func(r stat.Row) bool {
		return r.Cell.Size > least.Cell.Size
	})
	last := len(framed) - 1
	low, high := metricText(least, "overhead"), metricText(framed[last], "overhead")
	added := low + " (" + framingNames(framed) + ")"
	if low != high {
		added = low + " (" + framingNames(framed[:1]) + ") to " + high + " (" +
			framingNames(framed[last:]) + ")"
	}
	return "In bytes, framing adds " + added + " to messages of " + SizeTitle(least.Cell.Size) +
		", on any machine."
}
