package plots

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// pageOf writes the report of a set.
func pageOf(t *testing.T, set *results.Set, o ReportOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := Report(&out, set, o); err != nil {
		t.Fatal(err)
	}
	if out.Len() >= ReportLimit {
		t.Errorf("the page has %d bytes, over its limit", out.Len())
	}
	return out.String()
}

// fullPage is the report of everything, written once for all tests.
func fullPage(t *testing.T) string {
	t.Helper()
	page, err := writeFullPage()
	if err != nil {
		t.Fatal(err)
	}
	return page
}

var writeFullPage = sync.OnceValues(func() (string, error) {
	var out bytes.Buffer
	err := Report(&out, fullSet(), ReportOptions{Title: "A <fleet>", Sources: []string{"a/results.jsonl"}, Command: "pipebench report a/results.jsonl"})
	return out.String(), err
})

var sectionID = regexp.MustCompile(`<section id="([^"]*)">`)

func sectionsOf(page string) []string {
	var out []string
	for _, m := range sectionID.FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// allSections are those of a set with every kind of record.
var allSections = []string{"answer", "machines", "measurements", "side-by-side", "chunk-size", "pipes", "claims", "faults", "servers", "recording", "noise"}

func TestSectionsAreThoseThatHaveRecords(t *testing.T) {
	environments := []results.Environment{testMachine("run-1", "linux")}
	for _, tt := range []struct {
		name string
		set  *results.Set
		want []string
	}{
		{"a run", testSet(), []string{"answer", "machines", "measurements"}},
		{"measurements without an environment", &results.Set{Records: testStreams("lost", 1, 1)}, []string{"answer", "measurements"}},
		{"probes", &results.Set{Environments: environments, Probes: testProbes()}, []string{"answer", "machines", "pipes"}},
		{"claims", &results.Set{Environments: environments, Claims: testClaims()}, []string{"answer", "machines", "claims"}},
		{"faults", &results.Set{Environments: environments, Faults: testFaults()}, []string{"answer", "machines", "faults"}},
		{"targets", &results.Set{Environments: environments, Targets: testTargets()}, []string{"answer", "machines", "servers"}},
		{"tune", &results.Set{Environments: environments, Tunes: testTunes()}, []string{"answer", "machines", "chunk-size"}},
		{"noise", &results.Set{Environments: environments, Noise: testNoise()}, []string{"answer", "machines", "noise"}},
		{"a recording", &results.Set{Environments: environments, Messages: testTraffic()}, []string{"answer", "machines", "recording"}},
		{"a recording that is whole", &results.Set{Environments: environments, Messages: testTraffic(), Targets: testEnding()}, []string{"answer", "machines", "recording"}},
		{"a recording of nothing", &results.Set{Environments: environments, Targets: testEnding()}, []string{"answer", "machines", "recording"}},
		{"a cell that is unsupported", &results.Set{Environments: environments, Records: []results.Record{{Run: "run-1", Cell: testCell("raw", 1, "far", "stream"), Unsupported: "no"}}}, []string{"answer", "machines", "measurements"}},
		{"a skipped line", &results.Set{Environments: environments, Noise: testNoise(), Problems: []results.Problem{{File: "a.jsonl", Line: 7}}}, []string{"answer", "machines", "noise", "left-out"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := sectionsOf(pageOf(t, tt.set, ReportOptions{})); !slices.Equal(got, tt.want) {
				t.Errorf("sections %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReportHoldsWhatTheRecordsSay(t *testing.T) {
	page := fullPage(t)
	if got := sectionsOf(page); !slices.Equal(got, allSections) {
		t.Errorf("sections %q, want %q", got, allSections)
	}
	for _, want := range []string{
		"<title>A &lt;fleet&gt;</title>",
		"a/results.jsonl",
		"pipebench report a/results.jsonl",
		"linux/amd64", "darwin/arm64", "Apple M9", // machines side by side
		"⚠ the CPU&#39;s frequency was scaled", // a warning by its row
		"unsupported: this machine has one last-level cache",
		"pipebench run --seed 7",       // the command of a run
		"use 16 KiB",                   // tune's advice
		"45066 B",                      // a probe to the byte
		"differs",                      // from the documented rule
		`<td class="bad">refuted</td>`, // a verdict in words and colour
		"10485759",                     // a server's limit
		"grows faster than linear",
		"pipebench run --scenario both-write-first",
		"over 64 KiB",
		"epipe: 5.20 µs",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<script>alert(1)") {
		t.Error("a record's text became markup")
	}
}

func TestReportSaysHowARecordedServerEnded(t *testing.T) {
	for _, row := range []struct {
		traffic []results.Message
		answer  string
	}{
		{testTraffic(), "The recording has "},
		{nil, "A recording: 1 sentence"},
	} {
		page := pageOf(t, &results.Set{Messages: row.traffic, Targets: testEnding()}, ReportOptions{})
		for _, want := range []string{"server ended after 1.50 s: signal SIGKILL.", row.answer} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not have %q", want)
			}
		}
	}
}

// What drive found decides: it measures growth in small pipes, too, of which
// the file has no sizes, and it knows how sure it is.
func TestReportSaysOfGrowthWhatDriveFound(t *testing.T) {
	grown := func(capacity int, slope, lo float64) results.Target {
		return results.Target{Run: "run-1", Command: testTargets()[0].Command, Verdict: "ok", Evidence: map[string]any{
			"slope": slope, "slope_lo": lo, "slope_hi": 2*slope - lo, "from": 65536, "to": float64(8 << 20), "capacity": capacity, "points": 8,
		}}
	}
	for _, row := range []struct {
		targets []results.Target
		want    []string
	}{
		{testTargets(), []string{"From 64 KiB on, the time of node server.js stdio grows "}},
		{append(testTargets(), grown(65536, 1.1, 1.05), grown(4096, 1.49, 1.17)), []string{
			"From 64 KiB to 8 MiB in 64 KiB pipes, the time of node server.js stdio grows no faster than linear: as size to the power of 1.10 [1.05, 1.15].",
			"From 64 KiB to 8 MiB in 4 KiB pipes, the time of node server.js stdio grows faster than linear: as size to the power of 1.49 [1.17, 1.81].",
		}},
		{[]results.Target{grown(0, 1.4, 0.9)}, []string{"From 64 KiB to 8 MiB, the time of node server.js stdio grows perhaps faster than linear: as size to the power of 1.40 [0.90, 1.90]."}},
	} {
		page := pageOf(t, &results.Set{Targets: row.targets}, ReportOptions{})
		for _, want := range row.want {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not have %q", want)
			}
		}
		if n := strings.Count(page, "as size to the power of"); n != len(row.want) {
			t.Errorf("%d sentences on growth, want %d", n, len(row.want))
		}
	}
}

// TestReportFetchesNothing looks for what could make a browser load or run
// anything.
func TestReportFetchesNothing(t *testing.T) {
	page := fullPage(t)
	for _, forbidden := range []string{"<script", "<link rel=\"stylesheet", "<img", "<iframe", "@import", "url(", "src=", "http://", "https://", "javascript:", " onload="} {
		if i := strings.Index(page, forbidden); i >= 0 {
			t.Errorf("the page has %q: …%s…", forbidden, page[max(0, i-60):min(len(page), i+60)])
		}
	}
}

func TestReportIsTheSameEveryTime(t *testing.T) {
	first := pageOf(t, testSet(), ReportOptions{})
	if second := pageOf(t, testSet(), ReportOptions{}); first != second {
		t.Error("two reports of one set differ")
	}
}

// TestReportStaysSmall gives a report more charts and rows than a page can
// hold.
func TestReportStaysSmall(t *testing.T) {
	set := testSet()
	for i := range 40 {
		for _, r := range testStreams("run-1", uint64(i), 1) {
			r.Cell.Batch = i + 2
			set.Records = append(set.Records, r)
		}
	}
	page := pageOf(t, set, ReportOptions{})
	if !strings.Contains(page, "the page would be too large") || !strings.Contains(page, "more rows are in the file") {
		t.Error("nothing is said of what was left out")
	}
}

func TestReportOfThreeMachinesHasThreeColumns(t *testing.T) {
	set := &results.Set{}
	for i, os := range []string{"linux", "darwin", "windows"} {
		run := fmt.Sprintf("run-%d", i)
		set.Environments = append(set.Environments, testMachine(run, os))
		set.Records = append(set.Records, testStreams(run, uint64(i), 1+float64(i))...)
	}
	r := newReporter(set, view.Summarise(set), maxTableRows)
	g := r.comparison("stream")
	var got []string
	for _, c := range g.Columns {
		got = append(got, c.Title)
	}
	if want := []string{"framing", "message", "placement", "linux/amd64", "darwin/arm64", "windows/amd64"}; !slices.Equal(got, want) {
		t.Errorf("columns %q, want %q", got, want)
	}
	if len(g.Rows) != 2*5*4 {
		t.Errorf("%d rows", len(g.Rows))
	}
	for _, row := range g.Rows {
		for _, c := range row.Cells[3:] {
			if c.Text == "" || c.Small == "" {
				t.Fatalf("a row without its figures: %v", row)
			}
		}
	}
}

// A column a machine, with what each one says where they differ.
func TestClaimsOfThreeMachinesStandSideBySide(t *testing.T) {
	set := &results.Set{}
	for i, os := range []string{"linux", "darwin", "windows"} {
		run := fmt.Sprintf("run-%d", i)
		set.Environments = append(set.Environments, testMachine(run, os))
		set.Claims = append(set.Claims,
			results.Claim{Run: run, Seed: "000", ID: "000-cost", Claim: "It costs nothing", Verdict: "refuted", Figure: "1.2", Why: "it does"},
			results.Claim{Run: run, Seed: "000", ID: "000-buf", Claim: "A pipe holds 64 KiB", Verdict: []string{"holds", "depends", "refuted"}[i], Figure: []string{"64 KiB", "16 KiB", "4 KiB"}[i]})
	}
	set.Claims = append(set.Claims, results.Claim{Run: "run-0", Seed: "000", ID: "000-buf", Claim: "A pipe holds 64 KiB", Verdict: "depends", Figure: "1 MiB"})
	g := newReporter(set, view.Summarise(set), maxTableRows).claimGrid()
	var got [][]string
	for _, row := range g.Rows {
		var texts []string
		for _, c := range row.Cells {
			texts = append(texts, c.Text)
		}
		got = append(got, texts)
	}
	want := [][]string{
		{"000", "000-buf", "A pipe holds 64 KiB", "holds", "depends", "refuted", "linux/amd64: 64 KiB · darwin/arm64: 16 KiB · windows/amd64: 4 KiB", ""},
		{"000", "000-buf", "A pipe holds 64 KiB", "depends", "", "", "1 MiB", ""},
		{"000", "000-cost", "It costs nothing", "refuted", "refuted", "refuted", "1.2", "it does"},
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("rows\n%q\nwant\n%q", got, want)
	}
	if len(g.Columns) != 8 || g.Columns[3].Title != "linux/amd64" {
		t.Errorf("columns %+v", g.Columns)
	}
}

// The answer is in sentences whatever the files hold.
func TestTheAnswerIsInSentences(t *testing.T) {
	environments := []results.Environment{testMachine("run-1", "linux")}
	agrees := true
	for _, tt := range []struct {
		name string
		set  *results.Set
		want string
	}{
		{"faults", &results.Set{Faults: testFaults()}, "Of 3 cases of failures played through: deadlock 1, slow 1, EPIPE after 5.2 µs 1."},
		{"probes", &results.Set{Probes: []results.Probe{{Run: "run-1", Step: "a", Agrees: &agrees}, {Run: "run-1", Step: "b"}}}, "2 rules were found by experiment. 1 agree with what is documented for the system, 0 differ, 1 have no documented rule."},
		{"figures that nobody documents", &results.Set{Probes: []results.Probe{{Run: "run-1", Step: "memory"}}}, "1 figure by experiment, for which no rule is documented."},
		{"a recording", &results.Set{Messages: []results.Message{{Run: "run-1", Dir: "request", Size: 10}, {Run: "run-1", Dir: "request", Size: 2048}, {Run: "run-1", Dir: "reply", Size: 5}}}, "The recording has 2 messages to the server and 1 from it, the largest of 2 KiB."},
		{"a tune that could not tell", &results.Set{Tunes: undecidedRun("run-1")}, "For a chunk size on this machine, 1 run could not tell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.set.Environments = environments
			s := newReporter(tt.set, view.Summarise(tt.set), maxTableRows).answer(nil)
			if len(s.Lead) != 1 || !strings.HasPrefix(s.Lead[0], tt.want) {
				t.Errorf("got %q, want %q", s.Lead, tt.want)
			}
		})
	}
}

// What disturbs a machine is no way in which stdio fails, and each fault names
// a command that there is.
func TestFaultsAreReproducedByTheirOwnCommand(t *testing.T) {
	set := &results.Set{Faults: []results.Fault{
		{Run: "run-1", ID: "reader-gone/pipe", Verdict: "noticed"},
		{Run: "run-2", ID: "environment/load", Verdict: "the load average was 9", Advice: "stop what else runs"},
		{Run: "run-3", ID: "no-initialize", Verdict: "stuck"},
		{Run: "run-4", ID: "split-utf8/strict", Verdict: "sound"},
	}}
	for i, command := range []string{"pipebench run --scenario reader-gone,full-pipe", "pipebench doctor", "pipebench drive --faults -- server", "pipebench claims"} {
		e := testMachine(fmt.Sprintf("run-%d", i+1), "linux")
		e.Command = command
		set.Environments = append(set.Environments, e)
	}
	r := newReporter(set, view.Summarise(set), maxTableRows)
	var got []string
	for _, row := range r.faults().Tables[0].Rows {
		got = append(got, row.Cells[len(row.Cells)-1].Text)
	}
	if want := []string{"pipebench run --scenario reader-gone", "pipebench drive --faults -- server", "pipebench run --scenario split-utf8"}; !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
	if s := r.noise(); s == nil || len(s.Tables) != 1 || s.Tables[0].Rows[0].Cells[0].Text != "load" || !slices.Equal(s.Commands, []string{"pipebench doctor"}) {
		t.Errorf("what disturbs the machine: %+v", s)
	}
}

// A server that only tap stood before has no sizes and no limits, and is shown
// all the same.
func TestAServerWithoutLimitsIsShown(t *testing.T) {
	set := &results.Set{
		Environments: []results.Environment{testMachine("run-1", "linux")},
		Targets:      []results.Target{{Run: "run-1", Command: []string{"server"}, Protocol: "lines", Verdict: "exit 0", Evidence: map[string]any{"slope": 0.9692440311041215, "bytes": 1048577.0}}},
	}
	s := newReporter(set, view.Summarise(set), maxTableRows).servers()
	if len(s.Tables) != 1 || s.Tables[0].Caption != "As a whole" {
		t.Fatalf("tables %+v", s.Tables)
	}
	cells := s.Tables[0].Rows[0].Cells
	if evidence := cells[len(cells)-1].Text; evidence != "bytes: 1048577 · slope: 0.969" {
		t.Errorf("evidence %q", evidence)
	}
}

func TestReportOfNothing(t *testing.T) {
	err := Report(&bytes.Buffer{}, &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}, ReportOptions{})
	if !errors.Is(err, ErrEmpty) {
		t.Errorf("got %v", err)
	}
}

func TestReportThatCannotBeWritten(t *testing.T) {
	full := errors.New("no space left")
	if err := Report(brokenWriter{full}, &results.Set{Claims: testClaims()}, ReportOptions{}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
