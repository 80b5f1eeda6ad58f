package plots

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strings"

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

	Sections []view.Section // of the page; nil: what [view.Sections] says of the set
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
	sections := o.Sections
	if sections == nil {
		sections = view.Sections(set)
	}
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

// A stylesheet collects the styles of all pictures of a page: each style once, as a class, with the
// colours as variables that a dark page sets differently.
type stylesheet struct {
	styles []string
}

// How gonum's SVG canvas writes a style, and the element that an SVG document begins with.
var (
	styleAttribute = regexp.MustCompile(`\s+style="([^"]*)"`)
	svgStart       = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*" (viewBox="[^"]*")[^>]*>`)
)

// inlineSVG draws a chart as an element of a page, with classes instead of styles.
func (s *stylesheet) inlineSVG(c Chart) (template.HTML, error) {
	svg, err := c.SVG()
	if err != nil {
		return "", err
	}
	text := styleAttribute.ReplaceAllStringFunc(string(svg), func(attribute string) string {
		return fmt.Sprintf(` class="p%d"`, s.class(styleAttribute.FindStringSubmatch(attribute)[1]))
	})
	label := template.HTMLEscapeString(c.Title)
	text = svgStart.ReplaceAllString(text, `<svg class="plot" role="img" aria-label="`+label+`" $1>`)
	return template.HTML(text), nil // the canvas escapes what it writes; the label is escaped here
}

// class returns the number of a style, a new one for a new style.
func (s *stylesheet) class(style string) int {
	if i := slices.Index(s.styles, style); i >= 0 {
		return i
	}
	s.styles = append(s.styles, style)
	return len(s.styles) - 1
}

// css returns the CSS of all styles.
func (s *stylesheet) css() template.CSS {
	var css strings.Builder
	var light, dark strings.Builder // the colours of a light and of a dark page
	for _, p := range darkColours {
		fmt.Fprintf(&light, "%s:%s;", variableName(p.light), hex(p.light))
		fmt.Fprintf(&dark, "%s:%s;", variableName(p.light), hex(p.dark))
	}
	fmt.Fprintf(&css, ":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n", light.String(), dark.String())
	for i, style := range s.styles {
		fmt.Fprintf(&css, "svg .p%d{%s}\n", i, hexColour.ReplaceAllStringFunc(style, cssVariable))
	}
	return template.CSS(css.String()) // of this package's own making
}

// hexColour matches a colour in a style.
var hexColour = regexp.MustCompile(`#[0-9A-F]{6}`)

// cssVariable returns the variable for a colour of a picture. The canvas recovers a transparent
// colour from its premultiplied channels, each of which may be off by a little.
func cssVariable(written string) string {
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= 4 }
	var c color.RGBA
	if _, err := fmt.Sscanf(written, "#%02X%02X%02X", &c.R, &c.G, &c.B); err != nil {
		return written
	}
	for _, p := range darkColours {
		if near(c.R, p.light.R) && near(c.G, p.light.G) && near(c.B, p.light.B) {
			return "var(" + variableName(p.light) + ")"
		}
	}
	return written
}

// darkColours maps each colour of a picture to a lighter one of the same hue for a dark page.
var darkColours = []struct{ light, dark color.RGBA }{
	{background, color.RGBA{0x16, 0x1b, 0x22, 0xff}},
	{foreground, color.RGBA{0xe6, 0xed, 0xf3, 0xff}},
	{muted, color.RGBA{0x9d, 0xa7, 0xb3, 0xff}},
	{faint, color.RGBA{0x2d, 0x33, 0x3b, 0xff}},
	{blue, color.RGBA{0x4d, 0xa9, 0xe0, 0xff}},
	{vermillion, color.RGBA{0xf0, 0x8a, 0x45, 0xff}},
	{green, color.RGBA{0x2f, 0xc2, 0x98, 0xff}},
	{purple, color.RGBA{0xe0, 0x9a, 0xc2, 0xff}},
	{sky, color.RGBA{0x7c, 0xc7, 0xf2, 0xff}},
	{orange, color.RGBA{0xf2, 0xb5, 0x3a, 0xff}},
	{brown, color.RGBA{0xc2, 0x91, 0x5f, 0xff}},
}

// hex writes a colour as gonum's SVG canvas writes it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

func variableName(c color.RGBA) string { return strings.ToLower("--plot-" + hex(c)[1:]) }
