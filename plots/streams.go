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
	ratioAxis   = Axis{Label: "goodput vs raw", Log: true, Unit: Times}
)

const ratiosNote = "raw has no framing. Each round is divided by its own raw, so that a slow " +
	"machine cancels out; points are medians, bars their 95 % interval, or the range of fewer " +
	"than six rounds."

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
func (r rows) streamChart(name string, y Axis, dots bool, point pointFunc) Chart {
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
	chunks := r.chunked().chunkSizes()
	if len(r.all) == 0 || len(r.sizes()) == 1 && len(chunks) >= fewestChunks {
		return Chart{} // of the latter, the charts of chunks and of write sizes say more
	}
	c := r.streamChart("goodput", goodputAxis, false, metricPoint("goodput"))
	c.Title = goodputTitle(r)
	c.Notes = []string{mediansNote}
	c.addLevers(r, all)
	return c
}

// goodputTitle says how fast the framings carry messages, in at most two placements: the largest
// messages whose figures are mostly not in doubt. Raw counts only if nothing else was measured.
func goodputTitle(r rows) string {
	framed := r.where(func(row stat.Row) bool { return !isRaw(row.Cell.Framing) })
	if len(framed.all) > 0 {
		r = framed
	}
	carry := "Framings carry "
	if names := values(r, framingName); len(names) == 1 {
		carry = names[0] + " carries "
	}
	for _, size := range slices.Backward(r.sizes()) {
		var parts []string
		for _, placement := range values(r, placementOf) {
			own := withValue(withValue(r, placementOf, placement), sizeOf, size)
			sure := own.sure("goodput")
			low, high, ok := spanOf(sure, "goodput")
			if ok && 2*len(sure.all) > len(own.all) && len(parts) < 2 {
				where := view.PlacementPhrase(placement)
				if placement == "free" {
					where = "unpinned"
				}
				parts = append(parts, fromTo(low, high, Rate)+" "+where)
			}
		}
		if len(parts) > 0 && size > 0 {
			return carry + view.SizeTitle(size) + " at " + strings.Join(parts, ", ")
		}
	}
	return "Goodput by message size"
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
	c.Title = ratioTitle(withValue(beside, r.streamTitle(), c.Panels[0].Title))
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
	var costs []float64 // in percent, as far as they are not in doubt
	noisy := false
	own := withValue(r, sizeOf, size)
	for _, row := range own.all {
		spread, known := row.ToRaw.Spread()
		switch {
		case !known || spread > view.MaxShownSpread:
			noisy = true
		case row.ToRaw.Below(1):
			costs = append(costs, math.Round(100*(1-row.ToRaw.Median)))
		case spread > wideRatio:
			noisy = true
		default:
			costs = append(costs, 0)
		}
	}
	place := fmt.Sprintf(" at %s %s", view.SizeTitle(size),
		view.PlacementPhrase(r.all[0].Cell.Placement))
	switch {
	case len(costs) == 0:
		return "Noise hides what framing costs" + place
	case slices.Max(costs) == 0 && noisy:
		return "Noise hides what some framings cost" + place
	case slices.Max(costs) == 0:
		return "Framing costs nothing that can be seen" + place
	}
	least, most := slices.Min(costs), slices.Max(costs)
	title := fmt.Sprintf("Framing costs %.0f to %.0f %%%s", least, most, place)
	if least == most {
		title = fmt.Sprintf("Framing costs %.0f %%%s", costs[0], place)
	}
	if noisy {
		title += ", as far as the noise lets it be seen"
	}
	return title
}

// wideRatio is the half-width of an interval, in percent, beyond which a ratio that may be 1 says
// nothing.
const wideRatio = 10

// overheadChart shows the bytes that a framing adds, by message size. These are exact, and the same
// in every placement and on every machine.
func overheadChart(all rows) Chart {
	r := all.where(func(row stat.Row) bool {
		return row.Cell.Size > 0 && row.Cell.Pattern != results.PatternMixed
	})
	sizes := r.sizes()
	if len(sizes) < 2 {
		return Chart{} // a table says it better
	}
	l := layout{always(""), framingName, among(sizes, sizeOf), false}
	panels := r.panels(l, func(row stat.Row) (Point, bool) {
		e := row.Estimates["overhead"]
		return exact(0, e.Median), e.N > 0
	})
	if len(panels) == 0 {
		return Chart{}
	}
	lines := panels[0].Series
	for i, s := range lines {
		lines[i].Points = slices.Compact(s.Points)
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

// overheadTitle says how much is added at most to the smallest and to the largest messages, and by
// which framing.
func (p Panel) overheadTitle(sizes []int) string {
	last := len(sizes) - 1
	small, toSmall := p.highestAt(0)
	large, toLarge := p.highestAt(last)
	if small == "" || large == "" {
		return "Bytes that framing adds, by message size"
	}
	first := results.FormatPercent(toSmall) + " at " + view.SizeTitle(sizes[0])
	if small != large {
		first += " (" + small + ")"
	}
	return fmt.Sprintf("Framing adds at most %s, %s at %s (%s)",
		first, results.FormatPercent(toLarge), view.SizeTitle(sizes[last]), large)
}

// highestAt returns the name and the height of the series that is highest at a place; no name if
// none is above 0 there.
func (p Panel) highestAt(x int) (name string, y float64) {
	for _, s := range p.Series {
		for _, point := range s.Points {
			if point.X == x && point.Y > y {
				name = s.Name
				y = point.Y
			}
		}
	}
	return name, y
}

// fewestChunks is the number of chunk sizes from which on they have a chart.
const fewestChunks = 3

// chunkChart shows goodput by chunk size, if a run tried at least three chunk sizes: a line for
// each message size.
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
	l := layout{title, line, among(chunks, chunkSizeOf), false}
	c := Chart{
		Name:     "chunk",
		Subtitle: r.subtitle("placement"),
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

// addWhole adds to each panel a level line for ndjson, which sends messages whole, at a metric. The
// line is that of the row of r that differs from the panel's rows of chunks only in the framing.
func (c *Chart) addWhole(r, chunked rows, name string, title func(stat.Row) string) {
	ndjson := withValue(r, framingOf, "ndjson")
	for i, panel := range c.Panels {
		chunks := withValue(chunked, title, panel.Title)
		whole := ndjson.where(chunks.differOnlyInFraming)
		if len(whole.all) != 1 {
			continue
		}
		s := Series{Name: "ndjson"}
		for x := range c.X.Places {
			if p, ok := metricPoint(name)(whole.all[0]); ok {
				p.X = x
				s.Points = append(s.Points, p)
			}
		}
		if len(s.Points) > 0 {
			c.Panels[i].Series = append(panel.Series, s)
		}
	}
}

// differOnlyInFraming reports whether the cell of each of the rows is that of another row but for
// the framing.
func (r rows) differOnlyInFraming(from stat.Row) bool {
	for _, row := range r.all {
		c := from.Cell
		c.Framing = row.Cell.Framing
		if c != row.Cell {
			return false
		}
	}
	return true
}

// chunkTitle names the chunk size that costs most, compared with the best, if it costs more than
// the noise.
func (c Chart) chunkTitle() string {
	costly := ""
	most := 0.01 // the least loss that counts
	known := false
	for _, panel := range c.Panels {
		for _, s := range panel.Series {
			if s.Name == "ndjson" || len(s.sure()) < 2 {
				continue
			}
			known = true
			worst, best := s.extremes()
			loss := 1 - worst.Y/best.Y
			if worst.High >= best.Low || loss <= most {
				continue
			}
			most = loss
			where := panel.Title
			if _, size, several := strings.Cut(s.Name, ", "); several {
				where += ", " + size
			}
			costly = fmt.Sprintf("Chunks of %s carry %.0f %% less per second than chunks of %s "+
				"(%s)", c.X.Places[worst.X], 100*loss, c.X.Places[best.X], where)
		}
	}
	switch {
	case costly != "":
		return costly
	case known:
		return "The size of chunks makes no difference to goodput that can be seen"
	}
	return "Noise hides what the size of chunks does to goodput"
}

// extremes returns the lowest and the highest point that are not in doubt.
func (s Series) extremes() (lowest, highest Point) {
	sure := s.sure()
	if len(sure) == 0 {
		return Point{}, Point{}
	}
	byHeight := func(a, b Point) int { return cmp.Compare(a.Y, b.Y) }
	return slices.MinFunc(sure, byHeight), slices.MaxFunc(sure, byHeight)
}

// sure returns the points that are not in doubt.
func (s Series) sure() []Point {
	return slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.Doubt })
}

// chunked selects the rows of messages of one size that are sent in chunks of one size.
func (r rows) chunked() rows {
	return r.where(func(row stat.Row) bool { return row.Cell.Size > 0 && chunkSizeOf(row) > 0 })
}

// chunkSizes lists the chunk sizes of rows, ascending.
func (r rows) chunkSizes() []int {
	return slices.Sorted(slices.Values(values(r, chunkSizeOf)))
}
