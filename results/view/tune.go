package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// TuneWaitMetric names the wait that sizes are judged by: the p90 of small messages, from when they
// were due. One hiccup of the machine in a sample decides its p99, and the bytes ahead of a small
// message decide its p90. Samples too short for one give their median.
func TuneWaitMetric(samples []results.Sample) string {
	if len(stat.MustMetric("due.p90").Values(samples)) == len(samples) {
		return "due.p90"
	}
	return "due.p50"
}

// tuneTable lays the records out: what each size costs and gains with each reader. A star marks the
// sizes of which none is as good in goodput and better in wait.
func tuneTable(s *results.Set) Table {
	type tune = results.Tune
	runs := stat.Distinct(s.Tunes, func(u tune) string { return u.Run })
	estimated := func(metric string) func(tune) Cell {
		return func(u tune) Cell { return estimateCell(metric, u.Samples) }
	}
	columns := []columnOf[tune]{
		{"machine", func(u tune) Cell { return machineCell(s, s.Machine(u.Run)) }},
		{"reader|reader (B/s)", func(u tune) Cell { return Cell{Text: fieldText(u.Cell, "drain"), Base: fmt.Sprint(u.Cell.Drain)} }},
		{"`framing", func(u tune) Cell { return textCell(u.Cell.Framing) }},
		{"?>message|message (B)", func(u tune) Cell { return Cell{Text: fieldText(u.Cell, "size"), Base: fmt.Sprint(u.Cell.Size)} }},
		{"?capacity|capacity (B)", capacityCell},
		{"?sender", func(u tune) Cell { return textCell(u.Cell.Sender) }},
		{">goodput|goodput (B/s)", estimated("goodput")},
		{"?>CPU/MiB|CPU (ns/MiB)", estimated("cpu")},
		{">wait p50|wait p50 (ns)", estimated("due.p50")},
		{">wait p99|wait p99 (ns)", estimated("due.p99")},
		{"?>predicted|predicted (ns)", func(u tune) Cell {
			return when(u.Evidence.PredictedNS > 0, nanosCell(float64(u.Evidence.PredictedNS)))
		}},
		{"?>samples", func(u tune) Cell { return textCell(strconv.Itoa(len(u.Samples))) }},
		{"!|mark", func(u tune) Cell {
			mark := when(undominated(u, s.Tunes), "*")
			return textCell(cmp.Or(when(u.Recommended, recommendedMark), mark))
		}},
		{"@>run", func(u tune) Cell { return when(len(runs) > 1, textCell(strconv.Itoa(1+slices.Index(runs, u.Run)))) }},
		{"@~evidence", func(u tune) Cell { return textCell(EvidenceText(u.Evidence)) }},
		{"@_warnings", func(u tune) Cell { return textCell(strings.Join(u.Warnings, "; ")) }},
	}
	t := tableOf("What chunk sizes cost and gain (* none waits less at as much goodput, ±5 %)", s.Tunes, columns...)
	return t.only(func(i int) bool { return i > 0 || len(s.Machines()) > 1 })
}

// recommendedMark marks the chunk size that tune recommends.
const recommendedMark = "<- use"

// undominated reports whether no record of the same reader and messages waits less at as much goodput,
// which is the same within 5 %, as in tune's answer.
func undominated(r results.Tune, all []results.Tune) bool {
	wait := func(t results.Tune) float64 { return stat.EstimateOf(TuneWaitMetric(t.Samples), t.Samples).Median }
	goodput := func(t results.Tune) float64 { return stat.EstimateOf("goodput", t.Samples).Median }
	return len(r.Samples) > 0 && !slices.ContainsFunc(all, func(o results.Tune) bool {
		return o.Cell.Drain == r.Cell.Drain && o.Cell.Size == r.Cell.Size && len(o.Samples) > 0 && o.Cell != r.Cell &&
			(wait(o) < wait(r) && goodput(o) >= (1-stat.Tolerance)*goodput(r) || wait(o) == wait(r) && goodput(o) > goodput(r))
	})
}

// capacityCell shows the pipe's capacity as it was read back.
func capacityCell(u results.Tune) Cell {
	if len(u.Samples) == 0 || u.Samples[0].Capacity == 0 {
		return Cell{Text: "-", Base: "0"}
	}
	return bytesCell(int64(u.Samples[0].Capacity))
}

// lateShare is the share of small messages offered late from which their wait is in doubt: more than
// the p99 leaves out.
const lateShare = 0.05

// LateWarning tells of small messages that the load generator offered late; false where they are too
// few to matter.
func LateWarning(samples []results.Sample) (string, bool) {
	share := lateShareOf(samples)
	return fmt.Sprintf("%s %s of the small messages late: the machine did other work", lateWords, results.FormatPercent(100*share)), share > lateShare
}

// lateWords begin that warning.
const lateWords = "the generator offered"

func lateShareOf(samples []results.Sample) float64 {
	var late, due int64
	for _, s := range samples {
		if s.Load != nil {
			late, due = late+s.Load.Late, due+s.Load.Due
		}
	}
	return float64(late) / float64(max(1, due))
}

// tuneWarnings returns the warnings of the records, each with what it is about. Lateness is the
// machine's and touches many records at once: it is said once for all.
func tuneWarnings(records []results.Tune) []string {
	var out []string
	late, most := 0, 0.0
	for _, r := range records {
		for _, w := range r.Warnings {
			if strings.HasPrefix(w, lateWords) {
				late, most = late+1, max(most, lateShareOf(r.Samples))
				continue
			}
			name := strings.TrimSpace(r.Cell.Framing + " " + r.Cell.Sender)
			out = append(out, fmt.Sprintf("warning: %s, pipe of %s, reader at %s: %s", name, capacityCell(r).Text, fieldText(r.Cell, "drain"), w))
		}
	}
	if late > 0 {
		out = append(out, fmt.Sprintf("warning: in %d of %d cells the generator offered over %s of the small messages late, up to %s: the machine did other work, and p99 may be that",
			late, len(records), results.FormatPercent(100*lateShare), results.FormatPercent(100*most)))
	}
	return out
}

// A tuneQuestion is what runs of tune were asked. The answers to one question belong together.
type tuneQuestion struct {
	machine   string
	objective string
	cell      results.Cell // without what tune varies
}

// tuneAdvice says what tune recommends, in a sentence for each question, and how many of its runs
// were not conclusive. It compares runs that were asked the same question.
func tuneAdvice(s *results.Set) []string {
	recommended := stat.Filter(s.Tunes, func(u results.Tune) bool { return u.Recommended })
	question := func(u results.Tune) tuneQuestion {
		q := tuneQuestion{s.Machine(u.Run), recommendation(u).Objective, u.Cell}
		q.cell.Framing, q.cell.Drain, q.cell.Sender = "", 0, ""
		return q
	}
	run := func(u results.Tune) string { return u.Run }
	asked := stat.Distinct(recommended, question)
	var out []string
	for i, same := range stat.GroupBy(recommended, question) {
		first := func(own []results.Tune) results.Tune { return own[0] }
		answers := stat.Map(stat.GroupBy(same, run), first)
		q := asked[i]
		words := []string{onMachine(s, q.machine)}
		if q.objective != "" && slices.ContainsFunc(asked, func(o tuneQuestion) bool { return o.objective != q.objective }) {
			words = append(words, "objective "+q.objective)
		}
		cells := stat.Distinct(asked, func(o tuneQuestion) results.Cell { return o.cell })
		for _, name := range results.DifferingFields(cells) {
			switch value := q.cell.Field(name); {
			case name == "size" && q.cell.Size > 0:
				words = append(words, fieldText(q.cell, "size")+" messages")
			case value != "" && name != "size":
				words = append(words, FieldPhrase(name, value))
			}
		}
		out = append(out, "For a chunk size "+strings.Join(words, ", ")+": "+agreement(answers)+".")
	}
	decided := stat.Distinct(recommended, run)
	open := stat.Filter(stat.Distinct(s.Tunes, run), func(run string) bool { return !slices.Contains(decided, run) })
	for _, own := range stat.GroupBy(open, s.Machine) {
		out = append(out, fmt.Sprintf("For a chunk size %s, %s could not tell: noise hid it, or the time was too short; close other programs, or give it more time (--max-time).",
			onMachine(s, s.Machine(own[0])), results.FormatCount(len(own), "run")))
	}
	return out
}

// recommendation returns what a recommended size rests on, of which old files tell nothing.
func recommendation(u results.Tune) results.RecommendationEvidence {
	return *cmp.Or(u.Evidence.RecommendationEvidence, new(results.RecommendationEvidence))
}

// chunkOf returns the size that a record is about, 0 where it does not chunk.
func chunkOf(u results.Tune) int { return results.ChunkSize(u.Cell.Framing) }

// onMachine is "on linux/amd64", or "on this machine" if it is the only one.
func onMachine(s *results.Set, id string) string {
	return "on " + cmp.Or(MachineTitle(s, id), "this machine")
}

// agreement compares what runs that were asked the same question recommend.
func agreement(runs []results.Tune) string {
	named := stat.Distinct(runs, chunkOf)
	slices.Sort(named)
	agree := !slices.ContainsFunc(runs, func(u results.Tune) bool {
		possible := append(slices.Clone(recommendation(u).Possible), chunkOf(u))
		return slices.ContainsFunc(named, func(n int) bool { return !slices.Contains(possible, n) })
	})
	switch {
	case !slices.ContainsFunc(runs, func(u results.Tune) bool { return !recommendation(u).Flat }):
		return "the size does not matter: all that were measured are within 5 % of the best"
	case len(named) > 1 && agree:
		return fmt.Sprintf("use %s: %d runs recommend these, between which runs can see no difference", listSizes(named, "or"), len(runs))
	case len(named) > 1:
		return fmt.Sprintf("%d runs recommend %s, and differ by more than runs do by themselves, so that none of them is an answer: measure again on a machine that does nothing else", len(runs), listSizes(named, "and"))
	case len(runs) > 1:
		return fmt.Sprintf("use %s, as all of %d runs recommend", listSizes(named, "or"), len(runs))
	}
	rest := stat.Filter(recommendation(runs[0]).Alike, func(n int) bool { return n != named[0] })
	switch {
	case len(rest) > 0 && named[0] == 0:
		return "do not chunk; where small messages must be quick, use " + listSizes(rest, "or")
	case len(rest) > 0:
		return fmt.Sprintf("use %s (within 5 %% of the best: %s)", listSizes(named, "or"), listSizes(rest, "and"))
	}
	return "use " + listSizes(named, "or")
}

// listSizes writes sizes as a person lists them: "4 KiB, 8 KiB or 16 KiB". Zero is no chunk size.
func listSizes(sizes []int, last string) string {
	words := stat.Map(sizes, func(n int) string {
		return map[bool]string{true: "unchunked messages", false: results.FormatSize(int64(n))}[n == 0]
	})
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
	}
	return words[0]
}
