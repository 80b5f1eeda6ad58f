package tune

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
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
	case e.Inconclusive():
		a.Sentences = []string{e.noise()}
	default:
		a.Sentences = slices.Concat([]string{e.advice()}, e.waits(), e.whole(), e.usual(), e.others(), e.sizes(), e.variants())
	}
	return a
}

// View writes what the tune records of a set say, see [view.WriteTune].
func View(w io.Writer, format view.Format, set *results.Set, o Objective) error {
	a := Explain(set.Tunes, o, machineName(set))
	shown := view.TuneAnswer{Objective: string(o), Margin: a.Margin, Alike: a.Alike, Flat: a.Flat, Sentences: a.Sentences}
	if !a.Inconclusive() {
		shown.Best = a.Best
	}
	return view.WriteTune(w, set, shown, format)
}

// machineName says on what the set was measured.
func machineName(set *results.Set) string {
	for _, e := range set.Environments {
		if !slices.ContainsFunc(set.Tunes, func(t results.Tune) bool { return t.Run == e.Run }) {
			continue
		}
		parts := []string{e.CPU, fmt.Sprintf("%d CPUs", e.CPUs), strings.TrimSpace(e.OS + " " + e.Kernel)}
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "0 CPUs" })
		return e.Hostname + " (" + strings.Join(parts, ", ") + ")"
	}
	return "this machine"
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
		e.machine, size(e.Top), percent(e.Margin), remedy)
}

// advice is the sentence that answers the question.
func (e explainer) advice() string {
	best, _ := e.Of(e.Best)
	first, last := e.Scores[0].Chunk, e.Scores[len(e.Scores)-1].Chunk
	if e.Flat {
		return fmt.Sprintf("the chunk size does not matter on %s: from %s to %s nothing is worth more than %s over the rest (objective %s)",
			e.machine, size(first), size(last), percent(alike), e.Objective)
	}
	return fmt.Sprintf("use %s on %s: %s, %s (plateau within 5 %%: %s), and %s (objective %s)",
		size(e.Best), e.machine, e.costText(best), e.beside(e.cheapest(), best.Cost), e.ranges(e.plateau()), e.worth(), e.Objective)
}

// worth says what the size is worth against the others, both sides weighed.
func (e explainer) worth() string {
	text := "no other size is worth over 5 % more"
	if len(e.Alike) > 1 {
		text = "the smallest of those worth the same within 5 %: " + e.ranges(e.Alike)
	}
	return text + ", known to " + percent(e.Margin)
}

// costText is what a size costs, with a reader that takes all it can.
func (e explainer) costText(s Score) string {
	if e.Cost == "cpu" {
		return fmt.Sprintf("%s of CPU time a MiB, which is %s", results.FormatDuration(s.Cost.Median), results.FormatGoodput(float64(1<<20)*1e9/s.Cost.Median))
	}
	return results.FormatGoodput(s.Cost.Median) + " of goodput"
}

// beside says how a cost compares with the least.
func (e explainer) beside(least, cost stat.Estimate) string {
	more := e.dearer(cost, least)
	switch {
	case more < 1.005 && e.Cost == "cpu":
		return "the least"
	case more < 1.005:
		return "the best"
	case e.Cost == "cpu":
		return percent(more-1) + " over the least"
	}
	return percent(1-1/more) + " below the best"
}

// plateau are the sizes whose cost is within 5 % of the least.
func (e explainer) plateau() []int {
	var out []int
	for _, s := range e.Scores {
		if e.dearer(s.Cost, e.cheapest()) <= 1.05 {
			out = append(out, s.Chunk)
		}
	}
	return out
}

// ranges lists sizes, those that follow each other among all that were
// measured as "16 KiB to 64 KiB".
func (e explainer) ranges(all []int) string {
	var out []string
	for i := 0; i < len(all); {
		first := slices.IndexFunc(e.Scores, func(s Score) bool { return s.Chunk == all[i] })
		n := 1
		for i+n < len(all) && e.Scores[first+n].Chunk == all[i+n] {
			n++
		}
		text := size(all[i])
		if n > 1 {
			text += " to " + size(all[i+n-1])
		}
		out = append(out, text)
		i += n
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
		if whole, ok := e.find(func(r results.Tune) bool { return e.uncut(r, drain) }); ok {
			text += fmt.Sprintf(", instead of %s behind messages sent whole (ndjson)", waitText(whole))
		}
		out = append(out, text)
	}
	return out
}

// whole says what the cutting costs, against messages that are not cut.
func (e explainer) whole() []string {
	best, _ := e.Of(e.Best)
	whole, ok := e.find(func(r results.Tune) bool { return e.uncut(r, e.Fast) })
	if !ok || estimate(e.Cost, whole.Samples).N == 0 {
		return nil
	}
	return []string{"messages sent whole (ndjson) through the same sender " + e.share(estimate(e.Cost, whole.Samples), best.Cost)}
}

// share says what sizes cost as a multiple of what another does.
func (e explainer) share(cost, of stat.Estimate) string {
	if e.Cost == "cpu" {
		return "take " + times(cost.Median/of.Median) + " of its CPU time"
	}
	return "have " + times(cost.Median/of.Median) + " of its goodput"
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
		waits = append(waits, times(other.Waits[drain].Median/best.Waits[drain].Median)+" as long "+readerOf(drain))
	}
	return []string{fmt.Sprintf("frames of %s, the usual choice, %s, and small messages wait %s",
		size(usual), e.share(other.Cost, best.Cost), strings.Join(waits, ", "))}
}

// others are the sizes that another run may recommend.
func (e explainer) others() []string {
	rest := slices.DeleteFunc(slices.Clone(e.Possible), func(c int) bool { return c == e.Best })
	if len(rest) == 0 || e.Flat {
		return nil
	}
	return []string{fmt.Sprintf("another run may name %s: what sizes are worth against each other differs by %s from run to run", e.ranges(rest), percent(between))}
}

// sizes say what the choice costs for messages of other sizes.
func (e explainer) sizes() []string {
	var out []string
	for _, l := range e.records {
		chunk := chunkOf(l.Cell)
		if l.Cell.Size == e.records[0].Cell.Size || chunk == 0 || chunk == usual && e.Best != usual || len(l.Samples) == 0 {
			continue
		}
		if words := e.against(l, fmt.Sprintf("chunked:%d", usual), "ndjson"); len(words) > 0 {
			out = append(out, fmt.Sprintf("with messages of %s the %s of %s is %s", size(l.Cell.Size), e.costWord(), size(chunk), strings.Join(words, " and ")))
		}
	}
	return out
}

// against holds what a record costs against the same messages in other
// framings.
func (e explainer) against(l results.Tune, framings ...string) []string {
	own := estimate(e.Cost, l.Samples).Median
	var out []string
	for _, framing := range framings {
		other := l.Cell
		other.Framing = framing
		r, ok := e.find(func(r results.Tune) bool { return r.Cell == other })
		if cost := estimate(e.Cost, r.Samples); ok && other != l.Cell && cost.N > 0 {
			out = append(out, times(own/cost.Median)+" of that of "+framingText(other))
		}
	}
	return out
}

func (e explainer) costWord() string {
	if e.Cost == "cpu" {
		return "CPU time"
	}
	return "goodput"
}

func framingText(c results.Cell) string {
	if n := chunkOf(c); n > 0 {
		return size(n)
	}
	return c.Framing
}

// variants say what else was tried, and when it does more than any chunk size.
func (e explainer) variants() []string {
	var out []string
	for _, l := range e.records {
		drain := l.Cell.Drain
		name := e.variant(l.Cell)
		plain, ok := e.find(func(r results.Tune) bool { return e.candidate(r, e.counterpart(l), drain) })
		if name == "" || drain <= 0 || len(l.Samples) == 0 || !ok {
			continue
		}
		if chunk := e.counterpart(l); chunk != e.Best {
			name += " with frames of " + size(chunk)
		}
		text := fmt.Sprintf("%s: %s: %s %s instead of %s, with %s of the goodput", e.praise(l), name, readerOf(drain), waitText(l), waitText(plain), times(ratioOf("goodput", l, plain)))
		if cost, ok := e.cost(l); ok {
			text += ", and with a reader that takes all it can " + cost
		}
		out = append(out, text)
	}
	return out
}

// counterpart is the chunk size that a variant is held against: its own, or, of
// a sender that sizes its frames, the one to use.
func (e explainer) counterpart(l results.Tune) int {
	if s, err := parseSender(l.Cell.Sender); err == nil && s.wait > 0 {
		return e.Best
	}
	return chunkOf(l.Cell)
}

// praise says how a variant stands to the chunk sizes and to the other variants,
// by the median: variants have few samples, too few to trust the tail of.
func (e explainer) praise(l results.Tune) string {
	least := e.leastWait(l.Cell.Drain, func(r results.Tune) bool { return e.variant(r.Cell) == "" && chunkOf(r.Cell) > 0 })
	own := estimate("due.p50", l.Samples).Median
	switch {
	case own >= 0.8*least:
		return "also tried"
	case own > e.leastWait(l.Cell.Drain, func(r results.Tune) bool { return e.variant(r.Cell) != "" }):
		return "this too does more than any chunk size"
	}
	return "not the chunk size but this does most"
}

// variant names what a cell that is no candidate was tried for.
func (e explainer) variant(c results.Cell) string {
	s, err := parseSender(c.Sender)
	base, ok := e.find(func(r results.Tune) bool { return chunkOf(r.Cell) > 0 })
	switch {
	case err != nil || !ok || chunkOf(c) == 0:
		return ""
	case s.watermark > 0:
		return "a sender that keeps unread bytes below " + size(s.watermark)
	case s.wait > 0:
		return fmt.Sprintf("a sender that sizes its frames by the stream's rate, %s each", results.FormatDuration(float64(s.wait)))
	case c.Size != base.Cell.Size:
		return "messages of " + size(c.Size)
	case c.Capacity != base.Cell.Capacity:
		return "a pipe of " + size(c.Capacity)
	}
	return ""
}

// cost is what a variant costs with a reader that takes all it can.
func (e explainer) cost(l results.Tune) (string, bool) {
	same := l.Cell
	same.Drain = 0
	fast, ok := e.find(func(r results.Tune) bool { return r.Cell == same })
	plain, found := e.find(func(r results.Tune) bool { return e.candidate(r, e.counterpart(l), 0) })
	if e.Fast != 0 || !ok || !found {
		return "", false
	}
	ratio := times(estimate(e.Cost, fast.Samples).Median / estimate(e.Cost, plain.Samples).Median)
	if e.Cost == "cpu" {
		return ratio + " of the CPU time", true
	}
	return ratio + " of the goodput", true
}

// leastWait is the shortest median wait of some of the records, behind a
// reader.
func (e explainer) leastWait(drain int64, of func(results.Tune) bool) float64 {
	least := math.Inf(1)
	for _, r := range e.records {
		if r.Cell.Drain == drain && len(r.Samples) > 0 && of(r) {
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

// uncut reports whether r is of messages that are not cut, as large as those
// of the candidates.
func (e explainer) uncut(r results.Tune, drain int64) bool {
	return r.Cell.Framing == "ndjson" && r.Cell.Drain == drain && r.Cell.Size == e.records[0].Cell.Size
}

// candidate reports whether r is a plain record of a size and a reader's rate.
func (e explainer) candidate(r results.Tune, chunk int, drain int64) bool {
	return chunkOf(r.Cell) == chunk && r.Cell.Drain == drain && e.variant(r.Cell) == ""
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
