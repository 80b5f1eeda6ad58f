package plots

import (
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// writersIO returns how the writing end of a cell waits.
func writersIO(io string) string {
	writer, _, _ := strings.Cut(io, "/")
	return writer
}

// waitingCharts show what writers meet that do not block: refusals a message by way of waiting and
// framing, and how long they take to learn that their reader left.
func waitingCharts(set *results.Set) []Chart {
	v := newSelection(set, set.Records).keep(func(r results.Record) bool { return len(r.Samples) > 0 && r.Cell.IsWaiting() })
	var out []Chart
	for _, p := range v.groupBy(v.varying(machine, "placement", "capacity", "peer")) {
		stays := p.keep(func(r results.Record) bool { return r.Cell.Leave == 0 })
		leaves := p.keep(func(r results.Record) bool { return r.Cell.Leave > 0 })
		out = append(out, stays.waitingChart(Chart{
			Name: "refusals" + p.suffix, Title: "What a full pipe refuses, by way of waiting and framing",
			Y:     Axis{Label: "EAGAIN a message", Scale: Log, Unit: Number},
			Notes: []string{"Calls of the writer that the kernel refused with \"not now\". " + intervalNote},
		}, medianOf("eagain"), "framing"), leaves.waitingChart(Chart{
			Name: "told" + p.suffix, Title: leftTitle, Y: timeAxis,
			Notes: []string{"From the reader's close to the error of the writer, which had filled the pipe and waited. All framings together. " + intervalNote},
		}, medianOf("told"), "pipe"))
	}
	return out
}

const leftTitle = "How long a writer takes to learn that its reader left"

// waitingChart fills a chart: it has a column for each way to wait, and a panel for each reader and
// size of message.
func (v selection) waitingChart(c Chart, of estimator, series dimension) Chart {
	strategies := view.Distinct(v.records, func(r results.Record) string { return writersIO(r.Cell.IO) })
	slices.SortFunc(strategies, func(a, b string) int { return rank(a) - rank(b) })
	c.Subtitle, c.Dodge = v.subtitle("io", "drain", "leave", "size"), true
	c.X = Axis{Label: "how the writer waits", Scale: Category, Categories: strategies}
	for _, reader := range v.groupBy([]dimension{"drain", "leave", "size"}) {
		cell := reader.records[0].Cell
		does := map[bool]string{true: "leave", false: "drain"}[cell.Leave > 0]
		panel := Panel{Title: view.FieldPhrase(does, cell.Field(does)) + ", " + view.FieldPhrase("size", cell.Field("size"))}
		panel.Series = reader.dotsBy(series, c.X, of)
		c.Panels = append(c.Panels, panel)
	}
	return c
}

// goneCharts show the same of the experiments that close a reader before, during and after a write,
// with each kind of pipe.
func goneCharts(set *results.Set) []Chart {
	type evidence struct {
		Pipe, IO, When string
		Noticed        float64 `json:"noticed_ns"`
	}
	var all []evidence
	faults := stat.Filter(set.Faults, func(f results.Fault) bool { return strings.HasPrefix(f.ID, "reader-gone/") })
	for _, f := range faults {
		var e evidence
		if f.Evidence.Decode(&e) == nil && e.Noticed > 0 && e.When != "" {
			all = append(all, e)
		}
	}
	c := Chart{
		Name: "told-by-pipe", Title: leftTitle, Y: timeAxis, Dodge: true,
		Subtitle: environmentLines(set, faults, func(f results.Fault) string { return f.Run }),
		X:        Axis{Label: "how the writer waits", Scale: Category, Categories: view.Distinct(all, func(e evidence) string { return e.IO })},
		Notes:    []string{"From the reader's close to the error: of the write that is made then, of the one under way, of the next one."},
	}
	for _, alike := range stat.GroupBy(all, func(e evidence) string { return e.When }) {
		panel := Panel{Title: "closed " + alike[0].When + " a write"}
		for _, e := range alike {
			panel.Series = addPoint(panel.Series, e.Pipe, exact(float64(slices.Index(c.X.Categories, e.IO)), e.Noticed))
		}
		c.Panels = append(c.Panels, panel)
	}
	c.unjoin()
	return []Chart{c}
}

// counterCharts compare the io strategies: goodput, and refused calls, short writes and waits, for
// a framing and size that all of them were measured with.
func counterCharts(set *results.Set) []Chart {
	v := measuredIn(set, isStream)
	if !v.varies("io") {
		return nil
	}
	v = v.mostMeasured("framing").nearest(typicalSize)
	strategies := Axis{Label: "io", Scale: Category, Categories: v.values("io")}
	var out []Chart
	for _, p := range v.groupBy(v.varying(machine, "placement", "capacity", "peer")) {
		if !p.varies("io") {
			continue
		}
		framings := "all framings"
		if all := p.values("framing"); len(all) == 1 {
			framings = view.FieldValue("framing", all[0])
		}
		goodput := Chart{
			Name: "io" + p.suffix, Title: "Goodput by way of waiting", Subtitle: p.subtitle("io"), Dodge: true,
			X: strategies, Y: goodputAxis, Notes: []string{intervalNote},
			Panels: []Panel{{Title: framings, Series: p.dotsBy("pipe", strategies, medianOf("goodput"))}},
		}
		met := Chart{
			Name: "eagain" + p.suffix, Title: "What each way of waiting meets", Subtitle: goodput.Subtitle, Dodge: true,
			X: strategies, Y: Axis{Label: "a message", Scale: Log, Unit: Number},
			Notes: []string{"A counter that a strategy cannot give has no point: a blocking call hides what it waits for."},
		}
		for _, pipe := range p.values("pipe") {
			panel := Panel{Title: pipe + " pipe, " + framings}
			for _, counter := range counters {
				dots := p.where("pipe", pipe).dots(counter[0], strategies, medianOf(counter[1]))
				panel.Series = append(panel.Series, dots)
			}
			met.Panels = append(met.Panels, panel)
		}
		out = append(out, goodput, met)
	}
	return out
}

// mostMeasured selects the value of a dimension with the most records, which allows the most
// comparisons.
func (v selection) mostMeasured(d dimension) selection {
	best := selection{set: v.set, fields: v.fields}
	for _, value := range v.values(d) {
		if own := v.where(d, value); len(own.records) > len(best.records) {
			best = own
		}
	}
	return best
}

// typicalSize is the message size of figures that are shown for one size only: the usual capacity
// of a pipe.
const typicalSize = 64 << 10

// nearest selects the message size that is nearest to a size, by ratio.
func (v selection) nearest(size float64) selection {
	best, distance := v, math.Inf(1)
	for _, value := range v.values("size") {
		n, _ := numeric(value) // Cell.Fields writes a number
		if d := math.Abs(math.Log(n / size)); d < distance {
			best, distance = v.where("size", value), d
		}
	}
	return best
}

// counters are what the ends of each strategy meet, as metrics of [stat.Metrics].
var counters = [][2]string{
	{"calls refused (EAGAIN)", "eagain"}, {"short writes", "short"}, {"waits outside the call", "waits"},
}

// dots makes a series of a figure against the way in which the writer waits.
func (v selection) dots(name string, strategies Axis, of estimator) Series {
	at := func(io string) float64 {
		i := slices.Index(strategies.Categories, io)
		if i < 0 { // a category is all that has the writer wait so
			i = slices.Index(strategies.Categories, writersIO(io))
		}
		return float64(i)
	}
	return Series{Name: name, Shape: Dots, Points: v.pointsIn(v, "io", at, of)}
}

// dotsBy makes such a series for each value in a dimension.
func (v selection) dotsBy(d dimension, strategies Axis, of estimator) []Series {
	return stat.Map(v.values(d), func(value string) Series {
		return v.where(d, value).dots(v.display(d, value), strategies, of)
	})
}
