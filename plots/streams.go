package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// Axes of several charts.
var (
	goodputAxis = Axis{Label: "goodput: payload per second", Log: true, Unit: Rate}
	ratioAxis   = Axis{Label: "goodput vs raw", Unit: Times, FromZero: true}
)

const ratiosNote = "Points are medians of the ratios taken round by round, so that what slows " +
	"the whole machine drops out; bars are the 95 % interval."

// isBare reports whether a cell measures only the transport: messages are written whole, from
// memory that is ready, to a reader that does nothing with them. Charts that compare framings have
// only bare cells.
func isBare(c results.Cell) bool {
	return c.WriteSize == 0 && c.Source == "" && !c.Touch && c.Work == 0
}

// isStream selects bare cells that send one way, as fast as they can, to a reader that stays.
func isStream(r stat.Row) bool {
	c := r.Cell
	return c.Pattern == "stream" && c.Rate == 0 && c.ClosesAfter == 0 && isBare(c) && !c.IsWaiting()
}

func isRaw(framing string) bool { return family(framing) == results.FramingRaw }

// streams selects the cells that compare framings.
func (r rows) streams() rows { return r.withoutLevers().where(isStream) }

// streamTitle titles the panel of a stream.
func (r rows) streamTitle() func(stat.Row) string {
	return r.titled(placeName, "framing", "size", "placement")
}

// streamChart draws a figure of streams against message size: a panel for each placement, a line
// for each framing.
func (r rows) streamChart(name string, y Axis, dots bool, point pointer) Chart {
	sizes := r.sizes()
	l := layout{r.streamTitle(), framingName, among(sizes, sizeOf), dots}
	return Chart{
		Name:     name,
		Subtitle: r.subtitle("size", "placement"),
		X:        sizeAxis("message size", sizes),
		Y:        y,
		Panels:   r.panels(l, point),
	}
}

// goodputChart shows goodput by message size.
func goodputChart(all rows) Chart {
	r := all.streams()
	if len(r.all) == 0 {
		return Chart{}
	}
	c := r.streamChart("goodput", goodputAxis, false, metric("goodput"))
	c.Title = goodputTitle(r)
	c.Notes = []string{mediansNote}
	c.addLevers(r, all)
	return c
}

// goodputTitle says how fast the largest messages pass, in at most two placements.
func goodputTitle(r rows) string {
	largest := slices.Max(r.sizes())
	var parts []string
	for _, placement := range values(r, placementOf) {
		own := with(with(r, placementOf, placement), sizeOf, largest)
		low, high, ok := spanOf(own, "goodput")
		if ok && len(parts) < 2 {
			parts = append(parts, fromTo(low, high, Rate)+" "+view.PlacementPhrase(placement))
		}
	}
	if largest == 0 || len(parts) == 0 {
		return "Goodput"
	}
	return view.SizeTitle(largest) + " pass at " + strings.Join(parts, ", at ")
}

// ratioChart shows the goodput of each framing relative to raw at the same size: what the framing
// costs.
func ratioChart(all rows) Chart {
	r := all.streams()
	beside := r.where(func(row stat.Row) bool { return row.ToRaw != nil })
	if len(beside.all) == 0 {
		return Chart{}
	}
	c := r.streamChart("ratio", ratioAxis, true, ratioPoint)
	c.Title = ratioTitle(with(beside, r.streamTitle(), c.Panels[0].Title))
	c.Notes = []string{ratiosNote}
	return c
}

func ratioPoint(row stat.Row) (Point, bool) {
	switch {
	case isRaw(row.Cell.Framing):
		return exact(0, 1), true
	case row.ToRaw == nil:
		return Point{}, false
	}
	return pointOf(*row.ToRaw, nil), true
}

// ratioTitle says what framings cost at the size nearest to a pipe's usual capacity. The rows are
// those of one panel.
func ratioTitle(r rows) string {
	if len(r.all) == 0 {
		return "What framings cost"
	}
	distance := func(size int) float64 {
		return math.Abs(math.Log(float64(max(size, 1)) / 65536))
	}
	size := slices.MinFunc(r.sizes(), func(a, b int) int {
		return cmp.Compare(distance(a), distance(b))
	})
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range with(r, sizeOf, size).all {
		cost := math.Round(100 * (1 - row.ToRaw.Median))
		least, most = min(least, cost), max(most, cost)
	}
	place := fmt.Sprintf(" at %s %s", view.SizeTitle(size),
		view.PlacementPhrase(r.all[0].Cell.Placement))
	switch {
	case most <= 0:
		return "Framing costs nothing that can be seen" + place
	case max(least, 0) == most:
		return fmt.Sprintf("Framing costs %.0f %%%s", most, place)
	}
	return fmt.Sprintf("Framing costs %.0f to %.0f %%%s", max(least, 0), most, place)
}

// overheadChart shows the bytes that a framing adds, by message size. These are exact, and the same
// in every placement and on every machine.
func overheadChart(all rows) Chart {
	r := all.where(func(row stat.Row) bool {
		return row.Cell.Size > 0 && row.Cell.Pattern != results.PatternMixed
	})
	if len(r.all) == 0 {
		return Chart{}
	}
	sizes := r.sizes()
	l := layout{always(""), framingName, among(sizes, sizeOf), false}
	panels := r.panels(l, func(row stat.Row) (Point, bool) {
		e := row.Estimates["overhead"]
		return exact(0, e.Median), e.N > 0
	})
	for _, p := range panels {
		for i, s := range p.Series {
			p.Series[i].Points = slices.Compact(s.Points)
		}
	}
	smallest, largest := sizes[0], sizes[len(sizes)-1]
	_, most, _ := spanOf(with(r, sizeOf, smallest), "overhead")
	title := fmt.Sprintf("Framing adds up to %s of bytes to messages of %s",
		results.FormatPercent(most), view.SizeTitle(smallest))
	if largest > smallest {
		_, most, _ = spanOf(with(r, sizeOf, largest), "overhead")
		title += fmt.Sprintf(", up to %s at %s",
			results.FormatPercent(most), view.SizeTitle(largest))
	}
	return Chart{
		Name:     "overhead",
		Title:    title,
		Subtitle: []string{"exact, and the same on every pipe: wire bytes ÷ payload bytes − 1"},
		X:        sizeAxis("message size", sizes),
		Y:        Axis{Label: "bytes added to the payload", Log: true, Unit: Percent},
		Panels:   panels,
	}
}

// chunkChart shows goodput by chunk size, if a run tried at least three chunk sizes: a line for
// each message size.
func chunkChart(all rows) Chart {
	r := all.where(func(row stat.Row) bool {
		return isStream(row) && row.Cell.Size > 0 && chunkSizeOf(row) > 0
	})
	chunks := r.chunkSizes()
	if len(chunks) < 3 {
		return Chart{}
	}
	title := r.titled(placeName, "framing", "size", "placement")
	line := func(row stat.Row) string { return family(row.Cell.Framing) + ", " + sizeLine(row) }
	gain := 1.0
	for _, panel := range values(r, title) {
		for _, name := range values(r, line) {
			low, high, ok := spanOf(with(with(r, title, panel), line, name), "goodput")
			if ok {
				gain = max(gain, high/low)
			}
		}
	}
	l := layout{title, line, among(chunks, chunkSizeOf), false}
	return Chart{
		Name:     "chunk",
		Title:    fmt.Sprintf("The size of chunks changes goodput by up to %.3g×", gain),
		Subtitle: r.subtitle("placement"),
		X:        sizeAxis("size of a chunk frame", chunks),
		Y:        goodputAxis,
		Panels:   r.panels(l, metric("goodput")),
		Notes:    []string{mediansNote},
	}
}

// chunkSizes lists the chunk sizes of rows, ascending.
func (r rows) chunkSizes() []int {
	return slices.Sorted(slices.Values(values(r, chunkSizeOf)))
}
