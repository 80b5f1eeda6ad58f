package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// runRows are the rows of a default run on one machine, by the question that they answer.
type runRows struct {
	bare    []stat.Row // what a framing costs as a bare transport
	program []stat.Row // what it costs a program that makes its messages and looks at them
	levers  []stat.Row // one large message, with larger pipes and smaller writes
	mixed   []stat.Row // small messages behind large ones
	waiting []stat.Row // writers that do not block
}

// splitRun sorts rows by the question that they answer. A row may answer two of them: the large
// message through the usual pipe is also a bare transport.
func splitRun(rows []stat.Row) runRows {
	var s runRows
	for _, r := range rows {
		c := r.Cell
		switch {
		case c.IsWaiting():
			s.waiting = append(s.waiting, r)
		case c.Pattern == "mixed":
			s.mixed = append(s.mixed, r)
		case c.Source == "fresh" && c.Touch:
			s.program = append(s.program, r)
		case c.Pattern == "stream" && (c.Capacity > 0 || c.WriteSize > 0):
			s.levers = append(s.levers, r)
		default:
			s.bare = append(s.bare, r)
		}
	}
	if len(s.levers) == 0 {
		return s
	}
	whole := s.levers[0].Cell
	for _, r := range s.bare { // the same message as programs send it, for comparison
		c := r.Cell
		if c.Framing == whole.Framing && c.Size == whole.Size && c.Pattern == whole.Pattern {
			s.levers = append(s.levers, r)
		}
	}
	return s
}

// runAnswer says what the rows of a default run mean, in the order of its questions. It is empty
// for rows of another kind: of several machines, or of cells that the user chose.
func runAnswer(rows []stat.Row) []string {
	if len(rows) == 0 {
		return nil
	}
	for _, r := range rows {
		if r.Machine != rows[0].Machine {
			return nil
		}
	}
	s := splitRun(rows)
	if len(s.program) == 0 || len(s.levers) == 0 {
		return nil
	}
	var out []string
	for _, sentence := range []string{
		transportSentence(s.bare),
		programSentence(s.program),
		leverSentence(s.levers),
		mixedSentence(s.mixed),
		refusalSentence(s.waiting),
	} {
		if sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

// answerSize is the message size that sentences speak of: just below what a pipe holds.
const answerSize = 65_000

// transportSentence says which share of raw's goodput each framing keeps if nothing else is done
// with the bytes, and how far the framings are apart where the ends have two CPUs.
func transportSentence(bare []stat.Row) string {
	var places []string
	for _, place := range placesOf(bare) {
		kept := keptShares(bare, place)
		if len(kept) == 0 {
			continue
		}
		where := placeWords(place)
		if len(places) == 0 {
			where = "with both ends " + where
		}
		if lo, hi, alike := alikeShares(kept); alike {
			places = append(places, where+" every framing keeps "+rangeText(lo, hi)+
				", no difference beyond the noise")
			continue
		}
		places = append(places, where+" "+sharesText(kept))
	}
	if len(places) == 0 {
		return ""
	}
	return fmt.Sprintf("As a bare transport of messages of %s, of raw's goodput: %s.",
		SizeText(answerSize), strings.Join(places, "; "))
}

// A kept is the share of raw's goodput that a framing reaches.
type kept struct {
	framing string
	share   stat.Estimate
}

// keptShares returns the shares of all framings at a placement, highest first.
func keptShares(rows []stat.Row, place string) []kept {
	var all []kept
	for _, r := range rows {
		c := r.Cell
		if c.Placement == place && c.Size == answerSize && c.Pattern == "stream" && besideRaw(r) {
			all = append(all, kept{c.Framing, *r.ToRaw})
		}
	}
	slices.SortStableFunc(all, func(a, b kept) int {
		if a.share.Median > b.share.Median {
			return -1
		}
		return 1
	})
	return all
}

// alikeShares reports whether no framing is known to keep more than another, and the range of all.
func alikeShares(all []kept) (lo, hi float64, alike bool) {
	first, last := all[0].share, all[len(all)-1].share
	return last.Median, first.Median, sharesAlike(first, last)
}

// alikeShare is how far the shares of two framings may lie apart and still change their order from
// one run to the next.
const alikeShare = 0.01

// sharesAlike reports whether the first share is not known to be above the second.
func sharesAlike(first, second stat.Estimate) bool {
	return second.Interval.Hi+alikeShare >= first.Interval.Lo
}

// sharesText lists framings with their shares. Framings whose shares are not known to differ stand
// together.
func sharesText(all []kept) string {
	var parts []string
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && sharesAlike(all[i].share, all[i+n].share) {
			n++
		}
		var names []string
		for _, k := range all[i : i+n] {
			names = append(names, FramingPhrase(k.framing))
		}
		verb := " keeps "
		if n > 1 {
			verb = " keep "
		}
		if len(parts) > 0 {
			verb = " "
		}
		share := rangeText(all[i+n-1].share.Median, all[i].share.Median)
		parts = append(parts, joinAnd(names)+verb+share)
		i += n
	}
	return strings.Join(parts, ", ")
}

// FramingPhrase names a framing as a person does: "60 KiB chunks" for chunked:61440.
func FramingPhrase(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	size := results.ChunkSize(spec)
	if size == 0 {
		return spec
	}
	if name == "chunked" {
		return results.FormatSize(int64(size)) + " chunks"
	}
	return name + " of " + results.FormatSize(int64(size))
}

// joinAnd lists names: "a, b and c".
func joinAnd(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// rangeText writes shares as percent: "95 %", or "93 to 104 %" if their rounded values differ.
func rangeText(lo, hi float64) string {
	low, high := fmt.Sprintf("%.0f", 100*lo), fmt.Sprintf("%.0f", 100*hi)
	if low == high {
		return low + " %"
	}
	return low + " to " + high + " %"
}

// placeOrder is the order in which sentences speak of placements.
var placeOrder = []string{"same", "sibling", "apart", "far", "free"}

// placesOf returns the placements of rows, in the order of sentences.
func placesOf(rows []stat.Row) []string {
	var places []string
	for _, place := range placeOrder {
		for _, r := range rows {
			if r.Cell.Placement == place {
				places = append(places, place)
				break
			}
		}
	}
	return places
}

// placeWords says where the ends run, for a sentence.
func placeWords(place string) string {
	switch place {
	case "same":
		return "on one CPU"
	case "sibling":
		return "on two threads of a core"
	case "apart":
		return "on two CPUs"
	case "far":
		return "on two CPUs without a common cache"
	}
	return "where the scheduler puts them"
}

// littleCost is the share of raw's goodput above which the choice of a framing does not matter.
const littleCost = 0.9

// programSentence says what is left of a framing's cost in a program that makes each message and
// looks at it. It speaks of the placement whose figures are steadiest.
func programSentence(program []stat.Row) string {
	place := placesOf(program)[0]
	all := keptShares(program, place)
	if len(all) == 0 {
		return ""
	}
	lo, hi := all[len(all)-1].share.Median, all[0].share.Median
	text := "In a program that makes each message and looks at it, "
	if lo < littleCost {
		return text + fmt.Sprintf("%s: %s.", placeWords(place), sharesText(all))
	}
	return text + fmt.Sprintf("every framing keeps %s of raw (%s): "+
		"use the one that the other end speaks.", rangeText(lo, hi), placeWords(place))
}

// leverSentence says what a larger pipe and smaller writes do to one large message.
func leverSentence(levers []stat.Row) string {
	var parts []string
	var size int
	pipe := ""
	for _, place := range placesOf(levers) {
		whole, found := findLever(levers, place, false, 0)
		larger, foundLarger := findLever(levers, place, true, 0)
		small, foundSmall := findLever(levers, place, false, smallWrite)
		if !found || !foundLarger || !foundSmall {
			continue
		}
		size = whole.Cell.Size
		pipe = results.FormatSize(int64(larger.Cell.Capacity))
		format := "%s %s, %s and %s"
		if len(parts) == 0 {
			format = "%s %s written whole, %s through a pipe of " + pipe + ", %s in writes of 8 KiB"
		}
		parts = append(parts, fmt.Sprintf(format, placeWords(place),
			goodputText(whole), goodputText(larger), goodputText(small)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("A message of %s passes %s. %s", SizeText(size),
		strings.Join(parts, "; "), leverAdvice(levers, pipe))
}

// SizeText writes a size with its unit, and groups the digits of one that is no whole number of
// KiB: "64 KiB", "65,000 B".
func SizeText(n int) string {
	text := results.FormatSize(int64(n))
	digits, isBytes := strings.CutSuffix(text, " B")
	if !isBytes {
		return text
	}
	grouped := ""
	for len(digits) > 3 && n >= 10_000 {
		grouped = "," + digits[len(digits)-3:] + grouped
		digits = digits[:len(digits)-3]
	}
	return digits + grouped + " B"
}

// smallWrite is the size of the writes that sentences speak of, in bytes.
const smallWrite = 8 << 10

// findLever finds the row of a placement with the usual pipe or a larger one, and a write size.
func findLever(rows []stat.Row, place string, larger bool, writeSize int) (stat.Row, bool) {
	for _, r := range rows {
		c := r.Cell
		if r.Samples == 0 || c.Placement != place {
			continue
		}
		if (c.Capacity > 0) == larger && c.WriteSize == writeSize {
			return r, true
		}
	}
	return stat.Row{}, false
}

func goodputText(r stat.Row) string {
	return results.FormatGoodput(r.Estimates["goodput"].Median)
}

// leverAdvice says whether a larger pipe gains anywhere and costs nothing elsewhere, as far as the
// intervals tell.
func leverAdvice(levers []stat.Row, pipe string) string {
	gains, costs := false, false
	for _, place := range placesOf(levers) {
		whole, _ := findLever(levers, place, false, 0)
		larger, _ := findLever(levers, place, true, 0)
		ratio := stat.PairedRatio(stat.MustMetric("goodput"), larger.Records, whole.Records)
		if ratio.Above(gainThatCounts) {
			gains = true
		}
		if ratio.Below(1 / gainThatCounts) {
			costs = true
		}
	}
	switch {
	case gains && !costs:
		return "So a pipe of " + pipe + " gains and costs nothing, if the reader does little " +
			"with the bytes: pipebench tune says when."
	case gains:
		return "So a pipe of " + pipe + " gains in one place and costs in another: " +
			"see pipebench tune."
	}
	return "So a larger pipe gains nothing here."
}

// gainThatCounts is a ratio of goodputs that is worth a change of a program.
const gainThatCounts = 1.1

// mixedSentence says how long a small message waits behind large ones, whole and in chunks.
func mixedSentence(mixed []stat.Row) string {
	var parts []string
	size := 0
	for _, r := range mixed {
		wait, ok := r.Figure("due.p50")
		if !ok {
			continue
		}
		size = r.Cell.Size
		how := "if they are sent whole"
		if results.ChunkSize(r.Cell.Framing) > 0 {
			how = "if they go in " + FramingPhrase(r.Cell.Framing)
		}
		parts = append(parts, results.FormatDuration(wait)+" "+how)
	}
	if len(parts) < 2 {
		return ""
	}
	return fmt.Sprintf("A small message behind messages of %s, for a reader of %s, waits %s. "+
		"Chunk for that alone, and only if both ends speak the chunks: MCP and LSP have none.",
		SizeText(size), results.FormatGoodput(float64(mixed[0].Cell.Drain)),
		joinAnd(parts))
}

// refusalSentence says how often a writer is refused that does not block and then polls, what
// pausing instead costs, and when it learns that its reader left.
func refusalSentence(waiting []stat.Row) string {
	var refused, paused, left *stat.Row
	for i, r := range waiting {
		c := r.Cell
		polls := strings.HasPrefix(c.IO, "poll/")
		above := c.Size > answerSize
		switch {
		case r.Samples == 0 || !above:
		case c.ClosesAfter > 0 && polls:
			left = &waiting[i]
		case c.Drain > 0 || c.ClosesAfter > 0:
		case polls:
			refused = &waiting[i]
		case strings.HasPrefix(c.IO, "sleep"):
			paused = &waiting[i]
		}
	}
	if refused == nil || paused == nil {
		return ""
	}
	share := paused.Estimates["goodput"].Median / refused.Estimates["goodput"].Median
	text := fmt.Sprintf("A writer that does not block gets EAGAIN %s times per message of %s; if "+
		"it pauses instead of polling, it keeps %s of its goodput",
		results.FormatNumber(refused.Estimates["eagain"].Median, 2),
		SizeText(refused.Cell.Size),
		results.FormatPercent(100*share))
	if left != nil {
		text += fmt.Sprintf(". It learns of a reader that left (EPIPE) after %s, when %s are lost",
			results.FormatDuration(left.Estimates["told"].Median),
			results.FormatSize(int64(left.Estimates["lost"].Median)))
	}
	return text + "."
}
