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

// View writes what the tune records of a set say, see [view.WriteTune].
func View(w io.Writer, format view.Format, set *results.Set, o Objective, how view.Options) error {
	d, sentences := explain(set.Tunes, o, machineName(set), format != view.FormatTable || how.Detail)
	shown := view.TuneAnswer{Objective: d.Objective, Margin: d.Margin, Alike: d.Alike, Flat: d.Flat, Sentences: sentences}
	if !d.Inconclusive() {
		shown.Best, shown.Unchunked = d.Best, d.Unchunked
	}
	return view.WriteTune(w, set, shown, format, how)
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

// explain returns what the records of one machine, which it names, say about chunk sizes, in
// sentences too, with all that was tried beside chunk sizes or with what does more. Each figure in them
// is one of the records'.
func explain(records []results.Tune, o Objective, machine string, all bool) (Decision, []string) {
	e := explainer{Decision: Decide(records, o), records: records, machine: machine, all: all, costs: "take", cost: "CPU time"}
	if e.Cost == "goodput" {
		e.costs, e.cost = "have", "goodput"
	}
	switch {
	case e.Best == 0:
		return e.Decision, []string{"no chunk size was measured with every reader: give it more time (--max-time)"}
	case e.Inconclusive():
		return e.Decision, []string{e.doubt()}
	}
	return e.Decision, append([]string{e.advice()}, e.details()...)
}

// doubt says why nothing is recommended, and what to do about it.
func (e explainer) doubt() string {
	remedy := "close other programs, or give it more time (--max-time)"
	if e.shared.Placement != "same" && e.shared.Placement != "free" {
		remedy += ", or put both ends on one CPU (--placement same)"
	}
	switch {
	case e.Disturbed > 0.5:
		return fmt.Sprintf("nothing is recommended on %s: the machine did other work in %s of the measurements; %s", e.machine, percent(e.Disturbed), remedy)
	case e.Samples < stat.LeastSamples:
		return fmt.Sprintf("nothing is recommended on %s: %s did best so far, by %d samples where %d tell an interval; give it more time (--max-time)",
			e.machine, size(e.Best), e.Samples, stat.LeastSamples)
	}
	return fmt.Sprintf("noise hides the answer on %s: %s did best, but another size may be better by %s; %s", e.machine, size(e.Top), percent(e.Margin), remedy)
}

// An explainer makes the sentences.
type explainer struct {
	Decision
	records []results.Tune
	machine string
	all     bool // that was tried has its sentence

	costs, cost string // "take" so much "CPU time", or "have" so much "goodput"
}

// advice returns the sentence that answers the question.
func (e explainer) advice() string {
	best, _ := e.Of(e.Best)
	if e.Flat {
		first, last := e.Scores[0].Chunk, e.Scores[len(e.Scores)-1].Chunk
		return fmt.Sprintf("the chunk size does not matter on %s: from %s to %s nothing is worth more than %s over the rest (objective %s)",
			e.machine, size(first), size(last), percent(alike), e.Objective)
	}
	if e.Unchunked {
		unless, buys := "", "which buys nothing"
		if e.Objective != string(Throughput) {
			shorter := stat.Filter(e.Slow, func(drain int64) bool { return e.waitRatio(drain, *e.Whole, best) > 1+alike })
			waits := stat.Map(shorter, func(drain int64) string {
				return fmt.Sprintf("%.2g × shorter %s", e.waitRatio(drain, *e.Whole, best), readerOf(drain))
			})
			if len(waits) > 0 {
				unless = ", unless small messages must be quick (--objective latency)"
				buys = "which buys waits that are " + strings.Join(waits, " and ")
			}
		}
		return fmt.Sprintf("do not chunk on %s%s: frames of %s %s %s the %s of unchunked messages (ndjson), %s (objective %s)",
			e.machine, unless, size(e.Best), e.costs, times(best.Cost.Median/e.Whole.Cost.Median), e.cost, buys, e.Objective)
	}
	least := e.cheapest()
	more := e.dearer(best.Cost, least)
	costs, top, below := results.FormatGoodput(best.Cost.Median)+" of goodput", "the best", percent(1-1/more)+" below "
	if e.Cost == "cpu" {
		costs = fmt.Sprintf("%s of CPU time a MiB, which is %s", results.FormatDuration(best.Cost.Median), results.FormatGoodput(float64(1<<20)*1e9/best.Cost.Median))
		top, below = "the least", percent(more-1)+" over "
	}
	if more < 1.005 {
		below = ""
	}
	plateau := stat.Map(
		stat.Filter(e.Scores, func(s Score) bool { return e.dearer(s.Cost, least) <= 1.05 }),
		func(s Score) int { return s.Chunk })
	worth := "no other size is worth over 5 % more"
	if len(e.Alike) > 1 {
		worth = "the smallest of those within 5 % of the best: " + e.ranges(e.Alike)
	}
	return fmt.Sprintf("use %s on %s: %s, %s (plateau within 5 %%: %s), and %s, ±%s (objective %s)",
		size(e.Best), e.machine, costs, below+top, e.ranges(plateau), worth, percent(e.Margin), e.Objective)
}

// ranges lists sizes, those that follow each other among all that were measured as "16 KiB to 64
// KiB".
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

// details says what small messages wait, by the reader's rate, beside what is predicted and what
// they would wait behind messages that are not cut; what the cutting costs; what the common choice
// does; what another run may recommend; and what else was tried.
func (e explainer) details() []string {
	var out []string
	for _, drain := range e.Slow {
		best, _ := e.find(plain(e.shared, e.Best, drain))
		text := fmt.Sprintf("%s small messages wait %s", readerOf(drain), waitText(best))
		if ns, ok := Predicted(best); ok {
			text += fmt.Sprintf(", where at most %s are predicted", results.FormatDuration(ns))
		}
		if whole, ok := e.find(plain(e.shared, 0, drain)); ok {
			text += fmt.Sprintf(", instead of %s behind unchunked messages (ndjson)", waitText(whole))
		}
		out = append(out, text)
	}
	best, _ := e.Of(e.Best)
	whole, _ := e.find(plain(e.shared, 0, e.Fast))
	if cost := figureOf(e.Cost, whole.Samples); cost.N > 0 {
		text := "unchunked messages (ndjson) through the same sender " + e.share(cost, best.Cost)
		switch {
		case e.Unchunked && e.Flat:
			text += ": do not chunk, it buys nothing"
		case e.dearer(cost, best.Cost) < 1:
			text += ": do not chunk where no small message may have to wait"
		}
		out = append(out, text)
	}
	if other, ok := e.Of(commonChunk); ok && e.Best != commonChunk && !e.Flat {
		out = append(out, fmt.Sprintf("frames of %s, the usual choice, %s", size(commonChunk), e.beside(other, best)))
	}
	rest := stat.Filter(e.Possible, func(c int) bool { return c != e.Best })
	if len(rest) > 0 && !e.Flat {
		out = append(out, fmt.Sprintf("another run may name %s: what sizes are worth against each other differs by %s from run to run", e.ranges(rest), percent(betweenRuns)))
	}
	return slices.Concat(out, e.otherSizes(), e.variants())
}

// share says what something costs as a multiple of what another does.
func (e explainer) share(cost, of Figure) string {
	return e.costs + " " + times(cost.Median/of.Median) + " of its " + e.cost
}

// beside says what one choice costs, and how long small messages wait, as a multiple of another.
func (e explainer) beside(one, other Score) string {
	var waits []string
	for _, drain := range e.Slow {
		waits = append(waits, times(e.waitRatio(drain, one, other))+" as long "+readerOf(drain))
	}
	return e.share(one.Cost, other.Cost) + ", and small messages wait " + strings.Join(waits, ", ")
}

// waitRatio is how long small messages wait behind a reader with one choice, as a multiple of another.
func (e explainer) waitRatio(drain int64, one, other Score) float64 {
	return one.Waits[drain].Median / other.Waits[drain].Median
}

// otherSizes say what the choice costs for messages of other sizes, against the same messages in
// the common chunks and whole.
func (e explainer) otherSizes() []string {
	var out []string
	for _, l := range e.records {
		chunk := chunkOf(l.Cell)
		if l.Cell.Size == e.shared.Size || chunk == 0 || chunk == commonChunk && e.Best != commonChunk || len(l.Samples) == 0 {
			continue
		}
		var against []string
		hold := func(other results.Cell, name string) {
			r, _ := e.find(other)
			if cost := figureOf(e.Cost, r.Samples); other != l.Cell && cost.N > 0 {
				against = append(against, times(figureOf(e.Cost, l.Samples).Median/cost.Median)+" of that of "+name)
			}
		}
		hold(plain(l.Cell, commonChunk, l.Cell.Drain), size(commonChunk))
		hold(plain(l.Cell, 0, l.Cell.Drain), unchunked)
		if len(against) > 0 {
			out = append(out, fmt.Sprintf("with messages of %s the %s of %s is %s", size(l.Cell.Size), e.cost, size(chunk), strings.Join(against, " and ")))
		}
	}
	return out
}

// variants say what else was tried, and when it does more than any chunk size. Each is held against
// its own chunk size or, where the sender sizes its frames, against the one to use.
func (e explainer) variants() []string {
	var out []string
	left := false
	for _, l := range e.records {
		name, drain, chunk := e.variant(l.Cell), l.Cell.Drain, chunkOf(l.Cell)
		if s, err := parseSender(l.Cell.Sender); err == nil && s.wait > 0 {
			chunk = e.Best
		}
		without, ok := e.find(plain(e.shared, chunk, drain))
		if name == "" || drain <= 0 || len(l.Samples) == 0 || !ok {
			continue
		}
		rank := e.rank(l)
		if rank == alsoTried && !e.all {
			left = true
			continue
		}
		if chunk != e.Best {
			name += " with frames of " + size(chunk)
		}
		text := fmt.Sprintf("%s: %s: %s %s instead of %s, with %s of the goodput",
			rank, name, readerOf(drain), waitText(l), waitText(without), times(ratioOf("goodput", l, without)))
		same := l.Cell
		same.Drain = 0
		fast, ok := e.find(same)
		without, found := e.find(plain(e.shared, chunk, 0))
		if e.Fast == 0 && ok && found {
			text += ", and with a reader that takes all it can " + times(ratioOf(e.Cost, fast, without)) + " of the " + e.cost
		}
		out = append(out, text)
	}
	if left {
		out = append(out, "what else was tried does no more than chunk sizes do (--detail)")
	}
	return out
}

// alsoTried is the rank of what does no more than chunk sizes do.
const alsoTried = "also tried"

// rank says how a variant stands to the chunk sizes and to the other variants, by the median:
// variants have few samples, too few to trust the tail of.
func (e explainer) rank(l results.Tune) string {
	chunks, variants := math.Inf(1), math.Inf(1) // the least of each
	for _, r := range e.records {
		least := &chunks
		if isVariant(r.Cell, e.shared) {
			least = &variants
		}
		if r.Cell.Drain == l.Cell.Drain && chunkOf(r.Cell) > 0 && len(r.Samples) > 0 {
			*least = min(*least, figureOf("due.p50", r.Samples).Median)
		}
	}
	own := figureOf("due.p50", l.Samples).Median
	switch {
	case own >= 0.8*chunks:
		return alsoTried
	case own > variants:
		return "this too does more than any chunk size"
	}
	return "not the chunk size but this does most"
}

// variant names what a cell that is no candidate was tried for.
func (e explainer) variant(c results.Cell) string {
	s, err := parseSender(c.Sender)
	switch {
	case err != nil || chunkOf(c) == 0:
		return ""
	case s.watermark > 0:
		return "a sender that keeps unread bytes below " + size(s.watermark)
	case s.wait > 0:
		return fmt.Sprintf("a sender that sizes its frames by the stream's rate, %s each", results.FormatDuration(float64(s.wait)))
	case c.Size != e.shared.Size:
		return "messages of " + size(c.Size)
	case c.Capacity != e.shared.Capacity:
		return "a pipe of " + size(c.Capacity)
	}
	return ""
}

// find returns the record of a cell; false, and one without samples, where it was not measured.
func (e explainer) find(c results.Cell) (results.Tune, bool) {
	i := slices.IndexFunc(e.records, func(r results.Tune) bool { return len(r.Samples) > 0 && r.Cell == c })
	if i < 0 {
		return results.Tune{}, false
	}
	return e.records[i], true
}

func ratioOf(metric string, a, b results.Tune) float64 {
	return figureOf(metric, a.Samples).Median / figureOf(metric, b.Samples).Median
}

// waitText returns the wait of a record's small messages: its median and its p99, where the samples
// carry one.
func waitText(r results.Tune) string {
	text := results.FormatDuration(figureOf("due.p50", r.Samples).Median)
	if tail := figureOf("due.p99", r.Samples); tail.N > 0 {
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

// times writes a ratio as a person says it: "0.97 ×".
func times(ratio float64) string { return fmt.Sprintf("%.2f ×", ratio) }
