package drive_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// faultsOf puts a server through scenarios, all without ids, and returns the verdicts.
func faultsOf(t *testing.T, o drive.Options, ids ...string) map[string]results.Fault {
	t.Helper()
	o.Patience, o.Longest = 2e8, 2e9
	d := open(t, o)
	faults := map[string]results.Fault{}
	if err := d.Faults(t.Context(), func(l results.Line) error {
		f := l.(results.Fault)
		faults[f.ID] = f
		return nil
	}, ids...); err != nil {
		t.Fatal(err)
	}
	return faults
}

func expect(t *testing.T, faults map[string]results.Fault, want map[string]string) {
	t.Helper()
	for id, verdict := range want {
		if f := faults[id]; f.Verdict != verdict {
			t.Errorf("%s: %q, want %q: %v", id, f.Verdict, verdict, f.Evidence)
		}
	}
	for id, f := range faults {
		if (f.Verdict != "ok") != (f.Advice != "") {
			t.Errorf("%s: verdict %s, advice %q", id, f.Verdict, f.Advice)
		}
	}
}

func TestAGoodServerStandsWhatClientsDoToIt(t *testing.T) {
	expect(t, faultsOf(t, server("mcp")), map[string]string{
		"dirty-line": "ok", "split-utf8": "ok", "trickle": "ok", "slow-reader": "ok", "unread-stderr": "ok",
		"nonblocking-stdout": "ok", "eof-mid-frame": "ok", "wrong-framing": "ok", "closed-stdout": "ok",
		"lying-length": "not tried",
	})
}

func TestFaultsOfServersAreNamed(t *testing.T) {
	for _, row := range []struct{ job, scenario, verdict string }{
		{"nag", "wrong-framing", "waits in silence"}, // what it says is no answer
		{"mcp split-utf8=100", "split-utf8", "corrupt"},
		{"mcp stderr-flood", "unread-stderr", "deadlock"},
	} {
		t.Run(row.job, func(t *testing.T) {
			expect(t, faultsOf(t, server(row.job), row.scenario), map[string]string{row.scenario: row.verdict})
		})
	}
}

// careless reads lines and answers each with itself, as its author tried it by hand: it does not
// look at what a write returns, and stays when its output is gone.
const careless = `
import os, sys
while True:
    line = sys.stdin.buffer.readline()
    if not line:
        while True: pass
    try: os.write(1, line)
    except BlockingIOError: pass
    except BrokenPipeError: pass
`

func TestFaultsOfAServerInAnotherLanguageAreNamed(t *testing.T) {
	python := python(t)
	faults := faultsOf(t, drive.Options{Command: []string{python, "-c", careless}}, "split-utf8", "nonblocking-stdout", "eof-mid-frame")
	expect(t, faults, map[string]string{"split-utf8": "ok", "nonblocking-stdout": "truncated"})
	if v := faults["eof-mid-frame"].Verdict; !strings.HasPrefix(v, "stays") { // how much of a CPU it burns is up to the others on the machine
		t.Errorf("eof-mid-frame: %q", v)
	}
}

func TestMemoryThatIsOnlyReservedIsNoticed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no other system tells how much a process has reserved")
	}
	o := server("reserve")
	o.Protocol, o.Framing = "jsonrpc", "content-length"
	expect(t, faultsOf(t, o, "lying-length"), map[string]string{"lying-length": "allocates what is announced"})
}
