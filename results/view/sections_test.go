package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// The answer is in sentences whatever the files hold.
func TestTheAnswerIsInSentences(t *testing.T) {
	environments := []results.Environment{machineNamed("run-1", "linux")}
	agrees := true
	for _, tt := range []struct {
		name string
		set  *results.Set
		want string
		lead int // sentences behind the title
	}{
		{"failures", &results.Set{Findings: []results.Finding{
			{Run: "run-1", ID: "failure/both-write-first", Verdict: results.Fails},
			{Run: "run-1", ID: "failure/growth/rescan", Verdict: results.Depends},
			{Run: "run-1", ID: "failure/reader-gone", Verdict: results.Fails},
		}}, "3 ways to fail: 2 seen here, 1 under a condition.", 0},
		{"rules", &results.Set{Findings: []results.Finding{resultstest.Rule{Run: "run-1", Step: "a",
			Agrees: &agrees}.Finding(), resultstest.Rule{Run: "run-1", Step: "b"}.Finding()}},
			"2 findings: 1 as documented, 0 contrary to the documents, 1 not documented.", 0},
		{"a recording", &results.Set{Messages: []results.Message{
			{Run: "run-1", Dir: "request", Size: 10},
			{Run: "run-1", Dir: "request", Size: 2048},
			{Run: "run-1", Dir: "reply", Size: 5},
		}, Targets: []results.Target{{Run: "run-1", Command: []string{"cat"}, Verdict: "exit 0",
			Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{}}}}},
			"The recording has 2 messages to the server and 1 from it. The largest message has " +
				"2 KiB.", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.set.Environments = environments
			s := Sections(tt.set)[0]
			said := strings.Join(append([]string{s.Title + "."}, s.Lead...), " ")
			isTold := strings.HasPrefix(said, tt.want[:10]) && strings.Contains(said, tt.want)
			if !isTold || len(s.Lead) != tt.lead {
				t.Errorf("got %q, want %q", said, tt.want)
			}
		})
	}
}

func TestTheTroublesOfARecordingAreNamed(t *testing.T) {
	set := &results.Set{Messages: []results.Message{
		{Dir: "request", Method: "initialize", ID: []byte("0"), Size: 90},
		{Dir: "reply", ID: []byte("0"), T: 9e9},
		{Dir: "request", Method: "a", ID: []byte("1"), T: 10e9, Size: 1},
		{Dir: "request", Method: "open", T: 10e9 + 1, Size: 250159},
		{Dir: "request", Method: "b", ID: []byte("2"), T: 10e9 + 1, Size: 7, Stall: 5e8},
		{Dir: "request", Method: "b", ID: []byte(`"x"`), T: 10e9 + 2, Size: 7},
		{Dir: "reply", ID: []byte("1"), T: 10e9 + 2e6, Error: true},
	}}
	want := []string{
		`2 requests without an answer: b (id 2), b (id "x"), the first right after open of ` +
			"250,159 B. An answer was not written, not written whole, or not flushed. Record " +
			"again with pipebench tap --bodies, then send it again: pipebench drive --messages " +
			"RECORDING -- COMMAND",
		"The recording has no end: the server still runs, or tap was killed. If it runs, next: " +
			"pipebench inspect PID; then end the client and look again.",
		"Slowest after the handshake: a (id 1), 2.00 ms, right after initialize of 90 B.",
		"The recording has 5 messages to the server and 2 from it. The largest message has " +
			"250,159 B.",
		"1 error among the answers.",
	}
	if got := recordingSummary(set, ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	set.Messages = slices.Delete(set.Messages, 4, 5)
	set.Messages[4].T = 10e9 + 3
	asked := results.Message{Dir: "request", Method: "c", Size: 4}
	set.Messages = slices.Insert(set.Messages, 4, asked)
	set.Targets = []results.Target{{Command: []string{"node", "x.js"}, Verdict: "exit 0",
		Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{}}}}
	one := `1 request without an answer: b (id "x"), right after c of 4 B. An answer was not ` +
		"written, not written whole, or not flushed. Record again with pipebench tap --bodies, " +
		"then send it again: pipebench drive --messages RECORDING -- node x.js"
	if got := recordingSummary(set, "")[0]; got != one {
		t.Errorf("got %q, want %q", got, one)
	}
	set.Messages[len(set.Messages)-2].Body = "{}"
	again := ". Send it again: pipebench drive --messages RECORDING -- node x.js. If that is " +
		"answered, pipebench inspect PID tells more while the client hangs"
	if got := recordingSummary(set, "")[0]; !strings.HasSuffix(got, again) {
		t.Errorf("got %q, want the end %q", got, again)
	}
}

// Several servers in one recording are told apart.
func TestServersOfOneRecordingAreToldApart(t *testing.T) {
	set := &results.Set{}
	for run, program := range map[string]string{"1": "a", "2": "b"} {
		set.Messages = append(set.Messages,
			results.Message{Run: run, Dir: "request", Method: "x", Size: 1},
			results.Message{Run: run, Dir: "request", Method: "y", ID: []byte("1"), Size: 1},
			results.Message{Run: run, Dir: "request", Method: "z", ID: []byte("2"), Size: 1},
			results.Message{Run: run, Dir: "reply", ID: []byte("2"), T: 5})
		set.Targets = append(set.Targets, results.Target{Run: run, Command: []string{program},
			Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{}}})
	}
	said := strings.Join(recordingSummary(set, ""), "\n")
	for _, want := range []string{
		"a: 1 request without an answer: y (id 1), ", "a: Slowest after the handshake: z (id 2), ",
		"b: 1 request without an answer: y (id 1), ", "b: Slowest after the handshake: z (id 2), ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("got %q, without %q", said, want)
		}
	}
}

// What disturbs a machine is no way in which stdio fails, and each has its section.
func TestFailuresAndDisturbancesAreToldApart(t *testing.T) {
	set := &results.Set{Findings: []results.Finding{
		{Run: "run-1", ID: "failure/reader-gone/pipe", Verdict: results.Depends, Class: "noticed"},
		{
			Run: "run-2", ID: "machine/load", Verdict: results.Noted,
			Found: "the load average was 9", Advice: "wait",
		},
	}}
	commands := []string{"pipebench run --scenario reader-gone", "pipebench probe --machine"}
	for i, command := range commands {
		e := machineNamed(fmt.Sprintf("run-%d", i+1), "linux")
		e.Command = command
		set.Environments = append(set.Environments, e)
	}
	sections := Sections(set)
	for _, id := range []string{"failure-findings", "machine-findings"} {
		at := slices.IndexFunc(sections, func(s Section) bool { return s.ID == id })
		if at < 0 || len(sections[at].Tables[0].Rows) != 1 {
			t.Errorf("%s: sections %+v", id, sections)
		}
	}
	if got := sections[0].Commands; !slices.Equal(got, commands) {
		t.Errorf("commands %q", got)
	}
}

// A server that only tap stood before has no sizes and no limits, and is told all the same.
func TestAServerWithoutLimitsIsShown(t *testing.T) {
	set := &results.Set{
		Environments: []results.Environment{machineNamed("run-1", "linux")},
		Targets:      []results.Target{{Run: "run-1", Command: []string{"server"}, Protocol: "lines", Verdict: "exit 0", Evidence: results.TargetEvidence{Size: &results.SizeEvidence{NSPerByte: 0.9692440311041215, PayloadBytes: 1048577}}}},
	}
	rows := texts(targetTable(set, set.Targets).dropEmpty())
	if len(rows) != 1 || !slices.Equal(rows[0][:3],
		[]string{"server", "lines", "exited silently (code 0)"}) {
		t.Fatalf("rows %q", rows)
	}
}

// texts returns the cells of a table as a person reads them.
func texts(t Table) [][]string {
	var out [][]string
	for _, row := range t.Rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, c.Text)
		}
		out = append(out, texts)
	}
	return out
}

// machineNamed is the environment of a run on one of three machines.
func machineNamed(run, os string) results.Environment {
	arch := map[string]string{"linux": "amd64", "darwin": "arm64", "windows": "amd64"}[os]
	return results.Environment{Run: run, Machine: "sha256:" + os, OS: os, Arch: arch, Hostname: "lab-" + os, Command: "pipebench run --seed 7"}
}

// The answer about several machines says what a framing keeps on each, by name.
func TestSeveralMachinesBeginWithWhatDiffers(t *testing.T) {
	set := &results.Set{Environments: []results.Environment{machineNamed("run-1", "linux"), machineNamed("run-2", "darwin")}}
	for i, cost := range []float64{1.1, 2.5} {
		for _, framing := range []string{"raw", "ndjson"} {
			r := results.Record{Run: fmt.Sprintf("run-%d", i+1), Cell: results.Cell{Framing: framing, Size: 4096, Placement: "same", Pattern: "stream"}}
			for round := range 8 {
				ns := 1000 + float64(round)
				if framing != "raw" {
					ns *= cost
				}
				r.Samples = append(r.Samples, results.Sample{Round: round + 1, ElapsedNS: int64(1000 * ns), Messages: 1000, PayloadBytes: 4096e3, WireBytes: 4097e3})
			}
			set.Records = append(set.Records, r)
		}
	}
	s := Sections(set)[0]
	const difference = "Compared with other framings, ndjson is 2.3 times slower on lab-darwin " +
		"than on lab-linux"
	if s.Title != difference || s.Lead[0] != difference+"." {
		t.Errorf("title %q, sentences %q", s.Title, s.Lead)
	}
	if len(s.Tables) > 0 { // everything is as fast on both
		t.Errorf("tables %+v", s.Tables)
	}
	set.Environments = set.Environments[:1]
	set.Records = set.Records[:2]
	if s := Sections(set)[0]; strings.Contains(s.Title+strings.Join(s.Lead, ""), "machines differ") {
		t.Errorf("one machine differs from itself: %q", s.Lead)
	}
}
