package drive_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

func TestFindLimitsNamesTheFaultAndTheExactByte(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fault string
		bytes int
		above target.Verdict
	}{
		{"deaf@64KiB", 64 << 10, target.Deaf}, // first, since each failure is waited for
		{"exit0@200000", 200000, "exit 0"},
		{"limit@256KiB", 256 << 10, "exit 1"},
		{"error@65535", 65535, target.ErrorReply},
	} {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			o := server("mcp " + row.fault)
			if row.above == target.Deaf {
				o.Patience = 2e8
			}
			d := begin(t, o)
			var kept []results.Target
			limits, err := d.FindLimits(t.Context(), 3*row.bytes, func(l results.Line) error {
				kept = append(kept, l.(results.Target))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if l := limitOf(limits[0]); l.bytes != row.bytes || l.above != row.above ||
				l.side != "request" || l.payload <= 0 || l.payload >= l.bytes || l.flaky ||
				len(l.uneven) > 0 {
				t.Errorf("found %+v", l)
			}
			r := kept[0]
			if r.RequestLimit == nil || *r.RequestLimit != int64(row.bytes) ||
				r.Verdict != string(row.above) || r.Evidence.Limit.AtTwice != string(row.above) {
				t.Errorf("kept %+v", r)
			}
		})
	}
}

// A limit of 64 KiB looks like one of pipes, which there is not. Whether the server takes each read
// for a message cannot be told from the limit, nor whether it counts after each read.
func TestALimitAtOneReadIsNotThePipes(t *testing.T) {
	t.Parallel()
	const one = "65,536 B is no limit of a pipe"
	for job, says := range map[string]string{
		"swallow 65536":   one,
		"die 65530":       one,
		"swallow 131072":  "", // another limit
		"swallow 32768":   "", // another limit
		"mcp error@65536": "", // it says that it refuses
		"mcp limit@65536": "", // it says why it ends
	} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			if strings.HasPrefix(job, "swallow") {
				o.Patience = 2e8 // each failure is waited for
			}
			limits, err := begin(t, o).FindLimits(t.Context(), 256<<10, discard)
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(limits[0].Warnings, " ")
			if !strings.Contains(said, says) || (said == "") != (says == "") {
				t.Errorf("%+v: %q", limitOf(limits[0]), said)
			}
		})
	}
}

// A server that takes each read for one message answers a request that is sent apart from the end
// of the handshake.
func TestAServerThatTakesEachReadForAMessageIsNamed(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"joins", "joins " + t.TempDir() + "/started"} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			o.Patience = 2e8 // each failure is waited for
			limits, err := begin(t, o).FindLimits(t.Context(), 128<<10, discard)
			if err != nil {
				t.Fatal(err)
			}
			l := limitOf(limits[0])
			if l.bytes != 64<<10 || l.above != target.Unanswered || l.flaky {
				t.Errorf("found %+v", l)
			}
			said := strings.Join(limits[0].Warnings, " ")
			const want = "takes what one read returns for one message: split its input at newlines"
			if strings.Count(said, want) != 1 || strings.Contains(said, "trickle") {
				t.Errorf("warns %q", said)
			}
			advice := limits[0].Evidence.Advice
			if strings.Contains(advice, "send the answer") || strings.Contains(advice, want) ||
				!strings.Contains(advice, "could not read") {
				t.Errorf("advises %q", advice)
			}
		})
	}
}

// refusingServer reads lines of 100,000 bytes at most, and refuses the pieces of a longer one.
const refusingServer = `
import json, sys
while line := sys.stdin.buffer.readline(100_000):
    answer = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}
    try:
        answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}
    except ValueError:
        pass
    print(json.dumps(answer), flush=True)
`

// A limit on lines is told from one on reads.
func TestALimitOnLinesIsNamed(t *testing.T) {
	t.Parallel()
	o := drive.Options{Command: python(t, refusingServer), Protocol: "jsonrpc", Patience: 3e8}
	limits, err := begin(t, o).FindLimits(t.Context(), 256<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	const want = "it could not read the request: does it limit the length of a line (readline(n)"
	if advice := limits[0].Evidence.Advice; !strings.Contains(advice, want) {
		t.Errorf("advises %q", advice)
	}
	// the newline alone is refused as a message of its own
	const extra = "a request of 100,000 B was answered, and 1 answer came that nobody waited for"
	if said := strings.Join(limits[0].Warnings, " "); !strings.Contains(said, extra) {
		t.Errorf("warns %q", said)
	}
}

// A search starts the server many times, and warns of its headers once.
func TestASearchWarnsOfHeadersWithLFAlone(t *testing.T) {
	t.Parallel()
	o := server("mislength 0 LF")
	o.Protocol = "lsp"
	limits, err := begin(t, o).FindLimits(t.Context(), 64<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, l := range limits {
		said += strings.Count(strings.Join(l.Warnings, " "), "LF alone ends lines of its headers")
	}
	if said != 1 {
		t.Errorf("%d times in %+v", said, limits)
	}
}

// falteringServer is a server of MCP that ends before an answer of more than 50,000 bytes, and
// before one of more than 40,000 if it gave one of that size before. Its argument is a folder.
const falteringServer = `
import json, os, sys
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    result = {"tools": [{"name": "echo", "inputSchema": schema}]}
    if m["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "specimen", "version": "1"}}
    if m["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": m["params"]["arguments"]["text"]}]}
    answer = json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result})
    seen = os.path.join(sys.argv[1], str(len(answer)))
    if len(answer) > 50_000 or len(answer) > 40_000 and os.path.exists(seen):
        print(answer[:1000], end="", flush=True)
        os._exit(1)
    open(seen, "w").close()
    print(answer, flush=True)
`

// The largest answer that works has a size, even if it does not come when it is tried once more.
func TestALimitOfRepliesThatFailsOnceHasASize(t *testing.T) {
	t.Parallel()
	o := drive.Options{Command: python(t, falteringServer, t.TempDir())}
	limits, err := begin(t, o).FindLimits(t.Context(), 128<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	l := limitOf(limits[len(limits)-1])
	if l.side != "reply" || !l.flaky || l.bytes < 40_000 || l.bytes > 50_000 {
		t.Errorf("found %+v", l)
	}
}

// losingServer has a non-blocking output, and keeps what a write refuses as far as it fits into a
// buffer: the first byte too many comes with the next answer, and much more is lost.
const losingServer = `
import json, os, sys
os.set_blocking(1, False)
rest = b""
for line in sys.stdin.buffer:
    m = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}
    if m["method"] == "pipebench/unknown":
        answer = {"jsonrpc": "2.0", "id": m["id"], "result": {"line": line.decode()}}
    data = rest + json.dumps(answer).encode() + b"\n"
    rest = data[os.write(1, data):]
    if len(rest) > 8192:
        rest = b""
        os.set_blocking(1, True)
        os.write(1, b"\n")
        os.set_blocking(1, False)
`

func TestANonBlockingOutputIsNamedThoughOneByteIsOnlyLate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that another process does not block")
	}
	t.Parallel()
	// each failure is waited for
	o := drive.Options{Command: python(t, losingServer), Patience: 2e8}
	limits, err := begin(t, o).FindLimits(t.Context(), 256<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	l := limitOf(limits[0])
	if l.above != target.Truncated || l.bytes < 60_000 || l.bytes >= 64<<10 {
		t.Errorf("found %+v, twice as much %s", l, limits[0].Evidence.Limit.AtTwice)
	}
	const want = "its standard output is non-blocking (O_NONBLOCK): a large write takes a part"
	if advice := limits[0].Evidence.Advice; !strings.HasPrefix(advice, want) {
		t.Errorf("advises %q", advice)
	}
}

// droppingServer has a non-blocking output, and loses what a write refuses.
const droppingServer = `
import json, os, sys
os.set_blocking(1, False)
for line in sys.stdin.buffer:
    m = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": m["id"], "result": {"line": line.decode()}}
    os.write(1, json.dumps(answer).encode() + b"\n")
`

// The rest of an answer that a non-blocking output lost is not waited for.
func TestALostRestIsNotWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that another process does not block")
	}
	t.Parallel()
	o := drive.Options{Command: python(t, droppingServer), Protocol: "jsonrpc",
		Patience: time.Hour, Longest: time.Hour}
	r, _ := sweepOf(t, o, 256<<10)
	f := r.Evidence.Failure
	const says = "B of it came, and its standard output is non-blocking"
	if r.Verdict != string(target.Truncated) || f.Partial == 0 || f.Probe != "" ||
		!strings.HasSuffix(r.Evidence.Why, says) {
		t.Errorf("%s: %s, %+v", r.Verdict, r.Evidence.Why, f)
	}
}

// A search that ends early says how near it came, and how much time it needs.
func TestASearchThatIsCutShortSaysHowNearItCame(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		server, says string
		low, high    int64 // in bytes, of what is known of the limit
	}{
		{"mcp exit0@5000", "to find the exact limit, ", 4 << 10, 8 << 10},
		{"mcp", "to try larger ones, ", 16 << 10, 0},
	} {
		t.Run(row.server, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := server(row.server)
			tried := 0
			o.Observe = func(step string) {
				if strings.Contains(step, "the limit of a request: trying ") {
					tried++
				}
				if tried == 6 { // 1, 2, 4 and 8 KiB, and one or two more
					cancel()
				}
			}
			found, err := begin(t, o).FindLimits(ctx, 64<<10, discard)
			if !errors.Is(err, context.Canceled) || len(found) != 1 {
				t.Fatalf("%v, found %+v", err, found)
			}
			l := limitOf(found[0])
			if max(l.bytes, l.searchedTo) < int(row.low) ||
				int64(found[0].Evidence.Limit.FailedAt) > row.high {
				t.Errorf("found %+v", l)
			}
			want := "cut short: " + row.says + "run pipebench drive --find-limit --max-time "
			said := strings.Join(found[0].Warnings, " ")
			if !strings.Contains(said, want) || strings.Contains(said, "--max-time 30m") {
				t.Errorf("warns %q, not %q with a time that fits", said, want)
			}
		})
	}
}

// A failure that does not come a second time is not the size's.
func TestFindLimitsTriesAFailureAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		server            string
		bytes, searchedTo int
	}{
		{"lapse", 0, 32 << 10},
		{"limps", 3000, 0},
		{"stumbles", 5000, 0},
	} {
		t.Run(row.server, func(t *testing.T) {
			t.Parallel()
			o := server(row.server + " " + filepath.Join(t.TempDir(), "lapsed"))
			o.Patience = time.Second // which one line is waited for
			limits, err := begin(t, o).FindLimits(t.Context(), 32<<10, discard)
			if err != nil {
				t.Fatal(err)
			}
			if l := limitOf(limits[0]); l.bytes != row.bytes || l.searchedTo != row.searchedTo ||
				l.flaky {
				t.Errorf("found %+v, %q", l, limits[0].Warnings)
			}
		})
	}
}

// A size that is refused only because of the calls before is no limit.
func TestFindLimitsTriesARefusalInANewProcess(t *testing.T) {
	t.Parallel()
	o := server("calls 4 refuses")
	o.Tool = "echo"
	limits, err := begin(t, o).FindLimits(t.Context(), 64<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	if l := limitOf(limits[0]); l.searchedTo != 64<<10 {
		t.Errorf("found %+v", l)
	}
}

// A size that fails only after what the server answered before is no limit.
func TestFindLimitsTriesAFailureInANewProcess(t *testing.T) {
	t.Parallel()
	for job, most := range map[string]int{"sums 50000": 32 << 10, "sums 2000 silent": 1026} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			o.Protocol = "lines"
			o.Patience = 3e8 // each failure is waited for
			limits, err := begin(t, o).FindLimits(t.Context(), most, discard)
			if err != nil {
				t.Fatal(err)
			}
			if l := limitOf(limits[0]); l.searchedTo != most {
				t.Errorf("found %+v", l)
			}
		})
	}
}

func TestFindLimitsTellsRepliesFromRequests(t *testing.T) {
	d := open(t, server("mcp truncate-at-exit@100000"))
	limits, err := d.FindLimits(t.Context(), 256<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(limits) != 2 || limitOf(limits[0]).searchedTo != 256<<10 {
		t.Fatalf("found %+v; want no limit on requests", limits)
	}
	if l := limitOf(limits[1]); l.side != "reply" || l.bytes == 0 ||
		l.above != target.Truncated || l.bytes != 100000 {
		t.Errorf("found %+v; want truncated replies above 100,000 bytes", l)
	}
}

// Sizes are searched in ASCII, and then characters of several bytes are tried.
func TestFindLimitsTriesCharacters(t *testing.T) {
	t.Parallel()
	var set results.Set
	d := begin(t, server("mcp split-utf8=64KiB"))
	if _, err := d.FindLimits(t.Context(), 1<<20, keepIn(&set)); err != nil {
		t.Fatal(err)
	}
	last := set.Targets[len(set.Targets)-1]
	if len(set.Targets) != 3 || !last.FailsOnCharacters() || drive.Failed(&set) == nil {
		t.Errorf("found %+v", set.Targets)
	}
}

// If an encoding lost characters, where they were cut does not matter.
func TestFindLimitsNamesAnEncodingThatLosesCharacters(t *testing.T) {
	t.Parallel()
	var set results.Set
	d := begin(t, drive.Options{Command: python(t, escaping, "latin", "0")})
	if _, err := d.FindLimits(t.Context(), 1<<16, keepIn(&set)); err != nil {
		t.Fatal(err)
	}
	last := set.Targets[len(set.Targets)-1]
	advice := last.Evidence.Advice
	if !last.FailsOnCharacters() || !strings.Contains(advice, "read and write UTF-8") ||
		strings.Contains(advice, "decode whole messages") {
		t.Errorf("found %+v, advice %q", last, advice)
	}
}

// A server that pastes a text into its JSON is wrong from the first quote on.
func TestFindLimitsNamesTextsWithoutEscapes(t *testing.T) {
	t.Parallel()
	for mode, says := range map[string]string{
		"paste":  "the answer's line ends where the text has a newline",
		"quotes": "the answer is no JSON: invalid character '<' after object key:value pair",
	} {
		var set results.Set
		d := begin(t, drive.Options{Command: python(t, escaping, mode, "0")})
		if _, err := d.FindLimits(t.Context(), 1<<16, keepIn(&set)); err != nil {
			t.Fatal(err)
		}
		last := set.Targets[len(set.Targets)-1]
		says += ": the server does not escape texts as JSON asks; let a JSON library write"
		if !last.FailsOnCharacters() || last.Verdict != string(target.Corrupt) ||
			!strings.HasPrefix(last.Evidence.Advice, says) {
			t.Errorf("%s: found %+v, advice %q", mode, last, last.Evidence.Advice)
		}
	}
}

// escaping is an MCP server that writes each é as \u00e9, and ends at the first request that is
// too long in this form, at the first such answer, or at the first é. In the mode "latin" it
// answers with "?" for characters that are not in Latin-1. In the mode "quotes" it does not escape
// quotes, and in the mode "paste" nothing.
const escaping = `
import json, sys
mode, most = sys.argv[1], int(sys.argv[2])
text = {"type": "object", "properties": {"text": {"type": "string"}}}
size = {"type": "object", "properties": {"size": {"type": "integer"}}}
tools = [{"name": "echo", "inputSchema": text}, {"name": "dump", "inputSchema": size}]
for line in sys.stdin.buffer:
    m = json.loads(line)
    if mode == "request" and len(json.dumps(m)) > most or mode == "ascii" and max(line) > 127:
        sys.exit(1)
    if "id" not in m: continue
    a = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] == "initialize":
        a["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "e", "version": "0"}}
    elif m["method"] == "tools/list":
        a["result"] = {"tools": tools}
    elif m["method"] == "tools/call":
        text = m["params"]["arguments"]["text"]
        if mode == "latin": text = text.encode("latin-1", "replace").decode("latin-1")
        a["result"] = {"content": [{"type": "text", "text": text}]}
    else:
        a["error"] = {"code": -32601, "message": "no such method"}
    answer = json.dumps(a)
    if m["method"] == "tools/call" and mode in ("paste", "quotes"):
        text = m["params"]["arguments"].get("text", "")
        pasted = text if mode == "paste" else json.dumps(text)[1:-1].replace('\\"', '"')
        answer = answer.replace(json.dumps(text)[1:-1], pasted)
    if mode == "reply" and len(answer) > most:
        sys.exit(1)
    print(answer, flush=True)
`

// Characters are to blame only if ASCII as long as their escapes works.
func TestSweepDoesNotBlameCharactersForALimit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode, most, verdicts string
	}{
		{"request", "70000", "ok, ok, exit 1"},
		{"reply", "65536", "ok, ok, exit 1"},
		{"ascii", "0", "exit 1"},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			o := server("")
			o.Command = python(t, escaping, row.mode, row.most)
			r, sweep := sweepOf(t, o, 16<<10, 32<<10, 128<<10)
			if verdictsOf(sweep) != row.verdicts {
				t.Errorf("found %s, want %s", verdictsOf(sweep), row.verdicts)
			}
			if r.FailsOnCharacters() != (row.mode == "ascii") {
				t.Errorf("characters are to blame: %v", r.FailsOnCharacters())
			}
		})
	}
}

// An echo is as long as its request, so a limit of requests says nothing about replies.
func TestFindLimitsBlamesNoReplyForALimitOfRequests(t *testing.T) {
	t.Parallel()
	o := server("")
	o.Command = python(t, escaping, "request", "70000")
	limits, err := begin(t, o).FindLimits(t.Context(), 1<<20, discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(limits) != 2 || limits[0].RequestLimit == nil || limits[1].ReplyLimit != nil {
		t.Fatalf("found %+v", limits)
	}
	if l := limitOf(limits[1]); l.searchedTo < 69_000 || !limits[1].Evidence.Limit.ByRequests {
		t.Errorf("found %+v", l)
	}
	if said := strings.Join(limits[1].Warnings, " "); !strings.Contains(said, "--reply-tool dump") {
		t.Errorf("warns %q", said)
	}
}

func TestFindLimitsOfAServerWithoutAnySaysHowFarItLooked(t *testing.T) {
	d := open(t, server("cat"))
	limits, err := d.FindLimits(t.Context(), 3<<20, discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(limits) != 1 || limitOf(limits[0]).searchedTo != 3<<20 {
		t.Errorf("found %+v", limits)
	}
}

// scannerServer is written in another language: it answers each line with itself, and leaves at one
// that is too long.
const scannerServer = `
import sys
limit = 70001
while True:
    line = sys.stdin.buffer.readline()
    if not line: break
    if len(line) - 1 > limit:
        sys.stderr.write("line too long\n")
        sys.exit(7)
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
`

func TestFindLimitsOfAServerInAnotherLanguage(t *testing.T) {
	d := open(t, drive.Options{Command: python(t, scannerServer)})
	limits, err := d.FindLimits(t.Context(), 1<<20, discard)
	if err != nil {
		t.Fatal(err)
	}
	if l := limitOf(limits[0]); l.bytes != 70001 || l.above != "exit 7" {
		t.Errorf("found %+v", l)
	}
}

// deafTool is an MCP server whose tool echo is never answered, or under another id, while it
// answers everything else; or one that answers large messages only if they call that tool.
const deafTool = `
import json, sys
mode = sys.argv[1]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    a = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] == "initialize":
        a["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "0"}}
    elif m["method"] == "tools/list":
        a["result"] = {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}
    elif m["method"] == "tools/call":
        if mode == "swallow": continue
        if mode == "misnumber": a["id"] = 7
        text = m["params"]["arguments"]["text"] if mode == "echo alone" else ""
        a["result"] = {"content": [{"type": "text", "text": text}]}
    else:
        if mode == "echo alone" and len(line) > 1500: continue
        a["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(a), flush=True)
`

func TestFindLimitsFailsAServerWhoseToolIsNotAnswered(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"echo", ""} {
		for _, mode := range []string{"swallow", "misnumber"} {
			t.Run(mode+" "+tool, func(t *testing.T) {
				t.Parallel()
				o := drive.Options{Command: python(t, deafTool, mode), Tool: tool, Patience: 2e8,
					Longest: 1e9, Start: 5 * time.Second}
				var set results.Set
				d := begin(t, o)
				if _, err := d.FindLimits(t.Context(), 64<<10, keepIn(&set)); err != nil {
					t.Fatal(err)
				}
				if len(set.Targets) != 1 {
					t.Fatalf("%d records, want one: %+v", len(set.Targets), set.Targets)
				}
				if l := limitOf(set.Targets[0]); l.searchedTo > 0 || l.bytes != 0 ||
					l.above != target.Unanswered {
					t.Errorf("found %+v, want that no size is answered", l)
				}
				if drive.Failed(&set) == nil {
					t.Error("the gate passes")
				}
			})
		}
	}
}

// A search that is cut short says nothing of a tool by another method, which works at every size.
func TestFindLimitsThatAreCutShortSayNothingOfTheTool(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"swallow", "misnumber"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			steps := 0
			o := drive.Options{
				Command: python(t, deafTool, mode), Tool: "echo",
				Start: 5 * time.Second, Patience: 2e8, Longest: 1e9,
				Observe: func(string) {
					steps++
					if steps > 1 {
						cancel()
					}
				},
			}
			found, err := begin(t, o).FindLimits(ctx, 64<<10, discard)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v, and the search was to be cut short", err)
			}
			for _, r := range found {
				if r.SearchedTo != nil {
					t.Errorf("found %+v, by a method that is not the tool", limitOf(r))
				}
			}
		})
	}
}

// sooner is a context that only says that it has a deadline.
type sooner struct {
	context.Context
	deadline time.Time
}

func (c sooner) Deadline() (time.Time, bool) { return c.deadline, true }

// Requests that are waited for do not take the time for replies.
func TestFindLimitsLeavesTimeForReplies(t *testing.T) {
	t.Parallel()
	o := drive.Options{Command: python(t, deafTool, "echo alone"), Patience: time.Hour,
		Longest: time.Hour}
	d := begin(t, o)
	ctx := sooner{t.Context(), time.Now().Add(6 * time.Second)}
	found, err := d.FindLimits(ctx, 64<<10, discard)
	if err != nil || len(found) != 2 {
		t.Fatalf("found %+v: %v", found, err)
	}
	requests, replies := found[0], found[1]
	if requests.SearchedTo == nil || !requests.Evidence.Limit.CutShort ||
		replies.SearchedTo == nil || replies.Evidence.Limit.CutShort ||
		*replies.SearchedTo > *requests.SearchedTo {
		t.Errorf("of requests %+v, of replies %+v", limitOf(requests), limitOf(replies))
	}
}

func TestASweepDoesNotSayThatAllSizesWorkIfTheToolIsNotAnswered(t *testing.T) {
	t.Parallel()
	d := begin(t, drive.Options{Command: python(t, deafTool, "swallow"), Patience: 2e8,
		Longest: 1e9, Start: 5 * time.Second, Budget: 1e7})
	var set results.Set
	if err := d.Drive(t.Context(), drive.Plan{Sizes: []int{1 << 10, 8 << 10}, SmallPipe: -1},
		keepIn(&set)); err != nil {
		t.Fatal(err)
	}
	for _, r := range set.Targets {
		if strings.Contains(strings.Join(r.Warnings, " "), "all sizes work") ||
			r.SearchedTo != nil {
			t.Errorf("%+v", r)
		}
	}
}

// notReady is a language server that refuses initialize, since it lacks something, and answers
// every other method as if nothing were wrong.
const notReady = `
import json, sys
while True:
    n = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line: sys.exit()
        if line.lower().startswith(b"content-length:"): n = int(line.split(b":")[1])
        if line == b"\r\n": break
    m = json.loads(sys.stdin.buffer.read(n))
    if "id" not in m: continue
    code, why = -32601, "no such method"
    if m["method"] == "initialize": code, why = -32603, "could not find a compiler"
    a = json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": code, "message": why}}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(a) + a)
    sys.stdout.buffer.flush()
`

func TestAServerThatRefusesToStartIsNotDriven(t *testing.T) {
	t.Parallel()
	d, err := drive.Open(t.Context(), drive.Options{Command: python(t, notReady),
		Start: 5 * time.Second})
	if err == nil {
		d.Close()
		t.Fatalf("it is driven as %s", d.Protocol())
	}
	var refused *drive.HandshakeError
	if !errors.As(err, &refused) || refused.Verdict != target.ErrorReply ||
		!strings.Contains(refused.Why, "could not find a compiler") {
		t.Errorf("err = %v", err)
	}
}

// A server that answers initialize and nothing after that is told what may be the cause. No other
// framing is tried: the answer showed that lines are right.
func TestAServerThatFallsSilentAfterInitialize(t *testing.T) {
	t.Parallel()
	o := server("muddled")
	o.Start = 3 * time.Second
	d, err := drive.Open(t.Context(), o)
	if err == nil {
		d.Close()
		t.Fatalf("it is driven as %s", d.Protocol())
	}
	var silent *drive.HandshakeError
	if !errors.As(err, &silent) ||
		!strings.Contains(silent.Advice(), "each read for one message") ||
		!strings.Contains(silent.Why, "it answered the first request; tools/list: no answer") ||
		strings.Contains(silent.Why, "content-length") ||
		!slices.Contains(silent.Stderr, "bad json: two messages") {
		t.Errorf("err = %v", err)
	}
}

func TestEveryFramingIsRecognised(t *testing.T) {
	t.Parallel()
	for _, framing := range []string{"chunked:61440", "chunked+zstd:61440", "content-length"} {
		t.Run(framing, func(t *testing.T) {
			t.Parallel()
			o := server("framed " + framing)
			o.Start = 20 * time.Second
			d := begin(t, o)
			if d.Framing() != framing || !strings.HasPrefix(d.Protocol(), "mcp ") {
				t.Errorf("it speaks %s in %s", d.Protocol(), d.Framing())
			}
		})
	}
}

// No MCP client reads frames: a server whose small messages are lines and whose large ones are
// chunks breaks where chunks begin.
func TestChunksAreAFailureOfAnMCPServer(t *testing.T) {
	t.Parallel()
	d := begin(t, server("framed adaptive:4096"))
	sweep, err := d.Sweep(t.Context(), []int{1 << 10, 128 << 10}, discard)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sweep.Targets); n != 2 || sweep.Targets[1].Verdict != string(target.InFrames) {
		t.Errorf("%d sizes, the last: %+v", n, sweep.Targets[n-1])
	}
	limits, err := d.FindLimits(t.Context(), 256<<10, discard)
	if err != nil {
		t.Fatal(err)
	}
	l := limits[len(limits)-1]
	if at := limitOf(l); at.side != "reply" || at.bytes < 3900 || at.bytes > 4096 ||
		l.Verdict != string(target.InFrames) ||
		!strings.Contains(l.Evidence.Advice, "--framing adaptive") {
		t.Errorf("found %+v: %+v", at, l)
	}
	if d.Framing() != "adaptive" || d.Starts() != 1 {
		t.Errorf("it speaks in %s, after %d starts", d.Framing(), d.Starts())
	}
}

// If large answers are first met in the handshake, nothing is driven.
func TestAListOfToolsInChunksIsAFailure(t *testing.T) {
	t.Parallel()
	_, err := drive.Open(t.Context(), server("framed adaptive:700"))
	var failed *drive.HandshakeError
	if !errors.As(err, &failed) || failed.Verdict != target.InFrames ||
		!strings.Contains(failed.Why, "tools/list") {
		t.Errorf("err = %v", err)
	}
}

// A server that speaks MCP in another framing alone is recognised, and fails at every size.
func TestAnotherFramingIsAFailureOfAnMCPServer(t *testing.T) {
	t.Parallel()
	d := begin(t, server("framed content-length"))
	var set results.Set
	plan := drive.Plan{Sizes: []int{1 << 10, 4 << 10}}
	err := d.Drive(t.Context(), plan, func(l results.Line) error {
		set.Targets = append(set.Targets, l.(results.Target))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if drive.Failed(&set) == nil || set.Targets[0].Verdict != string(target.InFrames) {
		t.Errorf("%+v", set.Targets)
	}
}

// Where the framing was asked for, or the protocol is not MCP, chunks are as good as lines.
func TestChunksAreReadWhereTheyAreMeant(t *testing.T) {
	t.Parallel()
	bare := server("framed adaptive:64")
	bare.Protocol = "jsonrpc"
	asked := server("framed adaptive:4096")
	asked.Framing = "adaptive:4096"
	for name, o := range map[string]drive.Options{"bare": bare, "asked": asked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := begin(t, o)
			if _, err := d.Sweep(t.Context(), []int{1 << 10, 128 << 10}, discard); err != nil {
				t.Fatal(err)
			}
			limits, err := d.FindLimits(t.Context(), 256<<10, discard)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range limits {
				if l.SearchedTo == nil {
					t.Errorf("found a limit: %+v", limitOf(l))
				}
			}
			if !strings.HasPrefix(d.Framing(), "adaptive") || d.Starts() != 1 {
				t.Errorf("it speaks in %s, after %d starts", d.Framing(), d.Starts())
			}
		})
	}
}

// A chunk of a message that is never whole does not hide a failure.
func TestHalfAnAnswerInChunksIsNone(t *testing.T) {
	t.Parallel()
	o := server("halves")
	o.Patience = 2e8
	d := begin(t, o)
	limits, err := d.FindLimits(t.Context(), 4000, discard)
	if err != nil {
		t.Fatal(err)
	}
	if l := limitOf(limits[0]); l.bytes != 2000 {
		t.Errorf("found %+v", l)
	}
}

// Our own reader of chunks holds only so much by default. A server is not blamed for that.
func TestALongAnswerInChunksIsWaitedFor(t *testing.T) {
	t.Parallel()
	o := server("framed chunked:61440")
	o.Framing = "chunked:61440"
	o.Patience = time.Minute
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` +
		`{"name":"get_large_data","arguments":{"bytes":67108864}}}` // 64 MiB
	set := new(results.Set)
	err := begin(t, o).Replay(t.Context(), recording(t, call), keepIn(set))
	if err != nil {
		t.Fatal(err)
	}
	kept := set.Targets[0]
	if !kept.Served() || len(kept.Samples) != 1 || kept.Samples[0].Reader.Bytes <= 64<<20 {
		t.Errorf("%s: %s, and %+v", kept.Verdict, kept.Evidence.Why, kept.Samples)
	}
}

// A limit of replies is said in what the tool was asked for. Half of an answer is not waited for
// again and again, and a server without a fault is asked for no more than was wanted.
func TestALimitInRows(t *testing.T) {
	t.Parallel()
	o := server("rows")
	o.Patience = 30 * time.Second
	o.ReplyTool = "report"
	began := time.Now()
	limits, err := begin(t, o).FindLimits(t.Context(), 1<<20, discard)
	if err != nil {
		t.Fatal(err)
	}
	l := limits[len(limits)-1]
	e := l.Evidence.Limit
	const largest = 605*99 + 90 // what stands around the rows
	if e.Call != "report rows" || e.Asked != 605 || e.FailedAt != 606 ||
		l.Verdict != string(target.Truncated) || l.Evidence.Failure.Partial != 60_000 ||
		l.ReplyLimit == nil || *l.ReplyLimit < 605*99 || *l.ReplyLimit > largest {
		t.Errorf("found %+v, %+v", limitOf(l), e)
	}
	advice := l.Evidence.Advice
	if !strings.Contains(advice, "it, or its tool, may cut texts") {
		t.Errorf("advises %q", advice)
	}
	if runtime.GOOS == "linux" && strings.Contains(advice, "O_NONBLOCK") { // it was looked at
		t.Errorf("advises %q, and its output blocks", advice)
	}
	if took := time.Since(began); took > 2*o.Patience {
		t.Errorf("it took %v", took)
	}
	limits, err = begin(t, o).FindLimits(t.Context(), 50_000, discard)
	if err != nil {
		t.Fatal(err)
	}
	l = limits[len(limits)-1]
	if l.SearchedTo == nil || *l.SearchedTo < 50_000 || *l.SearchedTo > 60_000 {
		t.Errorf("up to 50,000 B it found %+v", limitOf(l))
	}
	if call := l.Evidence.Limit.Call; call != "" {
		t.Errorf("it says of a reply as large as wanted that %s stopped", call)
	}
}

// cuttingServer is a server of MCP whose only tool makes bytes, but 60,000 at most.
const cuttingServer = `
import json, sys
schema = {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]}
for line in sys.stdin:
    m = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": m.get("id")}
    if m["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "specimen", "version": "1"}}
    elif m["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "get_large_data", "inputSchema": schema}]}
    elif m["method"] == "tools/call":
        n = m["params"]["arguments"]["bytes"]
        answer["result"] = {"content": [{"type": "text", "text": "x" * n}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    if "id" in m: print(json.dumps(answer)[:60_000], flush=True)
`

// Large replies of a tool are tried without a search being asked for, too, if the user named the
// tool, or if the sweep sees no large reply of another. Requests for no tool call none.
func TestASweepTriesTheReplyTool(t *testing.T) {
	t.Parallel()
	named := server("rows")
	named.ReplyTool = "report"
	called := server("rows")
	called.Tool = "report"
	known := drive.Options{Command: python(t, cuttingServer)}
	unknown := known
	unknown.Request = drive.RequestUnknown
	for _, row := range []struct {
		name  string
		o     drive.Options
		tries bool
	}{
		{"named for replies", named, true},
		{"named as the tool to call", called, true},
		{"known by its name", known, true},
		{"no tool is to be called", unknown, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.o.Patience = 2e9
			var last results.Target
			plan := drive.Plan{Sizes: []int{100_000}, SmallPipe: -1}
			err := begin(t, row.o).Drive(t.Context(), plan, func(line results.Line) error {
				last, _ = line.(results.Target)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if tried := last.ReplyLimit != nil; tried != row.tries {
				t.Errorf("the last record is %+v", last)
			}
		})
	}
}

// reportLimit returns what a search for replies of up to 100,000 bytes finds, if a server of the
// given kind makes them by its tool "report".
func reportLimit(t *testing.T, kind string) results.Target {
	t.Helper()
	o := server(kind)
	o.ReplyTool = "report"
	limits, err := begin(t, o).FindLimits(t.Context(), 100_000, discard)
	if err != nil {
		t.Fatal(err)
	}
	return limits[len(limits)-1]
}

// A tool that makes no more than so much proves nothing about larger replies.
func TestRepliesThatStopGrowing(t *testing.T) {
	t.Parallel()
	l := reportLimit(t, "rows 500")
	e := l.Evidence.Limit
	if l.SearchedTo == nil || *l.SearchedTo < 49_500 || *l.SearchedTo > 50_000 ||
		e.Call != "report rows" || e.Asked != 100_000 {
		t.Errorf("found %+v, %+v", limitOf(l), e)
	}
}

// A tool that refuses its smallest argument proves nothing about replies.
func TestAReplyToolThatRefuses(t *testing.T) {
	t.Parallel()
	l := reportLimit(t, "rows none")
	if l.Verdict != results.VerdictNotTried || l.ReplyLimit != nil ||
		!strings.HasPrefix(l.Evidence.Why, "to report rows=1 it answers ") ||
		!strings.Contains(l.Evidence.Why, "500 rows at most") {
		t.Errorf("found %+v", l)
	}
}

// A reply with U+FFFD, which the request has not, is damaged.
func TestRepliesWhoseCharactersAreReplaced(t *testing.T) {
	t.Parallel()
	l := reportLimit(t, "rows split")
	if l.Verdict != string(target.Corrupt) || l.Evidence.Limit.FailedAt != 501 ||
		!strings.Contains(l.Evidence.Advice, "2 characters of the reply are U+FFFD") {
		t.Errorf("found %+v, advice %q", limitOf(l), l.Evidence.Advice)
	}
}

// A tool that refuses more than so much, in a result of its own, has a limit.
func TestRepliesThatAToolRefuses(t *testing.T) {
	t.Parallel()
	l := reportLimit(t, "rows refused")
	e := l.Evidence.Limit
	if l.ReplyLimit == nil || *l.ReplyLimit < 49_500 || l.Verdict != results.VerdictErrorReply ||
		e.Asked != 500 || e.FailedAt != 501 ||
		!strings.HasPrefix(l.Evidence.Advice, "500 rows at most; ") {
		t.Errorf("found %+v, %+v, advice %q", limitOf(l), e, l.Evidence.Advice)
	}
}

func TestAServerThatTakesTheIDZeroForNone(t *testing.T) {
	t.Parallel()
	for _, framing := range []string{"ndjson", "content-length"} {
		o := server("notzero " + framing)
		o.Start = 2 * time.Second
		_, err := drive.Open(t.Context(), o)
		failed, ok := errors.AsType[*drive.HandshakeError](err)
		if !ok || failed.Verdict != target.Unanswered || !failed.Failed() {
			t.Errorf("%s: %v", framing, err)
			continue
		}
		if !strings.Contains(failed.Why, "not that with the id 0") ||
			!strings.Contains(failed.Advice(), "0 is a valid id") {
			t.Errorf("%s: %v; %s", framing, err, failed.Advice())
		}
	}
}
