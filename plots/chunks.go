package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
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
	line := func(row stat.Row) string { return family(row.Cell.Framing) + ", " + sizeLine(row) }
	l := layout{panel: title, line: line, place: among(chunks, chunkSizeOf)}
	c := Chart{
		Name:     "chunk",
		Subtitle: r.subtitle("size", "placement"),
		X:        sizeAxis("size of a chunk frame", chunks),
		Y:        Axis{Label: goodputAxis.Label, Unit: Rate, FromZero: true},
		Panels:   r.panels(l, metricPoint("goodput")),
		Notes:    []string{mediansNote},
	}
	whole := all.withoutLevers().where(isStream)
	c.addWhole(whole, r, "goodput", title)
	c.Title = c.chunkTitle()
	return c
}

// addWhole adds to each panel a horizontal line for the framing ndjson, if that was measured.
// ndjson sends messages whole, not in chunks.
func (c *Chart) addWhole(all, chunked rows, metric string, title func(stat.Row) string) {
	ndjson := all.where(func(row stat.Row) bool { return row.Cell.Framing == "ndjson" })
	for i, panel := range c.Panels {
		cells := values(withValue(chunked, title, panel.Title), cellInAnyFraming)
		whole := withValue(ndjson, cellInAnyFraming, cells[0])
		if len(cells) != 1 || len(whole.all) != 1 {
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

// cellInAnyFraming says how a row was measured, except for the framing.
func cellInAnyFraming(row stat.Row) results.Cell {
	row.Cell.Framing = ""
	return row.Cell
}

// chunkTitle names the chunk size that loses the most goodput, compared with the one that is surest
// to be fast. A loss that may be noise does not count.
func (c Chart) chunkTitle() string {
	costly := ""
	most := 0.01 // the largest loss so far; less than this does not count
	known := false
	for _, panel := range c.Panels {
		for _, s := range panel.Series {
			sure := s.sure()
			if s.Name == "ndjson" || len(sure) < 2 {
				continue
			}
			known = true
			byHigh := func(a, b Point) int { return cmp.Compare(a.High, b.High) }
			byLow := func(a, b Point) int { return cmp.Compare(a.Low, b.Low) }
			worst := slices.MinFunc(sure, byHigh)
			best := slices.MaxFunc(sure, byLow)
			loss := 1 - worst.Y/best.Y
			if worst.High >= best.Low || loss <= most {
				continue
			}
			most = loss
			_, size, _ := strings.Cut(s.Name, ", ")
			costly = fmt.Sprintf("Chunks of %s carry %.0f %% less per second than chunks of %s "+
				"(%s, %s)", c.X.Places[worst.X], 100*loss, c.X.Places[best.X], panel.Title, size)
		}
	}
	switch {
	case costly != "":
		return costly
	case known:
		return "No difference in goodput seen between chunk sizes" + moreTell
	}
	return "Too noisy to tell what the size of chunks does to goodput" + moreTell
}

func (s Series) sure() []Point {
	return slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.Doubt })
}

// chunked selects the rows in which messages are sent in chunks, except rows with recorded
// messages.
func (r rows) chunked() rows {
	return r.where(func(row stat.Row) bool { return row.Cell.Size > 0 && chunkSizeOf(row) > 0 })
}

func (r rows) chunkSizes() []int {
	return slices.Sorted(slices.Values(values(r, chunkSizeOf)))
}
