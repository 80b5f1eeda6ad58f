package plots

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// patternMixed is the pattern of cells with large messages, and small ones that are due meanwhile.
const patternMixed = "mixed"

// mixedCharts show how long small messages wait behind large ones, by the size of the chunks that
// the large ones are sent in: a panel for each rate of the reader.
func mixedCharts(set *results.Set) []Chart {
	v := selection{set: set, records: set.Records}
	v = v.keep(func(r results.Record) bool {
		return len(r.Samples) > 0 && r.Cell.Pattern == patternMixed
	})
	var charts []Chart
	for _, own := range v.groupBy(v.varying(machine, "size", "pipe", "io", "placement", "rate")) {
		charts = append(charts, own.mixedChart())
	}
	return charts
}

func (v selection) mixedChart() Chart {
	c := Chart{
		Name:     "wait" + v.suffix,
		Title:    "How long a small message waits behind large ones",
		Subtitle: v.subtitle("framing", "drain", "rate", "capacity"),
		X:        Axis{Label: "bytes per chunk frame", Scale: Log2, Unit: Bytes},
		Y:        Axis{Label: "wait of a small message, median", Scale: Log, Unit: Nanos},
		Notes: []string{"Both ends must speak the chunks: MCP and LSP have none. Across: behind " +
			"large messages that are sent whole. Points are medians, bars their 95 % interval."},
	}
	passes := true // in chunks of any size, behind every reader
	for _, drain := range v.values("drain") {
		own := v.where("drain", drain)
		usual := own.where("capacity", own.mostMeasured("capacity").values("capacity")[0])
		chunked := usual.keep(func(r results.Record) bool { return results.ChunkSize(r.Cell.Framing) > 0 })
		panel := Panel{Title: "reader at " + view.FieldValue("drain", drain)}
		s := Series{Name: "large messages sent in chunks", Points: chunked.points("framing", Axis{}, medianOf("due.p50"))}
		if s.drawn() {
			panel.Series = append(panel.Series, s)
		}
		whole := usual.where("framing", "ndjson")
		if p, ok := medianOf("due.p50")(whole, 0); ok {
			label := fmt.Sprintf("whole: %s", Nanos.Format(p.Y))
			panel.Guides = append(panel.Guides, Guide{Value: p.Y, Label: label})
			for _, in := range s.Points {
				passes = passes && in.Y < p.Y/2
			}
		}
		if len(panel.Series) > 0 {
			c.Panels = append(c.Panels, panel)
		}
	}
	if passes {
		c.Title = "Chunks let a small message pass a large one"
	}
	return c
}
