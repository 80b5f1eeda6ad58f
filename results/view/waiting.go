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
		title := "Non-blocking writer, " + ShortPlacement(own[0].Cell.Placement)
		first := own[0].Cell.Framing
		mixed := slices.ContainsFunc(own, func(r stat.Row) bool { return r.Cell.Framing != first })
		if !mixed {
			title += ", " + results.FramingPhrase(first)
		}
		t := Table{Title: title, Columns: []Column{
			{Title: "reader", Key: true},
			{Title: "message", Right: true, Key: true},
			{Title: "waits by", Key: true},
			{Title: "EAGAIN/msg", Right: true, Key: true},
			{Title: "goodput", Right: true},
			{Title: "lost", Right: true},
			{Title: "told after", Right: true},
		}}
		if mixed {
			t.Columns = slices.Insert(t.Columns, 0, Column{Title: "framing", Key: true})
		}
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
			line := []string{reader, SizeTitle(r.Cell.Size), writer, refusalText(r, "eagain"),
				goodput, metricText(r, "lost"), metricText(r, "told")}
			if mixed {
				line = slices.Insert(line, 0, results.FramingPhrase(r.Cell.Framing))
			}
			t.Append(line...)
		}
		tables = append(tables, t)
	}
	return tables
}

// refusalSentence says how much slower a writer is that sleeps when the pipe is full, and what a
// writer learns, and how late, if its reader leaves.
func refusalSentence(waiting []stat.Row) sentence {
	var polling, sleeping *stat.Row
	var told, lost []float64 // of all samples whose reader leaves
	for i, r := range waiting {
		c := r.Cell
		polls := strings.HasPrefix(c.IO, "poll/")
		switch {
		case r.Samples == 0:
		case c.ClosesAfter > 0:
			told = append(told, stat.MustMetric("told").Values(r.Pooled())...)
			lost = append(lost, stat.MustMetric("lost").Values(r.Pooled())...)
		case c.Size <= usualSize: // a message this small fits an empty pipe: no write is refused
		case c.Drain > 0:
		case polls:
			polling = &waiting[i]
		case strings.HasPrefix(c.IO, "sleep"):
			sleeping = &waiting[i]
		}
	}
	var texts []string
	if polling != nil && sleeping != nil {
		texts = append(texts, pauseText(*polling, *sleeping))
	}
	switch n := min(len(told), len(lost)); {
	case n >= stat.LeastSamples:
		size := func(n float64) string { return results.FormatExact(n, "B") }
		texts = append(texts, fmt.Sprintf("If the reader leaves, a writer learns that by EPIPE "+
			"after %s; %s that it wrote by then are never read.",
			valueRange(told, results.FormatDuration), valueRange(lost, size)))
	case n > 0:
		texts = append(texts, "If the reader leaves, a writer learns that by EPIPE: too few "+
			"samples to tell how late.")
	}
	return sentence{text: strings.Join(nonEmpty(texts), " ")}
}

// roughFactor is the factor beyond which two rough goodputs count as different.
const roughFactor = 3

// pauseText says by what factor a sleeping writer is slower than a polling one. It returns "" if
// the two may be alike.
func pauseText(polling, sleeping stat.Row) string {
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
		"sleeps %s when the pipe is full (EAGAIN), and does not wait by poll(2).",
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
