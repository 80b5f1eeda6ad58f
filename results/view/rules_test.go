package view_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// on is a set with what one machine found of anonymous pipes.
func on(machine string, found ...results.Probe) *results.Set {
	set := &results.Set{Environments: []results.Environment{{Run: "run " + machine, Machine: machine, OS: "linux", Arch: "amd64", Hostname: machine}}}
	for _, p := range found {
		p.Kind, p.Run, p.Pipe = results.KindProbe, "run "+machine, "anonymous"
		set.Probes = append(set.Probes, p)
	}
	return set
}

// documented is a system with rules, of which macos and freebsd predict that a slot has a byte.
func documented(name string) view.DocumentedSystem {
	predicted := map[string]map[string]any{"macos": {"slot": 1, "full/write": "EAGAIN"}, "freebsd": {"slot": 1}}[name]
	return view.DocumentedSystem{
		Name: name,
		Predict: func(step string) (any, bool) {
			value, ok := predicted[step]
			return value, ok
		},
		Rules: []view.DocumentedRule{{About: "broken", Says: "ERROR_NO_DATA", Source: "its manual"}},
	}
}

var (
	yes, no  = true, false
	agreeing = results.Probe{Step: "slot", Value: 4096.0, Unit: "B", How: "read", Documented: "4096 B (fs/pipe.c)", Agrees: &yes}
	contrary = results.Probe{Step: "all-or-nothing", Value: 8192.0, Unit: "B", How: "bisect", Documented: "4096 B (fs/pipe.c)", Agrees: &no}
	quoted   = results.Probe{Step: "broken/after-0/notice", Value: 1500.0, Unit: "ns", How: "close", Documented: "EPIPE and SIGPIPE (fs/pipe.c)"}
	unruled  = results.Probe{Step: "limit/user-pages-hard", Value: 0.0, Unit: "pages", How: "read"}
	hanging  = results.Probe{Step: "deadlock", Value: "hangs", How: "killed"}
)

func TestAPageSaysHowEachFindingStands(t *testing.T) {
	text := written(t, view.RulesPage(on("a", agreeing, contrary, quoted, unruled, hanging)), view.FormatTable)
	for _, row := range []struct{ name, want string }{
		{"agreement, with the source as a note", "agrees [1]"},
		{"the note", "[1] fs/pipe.c"},
		{"what was predicted instead", "DIFFERS from 4096 B [1]"},
		{"a rule without a value is quoted", "[2] EPIPE and SIGPIPE (fs/pipe.c)"},
		{"no rule", "not documented"},
		{"a time in its unit", "1.50 µs"},
		{"the sum", "5 findings; 1 agree with the documented rules, 1 differ (all-or-nothing)"},
		{"what hung", "No result: deadlock hangs"},
		{"the experiment", "bisect"},
	} {
		if !strings.Contains(text, row.want) {
			t.Errorf("%s: no %q in\n%s", row.name, row.want, text)
		}
	}
}

func TestFillingsShareATable(t *testing.T) {
	part := results.Probe{Step: "short-write/2049", Value: 5.0, Unit: "B", Documented: "0 B (fs/pipe.c)", Agrees: &no}
	whole := results.Probe{Step: "capacity/fill/2049", Value: 32784.0, Unit: "B", Documented: "32784 B (fs/pipe.c)", Agrees: &yes}
	more := results.Probe{Step: "one-byte-after/2049", Value: true}
	v := view.RulesPage(on("a", whole, part, more))
	if len(v.Tables) != 1 || len(v.Tables[0].Rows) != 1 {
		t.Fatalf("tables %+v, want one of one row", v.Tables)
	}
	want := []string{"2049 B", "32784 B", "5 B", "yes", "-", "agrees [1], short-write DIFFERS from 0 B [1], not documented"}
	for i, c := range v.Tables[0].Rows[0] {
		if c.Text != want[i] {
			t.Errorf("column %d: got %q, want %q", i, c.Text, want[i])
		}
	}
}

func TestMachinesStandSideBySide(t *testing.T) {
	small := results.Probe{Step: "slot", Value: 4096.0, Unit: "B"}
	large := results.Probe{Step: "slot", Value: 65536.0, Unit: "B"}
	alone := results.Probe{Step: "full/write", Value: "EAGAIN"}
	v := view.RulesBeside(results.Merge(on("a", small, alone, quoted), on("b", large, quoted)), []view.DocumentedSystem{documented("macos"), documented("windows")})
	got := map[string]string{}
	for _, row := range v.Tables[0].Rows {
		var texts []string
		for _, c := range row[1 : len(row)-1] { // the last is the unit, for programs
			texts = append(texts, c.Text)
		}
		got[row[0].Text] = strings.Join(texts, " | ")
	}
	for step, want := range map[string]string{
		"slot":                  "4096 B | 65536 B | 1 B | - | NO",
		"full/write":            "EAGAIN | - | EAGAIN | - | -",
		"broken/after-0/notice": "1.50 µs | 1.50 µs | - | - | -", // times are never held against each other
	} {
		if got[step] != want {
			t.Errorf("%s: got %q, want %q", step, got[step], want)
		}
	}
	if text := written(t, v, view.FormatTable); !strings.Contains(text, "documented, not measured here") || !strings.Contains(text, "ERROR_NO_DATA") {
		t.Errorf("the systems' rules are missing, or what they are:\n%s", text)
	}
}

func TestASystemAloneNeedsNoOtherMachine(t *testing.T) {
	v := view.RulesBeside(on("a", agreeing), []view.DocumentedSystem{documented("freebsd")})
	if row := v.Tables[0].Rows[0]; len(row) != 4 || row[2].Text != "1 B" {
		t.Errorf("row %q", row)
	}
}

func TestFormatsHoldTheSame(t *testing.T) {
	v := view.RulesPage(on("a", agreeing, unruled))
	var tables map[string][]map[string]string
	if err := json.Unmarshal([]byte(written(t, v, view.FormatJSON)), &tables); err != nil {
		t.Fatal(err)
	}
	if rows := tables["What an anonymous pipe does"]; len(rows) != 2 || rows[0]["found"] != "4096" || rows[0]["unit"] != "B" {
		t.Errorf("JSON rows %v", rows)
	}
	if csv := written(t, v, view.FormatCSV); !strings.HasPrefix(csv, "step,found,") {
		t.Errorf("CSV %q", csv)
	}
	if err := v.Write(os.Stderr, view.FormatBench, view.Options{}); err == nil {
		t.Error("a page was written as a benchmark")
	}
}

func written(t *testing.T, v view.Page, format view.Format) string {
	t.Helper()
	var text strings.Builder
	if err := v.Write(&text, format, view.Options{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func ExampleRulesPage() {
	agrees := true
	set := &results.Set{Probes: []results.Probe{{
		Pipe: "anonymous", Step: "slot", Value: 4096.0, Unit: "B",
		How: "read a full pipe until a byte fits", Documented: "4096 B (Linux fs/pipe.c)", Agrees: &agrees,
	}}}
	view.RulesPage(set).Write(os.Stdout, view.FormatCSV, view.Options{})
	// Output:
	// step,found,unit,documented rule,how it was found
	// slot,4096,B,agrees [1],read a full pipe until a byte fits
}
