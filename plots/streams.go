package plots

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// Axes that several charts have.
var (
	goodputAxis = Axis{Label: "goodput: payload per second", Log: true, Unit: Rate}
	ratioAxis   = Axis{Label: "goodput vs raw", Log: true, Unit: Times}
)

const ratiosNote = "raw has no framing. Each round is divided by its own raw, so that a slow " +
	"machine cancels out. Points are medians. Bars are their 95 % interval or, with fewer than " +
	"six rounds, the range."

// isStream reports whether only the transport is measured, with messages that go one way, at full
// speed, to a reader that does not close the pipe early.
func isStream(r stat.Row) bool {
	c := r.Cell
	atFullSpeed := c.Rate == 0 && c.ClosesAfter == 0 && !c.IsWaiting()
	return c.Pattern == "stream" && atFullSpeed && c.IsBare()
}

func isRaw(framing string) bool { return family(framing) == results.FramingRaw }

// streams selects the rows that compare framings.
func (r rows) streams() rows { return r.withoutLevers().where(isStream) }

// streamChart makes a chart of one figure by message size, with a panel for each placement of the
// pipe's ends on CPUs.
func (r rows) streamChart(name string, y Axis, point pointFunc, dots bool) Chart {
	sizes := r.sizes()
	panel := r.titled(placeName, "framing", "size", "placement")
	l := layout{panel: panel, line: framingName, place: among(sizes, sizeOf), dots: dots}
	return Chart{
		Name:     name,
		Subtitle: r.subtitle("size", "placement"),
		X:        sizeAxis("message size", sizes),
		Y:        y,
		Panels:   r.panels(l, point),
	}
}

func goodputChart(all rows) Chart {
	r := all.streams()
	isOfChunks := len(r.sizes()) == 1 && len(r.chunked().chunkSizes()) >= fewestChunks
	if len(r.all) == 0 || isOfChunks { // chunkChart shows these rows better
		return Chart{}
	}
	c := r.streamChart("goodput", goodputAxis, metricPoint("goodput"), false) // lines
	c.Title = goodputTitle(r)
	c.Notes = []string{mediansNote}
	return c
}

// goodputTitle says how fast framings carry messages. It takes the largest message size at which no
// figure at a placement is in doubt.
func goodputTitle(r rows) string {
	framed := r.where(func(row stat.Row) bool { return !isRaw(row.Cell.Framing) })
	isRough := func(row stat.Row) bool { return view.IsRough(row.Estimates["goodput"]) }
	for _, size := range slices.Backward(framed.sizes()) {
		var parts []string
		for _, place := range values(framed, placeName) {
			own := withValue(withValue(framed, placeName, place), sizeOf, size)
			isInDoubt := len(own.all) == 0 || slices.ContainsFunc(own.all, isRough)
			if isInDoubt || len(parts) == 2 || size == 0 {
				continue
			}
			medians := values(own, medianGoodput)
			span := fromTo(slices.Min(medians), slices.Max(medians), Rate)
			parts = append(parts, span+" on "+place)
		}
		if len(parts) > 0 {
			return "Framings carry " + view.SizeTitle(size) + " at " + strings.Join(parts, ", ")
		}
	}
	return "Goodput by message size"
}

// ratioChart shows what each framing costs: its goodput relative to raw bytes at the same message
// size.
func ratioChart(all rows) Chart {
	r := all.streams()
	isCompared := func(row stat.Row) bool { return row.ToRaw != nil }
	if !slices.ContainsFunc(r.all, isCompared) {
		return Chart{}
	}
	c := r.streamChart("ratio", ratioAxis, ratioPoint, true) // dots
	c.Title = view.SpeedTitle(all.all)
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
	return pointOf(*row.ToRaw, row.Ratios), true
}

// overheadChart shows how many bytes a framing adds, by message size. These figures are exact.
func overheadChart(all rows) Chart {
	r := all.where(func(row stat.Row) bool {
		c := row.Cell // the places of the X axis are sizes at which framings are compared
		return c.Size > 0 && c.Pattern != results.PatternMixed && !c.IsWaiting()
	})
	sizes := r.sizes()
	if len(sizes) < 2 {
		return Chart{} // a table says it better
	}
	l := layout{panel: always(""), line: framingName, place: among(sizes, sizeOf)}
	panels := r.panels(l, func(row stat.Row) (Point, bool) {
		e := row.Estimates["overhead"]
		return exact(0, e.Median), e.N > 0
	})
	if len(panels) == 0 {
		return Chart{}
	}
	lines := panels[0].Series
	for i, s := range lines {
		lines[i].Points = slices.Compact(s.Points) // one point for all placements
	}
	return Chart{
		Name:     "overhead",
		Title:    panels[0].overheadTitle(sizes),
		Subtitle: []string{"exact, and the same on every pipe: wire bytes ÷ payload bytes − 1"},
		X:        sizeAxis("message size", sizes),
		Y:        Axis{Label: "bytes added to the payload", Log: true, Unit: Percent},
		Panels:   panels,
	}
}

// overheadTitle says how much framings add at most to the smallest and to the largest messages.
func (p Panel) overheadTitle(sizes []int) string {
	last := len(sizes) - 1
	toSmall, toLarge := p.highestAt(0), p.highestAt(last)
	if toSmall == 0 || toLarge == 0 {
		return "Bytes that framing adds, by message size"
	}
	return fmt.Sprintf("Framing adds at most %s at %s, %s at %s",
		results.FormatPercent(toSmall), view.SizeTitle(sizes[0]),
		results.FormatPercent(toLarge), view.SizeTitle(sizes[last]))
}

// highestAt returns the height of the highest point at the place x, or 0.
func (p Panel) highestAt(x int) float64 {
	highest := 0.0
	for _, s := range p.Series {
		for _, point := range s.Points {
			if point.X == x {
				highest = max(highest, point.Y)
			}
		}
	}
	return highest
}
