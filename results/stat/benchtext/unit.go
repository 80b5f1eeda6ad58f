package benchtext

import (
	"strconv"

	"github.com/pipebench/pipebench/results"
)

// A Unit is a column of Go benchmark text with the values of one metric. The program benchstat
// converts only ns, B and MB to larger units.
type Unit struct {
	Name   string  // "p99-ns"
	Metric string  // the metric's name in package stat
	Scale  float64 // factor from the metric's values to this unit

	pattern     string // only cells of this pattern have the figure; "": all cells
	nonBlocking bool   // only cells whose ends do not block have the figure
	known       bool   // benchstat knows by itself whether less is better
}

var units = []Unit{
	{Name: "ns/op", Metric: "time", Scale: 1, known: true},
	{Name: "MB/s", Metric: "goodput", Scale: 1e-6, pattern: "stream", known: true},
	{Name: "p50-ns", Metric: "p50", Scale: 1},
	{Name: "p99-ns", Metric: "p99", Scale: 1},
	{Name: "wire-B/op", Metric: "wire", Scale: 1},
	{Name: "calls/op", Metric: "calls", Scale: 1},
	{Name: "cpu-ns/op", Metric: "cpu-time", Scale: 1},
	{Name: "eagain/op", Metric: "eagain", Scale: 1, nonBlocking: true},
	{Name: "short/op", Metric: "short", Scale: 1, nonBlocking: true},
	{Name: "lost-B", Metric: "lost", Scale: 1},
	{Name: "told-ns", Metric: "told", Scale: 1},
	{Name: "allocs/op", Metric: "allocs", Scale: 1, known: true},
}

// CellUnits returns the units that the figures of a measurement can have, in the order of the
// columns.
func CellUnits(c results.Cell) []Unit {
	var out []Unit
	for _, u := range units {
		if u.pattern != "" && u.pattern != c.Pattern {
			continue
		}
		if u.nonBlocking && c.IO == "blocking" {
			continue
		}
		out = append(out, u)
	}
	return out
}

// FindUnit finds a unit by its name.
func FindUnit(name string) (Unit, bool) {
	for _, u := range units {
		if u.Name == name {
			return u, true
		}
	}
	return Unit{}, false
}

// MetricUnit finds the unit of a metric.
func MetricUnit(metric string) (Unit, bool) {
	for _, u := range units {
		if u.Metric == metric {
			return u, true
		}
	}
	return Unit{}, false
}

// UnitLines returns "Unit p99-ns better=lower" for each unit that benchstat does not know.
func UnitLines() []string {
	var out []string
	for _, u := range units {
		if !u.known {
			out = append(out, "Unit "+u.Name+" better=lower")
		}
	}
	return out
}

// digits is how many significant digits [Round] keeps: more than any clock resolves.
const digits = 10

// Round drops digits of a figure that come from a division, not from a measurement.
func Round(v float64) float64 {
	text := strconv.FormatFloat(v, 'g', digits, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return v
	}
	return rounded
}
