package plots

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A question is what runs of tune were asked, by which their answers belong
// together: on which machine, for which objective, with which messages and
// pipe.
type question struct {
	machine   string
	objective string
	cell      results.Cell // without what tune varies
}

// An advised is what one run recommends, what it counts as worth the same, and
// what another run may recommend by its reckoning.
type recommendation struct {
	run                  string
	chunk                int
	equivalent, possible []int
	flat                 bool // all sizes are worth the same
}

// advice is what tune recommends, a sentence a question, and that some of its
// runs could not tell. Runs that were asked the same are held against each
// other.
func (r *reporter) advice() []string {
	var asked []question
	answers := map[question][]recommendation{}
	for _, u := range r.set.Tunes {
		if !u.Recommended {
			continue
		}
		q := r.questionOf(u)
		if len(answers[q]) == 0 {
			asked = append(asked, q)
		}
		if !slices.ContainsFunc(answers[q], func(a recommendation) bool { return a.run == u.Run }) {
			flat, _ := u.Evidence["flat"].(bool) // absent where the size matters
			answers[q] = append(answers[q], recommendation{u.Run, chunkOf(u.Cell.Framing), sizesIn(u, "alike"), sizesIn(u, "possible"), flat})
		}
	}
	var out []string
	for _, q := range asked {
		out = append(out, "For a chunk size "+r.wording(q, asked)+": "+agreement(answers[q])+".")
	}
	return append(out, r.undecided()...)
}

// undecided says of each machine how many runs of tune recommend nothing.
func (r *reporter) undecided() []string {
	decided := map[string]bool{}
	for _, u := range r.set.Tunes {
		decided[u.Run] = decided[u.Run] || u.Recommended
	}
	runs := map[string]int{}
	for _, run := range distinct(r.set.Tunes, func(u results.Tune) string { return u.Run }) {
		if !decided[run] {
			runs[r.set.Machine(run)]++
		}
	}
	var out []string
	for _, id := range distinct(r.set.Tunes, func(u results.Tune) string { return r.set.Machine(u.Run) }) {
		if n := runs[id]; n > 0 {
			out = append(out, fmt.Sprintf("For a chunk size on %s, %s could not tell: noise hid it, or the time was too short; stop what else runs, or give it more time (--max-time).",
				machineWord(r.machineTitle(id)), count(n, "run")))
		}
	}
	return out
}

func (r *reporter) questionOf(u results.Tune) question {
	q := question{machine: r.set.Machine(u.Run), cell: u.Cell}
	q.objective, _ = u.Evidence["objective"].(string) // charts of old have none
	q.cell.Framing, q.cell.Drain, q.cell.Sender = "", 0, ""
	return q
}

// sizesIn are sizes that a recommendation's evidence lists, and its own.
func sizesIn(u results.Tune, name string) []int {
	sizes := []int{chunkOf(u.Cell.Framing)}
	var said []int
	text, err := json.Marshal(u.Evidence[name])
	if err == nil && json.Unmarshal(text, &said) == nil {
		sizes = append(sizes, said...)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// wording says a question, as far as the others differ from it.
func (r *reporter) wording(q question, all []question) string {
	words := []string{"on " + machineWord(r.machineTitle(q.machine))}
	differs := func(of func(question) string) bool {
		return slices.ContainsFunc(all, func(o question) bool { return of(o) != of(q) })
	}
	if q.objective != "" && differs(func(o question) string { return o.objective }) {
		words = append(words, "objective "+q.objective)
	}
	v := newSelection(r.set, nil)
	for _, d := range append([]dimension{"size", "placement"}, seriesOrder[1:]...) {
		if differs(func(o question) string { return v.valueOf(d, results.Record{Cell: o.cell}) }) {
			words = append(words, v.phrase(d, v.valueOf(d, results.Record{Cell: q.cell})))
		}
	}
	return joinList(words)
}

// joinList puts the words that say something in a row.
func joinList(words []string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}

// agreement says what runs that were asked the same answer.
func agreement(runs []recommendation) string {
	var named []int
	for _, a := range runs {
		named = append(named, a.chunk)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	agree := !slices.ContainsFunc(runs, func(a recommendation) bool {
		return slices.ContainsFunc(named, func(n int) bool { return !slices.Contains(a.possible, n) })
	})
	switch {
	case !slices.ContainsFunc(runs, func(a recommendation) bool { return !a.flat }):
		return "the size does not matter: all that were measured are worth the same within 5 %"
	case len(named) > 1 && agree:
		return fmt.Sprintf("use %s: %d runs recommend these, which are worth the same as far as runs can tell", listSizes(named, "or"), len(runs))
	case len(named) > 1:
		return fmt.Sprintf("%d runs recommend %s, and differ by more than runs do by themselves, so that none of them is an answer: measure again on a machine that does nothing else", len(runs), listSizes(named, "and"))
	case len(runs) > 1:
		return fmt.Sprintf("use %s, as all of %d runs recommend", listSizes(named, "or"), len(runs))
	}
	if rest := slices.DeleteFunc(slices.Clone(runs[0].equivalent), func(n int) bool { return n == runs[0].chunk }); len(rest) > 0 {
		return fmt.Sprintf("use %s (worth the same within 5 %%: %s)", listSizes(named, "or"), listSizes(rest, "and"))
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

func machineWord(name string) string {
	if name == "" {
		return "this machine"
	}
	return name
}

// runNumber numbers the runs of tune, "" where there is only one.
func (r *reporter) runNumber(run string) string {
	runs := distinct(r.set.Tunes, func(u results.Tune) string { return u.Run })
	if len(runs) < 2 {
		return ""
	}
	return strconv.Itoa(1 + slices.Index(runs, run))
}
