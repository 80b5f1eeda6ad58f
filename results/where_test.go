package results_test

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// A filter passes on the runs that fit all conditions, wherever their environment stands among
// their lines, and names the keys that there are if it cannot know one.
func TestAFilterPassesOnTheRunsThatFit(t *testing.T) {
	lines := []results.Line{
		results.Message{Run: "b", Dir: "request", Size: 1},
		results.Environment{Run: "a", OS: "linux", Kernel: "6.1.0-50-amd64", CPUs: 2,
			Labels: map[string]string{"pool": "blue", "os": "lab"}},
		results.Environment{Run: "b", OS: "linux", Kernel: "6.12.0", CPUs: 8, Seed: 1<<53 + 1,
			Labels: map[string]string{"pool": "green", "site": "desk"}},
		results.Message{Run: "a", Dir: "request", Size: 2},
	}
	for _, test := range []struct {
		conditions, want, err string
	}{
		{"", "messages a b", ""},
		{"os=linux", "messages a b", ""},
		{"os=lab", "messages a", ""}, // a label that has the name of a field
		{"kernel~6.1", "messages a b", ""},
		{"kernel~6.1.", "messages a", ""},
		{"kernel=6.1", "messages", "no results: no run fits all conditions"},
		{"pool=GREEN", "messages b", ""},
		{"pool=green cpus=8", "messages b", ""},
		{"seed=9007199254740993", "messages b", ""}, // 2^53 + 1, which no float64 can hold
		{"pool=green cpus=2", "messages", "no run fits"},
		{"pool=red", "messages", "there are pool blue, green"},
		{"site=x", "messages", "fits all conditions; there are site desk; some runs have no site"},
		{"cpu_s=2", "messages", "known are arch, cpu"},
		{"kernel", "", "want KEY=VALUE"},
		{"kernel=", "", "want KEY=VALUE"},
		{"=6", "", "want KEY=VALUE"},
	} {
		filter, err := results.ParseFilter(strings.Fields(test.conditions)...)
		got := ""
		if err == nil {
			set := &results.Set{}
			take := filter.Through(set.Add)
			for _, line := range lines {
				take(line)
			}
			err = filter.Err()
			got = "messages"
			for _, e := range set.Environments {
				if n := len(set.OfRun(e.Run).Messages); n != 1 {
					t.Errorf("%s: run %s has %d messages", test.conditions, e.Run, n)
				}
				got += " " + e.Run
			}
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		matches := strings.Contains(text, test.err) && (text == "") == (test.err == "")
		if got != test.want || !matches {
			t.Errorf("%q: got %q, %q; want %q, %q", test.conditions, got, text, test.want, test.err)
		}
	}
}
