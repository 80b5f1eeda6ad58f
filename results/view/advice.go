package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A tuneQuestion is what runs of tune were asked. The answers to one question belong together.
type tuneQuestion struct {
	machine   string
	objective string
	cell      results.Cell // without what tune varies
}

// A tuneAnswer is what one run recommends, the sizes that are equivalent in it, and the sizes that
// another run may recommend within its margin.
type tuneAnswer struct {
	run                  string
	chunk                int
	equivalent, possible []int
	flat                 bool // all sizes are equivalent
}

// tuneAdvice says what tune recommends, in a sentence for each question, and how many of its runs
// were not conclusive. It compares runs that were asked the same question.
func tuneAdvice(s *results.Set) []string {
	var asked []tuneQuestion
	answers := map[tuneQuestion][]tuneAnswer{}
	for _, u := range s.Tunes {
		if !u.Recommended {
			continue
		}
		q := questionOf(s, u)
		if len(answers[q]) == 0 {
			asked = append(asked, q)
		}
		if !slices.ContainsFunc(answers[q], func(a tuneAnswer) bool { return a.run == u.Run }) {
			var e results.RecommendationEvidence
			if u.Evidence.RecommendationEvidence != nil { // old files have none
				e = *u.Evidence.RecommendationEvidence
			}
			chunk := results.ChunkSize(u.Cell.Framing)
			answers[q] = append(answers[q], tuneAnswer{u.Run, chunk, withSize(e.Alike, chunk), withSize(e.Possible, chunk), e.Flat})
		}
	}
	var out []string
	for _, q := range asked {
		out = append(out, "For a chunk size "+questionText(s, q, asked)+": "+agreement(answers[q])+".")
	}
	return append(out, inconclusiveRuns(s)...)
}

// inconclusiveRuns says of each machine how many runs of tune recommend nothing.
func inconclusiveRuns(s *results.Set) []string {
	run := func(u results.Tune) string { return u.Run }
	decided := Distinct(stat.Filter(s.Tunes, func(u results.Tune) bool { return u.Recommended }), run)
	open := stat.Filter(Distinct(s.Tunes, run), func(run string) bool { return !slices.Contains(decided, run) })
	var out []string
	for _, id := range Distinct(open, s.Machine) {
		n := len(stat.Filter(open, func(run string) bool { return s.Machine(run) == id }))
		out = append(out, fmt.Sprintf("For a chunk size %s, %s could not tell: noise hid it, or the time was too short; close other programs, or give it more time (--max-time).",
			onMachine(s, id), results.FormatCount(n, "run")))
	}
	return out
}

func questionOf(s *results.Set, u results.Tune) tuneQuestion {
	q := tuneQuestion{machine: s.Machine(u.Run), cell: u.Cell}
	if e := u.Evidence.RecommendationEvidence; e != nil {
		q.objective = e.Objective
	}
	q.cell.Framing, q.cell.Drain, q.cell.Sender = "", 0, ""
	return q
}

// withSize returns sizes and one more, ascending.
func withSize(sizes []int, size int) []int {
	sizes = append(slices.Clone(sizes), size)
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// questionText writes what distinguishes a question from the others.
func questionText(s *results.Set, q tuneQuestion, all []tuneQuestion) string {
	words := []string{onMachine(s, q.machine)}
	if q.objective != "" && slices.ContainsFunc(all, func(o tuneQuestion) bool { return o.objective != q.objective }) {
		words = append(words, "objective "+q.objective)
	}
	var cells []results.Cell
	for _, o := range all {
		cells = append(cells, o.cell)
	}
	for _, name := range results.DifferingFields(cells) {
		switch value := q.cell.Field(name); {
		case name == "size" && q.cell.Size > 0:
			words = append(words, sizeText(q.cell)+" messages")
		case value != "" && name != "size":
			words = append(words, FieldPhrase(name, value))
		}
	}
	return strings.Join(words, ", ")
}

// onMachine is "on linux/amd64", or "on this machine" if it is the only one.
func onMachine(s *results.Set, id string) string {
	if name := MachineTitle(s, id); name != "" {
		return "on " + name
	}
	return "on this machine"
}

// agreement compares what runs that were asked the same question answer.
func agreement(runs []tuneAnswer) string {
	var named []int
	for _, a := range runs {
		named = append(named, a.chunk)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	agree := !slices.ContainsFunc(runs, func(a tuneAnswer) bool {
		return slices.ContainsFunc(named, func(n int) bool { return !slices.Contains(a.possible, n) })
	})
	switch {
	case !slices.ContainsFunc(runs, func(a tuneAnswer) bool { return !a.flat }):
		return "the size does not matter: all that were measured are within 5 % of the best"
	case len(named) > 1 && agree:
		return fmt.Sprintf("use %s: %d runs recommend these, between which runs can see no difference", listSizes(named, "or"), len(runs))
	case len(named) > 1:
		return fmt.Sprintf("%d runs recommend %s, and differ by more than runs do by themselves, so that none of them is an answer: measure again on a machine that does nothing else", len(runs), listSizes(named, "and"))
	case len(runs) > 1:
		return fmt.Sprintf("use %s, as all of %d runs recommend", listSizes(named, "or"), len(runs))
	}
	if rest := stat.Filter(runs[0].equivalent, func(n int) bool { return n != runs[0].chunk }); len(rest) > 0 {
		return fmt.Sprintf("use %s (within 5 %% of the best: %s)", listSizes(named, "or"), listSizes(rest, "and"))
	}
	return "use " + listSizes(named, "or")
}

// listSizes writes sizes as a person lists them: "4 KiB, 8 KiB or 16 KiB".
func listSizes(sizes []int, last string) string {
	var words []string
	for _, n := range sizes {
		words = append(words, results.FormatSize(int64(n)))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
	}
	return words[0]
}
