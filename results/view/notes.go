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
		out = append(out, "no raw cell of the same size was measured: what a framing costs cannot be said")
	}
	if wire {
		out = append(out, "vs raw, wire sets messages a second beside those of raw messages as long as the "+
			"framed ones are on the wire: whole pages fill a pipe better than a byte more does")
	}
	if fewObservations {
		out = append(out, "a percentile is shown only where ten observations lie beyond it: "+
			"p99 takes 1,000 of them")
	}
	if runs > 1 {
		out = append(out, fmt.Sprintf("cells of up to %d runs are pooled; their intervals hold what changed "+
			"between the runs too", runs))
	}
	if free {
		out = append(out, freeNote(rows))
	}
	out = append(out, runNotes(s)...)
	for _, p := range s.Problems {
		if !slices.Contains(out, p.String()) {
			out = append(out, p.String())
		}
	}
	return out
}

// runNotes say how far messages were checked, and why runs ended early.
func runNotes(s *results.Set) []string {
	var out []string
	var checked results.Verified
	stopped := make(map[string]int)
	for _, r := range s.Records {
		stopped[r.Stopped]++
		if r.Verified != nil {
			checked.Sequence += r.Verified.Sequence
			checked.Compared += r.Verified.Compared
			checked.Bytes += r.Verified.Bytes
		}
	}
	if checked.Sequence+checked.Compared > 0 {
		out = append(out, fmt.Sprintf("%s messages were checked by number and length while the clock ran, "+
			"%s more (%s bytes) byte for byte", results.FormatGrouped(checked.Sequence),
			results.FormatGrouped(checked.Compared), results.FormatGrouped(checked.Bytes)))
	}
	if n := stopped["interrupted"]; n > 0 {
		out = append(out, fmt.Sprintf("the run was interrupted in %s: they hold what was finished",
			results.FormatCount(n, "cell")))
	}
	if n := stopped["max-time"]; n > 0 {
		out = append(out, fmt.Sprintf("%s stopped at the time allowed for the run: give it more (--max-time)",
			results.FormatCount(n, "cell")))
	}
	if n := stopped["failed"]; n > 0 {
		out = append(out, fmt.Sprintf("%s stopped because one failed", results.FormatCount(n, "cell")))
	}
	return out
}

// usedSamples returns how many samples the main figure of a row rests on, and how many were left
// out of it because others disturbed them.
func usedSamples(r stat.Row) (used, leftOut int) {
	e, ok := r.Estimates[stat.RelativeMetric(r.Cell, r.Cell).Name]
	if !ok {
		return r.Samples, 0
	}
	return e.N, e.LeftOut
}

// sampleNotes say what stands after ±, how many samples it rests on, and where they are too few.
func sampleNotes(rows []stat.Row) []string {
	var least, most, few, mostCounted, leftOut, disturbed int
	for _, r := range rows {
		n, left := usedSamples(r)
		if left > 0 {
			leftOut += left
			disturbed++
		}
		switch {
		case n == 0:
		case n >= stat.LeastSamples:
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
		case r.Cell.IsWaiting():
			mostCounted = max(mostCounted, n)
		default:
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
	if leftOut > 0 {
		out = append(out, fmt.Sprintf("%s of %s left out: other programs disturbed them",
			results.FormatCount(leftOut, "sample"), results.FormatCount(disturbed, "cell")))
	}
	if mostCounted > 0 {
		out = append(out, fmt.Sprintf("non-blocking writers: the range over the framings of medians of at most %s, "+
			"no interval", results.FormatCount(mostCounted, "sample")))
	}
	if few > 0 {
		out = append(out, fmt.Sprintf("fewer than %d samples in %d of %s: their medians have no interval, "+
			"and nothing is claimed from them", stat.LeastSamples, few, results.FormatCount(len(rows), "cell")))
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
			texts = append(texts, fmt.Sprintf("%s %s at %s (%d samples) and %s (%d)", r.Cell.Framing,
				results.FormatSize(int64(r.Cell.Size)), m.Format(modes.Low), modes.NLow,
				m.Format(modes.High), modes.NHigh))
		}
	}
	text := "unpinned (placement free): the scheduler chose the CPUs"
	if len(texts) == 0 {
		return text + "; another run may fall out differently"
	}
	return text + ", and the figures are bimodal: " + strings.Join(texts, "; ")
}

// busyWarning begins the warning that others use the machine.
const busyWarning = "load: "

// screenNotes say how to read the figures of the first screen, and what a person can do about them,
// in few lines.
func screenNotes(s *results.Set, sum Summary) []string {
	out := sampleNotes(sum.Rows)
	for _, r := range sum.Rows {
		if isRough(r) {
			out = append(out, fmt.Sprintf("? is known to no better than ±%d %%: run again on a quieter "+
				"machine, or longer (--max-time)", roughSpread))
			break
		}
	}
	for _, r := range sum.Rows {
		if r.ToRawByCPU != nil {
			out = append(out, fmt.Sprintf("by CPU time, which others do not touch, %s at %s has %.2f of raw, "+
				"not %.2f", r.Cell.Framing, fieldText(r.Cell, "size"), r.ToRawByCPU.Median, r.ToRaw.Median))
			break
		}
	}
	for _, r := range sum.Rows {
		for _, text := range rowWarnings(stat.Row{Unsupported: r.Unsupported, Failed: r.Failed}) {
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	if doubt := doubtNote(sum); doubt != "" {
		out = append(out, doubt)
	}
	for _, r := range s.Records {
		if r.Stopped == "interrupted" || r.Stopped == "failed" {
			out = append(out, "the run was cut short ("+r.Stopped+"): this is what was finished")
			break
		}
	}
	return out
}

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

// headerLines is how many lines about environments a view begins with at most.
const headerLines = 6

// headers are the environments, a line for the machine and one for the run, and those that repeat
// themselves once. Of several machines each is given the name that tables and sentences have for
// it. What the file does not tell is left out.
func headers(environments []results.Environment) []string {
	several := false
	for _, e := range environments {
		several = several || e.Machine != environments[0].Machine
	}
	var out []string
	for _, e := range environments {
		for _, line := range []string{machineHeader(e, several), runHeader(e)} {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	if len(out) > headerLines {
		more := fmt.Sprintf("and %d lines more: %d runs in all", len(out)-headerLines+1, len(environments))
		out = append(out[:headerLines-1], more)
	}
	return out
}

// machineHeader describes a machine, with its name if there are several.
func machineHeader(e results.Environment, several bool) string {
	var parts []string
	if several {
		parts = append(parts, "machine "+results.ShortID(e.Machine), e.Hostname)
	}
	parts = append(parts, strings.Join(strings.Fields(systemText(e)), " "), e.CPU, cpusText(e),
		e.Topology, e.Imitation)
	if e.Virtualisation != "" {
		parts = append(parts, "virtualised by "+e.Virtualisation)
	}
	if e.Governor != "" {
		parts = append(parts, "governor "+e.Governor)
	}
	if e.PageSize > 0 {
		parts = append(parts, pagesText(e))
	}
	return JoinParts(parts...)
}

// runHeader describes a run.
func runHeader(e results.Environment) string {
	var parts []string
	if e.Version != "" {
		parts = append(parts, "pipebench "+e.Version)
	}
	parts = append(parts, e.Go, e.Hostname)
	if !e.Time.IsZero() {
		parts = append(parts, e.Time.UTC().Format("2006-01-02 15:04 UTC"))
	}
	parts = append(parts, "load "+loadText(e), fmt.Sprintf("seed %d", e.Seed))
	if e.ClockNS > 0 {
		parts = append(parts, "clock "+results.FormatDuration(e.ClockNS)+" a reading")
	}
	return JoinParts(parts...)
}
