package plots

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// ReportLimit is the size in bytes that a report stays under, so that it can
// be sent and opened anywhere. Charts beyond it are named, not drawn.
const ReportLimit = 2 << 20

// chartRoom is what the pictures may take of it; the rest is for the tables.
const chartRoom = ReportLimit / 2

// ReportOptions are what a report says beside its records. The zero value is
// a report without them.
type ReportOptions struct {
	Title   string   // "Pipes measured" where empty
	Sources []string // names of the files that the records are from
	Command string   // the command that makes the page again
}

// ErrEmpty is returned for a set that holds nothing a report could show.
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
	Sections []*section
	LeftOut  []string // and why
}

// Report writes one HTML page about a set: its machines, what its records mean,
// and a section for each kind of record it holds, with tables, pictures,
// warnings beside what they touch, and the command that reproduces each. The
// page has no script, and fetches nothing; it is for screens, dark ones too,
// and for print, and is smaller than [ReportLimit]. The same set gives the same
// page.
func Report(w io.Writer, set *results.Set, o ReportOptions) error {
	summary := view.Summarise(set)
	var content []byte
	for lines := maxTableRows; content == nil || len(content) >= ReportLimit; lines /= 2 {
		if lines == 0 {
			return fmt.Errorf("write report: %d bytes without a single row, where %d are allowed: report fewer files at once", len(content), ReportLimit)
		}
		var err error
		if content, err = newReporter(set, summary, lines).page(o); err != nil {
			return err
		}
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// page is the whole report.
func (r *reporter) page(o ReportOptions) ([]byte, error) {
	p := page{Title: cmp.Or(o.Title, "Pipes measured"), Lead: r.lead(), Sources: o.Sources, Command: o.Command, Sections: r.sections()}
	if len(p.Sections) == 0 {
		return nil, ErrEmpty
	}
	p.LeftOut = append(ByReason(r.omitted), r.leftOut...)
	p.Style = template.CSS(pageStyle) + "\n" + r.stylesheet.css() // both of this package's own making
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return out.Bytes(), nil
}

// A reporter gathers the sections of a report.
type reporter struct {
	set        *results.Set
	summary    view.Summary
	machines   []results.Environment // one a machine, the first of its runs
	stylesheet stylesheet
	maxRows    int // that a table has at the most
	svgBudget  int // bytes left for pictures
	omitted    []Omission
	leftOut    []string
}

func newReporter(set *results.Set, summary view.Summary, maxRows int) *reporter {
	r := &reporter{set: set, summary: summary, maxRows: maxRows, svgBudget: chartRoom}
	for _, id := range set.Machines() {
		for _, e := range set.Environments {
			if e.Machine == id {
				r.machines = append(r.machines, e)
				break
			}
		}
	}
	for _, p := range set.Problems {
		r.leftOut = append(r.leftOut, p.String())
	}
	return r
}

// sections are those that the set has records for, in the order in which a
// person asks: what does it mean, where was it, what was measured, found,
// broken.
func (r *reporter) sections() []*section {
	var found []*section
	for _, make := range []func() *section{
		r.measurements, r.sideBySide, r.chunkSizes, r.pipes, r.claims, r.faults, r.servers, r.recordings, r.noise,
	} {
		if s := make(); s != nil {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil
	}
	var out []*section
	for _, s := range []*section{r.answer(found), r.environments()} {
		if s != nil {
			out = append(out, s)
		}
	}
	return append(out, found...)
}

// lead says in a line what the page is about: a single machine by its name.
func (r *reporter) lead() string {
	var first, last time.Time
	for _, e := range r.set.Environments {
		if first.IsZero() || e.Time.Before(first) {
			first = e.Time
		}
		if e.Time.After(last) {
			last = e.Time
		}
	}
	when := ""
	if !first.IsZero() {
		when = first.UTC().Format("2 January 2006")
		if to := last.UTC().Format("2 January 2006"); to != when {
			when += " to " + to
		}
	}
	where := count(len(r.machines), "machine")
	if len(r.machines) == 1 {
		where = describeMachine(r.machines[0])
	}
	return joinParts(where, count(len(r.set.Environments), "run"), when)
}

// count writes a number of things, "" for none.
func count(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
