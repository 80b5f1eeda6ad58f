package plots

import (
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// writersIO returns how the writing end of a cell waits.
func writersIO(c results.Cell) string {
	writer, _, _ := strings.Cut(c.IO, "/")
	return writer
}

// waitingCharts show what writers meet that do not block: refusals a message by way of waiting and
// framing, and how long they take to learn that their reader left.
func waitingCharts(set *results.Set) []Chart {
	v := newSelection(set, set.Records).keep(func(r results.Record) bool { return len(r.Samples) > 0 && r.Cell.IsWaiting() })
	var out []Chart
	for _, p := range v.groupBy(v.varying(machine, "placement", "capacity", "peer")) {
		stays := p.keep(func(r results.Record) bool { return r.Cell.Leave == 0 })
		refused := waitingChart(stays, "refusals"+p.suffix, "What a full pipe refuses, by way of waiting and framing",
			Axis{Label: "EAGAIN a message", Scale: Log, Unit: Number}, medianOf("eagain"), "framing")
		refused.Notes = []string{"Calls of the writer that the kernel refused with \"not now\". " + intervalNote}
		told := waitingChart(p.keep(func(r results.Record) bool { return r.Cell.Leave > 0 }), "told"+p.suffix, leftTitle,
			timeAxis, medianOf("told"), "pipe")
		told.Notes = []string{"From the reader's close to the error of the writer, which had filled the pipe and waited. All framings together. " + intervalNote}
		out = append(out, refused, told)
	}
	return slices.DeleteFunc(out, Chart.empty)
}

const leftTitle = "How long a writer takes to learn that its reader left"

// waitingChart has a column for each way to wait, and a panel for each reader and size of message.
func waitingChart(v selection, name, title string, y Axis, of estimator, series dimension) Chart {
	strategies := view.Distinct(v.records, func(r results.Record) string { return writersIO(r.Cell) })
	slices.SortFunc(strategies, func(a, b string) int { return rank(a) - rank(b) })
	c := Chart{
		Name: name, Title: title, Subtitle: v.subtitle("io", "drain", "leave", "size"), Y: y, Dodge: true,
		X: Axis{Label: "how the writer waits", Scale: Category, Categories: strategies},
	}
	at := func(io string) float64 { return float64(slices.Index(strategies, writersIO(results.Cell{IO: io}))) }
	for _, reader := range v.groupBy([]dimension{"drain", "leave", "size"}) {
		if len(reader.records) == 0 {
			continue
		}
		cell := reader.records[0].Cell
		does := map[bool]string{true: "leave", false: "drain"}[cell.Leave > 0]
		panel := Panel{Title: view.FieldPhrase(does, cell.Field(does)) + ", " + view.FieldPhrase("size", cell.Field("size"))}
		for _, value := range reader.values(series) {
			own := reader.where(series, value)
			panel.Series = append(panel.Series, Series{Name: v.display(series, value), Shape: Dots, Points: own.pointsIn(own, "io", at, of)})
		}
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
	for _, when := range view.Distinct(all, func(e evidence) string { return e.When }) {
		panel := Panel{Title: "closed " + when + " a write"}
		for _, e := range all {
			if e.When == when {
				panel.Series = addPoint(panel.Series, e.Pipe, exact(float64(slices.Index(c.X.Categories, e.IO)), e.Noticed))
			}
		}
		c.Panels = append(c.Panels, panel)
	}
	c.unjoin()
	return slices.DeleteFunc([]Chart{c}, Chart.empty)
}
