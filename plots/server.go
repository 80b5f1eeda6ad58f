package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// serverChart shows how long servers take for a message of each size, and where they fail.
func serverChart(all rows) Chart {
	var sizes []int
	failsAt, how := 0, ""
	cutShort := false // failsAt was not tried: it is one above the largest size that worked
	for _, t := range all.set.Targets {
		at, failed := failedAt(t)
		switch {
		case failed && (failsAt == 0 || at < failsAt):
			failsAt = at
			how = failureText(t)
			cutShort = t.Evidence.Limit != nil && t.Evidence.Limit.CutShort
		case !failed && t.Size > 0 && !slices.Contains(sizes, int(t.Size)):
			sizes = append(sizes, int(t.Size))
		}
	}
	slices.Sort(sizes)
	panel := Panel{}
	if failsAt > 0 {
		at, known := slices.BinarySearch(sizes, failsAt)
		if !known {
			sizes = slices.Insert(sizes, at, failsAt)
		}
		panel.Fails = &Failing{From: at, How: how}
	}
	for _, t := range all.set.Targets {
		panel.addServer(t, sizes)
	}
	if len(sizes) < 3 && panel.Fails == nil {
		return Chart{} // a table shows it better
	}
	c := Chart{
		Name:     "server",
		Title:    serverTitle(panel, sizes, cutShort),
		Subtitle: nonEmpty(view.MachineLine(all.set)),
		X:        sizeAxis("message size", sizes),
		Y:        Axis{Label: "time of a round trip", Log: true, Unit: Nanos},
		Panels:   []Panel{panel},
		Notes:    []string{mediansNote},
	}
	if slices.ContainsFunc(c.points(), func(p Point) bool { return p.Label != "" }) {
		c.Notes = append(c.Notes, "A label is a verdict other than ok.")
	}
	return c
}

// addServer adds a point to the line of a server: how long one round trip took with messages of one
// size.
func (p *Panel) addServer(t results.Target, sizes []int) {
	_, failed := failedAt(t)
	point, ok := metricPoint("time")(stat.SampleRow("", results.Cell{}, t.Samples))
	if failed || !ok || t.Size <= 0 {
		return
	}
	point.X = slices.Index(sizes, int(t.Size))
	if t.Verdict != results.VerdictOK {
		point.Label = view.FailureText(t)
	}
	name := view.CommandName(t.Command)
	i := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		i = len(p.Series)
		p.Series = append(p.Series, Series{Name: name})
	}
	points := append(p.Series[i].Points, point)
	slices.SortStableFunc(points, func(a, b Point) int { return a.X - b.X })
	p.Series[i].Points = points
}

// serverTitle says from which message size on a server fails. If none fails, it says how long round
// trips take.
func serverTitle(p Panel, sizes []int, cutShort bool) string {
	switch {
	case p.Fails != nil && cutShort:
		return fmt.Sprintf("A server fails above %s: %s",
			view.SizeTitle(sizes[p.Fails.From]-1), p.Fails.How)
	case p.Fails != nil:
		return fmt.Sprintf("A server fails from %s on: %s", view.SizeTitle(sizes[p.Fails.From]),
			p.Fails.How)
	case len(p.Series) == 1 && len(p.Series[0].sure()) > 1:
		points := p.Series[0].sure()
		first, last := points[0], points[len(points)-1]
		return fmt.Sprintf("A round trip takes %s with %s, %s with %s",
			results.FormatLabel(first.Y, Nanos), view.SizeTitle(sizes[first.X]),
			results.FormatLabel(last.Y, Nanos), view.SizeTitle(sizes[last.X]))
	}
	return "Round trips through servers, by message size"
}

// failedAt returns the smallest message size at which a server failed. If the server's limit is
// known, the result is one byte more than the limit.
func failedAt(t results.Target) (size int, failed bool) {
	switch {
	case t.RequestLimit != nil:
		return int(*t.RequestLimit + 1), true
	case t.ReplyLimit != nil:
		return int(*t.ReplyLimit + 1), true
	}
	return int(t.Size), t.Size > 0 && t.Verdict != results.VerdictOK && len(t.Samples) == 0
}

func failureText(t results.Target) string {
	if t.Verdict == results.VerdictOK { // the record does not say how it fails
		return "beyond the limit"
	}
	return view.FailureText(t)
}
