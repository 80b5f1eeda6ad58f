package drive_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

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
