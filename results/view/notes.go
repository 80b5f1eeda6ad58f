package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// notes returns what has to be known to read the rows rightly. Each is there only if it applies.
func notes(s *results.Set, rows []stat.Row) []string {
	out := sampleNotes(rows)
	var related, unrelated, wire, fewObservations, free bool
	runs := 0
	for _, r := range rows {
		related = related || r.ToRaw != nil
		unrelated = unrelated || r.Cell.Framing != results.FramingRaw && r.Samples > 0
		wire = wire || r.ToRawWire != nil
		free = free || r.Cell.Placement == "free"
		if l, ok := r.PrimaryLatency(); ok && (l.P50NS == nil || l.P99NS == nil) {
			fewObservations = true
		}
		runs = max(runs, len(r.Runs))
	}
	if related {
		out = append(out, "vs raw sets a cell beside raw with all else the same: "+
			"the median of the ratios within each interleaving round, [95 % interval]")
	} else if unrelated {
		out = append(out,
			"no raw cell of the same size was measured: what a framing costs cannot be said")
	}
	if wire {
		out = append(out, "vs raw, wire sets messages a second beside those of raw messages as "+
			"long as the framed ones are on the wire: whole pages fill a pipe better than a byte "+
			"more does")
	}
	if fewObservations {
		out = append(out, "a percentile is shown only where ten observations lie beyond it: "+
			"p99 takes 1,000 of them")
	}
	if runs > 1 {
		out = append(out, fmt.Sprintf("cells of up to %d runs are pooled; their intervals hold "+
			"what changed between the runs too", runs))
	}
	if free {
		out = append(out, freeNote(rows))
	}
	out = append(out, checkedNote(s)...)
	out = append(out, stoppedNotes(s)...)
	for _, p := range s.Problems {
		if !slices.Contains(out, p.String()) {
			out = append(out, p.String())
		}
	}
	return out
}

// checkedNote says how far messages were checked.
func checkedNote(s *results.Set) []string {
	var checked results.Verified
	for _, r := range s.Records {
		if r.Verified != nil {
			checked.Sequence += r.Verified.Sequence
			checked.Compared += r.Verified.Compared
			checked.Bytes += r.Verified.Bytes
		}
	}
	if checked.Sequence+checked.Compared == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s messages were checked by number and length while the clock "+
		"ran, %s more (%s bytes) byte for byte", results.FormatGrouped(checked.Sequence),
		results.FormatGrouped(checked.Compared), results.FormatGrouped(checked.Bytes))}
}

// stoppedNotes say why cells ended early.
func stoppedNotes(s *results.Set) []string {
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
	if stopped["max-time"] > 0 {
		out = append(out, cells("max-time")+
			" stopped at the time allowed for the run: give it more (--max-time)")
	}
	return out
}

// sampleNotes say what stands after ±, how many samples it rests on, where they are too few, and
// how many were left out because others disturbed them.
func sampleNotes(rows []stat.Row) []string {
	var least, most, few, leftOut, disturbed int
	for _, r := range rows {
		n := r.Samples
		if e, ok := r.Estimates[stat.RelativeMetric(r.Cell, r.Cell).Name]; ok {
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
		if least == stat.LeastSamples {
			text += "; of six samples it is [min, max]"
		}
		out = append(out, text)
	}
	if few > 0 {
		out = append(out, fmt.Sprintf("fewer than %d samples in %d of %s: their medians have no "+
			"interval, and nothing is claimed from them", stat.LeastSamples, few,
			results.FormatCount(len(rows), "cell")))
	}
	if leftOut > 0 {
		out = append(out, fmt.Sprintf("%s of %s left out: other programs disturbed them",
			results.FormatCount(leftOut, "sample"), results.FormatCount(disturbed, "cell")))
	}
	return out
}

// freeNote says what to think of cells whose ends the scheduler placed.
func freeNote(rows []stat.Row) string {
	var texts []string
	for _, r := range rows {
		if r.Cell.Placement != "free" {
			continue
		}
		m := stat.RelativeMetric(r.Cell, r.Cell)
		modes, ok := stat.Bimodal(m.Values(r.Pooled()))
		if ok {
			texts = append(texts, fmt.Sprintf("%s %s at %s (%d samples) and %s (%d)",
				r.Cell.Framing, results.FormatSize(int64(r.Cell.Size)), m.Format(modes.Low),
				modes.NLow, m.Format(modes.High), modes.NHigh))
		}
	}
	text := "unpinned (placement free): the scheduler chose the CPUs"
	if len(texts) == 0 {
		return text + "; another run may fall out differently"
	}
	return text + ", and the figures are bimodal: " + strings.Join(texts, "; ")
}

// screenNotes say how to read the figures of the first screen, and what a person can do about them,
// in few lines.
func screenNotes(s *results.Set, sum Summary) []string {
	out := sampleNotes(sum.Rows)
	rough, byCPU := "", ""
	var failures []string
	for _, r := range sum.Rows {
		if r.ToRaw != nil && isRough(r) {
			rough = fmt.Sprintf("? is known to no better than ±%d %%: run again on a quieter "+
				"machine, or longer (--max-time)", roughSpread)
		}
		if r.ToRawByCPU != nil && byCPU == "" {
			byCPU = fmt.Sprintf("by CPU time, which others do not touch, %s at %s has %.2f of "+
				"raw, not %.2f", r.Cell.Framing, fieldText(r.Cell, "size"), r.ToRawByCPU.Median,
				r.ToRaw.Median)
		}
		r.Warnings = nil
		for _, text := range rowWarnings(r) {
			if !slices.Contains(failures, text) {
				failures = append(failures, text)
			}
		}
	}
	out = append(out, rough, byCPU)
	out = append(out, failures...)
	out = append(out, doubtNote(sum))
	for _, note := range stoppedNotes(s) {
		if !strings.Contains(note, "--max-time") { // most runs stop then
			out = append(out, note)
		}
	}
	return nonEmpty(out)
}

// busyWarning begins the warning that others use the machine.
const busyWarning = "load: "

// doubtNote sums up the warnings of a run in a line: a busy machine first.
func doubtNote(sum Summary) string {
	doubts := slices.Clone(sum.Warnings)
	warned := 0
	for _, r := range sum.Rows {
		if len(r.Warnings) > 0 {
			warned++
		}
		for _, w := range r.Warnings {
			if !slices.Contains(doubts, w) {
				doubts = append(doubts, w)
			}
		}
	}
	for _, w := range doubts {
		if text, busy := strings.CutPrefix(w, busyWarning); busy {
			return "busy machine: " + text
		}
	}
	cells := fmt.Sprintf("%d of %s", warned, results.FormatCount(len(sum.Rows), "cell"))
	switch {
	case len(sum.Warnings) > 0:
		return "every cell: " + sum.Warnings[0]
	case len(doubts) == 1:
		return cells + ": " + doubts[0]
	case warned > 0:
		return cells + " have warnings, see --detail"
	}
	return ""
}
