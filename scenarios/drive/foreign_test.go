package drive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// foreignServer is an MCP server that shares no code with this project. It goes wrong in one way at
// messages beyond a limit.
const foreignServer = `
import json, os, sys
mode, limit = sys.argv[1], int(sys.argv[2])
out = sys.stdout.buffer

def say(message):
    text = json.dumps(message).encode()
    if large and mode == "break off" and "result" in message:
        out.write(text[:len(text) // 2])
        out.flush()
        os._exit(0)
    out.write(text + b"\n")
    out.flush()

def fail(id, why):
    say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": why}})

for line in sys.stdin.buffer:
    large = len(line) - 1 > limit
    if large and mode == "leave": sys.exit(0)
    if large and mode == "raise": raise ValueError("line too long")
    if large and mode == "abort": os.abort()
    if large and mode == "swallow": continue
    if large and mode == "give up": mode = "deaf"
    if mode == "deaf": continue
    m = json.loads(line)
    if "id" not in m: continue
    if large and mode == "refuse":
        say({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32600, "message": "too large"}})
    elif m["method"] == "initialize":
        say({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "0"}}})
    elif m["method"] == "tools/list":
        say({"jsonrpc": "2.0", "id": m["id"], "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}})
    elif m["method"] == "tools/call":
        text = m["params"]["arguments"]["text"]
        if large and mode == "alter": text = text[:5000] + "?" + text[5001:]
        say({"jsonrpc": "2.0", "id": m["id"], "result": {"content": [{"type": "text", "text": text}]}})
    else:
        fail(m["id"], "no such method")
`

func TestWhatServersInAnotherLanguageDoIsNamedToTheByte(t *testing.T) {
	t.Parallel()
	// found soon: every failure is another start, and one may be waited for
	const limit = 128<<10 - 1
	for _, row := range []struct {
		mode  string
		side  string // whose limit it is
		above target.Verdict
	}{
		{"give up", "request", target.Deaf}, // these two first, since they are waited for
		{"swallow", "request", target.Unanswered},
		{"leave", "request", "exit 0"},
		{"raise", "request", "exit 1"},
		{"abort", "request", "signal SIGABRT"},
		{"refuse", "request", target.ErrorReply},
		{"alter", "reply", target.Corrupt},
		{"break off", "reply", target.Truncated},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			o := drive.Options{Command: python(t, foreignServer, row.mode, fmt.Sprint(limit)),
				Patience: 20 * time.Second}
			if row.above == target.Deaf || row.above == target.Unanswered {
				o.Patience = 2e8
			}
			d := begin(t, o)
			if !strings.HasPrefix(d.Protocol(), "mcp 2025-06-18") ||
				!strings.HasPrefix(d.Request(), "tool echo, answers checked") {
				t.Errorf("found %s, %s", d.Protocol(), d.Request())
			}
			limits, err := d.FindLimits(t.Context(), 128<<10, discard)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range limits {
				l := limitOf(r)
				switch {
				case l.side == row.side && (l.above != row.above || l.flaky ||
					l.side == "request" && l.bytes != limit):
					t.Errorf("found %+v, want %s above %d bytes", l, row.above, limit)
				case l.side == "request" && row.side == "reply" && l.bytes > 0:
					t.Errorf("found %v", l)
				}
			}
		})
	}
}

// leavesAfter answers a line that is too long, and ends. Of twice as long a line, it answers half.
const leavesAfter = `
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line if len(line) < 131000 else line[:65536])
    sys.stdout.buffer.flush()
    if len(line) > 65536: sys.exit(0)
`

func TestAServerThatEndsAfterItsAnswerEndsOverThatMessage(t *testing.T) {
	d := open(t, drive.Options{Command: python(t, leavesAfter), Protocol: "lines",
		Patience: 20 * time.Second})
	limits, err := d.FindLimits(t.Context(), 128<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	if l := limitOf(limits[0]); l.bytes != 65_535 || l.above != "exit 0" || l.flaky ||
		len(l.uneven) > 0 {
		t.Errorf("found %+v", l)
	}
	const want = "larger ones are cut; the answer was cut: flush before exit"
	if got := limits[0].Evidence.Advice; !strings.HasPrefix(got, want) {
		t.Errorf("advises %q, not %q", got, want)
	}
}

func TestASweepBlamesTheSizeOverWhichAServerEnds(t *testing.T) {
	d := open(t, drive.Options{Command: python(t, leavesAfter), Protocol: "lines",
		Patience: 20 * time.Second, Budget: 1}) // one request a size
	sweep, err := d.Sweep(t.Context(), []int{1 << 10, 60_000, 70_000}, discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdictsOf(sweep); got != "ok, ok, exit 0" {
		t.Errorf("got %s", got)
	}
	if last := sweep.Targets[2].Evidence.Failure; last.ServedOfSize == 0 {
		t.Errorf("found %+v", last)
	}
}
