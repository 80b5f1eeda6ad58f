package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// screenNotes lists the notes on the tables of a first screen. isPart says that the tables do not
// show all measurements.
func screenNotes(rows []stat.Row, isPart bool) []string {
	out := sampleNotes(rows)
	failures, doubts := warningsOf(rows)
	out = append(out, warningNotes(failures, len(rows), "cell")...)
	doubts = slices.DeleteFunc(doubts, func(w warning) bool { // the screen tells of these anyway
		return strings.HasPrefix(w.text, "fewer samples than asked for") ||
			strings.HasPrefix(w.text, loadPrefix) || w.text == stat.RunsDiffer
	})
	cells := results.FormatCount(len(rows), "cell")
	told := warningNotes(doubts, len(rows), "cell")
	if len(told) > mostWarnings {
		return append(out, fmt.Sprintf("--detail shows all %s, and warnings about %d of them",
			cells, len(grouped(doubts, func(w warning) string { return w.about }))))
	}
	out = append(out, told...)
	if isPart {
		out = append(out, "--detail shows all "+cells)
	}
	return out
}

const (
	mostWarnings = 2 // the most warnings that a first screen shows
	mostNamed    = 3 // the most things that one warning names
)

// detailedNotes lists the notes on the tables that show all measurements.
func detailedNotes(s *results.Set, rows []stat.Row) []string {
	out := append([]string{stoppedNote(rows)}, sampleNotes(rows)...)
	out = append(out, figureNotes(rows)...)
	out = append(out, checkedNote(s))
	failures, doubts := warningsOf(rows)
	out = append(out, warningNotes(failures, len(rows), "cell")...)
	out = append(out, warningNotes(doubts, len(rows), "cell")...)
	for _, p := range s.Problems {
		out = append(out, p.String())
	}
	return nonEmpty(out)
}

// warningsOf returns why measurements failed, and the warnings about others.
func warningsOf(rows []stat.Row) (failures, doubts []warning) {
	for _, r := range rows {
		about := results.CellName(r.Cell)
		if r.Unsupported != "" {
			failures = append(failures, warning{about, "unsupported: " + r.Unsupported})
		}
		if r.Failed != "" {
			failures = append(failures, warning{about, "failed: " + r.Failed})
		}
		for _, text := range r.Warnings {
			doubts = append(doubts, warning{about, text})
		}
	}
	return failures, doubts
}

// sampleNotes explain the figures with ±.
func sampleNotes(rows []stat.Row) []string {
	var out []string
	var counts []int // of samples, in cells that have enough for an interval
	leftOut := 0
	disturbed := 0 // cells whose disturbed samples are used
	for _, r := range rows {
		e := r.Estimates[stat.RelativeMetric(r.Cell).Name]
		leftOut += e.LeftOut
		if e.Disturbed {
			disturbed++
		}
		if e.N >= stat.LeastSamples {
			counts = append(counts, e.N)
		}
	}
	if len(counts) > 0 {
		least, most := strconv.Itoa(slices.Min(counts)), strconv.Itoa(slices.Max(counts))
		text := "± is the 95 % interval of the median, of " + FromTo(least, most) + " samples"
		if leftOut > 0 {
			text += fmt.Sprintf("; %d disturbed by other programs are left out", leftOut)
		}
		if disturbed > 0 {
			text += fmt.Sprintf("; %d of %s keep disturbed ones, as too few would remain",
				disturbed, results.FormatCount(len(rows), "cell"))
		}
		out = append(out, text)
	}
	return out
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

// stoppedNote says how many measurements ran out of time, or "".
func stoppedNote(rows []stat.Row) string {
	late := selected(rows, func(r stat.Row) bool { return r.Stopped == "max-time" })
	if len(late) == 0 {
		return ""
	}
	return results.FormatCount(len(late), "cell") +
		" stopped at the time allowed for the run: give it more (--max-time)"
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
