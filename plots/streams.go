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

// isBare reports whether a cell is a transport alone: its messages are sent as they come, from
// memory that is there, to a reader that does nothing with them. Charts that compare framings have
// bare cells only.
func isBare(c results.Cell) bool {
	return c.WriteSize == 0 && c.Source == "" && !c.Touch && c.Work == 0
}

// isStream selects bare cells of closed loops one way.
func isStream(r stat.Row) bool {
	c := r.Cell
	return c.Pattern == "stream" && c.Rate == 0 && c.ClosesAfter == 0 && isBare(c) && !c.IsWaiting()
}

func isRaw(framing string) bool { return family(framing) == results.FramingRaw }

// streams selects the cells that compare framings.
func (r rows) streams() rows { return r.withoutLevers().where(isStream) }

// withoutLevers leaves out the cells that compare capacities and write sizes, but for those with
// the capacity of most others.
func (r rows) withoutLevers() rows {
	levers := r.leverSettings()
	usual := r.usualCapacity()
	return r.where(func(row stat.Row) bool {
		return row.Cell.Capacity == usual || !levers[leverSetting(row)]
	})
}

// lines splits streams into charts, and says what the lines of each are: framings, or if there is
// one alone, what else differs.
func (r rows) lines() (charts []rows, nameOf func(stat.Row) string) {
	shown := func(c *results.Cell) { c.Framing, c.Size, c.Placement = "", 0, "" }
	framings := values(r, framingOf)
	if len(framings) != 1 || len(values(r, machineOf)) > 1 {
		return r.apart(shown), func(row stat.Row) string {
			return view.FieldValue("framing", row.Cell.Framing)
		}
	}
	var cells []results.Cell
	for _, row := range r.all {
		cells = append(cells, row.Cell)
	}
	differing := results.DifferingFields(cells, "size", "placement")
	if len(differing) == 0 {
		differing = []string{"framing"}
	}
	return []rows{r}, func(row stat.Row) string {
		var parts []string
		for _, name := range differing {
			parts = append(parts, view.FieldValue(name, row.Cell.Field(name)))
		}
		return strings.Join(parts, " ")
	}
}

// A streamPoint returns the point of a row at a place; false if the row has none.
type streamPoint func(row stat.Row, x float64) (Point, bool)

// streamChart draws a figure against message size: a panel for each placement, a line for each
// name.
func (r rows) streamChart(nameOf func(stat.Row) string, point streamPoint, shape Shape) Chart {
	c := Chart{X: sizeAxis, Subtitle: r.subtitle("size", "placement")}
	r = r.fewChunkSizes()
	for _, placement := range values(r, placementOf) {
		panel := Panel{Title: panelName(placement)}
		own := r.at(placement)
		for _, name := range values(r, nameOf) {
			line := own.where(func(row stat.Row) bool { return nameOf(row) == name })
			s := Series{Name: name, Shape: shape}
			for _, row := range line.all {
				s.Reference = isRaw(row.Cell.Framing)
				if p, ok := point(row, meanSize(row)); ok {
					s.Points = append(s.Points, p)
				}
			}
			if s.Reference {
				s.Shape = Line
			}
			slices.SortStableFunc(s.Points, compareX)
			if len(s.Points) > 0 {
				panel.Series = append(panel.Series, s)
			}
		}
		panel.Guides = own.capacityGuide()
		c.Panels = append(c.Panels, panel)
	}
	return c
}

// meanSize returns the size of a cell's messages; of recorded ones, which have sizes of their own,
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

// fewChunkSizes keeps three chunk sizes of a framing that was measured with more: the smallest, the
// usual or a middle one, and the largest. A sweep of them has a chart of its own.
func (r rows) fewChunkSizes() rows {
	byFamily := map[string][]string{}
	for _, spec := range values(r, framingOf) {
		byFamily[family(spec)] = append(byFamily[family(spec)], spec)
	}
	return r.where(func(row stat.Row) bool {
		all := byFamily[family(row.Cell.Framing)]
		if len(all) <= 3 {
			return true
		}
		slices.SortFunc(all, func(a, b string) int {
			return results.ChunkSize(a) - results.ChunkSize(b)
		})
		middle := all[len(all)/2]
		if usual := family(all[0]) + ":61440"; slices.Contains(all, usual) {
			middle = usual
		}
		return slices.Contains([]string{all[0], middle, all[len(all)-1]}, row.Cell.Framing)
	})
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

// goodputCharts show goodput against message size.
func goodputCharts(all rows) []Chart {
	charts, nameOf := all.streams().lines()
	var out []Chart
	for _, own := range charts {
		c := own.streamChart(nameOf, func(row stat.Row, x float64) (Point, bool) {
			return figure(row, "goodput", x)
		}, Line)
		c.Name = "goodput" + own.suffix
		c.Title = goodputTitle(own)
		c.Y = goodputAxis
		c.Notes = []string{mediansNote}
		out = append(out, c)
	}
	return out
}

// goodputTitle says how fast the largest messages pass, in at most two placements.
func goodputTitle(r rows) string {
	largest := slices.Max(values(r, sizeOf))
	var parts []string
	for _, placement := range values(r, placementOf) {
		low, high, ok := spanOf(r.at(placement).of(largest), "goodput")
		if ok && len(parts) < 2 {
			parts = append(parts, fromTo(low, high, Rate)+" "+whereEndsRun(placement))
		}
	}
	if largest == 0 || len(parts) == 0 {
		return "Goodput"
	}
	return sizeText(int64(largest)) + " pass at " + strings.Join(parts, ", at ")
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

// ratioCharts show the goodput of each framing relative to raw at the same size: what it costs.
func ratioCharts(all rows) []Chart {
	charts, nameOf := all.streams().lines()
	var out []Chart
	for _, own := range charts {
		if !slices.ContainsFunc(own.all, hasRatio) {
			continue
		}
		c := own.streamChart(nameOf, ratioPoint, Dots)
		c.Name = "ratio" + own.suffix
		c.Title = ratioTitle(own)
		c.Y = ratioAxis
		c.Notes = []string{ratiosNote}
		out = append(out, c)
	}
	return out
}

func hasRatio(row stat.Row) bool { return row.ToRaw != nil }

func ratioPoint(row stat.Row, x float64) (Point, bool) {
	switch {
	case isRaw(row.Cell.Framing):
		return exact(x, 1), true
	case row.ToRaw == nil:
		return Point{}, false
	}
	return pointOf(x, *row.ToRaw, nil), true
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
	place := fmt.Sprintf(" at %s %s", sizeText(int64(size)), whereEndsRun(placement))
	switch {
	case most <= 0:
		return "Framing costs nothing that can be seen" + place
	case max(least, 0) == most:
		return fmt.Sprintf("Framing costs %.0f %%%s", most, place)
	}
	return fmt.Sprintf("Framing costs %.0f to %.0f %%%s", max(least, 0), most, place)
}

// machineCharts compare machines: goodput of each framing relative to the raw pipe of the same
// machine, because absolute figures of two machines say little. Each framing has a panel, each
// machine a line.
func machineCharts(all rows) []Chart {
	r := all.streams().where(hasRatio)
	if len(values(r, machineOf)) < 2 {
		return nil
	}
	var out []Chart
	for _, placement := range values(r, placementOf) {
		own := r.at(placement).fewChunkSizes()
		if len(values(own, machineOf)) < 2 {
			continue
		}
		c := Chart{
			Name:     "machines-" + fileName(placement),
			Title:    "What framing costs on each machine, " + whereEndsRun(placement),
			Subtitle: own.subtitle("size"),
			X:        sizeAxis,
			Y:        ratioAxis,
			Notes:    []string{ratiosNote},
		}
		for _, framing := range values(own, framingOf) {
			panel := Panel{
				Title:  view.FieldValue("framing", framing),
				Guides: []Guide{{Value: 1}},
			}
			for _, id := range values(own, machineOf) {
				s := Series{Name: r.set.MachineName(id), Shape: Dots}
				for _, row := range own.in(framing).all {
					if row.Machine == id {
						s.Points = append(s.Points, pointOf(meanSize(row), *row.ToRaw, nil))
					}
				}
				slices.SortStableFunc(s.Points, compareX)
				panel.Series = append(panel.Series, s)
			}
			c.Panels = append(c.Panels, panel)
		}
		out = append(out, c)
	}
	return out
}

// overheadCharts show the bytes that a framing adds against message size. They are exact, and the
// same in every placement and on every machine.
func overheadCharts(all rows) []Chart {
	r := all.where(func(row stat.Row) bool {
		return row.Cell.Size > 0 && row.Cell.Pattern != patternMixed &&
			row.Estimates["overhead"].N > 0
	}).fewChunkSizes()
	if len(r.all) == 0 {
		return nil
	}
	var panel Panel
	for _, framing := range values(r, framingOf) {
		s := Series{Name: view.FieldValue("framing", framing), Reference: isRaw(framing)}
		sizes := values(r.in(framing), sizeOf)
		slices.Sort(sizes)
		for _, size := range sizes {
			row := r.in(framing).of(size).all[0]
			s.Points = append(s.Points, exact(float64(size), row.Estimates["overhead"].Median))
		}
		panel.Series = append(panel.Series, s)
	}
	sizes := values(r, sizeOf)
	_, least, _ := spanOf(r.of(slices.Max(sizes)), "overhead")
	_, most, _ := spanOf(r.of(slices.Min(sizes)), "overhead")
	title := fmt.Sprintf("Framing adds up to %s of bytes to messages of %s, up to %s at %s",
		results.FormatPercent(most), sizeText(int64(slices.Min(sizes))),
		results.FormatPercent(least), sizeText(int64(slices.Max(sizes))))
	if len(sizes) == 1 {
		title = fmt.Sprintf("Framing adds up to %s of bytes to messages of %s",
			results.FormatPercent(most), sizeText(int64(sizes[0])))
	}
	return []Chart{{
		Name:     "overhead",
		Title:    title,
		Subtitle: []string{"exact, and the same on every pipe: wire bytes ÷ payload bytes − 1"},
		X:        sizeAxis,
		Y:        Axis{Label: "bytes added to the payload", Scale: Log, Unit: Percent},
		Panels:   []Panel{panel},
	}}
}

// chunkCharts show goodput against chunk size if a run tried at least three: a line for each
// message size.
func chunkCharts(all rows) []Chart {
	r := all.where(func(row stat.Row) bool {
		return isStream(row) && row.Cell.Size > 0 && results.ChunkSize(row.Cell.Framing) > 0 &&
			!isRaw(row.Cell.Framing)
	})
	var out []Chart
	for _, name := range values(r, func(row stat.Row) string { return family(row.Cell.Framing) }) {
		same := r.where(func(row stat.Row) bool { return family(row.Cell.Framing) == name })
		for _, own := range same.apart(func(c *results.Cell) {
			c.Framing, c.Size, c.Placement = "", 0, ""
		}) {
			if len(values(own, framingOf)) >= 3 {
				own.suffix = "-" + name + own.suffix
				out = append(out, own.chunkChart())
			}
		}
	}
	return out
}

func (r rows) chunkChart() Chart {
	c := Chart{
		Name:     "chunk" + r.suffix,
		Subtitle: r.subtitle("placement"),
		X:        Axis{Label: "bytes per chunk frame", Scale: Log, Unit: Bytes, AtValues: true},
		Y:        goodputAxis,
		Notes:    []string{mediansNote},
	}
	most := 1.0
	for _, placement := range values(r, placementOf) {
		panel := Panel{Title: panelName(placement)}
		sizes := values(r, sizeOf)
		slices.Sort(sizes)
		for _, size := range sizes {
			s := Series{Name: messagesOf(size)}
			own := r.at(placement).of(size)
			for _, row := range own.all {
				x := float64(results.ChunkSize(row.Cell.Framing))
				if p, ok := figure(row, "goodput", x); ok {
					s.Points = append(s.Points, p)
				}
			}
			slices.SortStableFunc(s.Points, compareX)
			if len(s.Points) > 0 {
				panel.Series = append(panel.Series, s)
			}
			if low, high, ok := spanOf(own, "goodput"); ok {
				most = max(most, high/low)
			}
		}
		c.Panels = append(c.Panels, panel)
	}
	c.Title = fmt.Sprintf("The size of chunks changes goodput by up to %.3g×", most)
	return c
}
