package view

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// allHaveTooFewSamples reports whether no measurement has enough samples for an interval, although
// something could be measured.
func allHaveTooFewSamples(rows []stat.Row) bool {
	c := countCells(rows)
	return c.all > c.unsupported+c.failed && c.mostSamples < stat.LeastSamples
}

// tooFewSamples says what a run with too few samples has measured, and how to get more.
func tooFewSamples(rows []stat.Row) []string {
	c := countCells(rows)
	switch {
	case interruption(rows) != "":
		return nil // the meaning begins with it
	case c.measured == 0:
		return []string{c.text() + " Give it more time (--max-time)."}
	}
	out := []string{fmt.Sprintf("%s All figures are rough (~): an interval takes %d samples per "+
		"cell. Close other programs, or give it more time (--max-time).", c.text(),
		stat.LeastSamples)}
	all, _ := countRatios(rows)
	if all > 0 {
		out = append(out, untilKnown)
	}
	return out
}

// A cellCount counts the measurements of a run by what became of them.
type cellCount struct {
	all, measured, failed, unsupported int
	late                               int // without a sample when the time was up
	cut                                int // with fewer samples than asked for, as interrupted
	unreached                          int // without a sample, as the run was interrupted
	mostSamples                        int // the largest number of samples of one measurement
}

func countCells(rows []stat.Row) cellCount {
	c := cellCount{all: len(rows)}
	for _, r := range rows {
		c.mostSamples = max(c.mostSamples, r.Samples)
		isInterrupted := r.Stopped == "interrupted"
		if isInterrupted && r.Samples > 0 {
			c.cut++
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
		case isInterrupted:
			c.unreached++
		}
	}
	return c
}

// runAgain is for an interrupted run: another run in its folder adds samples to the same cells.
const runAgain = "Run it again to the end: with the same --out, pipebench report counts the " +
	"samples of both."

// interruption says what is missing because a run was interrupted, or "".
func interruption(rows []stat.Row) string {
	c := countCells(rows)
	if c.cut+c.unreached == 0 {
		return ""
	}
	return "Interrupted: " + c.text() + " " + runAgain
}

// text says how many of the planned measurements were made, and what became of the rest.
func (c cellCount) text() string {
	text := results.FormatCount(c.all, "cell") + " measured"
	if c.measured < c.all {
		text = fmt.Sprintf("%d of %s", c.measured, text)
	}
	if c.measured == 0 {
		text = "No cell measured"
	} else if c.mostSamples < stat.LeastSamples {
		text += fmt.Sprintf(", at most %s each", results.FormatCount(c.mostSamples, "sample"))
	} else if c.cut > 0 {
		text += fmt.Sprintf(", %d with fewer samples than asked for", c.cut)
	}
	if c.unreached > 0 {
		text += fmt.Sprintf("; %d not reached", c.unreached)
	}
	if c.late > 0 {
		text += fmt.Sprintf("; %d not reached (time was up)", c.late)
	}
	if c.failed > 0 {
		text += fmt.Sprintf("; %d failed", c.failed)
	}
	if c.unsupported > 0 {
		text += fmt.Sprintf("; %d unsupported here", c.unsupported)
	}
	return text + "."
}
