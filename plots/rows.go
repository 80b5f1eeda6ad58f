package plots

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// rows are the cells of one machine, with their figures: the data for the charts of measurements.
// They come in the order in which views show them.
type rows struct {
	set    *results.Set
	all    []stat.Row
	suffix string // end of a chart's name: what tells these rows from those of other charts
}

// rowsOf works out the figures of the measurements of a set. Cells without samples are left out.
func rowsOf(set *results.Set) rows {
	r := rows{set: set}
	for _, row := range stat.Rows(set) {
		if row.Samples > 0 {
			r.all = append(r.all, row)
		}
	}
	return r
}

// where selects rows.
func (r rows) where(holds func(stat.Row) bool) rows {
	out := rows{set: r.set, suffix: r.suffix}
	for _, row := range r.all {
		if holds(row) {
			out.all = append(out.all, row)
		}
	}
	return out
}

// values lists what of returns for the rows, each value once, in the order of the rows.
func values[V comparable](r rows, of func(stat.Row) V) []V {
	var out []V
	for _, row := range r.all {
		v := of(row)
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func framingOf(r stat.Row) string   { return r.Cell.Framing }
func placementOf(r stat.Row) string { return r.Cell.Placement }
func sizeOf(r stat.Row) int         { return r.Cell.Size }

// sizes lists the message sizes of rows, ascending.
func (r rows) sizes() []int { return slices.Sorted(slices.Values(values(r, sizeOf))) }

// unlimitedFirst orders limits from the largest to the smallest. Zero, which means no limit, comes
// first.
func unlimitedFirst[N int | int64](a, b N) int {
	if a == 0 || b == 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// at selects the rows of a placement.
func (r rows) at(placement string) rows {
	return r.where(func(row stat.Row) bool { return row.Cell.Placement == placement })
}

// in selects the rows of a framing.
func (r rows) in(framing string) rows {
	return r.where(func(row stat.Row) bool { return row.Cell.Framing == framing })
}

// of selects the rows of a message size.
func (r rows) of(size int) rows {
	return r.where(func(row stat.Row) bool { return row.Cell.Size == size })
}

// apart splits rows into groups that can share a chart. shown clears the fields of a cell that the
// chart shows by lines, panels or an axis. Rows that differ in any other field go into different
// groups.
func (r rows) apart(shown func(*results.Cell)) []rows {
	keyOf := func(row stat.Row) results.Cell {
		shown(&row.Cell)
		return row.Cell
	}
	cells := values(r, keyOf)
	var out []rows
	for _, cell := range cells {
		own := r.where(func(row stat.Row) bool { return keyOf(row) == cell })
		for _, name := range results.DifferingFields(cells) {
			own.suffix += "-" + fileName(view.FieldValue(name, cell.Field(name)))
		}
		out = append(out, own)
	}
	return out
}

// notInNames matches characters that the name of a file should not have.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9.+-]`)

// fileName writes a text as a part of a file's name.
func fileName(text string) string {
	return notInNames.ReplaceAllString(strings.ReplaceAll(text, " ", ""), "_")
}

// subtitle says where the rows were measured and, in a second line, which fields of the cells all
// rows have in common. It leaves out the fields that the picture shows elsewhere.
func (r rows) subtitle(elsewhere ...string) []string {
	var cells []results.Cell
	for _, row := range r.all {
		cells = append(cells, row.Cell)
	}
	elsewhere = append(elsewhere, results.DifferingFields(cells)...)
	back := r.capacities()
	usual := []string{"pipe", "capacity", "io", "payload", "size", "placement"}
	names := append(usual, results.CellFieldNames()...)
	var parts []string
	for i, name := range names {
		text := cells[0].Field(name)
		told := slices.Contains(elsewhere, name) || slices.Contains(names[:i], name)
		absent := text == "" || text == "0" && name != "capacity"
		if told || absent || name == "framing" || name == "pattern" {
			continue
		}
		if name == "capacity" && len(back) == 1 && back[0] > 0 {
			text = strconv.Itoa(back[0])
		}
		if name == "size" {
			parts = append(parts, messagesOf(cells[0].Size))
		} else {
			parts = append(parts, view.FieldPhrase(name, text))
		}
	}
	return nonEmpty(view.MachineLine(r.set), view.JoinParts(parts...))
}

// nonEmpty returns the lines that have a text.
func nonEmpty(lines ...string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// capacities lists the capacities that the pipes themselves reported.
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

// figure returns the point at x for a metric of a row; false if the row does not have the metric.
func figure(row stat.Row, metric string, x float64) (Point, bool) {
	e, ok := row.Estimates[metric]
	if !ok || e.N == 0 {
		return Point{}, false
	}
	return pointOf(x, e, stat.MustMetric(metric).Values(row.Pooled())), true
}

// A pointer is a function that returns the point of a row; false if the row has none.
type pointer func(stat.Row) (Point, bool)

// along returns a pointer that has place(row) on the X axis and the metric on the Y axis.
func along(metric string, place func(stat.Row) float64) pointer {
	return func(row stat.Row) (Point, bool) { return figure(row, metric, place(row)) }
}

// panels makes a panel for each titleOf(row), with a line for each nameOf(row). Raw is the
// reference that the others are compared with.
func (r rows) panels(titleOf, nameOf func(stat.Row) string, shape Shape, point pointer) []Panel {
	var panels []Panel
	for _, title := range values(r, titleOf) {
		panel := Panel{Title: title}
		for _, name := range values(r, nameOf) {
			s := Series{Name: name, Shape: shape}
			for _, row := range r.all {
				p, ok := point(row)
				if !ok || titleOf(row) != title || nameOf(row) != name {
					continue
				}
				s.Points = append(s.Points, p)
				s.Reference = isRaw(row.Cell.Framing) && name == framingName(row)
			}
			if s.Reference {
				s.Shape = Line
			}
			slices.SortStableFunc(s.Points, compareX)
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

// panelName returns the title of a panel.
func panelName(r stat.Row) string {
	return r.Cell.Placement + ": " + view.PlacementPhrase(r.Cell.Placement)
}
func framingName(r stat.Row) string { return view.FieldValue("framing", r.Cell.Framing) }
func sizeName(r stat.Row) string    { return messagesOf(r.Cell.Size) }

// always returns a function that gives all rows the same name.
func always(name string) func(stat.Row) string {
	return func(stat.Row) string { return name }
}

// pointOf returns the point of an estimate, with its interval or, if there are too few values for
// one, with their range.
func pointOf(x float64, e stat.Estimate, values []float64) Point {
	p := exact(x, e.Median)
	p.Samples = e.N
	switch {
	case e.Interval != nil:
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	case len(values) > 0:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	}
	p.Doubt = e.N == 1 || max(p.High-p.Y, p.Y-p.Low) > p.Y*view.MaxShownSpread/100
	return p
}

// doubtNote is the note of a chart that has points in doubt.
var doubtNote = fmt.Sprintf("Hollow points are in doubt: one sample, or an interval or range "+
	"wider than ±%d %%.", view.MaxShownSpread)

const mediansNote = "Points are medians over the samples; bars are the 95 % interval of the " +
	"median, with fewer than six samples their range."

// messagesOf names messages by their size.
func messagesOf(size int) string { return view.SizeText(size) + " messages" }

// fromTo writes a range with two digits, in one unit: "4.1 to 5.2 GB/s".
func fromTo(low, high float64, unit string) string {
	from := results.FormatLabel(twoDigits(low), unit)
	to := results.FormatLabel(twoDigits(high), unit)
	if from == to {
		return to
	}
	number, fromUnit, _ := strings.Cut(from, " ")
	if _, toUnit, _ := strings.Cut(to, " "); fromUnit == toUnit {
		from = number
	}
	return from + " to " + to
}

func twoDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}
