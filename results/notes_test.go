package results

import (
	"strings"
	"testing"
)

func TestNotesSayWhatApplies(t *testing.T) {
	flat := around(10000, 0.01)
	change := func(f func(*Record)) *Set {
		s := beside("same", flat, map[string][]float64{"ndjson": flat})
		for i := range s.Records {
			f(&s.Records[i])
		}
		return s
	}
	modes := []float64{1000, 1010, 1020, 7000, 7010, 7020}
	for _, tt := range []struct {
		name string
		set  *Set
		want string
		not  string
	}{
		{"six samples", change(func(*Record) {}), "n = 6 samples a cell; of six samples it is [min, max]", "fewer than"},
		{"seven samples", beside("same", append(flat, 10000), nil), "n = 7 samples a cell", "[min, max]"},
		{"unlike numbers of samples", beside("same", append(flat, 10000), map[string][]float64{"ndjson": flat}), "n = 6 to 7 samples", ""},
		{"too few samples", beside("same", flat[:5], nil), "1 of 1 cells have fewer than 6 samples", "± is"},
		{"raw beside it", change(func(*Record) {}), "÷ raw sets a cell beside raw", "cannot be said"},
		{"no raw", func() *Set { s := change(func(*Record) {}); s.Records = s.Records[1:]; return s }(), "what a framing costs cannot be said", "÷ raw"},
		{"the scheduler's choice", beside("free", flat, nil), "another run may fall out differently", "modes"},
		{"the scheduler's choice, twice", beside("free", modes, nil), "two modes: raw 64 KiB at 9.35 GB/s (3 samples) and 64.9 GB/s (3)", ""},
		{"a run cut short", change(func(r *Record) { r.Stopped = "interrupted" }), "the run was interrupted in 2 cells", "time allowed"},
		{"no more time", change(func(r *Record) { r.Stopped = "max-time" }), "2 cells stopped at the time allowed", "interrupted"},
		{"messages checked", change(func(r *Record) { r.Verified = &Verified{Sequence: 10, Compared: 2, Bytes: 7} }), "20 messages were checked by number and length while the clock ran, 4 more (14 bytes) byte for byte", ""},
		{"a percentile that is missing", join(beside("same", flat, nil), &Set{Records: []Record{withLatency(testRecord(testCell("raw", 1), 1, 100), "oneway", 100)}}), "a percentile is shown only where ten observations lie beyond it", ""},
		{"a line that was skipped", &Set{Records: change(func(*Record) {}).Records, Problems: []Problem{{File: "f", Line: 3, What: "torn"}}}, "f:3: torn", ""},
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
	s := beside("same", around(10000, 0), nil)
	s.Records[0].Samples[2].Latency = map[string]Latency{"oneway": {Count: 5, HDR: "damaged"}}
	rows := Summarise(s).Rows
	if len(rows[0].Warnings) != 1 || !strings.Contains(rows[0].Warnings[0], "oneway latency is not shown") {
		t.Errorf("got warnings %q", rows[0].Warnings)
	}
	if _, ok := rows[0].Estimates["goodput"]; !ok {
		t.Error("the rest of the row is lost with it")
	}
}

func TestHeadersOfManyRuns(t *testing.T) {
	var all []Environment
	for i := range 20 {
		e := testEnvironment()
		e.Seed = int64(i)
		all = append(all, e)
	}
	got := headers(all)
	if len(got) != headerLines || got[0] != "linux 6.12.0 amd64 · Testium 9000 · 2 CPUs · virtualised by kvm · pages of 4 KiB" || got[5] != "and 16 lines more: 20 runs in all" {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := headers([]Environment{{CPUs: 1}}); got[0] != "1 CPU" || strings.Contains(got[1], "0001") {
		t.Errorf("of an environment that tells little: got %q", got)
	}
}
