package plots

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// trafficBins is the number of times in which a picture of a recording puts messages together.
const trafficBins = 300

// trafficCharts show the sizes of what passed over time.
func trafficCharts(all rows) []Chart {
	messages := all.set.Messages
	if len(messages) == 0 {
		return nil
	}
	var end, largest int64
	machines := []string{}
	for _, m := range messages {
		end = max(end, m.T)
		largest = max(largest, m.Size)
		if id := all.set.Machine(m.Run); !slices.Contains(machines, id) {
			machines = append(machines, id)
		}
	}
	c := Chart{
		Name: "traffic",
		Title: fmt.Sprintf("%s in %s, the largest of %s",
			results.FormatCount(len(messages), "message"),
			results.FormatDuration(float64(end)), view.SizeText(int(largest))),
		Subtitle: machineLine(all.set, machines),
		X:        Axis{Label: "time since the recording began", Unit: Nanos, FromZero: true},
		Y:        Axis{Label: "message size", Scale: Log, Unit: Bytes},
		Notes: []string{"A point is the largest message of its time, its bar reaches down to the " +
			"smallest."},
	}
	var panel Panel
	for _, lane := range stat.Directions(messages) {
		s := Series{Name: lane[0].Dir, Shape: Dots, Points: binned(lane, end)}
		panel.Series = append(panel.Series, s)
	}
	c.Panels = []Panel{panel}
	return []Chart{c}
}

// binned puts the messages of one direction together by time, each bin as a point.
func binned(lane []results.Message, end int64) []Point {
	bins := make(map[int64]Point)
	for _, m := range lane {
		bin := m.T * trafficBins / (end + 1)
		p, ok := bins[bin]
		if !ok {
			p = exact(float64(m.T), float64(m.Size))
		}
		p.X = min(p.X, float64(m.T))
		p.Low = min(p.Low, float64(m.Size))
		p.High = max(p.High, float64(m.Size))
		p.Y = p.High
		bins[bin] = p
	}
	return slices.SortedFunc(maps.Values(bins), compareX)
}
