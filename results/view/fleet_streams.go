package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetStreams lists the measurements by which the framings of machines are compared: their
// messages go one way, each written at once. Measurements that only few machines made are left out.
func FleetStreams(members []stat.Member) []results.Cell {
	count := make(map[results.Cell]int)
	most := 0
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell.Pattern == patternStream && f.ToRaw.N > 0 && f.Cell.IsBare() {
				count[f.Cell]++
				most = max(most, count[f.Cell])
			}
		}
	}
	maps.DeleteFunc(count, func(_ results.Cell, n int) bool { return 2*n < most })
	return slices.SortedFunc(maps.Keys(count), func(a, b results.Cell) int {
		return cmp.Or(results.ComparePlacements(a.Placement, b.Placement),
			cmp.Compare(a.Framing, b.Framing), cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Key(), b.Key()))
	})
}

func withoutFraming(c results.Cell) results.Cell {
	c.Framing = ""
	return c
}

// measuredOn returns the machines that compared one of these measurements with raw bytes.
func measuredOn(members []stat.Member, cells []results.Cell) []stat.Member {
	return selected(members, func(m stat.Member) bool {
		return slices.ContainsFunc(m.Figures, func(f stat.Figure) bool {
			return f.ToRaw.N > 0 && slices.Contains(cells, f.Cell)
		})
	})
}

// AreFew reports whether few machines measured framings. These are shown one by one.
func AreFew(members []stat.Member) bool {
	return len(measuredOn(members, FleetStreams(members))) <= stat.FewMachines
}

// A fleetStream is a group of measurements that differ only in their framing.
type fleetStream struct {
	cells []results.Cell // without that of raw
	all   int            // how many such groups there are
}

// mainStream returns one of the streams in which machines differ most or, if they do not differ,
// of all: at the first placement and the size nearest to the usual one. The framings that sentences
// are about come first.
func (c comparison) mainStream() fleetStream {
	streams := grouped(FleetStreams(c.members), withoutFraming)
	if len(streams) == 0 {
		return fleetStream{}
	}
	rank := func(same []results.Cell) int {
		isThere := func(told results.Cell) bool {
			return withoutFraming(told) == withoutFraming(same[0])
		}
		if len(c.differences) == 0 || slices.ContainsFunc(c.differences[0].Cells, isThere) {
			return 0
		}
		return 1
	}
	main := slices.MinFunc(streams, func(a, b []results.Cell) int {
		return cmp.Or(rank(a)-rank(b),
			results.ComparePlacements(a[0].Placement, b[0].Placement),
			len(measuredOn(c.members, b))-len(measuredOn(c.members, a)),
			cmp.Compare(sizeDistance(a[0].Size), sizeDistance(b[0].Size)))
	})
	told := make(map[string]int) // by framing: more in an earlier sentence
	for i, d := range c.differences {
		told[d.Framing] = max(told[d.Framing], len(c.differences)-i)
	}
	slices.SortStableFunc(main, func(a, b results.Cell) int {
		return told[b.Framing] - told[a.Framing]
	})
	return fleetStream{cells: main, all: len(streams)}
}

// table returns a table with a row for each group of machines and a column for each framing. The
// first column has the title in firstTitle.
func (v fleetStream) table(firstTitle string, groups []Group) Table {
	raw := v.cells[0]
	raw.Framing = results.FramingRaw
	t := Table{
		Title: "Goodput vs raw, messages of " + SizeTitle(raw.Size) + ", " +
			results.ShortPlacement(raw.Placement),
		Columns: []Column{
			{Title: firstTitle, Key: true},
			{Title: "number", Right: true},
			{Title: "raw", Right: true, Key: true},
		},
	}
	if v.all > 1 {
		t.Title += fmt.Sprintf(" alone (one of %d combinations measured)", v.all)
	}
	for i, cell := range v.cells {
		title := results.FramingPhrase(cell.Framing)
		t.Columns = append(t.Columns, Column{Title: title, Right: true, Key: i == 0})
	}
	for _, g := range groups {
		row := []Value{textValue(g.Title), {}, groupValue(g.Members, raw)}
		switch n := len(g.Members); {
		case g.alike > n:
			row[1] = textValue(fmt.Sprintf("%d of %d", n, g.alike))
		case n > 1:
			row[1] = textValue(fmt.Sprint(n))
		}
		for _, cell := range v.cells {
			row = append(row, groupValue(g.Members, cell))
		}
		t.AppendValues(row...)
	}
	return t.dropEmpty()
}

// groupValue shows one share of the goodput of raw bytes with its interval, or the median of
// several shares with the range of most of them. For raw, it shows the goodput alone.
func groupValue(members []stat.Member, cell results.Cell) Value {
	if len(members) == 1 {
		return machineValue(members[0], cell)
	}
	figure := FleetFigure(members, cell)
	switch {
	case figure.N == 0:
		return Value{}
	case cell.Framing == results.FramingRaw:
		return figureValue(figure.Median, stat.RelativeMetric(cell).Format(figure.Median))
	}
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", figure.Median, figure.Least, figure.Most)
	return figureValue(figure.Median, text)
}

// machineValue shows the figure of a machine, also if it is too noisy to be compared.
func machineValue(m stat.Member, cell results.Cell) Value {
	for _, f := range m.Figures {
		switch {
		case f.Cell != cell:
		case cell.Framing == results.FramingRaw:
			text := RoughText(stat.RelativeMetric(cell).Name, f.Speed)
			return figureValue(f.Speed.Median, text)
		case f.ToRaw.N > 0 && !f.OddRaw:
			return figureValue(f.ToRaw.Median, RatioText(&f.ToRaw))
		}
	}
	return Value{}
}

// FleetFigure sums up the figures of machines in a measurement, as [stat.Figure.Compared] has them,
// without those that are too noisy.
func FleetFigure(members []stat.Member, cell results.Cell) stat.Spread {
	raw := cell
	raw.Framing = results.FramingRaw
	var medians []float64
	for _, m := range members {
		for _, f := range m.Figures {
			isDoubtful := slices.Contains(m.Doubtful, raw)
			if f.Cell == cell && stat.IsClear(f.Compared()) && !isDoubtful {
				medians = append(medians, f.Compared().Median)
			}
		}
	}
	return stat.SpreadOf(medians)
}
