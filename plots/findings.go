package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// maxCategories is the largest number of rows of a chart of categories.
const maxCategories = 30

// probeCharts show what fills a pipe with writes of a size.
func probeCharts(set *results.Set) []Chart { return []Chart{fillChart(set)} }

// fillChart shows how much a pipe takes against the size of the writes that fill it. Kinds of pipes
// and their documented rules are lines enough for a panel.
func fillChart(set *results.Set) Chart {
	const documented = " as documented"
	rules := set.FindingsOf(results.AreaRule)
	var marks []mark
	for _, f := range rules {
		pipe, size, ok := strings.Cut(f.Name(), "/capacity/fill/")
		x, errX := strconv.ParseFloat(size, 64)
		y, isNumber := f.Number()
		if !ok || errX != nil || !isNumber {
			continue
		}
		pt := exact(x, y)
		machine := view.MachineTitle(set, set.Machine(f.Run))
		if f.Verdict == results.Refuted {
			pt.Label = "differs"
		}
		marks = append(marks, mark{machine, pipe, pt})
		if rule, ok := predicted(f); ok {
			marks = append(marks, mark{machine, pipe + documented, exact(x, rule)})
		}
	}
	c := Chart{
		Name:     "fill",
		Title:    "What a pipe holds depends on how it is filled",
		Subtitle: environmentLines(set, rules),
		X:        Axis{Label: "size of each write", Scale: Log2, Unit: Bytes},
		Y:        Axis{Label: "bytes accepted until it is full", Scale: Log2, Unit: Bytes},
		Panels:   panelsOf(marks),
		Notes:    []string{"A point that is labelled differs from the system's documented rule."},
	}
	for _, s := range c.series() {
		slices.SortFunc(s.Points, byX)
		if strings.HasSuffix(s.Name, documented) {
			s.Reference = true
			s.Shape = Curve
		}
	}
	return c
}

// predicted returns the number that the system's documented rule predicts: the first word of a text
// such as "32784 B (fs/pipe.c)".
func predicted(f results.Finding) (float64, bool) {
	if f.Verdict != results.Holds && f.Verdict != results.Refuted {
		return 0, false
	}
	var evidence struct{ Documented string }
	if err := f.Evidence.Decode(&evidence); err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(evidence.Documented, " ")
	n, err := strconv.ParseFloat(first, 64)
	return n, err == nil
}

// environmentLines describes the machine on which lines of a set were found, or counts the
// machines.
func environmentLines[L results.Line](set *results.Set, lines []L) []string {
	ids := stat.Distinct(lines, func(l L) string { return set.Machine(results.RunOf(l)) })
	found := stat.Filter(view.FirstRuns(set), func(e results.Environment) bool { return slices.Contains(ids, e.Machine) })
	if len(found) == 0 {
		return nil
	}
	return []string{view.MachinesLine(found)}
}

// targetCharts show how long a server takes for a message against the size of it. Time that grows
// as the size does rises by a decade a decade.
func targetCharts(set *results.Set) []Chart {
	var marks []mark              // a line for each command
	var beyond []Region           // the smallest limit
	fails := map[string]float64{} // by command: the smallest size that fails
	for _, t := range set.Targets {
		name := view.CommandName(t.Command)
		pt, ok := medianOf("time")(selection{set: set, records: []results.Record{{Run: t.Run, Samples: t.Samples}}}, float64(t.Size))
		switch at, failed := failedAt(t); {
		case failed && (fails[name] == 0 || at < fails[name]):
			fails[name] = at
			if len(beyond) == 0 || at < beyond[0].From {
				label := view.VerdictText(t.Verdict)
				if t.Verdict == results.VerdictOK { // of records that do not tell
					label = "beyond the limit"
				}
				beyond = []Region{{From: at, To: math.Inf(1), Label: label, Bad: true}}
			}
		case failed || !ok || t.Size <= 0:
		default:
			if t.Verdict != results.VerdictOK {
				pt.Label = view.VerdictText(t.Verdict)
			}
			marks = append(marks, mark{"", name, pt})
		}
	}
	c := Chart{
		Name:     "target",
		Title:    "Round trip through a server against message size",
		Subtitle: environmentLines(set, set.Targets),
		X:        sizeAxis,
		Y:        Axis{Label: "time of a round trip", Scale: Log, Unit: Nanos},
		Panels:   panelsOf(marks),
		Notes: []string{
			mediansNote,
			"A line that ends in a cross fails at the next size; a labelled point is a verdict " +
				"other than ok.",
		},
	}
	for i := range c.Panels {
		c.Panels[i].Regions = beyond
	}
	for _, s := range c.series() {
		slices.SortFunc(s.Points, byX)
		last := &s.Points[len(s.Points)-1]
		last.Cross = fails[s.Name] > last.X
	}
	return []Chart{c}
}

// failedAt returns the smallest size that a record says to fail: one more than a limit, or its own.
func failedAt(t results.Target) (size float64, failed bool) {
	if limit := cmp.Or(t.RequestLimit, t.ReplyLimit); limit != nil {
		return float64(*limit + 1), true
	}
	return float64(t.Size), t.Size > 0 && t.Verdict != results.VerdictOK && len(t.Samples) == 0
}

// trafficCharts show a recording: the sizes of its messages, and how long each method took to
// answer.
func trafficCharts(set *results.Set) []Chart {
	return []Chart{laneChart(set), sizeChart(set), methodChart(set)}
}

// laneBins is the number of times in which a picture of a recording puts messages together.
const laneBins = 300

// laneChart shows a recording over time: a lane for each direction, in it the sizes of what passed.
func laneChart(set *results.Set) Chart {
	c := Chart{
		Name:     "traffic-time",
		Title:    "What passed, over time",
		Subtitle: environmentLines(set, set.Messages),
		X: Axis{
			Label: "time since the recording began", Scale: Linear, Unit: Nanos, From: new(float64),
		},
		Y:       sizeAxis,
		Columns: 1,
		Notes: []string{"A point is the largest message of its time, its bar reaches down to the " +
			"smallest. Shaded: the other side took nothing for a while."},
	}
	end := slices.Max(append(stat.Map(set.Messages, func(m results.Message) int64 { return m.T }), 1))
	for _, lane := range stat.Directions(set.Messages) {
		s := Series{Name: lane[0].Dir, Shape: Dots}
		binOf := func(m results.Message) int64 { return m.T * laneBins / (end + 1) }
		for _, bin := range stat.GroupBy(lane, binOf) {
			sizes := stat.Map(bin, func(m results.Message) float64 { return float64(m.Size) })
			least, most := slices.Min(sizes), slices.Max(sizes)
			s.Points = append(s.Points, Point{X: float64(bin[0].T), Y: most, Low: least, High: most, Samples: len(bin)})
		}
		slices.SortFunc(s.Points, byX)
		stalled := stat.Filter(lane, func(m results.Message) bool { return m.Stall >= view.NotableStall })
		c.Panels = append(c.Panels, Panel{
			Title:  map[string]string{"request": "requests", "reply": "replies"}[lane[0].Dir],
			Series: []Series{s},
			Regions: stat.Map(stalled, func(m results.Message) Region {
				return Region{From: float64(m.T), To: float64(m.T + m.Stall)}
			}),
		})
	}
	return c
}

// sizeChart shows the share of messages that are no larger than a size.
func sizeChart(set *results.Set) Chart {
	c := Chart{
		Name:     "traffic-size",
		Title:    "Sizes of the recorded messages",
		Subtitle: environmentLines(set, set.Messages),
		X:        sizeAxis,
		Y: Axis{
			Label: "share of messages that are no larger", Scale: Linear, Unit: Percent,
			From: new(float64), To: new(100.0),
		},
	}
	var p Panel
	var largest int64
	for _, way := range stat.Directions(set.Messages) {
		sizes := stat.Map(way, func(m results.Message) int64 { return m.Size })
		slices.Sort(sizes)
		largest = max(largest, sizes[len(sizes)-1])
		// the corners of a staircase: at each of ascending sizes, the percentage of those no larger
		points := []Point{exact(float64(sizes[0]), 0)}
		for i, v := range sizes {
			if i+1 == len(sizes) || sizes[i+1] != v {
				last := points[len(points)-1]
				points = append(points, exact(float64(v), last.Y), exact(float64(v), 100*float64(i+1)/float64(len(sizes))))
			}
		}
		p.Series = append(p.Series, Series{Name: way[0].Dir, Shape: Curve, Points: points})
	}
	for _, t := range view.Thresholds {
		if t <= largest {
			p.Guides = append(p.Guides, Guide{Vertical: true, Value: float64(t), Label: results.FormatSize(t)})
		}
	}
	c.Panels = []Panel{p}
	return c
}

// methodChart shows the time from a request to the reply of the same id, for each method.
func methodChart(set *results.Set) Chart {
	c := Chart{
		Name:     "traffic-method",
		Title:    "Time to the reply, by method",
		Subtitle: environmentLines(set, set.Messages),
		X:        Axis{Label: "time from request to reply", Scale: Log, Unit: Nanos},
		Y:        Axis{Scale: Category},
		Notes: []string{"p99 takes 1,000 replies of a method, p90 a hundred, p50 twenty; the " +
			"slowest is always shown."},
	}
	times, _ := stat.Replies(set.Messages)
	names := []string{"p50", "p90", "p99", "max"}
	series := stat.Map(names, func(name string) Series { return Series{Name: name, Shape: Dots} })
	methods := stat.ByCount(times)
	methods = methods[:min(len(methods), maxCategories)]
	slices.Reverse(methods) // the most frequent on top
	for row, method := range methods {
		c.Y.Categories = append(c.Y.Categories, fmt.Sprintf("%s (%d)", view.Truncate(method, view.MaxNameLength), len(times[method])))
		l, _ := results.NewLatency(times[method]) // a histogram that it made itself always encodes
		for i, name := range names {
			if ns := l.Quantile(name); ns != nil {
				series[i].Points = append(series[i].Points, exact(float64(*ns), float64(row)))
			}
		}
	}
	c.Panels = []Panel{{Series: stat.Filter(series, Series.drawn)}}
	return c
}
