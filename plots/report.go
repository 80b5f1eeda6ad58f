package plots

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// ReportLimit is the size in bytes below which a report stays. A report only names the charts for
// which it has no room.
const ReportLimit = 2 << 20

const (
	pictureLimit = ReportLimit / 2 // bytes of pictures; the rest is for the tables
	maxTableRows = 400             // rows of a table; the file of results has the rest
	fewRows      = 60              // if a section has more rows, its tables are folded
	veryFewRows  = 12              // as fewRows, for a section with pictures
	maxCSVLines  = 500             // if there are more records, the page has no CSV
)

// ReportOptions are what a report says in addition to its records. The zero value adds nothing.
type ReportOptions struct {
	Title   string   // if empty, what the records show is the title
	Sources []string // names of the files that the records are from
	Command string   // the command with which the page can be made again
}

// ErrEmpty is returned for a set that holds nothing to report.
var ErrEmpty = errors.New("nothing to report: no measurement and no finding")

var (
	//go:embed report.html
	pageText string
	//go:embed report.css
	pageStyle string
	//go:embed report.js
	pageScript string
)

// A page is the data for the template of a report.
type page struct {
	ReportOptions
	Lead       string
	Style      template.CSS
	Script     template.JS
	ScriptHash string // with it, a browser runs this script and no other
	Sections   []section
	LeftOut    []string // sentences: what is missing from the page, and why
	CSV        string   // all figures; "" if they are too many
}

// A section is a section of the page: one of those in [view.Sections], with its pictures.
type section struct {
	view.Section
	Pictures   []template.HTML
	Rows       int  // number of rows of all its tables
	FoldTables bool // the tables are hidden until the reader opens them
}

// Report writes one HTML page with the charts and tables of a set of results. The page fetches
// nothing, and is smaller than [ReportLimit]. If there is nothing to show, the error is [ErrEmpty].
func Report(w io.Writer, set *results.Set, o ReportOptions) error {
	if len(set.Machines()) > 1 {
		return ReportFleet(w, stat.FleetOf(set).Members(), set.Problems, o)
	}
	r := reporter{
		page:     page{ReportOptions: o, Lead: view.Lead(set), CSV: figuresOf(set)},
		sections: view.Sections(set),
	}
	return r.write(w, Charts(set), set.Problems)
}

// ReportFleet writes a page about several machines: how they differ, and which of them stand out.
func ReportFleet(w io.Writer, members []stat.Member, problems []results.Problem,
	o ReportOptions) error {
	r := reporter{
		page:     page{ReportOptions: o, Lead: view.FleetLead(members)},
		sections: view.FleetSections(members, problems),
	}
	return r.write(w, FleetCharts(members), problems)
}

type reporter struct {
	page     // without Sections
	sections []view.Section
	pictures map[string][]template.HTML // by the ID of their section
}

// write writes the page with the given charts. If the page would be too large, its tables get fewer
// rows.
func (r *reporter) write(w io.Writer, charts []Chart, problems []results.Problem) error {
	if len(r.sections) == 0 {
		return ErrEmpty
	}
	if err := r.draw(charts); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	for _, p := range problems {
		r.LeftOut = append(r.LeftOut, p.String())
	}
	r.setTitle()
	rows := maxTableRows
	content, err := r.content(rows)
	for err == nil && len(content) >= ReportLimit && rows > 1 {
		rows /= 2
		content, err = r.content(rows)
	}
	if err == nil && len(content) >= ReportLimit {
		err = fmt.Errorf("%s without the rows of its tables, where %s are allowed: report fewer "+
			"files at once", results.FormatSize(int64(len(content))),
			results.FormatSize(ReportLimit))
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// setTitle sets the title of the page, which is the main result if the options have none. The
// first section has that title, too, and does not say it again.
func (r *reporter) setTitle() {
	answer := &r.sections[0]
	if r.Title == "" {
		r.Title = answer.Title
	} else if len(answer.Lead) == 0 || !strings.HasPrefix(answer.Lead[0], answer.Title) {
		answer.Lead = append([]string{answer.Title + "."}, answer.Lead...)
	}
	answer.Title = r.Title
}

// draw draws as many charts as a page has room for, each once for screens and once for phones.
func (r *reporter) draw(charts []Chart) error {
	r.pictures = make(map[string][]template.HTML)
	total := 0
	for _, c := range charts {
		svg, err := c.SVG()
		if err != nil {
			return err
		}
		forPhone, err := c.svg(phoneWidth)
		if err != nil {
			return err
		}
		total += len(svg) + len(forPhone)
		if total > pictureLimit {
			r.LeftOut = append(r.LeftOut, c.Name+" is not drawn: the page would be too large; "+
				"pipebench report -o FOLDER draws it")
			continue
		}
		_, element, _ := bytes.Cut(svg, []byte("<svg "))
		_, narrow, _ := bytes.Cut(forPhone, []byte("<svg "))
		picture := template.HTML(`<figure id="plot-` + c.Name + `"><svg class="plot" ` +
			string(element) + `<svg class="plot phone" ` + string(narrow) + "</figure>") // escaped
		r.pictures[c.section] = append(r.pictures[c.section], picture)
	}
	return nil
}

var pageTemplate = template.Must(template.New("report").Parse(pageText))

// content fills the template, with at most maxRows rows of each table.
func (r *reporter) content(maxRows int) ([]byte, error) {
	p := r.page
	p.Style = template.CSS(pageStyle)
	p.Script = template.JS(pageScript)
	hash := sha256.Sum256([]byte(pageScript))
	p.ScriptHash = base64.StdEncoding.EncodeToString(hash[:])
	for _, s := range r.sections {
		p.Sections = append(p.Sections, r.section(s, maxRows))
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, p)
	return []byte(view.Escape(out.String())), err // the page may hold texts of other programs
}

// figuresOf returns the measurements as CSV or, if there are none, all records. If there are too
// many of them for a page, it returns "".
func figuresOf(set *results.Set) string {
	lines := cmp.Or(len(set.Records), set.Len())
	var csv strings.Builder
	if lines > maxCSVLines || view.Write(&csv, set, view.FormatCSV, view.Options{}) != nil {
		return ""
	}
	return csv.String()
}

// section makes a section of a page, with at most maxRows rows of each table.
func (r *reporter) section(s view.Section, maxRows int) section {
	out := section{Section: s, Pictures: r.pictures[s.ID]}
	out.Tables = nil
	out.Notes = slices.Clone(s.Notes)
	for _, t := range s.Tables {
		out.Rows += len(t.Rows)
		if left := len(t.Rows) - maxRows; left > 0 {
			t.Rows = t.Rows[:maxRows]
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %s more in the file.",
				cmp.Or(t.Title, s.Title), results.FormatCount(left, "row")))
		}
		out.Tables = append(out.Tables, t.ForPage())
	}
	many := out.Rows > fewRows || len(out.Pictures) > 0 && out.Rows > veryFewRows
	out.FoldTables = many && !s.Folded
	return out
}
