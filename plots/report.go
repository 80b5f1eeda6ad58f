package plots

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// ReportLimit is the size in bytes that a report stays below, so that it can be sent and opened
// anywhere. It names the charts beyond that, and does not draw them.
const ReportLimit = 2 << 20

// svgLimit is the part of it that the pictures may take; the rest is for the tables.
const svgLimit = ReportLimit / 2

// ReportOptions are what a report says beside its records. The zero value adds nothing.
type ReportOptions struct {
	Title   string   // "Pipes measured" where empty
	Sources []string // names of the files that the records are from
	Command string   // the command that makes the page again
}

// ErrEmpty is returned for a set that holds nothing to report.
var ErrEmpty = errors.New("nothing to report: no measurement and no finding")

//go:embed report.html
var pageText string

//go:embed report.css
var pageStyle string

var pageTemplate = template.Must(template.New("report").Parse(pageText))

// A page is what the template is filled with.
type page struct {
	Title    string
	Lead     string
	Sources  []string
	Command  string
	Style    template.CSS
	Sections []section
	LeftOut  []string // and why
}

// A section of a page is what [view.Sections] says of a kind of record, with its tables as HTML and
// its pictures.
type section struct {
	view.Section
	Tables  []template.HTML
	Figures []figure
}

type figure struct {
	Name string
	SVG  template.HTML
}

// Report writes one HTML page about a set: its machines, what its records mean, and a section for
// each kind of record it holds, with tables, pictures, warnings below the rows that they are about,
// and the commands that reproduce it. The page has no script, and fetches nothing; it is for
// screens, dark ones too, and for print, and is smaller than [ReportLimit]. The same set gives the
// same page. A set without any record to show is [ErrEmpty].
func Report(w io.Writer, set *results.Set, o ReportOptions) error {
	sections := view.Sections(set)
	if len(sections) == 0 {
		return ErrEmpty
	}
	var content []byte
	for maxRows := maxTableRows; content == nil || len(content) >= ReportLimit; maxRows /= 2 {
		if maxRows == 0 {
			return fmt.Errorf("write report: %d bytes without a single row, where %d are allowed: report fewer files at once", len(content), ReportLimit)
		}
		r := &reporter{set: set, maxRows: maxRows, svgBudget: svgLimit}
		var err error
		if content, err = r.page(sections, o); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// maxTableRows is the length at which a page cuts a table: a page is for reading, the file has the
// rest.
const maxTableRows = 400

// A reporter makes the sections of a page.
type reporter struct {
	set        *results.Set
	stylesheet stylesheet
	maxRows    int // of a table
	svgBudget  int // bytes left for pictures
	omitted    []Omission
	leftOut    []string
}

func (r *reporter) page(sections []view.Section, o ReportOptions) ([]byte, error) {
	p := page{Title: cmp.Or(o.Title, "Pipes measured"), Lead: view.Lead(r.set), Sources: o.Sources, Command: o.Command}
	for _, problem := range r.set.Problems {
		r.leftOut = append(r.leftOut, problem.String())
	}
	for _, s := range sections {
		made, err := r.section(s)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, made)
	}
	p.LeftOut = append(ByReason(r.omitted), r.leftOut...)
	p.Style = template.CSS(pageStyle) + "\n" + r.stylesheet.css() // both of this package's own making
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, p)
	return []byte(view.Escape(out.String())), err // strings of other programs are all over it
}

// section draws the charts of a section and renders its tables, without the rows beyond maxRows.
func (r *reporter) section(s view.Section) (section, error) {
	out := section{Section: s}
	out.Notes = slices.Clone(s.Notes)
	out.Figures = r.figures(s.ID)
	for _, t := range s.Tables {
		if left := len(t.Rows) - r.maxRows; left > 0 {
			t.Rows = t.Rows[:r.maxRows]
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %s more in the file.", cmp.Or(t.Title, s.Title), results.FormatCount(left, "row")))
		}
		html, err := t.HTML()
		if err != nil {
			return section{}, err
		}
		out.Tables = append(out.Tables, html)
	}
	return out, nil
}

// figures draws the charts of a section. A section takes at most half of the bytes for pictures
// that the sections before it left.
func (r *reporter) figures(section string) []figure {
	budget := r.svgBudget / 2
	var out []figure
	for _, k := range kinds {
		if k.section != section {
			continue
		}
		kept, omitted := dropSinglePoints(k.charts(r.set))
		r.omitted = append(r.omitted, omitted...)
		for _, c := range kept {
			if budget <= 0 {
				r.leftOut = append(r.leftOut, c.Name+" is not drawn: the page would be too large; pipebench plot draws it")
				continue
			}
			svg, err := r.stylesheet.inlineSVG(c)
			if err != nil {
				r.leftOut = append(r.leftOut, err.Error())
				continue
			}
			budget -= len(svg)
			r.svgBudget -= len(svg)
			out = append(out, figure{c.Name, svg})
		}
	}
	return out
}
