package results_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// readOld reads lines of earlier versions.
func readOld(t *testing.T, lines ...string) *results.Set {
	t.Helper()
	set, err := results.ReadFrom("old.jsonl", strings.NewReader(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Problems) > 0 {
		t.Fatalf("problems: %v", set.Problems)
	}
	return set
}

// Lines of earlier versions say as findings what they said.
func TestOldLinesAsFindings(t *testing.T) {
	tests := []struct {
		name, line string
		want       results.Finding
	}{
		{
			"a rule",
			`{"kind":"probe","run":"r","pipe":"fifo","step":"capacity/fill/4096","value":65536,` +
				`"unit":"B","how":"fill it","documented":"65536 B (pipe(7))","agrees":true}`,
			results.Finding{
				ID: "rule/fifo/capacity/fill/4096", Title: "fill it",
				Verdict: results.Holds, Value: 65536.0, Unit: "B",
				Found:    "65,536 B; documented: 65536 B (pipe(7))",
				Evidence: `{"documented":"65536 B (pipe(7))"}`,
			},
		},
		{
			"a rule that this system breaks",
			`{"kind":"probe","run":"r","step":"slot","value":"refused","how":"look",` +
				`"documented":"2","agrees":false}`,
			results.Finding{
				ID: "rule/slot", Title: "look", Verdict: results.Refuted, Value: "refused",
				Found: "refused; documented: 2", Evidence: `{"documented":"2"}`,
			},
		},
		{
			"a rule that is not documented",
			`{"kind":"probe","run":"r","step":"slot","value":"EAGAIN","how":"look"}`,
			results.Finding{
				ID: "rule/slot", Title: "look", Verdict: results.Noted, Value: "EAGAIN",
				Found: "EAGAIN",
			},
		},
		{
			"an experiment that hangs",
			`{"kind":"probe","run":"r","step":"slot","value":"hangs"}`,
			results.Finding{
				ID: "rule/slot", Verdict: results.CannotTell, Class: "hangs", Value: "hangs",
				Found: "hangs",
			},
		},
		{
			"a failure",
			`{"kind":"fault","run":"r","id":"split-utf8/strict","verdict":"silent-loss",` +
				`"advice":"count","evidence":{"summary":"0 of 9 messages intact"}}`,
			results.Finding{
				ID: "failure/split-utf8/strict", Verdict: results.Fails,
				Class: "silent-loss", Found: "0 of 9 messages intact", Advice: "count",
				Evidence: `{"summary":"0 of 9 messages intact"}`,
			},
		},
		{
			"a disturbed machine",
			`{"kind":"fault","run":"r","id":"environment/cpus","verdict":"2 CPUs","advice":"wait"}`,
			results.Finding{
				ID: "machine/cpus", Verdict: results.Noted, Found: "2 CPUs", Advice: "wait",
			},
		},
		{
			"a claim",
			`{"kind":"claim","run":"r","id":"000-capacity","seed":"000","verdict":"holds",` +
				`"claim":"A pipe holds 64 KiB","figure":"65536 B","why":"exactly that much"}`,
			results.Finding{
				ID: "claim/000-capacity", Title: "A pipe holds 64 KiB",
				Verdict: results.Holds, Found: "65536 B: exactly that much",
			},
		},
		{
			"a claim that cannot be tested",
			`{"kind":"claim","run":"r","id":"001-x","seed":"001","verdict":"not-testable-here",` +
				`"claim":"it is fast","why":"no server"}`,
			results.Finding{
				ID: "claim/001-x", Title: "it is fast", Verdict: results.CannotTell,
				Found: "no server",
			},
		},
		{
			"a check",
			`{"kind":"check","run":"r","side":"server","name":"ids","verdict":"slow",` +
				`"found":"1 s","how":"ask","command":["a","b"],"reproduce":"echo | a b"}`,
			results.Finding{
				ID: "check/server/ids", Title: "ask", About: []string{"a", "b"},
				Verdict: results.Slow, Found: "1 s", Reproduce: "echo | a b",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Kind = "finding"
			tt.want.Run = "r"
			set := readOld(t, tt.line)
			if d := cmp.Diff([]results.Finding{tt.want}, set.Findings); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Lines that earlier versions of tune wrote are read as measurements, whatever they recommend.
func TestOldChunkSizesAreMeasurements(t *testing.T) {
	cell := resultstest.Cell("chunked:4096", 1<<20)
	cell.Drain = 200e6
	text, err := json.Marshal(cell)
	if err != nil {
		t.Fatal(err)
	}
	head := `{"kind":"tune","run":"run-1","time":"2026-11-21T08:00:00Z","cell":` + string(text)
	set := readOld(t,
		head+`,"samples":[{"elapsed_ns":1000000,"messages":1,"payload_bytes":1048576,`+
			`"wire_bytes":1048600,"capacity":65536,"writer":{"calls":1,"bytes":1},`+
			`"reader":{"calls":1,"bytes":1}}],"recommended":true,`+
			`"evidence":{"margin":0.1,"alike":[4096]},"warnings":["the generator was late"]}`,
		head+`,"warnings":["unsupported: no such pipe"]}`,
		head+`}`,
	)
	if len(set.Records) != 3 {
		t.Fatalf("%d records", len(set.Records))
	}
	measured := set.Records[0]
	if measured.Cell != cell || measured.Run != "run-1" || !measured.Time.Equal(resultstest.Time) {
		t.Errorf("the cell or its run changed: %+v", measured)
	}
	if len(measured.Samples) != 1 || len(measured.Warnings) != 1 {
		t.Errorf("a sample or a warning is lost: %+v", measured)
	}
	if got := set.Records[1].Unsupported; got != "no such pipe" {
		t.Errorf("a chunk size that this system does not have: unsupported %q", got)
	}
	for _, r := range set.Records {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v would not be written again: %v", r, err)
		}
	}
}

// Older samples tell under another name what became of a writer whose reader had closed its end.
func TestOldSamplesOfAReaderThatLeft(t *testing.T) {
	cell, err := json.Marshal(resultstest.Cell("raw", 4096))
	if err != nil {
		t.Fatal(err)
	}
	sample := `{"elapsed_ns":1,"messages":1,"payload_bytes":1,"wire_bytes":1,"capacity":1,` +
		`"writer":{"calls":1,"bytes":1},"reader":{"calls":1,"bytes":1},` +
		`"left":{"lost_bytes":7,"told_ns":9,"error":"EPIPE"}}`
	set := readOld(t, `{"kind":"measurement","run":"r","cell":`+string(cell)+
		`,"samples":[`+sample+`,`+strings.Replace(sample, `"left"`, `"closed"`, 1)+`]}`)
	want := &results.Closed{LostBytes: 7, ToldNS: 9, Error: "EPIPE"}
	for _, s := range set.Records[0].Samples {
		if d := cmp.Diff(want, s.Closed); d != "" || s.Messages != 1 {
			t.Errorf("of %d messages, -want +got:\n%s", s.Messages, d)
		}
	}
}
