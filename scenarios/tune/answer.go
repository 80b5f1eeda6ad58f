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
func View(w io.Writer, format view.Format, set *results.Set, o Objective) error {
	a := Explain(set.Tunes, o, machineName(set))
	shown := view.TuneAnswer{Objective: string(o), Margin: a.Margin, Alike: a.Alike, Flat: a.Flat, Sentences: a.Sentences}
	if !a.Inconclusive() {
		shown.Best, shown.Unchunked = a.Best, a.Unchunked
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

// An Answer is what records say about chunk sizes, in sentences. Each figure in them is one of the
// records'.
type Answer struct {
	Decision
	Sentences []string
}

// Explain answers for the records of one machine, which it names.
func Explain(records []results.Tune, o Objective, machine string) Answer {
	e := explainer{Decision: Decide(records, o), records: records, machine: machine, costs: "take", cost: "CPU time"}
	if e.Cost == "goodput" {
		e.costs, e.cost = "have", "goodput"
	}
	a := Answer{Decision: e.Decision}
	switch {
	case e.Best == 0:
		a.Sentences = []string{"no chunk size was measured with every reader: give it more time (--max-time)"}
	case e.Inconclusive():
		a.Sentences = []string{e.doubt()}
	case e.Flat:
		first, last := e.Scores[0].Chunk, e.Scores[len(e.Scores)-1].Chunk
		a.Sentences = append([]string{fmt.Sprintf("the chunk size does not matter on %s: from %s to %s nothing is worth more than %s over the rest (objective %s)",
			machine, size(first), size(last), percent(alike), o)}, e.details()...)
	default:
		a.Sentences = append([]string{e.advice()}, e.details()...)
	}
	return a
}

// doubt says why nothing is recommended, and what to do about it.
func (e explainer) doubt() string {
	remedy := "close other programs, or give it more time (--max-time)"
	pinned := func(r results.Tune) bool { return r.Cell.Placement != "same" && r.Cell.Placement != "free" }
	if _, apart := e.find(pinned); apart {
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

	costs, cost string // "take" so much "CPU time", or "have" so much "goodput"
}

// advice returns the sentence that answers the question.
func (e explainer) advice() string {
	best, _ := e.Of(e.Best)
	if e.Unchunked {
		return fmt.Sprintf("do not chunk on %s: it buys nothing; beside frames of %s unchunked messages (ndjson) %s (objective %s)",
			e.machine, size(e.Best), e.beside(*e.Whole, best), e.Objective)
	}
	least := e.cheapest()
	costs := results.FormatGoodput(best.Cost.Median) + " of goodput"
	if e.Cost == "cpu" {
		costs = fmt.Sprintf("%s of CPU time a MiB, which is %s", results.FormatDuration(best.Cost.Median), results.FormatGoodput(float64(1<<20)*1e9/best.Cost.Median))
	}
	more, compared := e.dearer(best.Cost, least), ""
	switch {
	case more < 1.005 && e.Cost == "cpu":
		compared = "the least"
	case more < 1.005:
		compared = "the best"
	case e.Cost == "cpu":
		compared = percent(more-1) + " over the least"
	default:
		compared = percent(1-1/more) + " below the best"
	}
	var plateau []int // whose cost is within 5 % of the least
	for _, s := range e.Scores {
		if e.dearer(s.Cost, least) <= 1.05 {
			plateau = append(plateau, s.Chunk)
		}
	}
	worth := "no other size is worth over 5 % more"
	if len(e.Alike) > 1 {
		worth = "the smallest of those within 5 % of the best: " + e.ranges(e.Alike)
	}
	return fmt.Sprintf("use %s on %s: %s, %s (plateau within 5 %%: %s), and %s, ±%s (objective %s)",
		size(e.Best), e.machine, costs, compared, e.ranges(plateau), worth, percent(e.Margin), e.Objective)
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
		best, ok := e.find(func(r results.Tune) bool { return e.isCandidate(r, e.Best, drain) })
		if !ok {
			continue
		}
		text := fmt.Sprintf("%s small messages wait %s", readerOf(drain), waitText(best))
		if ns, ok := Predicted(best); ok {
			text += fmt.Sprintf(", where at most %s are predicted", results.FormatDuration(ns))
		}
		if whole, ok := e.whole(drain); ok {
			text += fmt.Sprintf(", instead of %s behind unchunked messages (ndjson)", waitText(whole))
		}
		out = append(out, text)
	}
	best, _ := e.Of(e.Best)
	if whole, ok := e.whole(e.Fast); ok && estimate(e.Cost, whole.Samples).N > 0 {
		cost := estimate(e.Cost, whole.Samples)
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
	rest := slices.DeleteFunc(slices.Clone(e.Possible), func(c int) bool { return c == e.Best })
	if len(rest) > 0 && !e.Flat {
		out = append(out, fmt.Sprintf("another run may name %s: what sizes are worth against each other differs by %s from run to run", e.ranges(rest), percent(betweenRuns)))
	}
	return slices.Concat(out, e.otherSizes(), e.variants())
}

// whole finds the record of messages that are not cut, as large as those of the candidates.
func (e explainer) whole(drain int64) (results.Tune, bool) {
	return e.find(func(r results.Tune) bool {
		return r.Cell.Framing == "ndjson" && r.Cell.Drain == drain && r.Cell.Size == e.records[0].Cell.Size
	})
}

// share says what something costs as a multiple of what another does.
func (e explainer) share(cost, of stat.Estimate) string {
	return e.costs + " " + times(cost.Median/of.Median) + " of its " + e.cost
}

// beside says what one choice costs, and how long small messages wait, as a multiple of another.
func (e explainer) beside(one, other Score) string {
	var waits []string
	for _, drain := range e.Slow {
		waits = append(waits, times(one.Waits[drain].Median/other.Waits[drain].Median)+" as long "+readerOf(drain))
	}
	return e.share(one.Cost, other.Cost) + ", and small messages wait " + strings.Join(waits, ", ")
}

// otherSizes say what the choice costs for messages of other sizes, against the same messages in
// the common chunks and whole.
func (e explainer) otherSizes() []string {
	var out []string
	for _, l := range e.records {
		chunk := chunkOf(l.Cell)
		if l.Cell.Size == e.records[0].Cell.Size || chunk == 0 || chunk == commonChunk && e.Best != commonChunk || len(l.Samples) == 0 {
			continue
		}
		var against []string
		for _, framing := range []string{fmt.Sprintf("chunked:%d", commonChunk), "ndjson"} {
			other := l.Cell
			other.Framing = framing
			r, ok := e.find(func(r results.Tune) bool { return r.Cell == other })
			if cost := estimate(e.Cost, r.Samples); ok && other != l.Cell && cost.N > 0 {
				name := framing
				if n := chunkOf(other); n > 0 {
					name = size(n)
				}
				against = append(against, times(estimate(e.Cost, l.Samples).Median/cost.Median)+" of that of "+name)
			}
		}
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
	for _, l := range e.records {
		name, drain, chunk := e.variant(l.Cell), l.Cell.Drain, chunkOf(l.Cell)
		if s, err := parseSender(l.Cell.Sender); err == nil && s.wait > 0 {
			chunk = e.Best
		}
		plain, ok := e.find(func(r results.Tune) bool { return e.isCandidate(r, chunk, drain) })
		if name == "" || drain <= 0 || len(l.Samples) == 0 || !ok {
			continue
		}
		if chunk != e.Best {
			name += " with frames of " + size(chunk)
		}
		text := fmt.Sprintf("%s: %s: %s %s instead of %s, with %s of the goodput", e.rank(l), name, readerOf(drain), waitText(l), waitText(plain), times(ratioOf("goodput", l, plain)))
		same := l.Cell
		same.Drain = 0
		fast, ok := e.find(func(r results.Tune) bool { return r.Cell == same })
		plain, found := e.find(func(r results.Tune) bool { return e.isCandidate(r, chunk, 0) })
		if e.Fast == 0 && ok && found {
			text += ", and with a reader that takes all it can " + times(ratioOf(e.Cost, fast, plain)) + " of the " + e.cost
		}
		out = append(out, text)
	}
	return out
}

// rank says how a variant stands to the chunk sizes and to the other variants, by the median:
// variants have few samples, too few to trust the tail of.
func (e explainer) rank(l results.Tune) string {
	least := func(of func(results.Tune) bool) float64 {
		least := math.Inf(1)
		for _, r := range e.records {
			if r.Cell.Drain == l.Cell.Drain && len(r.Samples) > 0 && of(r) {
				least = min(least, estimate("due.p50", r.Samples).Median)
			}
		}
		return least
	}
	own := estimate("due.p50", l.Samples).Median
	switch {
	case own >= 0.8*least(func(r results.Tune) bool { return e.variant(r.Cell) == "" && chunkOf(r.Cell) > 0 }):
		return "also tried"
	case own > least(func(r results.Tune) bool { return e.variant(r.Cell) != "" }):
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

func (e explainer) find(holds func(results.Tune) bool) (results.Tune, bool) {
	i := slices.IndexFunc(e.records, func(r results.Tune) bool { return len(r.Samples) > 0 && holds(r) })
	if i < 0 {
		return results.Tune{}, false
	}
	return e.records[i], true
}

// isCandidate reports whether r is a plain record of a size and a reader's rate.
func (e explainer) isCandidate(r results.Tune, chunk int, drain int64) bool {
	return chunkOf(r.Cell) == chunk && r.Cell.Drain == drain && e.variant(r.Cell) == ""
}

func ratioOf(metric string, a, b results.Tune) float64 {
	return estimate(metric, a.Samples).Median / estimate(metric, b.Samples).Median
}

// waitText returns the wait of a record's small messages: its median and its p99, where the samples
// carry one.
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

// times writes a ratio as a person says it: "0.97 ×".
func times(ratio float64) string { return fmt.Sprintf("%.2f ×", ratio) }
