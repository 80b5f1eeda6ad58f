package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// waitingTables returns a table for each placement, with a row for each measurement whose writer
// does not block.
func waitingTables(rows []stat.Row) []Table {
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b stat.Row) int {
		return cmp.Or(
			cmp.Compare(a.Cell.ClosesAfter, b.Cell.ClosesAfter),
			cmp.Compare(a.Cell.Drain, b.Cell.Drain),
			cmp.Compare(a.Cell.Size, b.Cell.Size),
			cmp.Compare(a.Cell.IO, b.Cell.IO))
	})
	var tables []Table
	for _, own := range grouped(sorted, func(r stat.Row) string { return r.Cell.Placement }) {
		title := "Non-blocking writer, " + results.ShortPlacement(own[0].Cell.Placement)
		first := own[0].Cell.Framing
		mixed := slices.ContainsFunc(own, func(r stat.Row) bool { return r.Cell.Framing != first })
		if !mixed {
			title += ", " + results.FramingPhrase(first)
		}
		t := Table{Title: title, Columns: []Column{
			{Title: "framing", Key: true}, // left out if the title names it
			{Title: "reader", Key: true},
			{Title: "message", Right: true, Key: true},
			{Title: "waits by", Key: true},
			{Title: "EAGAIN/msg", Right: true},
			{Title: "goodput", Right: true},
			{Title: "lost", Right: true, Key: true},
			{Title: "told after", Right: true, Key: true},
		}}
		for _, r := range own {
			writer, _, _ := strings.Cut(r.Cell.IO, "/")
			reader := "fast"
			switch {
			case r.Cell.ClosesAfter > 0:
				reader = "leaves"
			case r.Cell.Drain > 0:
				reader = fieldText(r.Cell, "drain")
			}
			goodput := ""
			switch {
			case r.Samples == 0:
				goodput = emptyWord(r)
			case r.Cell.ClosesAfter == 0:
				goodput = goodputText(r)
			}
			lost := ""
			all := slices.Sorted(slices.Values(pooledValues([]stat.Row{r}, "lost")))
			if n := len(all); n > 0 { // the median, of an even number the lower one of two
				lost = stat.MustMetric("lost").Format(all[(n-1)/2])
			}
			framing := ""
			if mixed {
				framing = results.FramingPhrase(r.Cell.Framing)
			}
			t.Append(framing, reader, SizeTitle(r.Cell.Size), writer, refusalText(r, "eagain"),
				goodput, lost, metricText(r, "told"))
		}
		tables = append(tables, t)
	}
	return tables
}

func pooledValues(rows []stat.Row, metric string) []float64 {
	var out []float64
	for _, r := range rows {
		out = append(out, stat.MustMetric(metric).Values(r.Pooled())...)
	}
	return out
}

// sleeps reports whether the writer of a row sleeps when the pipe is full.
func sleeps(r stat.Row) bool { return strings.HasPrefix(r.Cell.IO, "sleep") }

// refusalSentence says how much slower a writer is that sleeps when the pipe is full, and what a
// writer learns, and how late, if its reader leaves.
func refusalSentence(waiting []stat.Row) string {
	leaves := selected(waiting, func(r stat.Row) bool { return r.Estimates["told"].N > 0 })
	return strings.Join(nonEmpty([]string{PauseSentence(waiting), leavingText(leaves)}), " ")
}

// leavingText says how late writers learn that their reader left, and what they lose. It returns ""
// if there are too few samples.
func leavingText(leaves []stat.Row) string {
	lost := pooledValues(leaves, "lost")
	if len(lost) < stat.LeastSamples {
		return ""
	}
	sizes := FromTo(SizeTitle(leaves[0].Cell.Size), SizeTitle(leaves[len(leaves)-1].Cell.Size))
	exact := func(n float64) string { return results.FormatExact(n, "B") }
	return fmt.Sprintf("If the reader leaves, a writer gets EPIPE after %s; it loses what it "+
		"wrote after the last message that was read: %s (messages of %s).",
		valueRange(pooledValues(leaves, "told"), results.FormatDuration),
		valueRange(lost, exact), sizes)
}

// roughFactor is the factor beyond which two rough goodputs count as different.
const roughFactor = 3

// PauseSentence says by what factor a sleeping writer is slower than a polling one. It returns ""
// if the two may be alike.
func PauseSentence(waiting []stat.Row) string {
	var polling, sleeping stat.Row
	for _, r := range waiting {
		c := r.Cell
		switch {
		case r.Samples == 0 || c.ClosesAfter > 0 || c.Drain > 0:
		case c.Size <= usualSize: // a message this small fits an empty pipe: no write is refused
		case strings.HasPrefix(c.IO, "poll/"):
			polling = r
		case sleeps(r):
			sleeping = r
		}
	}
	if polling.Samples == 0 || sleeping.Samples == 0 {
		return ""
	}
	polls := polling.Estimates["goodput"]
	sleeps := sleeping.Estimates["goodput"]
	slower := polls.Median / sleeps.Median
	least := GainThatCounts
	mark := ""
	if IsRough(polls) || IsRough(sleeps) {
		least = roughFactor
		mark = roughSign
	}
	writer, _, _ := strings.Cut(sleeping.Cell.IO, "/")
	_, pause, ok := strings.Cut(writer, "=")
	if !ok || slower <= least {
		return ""
	}
	return fmt.Sprintf("Messages of %s to a fast reader take %s%s times as long if the writer "+
		"sleeps %s when the pipe is full (EAGAIN) instead of waiting by poll(2).",
		SizeTitle(polling.Cell.Size), mark, results.FormatNumber(slower, 2), pause)
}

// valueRange shows the smallest and the largest value: "378 µs to 3.51 ms".
func valueRange(values []float64, format func(float64) string) string {
	return FromTo(format(slices.Min(values)), format(slices.Max(values)))
}

// FromTo joins two figures to a range: "18.5 to 20.0 µs". If they are equal, it returns one of
// them.
func FromTo(low, high string) string {
	if low == high {
		return low
	}
	number, unit, _ := strings.Cut(low, " ")
	if strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + " to " + high
}
