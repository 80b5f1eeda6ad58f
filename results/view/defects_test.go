package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

// No sentence has a hole where nothing was counted.
func TestCountsOfNothing(t *testing.T) {
	s := &results.Set{}
	s.Add(results.Message{Run: "r", Dir: "reply", Size: 10})
	if got := recordingSummary(s, "")[1]; !strings.Contains(got,
		"has 0 messages to the server and 1 from it") {
		t.Errorf("a recording of an answer alone: %q", got)
	}
	replayed := results.Target{Verdict: results.VerdictOK}
	replayed.Evidence.Replay = &results.ReplayEvidence{}
	if got := targetSentence(replayed); !strings.HasPrefix(got, "0 messages replayed") {
		t.Errorf("a replay of nothing: %q", got)
	}
	for n, want := range map[int]string{0: "0 processes", 1: "1 process", 2: "2 processes"} {
		if got := results.FormatCount(n, "process"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := machineLine(results.Environment{OS: "linux"}); strings.Contains(got, "CPU") {
		t.Errorf("a machine of which little is known: %q", got)
	}
}

// What a recording says is shown escaped, whatever the way.
func TestARecordingCannotSteerATerminal(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	s.Add(results.Message{
		Run: "run-1", Dir: "request", Size: 1, Method: "a\x1b[2Jb", ID: json.RawMessage("\"\x1b[31m\""),
	})
	for _, line := range recordingSummary(s, "") {
		if strings.ContainsRune(line, '\x1b') {
			t.Errorf("an escape in %q", line)
		}
	}
}

// A newline in what a file says of the machine begins no line of benchmark text.
func TestNoLineOfBenchmarkTextIsForged(t *testing.T) {
	s := resultstest.Sweep()
	s.Environments[0].CPU = "Testium\nBenchmarkForged 1 1 ns/op"
	s.Records[0].Cell.Payload = "x\nBenchmarkForged 1 1 ns/op"
	var out strings.Builder
	if err := Write(&out, s, FormatBench, Options{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "BenchmarkForged") {
			t.Errorf("forged: %q", line)
		}
	}
}

// JSON is valid whatever bytes the evidence has.
func TestJSONIsValidWhateverBytesAreInAFile(t *testing.T) {
	text := `{"kind":"finding","run":"r","time":"2026-11-21T08:00:00Z","id":"check/server/x",` +
		`"verdict":"fails","found":"bad \xff byte","evidence":{"said":"` + "a\xffb" + `"}}`
	text = strings.Replace(text, `\xff`, "\xff", 1)
	s, err := results.ReadFrom("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s.Findings = append(s.Findings, results.Finding{ID: "a", Evidence: "{\"said\":\"a\xffb\"}"})
	var out strings.Builder
	if err := Write(&out, s, FormatJSON, Options{}); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(out.String())) {
		t.Errorf("invalid: %s", out.String())
	}
}

// The number of samples counts those that a figure rests on, and those that were left out are said.
func TestSamplesThatWereLeftOutAreSaid(t *testing.T) {
	s := resultstest.Sweep()
	for i := range s.Records {
		r := &s.Records[i]
		for len(r.Samples) > 0 && len(r.Samples) < 12 {
			r.Samples = append(r.Samples, r.Samples[:6]...)
		}
		for k := range r.Samples {
			r.Samples[k].Round = k + 1
			r.Samples[k].Fork = 1 + k%4
		}
	}
	s.Records[0].Samples[0].Disturbed = "load"
	s.Records[0].Samples[3].Disturbed = "load"
	for k := range s.Records[1].Samples {
		s.Records[1].Samples[k].Disturbed = "load"
	}
	for _, detail := range []bool{false, true} {
		var out strings.Builder
		if err := Write(&out, s, FormatTable, Options{Detail: detail}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		const want = "of 10 to 12 samples; 2 disturbed by other programs are left out; " +
			"1 of 17 cells keep disturbed ones, as too few would remain"
		if !strings.Contains(text, want) {
			t.Errorf("detail %v: no %q in:\n%s", detail, want, out.String())
		}
	}
}

// A terminal of a few columns, as one that is being made smaller has, is no reason to fail.
func TestNarrowTerminals(t *testing.T) {
	s := findingsSet(t)
	for range 3 {
		s.Add(results.Finding{
			Run: "run-1", ID: "claim/x", Title: "it is so", Verdict: results.Refuted,
			Found: "3 of 5 readers: it is not",
		})
	}
	claims := &results.Set{Findings: s.FindingsOf(results.AreaClaim)}
	for width := range 12 {
		for _, detail := range []bool{false, true} {
			o := Options{Width: width, Detail: detail}
			var out strings.Builder
			if err := WriteFindings(&out, FormatTable, claims, o); err != nil {
				t.Fatal(err)
			}
			if err := Write(&out, s, FormatTable, o); err != nil {
				t.Fatal(err)
			}
			if err := Write(&out, resultstest.Sweep(), FormatTable, o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A machine's name stands as it is, whatever characters it begins with or has in it.
func TestNamesOfMachinesStandAsTheyAre(t *testing.T) {
	s := resultstest.Sweep()
	other := resultstest.Environment()
	other.Run = "run-2"
	other.Machine = "m2"
	other.Hostname = "~lab|x"
	s.Add(other)
	for _, r := range resultstest.Sweep().Records {
		r.Run = "run-2"
		s.Add(r)
	}
	tables := memberSection(stat.FleetOf(s).Members()).Tables
	for _, table := range tables {
		text := fmt.Sprint(table.data())
		if !strings.Contains(text, "~lab|x") {
			t.Errorf("no name in %s", text)
		}
	}
}
