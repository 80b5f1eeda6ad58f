package plots

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// writersIO returns how the writing end waits: "poll" of "poll/blocking".
func writersIO(row stat.Row) string {
	writer, _, _ := strings.Cut(row.Cell.IO, "/")
	return writer
}

// waitingChart compares the ways in which non-blocking writers wait: how many writes are refused,
// the goodput, and how soon the writers learn that the reader left.
func waitingChart(all rows) Chart {
	r := all.where(func(row stat.Row) bool { return row.Cell.IsWaiting() })
	if len(r.all) == 0 {
		return Chart{}
	}
	writers := slices.Sorted(slices.Values(values(r, writersIO)))
	explained := "poll: waits in poll(2) for room; poller: Go's runtime waits for room"
	var pauses []string
	for _, name := range writers {
		if family(name) == "sleep" {
			pauses = append(pauses, name)
		}
	}
	if len(pauses) > 0 {
		explained += "; " + strings.Join(pauses, ", ") + ": sleeps for this long, then tries again"
	}
	c := Chart{
		Name:     "waiting",
		Title:    "What non-blocking writers meet",
		Subtitle: r.subtitle("io", "drain", "closes_after", "size"),
		X:        Axis{Label: "how the writer waits", Places: writers},
		Notes: []string{explained + ".", mediansNote, "Times to EPIPE differ by chance: their " +
			"bars are the range, and their points are never hollow."},
	}
	stays := r.where(func(row stat.Row) bool {
		return row.Cell.ClosesAfter == 0 && row.Cell.Drain == 0
	})
	leaves := r.where(func(row stat.Row) bool { return row.Cell.ClosesAfter > 0 })
	c.addWriters(stays, "EAGAIN per message", metricPoint("eagain"), Axis{Log: true})
	c.addWriters(stays, "goodput", metricPoint("goodput"), Axis{Log: true, Unit: Rate})
	c.addWriters(leaves, "time to EPIPE", epipePoint, Axis{Log: true, Unit: Nanos})
	costs := stays.pauseCosts()
	if last := len(costs) - 1; last >= 0 && costs[last].share < 0.5 {
		_, pause, _ := strings.Cut(pauses[0], "=")
		if len(pauses) > 1 {
			pause = "on a full pipe"
		}
		c.Title = "A writer that sleeps " + pause + " instead of polling keeps " +
			view.FromTo(costs[0].String(), costs[last].String()) + " of its goodput"
	}
	return c
}

// epipePoint is the point of the time to EPIPE, with its range. Such times differ tenfold by
// chance, however many there are. The range says so, and the point is not marked as in doubt.
func epipePoint(row stat.Row) (Point, bool) {
	p, ok := metricPoint("told")(row)
	if ok {
		times := stat.MustMetric("told").Values(row.Pooled())
		p.Low, p.High = slices.Min(times), slices.Max(times)
		p.Doubt = false
	}
	return p, ok
}

// addWriters adds a panel that shows one figure. The X axis has the ways in which a writer waits
// for room in the pipe, with a point for each message size.
func (c *Chart) addWriters(r rows, title string, point pointFunc, y Axis) {
	titled := r.titled(always(title), "io", "size", "drain", "closes_after")
	l := layout{panel: titled, line: sizeLine, place: among(c.X.Places, writersIO), dots: true}
	for _, panel := range r.panels(l, point) {
		panel.Y = &y
		c.Panels = append(c.Panels, panel)
	}
}

// A pauseCost compares a writer that sleeps with one that polls.
type pauseCost struct {
	share float64 // goodput of the writer that sleeps ÷ goodput of the writer that polls
	size  int     // of the messages, in bytes
}

// String writes the share for a title: "0.32 % (130,000 B)".
func (p pauseCost) String() string {
	return results.FormatPercent(100*p.share) + " (" + view.SizeTitle(p.size) + ")"
}

// pauseCosts lists what writers keep of their goodput if they sleep instead of polling, the
// smallest share first.
func (r rows) pauseCosts() []pauseCost {
	var costs []pauseCost
	for _, sleeps := range r.all {
		if family(writersIO(sleeps)) != "sleep" || view.IsRough(sleeps.Estimates["goodput"]) {
			continue
		}
		for _, polls := range r.all {
			cell := polls.Cell
			cell.IO = sleeps.Cell.IO
			sameSetting := family(writersIO(polls)) == "poll" && cell == sleeps.Cell
			if !sameSetting || view.IsRough(polls.Estimates["goodput"]) {
				continue
			}
			costs = append(costs,
				pauseCost{medianGoodput(sleeps) / medianGoodput(polls), cell.Size})
		}
	}
	slices.SortStableFunc(costs, func(a, b pauseCost) int { return cmp.Compare(a.share, b.share) })
	return costs
}

// waitChart shows how long small messages wait behind large ones, by the size of the chunks in
// which the large ones are sent.
func waitChart(all rows) Chart {
	r := all.where(func(row stat.Row) bool { return row.Cell.Pattern == results.PatternMixed })
	usual := r.usualCapacity()
	r = r.where(func(row stat.Row) bool {
		return row.Cell.Capacity == usual && row.Cell.WriteSize == 0
	})
	chunked := r.chunked()
	if len(chunked.all) == 0 {
		return Chart{}
	}
	chunks := chunked.chunkSizes()
	title := r.titled(readerName, "framing", "drain")
	if len(chunks) == 1 && len(values(r, title)) == 1 {
		return Chart{} // two points: a sentence says as much
	}
	l := layout{panel: title, line: always("chunked"), place: among(chunks, chunkSizeOf)}
	c := Chart{
		Name:     "wait",
		Title:    "How long a small message waits behind large ones",
		Subtitle: r.subtitle("drain", "rate"),
		X:        sizeAxis("size of a chunk frame", chunks),
		Y:        Axis{Label: "wait of a small message, median", Log: true, Unit: Nanos},
		Panels:   chunked.panels(l, metricPoint("due.p50")),
		Notes:    []string{"Both ends must speak chunks: MCP and LSP have none.", mediansNote},
	}
	c.addWhole(r, chunked, "due.p50", title)
	sizes, shares, hidden := r.bestChunks(title)
	switch {
	case len(shares) == 0 && hidden:
		c.Title = "Too noisy to tell how much chunks shorten the wait of small messages" + moreTell
	case len(shares) > 0 && slices.Max(shares) < 0.5:
		c.Title = "With chunks of " + view.FromTo(view.SizeTitle(slices.Min(sizes)),
			view.SizeTitle(slices.Max(sizes))) + ", a small message waits " +
			view.FromTo(results.FormatPercent(100*slices.Min(shares)),
				results.FormatPercent(100*slices.Max(shares))) + " as long"
		if hidden {
			c.Title += ", where noise does not hide it"
		}
	}
	return c
}

// bestChunks returns the chunk size with the shortest wait of small messages in each panel, but not
// if noise hides it. It also returns that wait as a share of the wait behind whole messages.
func (r rows) bestChunks(panel func(stat.Row) string) (
	sizes []int, shares []float64, hidden bool,
) {
	for _, name := range values(r, panel) {
		own := withValue(r, panel, name)
		chunked := own.chunked()
		whole := withValue(own, framingOf, "ndjson").where(chunked.differOnlyInFraming).all
		if len(chunked.all) == 0 || len(whole) == 0 {
			continue
		}
		size := 0
		best := 0.0 // not known
		unsplit := whole[0].Estimates["due.p50"]
		for _, row := range chunked.all {
			wait := row.Estimates["due.p50"]
			share := wait.Median / unsplit.Median
			isRough := view.IsRough(wait) || view.IsRough(unsplit) // drawn hollow
			if !isRough && (best == 0 || share < best) {
				size = chunkSizeOf(row)
				best = share
			}
		}
		if best > 0 {
			sizes = append(sizes, size)
			shares = append(shares, best)
		} else {
			hidden = true
		}
	}
	return sizes, shares, hidden
}

// readerName names the panel of a row by the rate at which its reader reads.
func readerName(row stat.Row) string {
	return view.FieldPhrase("drain", row.Cell.Field("drain"))
}
