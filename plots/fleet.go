package plots

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// FleetCharts compares machines by the goodput of each framing relative to raw bytes, which have no
// framing. There is a chart only if at least two machines measured framings and raw bytes.
func FleetCharts(members []stat.Member) []Chart {
	everyone := members
	all := view.FleetStreams(everyone)
	members = measuring(everyone, all)
	if len(members) < 2 {
		return nil
	}
	few := len(members) <= view.FewMachines
	if !few {
		outliers, _ := stat.FleetOutliers(members)
		members = stat.WithoutOutliers(members, outliers)
	}
	var sizes []int
	for _, cell := range all {
		sizes = append(sizes, cell.Size)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	machines := results.FormatCount(len(members), "machine")
	c := Chart{
		Name: "machines",
		X:    sizeAxis("message size", sizes),
		Y:    ratioAxis,
		Notes: []string{"Points are medians of the ratios taken round by round; bars are the " +
			"95 % interval."},
		section: "differences",
	}
	c.Panels = fleetPanels(members, all, sizes)
	var sure []float64
	for _, p := range c.Panels {
		for _, s := range p.Series {
			for _, point := range s.sure() {
				sure = append(sure, 100*point.Y)
			}
		}
	}
	where := " on " + machines
	if !few {
		where = ": medians of " + machines
	}
	c.Title = "Too noisy to tell what framings cost on " + machines
	if len(sure) > 0 {
		c.Title = fmt.Sprintf("Framings keep %.0f to %.0f %% of raw's goodput%s",
			slices.Min(sure), slices.Max(sure), where)
	}
	isRawAlone := func(m stat.Member) bool {
		return slices.ContainsFunc(m.Figures, func(f stat.Figure) bool { return f.RawAlone > 0 })
	}
	switch {
	case few && slices.ContainsFunc(everyone, isRawAlone):
		c.Notes = append(c.Notes, "Where raw alone is slower or faster than on other machines, "+
			"nothing is drawn.")
	case !few:
		c.Notes = []string{"Points are the median machine; bars hold 80 of 100 machines. " +
			"Machines that stand out or are too noisy are left out."}
	}
	if !slices.ContainsFunc(c.Panels, Panel.comparesPoints) {
		return nil
	}
	c.complete()
	return []Chart{c}
}

// fleetPanels makes the panels of a chart that compares machines. They show the given combinations
// of settings.
func fleetPanels(members []stat.Member, all []results.Cell, sizes []int) []Panel {
	few := len(members) <= view.FewMachines
	var titles []string
	cells := make(map[string][]results.Cell)
	for _, cell := range all {
		title := results.ShortPlacement(cell.Placement)
		if few {
			title = results.FramingPhrase(cell.Framing) + ", " + title
		}
		if cells[title] == nil {
			titles = append(titles, title)
		}
		cells[title] = append(cells[title], cell)
	}
	var panels []Panel
	for _, title := range titles {
		p := Panel{Title: title, Guides: []float64{1}}
		if few {
			p.Series = eachMachine(members, cells[title], sizes)
		} else {
			p.Series = medianMachine(members, cells[title], sizes)
		}
		panels = append(panels, p)
	}
	return panels
}

// measuring returns the machines that measured at least one of the given combinations of settings,
// and often enough to compare it with raw bytes.
func measuring(members []stat.Member, cells []results.Cell) []stat.Member {
	var out []stat.Member
	for _, m := range members {
		if slices.ContainsFunc(m.Figures, func(f stat.Figure) bool {
			return f.Compared().Interval != nil && slices.Contains(cells, f.Cell)
		}) {
			out = append(out, m)
		}
	}
	return out
}

// eachMachine makes a series of dots for each machine.
func eachMachine(members []stat.Member, cells []results.Cell, sizes []int) []Series {
	var lines []Series
	for _, m := range members {
		s := Series{Name: m.Name, Dots: true}
		for _, f := range m.Figures {
			if slices.Contains(cells, f.Cell) {
				e := f.Compared()
				if e.N == 0 { // beside a raw that alone is slow, framings only seem fast
					continue
				}
				p := pointOf(e, nil)
				p.X = slices.Index(sizes, f.Cell.Size)
				s.Points = append(s.Points, p)
			}
		}
		if len(s.Points) > 0 {
			lines = append(lines, s)
		}
	}
	return lines
}

// medianMachine makes a line for each framing. The points of a line are medians over all machines.
func medianMachine(members []stat.Member, cells []results.Cell, sizes []int) []Series {
	var lines []Series
	for _, cell := range cells {
		name := view.FieldValue("framing", cell.Framing)
		i := slices.IndexFunc(lines, func(s Series) bool { return s.Name == name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, Series{Name: name})
		}
		figure := view.FleetFigure(members, cell)
		if figure.N > 0 {
			lines[i].Points = append(lines[i].Points, Point{
				X: slices.Index(sizes, cell.Size), Y: figure.Median, Low: figure.P10,
				High: figure.P90, Samples: figure.N,
			})
		}
	}
	return lines
}
