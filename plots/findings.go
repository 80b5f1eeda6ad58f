package plots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// byName sorts points into series by name. The series are in the order in which their names first
// come.
type byName []Series

func (b *byName) add(name string, p Point) {
	for i := range *b {
		if (*b)[i].Name == name {
			(*b)[i].Points = append((*b)[i].Points, p)
			return
		}
	}
	*b = append(*b, Series{Name: name, Points: []Point{p}})
}

// fillCharts show how many bytes a pipe holds, by the size of the writes that fill it: a line for
// each kind of pipe, and one for its documented rule.
func fillCharts(all rows) []Chart {
	const documented = " as documented"
	found := all.set.FindingsOf(results.AreaRule)
	c := Chart{
		Name:     "fill",
		Title:    "What a pipe holds depends on how it is filled",
		Subtitle: nonEmpty(view.MachineLine(all.set)),
		X:        Axis{Label: "size of each write", Scale: Log, Unit: Bytes, AtValues: true},
		Y:        Axis{Label: "bytes accepted until it is full", Scale: Log, Unit: Bytes},
		Notes:    []string{"A point that is labelled differs from the system's documented rule."},
	}
	var lines byName
	for _, f := range found {
		pipe, size, ok := strings.Cut(f.Name(), "/capacity/fill/")
		x, err := strconv.ParseFloat(size, 64)
		y, isNumber := f.Number()
		if !ok || err != nil || !isNumber {
			continue
		}
		p := exact(x, y)
		if f.Verdict == results.Refuted {
			p.Label = "differs"
		}
		lines.add(pipe, p)
		if rule, ok := predicted(f); ok {
			lines.add(pipe+documented, exact(x, rule))
		}
	}
	for i := range lines {
		slices.SortFunc(lines[i].Points, compareX)
		if strings.HasSuffix(lines[i].Name, documented) {
			lines[i].Reference = true
			lines[i].Shape = Curve
		}
	}
	c.Panels = []Panel{{Series: lines}}
	return []Chart{c}
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

// serverCharts show how long a server takes for a message, by the size of the message. Both axes
// are logarithmic: if time grows in proportion to size, ten times the size takes ten times the
// time.
func serverCharts(all rows) []Chart {
	var lines byName
	fails := map[string]float64{} // by command: the smallest size that fails
	var beyond *Failing           // the smallest size that fails on any server
	for _, t := range all.set.Targets {
		name := view.CommandName(t.Command)
		if at, failed := failedAt(t); failed {
			if fails[name] == 0 || at < fails[name] {
				fails[name] = at
			}
			if beyond == nil || at < beyond.From {
				beyond = &Failing{From: at, How: failureText(t)}
			}
			continue
		}
		row := stat.SampleRow("", results.Cell{}, t.Samples)
		p, ok := figure(row, "time", float64(t.Size))
		if !ok || t.Size <= 0 {
			continue
		}
		if t.Verdict != results.VerdictOK {
			p.Label = view.FailureText(t)
		}
		lines.add(name, p)
	}
	for i := range lines {
		points := lines[i].Points
		slices.SortFunc(points, compareX)
		last := &points[len(points)-1]
		last.Last = fails[lines[i].Name] > last.X
	}
	return []Chart{{
		Name:     "server",
		Title:    serverTitle(lines, beyond),
		Subtitle: nonEmpty(view.MachineLine(all.set)),
		X:        sizeAxis,
		Y:        Axis{Label: "time of a round trip", Scale: Log, Unit: Nanos},
		Panels:   []Panel{{Series: lines, Fails: beyond}},
		Notes: []string{mediansNote, "A line that ends in a cross fails at the next size; a " +
			"labelled point is a verdict other than ok."},
	}}
}

// serverTitle says where servers fail, or how much longer the largest message takes.
func serverTitle(lines []Series, beyond *Failing) string {
	switch {
	case beyond != nil:
		size := view.SizeText(int(beyond.From))
		return fmt.Sprintf("A server fails from %s on: %s", size, beyond.How)
	case len(lines) == 1 && len(lines[0].Points) > 1:
		points := lines[0].Points
		first, last := points[0], points[len(points)-1]
		return fmt.Sprintf("A round trip takes %s with %s, %s with %s",
			results.FormatLabel(first.Y, Nanos), view.SizeText(int(first.X)),
			results.FormatLabel(last.Y, Nanos), view.SizeText(int(last.X)))
	}
	return "Round trips through servers, by message size"
}

// failedAt returns the smallest size that fails according to a record: one byte above its limit, or
// its own size.
func failedAt(t results.Target) (size float64, failed bool) {
	switch {
	case t.RequestLimit != nil:
		return float64(*t.RequestLimit + 1), true
	case t.ReplyLimit != nil:
		return float64(*t.ReplyLimit + 1), true
	}
	return float64(t.Size), t.Size > 0 && t.Verdict != results.VerdictOK && len(t.Samples) == 0
}

// failureText says how a server fails.
func failureText(t results.Target) string {
	if t.Verdict == results.VerdictOK { // the record does not say how it fails
		return "beyond the limit"
	}
	return view.FailureText(t)
}
