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
	sizeAxis    = Axis{Label: "message size", Scale: Log, Unit: Bytes, AtValues: true}
	goodputAxis = Axis{Label: "goodput: payload per second", Scale: Log, Unit: Rate}
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

// perSetting splits rows into groups that differ only in framing, size and placement, and so can
// share a chart.
func (r rows) perSetting() []rows {
	return r.apart(func(c *results.Cell) { c.Framing, c.Size, c.Placement = "", 0, "" })
}

// streamChart draws a figure against message size: a panel for each placement, a line for each
// framing.
func (r rows) streamChart(point pointer, shape Shape) Chart {
	c := Chart{X: sizeAxis, Subtitle: r.subtitle("size", "placement")}
	c.Panels = r.panels(panelName, framingName, shape, point)
	for i := range c.Panels {
		c.Panels[i].Guides = r.capacityGuide()
	}
	return c
}

// meanSize returns the size of a cell's messages. Recorded messages differ in size: for them it is
// the mean.
func meanSize(row stat.Row) float64 {
	if row.Cell.Size > 0 {
		return float64(row.Cell.Size)
	}
	var bytes, messages int64
	for _, s := range row.Pooled() {
		bytes += s.PayloadBytes
		messages += s.Messages
	}
	return math.Round(float64(bytes) / float64(max(messages, 1)))
}

// capacityGuide marks the pipe's capacity on a size axis if all samples have the same, and it lies
// among the sizes.
func (r rows) capacityGuide() []Guide {
	capacities := r.capacities()
	sizes := values(r, sizeOf)
	if len(capacities) != 1 || capacities[0] <= slices.Min(sizes) ||
		capacities[0] > slices.Max(sizes) {
		return nil
	}
	return []Guide{{Vertical: true, Value: float64(capacities[0]), Label: "pipe capacity"}}
}

// goodputCharts show goodput by message size.
func goodputCharts(all rows) []Chart {
	var out []Chart
	for _, own := range all.streams().perSetting() {
		c := own.streamChart(along("goodput", meanSize), Line)
		c.Name = "goodput" + own.suffix
		c.Title = goodputTitle(own)
		c.Y = goodputAxis
		c.Notes = []string{mediansNote}
		c.addLevers(own, all)
		out = append(out, c)
	}
	return out
}

// goodputTitle says how fast the largest messages pass, in at most two placements.
func goodputTitle(r rows) string {
	sizes := r.sizes()
	largest := sizes[len(sizes)-1]
	var parts []string
	for _, placement := range values(r, placementOf) {
		low, high, ok := spanOf(r.at(placement).of(largest), "goodput")
		if ok && len(parts) < 2 {
			parts = append(parts, fromTo(low, high, Rate)+" "+view.PlacementPhrase(placement))
		}
	}
	if largest == 0 || len(parts) == 0 {
		return "Goodput"
	}
	return view.SizeText(largest) + " pass at " + strings.Join(parts, ", at ")
}

// spanOf returns the range of the medians of a metric; false if no row has it.
func spanOf(r rows, metric string) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range r.all {
		if e := row.Estimates[metric]; e.N > 0 {
			low, high = min(low, e.Median), max(high, e.Median)
		}
	}
	return low, high, low <= high
}

// ratioCharts show the goodput of each framing relative to raw at the same size: what the framing
// costs.
func ratioCharts(all rows) []Chart {
	var out []Chart
	for _, own := range all.streams().perSetting() {
		if !slices.ContainsFunc(own.all, hasRatio) {
			continue
		}
		c := own.streamChart(ratioPoint, Dots)
		c.Name = "ratio" + own.suffix
		c.Title = ratioTitle(own)
		c.Y = ratioAxis
		c.Notes = []string{ratiosNote}
		out = append(out, c)
	}
	return out
}

func hasRatio(row stat.Row) bool { return row.ToRaw != nil }

func ratioPoint(row stat.Row) (Point, bool) {
	switch {
	case isRaw(row.Cell.Framing):
		return exact(meanSize(row), 1), true
	case row.ToRaw == nil:
		return Point{}, false
	}
	return pointOf(meanSize(row), *row.ToRaw, nil), true
}

// ratioTitle says what framings cost at the size nearest to a pipe's usual capacity, in the first
// placement.
func ratioTitle(r rows) string {
	r = r.where(hasRatio)
	placement := r.all[0].Cell.Placement
	r = r.at(placement)
	sizes := values(r, sizeOf)
	distance := func(size int) float64 {
		return math.Abs(math.Log(float64(max(size, 1)) / 65536))
	}
	size := slices.MinFunc(sizes, func(a, b int) int {
		return cmp.Compare(distance(a), distance(b))
	})
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range r.of(size).all {
		cost := math.Round(100 * (1 - row.ToRaw.Median))
		least, most = min(least, cost), max(most, cost)
	}
	place := fmt.Sprintf(" at %s %s", view.SizeText(size), view.PlacementPhrase(placement))
	switch {
	case most <= 0:
		return "Framing costs nothing that can be seen" + place
	case max(least, 0) == most:
		return fmt.Sprintf("Framing costs %.0f %%%s", most, place)
	}
	return fmt.Sprintf("Framing costs %.0f to %.0f %%%s", max(least, 0), most, place)
}

// overheadCharts show the bytes that a framing adds, by message size. These are exact, and the same
// in every placement and on every machine.
func overheadCharts(all rows) []Chart {
	r := all.where(func(row stat.Row) bool {
		return row.Cell.Size > 0 && row.Cell.Pattern != results.PatternMixed
	})
	if len(r.all) == 0 {
		return nil
	}
	panels := r.panels(always(""), framingName, Line, func(row stat.Row) (Point, bool) {
		e := row.Estimates["overhead"]
		return exact(float64(row.Cell.Size), e.Median), e.N > 0
	})
	for _, p := range panels {
		for i, s := range p.Series {
			p.Series[i].Points = slices.Compact(s.Points)
		}
	}
	sizes := r.sizes()
	smallest, largest := sizes[0], sizes[len(sizes)-1]
	_, most, _ := spanOf(r.of(smallest), "overhead")
	title := fmt.Sprintf("Framing adds up to %s of bytes to messages of %s",
		results.FormatPercent(most), view.SizeText(smallest))
	if largest > smallest {
		_, most, _ = spanOf(r.of(largest), "overhead")
		title += fmt.Sprintf(", up to %s at %s",
			results.FormatPercent(most), view.SizeText(largest))
	}
	return []Chart{{
		Name:     "overhead",
		Title:    title,
		Subtitle: []string{"exact, and the same on every pipe: wire bytes ÷ payload bytes − 1"},
		X:        sizeAxis,
		Y:        Axis{Label: "bytes added to the payload", Scale: Log, Unit: Percent},
		Panels:   panels,
	}}
}

// chunkSize is the place of a row on an axis of chunk sizes.
func chunkSize(row stat.Row) float64 { return float64(results.ChunkSize(row.Cell.Framing)) }

// chunkCharts show goodput by chunk size, if a run tried at least three chunk sizes: a line for
// each message size.
func chunkCharts(all rows) []Chart {
	r := all.where(func(row stat.Row) bool {
		return isStream(row) && row.Cell.Size > 0 && chunkSize(row) > 0 && !isRaw(row.Cell.Framing)
	})
	var out []Chart
	for _, name := range values(r, func(row stat.Row) string { return family(row.Cell.Framing) }) {
		same := r.where(func(row stat.Row) bool { return family(row.Cell.Framing) == name })
		for _, own := range same.perSetting() {
			if len(values(own, framingOf)) >= 3 {
				out = append(out, own.chunkChart("chunk-"+name+own.suffix))
			}
		}
	}
	return out
}

func (r rows) chunkChart(name string) Chart {
	c := Chart{
		Name:     name,
		Subtitle: r.subtitle("placement"),
		X:        Axis{Label: "bytes per chunk frame", Scale: Log, Unit: Bytes, AtValues: true},
		Y:        goodputAxis,
		Notes:    []string{mediansNote},
	}
	gain := 1.0
	for _, placement := range values(r, placementOf) {
		for _, size := range r.sizes() {
			if low, high, ok := spanOf(r.at(placement).of(size), "goodput"); ok {
				gain = max(gain, high/low)
			}
		}
	}
	c.Panels = r.panels(panelName, sizeName, Line, along("goodput", chunkSize))
	c.Title = fmt.Sprintf("The size of chunks changes goodput by up to %.3g×", gain)
	return c
}
