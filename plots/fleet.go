package plots

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// FleetCharts compares machines by the goodput of each framing relative to raw bytes, which have no
// framing. There is a chart only if at least two machines measured framings and raw bytes.
func FleetCharts(members []stat.Member) []Chart {
	d := fleetDrawing{cells: view.FleetStreams(members), few: view.AreFew(members)}
	d.members = d.measuring(members)
	if len(d.members) < 2 {
		return nil
	}
	if !d.few {
		d.groups = view.FramingGroups(members)
	}
	for _, cell := range d.cells {
		d.sizes = append(d.sizes, cell.Size)
	}
	slices.Sort(d.sizes)
	d.sizes = slices.Compact(d.sizes)
	c := Chart{
		Name:    "machines",
		X:       sizeAxis("message size", d.sizes),
		Y:       ratioAxis,
		Panels:  d.panels(),
		section: "differences",
	}
	if !slices.ContainsFunc(c.Panels, Panel.comparesPoints) {
		return nil
	}
	c.Title = d.title()
	c.Notes = d.notes()
	if slices.ContainsFunc(members, stat.Member.HasOddRaw) {
		c.Notes = append(c.Notes, "Where raw is unlike that of most machines, nothing is drawn.")
	}
	c.complete()
	return []Chart{c}
}

// A fleetDrawing is what a chart of machines shows.
type fleetDrawing struct {
	members []stat.Member
	few     bool // each machine has points of its own
	groups  map[string][]view.Group
	cells   []results.Cell
	sizes   []int
}

// measuring returns the machines that measured at least one of the cells, and often enough to
// compare it with raw bytes.
func (d *fleetDrawing) measuring(members []stat.Member) []stat.Member {
	isCompared := func(f stat.Figure) bool {
		return f.Compared().Interval != nil && slices.Contains(d.cells, f.Cell)
	}
	return slices.DeleteFunc(slices.Clone(members), func(m stat.Member) bool {
		return !slices.ContainsFunc(m.Figures, isCompared)
	})
}

// title has the range of the figures that are clear enough to compare machines. It does not count
// many machines: each point has its own number.
func (d *fleetDrawing) title() string {
	where := " on the median machine"
	switch {
	case d.few:
		where = " on " + results.FormatCount(len(d.members), "machine")
	case len(d.groups) > 0:
		where = ", by group of machines"
	}
	var sure []float64
	for _, cell := range d.cells {
		for _, g := range d.groupsIn(cell) {
			if figure := view.FleetFigure(g.Members, cell); figure.N > 0 {
				sure = append(sure, figure.Median)
			}
		}
	}
	if len(sure) == 0 {
		return "Too noisy to tell what framings cost" + where
	}
	share := view.PercentRange(slices.Min(sure), slices.Max(sure))
	return "Framings keep " + share + " of raw's goodput" + where
}

// notes says how to read the chart, and which groups of machines have lines of their own.
func (d *fleetDrawing) notes() []string {
	if d.few {
		return []string{"Points are medians of the ratios taken round by round; bars are the " +
			"95 % interval."}
	}
	notes := []string{fmt.Sprintf("Points are the median machine; bars hold the middle 80 %% of "+
		"the machines, or all of %d or fewer. Machines that are too noisy are left out.",
		stat.FewMachines)}
	for _, framing := range slices.Sorted(maps.Keys(d.groups)) {
		var titles []string
		for _, g := range d.groups[framing] {
			titles = append(titles, g.Title)
		}
		notes = append(notes, "Groups of machines by their "+results.FramingPhrase(framing)+": "+
			strings.Join(titles, "; ")+".")
	}
	return notes
}

// panels makes a panel for each placement or, of a few machines, for each framing and placement.
func (d *fleetDrawing) panels() []Panel {
	var panels []Panel
	for _, cell := range d.cells { // sorted by placement and framing
		title := results.ShortPlacement(cell.Placement)
		if d.few {
			title = results.FramingPhrase(cell.Framing) + ", " + title
		}
		if n := len(panels); n == 0 || panels[n-1].Title != title {
			panels = append(panels, Panel{Title: title, Guides: []float64{1}})
		}
		d.addPoints(&panels[len(panels)-1], cell)
	}
	return panels
}

// groupsIn returns the groups of machines that have points of their own in a cell: each machine, if
// they are few.
func (d *fleetDrawing) groupsIn(cell results.Cell) []view.Group {
	for _, framing := range []string{results.FramingRaw, cell.Framing} {
		if groups := d.groups[framing]; groups != nil {
			return groups
		}
	}
	if d.few {
		return view.EachMachine(d.members)
	}
	return []view.Group{{Members: d.members}}
}

// addPoints adds the points of a cell to a panel. The panel has a line for each framing or, if
// groups of machines differ in it, for each of these groups. Of a few machines, it has dots for
// each.
func (d *fleetDrawing) addPoints(panel *Panel, cell results.Cell) {
	for _, g := range d.groupsIn(cell) {
		p, isMeasured := d.point(g, cell)
		if !isMeasured {
			continue
		}
		name := view.FieldValue("framing", cell.Framing)
		switch {
		case d.few:
			name = g.Title
		case g.Title != "":
			name += ", " + g.Title
		}
		i := slices.IndexFunc(panel.Series, func(s Series) bool { return s.Name == name })
		if i < 0 {
			i = len(panel.Series)
			panel.Series = append(panel.Series, Series{Name: name, Dots: d.few})
		}
		panel.Series[i].Points = append(panel.Series[i].Points, p)
	}
}

// point returns the figure of one machine, or the median of several.
func (d *fleetDrawing) point(g view.Group, cell results.Cell) (p Point, isMeasured bool) {
	at := slices.Index(d.sizes, cell.Size)
	if !d.few {
		figure := view.FleetFigure(g.Members, cell)
		return Point{
			X: at, Y: figure.Median, Low: figure.Least, High: figure.Most,
			Samples: figure.N, Sample: "machine",
		}, figure.N > 0
	}
	for _, f := range g.Members[0].Figures {
		// Beside a raw that alone is slow, framings only seem fast: nothing is compared.
		if e := f.Compared(); f.Cell == cell && e.N > 0 {
			p = pointOf(e, nil)
			p.X = at
			return p, true
		}
	}
	return Point{}, false
}
