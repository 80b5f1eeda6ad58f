package view

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// roughSign stands before a rough figure.
const roughSign = "~"

// IsRough reports whether an estimate has too few samples, or an interval wider than
// ±[stat.MostSpread] percent.
func IsRough(e stat.Estimate) bool {
	percent, known := e.Spread()
	isExact := e.Interval != nil && e.Interval.Lo == e.Interval.Hi // also if it is 0
	return !isExact && (!known || percent > stat.MostSpread)
}

// An Effect is what a ratio between two ways tells, where more is better.
type Effect int

// Effects. The zero Effect says that noise hides the answer.
const (
	Unclear Effect = iota
	Gain           // certainly better, by at least the factor that counts
	NoGain         // certainly not better by as much
	Loss           // certainly worse, by at least the factor that counts
)

// Judge decides what a ratio tells. Sentences, tables, titles of pictures and advice all go by it,
// so that they agree. A gain or a loss is certain if the whole interval lies on one side, however
// wide it is. A wide interval of disturbed samples must lie farther out: other programs may have
// met one way more often than the other.
func Judge(ratio stat.Estimate, counts float64) Effect {
	bias := 1.0
	if ratio.Disturbed && !stat.IsClear(ratio) {
		bias += stat.MostBlur / 100.0
	}
	switch {
	case ratio.Below(1 / (counts * bias)):
		return Loss
	case ratio.Above(counts * bias):
		return Gain
	case ratio.Below(counts / bias):
		return NoGain
	}
	return Unclear
}

// noiseHides follows a certain gain or loss that noise leaves without a figure: its ratio is not
// [stat.IsClear].
const noiseHides = "by how much, noise hides"

// TimesAsFast tells a certain gain or loss: "2.4 times as fast".
func TimesAsFast(ratio stat.Estimate) string {
	switch {
	case stat.IsClear(ratio):
		return results.FormatNumber(ratio.Median, 2) + " times as fast"
	case ratio.Median > 1:
		return "certainly faster (" + noiseHides + ")"
	}
	return "certainly slower (" + noiseHides + ")"
}

// RoughText shows the median of a metric in its unit. It marks the median if [IsRough] reports
// true.
func RoughText(metric string, e stat.Estimate) string {
	return markRough(stat.MustMetric(metric).Format(e.Median), e)
}

func markRough(figure string, e stat.Estimate) string {
	if IsRough(e) {
		return roughSign + figure
	}
	return figure
}

// measuredText writes a figure with the half-width of its interval, "0.94 ± 2%". It marks the
// figure instead if [IsRough] reports true.
func measuredText(figure string, e stat.Estimate) string {
	if IsRough(e) {
		return roughSign + figure
	}
	percent, _ := e.Spread()
	return fmt.Sprintf("%s ±%2.0f%%", figure, percent)
}

var roughNote = fmt.Sprintf("%s: a rough figure: uncertain by more than ±%d %%, or of fewer than "+
	"%d samples", roughSign, stat.MostSpread, stat.LeastSamples)

// RoughNote explains the mark of rough figures. It returns "" if the tables have no such figure.
func RoughNote(tables []Table) string {
	for _, t := range tables {
		for _, row := range t.Rows {
			for _, v := range row {
				if strings.HasPrefix(v.Text, roughSign) {
					return roughNote
				}
			}
		}
	}
	return ""
}
