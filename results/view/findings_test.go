package view

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// foundSet has a finding of each verdict of a tested program, with what a hostile one says in it.
func foundSet() *results.Set {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, f := range []results.Finding{
		{ID: "check/program/fast-reader", Verdict: results.OK, Found: "1,000 B"},
		{
			ID: "check/program/late-reader", Verdict: results.Fails,
			Found: "cut at 65,536 B: what one pipe holds", Advice: "exit when all is written",
			Reproduce: "my-program | (sleep 1; wc -c)",
		},
		{
			ID: "check/program/socketpair", Verdict: results.Fails, Found: "says \x1b[2Jboo",
			Advice: "exit when all is written",
		},
		{ID: "check/program/buffer", Verdict: results.Slow, Found: "2 s late", Advice: "flush"},
		{ID: "check/program/terminal", Verdict: results.CannotTell, Found: "no terminals here"},
	} {
		f.Run = "run-1"
		f.About = []string{"my-program", "deaf exit 0"}
		f.Title = "something is done"
		s.Add(f)
	}
	return s
}

func writeFindings(t *testing.T, format Format, s *results.Set, o Options) string {
	t.Helper()
	var out strings.Builder
	if err := WriteFindings(&out, format, s, o); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("%s steers the terminal: %q", format, out.String())
	}
	return out.String()
}

func TestFindingsShowWhatIsWrongFirst(t *testing.T) {
	short := writeFindings(t, FormatTable, foundSet(), Options{Width: 100})
	first, rest, _ := strings.Cut(strings.Replace(short, "\n  ", " ", 1), "\n")
	want := `FAIL: 2 of 5 (1 cannot tell): late-reader: cut at 65,536 B: what one pipe holds; ` +
		`socketpair: says \x1b[2Jboo`
	if first != want {
		t.Errorf("first line %q, want %q", first, want)
	}
	for _, want := range []string{
		"late-reader, socketpair: exit when all is written.",
		"by hand: my-program | (sleep 1; wc -c)", "cannot tell", "ok: fast-reader",
	} {
		if !strings.Contains(rest, want) {
			t.Errorf("no %q in:\n%s", want, rest)
		}
	}
	if all := writeFindings(t, FormatTable, foundSet(), Options{Detail: true}); !strings.Contains(all, "1,000 B") {
		t.Errorf("with detail:\n%s", all)
	}
}

func TestFindingsForPrograms(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(writeFindings(t, FormatCSV, foundSet(), Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 6 || rows[0][0] != "id" || rows[1][0] != "check/program/late-reader" {
		t.Errorf("CSV: %q", rows)
	}
	var object struct {
		Passed   bool
		Findings []results.Finding
	}
	text := writeFindings(t, FormatJSON, foundSet(), Options{})
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	if object.Passed || len(object.Findings) != 5 {
		t.Errorf("JSON: %+v", object)
	}
	var suite junitSuite
	text = writeFindings(t, FormatJUnit, foundSet(), Options{})
	if err := xml.Unmarshal([]byte(text), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 5 || suite.Failures != 2 || suite.Skipped != 1 || len(suite.Cases) != 5 {
		t.Fatalf("%+v", suite)
	}
	late := suite.Cases[1]
	if late.Name != "late-reader" || late.Class != "pipebench.program" || late.Failure == nil ||
		late.Failure.Message != "cut at 65,536 B: what one pipe holds" {
		t.Errorf("%+v", late)
	}
}

// What could not be judged is no success.
func TestUndecidedFindingsAreNoSuccess(t *testing.T) {
	all := []results.Finding{{ID: "check/server/ids", Verdict: results.CannotTell}}
	if got := findingSummary(all); !strings.HasPrefix(got, "INCONCLUSIVE") {
		t.Errorf("summary %q", got)
	}
	if !AllUndecided(all) || AllUndecided(foundSet().Findings) {
		t.Error("AllUndecided is wrong")
	}
}

// The answer of an interrupted check says so once. It names what was not judged if that is not
// much, and otherwise leaves the names to the table.
func TestAnInterruptedCheckSaysSo(t *testing.T) {
	all := []results.Finding{{ID: "check/server/ids", Verdict: results.OK}}
	for _, row := range []struct{ name, want string }{
		{"batch", "1 of 2, cannot tell 1; batch: interrupted before this was judged"},
		{"cancel", "1 of 3, cannot tell 2; batch, cancel: interrupted before this was judged"},
		{"sigint", "1 of 4, cannot tell 3; batch, cancel, sigint: interrupted before this was " +
			"judged"},
		{"sigterm", "1 of 5, cannot tell 4; 4 not judged: interrupted before this was judged"},
	} {
		all = append(all, results.Finding{
			ID: "check/server/" + row.name, Verdict: results.CannotTell, Class: "interrupted",
			Found: "interrupted before this was judged",
		})
		if got := findingSummary(all); got != "INCOMPLETE: ok "+row.want {
			t.Errorf("summary %q, want %q", got, row.want)
		}
	}
}

// An interrupted check that has found a fault says what else it saw, and how much it did not judge.
func TestAnInterruptedCheckThatFailsSaysSo(t *testing.T) {
	const again = "interrupted before it was tried again alone"
	const never = "interrupted before this was judged"
	var all []results.Finding
	for _, f := range []results.Finding{
		{ID: "sigterm", Verdict: results.CannotTell, Class: "interrupted", Found: never},
		{ID: "batch", Verdict: results.Fails, Found: "no answer"},
		{ID: "ids", Verdict: results.OK},
		{ID: "cancel", Verdict: results.CannotTell, Found: "unknown"},
		{ID: "large-reply", Verdict: results.CannotTell, Class: "cut", Found: "cut; " + again},
		{ID: "sigint", Verdict: results.CannotTell, Class: "interrupted", Found: never},
	} {
		f.ID = "check/server/" + f.ID
		all = append(all, f)
	}
	const want = "FAIL: 1 of 6 (4 cannot tell): batch: no answer; sigterm, sigint: " + never +
		"; large-reply: cut; " + again
	if got := findingSummary(all); got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	for range 4 {
		all = append(all, all[0])
	}
	if got := findingSummary(all); !strings.Contains(got, "; 6 not judged: "+never+"; ") {
		t.Errorf("summary %q", got)
	}
}

// PASS is said only where nothing is left open. That a program runs at all, its reference, says
// nothing about the situations.
func TestFindingsSayPassOnlyWhereAllIsDecided(t *testing.T) {
	for _, row := range []struct {
		name      string
		verdicts  []results.Verdict // the first is of the reference
		summary   string
		undecided bool
		passed    bool
	}{
		{"all", []results.Verdict{"ok", "ok", "slow"}, "PASS: ok 2 of 3, slow 1", false, true},
		{"some", []results.Verdict{"ok", "ok", "cannot-tell"},
			"INCOMPLETE: ok 2 of 3, cannot tell 1", false, false},
		{"the reference", []results.Verdict{"ok", "cannot-tell", "cannot-tell"},
			"INCOMPLETE: ok 1 of 3, cannot tell 2", true, false},
		{"the reference, which alone was asked for", []results.Verdict{"ok"}, "PASS: ok 1 of 1",
			false, true},
		{"none", []results.Verdict{"cannot-tell", "cannot-tell"},
			"INCONCLUSIVE: none of 2 could be judged", true, false},
		{"one fails", []results.Verdict{"ok", "fails", "cannot-tell"},
			"FAIL: 1 of 3 (1 cannot tell): b: found",
			false, false},
		{"what may be wrong was seen", []results.Verdict{"ok", "ok", "ok", "cannot-tell"},
			"INCOMPLETE: ok 3 of 4, cannot tell 1; d: found", false, false},
	} {
		s := &results.Set{}
		for i, v := range row.verdicts {
			name := []string{"reference", "b", "c", "d"}[i]
			f := results.Finding{ID: "check/program/" + name, Verdict: v, Found: "found"}
			if name == "d" {
				f.Class = "cut"
			}
			s.Add(f)
		}
		if got := findingSummary(s.Findings); got != row.summary {
			t.Errorf("%s: %q, want %q", row.name, got, row.summary)
		}
		if got := AllUndecided(s.Findings); got != row.undecided {
			t.Errorf("%s: all undecided: %v", row.name, got)
		}
		var object struct{ Passed bool }
		if err := json.Unmarshal([]byte(writeFindings(t, FormatJSON, s, Options{})),
			&object); err != nil {
			t.Fatal(err)
		}
		if object.Passed != row.passed {
			t.Errorf("%s: passed: %v", row.name, object.Passed)
		}
	}
}

// Two checks of one command are told apart by their times; the check of another has its name.
func TestTwoChecksOfOneCommandAreToldApart(t *testing.T) {
	s := &results.Set{}
	for i, command := range []string{"server", "server", "other"} {
		e := resultstest.Environment()
		e.Run = fmt.Sprint("run ", i)
		e.Time = time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		s.Add(e)
		s.Add(results.Finding{Kind: results.KindFinding, Run: e.Run, ID: "check/server/ids",
			About: []string{command}, Verdict: results.OK})
	}
	want := []string{
		"server of 2026-01-02 03:04:00 UTC: PASS: ok 1 of 1.",
		"server of 2026-01-02 03:04:01 UTC: PASS: ok 1 of 1.",
		"other: PASS: ok 1 of 1.",
	}
	if got := findingSentences(s); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Claims are the sentences that people say, each with its verdict on a line; with detail, each is a
// paragraph with the reason.
func TestClaimsAreSentences(t *testing.T) {
	s := &results.Set{}
	for i, verdict := range []results.Verdict{results.Depends, results.Refuted, results.Holds,
		results.CannotTell, results.CannotTell} {
		s.Add(results.Finding{ID: fmt.Sprint("claim/000-a-long-name-", i), Verdict: verdict,
			Title: "A sentence of as many characters as fit beside a verdict, as most",
			Found: "the reason, which is long enough to need a second line of the terminal"})
	}
	short := writeFindings(t, FormatTable, s, Options{Width: 80})
	for _, want := range []string{
		"\n conditional  A sentence of as many characters as fit beside a verdict, as most\n",
		"\n2 cannot tell: the reason, which is long enough to need a second line of the\n",
		"why, with figures, names and macOS: --detail FILE\n",
	} {
		if !strings.Contains(short, want) {
			t.Errorf("no %q in:\n%s", want, short)
		}
	}
	long := writeFindings(t, FormatTable, s, Options{Width: 80, Detail: true})
	want := "\nconditional: A sentence of as many characters as fit beside a verdict, as most\n" +
		"  (000-a-long-name-0): the reason, which is long enough to need a second line of\n" +
		"  the terminal\n"
	if !strings.Contains(long, want) {
		t.Errorf("no %q in:\n%s", want, long)
	}
	if few := writeFindings(t, FormatTable, &results.Set{Findings: s.Findings[:1]},
		Options{}); !strings.Contains(few, "the reason") {
		t.Errorf("a claim that is asked for alone has no reason:\n%s", few)
	}
}

// A page and a report of a folder show findings beside everything else.
func TestFindingsInViewsOfASet(t *testing.T) {
	s := foundSet()
	s.Add(results.Finding{Run: "run-1", ID: "claim/000-capacity", Title: "A pipe holds 64 KiB",
		Verdict: results.Refuted, Found: "16 KiB"})
	var out strings.Builder
	if err := Write(&out, s, FormatTable, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"How programs behave", "Common claims", "16 KiB", "late-reader"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	var titles []string
	for _, section := range Sections(s) {
		titles = append(titles, section.ID)
	}
	if got := strings.Join(titles, " "); !strings.Contains(got, "check-findings") ||
		!strings.Contains(got, "claim-findings") {
		t.Errorf("sections %s", got)
	}
}
