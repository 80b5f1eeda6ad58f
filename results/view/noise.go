package view

import (
	"io"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteNoise writes how far figures move between runs that nothing distinguishes.
func WriteNoise(w io.Writer, format Format, noise []stat.Noise, o Options) error {
	if len(noise) == 0 {
		return nil
	}
	t := Table{
		Title: "How far figures move between runs that nothing distinguishes",
		Columns: []Column{
			{Title: "framing", Key: true},
			{Title: "message", Data: "message (B)", Right: true, Key: true},
			{Title: "placement", Key: true},
			{Title: "pattern"},
			{Title: "metric", Key: true},
			{Title: "median", Right: true},
			{Title: "runs", Right: true},
			{Title: "spread", Data: "spread (%)", Right: true},
			{Title: "min. detectable change", Data: "min. detectable change (%)", Right: true},
		},
	}
	for _, n := range noise {
		median := stat.Median(n.Values).Median
		spread := 100 * n.Spread()
		detectable := Value{Text: "none"} // a comparison of this figure alone gets no verdict
		if share, ok := n.Detectable(); ok {
			detectable = figureValue(100*share, results.FormatPercent(100*share))
		}
		t.AppendValues(
			textValue(n.Cell.Framing),
			bytesValue(int64(n.Cell.Size)),
			textValue(n.Cell.Placement),
			textValue(n.Cell.Pattern),
			textValue(n.Metric),
			figureValue(median, stat.MustMetric(n.Metric).Format(median)),
			textValue(strconv.Itoa(len(n.Values))),
			figureValue(spread, results.FormatPercent(spread)),
			detectable,
		)
	}
	return Page{Tables: []Table{t}}.Write(w, format, o)
}
