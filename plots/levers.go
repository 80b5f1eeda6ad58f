package plots

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// isBare reports whether a cell is a transport alone: its messages are sent as they come, from
// memory that is there, to a reader that does nothing with them. Charts that compare framings have
// bare cells only.
func isBare(c results.Cell) bool {
	return c.WriteSize == 0 && c.Source == "" && !c.Touch && c.Work == 0
}

// A leverSetting is what cells have in common that differ in capacity and write size alone.
type leverSetting struct {
	machine string
	cell    results.Cell
}

func settingOf(set *results.Set, r results.Record) leverSetting {
	c := r.Cell
	c.Capacity, c.WriteSize, c.Placement = 0, 0, ""
	return leverSetting{set.Machine(r.Run), c}
}

// varyingWrites returns the settings in which cells differ in their write size.
func varyingWrites(set *results.Set) map[leverSetting]bool {
	varying := map[leverSetting]bool{}
	for _, r := range set.Records {
		if r.Cell.WriteSize > 0 && len(r.Samples) > 0 {
			varying[settingOf(set, r)] = true
		}
	}
	return varying
}

// usualCapacity returns the capacity that most cells of a set ask for; of two, the smaller.
func usualCapacity(set *results.Set) int {
	counts := map[int]int{}
	usual := 0
	for _, r := range set.Records {
		c := r.Cell.Capacity
		counts[c]++
		if counts[c] > counts[usual] || counts[c] == counts[usual] && c < usual {
			usual = c
		}
	}
	return usual
}

// writeSizeCharts show what a larger pipe and smaller writes do to one message size: a panel for each
// placement, a line for each capacity.
func writeSizeCharts(set *results.Set) []Chart {
	varying := varyingWrites(set)
	records := measuredIn(set, func(r results.Record) bool {
		c := r.Cell
		c.WriteSize = 0
		return isStream(r) && isBare(c) && varying[settingOf(set, r)]
	})
	var charts []Chart
	for _, v := range records.groupBy(records.varying(machine, "framing", "size", "pipe", "io")) {
		charts = append(charts, v.writeSizeChart())
	}
	return charts
}

func (v selection) writeSizeChart() Chart {
	sizes := []int{0} // the whole message
	for _, r := range v.records {
		if !slices.Contains(sizes, r.Cell.WriteSize) {
			sizes = append(sizes, r.Cell.WriteSize)
		}
	}
	slices.SortFunc(sizes[1:], func(a, b int) int { return b - a }) // the larger first
	names, label := []string{"whole"}, "bytes per write"
	for _, n := range sizes[1:] {
		names = append(names, results.FormatSize(int64(n)))
	}
	if len(names) > 4 { // there is no room for each one's unit
		label = "KiB per write"
		for i, n := range sizes[1:] {
			names[i+1] = strconv.FormatFloat(float64(n)/1024, 'f', -1, 64)
		}
	}
	c := Chart{
		Name:     "write-size" + v.suffix,
		Title:    "Goodput by bytes per write and capacity of the pipe",
		Subtitle: v.subtitle("placement", "capacity", "write_size"),
		X:        Axis{Label: label, Scale: Category, Categories: names},
		Y:        Axis{Label: "goodput", Scale: Linear, Unit: Rate, From: new(float64)},
		Columns:  3,
		Notes: []string{"A write that fills the pipe puts both ends to sleep until the other one " +
			"has run; each sleep costs a wake-up. Points are medians, bars their 95 % interval."},
	}
	for _, placement := range v.values("placement") {
		own := v.where("placement", placement)
		panel := Panel{Title: placement + ": " + view.PlacementPhrase(placement)}
		for _, capacity := range v.values("capacity") {
			line := own.where("capacity", capacity)
			s := Series{Name: "pipe of " + capacityName(line)}
			for i, n := range sizes {
				at := line.keep(func(r results.Record) bool { return r.Cell.WriteSize == n })
				if p, ok := medianOf("goodput")(at, float64(i)); ok {
					s.Points = append(s.Points, p)
				}
			}
			if s.drawn() {
				panel.Series = append(panel.Series, s)
			}
		}
		c.Panels = append(c.Panels, panel)
	}
	if v.where("placement", "apart").leverGain() > 1.5 {
		c.Title = "On two CPUs a larger pipe, or smaller writes, carry large messages faster"
	}
	return c
}

// leverGain returns by how much the best setting of capacity and write size exceeds whole messages
// through the default pipe; 0 if that was not measured.
func (v selection) leverGain() float64 {
	whole, best := 0.0, 0.0
	usual := usualCapacity(v.set)
	for _, r := range v.records {
		p, ok := medianOf("goodput")(selection{set: v.set, records: []results.Record{r}}, 0)
		if !ok {
			continue
		}
		best = max(best, p.Y)
		if r.Cell.Capacity == usual && r.Cell.WriteSize == 0 {
			whole = p.Y
		}
	}
	if whole == 0 {
		return 0
	}
	return best / whole
}

// capacityName returns the capacity that was read back from the pipes of cells, as a person reads it.
func capacityName(v selection) string {
	if back := v.capacities(); len(back) == 1 && back[0] > 0 {
		return results.FormatSize(int64(back[0]))
	}
	return view.FieldValue("capacity", v.values("capacity")[0])
}

// waitingCharts show what writers meet that do not block: how often the kernel refuses a write, the
// goodput that each way of waiting keeps, and how long it takes to learn that the reader left.
func waitingCharts(set *results.Set) []Chart {
	v := selection{set: set, records: set.Records}
	v = v.keep(func(r results.Record) bool { return len(r.Samples) > 0 && r.Cell.IsWaiting() })
	var charts []Chart
	for _, own := range v.groupBy(v.varying(machine, "framing", "pipe", "placement")) {
		charts = append(charts, own.waitingChart())
	}
	return charts
}

func (v selection) waitingChart() Chart {
	writers := stat.Distinct(v.records, func(r results.Record) string { return writersIO(r.Cell.IO) })
	slices.SortFunc(writers, func(a, b string) int { return rank(a) - rank(b) })
	c := Chart{
		Name:     "waiting" + v.suffix,
		Title:    "What writers meet that do not block",
		Subtitle: v.subtitle("io", "drain", "closes_after", "size"),
		X:        Axis{Label: "how the writer waits", Scale: Category, Categories: writers},
		Y:        Axis{Label: "refused calls (EAGAIN) per message", Scale: Log},
		Columns:  3,
		Dodge:    true,
		Notes:    []string{"Points are medians, bars their 95 % interval."},
	}
	stays := v.keep(func(r results.Record) bool { return r.Cell.ClosesAfter == 0 && r.Cell.Drain == 0 })
	leaves := v.keep(func(r results.Record) bool { return r.Cell.ClosesAfter > 0 })
	goodput := Axis{Label: "goodput", Scale: Log, Unit: Rate}
	told := Axis{Label: "time to EPIPE", Scale: Log, Unit: Nanos}
	panels := []Panel{
		{Title: "how often the kernel refuses", Series: stays.bySize(writers, "eagain")},
		{Title: "what the writer keeps", Y: &goodput, Series: stays.bySize(writers, "goodput")},
		{Title: "after the reader left", Y: &told, Series: leaves.bySize(writers, "told")},
	}
	for _, p := range panels {
		if len(p.Series) > 0 {
			c.Panels = append(c.Panels, p)
		}
	}
	if stays.pauseKeeps() < 0.5 {
		c.Title = "A writer that pauses when the pipe is full loses most of its goodput"
	}
	return c
}

// pauseKeeps returns the largest share of poll's goodput that a pausing writer keeps, 1 if the two
// were not measured.
func (v selection) pauseKeeps() float64 {
	most := -1.0
	for _, size := range v.values("size") {
		own := v.where("size", size)
		var polls, sleeps float64
		for _, r := range own.records {
			p, ok := medianOf("goodput")(selection{set: v.set, records: []results.Record{r}}, 0)
			switch {
			case !ok:
			case writersIO(r.Cell.IO) == "poll":
				polls = p.Y
			case family(writersIO(r.Cell.IO)) == "sleep":
				sleeps = p.Y
			}
		}
		if polls > 0 && sleeps > 0 {
			most = max(most, sleeps/polls)
		}
	}
	if most < 0 {
		return 1
	}
	return most
}

// bySize makes a series of points for each message size: a figure of each way of waiting.
func (v selection) bySize(writers []string, metric string) []Series {
	var all []Series
	for _, size := range v.values("size") {
		own := v.where("size", size)
		s := Series{Name: view.FieldPhrase("size", size), Shape: Dots}
		for i, io := range writers {
			at := own.keep(func(r results.Record) bool { return writersIO(r.Cell.IO) == io })
			if p, ok := medianOf(metric)(at, float64(i)); ok {
				s.Points = append(s.Points, p)
			}
		}
		if s.drawn() {
			all = append(all, s)
		}
	}
	return all
}

// writersIO returns how the writing end of a cell waits.
func writersIO(io string) string {
	writer, _, _ := strings.Cut(io, "/")
	return writer
}
