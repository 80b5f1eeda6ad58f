package drive_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/drive"
)

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

func TestFaultsOfServersAreNamed(t *testing.T) {
	leakCheck(t)
	reserves := server("reserve")
	reserves.Protocol, reserves.Framing = "jsonrpc", "content-length"
	for _, row := range []struct {
		name  string
		o     drive.Options
		wants map[string]string // verdicts by scenario
	}{
		{"in another language", drive.Options{}, map[string]string{
			"split-utf8": "ok", "nonblocking-stdout": "truncated",
			"eof-mid-frame": "stays", // how much of a CPU it burns is up to the others on the machine
		}},
		{"a good server", server("mcp"), map[string]string{
			"dirty-line": "ok", "split-utf8": "ok", "trickle": "ok", "slow-reader": "ok", "unread-stderr": "ok",
			"nonblocking-stdout": "ok", "eof-mid-frame": "ok", "wrong-framing": "ok", "closed-stdout": "ok",
			"lying-length": "not tried",
		}},
		{"cuts characters", server("mcp split-utf8=100"), map[string]string{"split-utf8": "corrupt"}},
		{"logs much", server("mcp stderr-flood"), map[string]string{"unread-stderr": "deadlock"}},
		{"says something, which is no answer", server("nag"), map[string]string{"wrong-framing": "waits in silence"}},
		{"reserves what is announced", reserves, map[string]string{"lying-length": "allocates what is announced"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := row.o
			switch {
			case o.Command == nil:
				o.Command = python(t, careless)
			case o.Framing == "content-length" && runtime.GOOS != "linux":
				t.Skip("no other system tells how much a process has reserved")
			}
			o.Patience, o.Longest = 2e8, 2e9
			d := begin(t, o)
			for id, verdict := range row.wants {
				m, err := catalogue.Find(catalogue.For(catalogue.Server), id)
				if err != nil {
					t.Fatal(err)
				}
				f, err := d.Treat(t.Context(), m, "")
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(string(f.Verdict), verdict) {
					t.Errorf("%s: %q, want %q: %+v", id, f.Verdict, verdict, f.Evidence)
				}
				if (f.Verdict != "ok") != (f.Advice != "") {
					t.Errorf("%s: verdict %s, advice %q", id, f.Verdict, f.Advice)
				}
			}
		})
	}
}
