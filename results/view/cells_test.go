package view

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestNotesSayWhatApplies(t *testing.T) {
	flat := resultstest.Around(10000, 0.01)
	change := func(f func(*results.Record)) *results.Set {
		s := resultstest.Beside("same", flat, map[string][]float64{"ndjson": flat})
		for i := range s.Records {
			f(&s.Records[i])
		}
		return s
	}
	for _, tt := range []struct {
		name string
		set  *results.Set
		want string
		not  string
	}{
		{"six samples", change(func(*results.Record) {}),
			"± is the 95 % interval of the median, of 6 samples", "~"},
		{"seven samples", resultstest.Beside("same", append(flat, 10000), nil),
			"of the median, of 7 samples", "~"},
		{"unlike numbers of samples", resultstest.Beside("same", append(flat, 10000),
			map[string][]float64{"ndjson": flat}), "of the median, of 6 to 7 samples", ""},
		{"too few samples", resultstest.Beside("same", flat[:5], nil), "", "± is"},
		{"raw beside it", change(func(*results.Record) {}), "vs raw sets a cell beside raw", "cannot be said"},
		{"no raw", func() *results.Set { s := change(func(*results.Record) {}); s.Records = s.Records[1:]; return s }(), "what a framing costs cannot be said", "vs raw"},
		{"no more time", change(func(r *results.Record) { r.Stopped = "max-time" }), "2 cells stopped at the time allowed", "interrupted"},
		{"messages checked", change(func(r *results.Record) { r.Verified = &results.Verified{Sequence: 10, Compared: 2, Bytes: 7} }), "20 messages were checked by number and length while the clock ran, 4 more (14 bytes) byte for byte", ""},
		{"a line that was skipped", &results.Set{Records: change(func(*results.Record) {}).Records, Problems: []results.Problem{{File: "f", Line: 3, What: "torn"}}}, "f:3: torn", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(Summarise(tt.set).Notes, "\n")
			if !strings.Contains(got, tt.want) {
				t.Errorf("%q is missing in:\n%s", tt.want, got)
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q does not apply, but is in:\n%s", tt.not, got)
			}
		})
	}
}

func TestADamagedHistogramIsAWarning(t *testing.T) {
	s := resultstest.Beside("same", resultstest.Around(10000, 0), nil)
	s.Records[0].Samples[2].Latency = map[string]results.Latency{"oneway": {Count: 5, HDR: "damaged"}}
	rows := Summarise(s).Rows
	if len(rows[0].Warnings) != 1 || !strings.Contains(rows[0].Warnings[0], "oneway latency is not shown") {
		t.Errorf("got warnings %q", rows[0].Warnings)
	}
	if _, ok := rows[0].Estimates["goodput"]; !ok {
		t.Error("the rest of the row is lost with it")
	}
}

func TestTheHeaderSaysWhatIsKnownOfTheMachine(t *testing.T) {
	s := &results.Set{Environments: []results.Environment{resultstest.Environment()}}
	want := "Testium 9000 · 2 CPUs · linux 6.12.0 amd64 · kvm"
	if got := header(s, nil); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("got %q", got)
	}
	little := &results.Set{Environments: []results.Environment{{CPUs: 1}}}
	if got := header(little, nil); len(got) != 1 || got[0] != "1 CPU · load -" {
		t.Errorf("of an environment that tells little: got %q", got)
	}
	little.Environments = append(little.Environments, results.Environment{CPUs: 1})
	if got := header(little, nil); got[0] != "1 CPU · 2 runs · load -" {
		t.Errorf("of two runs: got %q", got)
	}
}
