package view

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// checkedSet holds a check of each verdict, with what a hostile program says in it.
func checkedSet() *results.Set {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, c := range []results.Check{
		{Name: "fast-reader", Verdict: results.CheckOK, Found: "1,000 B"},
		{Name: "late-reader", Verdict: results.CheckFails, Found: "cut at 65,536 B: what one pipe holds", Advice: "exit when all is written", Reproduce: "my-program | (sleep 1; wc -c)"},
		{Name: "socketpair", Verdict: results.CheckFails, Found: "says \x1b[2Jboo", Advice: "exit when all is written"},
		{Name: "block-buffer", Verdict: results.CheckSlow, Found: "lines come 2 s late", Advice: "flush"},
		{Name: "terminal", Verdict: results.CheckCannotTell, Found: "no terminals here"},
	} {
		c.Run, c.Side, c.Command, c.How = "run-1", "program", []string{"my-program"}, "something is done"
		s.Add(c)
	}
	return s
}

func checksAs(t *testing.T, format Format, o Options) string {
	t.Helper()
	var out strings.Builder
	if err := WriteChecks(&out, format, checkedSet(), o); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("%s steers the terminal: %q", format, out.String())
	}
	return out.String()
}

func TestChecksShowWhatIsWrongFirst(t *testing.T) {
	short := checksAs(t, FormatTable, Options{})
	first, rest, _ := strings.Cut(short, "\n")
	if want := `FAIL: 2 of 5: late-reader: cut at 65,536 B: what one pipe holds; socketpair: says \x1b[2Jboo`; first != want {
		t.Errorf("first line %q, want %q", first, want)
	}
	for _, want := range []string{
		"late-reader, socketpair: exit when all is written.", "by hand: my-program | (sleep 1; wc -c)",
		"cannot tell", "ok: fast-reader",
	} {
		if !strings.Contains(rest, want) {
			t.Errorf("no %q in:\n%s", want, rest)
		}
	}
	if all := checksAs(t, FormatTable, Options{Detail: true}); !strings.Contains(all, "1,000 B") {
		t.Errorf("with detail:\n%s", all)
	}
	for _, f := range []Format{FormatMarkdown, FormatCSV, FormatJSON} {
		if got := checksAs(t, f, Options{}); !strings.Contains(got, "cut at 65,536 B") {
			t.Errorf("%s:\n%s", f, got)
		}
	}
}

func TestChecksAsJUnit(t *testing.T) {
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(checksAs(t, FormatJUnit, Options{})), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 5 || suite.Failures != 2 || suite.Skipped != 1 || len(suite.Cases) != 5 {
		t.Fatalf("%+v", suite)
	}
	if c := suite.Cases[1]; c.Failure == nil || c.Failure.Message != "cut at 65,536 B: what one pipe holds" || suite.Cases[4].Skipped == nil {
		t.Errorf("%+v", suite.Cases)
	}
}

// A page of one command begins with what fails, and has no column that says the same in every row. What
// ended with code 0 as it should is not said to have left silently.
func TestThePageOfACheckBeginsWithWhatFails(t *testing.T) {
	set := &results.Set{}
	for _, c := range []results.Check{
		{Name: "end-idle", Verdict: results.CheckOK, Found: "left after 5.90 ms: exit 0"},
		{Name: "batch", Verdict: results.CheckCannotTell, Found: "no batches"},
		{Name: "ids", Verdict: results.CheckFails, Found: "deaf"},
	} {
		c.Kind, c.Side, c.Command = results.KindCheck, "server", []string{"server"}
		set.Add(c)
	}
	table := checkTable(set)
	var names, found []string
	for _, row := range table.Rows {
		for i, column := range table.Columns {
			switch column.Title {
			case "situation":
				names = append(names, row[i].Text)
			case "found":
				found = append(found, row[i].Text)
			case "command", "side":
				if column.Only != DataOnly {
					t.Errorf("%s is shown, and the same in every row", column.Title)
				}
			}
		}
	}
	if want := []string{"ids", "batch", "end-idle"}; !slices.Equal(names, want) {
		t.Errorf("rows %v, want %v", names, want)
	}
	if want := []string{"no reply, process alive", "no batches", "left after 5.90 ms: code 0"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
