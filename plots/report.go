package plots

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// ReportLimit is the size in bytes that a report stays below, so that it can be sent and opened
// anywhere. It names the charts beyond that, and does not draw them.
const ReportLimit = 2 << 20

// svgLimit is the part of it that the pictures may take; the rest is for the tables.
const svgLimit = ReportLimit / 2

// ReportOptions are what a report says beside its records. The zero value adds nothing.
type ReportOptions struct {
	Title   string   // the answer where empty
	Sources []string // names of the files that the records are from
	Command string   // the command that makes the page again

	Sections []view.Section // of the page; nil: what [view.Sections] says of the set
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

// A page is what the template is filled with.
type page struct {
	ReportOptions
	Lead       string
	Style      template.CSS
	Script     template.JS
	ScriptHash string // by which a browser knows that the script is this one
	Key        []figure
	Sections   []section
	LeftOut    []string // and why
	CSV        string   // all figures, where they are not too many
}

// A section of a page is what [view.Sections] says of a kind of record, with its tables as HTML and
// its pictures.
type section struct {
	view.Section
	Tables    []template.HTML
	Figures   []figure
	Recording string // packed, for the script
}

// A figure is a chart as a page shows it: the browser breaks its lines, and puts its panels side by
// side or one below the other.
type figure struct {
	Chart
	Panels []template.HTML
	Legend []legendEntry
	Again  string // the command that measures it again
}

type legendEntry struct {
	Name, Title string
	Swatch      template.HTML
}

// Report writes one HTML page about a set: its machines, what its records mean, and a section for
// each kind of record it holds, with tables, pictures, warnings below the rows that they are about,
// and the commands that reproduce it. The page fetches nothing; it is for screens, dark ones and
// phones too, and for print, and is smaller than [ReportLimit]. It can be read without its script, with
// which marks tell what they show, lines stand out, panels zoom and tables sort. The same set gives the
// same page. A set without any record to show is [ErrEmpty].
func Report(w io.Writer, set *results.Set, o ReportOptions) error {
	if o.Sections == nil {
		o.Sections = view.Sections(set)
	}
	if len(o.Sections) == 0 {
		return ErrEmpty
	}
	o.Title = cmp.Or(o.Title, o.Sections[0].Title)
	var content []byte
	for maxRows := maxTableRows; content == nil || len(content) >= ReportLimit; maxRows /= 2 {
		if maxRows == 0 {
			return fmt.Errorf("write report: %d bytes without a single row, where %d are allowed: report fewer files at once", len(content), ReportLimit)
		}
		r := &reporter{set: set, maxRows: maxRows, svgBudget: svgLimit}
		charts, alone, _ := makeCharts(set)
		r.charts, r.leftOut = charts, append(ByReason(alone), stat.Map(set.Problems, results.Problem.String)...)
		var err error
		if content, err = r.page(o); err != nil {
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
	charts     []Chart
	stylesheet stylesheet
	maxRows    int // of a table
	svgBudget  int // bytes left for pictures
	leftOut    []string
}

func (r *reporter) page(o ReportOptions) ([]byte, error) {
	hash := sha256.Sum256([]byte(pageScript))
	p := page{
		ReportOptions: o, Lead: view.Lead(r.set),
		Script: template.JS(pageScript), ScriptHash: base64.StdEncoding.EncodeToString(hash[:]),
	}
	for _, s := range o.Sections {
		made, err := r.section(s)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, made)
	}
	p.Key = takeKey(p.Sections)
	p.LeftOut = r.leftOut
	p.Style = template.CSS(pageStyle) + "\n" + r.stylesheet.css() // both of this package's own making
	var csv strings.Builder
	if lines := cmp.Or(len(r.set.Records), r.set.Len()); lines <= maxCSVLines && view.Write(&csv, r.set, view.FormatCSV, view.Options{}) == nil {
		p.CSV = csv.String()
	}
	var out bytes.Buffer
	err := template.Must(template.New("report").Parse(pageText)).Execute(&out, p)
	return []byte(view.Escape(out.String())), err // strings of other programs are all over it
}

// maxCSVLines is the number of records of which a page holds the figures for programs: of
// measurements where there are any.
const maxCSVLines = 500

// keyCharts are those that show an answer, the best one first.
var keyCharts = []string{"machines", "ratio", "target"}

// takeKey takes the picture that shows the answer out of its section.
func takeKey(sections []section) []figure {
	for _, name := range keyCharts {
		for i := range sections {
			all := sections[i].Figures
			at := slices.IndexFunc(all, func(f figure) bool { return strings.HasPrefix(f.Name, name) })
			if at >= 0 {
				sections[i].Figures = slices.Concat(all[:at], all[at+1:])
				return []figure{all[at]}
			}
		}
	}
	return nil
}

// section draws the charts of a section and renders its tables, without the rows beyond maxRows.
func (r *reporter) section(s view.Section) (section, error) {
	out := section{Section: s, Figures: r.figures(s)}
	out.Notes = slices.Clone(s.Notes)
	if s.ID == "recording" && len(r.set.Messages) > 0 {
		var note string
		if out.Recording, note = pack(r.set.Messages); note != "" {
			out.Notes = append(out.Notes, note)
		}
	}
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
func (r *reporter) figures(of view.Section) []figure {
	budget := r.svgBudget / 2
	var out []figure
	for _, c := range r.charts {
		if c.section != of.ID {
			continue
		}
		if budget <= 0 {
			r.leftOut = append(r.leftOut, c.Name+" is not drawn: the page would be too large; pipebench report -o FOLDER draws it")
			continue
		}
		f := newLayout(c, true)
		made := figure{Chart: c, Panels: f.panels(&r.stylesheet)}
		machine := view.MachinesLine(view.FirstRuns(r.set)) // which the page says at its top
		made.Subtitle = stat.Filter(c.Subtitle, func(line string) bool { return line != machine && line != "" })
		for _, row := range f.legend {
			for _, s := range row {
				on := newSVGCanvas(swatchWidth, 10, &r.stylesheet)
				f.swatch(draw.NewCanvas(on, on.width, on.height), s, vg.Point{Y: 5})
				made.Legend = append(made.Legend, legendEntry{s.Name, s.title(), on.element("swatch", "")})
			}
		}
		if len(of.Commands) > 0 {
			made.Again = of.Commands[0]
		}
		for _, panel := range made.Panels {
			budget -= len(panel)
			r.svgBudget -= len(panel)
		}
		out = append(out, made)
	}
	return out
}

// maxRecording is the number of bytes of a recording, packed, that a page holds; maxBody is that of
// the body of a message.
const (
	maxRecording = 1500 << 10
	maxBody      = 4 << 10
)

// pack packs messages for the script of a page in the order of their times, and says what is not among
// them: their bodies are cut, and then the later half is left out, until the rest fits.
func pack(messages []results.Message) (packed, note string) {
	lines := slices.SortedStableFunc(slices.Values(messages), func(a, b results.Message) int { return cmp.Compare(a.T, b.T) })
	for most, body := len(lines), maxBody; ; {
		packed = packLines(stat.Map(lines[:most], func(m results.Message) results.Message {
			m.Kind, m.Run, m.T, m.Body = "", "", m.T/1e3*1e3, view.Truncate(m.Body, body) // by µs it takes a third less
			return m
		}))
		switch {
		case len(packed) > maxRecording && body > 0:
			body /= 64
		case len(packed) > maxRecording:
			most /= 2
		case most < len(lines):
			return packed, fmt.Sprintf("The picture that can be explored has the first %d of %d messages.", most, len(lines))
		default:
			return packed, ""
		}
	}
}

// packLines writes JSON, deflated and in base64.
func packLines(messages []results.Message) string {
	var out bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &out)
	w, _ := flate.NewWriter(text, flate.DefaultCompression) // which is a level
	json.NewEncoder(w).Encode(messages)                     // neither this nor a buffer fails
	w.Close()
	text.Close()
	return out.String()
}
