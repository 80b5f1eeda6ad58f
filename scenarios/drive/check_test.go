package drive_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// A verdict is a testing.TB that keeps what it is told instead of failing.
type verdict struct {
	testing.TB
	said []string
}

func (v *verdict) Helper()                  {}
func (v *verdict) Context() context.Context { return context.Background() }
func (v *verdict) Error(args ...any)        { v.said = append(v.said, fmt.Sprint(args...)) }
func (v *verdict) Errorf(format string, args ...any) {
	v.said = append(v.said, fmt.Sprintf(format, args...))
}

func checked(job string, wants ...drive.Want) []string {
	cmd := exec.Command(self())
	cmd.Env = append(os.Environ(), serverJob+"="+job)
	var v verdict
	drive.Check(&v, cmd, wants...)
	return v.said
}

func TestCheckPassesAServerThatDoesWhatIsWanted(t *testing.T) {
	leakCheck(t)
	if said := checked("mcp", drive.Limit(100000), drive.Assert("p50<5s@1KiB")); said != nil {
		t.Errorf("said %q", said)
	}
}

func TestCheckMeasuresUntilAPercentileCanBeTold(t *testing.T) {
	leakCheck(t)
	if said := checked("slow 1ms", drive.Assert("p99<5s@1KiB")); said != nil {
		t.Errorf("said %q", said)
	}
}

func TestCheckFailsAServerThatDoesNot(t *testing.T) {
	leakCheck(t)
	for _, row := range []struct {
		name, job string
		want      drive.Want
		says      string
	}{
		{"limit too small", "mcp exit0@20000", drive.Limit(100000), "20,000 B"},
		{"latency", "mcp", drive.Assert("p50<1ns@1KiB"), "p50<1ns@1KiB: fails"},
		{"no assertion", "mcp", drive.Assert("fast"), "want METRIC"},
		{"no server", "exit abc", drive.Limit(1000), "exit 3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			said := strings.Join(checked(row.job, row.want), "\n")
			if !strings.Contains(said, row.says) {
				t.Errorf("said %q, want %q in it", said, row.says)
			}
		})
	}
}

func TestCheckWithoutWantsDemandsThatEverySizeWorks(t *testing.T) {
	leakCheck(t)
	if said := checked("mcp exit0@20000"); len(said) == 0 || !strings.Contains(said[0], "exit 0") {
		t.Errorf("said %q", said)
	}
}

func TestJudgeKnowsWhatIsNoVerdict(t *testing.T) {
	grown := results.Target{Verdict: "ok", Evidence: results.TargetEvidence{GrowthEvidence: &results.GrowthEvidence{Slope: 1.4, From: 65536, To: 1048576}}}
	scattered := results.Target{Verdict: "ok", Evidence: results.TargetEvidence{GrowthEvidence: &results.GrowthEvidence{Slope: 1.4, SlopeLo: new(0.3), SlopeHi: new(2.5)}}}
	served := results.Target{Size: 1 << 20, Verdict: "ok"}
	limited := results.Target{Verdict: "deaf", RequestLimit: new(int64(999))}
	for _, row := range []struct {
		assert  string
		targets []results.Target
		outcome stat.AssertOutcome
	}{
		{"slope<1.3", []results.Target{grown}, stat.Fails},
		{"slope<1.5", []results.Target{grown}, stat.Holds},
		{"slope<1.3", []results.Target{scattered}, stat.CannotTell},
		{"slope<1.5", []results.Target{scattered}, stat.Holds},
		{"slope<1.3", []results.Target{served}, stat.CannotTell},
		{"limit>=1MiB", []results.Target{served}, stat.Holds},
		{"limit>=2MiB", []results.Target{served}, stat.CannotTell},
		{"limit<2MiB", []results.Target{served}, stat.CannotTell},
		{"limit<1MiB", []results.Target{served}, stat.Fails},
		{"limit>=1000", []results.Target{served, limited}, stat.Fails},
		{"limit>998", []results.Target{limited}, stat.Holds},
		{"limit>=1", nil, stat.CannotTell},
	} {
		a, err := stat.ParseAssert(row.assert)
		if err != nil {
			t.Fatal(err)
		}
		if got := drive.Judge(a, &results.Set{Targets: row.targets}); got.Outcome != row.outcome {
			t.Errorf("%s: %s, want %s", row.assert, got.Outcome, row.outcome)
		}
	}
}

func TestBadgeOfWhatAServerStands(t *testing.T) {
	faults := []results.Fault{{ID: "trickle", Verdict: "ok"}, {ID: "dirty-line", Verdict: "deaf"}}
	if badge := drive.Badge(&results.Set{Faults: faults}); !strings.Contains(badge, "stands 1 of 2 faults") || !strings.Contains(badge, "yellow") {
		t.Errorf("%s", badge)
	}
	if badge := drive.Badge(&results.Set{Faults: faults[:1]}); !strings.Contains(badge, "stands 1 of 1 faults") || !strings.Contains(badge, "brightgreen") {
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
		{"all served", []results.Target{served}, []string{"ok to 16 MiB", "brightgreen"}},
		{"silent exit", []results.Target{served, {Verdict: "exit 0", RequestLimit: new(int64(10485759))}}, []string{"ok to 10,485,759 B, then exit 0", "red"}},
		{"refused in words", []results.Target{{Verdict: "error reply", RequestLimit: new(int64(16 << 20))}}, []string{"then error reply", "brightgreen"}},
		{"too small", []results.Target{{Size: 1 << 10, Verdict: "ok"}}, []string{"yellow"}},
		{"grows", []results.Target{served, {Verdict: string(drive.Superlinear)}}, []string{"faster than linear", "yellow"}},
		{"replies break first", []results.Target{
			served, {Size: 32 << 20, Verdict: "exit 0"}, {Verdict: "exit 0", RequestLimit: new(int64(20 << 20))}, {Verdict: "truncated", ReplyLimit: new(int64(100000))},
		}, []string{"ok to 100,000 B, then truncated", "red"}},
		{"replies break alone", []results.Target{
			{Verdict: "ok", SearchedTo: new(int64(16 << 20))}, {Verdict: "corrupt", ReplyLimit: new(int64(8 << 20))},
		}, []string{"ok to 8 MiB, then corrupt", "red"}},
		{"requests break first", []results.Target{
			{Verdict: "exit 0", RequestLimit: new(int64(5 << 20))}, {Verdict: "corrupt", ReplyLimit: new(int64(8 << 20))},
		}, []string{"ok to 5 MiB, then exit 0", "red"}},
		{"a replay", []results.Target{{Verdict: "ok", Evidence: results.TargetEvidence{ReplayEvidence: &results.ReplayEvidence{Replayed: 9}}}}, []string{"9 messages replayed: ok", "brightgreen"}},
		{"a replay that ends early", []results.Target{{Verdict: "deaf", Evidence: results.TargetEvidence{ReplayEvidence: &results.ReplayEvidence{Replayed: 9}}}}, []string{"9 messages replayed: deaf", "red"}},
		{"nothing works", []results.Target{{Size: 1 << 10, Verdict: "deaf"}}, []string{"works at no size: deaf", "red"}},
	} {
		badge := drive.Badge(&results.Set{Targets: row.targets})
		for _, has := range row.has {
			if !strings.Contains(badge, has) {
				t.Errorf("%s: %s lacks %q", row.name, badge, has)
			}
		}
	}
}
