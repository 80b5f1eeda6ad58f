package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// notes lists the notes on tables of measurements. Without detail, it leaves out what the screen
// says elsewhere.
func notes(s *results.Set, rows []stat.Row, detail bool) []string {
	out := sampleNotes(rows, detail)
	out = append(out, cpuNote(rows))
	if detail {
		out = append(out, figureNotes(rows)...)
		out = append(out, checkedNote(s))
	} else {
		out = append(out, placementNote(rows))
	}
	out = append(out, stoppedNotes(s, detail)...)
	var failures, doubts []warning
	for _, r := range rows {
		about := results.CellLabel(r.Cell, nil)
		for _, text := range failureTexts(r) {
			failures = append(failures, warning{about, text})
		}
		for _, text := range r.Warnings {
			if detail || !isToldElsewhere(text) {
				doubts = append(doubts, warning{about, text})
			}
		}
	}
	out = append(out, warningNotes(failures, len(rows), "cell")...)
	if !detail {
		return nonEmpty(append(out, doubtNotes(doubts, len(rows))...))
	}
	out = append(out, warningNotes(doubts, len(rows), "cell")...)
	for _, p := range s.Problems {
		out = append(out, p.String())
	}
	return nonEmpty(out)
}

// isToldElsewhere reports whether the first screen already tells of a warning.
func isToldElsewhere(text string) bool {
	return strings.HasPrefix(text, "fewer samples than asked for") ||
		strings.HasPrefix(text, loadPrefix)
}

const (
	mostInFull = 2 // the most warnings on a first screen that keep their advice
	mostNamed  = 3 // the most things that one warning names
)

// doubtNotes tell of warnings on a first screen. If there are many, a single note has them all,
// without what to do about them.
func doubtNotes(doubts []warning, cells int) []string {
	full := warningNotes(doubts, cells, "cell")
	if len(full) <= mostInFull {
		return full
	}
	var parts []string
	for _, alike := range grouped(doubts, func(w warning) string {
		return withoutDigits(stat.WithoutAdvice(w.text))
	}) {
		parts = append(parts, fmt.Sprintf("%s (%s)", stat.WithoutAdvice(alike[0].text),
			results.FormatCount(len(alike), "cell")))
	}
	return []string{strings.Join(parts, "; ") + ": --detail says what to do"}
}

// sampleNotes explain the figures with ±: how many samples they have, and how many samples were
// left out.
func sampleNotes(rows []stat.Row, detail bool) []string {
	var least, most int // numbers of samples, among cells that have enough
	var few int         // cells that have too few samples
	var leftOut, disturbed int
	for _, r := range rows {
		n := r.Samples
		if e, ok := r.Estimates[stat.RelativeMetric(r.Cell).Name]; ok {
			n = e.N
			leftOut += e.LeftOut
			if e.LeftOut > 0 {
				disturbed++
			}
		}
		switch {
		case n >= stat.LeastSamples:
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
		case n > 0:
			few++
		}
	}
	var out []string
	if least > 0 {
		text := fmt.Sprintf("± is the 95 %% interval of the median, n = %d", least)
		if most > least {
			text += fmt.Sprintf(" to %d", most)
		}
		text += " samples a cell"
		if detail && least == stat.LeastSamples { // LeastSamples is six
			text += "; of six samples it is [min, max]"
		}
		out = append(out, text)
	}
	switch {
	case few > 0 && detail:
		out = append(out, fmt.Sprintf("fewer than %d samples in %d of %s: their figures have no "+
			"interval and are rough (%s)", stat.LeastSamples, few,
			results.FormatCount(len(rows), "cell"), roughSign))
	case few > 0:
		out = append(out, roughNote)
	}
	if leftOut > 0 {
		out = append(out, fmt.Sprintf("%s of %s left out: other programs disturbed them",
			results.FormatCount(leftOut, "sample"), results.FormatCount(disturbed, "cell")))
	}
	return out
}

// placementNote names the values of the flag --placement with which the shown rows were measured.
func placementNote(rows []stat.Row) string {
	var words, names []string
	for _, p := range placements {
		if slices.ContainsFunc(rows, func(r stat.Row) bool { return r.Cell.Placement == p.name }) {
			words = append(words, p.short)
			names = append(names, p.name)
		}
	}
	if len(names) < 2 {
		return ""
	}
	return strings.Join(words, ", ") + ": --placement " + strings.Join(names, ", ")
}

// cpuNote names the first measurement whose CPU time, relative to raw bytes, contradicts its speed
// relative to raw bytes.
func cpuNote(rows []stat.Row) string {
	for _, r := range rows {
		if r.ToRawByCPU != nil { // set only for a contradiction
			return fmt.Sprintf("by CPU time, which others do not touch, %s at %s has %.2f of "+
				"raw, not %.2f", r.Cell.Framing, fieldText(r.Cell, "size"), r.ToRawByCPU.Median,
				r.ToRaw.Median)
		}
	}
	return ""
}

// figureNotes explain the columns of a detailed table.
func figureNotes(rows []stat.Row) []string {
	var compared, framed bool
	runs := 0
	for _, r := range rows {
		compared = compared || r.ToRaw != nil
		framed = framed || r.Cell.Framing != results.FramingRaw && r.Samples > 0
		runs = max(runs, len(r.Runs))
	}
	var out []string
	if compared {
		out = append(out, "vs raw sets a cell beside raw with all else the same: "+
			"the median of the ratios within each interleaving round")
	} else if framed {
		out = append(out,
			"no raw cell of the same size was measured: what a framing costs cannot be said")
	}
	if runs > 1 {
		out = append(out, fmt.Sprintf("cells of up to %d runs are pooled; their intervals hold "+
			"what changed between the runs too", runs))
	}
	return out
}

// checkedNote says how many messages were checked, and how.
func checkedNote(s *results.Set) string {
	var checked results.Verified
	for _, r := range s.Records {
		if r.Verified != nil {
			checked.Sequence += r.Verified.Sequence
			checked.Compared += r.Verified.Compared
			checked.Bytes += r.Verified.Bytes
		}
	}
	if checked.Sequence+checked.Compared == 0 {
		return ""
	}
	return fmt.Sprintf("%s messages were checked by number and length while the clock ran, "+
		"%s more (%s bytes) byte for byte", results.FormatGrouped(checked.Sequence),
		results.FormatGrouped(checked.Compared), results.FormatGrouped(checked.Bytes))
}

// stoppedNotes say why measurements ended early. Without detail, they do not mention measurements
// that ran out of time.
func stoppedNotes(s *results.Set, detail bool) []string {
	stopped := make(map[string]int)
	for _, r := range s.Records {
		stopped[r.Stopped]++
	}
	cells := func(why string) string { return results.FormatCount(stopped[why], "cell") }
	var out []string
	if stopped["interrupted"] > 0 {
		out = append(out, "the run was cut short in "+cells("interrupted")+
			" (interrupted): this is what was finished")
	}
	if stopped["failed"] > 0 {
		out = append(out, cells("failed")+" stopped because one failed")
	}
	if detail && stopped["max-time"] > 0 {
		out = append(out, cells("max-time")+
			" stopped at the time allowed for the run: give it more (--max-time)")
	}
	return out
}

// failureTexts says why a measurement is unsupported or failed.
func failureTexts(r stat.Row) []string {
	var out []string
	if r.Unsupported != "" {
		out = append(out, "unsupported: "+r.Unsupported)
	}
	if r.Failed != "" {
		out = append(out, "failed: "+r.Failed)
	}
	return out
}

// A warning has a text and the name of what the warning is about, such as a measurement. The name
// is "" if that is obvious.
type warning struct{ about, text string }

// warningNotes say each warning once, even if the digits differ. The warnings are about some of so
// many things as total says, and noun is what these are: "cell".
func warningNotes(all []warning, total int, noun string) []string {
	var out []string
	for _, alike := range grouped(all, func(w warning) string { return withoutDigits(w.text) }) {
		first := alike[0]
		var names []string
		differ := false // whether the warnings differ in their digits
		for _, w := range alike {
			names = append(names, w.about)
			differ = differ || w.text != first.text
		}
		about := strings.Join(nonEmpty(slices.Compact(names)), ", ")
		switch {
		case !differ && len(alike) > 1 && len(alike) == total:
			about = ""
		case differ || len(alike) > mostNamed:
			about = fmt.Sprintf("in %d of %s", len(alike), results.FormatCount(total, noun))
			if differ && first.about != "" {
				about += ", such as " + first.about
			}
		}
		if about != "" {
			about += ": "
		}
		out = append(out, about+first.text)
	}
	return out
}

func withoutDigits(text string) string {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	return strings.Join(strings.FieldsFunc(text, isDigit), "")
}
