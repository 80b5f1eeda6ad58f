package view_test

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

func TestBadgeOfWhatAServerStands(t *testing.T) {
	faults := []results.Fault{{ID: "trickle", Verdict: "ok"}, {ID: "dirty-line", Verdict: "deaf"}}
	if badge := view.Badge(&results.Set{Faults: faults}); !strings.Contains(badge, "stands 1 of 2 faults") || !strings.Contains(badge, "yellow") {
		t.Errorf("%s", badge)
	}
	if badge := view.Badge(&results.Set{Faults: faults[:1]}); !strings.Contains(badge, "stands 1 of 1 fault of") || !strings.Contains(badge, "brightgreen") {
		t.Errorf("%s", badge)
	}
}

func TestBadge(t *testing.T) {
	served := results.Target{Size: 16 << 20, Verdict: "ok"}
	for _, row := range []struct {
		name    string
		targets []results.Target
		has     []string
	}{
		{"all served", []results.Target{served}, []string{"PASS to 16 MiB", "brightgreen"}},
		{"silent exit", []results.Target{served, {Verdict: "exit 0", RequestLimit: new(int64(10485759))}}, []string{"FAIL at 10,485,760 B: exited silently (code 0)", "red"}},
		{"refused in words", []results.Target{{Verdict: "error reply", RequestLimit: new(int64(16 << 20))}}, []string{"PASS to 16 MiB, then error reply", "brightgreen"}},
		{"too small", []results.Target{{Size: 1 << 10, Verdict: "ok"}}, []string{"yellow"}},
		{"grows", []results.Target{served, {Verdict: results.VerdictSuperlinear}}, []string{"faster than linear", "yellow"}},
		{"replies break first", []results.Target{
			served, {Size: 32 << 20, Verdict: "exit 0"}, {Verdict: "exit 0", RequestLimit: new(int64(20 << 20))}, {Verdict: "truncated", ReplyLimit: new(int64(100000))},
		}, []string{"FAIL at 100,001 B: truncated", "red"}},
		{"replies break alone", []results.Target{
			{Verdict: "ok", SearchedTo: new(int64(16 << 20))}, {Verdict: "corrupt", ReplyLimit: new(int64(8 << 20))},
		}, []string{"FAIL at 8,388,609 B: corrupt", "red"}},
		{"requests break first", []results.Target{
			{Verdict: "exit 0", RequestLimit: new(int64(5 << 20))}, {Verdict: "corrupt", ReplyLimit: new(int64(8 << 20))},
		}, []string{"FAIL at 5,242,881 B: exited silently (code 0)", "red"}},
		{"a replay", []results.Target{{Verdict: "ok", Evidence: results.TargetEvidence{ReplayEvidence: &results.ReplayEvidence{Replayed: 9}}}}, []string{"PASS: 9 messages replayed]", "brightgreen"}},
		{"a replay that ends early", []results.Target{{Verdict: "deaf", Evidence: results.TargetEvidence{ReplayEvidence: &results.ReplayEvidence{Replayed: 9}}}}, []string{"FAIL: 9 messages replayed; no reply, process alive", "red"}},
		{"nothing works", []results.Target{{Size: 1 << 10, Verdict: "deaf"}}, []string{"FAIL at every size: no reply, process alive", "red"}},
	} {
		badge := view.Badge(&results.Set{Targets: row.targets})
		for _, has := range row.has {
			if !strings.Contains(badge, has) {
				t.Errorf("%s: %s lacks %q", row.name, badge, has)
			}
		}
	}
}
