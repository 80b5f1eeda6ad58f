package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// notes returns what has to be known to read the rows rightly. Each is there only if it applies.
func notes(s *results.Set, rows []stat.Row) []string {
	out := sampleNotes(rows)
	add := func(text string, applies bool) {
		if applies && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	some := func(of func(stat.Row) bool) bool { return slices.ContainsFunc(rows, of) }
	related := some(func(r stat.Row) bool { return r.ToRaw != nil })
	add("vs raw sets a cell beside raw with all else the same: the median of the ratios within each interleaving round, [95 % interval]", related)
	add("no raw cell of the same size was measured: what a framing costs cannot be said",
		!related && some(func(r stat.Row) bool { return r.Cell.Framing != results.FramingRaw && r.Samples > 0 }))
	add("vs raw, wire sets messages a second beside those of raw messages as long as the framed ones are on the wire: whole pages fill a pipe better than a byte more does",
		some(func(r stat.Row) bool { return r.ToRawWire != nil }))
	add("a percentile is shown only where ten observations lie beyond it: p99 takes 1,000 of them", some(func(r stat.Row) bool {
		l, ok := r.PrimaryLatency()
		return ok && (l.P50NS == nil || l.P99NS == nil)
	}))
	runs := 0
	for _, r := range rows {
		runs = max(runs, len(r.Runs))
	}
	add(fmt.Sprintf("cells of up to %d runs are pooled; their intervals hold what changed between the runs too", runs), runs > 1)
	add(freeNote(rows), some(func(r stat.Row) bool { return r.Cell.Placement == "free" }))
	var checked results.Verified
	stopped := map[string]int{}
	for _, r := range s.Records {
		stopped[r.Stopped]++
		if r.Verified != nil {
			checked.Sequence += r.Verified.Sequence
			checked.Compared += r.Verified.Compared
			checked.Bytes += r.Verified.Bytes
		}
	}
	add(fmt.Sprintf("%s messages were checked by number and length while the clock ran, %s more (%s bytes) byte for byte",
		results.FormatGrouped(checked.Sequence), results.FormatGrouped(checked.Compared), results.FormatGrouped(checked.Bytes)),
		checked.Sequence+checked.Compared > 0)
	for _, w := range []struct{ stopped, text string }{
		{"interrupted", "the run was interrupted in %s: they hold what was finished"},
		{"max-time", "%s stopped at the time allowed for the run: give it more (--max-time)"},
		{"failed", "%s stopped because one failed"},
	} {
		add(fmt.Sprintf(w.text, results.FormatCount(stopped[w.stopped], "cell")), stopped[w.stopped] > 0)
	}
	for _, p := range s.Problems {
		add(p.String(), true)
	}
	return out
}

// sampleNotes say what stands after ±, how many samples it rests on, and where they are too few.
func sampleNotes(rows []stat.Row) []string {
	least, most, few := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.Samples >= stat.LeastSamples:
			least, most = min(r.Samples, cmp.Or(least, r.Samples)), max(most, r.Samples)
		case r.Samples > 0:
			few++
		}
	}
	var out []string
	if most > 0 {
		text := fmt.Sprintf("± is the 95 %% interval of the median, n = %d samples a cell", least)
		if most > least {
			text = fmt.Sprintf("± is the 95 %% interval of the median, n = %d to %d samples a cell", least, most)
		}
		if least == stat.LeastSamples {
			text += "; of six samples it is [min, max]"
		}
		out = append(out, text)
	}
	if few > 0 {
		out = append(out, fmt.Sprintf("fewer than %d samples in %d of %s: their medians have no interval, and nothing is claimed from them",
			stat.LeastSamples, few, results.FormatCount(len(rows), "cell")))
	}
	return out
}

// freeNote says what to think of cells whose ends the scheduler placed.
func freeNote(rows []stat.Row) string {
	var texts []string
	for _, r := range rows {
		m := stat.RelativeMetric(r.Cell, r.Cell)
		if modes, is := stat.Bimodal(m.Values(r.Pooled())); is && r.Cell.Placement == "free" {
			texts = append(texts, fmt.Sprintf("%s %s at %s (%d samples) and %s (%d)", r.Cell.Framing, results.FormatSize(int64(r.Cell.Size)),
				m.Format(modes.Low), modes.NLow, m.Format(modes.High), modes.NHigh))
		}
	}
	if len(texts) > 0 {
		return "unpinned (placement free): the scheduler chose the CPUs, and the figures are bimodal: " + strings.Join(texts, "; ")
	}
	return "unpinned (placement free): the scheduler chose the CPUs; another run may fall out differently"
}

// headerLines is how many lines about environments a view begins with at most.
const headerLines = 6

// headers are the environments, a line for the machine and one for the run, and those that repeat
// themselves once. Of several machines each is given the name that tables and sentences have for
// it.
func headers(environments []results.Environment) []string {
	several := slices.ContainsFunc(environments, func(e results.Environment) bool { return e.Machine != environments[0].Machine })
	var out []string
	for _, e := range environments {
		lines := environmentLines(e)
		if several {
			lines[0] = JoinParts("machine "+results.ShortID(e.Machine), e.Hostname, lines[0])
		}
		for _, line := range lines {
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

// environmentLines describe where a run was measured and with what. What the file does not tell is
// left out.
func environmentLines(e results.Environment) []string {
	labelled := func(known bool, text string) string { return map[bool]string{true: text}[known] }
	machine := JoinParts(
		strings.Join(strings.Fields(e.OS+" "+e.Kernel+" "+e.Arch), " "), e.CPU, results.FormatCount(e.CPUs, "CPU"), e.Topology,
		labelled(e.Virtualisation != "", "virtualised by "+e.Virtualisation),
		labelled(e.Governor != "", "governor "+e.Governor),
		labelled(e.PageSize > 0, "pages of "+results.FormatSize(int64(e.PageSize))))
	run := JoinParts(
		labelled(e.Version != "", "pipebench "+e.Version), e.Go, e.Hostname,
		labelled(!e.Time.IsZero(), e.Time.UTC().Format("2006-01-02 15:04 UTC")),
		fmt.Sprintf("load %.2f", e.Load1), fmt.Sprintf("seed %d", e.Seed),
		labelled(e.ClockNS > 0, "clock "+results.FormatDuration(e.ClockNS)+" a reading"))
	return []string{machine, run}
}
