package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

// rulesOn is a set with what one machine found out.
func rulesOn(machine string, found ...results.Finding) *results.Set {
	run := "run " + machine
	set := &results.Set{Environments: []results.Environment{{
		Run: run, Machine: machine, OS: "linux", Arch: "amd64", Hostname: machine,
		Time: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), PageSize: 4096,
	}}}
	for _, f := range found {
		f.Run = run
		set.Findings = append(set.Findings, f)
	}
	return set
}

// documented is a system with rules, of which macos and freebsd predict that a slot has a byte.
func documentedSystem(name string) DocumentedSystem {
	predicted := map[string]map[string]any{
		"macos":   {"slot": 1, "full/write": "EAGAIN"},
		"freebsd": {"slot": 1},
	}[name]
	return DocumentedSystem{
		Name: name,
		Predict: func(step string) (any, bool) {
			value, ok := predicted[step]
			return value, ok
		},
		Rules: []DocumentedRule{{About: "broken", Says: "ERROR_NO_DATA", Source: "its manual"}},
	}
}

func rule(id string, verdict results.Verdict, value any, unit, found string) results.Finding {
	return results.Finding{
		ID: "rule/" + id, Title: "look", Verdict: verdict, Value: value, Unit: unit, Found: found,
	}
}

var (
	agreeing = rule("anonymous/slot", results.Holds, 4096, "B",
		"4 KiB; documented: 4096 B (pipe.c)")
	contrary = rule("fifo/slot", results.Refuted, 8192, "B", "8 KiB; documented: 4096 B (pipe.c)")
	told     = rule("anonymous/broken/after-0/notice", results.Noted, 1500, "ns", "1.5 µs")
	hanging  = results.Finding{ID: "rule/fifo/deadlock", Verdict: results.CannotTell,
		Class: "no result", Found: "no result: stopped after 5.0 s"}
)

func writtenRules(t *testing.T, format Format, o Options, set *results.Set,
	systems ...DocumentedSystem) string {
	t.Helper()
	var text bytes.Buffer
	if err := WriteRules(&text, format, set, systems, o); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// The first screen says how many rules differ, answers the main questions for each kind of pipe,
// and names what differs and what came to no result.
func TestTheScreenOfRules(t *testing.T) {
	zone := rule("copy-zone", results.Noted, "1..31", "", "1..31")
	text := writtenRules(t, FormatTable, Options{},
		rulesOn("a", agreeing, contrary, told, hanging, zone))
	for _, want := range []string{
		"5 findings: 1 as documented, 1 contrary to the documents, 2 not documented, 1",
		"anonymous", "fifo",
		"4,096 B", "8,192 B (≠ documented)", "1.50 µs", "1..31",
		"What differs from the documented rules, or came to no result",
		"fifo/slot", "refuted", "8 KiB; documented: 4096 B (pipe.c)",
		"fifo/deadlock", "cannot tell", "no result: stopped after 5.0 s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Differences that are in no sentence are counted and named.
func TestSeveralDifferencesAreCounted(t *testing.T) {
	other := rule("anonymous/poll/writable-after", results.Noted, 1, "B", "1 B")
	poll := rule("anonymous/poll/writable-after", results.Noted, 4096, "B", "4 KiB")
	larger := rule("anonymous/slot", results.Refuted, 8192, "B", "8 KiB")
	text := writtenRules(t, FormatTable, Options{Width: 400},
		results.Merge(rulesOn("a", agreeing, poll), rulesOn("b", larger, other)))
	const want = "Anonymous pipes: 2 of 2 answers differ between a and b."
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// What most people ask about pipes stands in a sentence on top, if it was found out.
func TestTheScreenOfRulesBeginsWithAnAnswer(t *testing.T) {
	holding := rule("anonymous/capacity/stated", results.Holds, 65536, "B", "64 KiB")
	whole := rule("anonymous/all-or-nothing", results.Holds, 4096, "B", "4 KiB")
	text := writtenRules(t, FormatTable, Options{Width: 100},
		rulesOn("a", agreeing, holding, whole))
	const want = "A pipe here holds 65,536 B. A write of up to 4,096 B goes in whole or not at all."
	if !strings.HasPrefix(text, want) {
		t.Errorf("it does not begin with %q:\n%s", want, text)
	}
	text = writtenRules(t, FormatTable, Options{}, rulesOn("a", agreeing, holding))
	if !strings.HasPrefix(text, "2 findings") {
		t.Errorf("without what a write keeps it begins:\n%s", text)
	}
}

// A table of rules leaves no kind of pipe and no system out, however narrow the screen is.
func TestATableOfRulesIsShownWhole(t *testing.T) {
	var found []results.Finding
	for _, kind := range []string{"anonymous", "fifo", "socketpair", "pty"} {
		found = append(found, rule(kind+"/capacity/fill/61440", results.Holds, 65536, "B", ""),
			rule(kind+"/deadlock/parent-writes", results.Noted, 131072, "B", ""))
	}
	for _, width := range []int{40, 60, 80} {
		text := writtenRules(t, FormatTable, Options{Width: width}, rulesOn("a", found...))
		for _, want := range []string{"anonymous", "fifo", "socketpair", "pty"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %s in\n%s", width, want, text)
			}
		}
		if strings.Contains(text, "left out") {
			t.Errorf("%d columns: something is left out in\n%s", width, text)
		}
	}
}

func TestDetailHasEveryRule(t *testing.T) {
	other := rule("anonymous/limit/user-pages-hard", results.Noted, 0, "pages", "0 pages")
	text := writtenRules(t, FormatTable, Options{Detail: true}, rulesOn("a", agreeing, other))
	for _, want := range []string{"documented: 4096 B", "(pipe.c)", "user-pages-hard", "look"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// rowsOf returns the rows of the first table: the question, then the answers.
func rowsOf(t *testing.T, tables []Table) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, row := range tables[0].Rows {
		var texts []string
		for _, c := range row[1:] {
			texts = append(texts, c.Text)
		}
		rows[row[0].Text] = strings.Join(texts, " | ")
	}
	return rows
}

func TestMachinesStandSideBySide(t *testing.T) {
	larger := agreeing
	larger.Value = 65536
	alone := rule("anonymous/full/write", results.Holds, "EAGAIN", "", "EAGAIN")
	later := told
	later.Value = 9000
	set := results.Merge(rulesOn("a", agreeing, alone, told), rulesOn("b", larger, later))
	systems := []DocumentedSystem{documentedSystem("macos"), documentedSystem("windows")}
	rows := rowsOf(t, ruleTables(set, systems))
	for question, want := range map[string]string{
		"A full one takes a byte again after reading":    "4,096 B | ≠ 65,536 B | ≠ 1 B | -",
		"A write to a full one, without blocking, gives": "EAGAIN | - | EAGAIN | -",
		"The writer is told of it after":                 "1.50 µs | 9.00 µs | - | -", // never compared
	} {
		if rows[question] != want {
			t.Errorf("%s: got %q, want %q", question, rows[question], want)
		}
	}
	text := writtenRules(t, FormatTable, Options{}, set, systems...)
	for _, want := range []string{"documented, not measured here", "ERROR_NO_DATA", "a · "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestMachinesThatAnswerAlikeShareAColumn(t *testing.T) {
	larger := agreeing
	larger.Value = 65536
	slower := told
	slower.Value = 9000
	set := results.Merge(rulesOn("a", agreeing, told), rulesOn("b", agreeing, slower),
		rulesOn("c", larger, told), rulesOn("d", agreeing))
	tables := ruleTables(set, nil)
	if got := headsOf(tables[0]); got != "question|a, b|c|d" {
		t.Errorf("columns %s", got)
	}
	// A shared column has the times of its own machines, and nothing is taken from another.
	got := rowsOf(t, tables)["The writer is told of it after"]
	if want := "1.50 to 9.00 µs | 1.50 µs | -"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A host before and after an upgrade, which one hash or one label stands for, has two columns.
func TestAnUpgradedHostStandsBesideItself(t *testing.T) {
	larger := agreeing
	larger.Value = 65536
	before, after := rulesOn("mail", agreeing), rulesOn("mail", larger)
	after.Environments[0].Run = "later"
	after.Findings[0].Run = "later"
	for want, change := range map[string]func(e *results.Environment, value string){
		"question|mail (linux 6.1)|mail (linux 6.12)": func(e *results.Environment, v string) {
			e.Kernel = v
		},
		"question|6.1.7|6.12.1": func(e *results.Environment, v string) {
			e.Kernel = ""
			e.Labels = map[string]string{"node": v}
		},
	} {
		change(&before.Environments[0], "6.1.7")
		change(&after.Environments[0], "6.12.1")
		if got := headsOf(ruleTables(results.Merge(before, after), nil)[0]); got != want {
			t.Errorf("columns %s, want %s", got, want)
		}
		before.Environments[0].Labels, after.Environments[0].Labels = nil, nil
	}
}

func headsOf(t Table) string {
	var heads []string
	for _, c := range t.Columns {
		heads = append(heads, c.Title)
	}
	return strings.Join(heads, "|")
}

// Costs differ between all machines, so each machine that was asked has a column.
func TestCostsOfMachinesAreNotMerged(t *testing.T) {
	waking := func(ns float64) results.Finding {
		return rule("wake-up/same", results.Noted, ns, "ns", "")
	}
	goodput := rule("write-size/same/whole", results.Noted, 2e9, "B/s", "")
	set := results.Merge(rulesOn("a", agreeing), rulesOn("b", waking(2000), goodput),
		rulesOn("c", waking(18_000)), rulesOn("d", agreeing))
	tables := ruleTables(set, nil)
	if got := headsOf(tables[0]); got != "question|a, d" {
		t.Errorf("columns of pipes %s", got)
	}
	costs := tables[len(tables)-1]
	if got := headsOf(costs); got != "question|b|c" {
		t.Errorf("columns of costs %s", got)
	}
	rows := rowsOf(t, []Table{costs})
	for question, want := range map[string]string{
		"Waking a reader takes, on one CPU":           "2.00 µs | 18.0 µs",
		"Messages of 1 MB to an idle reader, one CPU": "2.00 GB/s | -",
	} {
		if rows[question] != want {
			t.Errorf("%s: got %q, want %q", question, rows[question], want)
		}
	}
}

// A machine that came to no result does not stand with one that did.
func TestNoResultIsNotMergedWithAnAnswer(t *testing.T) {
	claim := func(name string, first, second results.Verdict) stat.Member {
		return stat.Member{
			Name: name, Runs: []results.Environment{{OS: "linux"}},
			Answers: []results.Finding{
				{ID: "claim/0", Verdict: first}, {ID: "claim/1", Verdict: second},
			},
		}
	}
	sections := FleetSections([]stat.Member{
		claim("a", results.Holds, results.CannotTell), claim("b", results.Holds, results.Holds),
		claim("c", results.Refuted, results.Refuted),
	}, nil)
	const want = "0 | holds | a, b\n | refuted | c\n" +
		"1 | cannot tell | a\n | holds | b\n | refuted | c"
	if got := textOf(sections[1].Tables[0]); got != want {
		t.Errorf("rows %q", got)
	}
}

// The answers of pseudo-terminals are not compared, but a column has only answers that its machines
// gave.
func TestPseudoTerminalsThatAnswerDifferentlyHaveTheirOwnColumns(t *testing.T) {
	holds := func(n float64) results.Finding {
		return rule("pty/capacity/stated", results.Noted, n, "B", "")
	}
	set := results.Merge(rulesOn("a", holds(4095)), rulesOn("b", holds(11_776)),
		rulesOn("c", holds(4095)))
	tables := ruleTables(set, nil)
	if got := headsOf(tables[0]); got != "question|a, c|b" {
		t.Errorf("columns %s", got)
	}
	if got := rowsOf(t, tables)["A new pipe holds"]; got != "4,095 B | 11,776 B" {
		t.Errorf("got %q", got)
	}
}

// Of the times of many machines, a cell has the shortest and the longest.
func TestTimesOfManyMachinesAreARange(t *testing.T) {
	var sets []*results.Set
	for i := range 12 {
		own := told
		own.Value = 1000 * (12 - i)
		sets = append(sets, rulesOn(string(rune('a'+i)), agreeing, own))
	}
	got := rowsOf(t, ruleTables(results.Merge(sets...), nil))["The writer is told of it after"]
	if want := "1.00 to 12.0 µs"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of machines that share a column, the answer counts that says most.
func TestAWeakAnswerGivesWayToAStrongerOne(t *testing.T) {
	asked := func(value any) results.Finding {
		return rule("anonymous/interleave/61440/2", results.Noted, value, "", "")
	}
	for _, c := range []struct {
		answers []any
		want    string
	}{
		{[]any{"too few", true}, "yes"},
		{[]any{true, "too few"}, "yes"},
		{[]any{false, "too few"}, notSeen},
		{[]any{"too few", false}, notSeen},
		{[]any{false, true}, "yes"},
	} {
		set := results.Merge(rulesOn("a", agreeing, asked(c.answers[0])),
			rulesOn("b", agreeing, asked(c.answers[1])))
		rows := rowsOf(t, ruleTables(set, nil))
		if got := rows["Writes of 60 KiB of two programs mix"]; got != c.want {
			t.Errorf("%v: %q, want %q", c.answers, got, c.want)
		}
	}
}

func TestASystemAloneNeedsNoOtherMachine(t *testing.T) {
	rows := rowsOf(t, ruleTables(rulesOn("a", agreeing),
		[]DocumentedSystem{documentedSystem("freebsd")}))
	if rows["A full one takes a byte again after reading"] != "4,096 B | ≠ 1 B" {
		t.Errorf("rows %q", rows)
	}
}

// A file whose first line is lost does not say on which machine its rules were tested.
func TestRulesOfAnUnknownMachineStandBesideASystem(t *testing.T) {
	set := rulesOn("a", agreeing)
	set.Environments = nil
	text := writtenRules(t, FormatTable, Options{}, set, documentedSystem("macos"))
	if !strings.Contains(text, "4,096 B") || !strings.Contains(text, "≠ 1 B") {
		t.Errorf("an answer is missing in\n%s", text)
	}
}

func TestFormatsOfRulesHoldTheSame(t *testing.T) {
	set := rulesOn("a", agreeing, told)
	var all struct{ Findings []results.Finding }
	text := writtenRules(t, FormatJSON, Options{}, set)
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Findings) != 2 {
		t.Errorf("JSON: %v, %d findings", err, len(all.Findings))
	}
	if csv := writtenRules(t, FormatCSV, Options{}, set); !strings.HasPrefix(csv, "id,") ||
		!strings.Contains(csv, "rule/anonymous/slot") {
		t.Errorf("CSV %q", csv)
	}
	var out bytes.Buffer
	if err := WriteRules(&out, FormatTable, &results.Set{}, nil, Options{}); err != ErrNothing {
		t.Errorf("an empty set: %v", err)
	}
}

// Records of earlier versions are rules too; of what was found twice the last counts.
func TestRulesOfEarlierVersionsAreShown(t *testing.T) {
	agrees := true
	set := &results.Set{}
	for _, p := range []resultstest.Rule{
		{Pipe: "anonymous", Step: "slot", Value: 1.0, Unit: "B", How: "old"},
		{Pipe: "anonymous", Step: "slot", Value: 4096.0, Unit: "B", How: "read a full pipe",
			Documented: "4096 B (pipe.c)", Agrees: &agrees},
	} {
		set.Add(p.Finding())
	}
	rules := latestRules(set)
	if len(rules) != 1 || rules[0].Verdict != results.Holds ||
		rules[0].Title != "read a full pipe" {
		t.Errorf("rules %+v", rules)
	}
}

// The newest probe of a machine counts, in whatever order the files are read.
func TestTheNewestProbeCounts(t *testing.T) {
	began := time.Unix(1e9, 0)
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		set := &results.Set{}
		for _, i := range order {
			run := fmt.Sprint("r", i)
			set.Add(results.Environment{Run: run, Hostname: "a", Time: began.Add(time.Duration(i))})
			found := rule("anonymous/slot", results.Holds, float64(1+i), "B", "read")
			found.Run = run
			set.Add(found)
		}
		if all := latestRules(set); len(all) != 1 || all[0].Run != "r1" {
			t.Errorf("order %v: rules %+v", order, all)
		}
		const want = "Probes of a disagree in 1 answer, and the newest counts. A full one takes " +
			"a byte again after reading: 2 B (earlier 1 B)."
		if got := changedRules(stat.FleetOf(set).Members()); !slices.Equal(got, []string{want}) {
			t.Errorf("order %v: %q", order, got)
		}
	}
}

// Findings that answer none of the questions of the tables are shown all the same if they differ
// from the documented rules, with their machine.
func TestMachinesBesideEachOtherShowEveryDifference(t *testing.T) {
	refuted := rule("socketpair/full/buffered", results.Refuted, 100, "B", "100 B buffered")
	set := results.Merge(rulesOn("a", agreeing), rulesOn("b", agreeing, refuted))
	text := writtenRules(t, FormatTable, Options{}, set)
	if !strings.Contains(text, ", 1 contrary to the documents (on b), ") {
		t.Errorf("the machine that differs is not named in\n%s", text)
	}
	_, table, _ := strings.Cut(text, "What differs from the documented rules")
	for _, want := range []string{"socketpair/full/buffered", "100 B buffered"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A kind of pipe that no machine has makes no table of the word "unsupported".
func TestAKindThatIsNowhereHasNoTable(t *testing.T) {
	none := rule("named/kind", results.Unsupported, nil, "", "unsupported")
	set := results.Merge(rulesOn("a", agreeing, none), rulesOn("b", agreeing, none))
	text := writtenRules(t, FormatTable, Options{}, set)
	if strings.Contains(text, "a named pipe") {
		t.Errorf("there is a table of named pipes:\n%s", text)
	}
}

// A blocked writer to a pair of sockets sees the reset or the end first, by chance.
func TestTheErrorOfABlockedWriteToASocketIsNotCompared(t *testing.T) {
	var machines []probedMachine
	for _, value := range []string{"EPIPE", "ECONNRESET"} {
		machines = append(machines, probedMachine{name: value, found: []results.Finding{
			rule("socketpair/broken/after-0/error", results.Noted, value, "", value),
			rule("anonymous/broken/after-0/error", results.Noted, value, "", value),
		}})
	}
	for kind, isCompared := range map[string]bool{"socketpair": false, "anonymous": true} {
		disputed, _ := compareAnswers(machineColumns(machines, kind, pipeQuestions))
		if got := len(disputed) > 0; got != isCompared {
			t.Errorf("%s: compared: %v", kind, got)
		}
	}
}
