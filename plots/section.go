package plots

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/pipebench/pipebench/results/view"
)

// A section of a report.
type section struct {
	ID       string
	Title    string
	Lead     []string // sentences before the figures
	Tables   []grid
	Figures  []figureHTML
	Notes    []string // small print after them
	Commands []string // what reproduces it
}

type figureHTML struct {
	Name string
	SVG  template.HTML
}

// A grid is a table of a report.
type grid struct {
	Caption string
	Columns []column
	Rows    []line
}

type column struct {
	Title string
	Small string // a second line
	Right bool
}

// A line is a row of a grid, with the warnings that touch it.
type line struct {
	Cells    []cell
	Warnings []string
}

type cell struct {
	Text  string
	Small string // a second line
	Class string // "good", "bad", "mixed" for a verdict; "code"; "long"
	Right bool
}

// maxTableRows is how long a table of a report gets before it is cut, and
// mostText a cell, in characters: a page is for reading, the file has the rest.
const (
	maxTableRows = 400
	maxCellText  = 1000
)

func columns(titles ...string) []column {
	var out []column
	for _, c := range view.Columns(titles...) {
		out = append(out, column{Title: c.Title, Right: c.Right})
	}
	return out
}

// add appends a row, aligned as its columns are.
func (g *grid) add(warnings []string, cells ...cell) {
	for i := range cells {
		cells[i].Right = g.Columns[i].Right
	}
	g.Rows = append(g.Rows, line{cells, warnings})
}

func plain(s string) cell { return cell{Text: truncate(s, maxCellText)} }

// long is a text that needs room, and may be broken anywhere.
func long(s string) cell { return cell{Text: truncate(s, maxCellText), Class: "long"} }

func code(s string) cell { return cell{Text: truncate(s, maxCellText), Class: "code"} }

// addTable adds a grid that has rows to a section, cut if it is too long, and
// without columns that are empty.
func (r *reporter) addTable(s *section, g grid) {
	if len(g.Rows) == 0 {
		return
	}
	if left := len(g.Rows) - r.maxRows; left > 0 {
		g.Rows = g.Rows[:r.maxRows]
		s.Notes = append(s.Notes, fmt.Sprintf("%s: %d more rows are in the file.", g.Caption, left))
	}
	s.Tables = append(s.Tables, g.withoutEmpty())
}

// withoutEmpty drops the columns that say nothing in any row.
func (g grid) withoutEmpty() grid {
	out := grid{Caption: g.Caption, Rows: make([]line, len(g.Rows))}
	for i, c := range g.Columns {
		says := func(l line) bool { return l.Cells[i].Text != "" || l.Cells[i].Small != "" }
		if !slices.ContainsFunc(g.Rows, says) {
			continue
		}
		out.Columns = append(out.Columns, c)
		for k, l := range g.Rows {
			out.Rows[k].Cells = append(out.Rows[k].Cells, l.Cells[i])
			out.Rows[k].Warnings = l.Warnings
		}
	}
	return out
}

// drawOn adds charts to a section. One section takes at most half of the room
// for pictures that those before it left.
func (r *reporter) addCharts(s *section, charts ...[]Chart) {
	room := r.svgBudget / 2
	var all []Chart
	for _, made := range charts {
		kept, omitted := dropSinglePoints(made)
		all = append(all, kept...)
		r.omitted = append(r.omitted, omitted...)
	}
	for _, c := range all {
		if room <= 0 {
			r.leftOut = append(r.leftOut, c.Name+" is not drawn: the page would be too large; pipebench plot draws it")
			continue
		}
		svg, err := r.stylesheet.inlineSVG(c)
		if err != nil {
			r.leftOut = append(r.leftOut, err.Error())
			continue
		}
		room -= len(svg)
		r.svgBudget -= len(svg)
		s.Figures = append(s.Figures, figureHTML{c.Name, svg})
	}
}

// commands are the command lines of runs, each once; where the files do not
// tell, the one that is usual.
func (r *reporter) commands(runs []string, usual string) []string {
	var out []string
	for _, e := range r.set.Environments {
		if e.Command != "" && slices.Contains(runs, e.Run) && !slices.Contains(out, e.Command) {
			out = append(out, e.Command)
		}
	}
	if len(out) == 0 {
		return []string{usual}
	}
	return out
}

// distinct lists the runs of lines.
func distinct[L any](lines []L, run func(L) string) []string {
	var out []string
	for _, l := range lines {
		if id := run(l); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// nameOf is the name of the machine of a run, "" where there is only one.
func (r *reporter) nameOf(run string) string { return r.machineTitle(r.set.Machine(run)) }

// machineTitle is the name of a machine, "" where there is only one.
func (r *reporter) machineTitle(id string) string { return machineTitleIn(r.set, id) }
