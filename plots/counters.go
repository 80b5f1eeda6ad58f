package plots

import (
	"math"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// counterCharts compare the io strategies: goodput, and refused calls, short writes and waits, for
// a framing and size that all of them were measured with.
func counterCharts(set *results.Set) []Chart {
	v := measuredIn(set, isStream)
	if !v.varies("io") {
		return nil
	}
	v = v.mostMeasured("framing").nearest(typicalSize)
	strategies := v.values("io")
	var out []Chart
	for _, p := range v.groupBy(v.varying(machine, "placement", "capacity", "peer")) {
		if !p.varies("io") {
			continue
		}
		base := Chart{Subtitle: p.subtitle("io"), X: Axis{Label: "io", Scale: Category, Categories: strategies}, Dodge: true}
		goodput, met := base, base
		goodput.Name, goodput.Title, goodput.Y = "io"+p.suffix, "Goodput by way of waiting", goodputAxis
		goodput.Notes = []string{intervalNote}
		met.Name, met.Title, met.Y = "eagain"+p.suffix, "What each way of waiting meets", Axis{Label: "a message", Scale: Log, Unit: Number}
		met.Notes = []string{"A counter that a strategy cannot give has no point: a blocking call hides what it waits for."}
		lines := Panel{Title: p.framings()} // a line for each kind of pipe
		for _, pipe := range p.values("pipe") {
			own := p.where("pipe", pipe)
			lines.Series = append(lines.Series, Series{Name: pipe, Shape: Dots, Points: own.pointsIn(own, "io", indexIn(strategies), medianOf("goodput"))})
			met.Panels = append(met.Panels, Panel{Title: pipe + " pipe, " + p.framings(), Series: own.counterDots(strategies)})
		}
		goodput.Panels = []Panel{lines}
		out = append(out, goodput, met)
	}
	return slices.DeleteFunc(out, Chart.empty)
}

// indexIn returns where a value stands on an axis of categories.
func indexIn(categories []string) func(string) float64 {
	return func(value string) float64 { return float64(slices.Index(categories, value)) }
}

func (v selection) framings() string {
	if all := v.values("framing"); len(all) == 1 {
		return view.FieldValue("framing", all[0])
	}
	return "all framings"
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
		n, err := strconv.ParseFloat(value, 64)
		if d := math.Abs(math.Log(n / size)); err == nil && d < distance {
			best, distance = v.where("size", value), d
		}
	}
	return best
}

// counterDots shows what the ends of each strategy met, by the metrics of [stat.Metrics].
func (v selection) counterDots(strategies []string) []Series {
	var out []Series
	for _, counter := range [][2]string{{"calls refused (EAGAIN)", "eagain"}, {"short writes", "short"}, {"waits outside the call", "waits"}} {
		out = append(out, Series{Name: counter[0], Shape: Dots, Points: v.pointsIn(v, "io", indexIn(strategies), medianOf(counter[1]))})
	}
	return out
}
