package plots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// waitingCharts are about writers that do not block: how often the kernel refuses a write, the
// goodput that each way of waiting keeps, and how long it takes to learn that the reader left.
func waitingCharts(all rows) []Chart {
	r := all.where(func(row stat.Row) bool { return row.Cell.IsWaiting() })
	var charts []Chart
	for _, own := range r.apart(func(c *results.Cell) {
		c.IO, c.Drain, c.ClosesAfter, c.Size = "", 0, 0, 0
	}) {
		charts = append(charts, own.waitingChart())
	}
	return charts
}

// writersIO returns how the writing end of a row waits.
func writersIO(row stat.Row) string {
	writer, _, _ := strings.Cut(row.Cell.IO, "/")
	return writer
}

func (r rows) waitingChart() Chart {
	writers := values(r, writersIO)
	slices.SortFunc(writers, func(a, b string) int {
		return fixedStyles[family(a)] - fixedStyles[family(b)]
	})
	c := Chart{
		Name:     "waiting" + r.suffix,
		Title:    "What writers meet that do not block",
		Subtitle: r.subtitle("io", "drain", "closes_after", "size"),
		X:        Axis{Label: "how the writer waits", Scale: Category, Categories: writers},
		Notes:    []string{mediansNote},
	}
	stays := r.where(func(row stat.Row) bool {
		return row.Cell.ClosesAfter == 0 && row.Cell.Drain == 0
	})
	leaves := r.where(func(row stat.Row) bool { return row.Cell.ClosesAfter > 0 })
	c.addWriters(stays, "EAGAIN per message", "eagain", Axis{Scale: Log})
	c.addWriters(stays, "goodput", "goodput", Axis{Scale: Log, Unit: Rate})
	c.addWriters(leaves, "time to EPIPE", "told", Axis{Scale: Log, Unit: Nanos})
	if keeps := stays.pauseKeeps(); keeps < 0.5 {
		c.Title = fmt.Sprintf("A writer that pauses when the pipe is full keeps %s of its goodput",
			results.FormatPercent(100*keeps))
	}
	return c
}

// addWriters adds a panel of one metric. It has a column for each way in which writers wait, and in
// each column a point for each message size.
func (c *Chart) addWriters(r rows, title, metric string, y Axis) {
	column := func(row stat.Row) float64 {
		return float64(slices.Index(c.X.Categories, writersIO(row)))
	}
	for _, panel := range r.panels(always(title), sizeName, Dots, along(metric, column)) {
		panel.Y = &y
		c.Panels = append(c.Panels, panel)
	}
}

// pauseKeeps returns the goodput of a writer that sleeps as a share of that of a writer that polls:
// the largest of all message sizes, or 1 if the two were not measured.
func (r rows) pauseKeeps() float64 {
	most := 0.0
	for _, size := range values(r, sizeOf) {
		var polls, sleeps float64
		for _, row := range r.of(size).all {
			switch family(writersIO(row)) {
			case "poll":
				polls = row.Estimates["goodput"].Median
			case "sleep":
				sleeps = row.Estimates["goodput"].Median
			}
		}
		if polls > 0 {
			most = max(most, sleeps/polls)
		}
	}
	if most == 0 {
		return 1
	}
	return most
}

// waitCharts show how long small messages wait behind large ones, by the size of the chunks that
// the large ones are sent in: a panel for each rate of the reader.
func waitCharts(all rows) []Chart {
	r := all.where(func(row stat.Row) bool { return row.Cell.Pattern == results.PatternMixed })
	usual := r.usualCapacity()
	r = r.where(func(row stat.Row) bool {
		return row.Cell.Capacity == usual && row.Cell.WriteSize == 0
	})
	var charts []Chart
	for _, own := range r.apart(func(c *results.Cell) { c.Framing, c.Drain = "", 0 }) {
		charts = append(charts, own.waitChart())
	}
	return charts
}

func (r rows) waitChart() Chart {
	c := Chart{
		Name:     "wait" + r.suffix,
		Title:    "How long a small message waits behind large ones",
		Subtitle: r.subtitle("framing", "drain", "rate"),
		X:        Axis{Label: "bytes per chunk frame", Scale: Log, Unit: Bytes, AtValues: true},
		Y:        Axis{Label: "wait of a small message, median", Scale: Log, Unit: Nanos},
		Notes:    []string{"Both ends must speak the chunks: MCP and LSP have none.", mediansNote},
	}
	drains := values(r, func(row stat.Row) int64 { return row.Cell.Drain })
	slices.SortFunc(drains, unlimitedFirst)
	gain := 0.0 // the least that the best chunks gain
	for _, drain := range drains {
		own := r.where(func(row stat.Row) bool { return row.Cell.Drain == drain })
		chunked := own.where(func(row stat.Row) bool { return chunkSize(row) > 0 })
		best, _, _ := spanOf(chunked, "due.p50")
		whole, _, ok := spanOf(own.in("ndjson"), "due.p50")
		title := "reader at " + view.FieldValue("drain", strconv.FormatInt(drain, 10))
		name := always("large messages sent in chunks")
		wait := along("due.p50", chunkSize)
		for _, panel := range chunked.panels(always(title), name, Line, wait) {
			if ok {
				label := "behind whole messages: " + results.FormatLabel(whole, Nanos)
				panel.Guides = []Guide{{Value: whole, Label: label}}
				if gain == 0 || whole/best < gain {
					gain = whole / best
				}
			}
			c.Panels = append(c.Panels, panel)
		}
	}
	if gain > 2 {
		c.Title = fmt.Sprintf("Chunks let a small message pass a large one: it waits %.2g× less",
			gain)
	}
	return c
}
