package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// isStream selects closed loops one way with messages of one size.
func isStream(r results.Record) bool { return isBulk(r) && r.Cell.Size > 0 }

// isBulk selects closed loops one way.
func isBulk(r results.Record) bool { return r.Cell.Pattern == "stream" && r.Cell.Rate == 0 }

// noisyNote is said of charts that have such points.
var noisyNote = fmt.Sprintf("Hollow points are too noisy: their interval or range is wider than "+
	"±%d %%.", view.MaxShownSpread)

// Axes and notes that several charts share.
var (
	sizeAxis    = Axis{Label: "message size", Scale: Log2, Unit: Bytes}
	goodputAxis = Axis{Label: "goodput: payload bytes a second", Scale: Log, Unit: Rate}
	ratioAxis   = Axis{Label: "goodput vs raw", Scale: Linear, Unit: Times, From: new(float64)}
)

const mediansNote = "Points are medians over the samples; bars are the 95 % interval of the " +
	"median, with fewer than six samples their range."

const ratiosNote = "Points are medians of the ratios taken round by round, so that what slows " +
	"the whole machine drops out; bars are the 95 % interval, with fewer than six rounds nothing."

// goodputCharts show goodput against message size: a line for each framing, a panel for each
// placement.
func goodputCharts(set *results.Set) []Chart {
	return streamCharts(set, cellChart{
		Chart: Chart{
			Name:  "goodput",
			Title: "Goodput against message size",
			X:     sizeAxis,
			Y:     goodputAxis,
			Notes: []string{mediansNote},
		},
		Of:     []string{"goodput"},
		Along:  "size",
		Across: []dimension{"placement"},
	})
}

// streamCharts show a figure of the streams. Streams of recorded messages, which have no size in
// common, get charts of their own.
func streamCharts(set *results.Set, d cellChart) []Chart {
	d.guides = selection.capacityGuide
	recorded := d
	recorded.Name += "-recorded"
	levers := varyingWrites(set)
	usual := usualCapacity(set)
	compared := measuredIn(set, func(r results.Record) bool {
		if !isStream(r) || !isBare(r.Cell) {
			return false
		}
		return r.Cell.Capacity == usual || !levers[settingOf(set, r)]
	})
	unsized := measuredIn(set, func(r results.Record) bool {
		return isBulk(r) && r.Cell.Size == 0
	})
	return append(compared.charts(d), unsized.charts(recorded)...)
}

// capacityGuide marks the pipe's capacity on a size axis if all samples have the same and it lies
// among the sizes.
func (v selection) capacityGuide() []Guide {
	sizes := stat.Distinct(v.records, func(r results.Record) int { return r.Cell.Size })
	capacities := v.capacities()
	if len(capacities) != 1 {
		return nil
	}
	capacity := capacities[0]
	if capacity < max(1, slices.Min(sizes)) || capacity > slices.Max(sizes) {
		return nil
	}
	return []Guide{{Vertical: true, Value: float64(capacity), Label: "pipe capacity"}}
}

// overheadCharts show the bytes that a framing adds against message size. They are exact, and the
// same in every placement.
func overheadCharts(set *results.Set) []Chart {
	v := measuredIn(set, func(r results.Record) bool {
		return r.Cell.Size > 0 && r.Cell.Pattern != patternMixed
	})
	charts := v.charts(cellChart{
		Chart: Chart{
			Name:  "overhead",
			Title: "Wire overhead against message size",
			X:     sizeAxis,
			Y:     Axis{Label: "bytes added to the payload", Scale: Log, Unit: Percent},
			Notes: []string{"Exact, and the same on every pipe: bytes on the pipe over payload " +
				"bytes, less 1."},
		},
		Of:    []string{"overhead"},
		Along: "size",
		Lines: "framing",
		Apart: []dimension{},
	})
	for i := range charts {
		charts[i].Subtitle = v.subtitle("placement", "size", "framing", "io", "pipe", "capacity")
	}
	return charts
}

// ratioCharts show the goodput of each framing relative to raw at the same size: what the framing
// costs.
func ratioCharts(set *results.Set) []Chart {
	charts := streamCharts(set, cellChart{
		Chart: Chart{
			Name:  "ratio",
			Title: "Goodput of each framing as a share of raw",
			X:     sizeAxis,
			Y:     ratioAxis,
			Dodge: true,
			Notes: []string{ratiosNote},
		},
		Of:     []string{vsRaw},
		Along:  "size",
		Across: []dimension{"placement"},
	})
	var out []Chart
	for _, c := range charts {
		// all of raw against itself are 1
		compares := func(p *Point) bool { return p.Low != 1 || p.High != 1 || p.Y != 1 }
		if slices.ContainsFunc(c.points(), compares) {
			out = append(out, c)
		}
	}
	return out
}

// machineCharts compare machines: goodput of each framing relative to the raw pipe of the same
// machine, because absolute figures of two machines say little. Each framing has a panel, each
// machine a line.
func machineCharts(set *results.Set) []Chart {
	v := measuredIn(set, func(r results.Record) bool {
		return isStream(r) && isBare(r.Cell) && !isRaw(r.Cell.Framing)
	})
	if !v.varies(machine) {
		return nil
	}
	framings, _ := v.limitSeries("framing")
	v = v.keep(func(r results.Record) bool {
		return slices.Contains(framings, v.valueOf("framing", r))
	})
	return v.charts(cellChart{
		Chart: Chart{
			Name:  "machines",
			Title: "The same framing on several machines, each against its own raw pipe",
			X:     sizeAxis,
			Y:     ratioAxis,
			Dodge: true,
			Notes: []string{ratiosNote},
		},
		Of:     []string{vsRaw},
		Along:  "size",
		Lines:  machine,
		Across: []dimension{"framing"},
		guides: func(selection) []Guide { return []Guide{{Value: 1, Label: "raw"}} },
	})
}

// chunkCharts show goodput against chunk size if a run tried at least three: a line for each
// message size.
func chunkCharts(set *results.Set) []Chart {
	all := measuredIn(set, func(r results.Record) bool {
		framing := r.Cell.Framing
		return isStream(r) && isBare(r.Cell) && results.ChunkSize(framing) > 0 && !isRaw(framing)
	})
	var out []Chart
	for _, name := range all.families() {
		v := all.keep(func(r results.Record) bool { return family(r.Cell.Framing) == name })
		if len(v.values("framing")) < 3 {
			continue
		}
		out = append(out, v.charts(cellChart{
			Chart: Chart{
				Name:  "chunk-" + name,
				Title: "Goodput against chunk size, " + name,
				X: Axis{
					Label: "chunk size: bytes of a whole frame, at most", Scale: Log2, Unit: Bytes,
				},
				Y:     goodputAxis,
				Notes: []string{mediansNote},
			},
			Of:     []string{"goodput"},
			Along:  "framing",
			Lines:  "size",
			Across: []dimension{"placement"},
		})...)
	}
	return out
}

// counterCharts compare the io strategies: goodput, and refused calls, short writes and waits, for
// a framing and size that all of them were measured with.
func counterCharts(set *results.Set) []Chart {
	v := measuredIn(set, func(r results.Record) bool { return isStream(r) && isBare(r.Cell) })
	if !v.varies("io") {
		return nil
	}
	v = v.mostMeasured("framing").nearest(typicalSize)
	goodput := v.strategies(Chart{
		Name:  "io",
		Title: "Goodput by way of waiting",
		Y:     goodputAxis,
		Notes: []string{mediansNote},
	}, "goodput")
	counters := v.strategies(Chart{
		Name:  "eagain",
		Title: "What each way of waiting meets",
		Y:     Axis{Label: "a message", Scale: Log},
		Notes: []string{"A counter that a strategy cannot give has no point: a blocking call " +
			"hides what it waits for."},
	}, "eagain", "short", "waits")
	var out []Chart
	for _, c := range append(goodput, counters...) {
		ways := stat.Distinct(c.points(), func(p *Point) float64 { return p.X })
		if len(ways) >= 2 { // else there is nothing to compare
			out = append(out, c)
		}
	}
	return out
}

// strategies makes charts of metrics that have a column for each io strategy of the cells.
func (v selection) strategies(c Chart, metrics ...string) []Chart {
	c.X = Axis{Label: "io", Scale: Category, Categories: v.values("io")}
	c.Dodge = true
	return v.charts(cellChart{
		Chart:  c,
		Of:     metrics,
		Along:  "io",
		Lines:  "pipe",
		Across: []dimension{"framing"},
		Apart:  []dimension{machine, "placement", "capacity", "older"},
	})
}
