package view

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// hostile is a text of another program that would clear the screen, ring, overwrite the line, turn
// the direction of what follows, and is no UTF-8.
const hostile = "a\x1b[2Jb\x07c\rd\x7fe\u0085f\u009b1mg\u202eh\u2066i\xff\xfej"

func TestEscapeSpellsWhatSteersATerminal(t *testing.T) {
	want := `a\x1b[2Jb\x07c\x0dd\x7fe\u0085f\u009b1mg\u202eh\u2066i\xff\xfej`
	if got := Escape(hostile); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, plain := range []string{"", "64 KiB ± 2 %\tµs\n", "日本語 ✓", `a\x41`, "\ufffd"} {
		if got := Escape(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// hostileSet has the text wherever a record holds what another program chose.
func hostileSet() *results.Set {
	targets := []results.Target{
		{Run: "run-1", Command: []string{hostile}, Protocol: hostile, Size: 1024, Verdict: hostile, Warnings: []string{hostile},
			Evidence: results.TargetEvidence{
				Server: &results.ServerEvidence{Spoken: hostile, Framing: hostile,
					Request: hostile},
				Failure: &results.FailureEvidence{StderrTail: []string{hostile}}, Why: hostile,
				Advice: hostile,
			}},
		{Run: "run-1", Command: []string{hostile}, Verdict: hostile, RequestLimit: new(int64(7))},
		{Run: "run-1", Command: []string{hostile}, Verdict: hostile, Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{ElapsedNS: 5}}},
	}
	return &results.Set{
		Environments: []results.Environment{{Run: "run-1", Machine: hostile, Hostname: hostile, CPU: hostile, OS: hostile, Command: hostile}},
		Records:      []results.Record{{Run: "run-1", Cell: results.Cell{Framing: hostile, Pattern: "stream", Size: 1}, Failed: hostile}},
		Findings: []results.Finding{
			resultstest.Rule{Run: "run-1", Pipe: hostile, Step: hostile, Value: hostile,
				How: hostile, Documented: hostile}.Finding(),
			{Run: "run-1", ID: "claim/" + hostile, Title: hostile, Verdict: hostile,
				Found: hostile},
			{Run: "run-1", ID: "failure/" + hostile, Verdict: results.Fails, Class: hostile,
				Found: hostile, Advice: hostile},
			{Run: "run-1", ID: hostile, Title: hostile, Verdict: hostile, Class: hostile, Value: hostile, Unit: hostile, Found: hostile, Advice: hostile, Reproduce: hostile, About: []string{hostile}},
			{Run: "run-1", ID: "check/server/" + hostile, Verdict: results.Fails, Found: hostile, About: []string{hostile}},
		},
		Targets:  targets,
		Messages: []results.Message{{Run: "run-1", Dir: "request", Size: 9, Method: hostile, ID: json.RawMessage(`1`)}},
		Problems: []results.Problem{{File: hostile, Line: 1, What: hostile}},
	}
}

// Nothing that other programs wrote steers a terminal, in whatever form it is shown.
func TestStrangersCannotSteerATerminal(t *testing.T) {
	views := map[string]func(*bytes.Buffer, Format) error{
		"set":    func(w *bytes.Buffer, f Format) error { return Write(w, hostileSet(), f, Options{}) },
		"detail": func(w *bytes.Buffer, f Format) error { return Write(w, hostileSet(), f, Options{Detail: true}) },
		"drive":  func(w *bytes.Buffer, f Format) error { return WriteDrive(w, f, hostileSet(), Options{}) },
		"rules":  func(w *bytes.Buffer, f Format) error { return WriteRules(w, f, hostileSet(), nil, Options{}) },
		"lines": func(w *bytes.Buffer, _ Format) error {
			for _, target := range hostileSet().Targets {
				w.WriteString(TargetLine(target))
			}
			return nil
		},
	}
	for name, write := range views {
		for _, format := range []Format{FormatTable, FormatMarkdown, FormatCSV, FormatJSON} {
			var out bytes.Buffer
			if err := write(&out, format); err != nil {
				t.Fatalf("%s as %s: %v", name, format, err)
			}
			text := out.String()
			steers := func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
			}
			if i := strings.IndexFunc(text, steers); i >= 0 || !utf8.ValidString(text) {
				t.Errorf("%s as %s is not plain: %q", name, format, text[max(0, i-20):min(len(text), i+20)])
			}
			switch {
			case name == "lines":
			case format == FormatJSON && !json.Valid(out.Bytes()):
				t.Errorf("%s is no JSON:\n%s", name, text)
			case format == FormatCSV:
				r := csv.NewReader(&out)
				r.FieldsPerRecord = -1
				if _, err := r.ReadAll(); err != nil {
					t.Errorf("%s is no CSV: %v", name, err)
				}
			}
		}
	}
}

// JSON says the same after its control characters are spelt: a backslash that was there stays one.
func TestJSONKeepsBackslashes(t *testing.T) {
	var out bytes.Buffer
	want := map[string]string{"a": `\x41 \u0041 \\`, "b": "\x7f\x1b"}
	if err := WriteJSON(&out, want); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["a"] != want["a"] || got["b"] != want["b"] {
		t.Errorf("got %q, want %q: %v", got, want, err)
	}
}
