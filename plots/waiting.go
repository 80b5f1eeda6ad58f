package plots

import (
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
	c := Chart{
		Name:     "waiting",
		Title:    "What non-blocking writers meet",
		Subtitle: r.subtitle("io", "drain", "closes_after", "size"),
		X:        Axis{Label: "how the writer waits", Places: writers},
		Notes: []string{"poll: waits in poll(2) for room; poller: Go's runtime waits for it; " +
			"sleep: sleeps for this long, then tries again.", mediansNote,
			"Times to EPIPE differ by chance: their bars are the range, and their points are " +
				"never hollow."},
	}
	stays := r.where(func(row stat.Row) bool {
		return row.Cell.ClosesAfter == 0 && row.Cell.Drain == 0
	})
	leaves := r.where(func(row stat.Row) bool { return row.Cell.ClosesAfter > 0 })
	c.addWriters(stays, "EAGAIN per message", metricPoint("eagain"), Axis{Log: true})
	c.addWriters(stays, "goodput", metricPoint("goodput"), Axis{Log: true, Unit: Rate})
	c.addWriters(leaves, "time to EPIPE", epipePoint, Axis{Log: true, Unit: Nanos})
	if sentence := view.PauseSentence(stays.all); sentence != "" {
		c.Title = strings.TrimSuffix(sentence, ".")
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
	if pairs := r.advisedWaits(title); len(pairs) > 0 {
		size := view.SizeTitle(chunkSizeOf(pairs[0][1]))
		c.Title = "With frames of " + size + ", " + view.ChunkWaits("a small message", pairs)
	}
	return c
}

// An advice is what the answer of tune names: a chunk size, and a pipe and writes for the rest.
type advice struct {
	Chunk int
	Lever struct {
		Capacity  int
		WriteSize int `json:"write_size"`
	}
}

// advice returns what the answer of tune names, or nothing if there is not one answer.
func (r rows) advice() advice {
	var a advice
	answers := r.set.FindingsOf(results.AreaTune)
	if len(answers) != 1 || answers[0].Evidence.Decode(&a) != nil {
		return advice{}
	}
	return a
}

// advisedWaits returns the measurements of whole messages and of chunks in each panel, for the
// chunk size that tune advises.
func (r rows) advisedWaits(panel func(stat.Row) string) (pairs [][2]stat.Row) {
	advised := r.advice().Chunk
	for _, name := range values(r, panel) {
		own := withValue(r, panel, name)
		whole := withValue(own, chunkSizeOf, 0).all
		chunked := withValue(own, chunkSizeOf, advised).all
		if advised > 0 && len(whole) == 1 && len(chunked) == 1 {
			pairs = append(pairs, [2]stat.Row{whole[0], chunked[0]})
		}
	}
	return pairs
}

// readerName names the panel of a row by the rate at which its reader reads.
func readerName(row stat.Row) string {
	return view.FieldPhrase("drain", row.Cell.Field("drain"))
}
