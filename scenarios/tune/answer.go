package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// An Answer is what records say about chunk sizes, in sentences. Each figure
// in them is one of the records'.
type Answer struct {
	Decision
	Sentences []string
}

// Explain answers for the records of one machine, which it names.
func Explain(records []results.Tune, o Objective, machine string) Answer {
	e := explainer{Decision: Decide(records, o), records: records, machine: machine}
	a := Answer{Decision: e.Decision}
	switch {
	case e.Best == 0:
		a.Sentences = []string{"no chunk size was measured with every reader: give it more time (--max-time)"}
	case e.Hidden():
		a.Sentences = []string{e.noise()}
	default:
		a.Sentences = slices.Concat([]string{e.advice()}, e.waits(), e.usual(), e.others(), e.levers())
	}
	return a
}

type explainer struct {
	Decision
	records []results.Tune
	machine string
}

func (e explainer) noise() string {
	remedy := "stop what else runs, or give it more time (--max-time)"
	if _, apart := e.find(func(r results.Tune) bool { return r.Cell.Placement != "same" }); apart {
		remedy += ", or put both ends on one CPU (--placement same)"
	}
	return fmt.Sprintf("noise hides the answer on %s: %s did best, but another size may be better by %s; %s",
		e.machine, size(e.Best), percent(e.Margin), remedy)
}

// advice is the sentence that answers the question.
func (e explainer) advice() string {
	best, _ := e.Of(e.Best)
	first, last := e.Scores[0].Chunk, e.Scores[len(e.Scores)-1].Chunk
	if e.Flat {
		return fmt.Sprintf("the chunk size does not matter on %s: from %s to %s nothing is worth more than %s over the rest (objective %s)",
			e.machine, size(first), size(last), percent(alike), e.Objective)
	}
	top, plateau := e.plateau()
	return fmt.Sprintf("use %s on %s: %s of goodput, %s (%s), and no other size is better by more than %s (objective %s)",
		size(e.Best), e.machine, results.FormatGoodput(best.Goodput.Median), below(best.Goodput.Median/top), plateau, percent(e.Margin), e.Objective)
}

// below says how a figure compares with the best.
func below(ratio float64) string {
	if ratio > 0.995 {
		return "the best"
	}
	return percent(1-ratio) + " below the best"
}

// plateau is the best goodput, and the sizes within 5 % of it.
func (e explainer) plateau() (top float64, text string) {
	for _, s := range e.Scores {
		top = max(top, s.Goodput.Median)
	}
	var on []int
	for _, s := range e.Scores {
		if s.Goodput.Median >= 0.95*top {
			on = append(on, s.Chunk)
		}
	}
	return top, "within 5 % of that: " + sizes(on)
}

// sizes lists sizes.
func sizes(all []int) string {
	var out []string
	for _, n := range all {
		out = append(out, size(n))
	}
	return strings.Join(out, ", ")
}

// waits say what small messages wait, by the reader's rate, beside what is
// predicted and what they would wait behind messages that are not cut.
func (e explainer) waits() []string {
	var out []string
	for _, drain := range e.Slow {
		best, ok := e.find(func(r results.Tune) bool { return e.candidate(r, e.Best, drain) })
		if !ok {
			continue
		}
		text := fmt.Sprintf("%s small messages wait %s", readerOf(drain), waitText(best))
		if ns, ok := Predicted(best); ok {
			text += fmt.Sprintf(", where at most %s are predicted", results.FormatDuration(ns))
		}
		if whole, ok := e.find(func(r results.Tune) bool { return r.Cell.Framing == "ndjson" && r.Cell.Drain == drain }); ok {
			text += fmt.Sprintf(", instead of %s behind messages sent whole (ndjson)", waitText(whole))
		}
		out = append(out, text)
	}
	return out
}

// usual says what the usual choice costs.
func (e explainer) usual() []string {
	best, _ := e.Of(e.Best)
	other, ok := e.Of(usual)
	if !ok || e.Best == usual || e.Flat {
		return nil
	}
	var waits []string
	for _, drain := range e.Slow {
		waits = append(waits, fmt.Sprintf("%s of the wait %s", times(other.Waits[drain].Median/best.Waits[drain].Median), readerOf(drain)))
	}
	return []string{fmt.Sprintf("%s, the usual choice, has %s of its goodput and %s",
		size(usual), times(other.Goodput.Median/best.Goodput.Median), strings.Join(waits, ", "))}
}

// others are the sizes that do as well.
func (e explainer) others() []string {
	rest := slices.DeleteFunc(slices.Clone(e.Alike), func(c int) bool { return c == e.Best })
	if len(rest) == 0 || e.Flat {
		return nil
	}
	return []string{"worth the same within 5 %: " + sizes(rest)}
}

// levers say what else was tried, and when it does more than any chunk size.
func (e explainer) levers() []string {
	var out []string
	for _, l := range e.records {
		drain := l.Cell.Drain
		name := e.lever(l.Cell)
		if name == "" || drain <= 0 || len(l.Samples) == 0 {
			continue
		}
		plain, ok := e.find(func(r results.Tune) bool { return e.candidate(r, e.Best, drain) })
		if !ok {
			continue
		}
		text := fmt.Sprintf("%s: %s %s instead of %s, with %s of the goodput", name, readerOf(drain), waitText(l), waitText(plain), times(ratioOf("goodput", l, plain)))
		if cost, ok := e.cost(l); ok {
			text += fmt.Sprintf(", and %s of it with a reader that takes all it can", times(cost))
		}
		if estimate("due.p50", l.Samples).Median < 0.8*e.shortest(drain) {
			text = "not the chunk size but this does most: " + text
		} else {
			text = "also tried: " + text
		}
		out = append(out, text)
	}
	return out
}

// lever names what a cell that is no candidate was tried for.
func (e explainer) lever(c results.Cell) string {
	s, err := parseSender(c.Sender)
	base, ok := e.find(func(r results.Tune) bool { return chunkOf(r.Cell) > 0 })
	switch {
	case err != nil || !ok || chunkOf(c) == 0:
		return ""
	case s.watermark > 0:
		return "a sender that keeps unread bytes below " + size(s.watermark)
	case s.wait > 0:
		return fmt.Sprintf("a sender that sizes its frames by the stream's rate, %s each", s.wait)
	case c.Capacity != base.Cell.Capacity:
		return "a pipe of " + size(c.Capacity)
	}
	return ""
}

// cost is the share of goodput that a lever leaves with the fastest reader.
func (e explainer) cost(l results.Tune) (float64, bool) {
	if e.Fast != 0 {
		return 0, false
	}
	same := l.Cell
	same.Drain = 0
	fast, ok := e.find(func(r results.Tune) bool { return r.Cell == same })
	plain, found := e.find(func(r results.Tune) bool { return e.candidate(r, e.Best, 0) })
	if !ok || !found {
		return 0, false
	}
	return ratioOf("goodput", fast, plain), true
}

// shortest is the least that any chunk size makes small messages wait, at the
// median: levers have few samples, too few to trust the tail of.
func (e explainer) shortest(drain int64) float64 {
	least := math.Inf(1)
	for _, s := range e.Scores {
		if r, ok := e.find(func(r results.Tune) bool { return e.candidate(r, s.Chunk, drain) }); ok {
			least = min(least, estimate("due.p50", r.Samples).Median)
		}
	}
	return least
}

func (e explainer) find(holds func(results.Tune) bool) (results.Tune, bool) {
	i := slices.IndexFunc(e.records, func(r results.Tune) bool { return len(r.Samples) > 0 && holds(r) })
	if i < 0 {
		return results.Tune{}, false
	}
	return e.records[i], true
}

// candidate reports whether r is a plain record of a size and a reader's rate.
func (e explainer) candidate(r results.Tune, chunk int, drain int64) bool {
	return chunkOf(r.Cell) == chunk && r.Cell.Drain == drain && e.lever(r.Cell) == ""
}

func ratioOf(metric string, a, b results.Tune) float64 {
	return estimate(metric, a.Samples).Median / estimate(metric, b.Samples).Median
}

// waitText is the wait of a record's small messages: its median and its p99,
// where the samples carry one.
func waitText(r results.Tune) string {
	text := results.FormatDuration(estimate("due.p50", r.Samples).Median)
	if tail := estimate("due.p99", r.Samples); tail.N > 0 {
		text += " (p99 " + results.FormatDuration(tail.Median) + ")"
	}
	return text
}

func readerOf(drain int64) string {
	if drain == 0 {
		return "behind a reader that takes all it can"
	}
	return "behind a reader of " + results.FormatGoodput(float64(drain))
}

func size(n int) string { return results.FormatSize(int64(n)) }

func percent(share float64) string { return results.FormatPercent(100 * share) }

// times is a ratio as a person says it: "0.97 ×".
func times(ratio float64) string { return fmt.Sprintf("%.2f ×", ratio) }
