package plots

import (
	"slices"

	"github.com/pipebench/pipebench/results/stat"
)

// fewestChunks is the smallest number of chunk sizes for which a chart of chunk sizes is made.
const fewestChunks = 3

// chunkChart shows goodput by chunk size, with a line for each message size.
func chunkChart(all rows) Chart {
	r := all.where(isStream).chunked()
	chunks := r.chunkSizes()
	if len(chunks) < fewestChunks {
		return Chart{}
	}
	title := r.titled(placeName, "framing", "size", "placement")
	several := len(r.sizes()) > 1
	line := func(row stat.Row) string {
		if several {
			return family(row.Cell.Framing) + ", " + sizeLine(row)
		}
		return family(row.Cell.Framing)
	}
	l := layout{panel: title, line: line, place: among(chunks, chunkSizeOf)}
	c := Chart{
		Name:     "chunk",
		Title:    "Goodput by size of a chunk frame",
		Subtitle: r.subtitle("placement"),
		X:        sizeAxis("size of a chunk frame", chunks),
		Y:        Axis{Label: goodputAxis.Label, Unit: Rate, FromZero: true},
		Panels:   r.panels(l, metricPoint("goodput")),
		Notes:    []string{mediansNote},
	}
	whole := all.withoutLevers().where(isStream)
	c.addWhole(whole, r, "goodput", title)
	return c
}

// addWhole adds to each panel a horizontal line for the framing ndjson, if that was measured.
// ndjson sends messages whole, not in chunks.
func (c *Chart) addWhole(all, chunked rows, metric string, title func(stat.Row) string) {
	ndjson := withValue(all, framingOf, "ndjson")
	for i, panel := range c.Panels {
		chunks := withValue(chunked, title, panel.Title)
		whole := ndjson.where(chunks.differOnlyInFraming)
		if len(whole.all) != 1 {
			continue
		}
		s := Series{Name: "ndjson"}
		for x := range c.X.Places {
			if p, ok := metricPoint(metric)(whole.all[0]); ok {
				p.X = x
				s.Points = append(s.Points, p)
			}
		}
		if len(s.Points) > 0 {
			c.Panels[i].Series = append(panel.Series, s)
		}
	}
	if slices.Contains(c.names(), "ndjson") {
		c.Notes = append(c.Notes, "ndjson sends messages whole: its one figure stands at each "+
			"chunk size.")
	}
}

// differOnlyInFraming reports whether all rows were measured in the same way as the given row,
// except for the framing.
func (r rows) differOnlyInFraming(other stat.Row) bool {
	for _, row := range r.all {
		c := other.Cell
		c.Framing = row.Cell.Framing
		if c != row.Cell {
			return false
		}
	}
	return true
}

// chunked selects the rows in which messages are sent in chunks, except rows with recorded
// messages.
func (r rows) chunked() rows {
	return r.where(func(row stat.Row) bool { return row.Cell.Size > 0 && chunkSizeOf(row) > 0 })
}

func (r rows) chunkSizes() []int {
	return slices.Sorted(slices.Values(values(r, chunkSizeOf)))
}
