package view

import (
	"io"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteNoise writes how far the cost of framings, relative to raw bytes, differs between runs that
// should be equal.
func WriteNoise(w io.Writer, format Format, noise []stat.Noise, o Options) error {
	if len(noise) == 0 {
		return nil
	}
	t := Table{
		Title: "How far CPU time per message, beside raw, moves between runs",
		Columns: []Column{
			{Title: "framing", Key: true},
			{Title: "message", Data: "message (B)", Right: true, Key: true},
			{Title: "placement", Key: true},
			{Title: "pattern"},
			{Title: "beside raw", Right: true},
			{Title: "runs", Right: true},
			{Title: "spread", Data: "spread (%)", Right: true},
			{Title: "beyond chance from", Data: "bound (%)", Right: true, Key: true},
		},
	}
	for _, n := range noise {
		median := stat.Median(n.Values).Median
		t.AppendValues(
			textValue(fieldText(n.Cell, "framing")),
			bytesValue(int64(n.Cell.Size)),
			textValue(n.Cell.Placement),
			textValue(n.Cell.Pattern),
			figureValue(median, results.FormatNumber(median, 3)),
			textValue(strconv.Itoa(len(n.Values))),
			figureValue(100*n.Spread, results.FormatPercent(100*n.Spread)),
			figureValue(100*n.Bound, results.FormatPercent(100*n.Bound)),
		)
	}
	return Page{Tables: []Table{t}}.Write(w, format, o)
}
