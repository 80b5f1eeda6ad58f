package view

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// findingsSet is one of each thing that is not a measurement.
func findingsSet(t *testing.T) *results.Set {
	t.Helper()
	s := &results.Set{}
	s.Add(resultstest.Environment())
	s.Add(resultstest.Rule{
		Run: "run-1", Step: "capacity/default", Value: 65536.0, Unit: "B",
		How: "F_GETPIPE_SZ", Documented: "65536 (pipe(7))", Agrees: new(true),
	}.Finding())
	for _, f := range []results.Finding{
		{ID: "failure/mixed-stdout", Verdict: results.Fails, Class: "broken", Found: "broken"},
		{
			ID: "claim/c1", Verdict: results.Depends, Found: "on the reader",
			Title: "chunks help",
		},
		{
			ID: "check/program/late-reader", Verdict: results.Fails, Found: "cut at 65,536 B",
			Title: "the reader starts late", About: []string{"cat"},
		},
	} {
		f.Run = "run-1"
		s.Add(f)
	}
	for _, l := range resultstest.Lines() {
		switch l.(type) {
		case results.Record, results.Environment:
		default:
			s.Add(l)
		}
	}
	return s
}

func TestViews(t *testing.T) {
	few := &results.Set{}
	few.Add(resultstest.Environment())
	few.Add(resultstest.Record(resultstest.Cell("raw", 256), 256, 100, 101))
	few.Add(resultstest.Record(resultstest.Cell("ndjson", 256), 257, 120, 121))
	for _, tt := range []struct {
		file, proves string
		set          *results.Set
		format       Format
		o            Options
	}{
		{"sweep.txt", "a table for each placement and for its round trips, sentences that follow from the figures, one warning and one unsupported cell", resultstest.Sweep(), FormatTable, Options{Detail: true}},
		{"screen.txt", "one block a placement, each figure against raw, sentences, and a line on a doubtful cell", resultstest.Sweep(), FormatTable, Options{}},
		{"sweep.md", "the same for a pull request", resultstest.Sweep(), FormatMarkdown, Options{}},
		{"sweep.csv", "one row a cell with all figures in base units", resultstest.Sweep(), FormatCSV, Options{}},
		{"sweep.json", "the summary as it is", resultstest.Sweep(), FormatJSON, Options{}},
		{"sweep.bench", "Go benchmark text, one line a sample", resultstest.Sweep(), FormatBench, Options{}},
		{"few.txt", "two samples give no interval, and nothing is claimed", few, FormatTable, Options{Detail: true}},
		{"findings.txt", "probes, faults, claims, targets, noise and messages have a table each",
			findingsSet(t), FormatTable, Options{}},
		{"findings.md", "the same in markdown, with a bar escaped", findingsSet(t), FormatMarkdown, Options{}},
		{"findings.csv", "without measurements, CSV holds the findingsSet", findingsSet(t), FormatCSV, Options{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, tt.set, tt.format, tt.o); err != nil {
				t.Fatal(err)
			}
			resultstest.Golden(t, tt.file, out.Bytes())
			if tt.format != FormatTable {
				return
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(line) - 1; n > 120 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

func TestNothingToShow(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, f := range Formats() {
		if err := Write(&bytes.Buffer{}, s, f, Options{}); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: got %v, want ErrNothing", f, err)
		}
	}
	s.Add(results.Record{Run: "run-1", Cell: resultstest.Cell("raw", 1), Unsupported: "no"})
	if err := Write(&bytes.Buffer{}, s, FormatBench, Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("bench of a cell without samples: got %v, want ErrNothing", err)
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestViewsPassOnTheWritersError(t *testing.T) {
	for _, f := range Formats() {
		if err := Write(fullDisk{}, resultstest.Sweep(), f, Options{}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want the disk's error", f, err)
		}
	}
}

func TestAnUnknownFormatIsRefused(t *testing.T) {
	if err := Write(&bytes.Buffer{}, resultstest.Sweep(), "yaml", Options{}); err == nil {
		t.Error("yaml was written")
	}
}

// What every cell is warned of stands once below the tables, not at every row.
func TestWarningsOfAllCellsAreSaidOnce(t *testing.T) {
	s := resultstest.Sweep()
	const all = "load: others kept about 0.4 of 2 CPUs busy; stop what else runs"
	const one = "2 of 6 samples lie far from the others"
	for i := range s.Records {
		s.Records[i].Warnings = []string{all}
	}
	s.Records[0].Warnings = []string{one, all}
	var text bytes.Buffer
	if err := Write(&text, s, FormatTable, Options{Detail: true}); err != nil {
		t.Fatal(err)
	}
	unwrapped := strings.Join(strings.Fields(text.String()), " ")
	if strings.Count(unwrapped, all) != 1 || strings.Contains(unwrapped, "in 17 of 17 cells") ||
		strings.Count(unwrapped, one) != 1 {
		t.Errorf("the table:\n%s", text.String())
	}
	text.Reset()
	if err := Write(&text, s, FormatCSV, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(text.String(), all); got != len(s.Records) {
		t.Errorf("%d rows of the CSV have it, want all", got)
	}
}

// The load of several runs is a range. Not every system tells it. Days and pooled figures are said,
// and how many runs were disturbed.
func TestTheTopTellsOfAllRuns(t *testing.T) {
	s := &results.Set{}
	for i, load := range []*float64{new(2.5), nil, new(0.25)} {
		e := resultstest.Environment()
		e.Run = fmt.Sprint("run-", i)
		e.Load1 = load
		e.Time = e.Time.AddDate(0, 0, i)
		s.Add(e)
		ns := resultstest.Around(1000, 0.01)
		r := resultstest.Record(resultstest.Cell("ndjson", 4000), 4001, ns...)
		r.Run = e.Run
		if i > 0 {
			const load = "load: other programs kept about 0.%d of 2 CPUs busy; close"
			r.Warnings = []string{fmt.Sprintf(load, i)}
		}
		s.Add(r)
	}
	var out bytes.Buffer
	if err := Write(&out, s, FormatTable, Options{}); err != nil {
		t.Fatal(err)
	}
	first := resultstest.Time.Format("2006-01-02")
	last := resultstest.Time.AddDate(0, 0, 2).Format("2006-01-02")
	want := "3 runs · " + first + " to " + last + " · figures pooled over runs · " +
		"load 0.25 to 2.50 Other programs kept CPUs busy in 2 of 3 runs."
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}
