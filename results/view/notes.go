package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// notes are what has to be known to read the rows rightly. Each is there only if it applies.
func notes(s *results.Set, rows []stat.Row) []string {
	var out []string
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	add(intervalNote(rows))
	add(fewNote(rows))
	add(rawNote(rows))
	add(wireNote(rows))
	add(percentileNote(rows))
	add(poolNote(rows))
	add(freeNote(rows))
	add(verifiedNote(s.Records))
	for _, text := range stoppedNotes(s.Records) {
		add(text)
	}
	for _, p := range s.Problems {
		add(p.String())
	}
	return out
}

// intervalNote says what stands after ±, and how many samples it rests on.
func intervalNote(rows []stat.Row) string {
	least, most := sampleRange(stat.Filter(rows, func(r stat.Row) bool { return r.Samples >= stat.LeastSamples }))
	if most == 0 {
		return ""
	}
	n := fmt.Sprintf("n = %d samples", least)
	if most > least {
		n = fmt.Sprintf("n = %d to %d samples", least, most)
	}
	text := "± is the 95 % interval of the median, " + n + " a cell"
	if least == stat.LeastSamples {
		text += "; of six samples it is [min, max]"
	}
	return text
}

// sampleRange is the least and the greatest number of samples a row has.
func sampleRange(rows []stat.Row) (least, most int) {
	for i, r := range rows {
		if i == 0 || r.Samples < least {
			least = r.Samples
		}
		most = max(most, r.Samples)
	}
	return least, most
}

func fewNote(rows []stat.Row) string {
	few := stat.Filter(rows, func(r stat.Row) bool { return r.Samples > 0 && r.Samples < stat.LeastSamples })
	if len(few) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d cells have fewer than %d samples: their medians have no interval, and nothing is claimed from them", len(few), len(rows), stat.LeastSamples)
}

func rawNote(rows []stat.Row) string {
	related := slices.ContainsFunc(rows, func(r stat.Row) bool { return r.ToRaw != nil })
	framed := slices.ContainsFunc(rows, func(r stat.Row) bool { return r.Cell.Framing != results.FramingRaw && r.Samples > 0 })
	switch {
	case related:
		return "vs raw sets a cell beside raw with all else the same: the median of the ratios within each interleaving round, [95 % interval]"
	case framed:
		return "no raw cell of the same size was measured: what a framing costs cannot be said"
	}
	return ""
}

func wireNote(rows []stat.Row) string {
	if !slices.ContainsFunc(rows, func(r stat.Row) bool { return r.ToRawWire != nil }) {
		return ""
	}
	return "vs raw, wire sets messages a second beside those of raw messages as long as the framed ones are on the wire: whole pages fill a pipe better than a byte more does"
}

func percentileNote(rows []stat.Row) string {
	missing := slices.ContainsFunc(rows, func(r stat.Row) bool {
		l, ok := r.PrimaryLatency()
		return ok && (l.P50NS == nil || l.P99NS == nil)
	})
	if !missing {
		return ""
	}
	return "a percentile is shown only where ten observations lie beyond it: p99 takes 1,000 of them"
}

func poolNote(rows []stat.Row) string {
	most := 0
	for _, r := range rows {
		most = max(most, len(r.Runs))
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf("cells of up to %d runs are pooled; their intervals hold what changed between the runs too", most)
}

func freeNote(rows []stat.Row) string {
	var texts []string
	for _, r := range rows {
		if r.Cell.Placement != "free" {
			continue
		}
		m := stat.RelativeMetric(r.Cell, r.Cell)
		if modes, is := stat.Bimodal(m.Values(r.Pooled())); is {
			texts = append(texts, fmt.Sprintf("%s %s at %s (%d samples) and %s (%d)", r.Cell.Framing, results.FormatSize(int64(r.Cell.Size)),
				m.Format(modes.Low), modes.NLow, m.Format(modes.High), modes.NHigh))
		}
	}
	free := slices.ContainsFunc(rows, func(r stat.Row) bool { return r.Cell.Placement == "free" })
	switch {
	case !free:
		return ""
	case len(texts) > 0:
		return "unpinned (placement free): the scheduler chose the CPUs, and the figures are bimodal: " + strings.Join(texts, "; ")
	}
	return "unpinned (placement free): the scheduler chose the CPUs; another run may fall out differently"
}

// verifiedNote says how far the messages behind the figures were checked.
func verifiedNote(records []results.Record) string {
	var sequence, compared, bytes int64
	for _, r := range records {
		if r.Verified != nil {
			sequence += r.Verified.Sequence
			compared += r.Verified.Compared
			bytes += r.Verified.Bytes
		}
	}
	if sequence+compared == 0 {
		return ""
	}
	return fmt.Sprintf("%s messages were checked by number and length while the clock ran, %s more (%s bytes) byte for byte",
		results.FormatGrouped(sequence), results.FormatGrouped(compared), results.FormatGrouped(bytes))
}

// stoppedNotes say which cells have fewer samples than were asked for, and why.
func stoppedNotes(records []results.Record) []string {
	words := []struct{ stopped, text string }{
		{"interrupted", "the run was interrupted in %d cells: they hold what was finished"},
		{"max-time", "%d cells stopped at the time allowed for the run: give it more (--max-time)"},
		{"failed", "%d cells stopped because one failed"},
	}
	var out []string
	for _, w := range words {
		if n := len(stat.Filter(records, func(r results.Record) bool { return r.Stopped == w.stopped })); n > 0 {
			out = append(out, fmt.Sprintf(w.text, n))
		}
	}
	return out
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
			lines[0] = joinParts("machine "+results.ShortID(e.Machine), e.Hostname, lines[0])
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

// lines describe where a run was measured and with what. What the file does not tell is left out.
func environmentLines(e results.Environment) []string {
	machine := []string{
		strings.Join(strings.Fields(e.OS+" "+e.Kernel+" "+e.Arch), " "),
		e.CPU,
		results.FormatCount(e.CPUs, "CPU"),
		e.Topology,
		labelled("virtualised by ", e.Virtualisation),
		labelled("governor ", e.Governor),
	}
	if e.PageSize > 0 {
		machine = append(machine, "pages of "+results.FormatSize(int64(e.PageSize)))
	}
	run := []string{labelled("pipebench ", e.Version), e.Go, e.Hostname}
	if !e.Time.IsZero() {
		run = append(run, e.Time.UTC().Format("2006-01-02 15:04 UTC"))
	}
	run = append(run, fmt.Sprintf("load %.2f", e.Load1), fmt.Sprintf("seed %d", e.Seed))
	if e.ClockNS > 0 {
		run = append(run, "clock "+results.FormatDuration(e.ClockNS)+" a reading")
	}
	return []string{joinParts(machine...), joinParts(run...)}
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

// joinParts joins the parts that are not empty.
func joinParts(parts ...string) string {
	return strings.Join(stat.Filter(parts, func(s string) bool { return s != "" }), " · ")
}
