package drive_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/drive/drivetest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A verdict is a testing.TB that keeps what it is told instead of failing.
type verdict struct {
	testing.TB
	said   []string
	logged []string
}

func (v *verdict) Helper()                  {}
func (v *verdict) Context() context.Context { return context.Background() }
func (v *verdict) Error(args ...any)        { v.said = append(v.said, fmt.Sprint(args...)) }
func (v *verdict) Errorf(format string, args ...any) {
	v.said = append(v.said, fmt.Sprintf(format, args...))
}

func (v *verdict) Log(args ...any) { v.logged = append(v.logged, fmt.Sprint(args...)) }
func (v *verdict) Logf(format string, args ...any) {
	v.logged = append(v.logged, fmt.Sprintf(format, args...))
}

func checked(job string, wants ...drivetest.Want) []string {
	cmd := exec.Command(self())
	cmd.Env = append(os.Environ(), serverJob+"="+job)
	var v verdict
	drivetest.Check(&v, cmd, wants...)
	return v.said
}

func TestCheckFailsAServerThatDoesNotDoWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, job string
		wants     []drivetest.Want
		says      string // "" where it passes
	}{
		{"passes", "mcp", []drivetest.Want{drivetest.Limit(100000),
			drivetest.Assert("p50<5s@1KiB")}, ""},
		{"measures until a percentile can be told", "slow 5ms",
			[]drivetest.Want{drivetest.Assert("p90<5s@1KiB")}, ""},
		{"limit too small", "mcp exit0@20000", []drivetest.Want{drivetest.Limit(100000)},
			"20,000 B"},
		{"how it breaks at that limit", "mcp exit0@20000",
			[]drivetest.Want{drivetest.Limit(100000)}, "exited silently"},
		{"latency", "mcp", []drivetest.Want{drivetest.Assert("p50<1ns@1KiB")},
			"p50<1ns@1KiB: fails"},
		{"no assertion", "mcp", []drivetest.Want{drivetest.Assert("fast")}, "want METRIC"},
		{"no server", "exit abc", []drivetest.Want{drivetest.Limit(1000)}, "code 3"},
		{"what to look at first", "exit abc", nil, "it ended before it could be loaded: does it"},
		{"every size has to work", "mcp exit0@2000", nil, "exited silently"},
		{"its last words", "trace", nil, "the buffer exceeds 5000 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			said := strings.Join(checked(row.job, row.wants...), "\n")
			if (said == "") != (row.says == "") || !strings.Contains(said, row.says) {
				t.Errorf("said %q, want %q in it", said, row.says)
			}
		})
	}
}

// The advice is given once, in a line of its own, and sizes have units as they have elsewhere.
func TestCheckSaysHowAServerBreaksOnce(t *testing.T) {
	t.Parallel()
	said := strings.Join(checked("mcp exit0@20000", drivetest.Limit(1<<20)), "\n")
	if n := strings.Count(said, "\nthe server ended; if it ends by size"); n != 1 {
		t.Errorf("the advice is given %d times:\n%s", n, said)
	}
	if !strings.Contains(said, "limit>=1MiB: fails") {
		t.Errorf("said %q", said)
	}
}

// A server that fails over no size is said to, after the calls that it answered. What it writes
// besides its answers is logged, and fails no test, as it does not fail the command drive.
func TestCheckSaysWhatIsNotAboutASize(t *testing.T) {
	t.Parallel()
	said := strings.Join(checked("calls 4", drivetest.Limit(4<<10)), "\n")
	const want = "the server answers 3 requests of 136 B or of 4,096 B, then fails: exited (code 1)"
	if !strings.Contains(said, want) {
		t.Errorf("said %q, want %q in it", said, want)
	}
	var v verdict
	drivetest.CheckWith(&v, server("mcp dirty"), drivetest.Limit(4<<10))
	logged := strings.Join(v.logged, "\n")
	if len(v.said) > 0 || !strings.Contains(logged, "lines on standard output without a message") {
		t.Errorf("said %q, logged %q", v.said, logged)
	}
}

// A server that passes only because its environment spares it a flush is no surprise later.
func TestCheckLogsThatAMissingFlushIsHidden(t *testing.T) {
	t.Parallel()
	env := append(os.Environ(), "PYTHONUNBUFFERED=1")
	o := drive.Options{Command: python(t, scannerServer), Env: env}
	var v verdict
	drivetest.CheckWith(&v, o, drivetest.Limit(2000))
	logged := strings.Join(v.logged, "\n")
	if !strings.Contains(logged, "PYTHONUNBUFFERED is set") {
		t.Errorf("said %q, logged %q", v.said, logged)
	}
	// the command can be pasted into a shell, as where a test fails
	if !strings.HasPrefix(logged, proc.ShellLine(o.Command)+" speaks ") {
		t.Errorf("logged %q", logged)
	}
}

// A tool is called only if it is named. The log says so, and what was sent.
func TestCheckWithCallsATool(t *testing.T) {
	t.Parallel()
	env := append(os.Environ(), serverJob+"=shout 100000")
	o := drive.Options{Command: []string{self()}, Env: env}
	var unnamed, named verdict
	drivetest.CheckWith(&unnamed, o, drivetest.Limit(200_000))
	if len(unnamed.said) > 0 {
		t.Errorf("without a tool: %q", unnamed.said)
	}
	logged := strings.Join(unnamed.logged, "\n")
	for _, want := range []string{
		"speaks mcp ", " in ndjson; sending method pipebench/unknown",
		"no tool is called unasked: --tool shout", "no limit on a request up to 200,000 B",
	} {
		if !strings.Contains(logged, want) {
			t.Errorf("logged\n%s\nwant %q in it", logged, want)
		}
	}
	o.Tool = "shout"
	drivetest.CheckWith(&named, o, drivetest.Limit(200_000))
	said := strings.Join(named.said, "\n")
	if !strings.Contains(said, "payload 100,000 B") {
		t.Errorf("with a tool: %q", said)
	}
	logged = strings.Join(named.logged, "\n")
	if !strings.Contains(logged, "sending tool shout") {
		t.Errorf("logged %q", logged)
	}
}

// A tool that answers with isError refuses, and does not work.
func TestCheckWithAToolThatRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job  string
		says []string
	}{
		{"shout 50000 refuses", []string{
			"limit>=1MiB: fails", "(payload 50,000 B); one byte more: error reply",
			"50000 bytes at most; the server refuses and says so",
		}},
		{"shout -2", []string{": error reply", "away; "}},
		{"shout 0 refuses", []string{
			"none of the requests that were tried work: error reply",
			"0 bytes at most; is it the right tool, with all that it needs (--tool, --tool-args)?",
		}},
		{"shout 5000 short", []string{
			"limit>=1MiB: fails: requests: the smallest do not work, and 8,192 B does",
			"requests of 8,192 B work, and smaller ones do not: error reply",
		}},
	} {
		o := server(row.job)
		o.Tool = "shout"
		var v verdict
		drivetest.CheckWith(&v, o, drivetest.Limit(1<<20))
		said := strings.Join(v.said, "\n")
		for _, want := range row.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: said\n%s\nwant %q in it", row.job, said, want)
			}
		}
	}
}

func TestCheckNamesWhatIsWrongWithTheOptions(t *testing.T) {
	t.Parallel()
	pinging := server("ping")
	pinging.Tool = "ping"
	for _, row := range []struct {
		options drive.Options
		says    string
	}{
		{drive.Options{}, "drive: no command to start"},
		{pinging, "tool ping has no such argument; it has []: --tool needs a string or a number, " +
			"--reply-tool a number"},
	} {
		var v verdict
		drivetest.CheckWith(&v, row.options)
		if len(v.said) != 1 || v.said[0] != row.says {
			t.Errorf("said %q, want %q", v.said, row.says)
		}
	}
}
