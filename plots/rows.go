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

// rows are the measurements of one machine with their figures, in the order in which tables show
// them.
type rows struct {
	set *results.Set
	all []stat.Row
}

// rowsOf works out the figures of a set's measurements. It leaves out measurements without samples.
func rowsOf(set *results.Set) rows {
	r := rows{set: set, all: stat.Rows(set)}
	return r.where(func(row stat.Row) bool { return row.Samples > 0 })
}

func (r rows) where(holds func(stat.Row) bool) rows {
	out := rows{set: r.set}
	for _, row := range r.all {
		if holds(row) {
			out.all = append(out.all, row)
		}
	}
	return out
}

// values lists what field returns for the rows, each value once.
func values[V comparable](r rows, field func(stat.Row) V) []V {
	var out []V
	for _, row := range r.all {
		v := field(row)
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func withValue[V comparable](r rows, field func(stat.Row) V, value V) rows {
	return r.where(func(row stat.Row) bool { return field(row) == value })
}

func sizeOf(r stat.Row) int      { return r.Cell.Size }
func writeSizeOf(r stat.Row) int { return r.Cell.WriteSize }

func medianGoodput(r stat.Row) float64 { return r.Estimates["goodput"].Median }

// chunkSizeOf returns the chunk size of a measurement, or 0 if its messages are not sent in chunks.
func chunkSizeOf(r stat.Row) int { return results.ChunkSize(r.Cell.Framing) }

// sizes lists the message sizes of the rows, ascending.
func (r rows) sizes() []int { return slices.Sorted(slices.Values(values(r, sizeOf))) }

// sizeAxis returns an axis with a place for each size, which is named as in tables.
func sizeAxis(label string, sizes []int) Axis {
	a := Axis{Label: label}
	for _, size := range sizes {
		a.Places = append(a.Places, view.SizeTitle(size))
	}
	return a
}

// These return names of panels and lines.
func placeName(r stat.Row) string   { return results.ShortPlacement(r.Cell.Placement) }
func framingName(r stat.Row) string { return view.FieldValue("framing", r.Cell.Framing) }
func sizeLine(r stat.Row) string    { return view.SizeTitle(r.Cell.Size) + " messages" }

// always returns a function that gives all rows the same name.
func always(name string) func(stat.Row) string {
	return func(stat.Row) string { return name }
}

func (r rows) cells() []results.Cell {
	var cells []results.Cell
	for _, row := range r.all {
		cells = append(cells, row.Cell)
	}
	return cells
}

// titled returns a function that gives the title of a row's panel. The title begins with the result
// of start. After it come the fields in which rows differ, except those named in shown.
func (r rows) titled(start func(stat.Row) string, shown ...string) func(stat.Row) string {
	differ := results.DifferingFields(r.cells(), shown...)
	return func(row stat.Row) string {
		parts := []string{start(row)}
		for _, field := range differ {
			if value := row.Cell.Field(field); value != "" && value != "0" {
				parts = append(parts, view.FieldPhrase(field, value))
			}
		}
		return strings.Join(parts, ", ")
	}
}

// subtitle returns a line about the machine, and a line with what all rows have in common. The
// second line leaves out the fields that are named in elsewhere.
func (r rows) subtitle(elsewhere ...string) []string {
	cells := r.cells()
	if reported := r.capacities(); len(reported) == 1 && reported[0] > 0 {
		for i := range cells {
			cells[i].Capacity = reported[0]
		}
	}
	elsewhere = append(elsewhere, "framing", "pattern")
	return nonEmpty(view.MachineLine(r.set),
		view.JoinParts(view.CommonFields(cells, elsewhere...)...))
}

func nonEmpty(lines ...string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// capacities lists the capacities that the system reported for the pipes of the rows, each capacity
// once.
func (r rows) capacities() []int {
	var out []int
	for _, row := range r.all {
		for _, s := range row.Pooled() {
			if !slices.Contains(out, s.Capacity) {
				out = append(out, s.Capacity)
			}
		}
	}
	return out
}

// A layout says in which panel, in which line and at which place of a chart the point of a row
// lies.
type layout struct {
	panel, line func(stat.Row) string
	place       func(stat.Row) int
	dots        bool // points are not joined by a line, except those of raw
}

// among returns a function that calls field with a row, and returns the index of the result in
// list. If list lacks the result, the index is -1.
func among[V comparable](list []V, field func(stat.Row) V) func(stat.Row) int {
	return func(row stat.Row) int { return slices.Index(list, field(row)) }
}

// A pointFunc returns the point of a row, without its X.
type pointFunc func(stat.Row) (Point, bool)

// panels makes a panel for each value that l.panel returns, with a line for each value that l.line
// returns.
func (r rows) panels(l layout, point pointFunc) []Panel {
	lines := values(r, l.line) // in the same order in all panels
	var panels []Panel
	for _, title := range values(r, l.panel) {
		panel := Panel{Title: title}
		own := withValue(r, l.panel, title)
		for _, name := range lines {
			s := withValue(own, l.line, name).series(name, l, point)
			if len(s.Points) > 0 {
				panel.Series = append(panel.Series, s)
			}
		}
		if len(panel.Series) > 0 {
			panels = append(panels, panel)
		}
	}
	return panels
}

// series makes the line with the given name. It marks the line of raw bytes as the one with which
// the others are compared.
func (r rows) series(name string, l layout, point pointFunc) Series {
	s := Series{Name: name}
	for _, row := range r.all {
		if isRaw(row.Cell.Framing) && name == framingName(row) {
			s.Reference = true
		}
		p, ok := point(row)
		p.X = l.place(row)
		if ok && p.X >= 0 {
			s.Points = append(s.Points, p)
		}
	}
	s.Dots = l.dots && !s.Reference
	slices.SortStableFunc(s.Points, func(a, b Point) int { return a.X - b.X })
	return s
}

func metricPoint(name string) pointFunc {
	metric := stat.MustMetric(name) // panics if name is mistyped: the chart would be empty
	return func(row stat.Row) (Point, bool) {
		e := row.Estimates[name]
		if e.N == 0 {
			return Point{}, false
		}
		return pointOf(e, metric.Values(row.Pooled())), true
	}
}

// pointOf returns the point of an estimate. The point has the interval of the estimate or, if there
// is none, the range of the values.
func pointOf(e stat.Estimate, values []float64) Point {
	p := exact(0, e.Median)
	p.Samples = e.N
	switch {
	case e.Interval != nil:
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	case len(values) > 0:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	}
	p.Doubt = view.IsRough(e)
	return p
}

// doubtNote is the note under a chart in which points are in doubt.
var doubtNote = fmt.Sprintf("Hollow points are in doubt: fewer than %d samples, or an interval "+
	"wider than ±%d %%, which is not drawn.", stat.LeastSamples, stat.MostSpread)

const mediansNote = "Points are medians. Bars are their 95 % interval or, with fewer than " +
	"six samples, the range."

// moreTell ends a title that claims nothing.
const moreTell = "; more samples may tell more"

// fromTo writes a range with two significant digits at each end: "4.1 to 5.2 GB/s".
func fromTo(low, high float64, unit string) string {
	return view.FromTo(results.FormatLabel(twoDigits(low), unit),
		results.FormatLabel(twoDigits(high), unit))
}

func twoDigits(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64) // no error
	return rounded
}
