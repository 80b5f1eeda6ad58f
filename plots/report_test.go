package plots

import (
	"bytes"
	"errors"
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

// runPage is the report of a run, written once for all tests.
func runPage(t *testing.T) string {
	t.Helper()
	onRun.Do(func() { onRun.page = pageOf(t, testSet(), ReportOptions{}) })
	return onRun.page
}

var onRun struct {
	sync.Once
	page string
}

var sectionID = regexp.MustCompile(`<section id="([^"]*)">`)

func sectionsOf(page string) []string {
	var out []string
	for _, m := range sectionID.FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// allSections are those of a set with every kind of record.
var allSections = []string{"answer", "measurements", "servers", "recording",
	"rule-findings", "claim-findings", "machines"}

// A chart of a section that no page has would never be seen.
func TestEveryChartHasItsPlaceOnAPage(t *testing.T) {
	for _, k := range kinds {
		if !slices.Contains(allSections, k.section) {
			t.Errorf("no page has the section %s", k.section)
		}
	}
}

func TestSectionsAreThoseThatHaveRecords(t *testing.T) {
	environments := []results.Environment{testMachine("run-1", "linux")}
	for _, tt := range []struct {
		name string
		set  *results.Set
		want []string
	}{
		{"a run", testSet(), []string{"answer", "measurements", "machines"}},
		{"measurements without an environment", &results.Set{Records: testStreams("lost", 1, 1)}, []string{"answer", "measurements"}},
		{"rules", &results.Set{Environments: environments, Findings: testRules()},
			[]string{"answer", "rule-findings", "machines"}},
		{"claims", &results.Set{Environments: environments, Findings: testClaims()},
			[]string{"answer", "claim-findings", "machines"}},
		{"targets", &results.Set{Environments: environments, Targets: testTargets()}, []string{"answer", "servers", "machines"}},
		{"a recording", &results.Set{Environments: environments, Messages: testTraffic()}, []string{"answer", "recording", "machines"}},
		{"a recording that is whole", &results.Set{Environments: environments, Messages: testTraffic(), Targets: testEnding()}, []string{"answer", "recording", "machines"}},
		{"a recording of nothing", &results.Set{Environments: environments, Targets: testEnding()},
			[]string{"answer", "machines"}},
		{"a cell that is unsupported", &results.Set{Environments: environments, Records: []results.Record{{Run: "run-1", Cell: testCell("raw", 1, "far", "stream"), Unsupported: "no"}}}, []string{"answer", "measurements", "machines"}},
		{"a skipped line", &results.Set{Environments: environments, Findings: testClaims(),
			Problems: []results.Problem{{File: "a.jsonl", Line: 7}}},
			[]string{"answer", "claim-findings", "machines", "left-out"}},
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
		"the CPU&#39;s frequency was scaled", // a warning
		"unsupported: this machine has one last-level cache",
		"pipebench run --seed 7",       // the command of a run
		"45066 B",                      // a probe to the byte
		"45066 B; documented: 65552 B", // which differs from the documented rule
		`<td class="bad">refuted</td>`, // a verdict in words and colour
		"10,485,759 B",                 // a server's limit
		"grows faster than linear",
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
		{nil, "<h1>server ended after"},
	} {
		page := pageOf(t, &results.Set{Messages: row.traffic, Targets: testEnding()}, ReportOptions{})
		for _, want := range []string{"server ended after 1.50 s: signal SIGKILL", row.answer} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not have %q", want)
			}
		}
	}
}

// What drive found decides: it measures growth in small pipes, too, of which the file has no sizes,
// and it knows how sure it is.
func TestReportSaysOfGrowthWhatDriveFound(t *testing.T) {
	grown := func(capacity int, slope, lo float64) results.Target {
		return results.Target{Run: "run-1", Command: testTargets()[0].Command, Verdict: "ok", Evidence: results.TargetEvidence{
			Capacity: capacity,
			Growth: &results.GrowthEvidence{Slope: slope, SlopeLo: new(lo),
				SlopeHi: new(2*slope - lo), From: 65536, To: 8 << 20, Points: 8},
		}}
	}
	for _, row := range []struct {
		targets []results.Target
		want    []string
	}{
		{append(testTargets(), grown(65536, 1.1, 1.05), grown(4096, 1.49, 1.17)), []string{
			"node server.js stdio: time is linear (exponent 1.10 [1.05, 1.15]) from 64 KiB to 8 MiB in 64 KiB pipes.",
			"node server.js stdio: time grows with exponent 1.49 [1.17, 1.81] from 64 KiB to 8 MiB in 4 KiB pipes: faster than linear.",
		}},
		{[]results.Target{grown(0, 1.4, 0.9)}, []string{"node server.js stdio: time grows with exponent 1.40 [0.90, 1.90] from 64 KiB to 8 MiB: may grow faster than linear, but the interval reaches 1."}},
	} {
		page := pageOf(t, &results.Set{Targets: row.targets}, ReportOptions{})
		for _, want := range row.want {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not have %q", want)
			}
		}
		if n := strings.Count(page, "node server.js stdio: time "); n != len(row.want) {
			t.Errorf("%d sentences on growth, want %d", n, len(row.want))
		}
	}
}

// TestReportFetchesNothing looks for what could make a browser load anything, or run anything but
// the page's own script.
func TestReportFetchesNothing(t *testing.T) {
	page := fullPage(t)
	if n := strings.Count(page, "<script"); n != 1 || !strings.Contains(page, "<script>"+pageScript+"</script>") {
		t.Errorf("%d scripts", n)
	}
	if len(pageScript)+len(pageStyle) > 20<<10 {
		t.Errorf("%d bytes of script and style", len(pageScript)+len(pageStyle))
	}
	page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
	page = strings.Replace(page, pageScript, "", 1)
	for _, forbidden := range []string{"<script ", "<link rel=\"stylesheet", "<img", "<iframe", "@import", "url(", "src=", "http://", "https://", "javascript:", " onload="} {
		if i := strings.Index(page, forbidden); i >= 0 {
			t.Errorf("the page has %q: …%s…", forbidden, page[max(0, i-60):min(len(page), i+60)])
		}
	}
}

func TestReportIsTheSameEveryTime(t *testing.T) {
	first := runPage(t)
	if second := pageOf(t, testSet(), ReportOptions{}); first != second {
		t.Error("two reports of one set differ")
	}
}

// TestReportStaysSmall gives a report more charts and rows than a page can hold.
func TestReportStaysSmall(t *testing.T) {
	set := testSet()
	for i := range 40 {
		for _, r := range testStreams("run-1", uint64(i), 1) {
			r.Cell.Batch = i + 2
			set.Records = append(set.Records, r)
		}
	}
	page := pageOf(t, set, ReportOptions{})
	if !strings.Contains(page, "more panels are left out") ||
		!strings.Contains(page, " rows more in the file") {
		t.Error("nothing is said of what was left out")
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
	if err := Report(brokenWriter{full}, &results.Set{Findings: testClaims()},
		ReportOptions{}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// What other programs are called neither steers a terminal that shows a page, nor breaks a picture.
func TestNamesOfStrangersAreEscaped(t *testing.T) {
	const hostile = "a\x1b[2J\x07\r\x7f\u0085\u202e\xff<b"
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}, Targets: testTargets(), Messages: testTraffic()}
	for i := range set.Targets {
		set.Targets[i].Command = []string{hostile}
		if set.Targets[i].Verdict != "ok" {
			set.Targets[i].Verdict = hostile
		}
	}
	for i := range set.Messages {
		set.Messages[i].Method = hostile
	}
	set.Environments[0].Hostname = hostile
	if page := pageOf(t, set, ReportOptions{Title: hostile}); strings.ContainsAny(page, "\x1b\x07\r\x7f\u0085\u202e") || !strings.Contains(page, `a\x1b[2J\x07\x0d\x7f\u0085\u202e\xff&lt;b`) {
		t.Error("the page is not plain")
	}
	charts := Charts(set)
	for _, c := range charts {
		drawn(t, c)
		svg, err := c.SVG()
		if err != nil || strings.ContainsAny(string(svg), "\x1b\x07\r\x7f\u0085\u202e") {
			t.Errorf("%s is not plain: %v", c.Name, err)
		}
	}
}

// The page of tune says what tune's screen says, and the picture of waits does not title it.
func TestThePageOfTuneHasItsAdvice(t *testing.T) {
	set := fullSet()
	set.Add(results.Finding{Kind: results.KindFinding, ID: "tune/sending", Title: "How to send",
		Verdict: results.CannotTell,
		Found:   "Chunk frames gain nothing.\nChange nothing until you know."})
	var page strings.Builder
	if err := Report(&page, set, ReportOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h1>How to send: not proven</h1>", "<p>Chunk frames gain nothing.</p>",
		"<p>Change nothing until you know.</p>",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// A table has its texts, escaped and not too long, and no empty column.
func TestTableOfAPage(t *testing.T) {
	table := view.Table{Title: "Faults", Columns: []view.Column{
		{Title: "fault", Style: view.Code},
		{Title: "verdict", Style: view.Verdict},
		{Title: "bytes", Right: true},
		{Title: "empty"},
		{Title: "why", Style: view.Long},
	}}
	const most = 1000
	table.AppendValues(view.Value{Text: "a<b"}, view.Value{Text: "holds", Tone: view.Good},
		view.Value{Text: "12 B", Base: "12"}, view.Value{}, view.Value{Text: "long"})
	table.AppendValues(view.Value{Text: "c"}, view.Value{Text: "broken", Tone: view.Bad},
		view.Value{}, view.Value{},
		view.Value{Text: strings.Repeat("x", 2*most), Base: strings.Repeat("x", 2*most)})
	var out strings.Builder
	if err := pageTemplate.ExecuteTemplate(&out, "table", table.ForPage()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<caption>Faults</caption>",
		`<td class="code"><code>a&lt;b</code></td><td class="good">holds</td>` +
			`<td class="right" data-v="12">12 B</td>`,
		`<td class="bad">broken</td><td class="right"></td>`,
		`<th scope="col" class="right">bytes</th>`,
		`<td class="long"><div>` + strings.Repeat("x", most) + "…</div></td>",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "empty") {
		t.Errorf("an empty column:\n%s", out.String())
	}
}
