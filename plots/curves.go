package plots

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A curve is what a fault's evidence may hold under "curve": evidence that
// says more as a picture.
type curveEvidence struct {
	Title  string `json:"title"`
	X      string `json:"x"` // what the axis shows, with its unit: "message size, B"
	Y      string `json:"y"`
	Series []struct {
		Name   string `json:"name"`
		Points []struct {
			X            float64 `json:"x"`
			Y            float64 `json:"y"`
			Low          float64 `json:"low"`
			High         float64 `json:"high"`
			Extrapolated bool    `json:"extrapolated"` // computed, not measured
		} `json:"points"`
	} `json:"series"`
}

// faultCharts draw the curves in the evidence of faults.
func faultCharts(set *results.Set) []Chart {
	var out []Chart
	for _, f := range set.Faults {
		e, ok := curveIn(f)
		if !ok {
			continue
		}
		c := e.chart()
		c.Name = "fault-" + slug(f.ID)
		c.Subtitle = environmentLines(set, []results.Fault{f}, func(f results.Fault) string { return f.Run })
		if slices.ContainsFunc(out, func(o Chart) bool {
			return reflect.DeepEqual(o.Panels, c.Panels) && slices.Equal(o.Subtitle, c.Subtitle)
		}) {
			continue // faults of one scenario may show the same evidence
		}
		if slices.ContainsFunc(out, func(o Chart) bool { return o.Name == c.Name }) {
			c.Name += "-" + slug(machineName(set, set.Machine(f.Run)))
		}
		out = append(out, c)
	}
	return slices.DeleteFunc(out, Chart.empty)
}

// curveIn reads the curve of a fault, if it has one.
func curveIn(f results.Fault) (curveEvidence, bool) {
	text, err := json.Marshal(f.Evidence["curve"])
	if err != nil || f.Evidence["curve"] == nil {
		return curveEvidence{}, false
	}
	var e curveEvidence
	return e, json.Unmarshal(text, &e) == nil
}

func (e curveEvidence) chart() Chart {
	c := Chart{Title: e.Title, X: axisOf(e.X), Y: axisOf(e.Y)}
	var p Panel
	extrapolated := false
	for _, trace := range e.Series {
		s := Series{Name: trace.Name, Reference: isRaw(trace.Name)}
		for _, pt := range trace.Points {
			point := Point{X: pt.X, Y: pt.Y, Low: pt.Low, High: pt.High}
			point.Computed = pt.Extrapolated
			extrapolated = extrapolated || pt.Extrapolated
			s.Points = append(s.Points, point)
		}
		slices.SortFunc(s.Points, byX)
		p.Series = append(p.Series, s)
	}
	if extrapolated {
		c.Notes = append(c.Notes, "Hollow points are extrapolated: they follow from the fitted slope, and were not measured.")
	}
	c.Panels = []Panel{p}
	return c
}

// axisOf lays out what a label names, by the unit at its end.
func axisOf(label string) Axis {
	name, unit, _ := strings.Cut(label, ", ")
	switch {
	case unit == "B" || strings.HasPrefix(label, "bytes"):
		return Axis{Label: name, Scale: Log2, Unit: Bytes}
	case unit == "B/s":
		return Axis{Label: name, Scale: Log, Unit: Rate}
	case unit == "ns/B" || label == "ns/B":
		return Axis{Label: "time per byte", Scale: Log, Unit: PerByte}
	case unit == "ns":
		return Axis{Label: name, Scale: Log, Unit: Nanos}
	}
	return Axis{Label: label, Scale: Log, Unit: Number}
}
