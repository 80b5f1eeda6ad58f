package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// comparedCells lists the measurements by which machines are compared: streams and round trips in
// which nothing else is done with the bytes. Of each pattern and placement, measurements that only
// few machines made are left out.
func comparedCells(members []stat.Member) []results.Cell {
	count := make(map[results.Cell]int)
	for _, m := range members {
		for _, f := range m.Figures {
			isPlain := f.Cell.Pattern == patternStream || isTrip(f.Cell)
			isMeasured := f.ToRaw.N > 0 || f.Cell.Framing == results.FramingRaw
			if isPlain && isMeasured && f.Cell.IsBare() {
				count[f.Cell]++
			}
		}
	}
	patternAndPlacement := func(c results.Cell) string { return c.Pattern + " " + c.Placement }
	var cells []results.Cell
	for _, own := range grouped(slices.Collect(maps.Keys(count)), patternAndPlacement) {
		most := 0
		for _, c := range own {
			most = max(most, count[c])
		}
		for _, c := range own {
			if 2*count[c] >= most {
				cells = append(cells, c)
			}
		}
	}
	slices.SortFunc(cells, func(a, b results.Cell) int {
		return cmp.Or(results.ComparePlacements(a.Placement, b.Placement),
			cmp.Compare(a.Framing, b.Framing), cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Key(), b.Key()))
	})
	return cells
}

// FleetStreams lists the measurements by which the framings of machines are compared: their
// messages go one way, each written at once. Measurements that only few machines made are left out.
func FleetStreams(members []stat.Member) []results.Cell {
	return slices.DeleteFunc(comparedCells(members), func(c results.Cell) bool {
		return isTrip(c) || c.Framing == results.FramingRaw
	})
}

// A fleetStream is a group of measurements that differ only in their framing.
type fleetStream struct {
	cell     results.Cell // of all these measurements, without the framing
	framings []string     // without raw
	all      int          // how many such groups there are
}

// of returns the measurement of a framing.
func (v fleetStream) of(framing string) results.Cell {
	cell := v.cell
	cell.Framing = framing
	return cell
}

func withoutFraming(c results.Cell) results.Cell {
	c.Framing = ""
	return c
}

// mainStream returns the stream that the first sentence is about or, if that is about none, the one
// that most machines measured, at the first placement and the size nearest to the usual one. The
// framings that sentences are about come first. isMeasured is false if there is none.
func (c comparison) mainStream() (main fleetStream, isMeasured bool) {
	members := c.members
	var all []fleetStream
	for _, same := range grouped(FleetStreams(members), withoutFraming) {
		v := fleetStream{cell: withoutFraming(same[0])}
		for _, own := range same {
			v.framings = append(v.framings, own.Framing)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return fleetStream{}, false
	}
	main = slices.MinFunc(all, func(a, b fleetStream) int {
		return cmp.Or(results.ComparePlacements(a.cell.Placement, b.cell.Placement),
			len(b.measured(members))-len(a.measured(members)),
			cmp.Compare(sizeDistance(a.cell.Size), sizeDistance(b.cell.Size)))
	})
	if len(c.differences) > 0 {
		first := c.differences[0]
		shown, _ := c.figures(first, inOrder(first))
		isTold := func(v fleetStream) bool { return v.cell == withoutFraming(shown) }
		if i := slices.IndexFunc(all, isTold); i >= 0 {
			main = all[i]
		}
	}
	main.all = len(all)
	rank := func(framing string) int {
		at := slices.IndexFunc(c.differences, func(d stat.Difference) bool {
			return d.Framing == framing
		})
		if at < 0 {
			return len(c.differences)
		}
		return at
	}
	slices.SortStableFunc(main.framings, func(a, b string) int { return rank(a) - rank(b) })
	return main, true
}

// measured returns the machines on which at least one framing was compared with raw bytes.
func (v fleetStream) measured(members []stat.Member) []stat.Member {
	var out []stat.Member
	for _, m := range members {
		if slices.ContainsFunc(m.Figures, func(f stat.Figure) bool {
			return f.ToRaw.N > 0 && v.of(f.Cell.Framing) == f.Cell
		}) {
			out = append(out, m)
		}
	}
	return out
}

// AreFew reports whether few machines measured framings. These are shown one by one.
func AreFew(members []stat.Member) bool {
	main, _ := comparison{members: members}.mainStream()
	return len(main.measured(members)) <= stat.FewMachines
}

// table returns a table with a row for each group of machines and a column for each framing. The
// first column has the title in firstTitle.
func (v fleetStream) table(firstTitle string, groups []Group) Table {
	t := Table{
		Title: "Goodput vs raw, messages of " + SizeTitle(v.cell.Size) + ", " +
			results.ShortPlacement(v.cell.Placement),
		Columns: []Column{
			{Title: firstTitle, Key: true},
			{Title: "number", Right: true},
			{Title: "raw", Right: true, Key: true},
		},
	}
	if v.all > 1 {
		t.Title += fmt.Sprintf(" alone (one of %d combinations measured)", v.all)
	}
	for i, framing := range v.framings {
		title := results.FramingPhrase(framing)
		t.Columns = append(t.Columns, Column{Title: title, Right: true, Key: i == 0})
	}
	for _, g := range groups {
		var counts []int
		var figures []Value
		for _, framing := range slices.Concat([]string{results.FramingRaw}, v.framings) {
			cell := v.of(framing)
			if n := FleetFigure(g.Members, cell).N; n > 0 {
				counts = append(counts, n)
			}
			figures = append(figures, groupValue(g.Members, cell))
		}
		number := Value{}
		if len(g.Members) > 1 && len(counts) > 0 {
			number = textValue(FromTo(fmt.Sprint(slices.Min(counts)),
				fmt.Sprint(slices.Max(counts))))
		}
		t.AppendValues(append([]Value{textValue(g.Title), number}, figures...)...)
	}
	return t.dropEmpty()
}

// A standing is the figure of one machine in one measurement: the goodput of a framing divided by
// that of raw bytes, or the time of a round trip divided by raw's. For raw itself, it is the
// goodput or the time.
type standing struct {
	stat.Member
	stat.Estimate
}

// standings returns the figures of the machines that made a measurement. The second result has
// those that are too noisy to compare.
func standings(members []stat.Member, cell results.Cell) (known, noisy []standing) {
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell != cell {
				continue
			}
			e := f.Compared()
			switch {
			case stat.IsClear(e) && !isDoubtful(m, cell):
				known = append(known, standing{m, e})
			case e.N > 0:
				noisy = append(noisy, standing{m, e})
			}
		}
	}
	return known, noisy
}

// isDoubtful reports whether the median of raw at a measurement means little.
func isDoubtful(m stat.Member, cell results.Cell) bool {
	cell.Framing = results.FramingRaw
	return slices.Contains(m.Doubtful, cell)
}

func mediansOf(all []standing) []float64 {
	var out []float64
	for _, s := range all {
		out = append(out, s.Median)
	}
	return out
}

// groupValue shows one share of the goodput of raw bytes with its interval, or the median of
// several shares with the range of most of them. For raw, it shows the goodput alone.
func groupValue(members []stat.Member, cell results.Cell) Value {
	metric := stat.RelativeMetric(cell)
	isRaw := cell.Framing == results.FramingRaw
	known, noisy := standings(members, cell)
	all := slices.Concat(known, noisy)
	if len(members) == 1 && len(all) == 0 { // here a figure may stand that is not comparable
		for _, f := range members[0].Figures {
			switch {
			case f.Cell == cell && isRaw:
				all = []standing{{Member: members[0], Estimate: f.Speed}}
			case f.Cell == cell && f.ToRaw.N > 0:
				all = []standing{{Member: members[0], Estimate: f.ToRaw}}
			}
		}
	}
	switch {
	case len(all) == 1 && isRaw:
		return figureValue(all[0].Median, RoughText(metric.Name, all[0].Estimate))
	case len(all) == 1:
		return figureValue(all[0].Median, RatioText(&all[0].Estimate))
	case len(known) == 0:
		return Value{}
	}
	figure := stat.SpreadOf(mediansOf(known))
	if isRaw {
		return figureValue(figure.Median, metric.Format(figure.Median))
	}
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", figure.Median, figure.Least, figure.Most)
	return figureValue(figure.Median, text)
}

// FleetFigure sums up the figures of machines in a measurement, without those that are too noisy.
func FleetFigure(members []stat.Member, cell results.Cell) stat.Spread {
	known, _ := standings(members, cell)
	return stat.SpreadOf(mediansOf(known))
}
