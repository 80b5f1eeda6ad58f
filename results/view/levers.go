package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Levers are the settings that may make large messages faster: a larger pipe, and smaller writes.

// GainThatCounts is the smallest ratio of goodputs for which it is worth changing a program.
const GainThatCounts = 1.1

// leverSentence says how much faster a large message passes through a larger pipe.
func leverSentence(levers []stat.Row) string {
	var parts, noisy []string
	var larger stat.Row // the row of the larger pipe at the last placement
	gains := false
	for _, place := range results.PlacementNames() {
		where := results.PlacementPhrase(place)
		usual, own := writtenWhole(levers, place)
		if usual == nil || own == nil {
			continue
		}
		larger = *own
		metric := stat.RelativeMetric(larger.Cell)
		ratio := stat.PairedRatio(metric, larger.Records, usual.Records)
		if metric.Better == stat.Lower {
			ratio = ratio.Inverse()
		}
		effect := Judge(ratio, GainThatCounts)
		gains = gains || effect == Gain
		switch {
		case effect == Gain, Judge(ratio, 1) == Loss:
			parts = append(parts, TimesAsFast(ratio)+" "+where)
		case effect == NoGain:
			parts = append(parts, "no faster "+where)
		default:
			noisy = append(noisy, where)
		}
	}
	if len(noisy) > 0 {
		parts = append(parts, tooNoisyToTell+" "+joinAnd(noisy))
	}
	if len(parts) == 0 {
		return ""
	}
	what := "messages"
	if larger.Cell.Pattern == results.PatternRoundtrip {
		what = "round trips"
	}
	text := fmt.Sprintf("For %s of %s, %s compared with the usual one: %s.", what,
		SizeTitle(larger.Cell.Size), pipePhrase(larger.Cell.Capacity), strings.Join(parts, ", "))
	if gains {
		text += " It helps a reader that does little with the bytes: see pipebench tune."
	}
	return text
}

// writtenWhole finds the measurements at a placement with messages that are written in one call:
// the one with the usual pipe, and the one with a larger pipe. It returns nil for one that is not
// there.
func writtenWhole(levers []stat.Row, placement string) (usual, larger *stat.Row) {
	for i, r := range levers {
		c := r.Cell
		switch {
		case r.Samples == 0 || c.Placement != placement || c.WriteSize > 0:
		case c.Capacity == 0 && usual == nil:
			usual = &levers[i]
		case c.Capacity > 0 && larger == nil:
			larger = &levers[i]
		}
	}
	return usual, larger
}

// leverTable shows the goodput of a large message with the usual settings, a larger pipe, and
// smaller writes.
func leverTable(levers []stat.Row) Table {
	if len(levers) == 0 {
		return Table{}
	}
	first := levers[0].Cell
	rows := slices.SortedStableFunc(slices.Values(levers), func(a, b stat.Row) int {
		return cmp.Or(cmp.Compare(a.Cell.Capacity, b.Cell.Capacity),
			cmp.Compare(bytesPerWrite(b.Cell), bytesPerWrite(a.Cell)))
	})
	return pivot{
		title: "Goodput of messages of " + SizeTitle(first.Size) + " (" +
			results.FramingPhrase(first.Framing) + ")",
		heads: []Column{{Title: "written", Key: true}, {Title: "through", Key: true}},
		line: func(r stat.Row) []string {
			written := "whole"
			if n := r.Cell.WriteSize; n > 0 {
				written = "in pieces of " + results.FormatSize(int64(n))
			}
			return []string{written, pipePhrase(r.Cell.Capacity)}
		},
		across: func(r stat.Row) string { return results.ShortPlacement(r.Cell.Placement) },
		key:    results.ShortPlacement("same"),
		value:  func(r stat.Row) Value { return textValue(goodputText(r)) },
	}.table(rows)
}

// ofMessage selects the measurements with the framing, size and pattern of a cell.
func ofMessage(rows []stat.Row, c results.Cell) []stat.Row {
	return selected(rows, func(r stat.Row) bool {
		return r.Cell.Framing == c.Framing && r.Cell.Size == c.Size && r.Cell.Pattern == c.Pattern
	})
}

// pipePhrase names a pipe by the capacity that was asked for, or 0.
func pipePhrase(capacity int) string {
	if capacity == 0 {
		return "the usual pipe"
	}
	return "a pipe of " + results.FormatSize(int64(capacity))
}

// bytesPerWrite returns how many bytes of a message the writer passes to one call.
func bytesPerWrite(c results.Cell) int { return cmp.Or(c.WriteSize, c.Size) }
