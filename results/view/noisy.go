package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

const tooNoisyToCompare = "Too noisy to compare framings"

// noisySentence says that a run is too noisy to tell framings apart, and what to do about it.
func noisySentence(rows []stat.Row) string {
	all, blurred := countRatios(rows)
	text := fmt.Sprintf("%s: noise of more than ±%d %%, or fewer than %d samples, in %d of %s "+
		"with raw bytes. ", tooNoisyToCompare, stat.MostBlur, stat.LeastSamples,
		blurred, results.FormatCount(all, "comparison"))
	text += untilKnown + " Close other programs, "
	isOther := func(r stat.Row) bool { return r.Cell.Size != rows[0].Cell.Size }
	if slices.ContainsFunc(rows, isOther) {
		return text + "measure longer (--max-time), or measure one size alone (--size)."
	}
	return text + "or measure longer (--max-time)."
}

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
	return !stat.IsClear(*r.ToRaw)
}

// countRatios counts the measurements of a run that are compared with raw bytes, and those of them
// that are too noisy, or have too few samples, to tell framings apart.
func countRatios(rows []stat.Row) (all, blurred int) {
	for _, r := range rows {
		if r.ToRaw == nil || r.Cell.Pattern != patternStream || r.Cell.IsWaiting() {
			continue // tables show other ratios of trips, and none of writers that do not block
		}
		all++
		if isBlurred(r) {
			blurred++
		}
	}
	return all, blurred
}

// isTooNoisyToRank reports whether noise hides how framings differ. This needs two things: most
// comparisons with raw bytes are too noisy, and so is each group of measurements in bare.
func isTooNoisyToRank(rows, bare []stat.Row) bool {
	all, blurred := countRatios(rows)
	if 2*blurred <= all || allHaveTooFewSamples(rows) {
		return false // the text of tooFewSamples says what to do about too few
	}
	for _, one := range seriesIn(bare, patternStream) {
		known, noisy := one.toldRows()
		if len(known) > 0 && len(noisy) == 0 {
			return false
		}
	}
	return true
}
