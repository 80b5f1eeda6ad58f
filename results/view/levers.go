package view

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// smallWrite is the size of the writes that sentences speak of, in bytes.
const smallWrite = 8 << 10

// A lever is one large message at a placement: written whole, through a larger pipe, and in small
// writes.
type lever struct{ whole, larger, small stat.Row }

// leverAt finds the rows of a placement.
func leverAt(rows []stat.Row, place string) (l lever, ok bool) {
	for _, r := range rows {
		c := r.Cell
		switch {
		case r.Samples == 0 || c.Placement != place:
		case c.Capacity == 0 && c.WriteSize == 0:
			l.whole = r
		case c.Capacity > 0 && c.WriteSize == 0:
			l.larger = r
		case c.Capacity == 0 && c.WriteSize == smallWrite:
			l.small = r
		}
	}
	return l, l.whole.Samples > 0 && l.larger.Samples > 0 && l.small.Samples > 0
}

// gainThatCounts is a ratio of goodputs that is worth a change of a program.
const gainThatCounts = 1.1

// leverSentence says how many times as fast a large message passes through a larger pipe, for each
// placement, as far as the intervals show it. The table has the rates.
func leverSentence(levers []stat.Row) string {
	var parts []string
	var whole results.Cell
	var larger results.Cell
	gains := false
	for _, p := range placements {
		l, ok := leverAt(levers, p.name)
		if !ok {
			continue
		}
		whole = l.whole.Cell
		larger = l.larger.Cell
		ratio := stat.PairedRatio(stat.MustMetric("goodput"), l.larger.Records, l.whole.Records)
		text := "too noisy to tell"
		switch {
		case ratio.Above(gainThatCounts) || ratio.Below(1/gainThatCounts):
			text = results.FormatNumber(ratio.Median, 2) + " times as fast"
			gains = gains || ratio.Above(gainThatCounts)
		case ratio.Below(gainThatCounts):
			text = "no faster"
		}
		parts = append(parts, text+" "+p.phrase)
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("A pipe of %s instead of the usual one, for messages of %s: %s.",
		results.FormatSize(int64(larger.Capacity)), sizeTitle(whole.Size),
		strings.Join(parts, ", "))
	if gains {
		text += " It helps a reader that does little with the bytes: see pipebench tune."
	}
	return text
}

// leverTable shows how fast a large message passes: whole, through a larger pipe and in small
// writes.
func leverTable(levers []stat.Row) Table {
	var t Table
	for _, p := range placements {
		l, ok := leverAt(levers, p.name)
		if !ok {
			continue
		}
		if len(t.Columns) == 0 {
			t.Title = "Goodput of messages of " + sizeTitle(l.whole.Cell.Size)
			pipe := results.FormatSize(int64(l.larger.Cell.Capacity))
			t.Columns = []Column{
				{Title: "placement", Key: true},
				{Title: "written whole", Right: true, Key: true},
				{Title: "pipe of " + pipe, Right: true, Key: true},
				{Title: "writes of 8 KiB", Right: true, Key: true},
			}
		}
		t.Append(p.short, goodputText(l.whole), goodputText(l.larger), goodputText(l.small))
	}
	return t
}
