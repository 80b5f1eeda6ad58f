package check

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// serverOptions start a server that the test binary is, with as few starts and requests as tell.
func serverOptions(t *testing.T, job string) Options {
	return Options{
		Run: fmt.Sprintf(
			"%s-%d",
			t.Name(),
			os.Getpid(),
		), Command: []string{os.Args[0]}, starts: 6, requests: 400,
		// a process that the race detector watches would sleep for a second before it ends
		Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0",
			serverJob+"="+job, fmt.Sprintf("%s=%d", testerPID, os.Getpid())),
	}
}

// shortStart is what a server has that does not answer in any case: the tests wait for its end.
const shortStart = 5 * time.Second

// serverChecks checks a server and returns what was found, by situation.
func serverChecks(t *testing.T, o Options) map[string]results.Finding {
	t.Helper()
	found := map[string]results.Finding{}
	if err := Server(t.Context(), o, func(l results.Line) error {
		c := l.(results.Finding)
		found[strings.TrimPrefix(c.ID, "check/server/")] = c
		return c.Validate()
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// Each is wrong in one way, which is named, with its figure where there is one.
func TestServersThatAreWrongInOneWay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a server leaves behind is told by Linux alone")
	}
	t.Parallel()
	const cutAnswer = "but 2 lines without a whole JSON-RPC message: "
	type found map[string]string // by situation
	for wrong, found := range map[string]found{
		"ignores-end": {
			"end-idle": "stays: still there ", "client-killed": "still there 1.5s after its client was killed: ",
		},
		"settles":           {"end-idle": "stays: still there "}, // once it was asked something
		"ignores-early-end": {"end-at-start": "stays: still there "},
		"hangs-in-flight":   {"end-in-flight": "with 8 requests in flight; 8 of 8 were answered"},
		"queues":            {"end-in-flight": "7 of 8 were answered; the last answer was cut"},
		"crashes-at-end":    {"end-idle": "ended by SIGKILL after the end of its input"},
		"ignores-sigterm":   {"sigterm": "s after SIGTERM"},
		"ignores-sigint":    {"sigint": "s after SIGINT"},
		"holder":            {"held-output": "standard output is still open 300ms after it ended: "},
		"parent":            {"held-output": "still there 1.5s after it ended: ", "many-starts": "6 starts left processes: "},
		"littering":         {"many-starts": "6 starts left 6 files in its folder for temporary files"},
		"hoarding":          {"many-starts": "of memory in use, the first "},
		"farewell": {
			"stray-output": `1 line on standard output without a message, the first: "bye"`,
		},
		"no-cancel":    {"cancel": "it ended after a request was cancelled: exit 1"},
		"all-strings":  {"ids": `a request with the id 7 is answered under "7"`},
		"numbers-only": {"ids": `a request with the id "seven" is answered under null`},
		"ascii-only":   {"ids": `it ended after a request with the id "é漢😀": exit 1`},
		"ascii-ids":    {"ids": `it ended after a request with the id "é漢😀": exit 1`},
		"doubles":      {"ids": "a request with the id 2147483647 is answered under 2147483648"},
		"no-batch":     {"batch": "it ended after a batch: exit 1"},
		"wrong-code":   {"unknown-method": "refused with -32600, not -32601"},
		"drops":        {"pipelined": "29 of 32 requests sent at once were answered"},
		"twice": {
			"pipelined": "answers or more came to no request, or were the second to one",
		},
		"leaky":        {"memory-growth": "memory changes by "},
		"leaky-later":  {"memory-growth": "memory changes by "},
		"leaky-warmed": {"memory-growth": "memory changes by "},
		"loses":        {"both-write": "corrupt: byte "},
		"ours deaf@65536B": {
			"large-request": "a request of 65,536 B is answered; " +
				"after one of 65,537 B: no reply, process alive",
			"nonblocking-stdout": "cannot tell: a request of 256 KiB fails without this, too: " +
				"no reply, process alive",
		},
		"ours exit0@1000B": {"large-request": "a request of 1,000 B is answered; " +
			"after one of 1,001 B: exited silently (code 0)"},
		"slices":              {"large-reply": cutAnswer},
		"slices echo":         {"large-reply": cutAnswer},
		"ours large-answer=1": {"large-reply": "cannot tell: get_large_data bytes=4096: "},
		"ours stderr-flood":   {"unread-stderr": "deadlock"},
		"chatty":              {"unread-stderr": "deadlock"}, // 103 bytes a request
		"ours split-utf8=100": {"split-utf8": "corrupt: "},
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			if raceEnabled && strings.HasPrefix(wrong, "leaky") {
				t.Skip("the race detector makes too few requests in the time to tell")
			}
			o := serverOptions(t, wrong)
			o.Only, o.patience = slices.Collect(maps.Keys(found)), 300*time.Millisecond
			if wrong == "chatty" || wrong == "ours stderr-flood" || wrong == "queues" {
				o.patience = 2 * time.Second
			}
			if wrong == "ours deaf@65536B" { // each failure is waited for
				o.Timeout = 5 * time.Minute
				o.longest = shortStart
			}
			if wrong == "all-strings" { // its first answer is waited for in vain, twice
				o.handshake = shortStart
			}
			checks := serverChecks(t, o)
			for situation, text := range found {
				c := checks[situation]
				text, told := strings.CutPrefix(text, "cannot tell: ")
				want := results.Fails
				if told {
					want = results.CannotTell
				}
				if c.Verdict != want || !strings.Contains(c.Found, text) {
					t.Errorf("%s: %s: %s; want %q", situation, c.Verdict, c.Found, text)
				}
				if situation == "end-idle" && wrong == "ignores-end" {
					_, rest, _ := strings.Cut(c.Found, "still there ")
					given, _, _ := strings.Cut(rest, " after")
					stayed, err := time.ParseDuration(strings.ReplaceAll(given, " ", ""))
					if err != nil || stayed < 5*o.patience {
						t.Errorf("given too little time to leave: %s, %v", c.Found, err)
					}
				}
				if wrong == "parent" && situation == "many-starts" && c.Advice != adviceToEnd {
					t.Errorf("advises %q", c.Advice)
				}
				if c.Advice == "" && !told {
					t.Errorf("%s: without advice", situation)
				}
			}
		})
	}
	t.Cleanup(func() {
		if left, _ := proc.EndMarked(fmt.Sprintf("%s=sleep %d", serverJob, os.Getpid()), 0); len(
			left,
		) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// A wrapper that keeps a signal to itself is told from the server behind it.
func TestAWrapperIsToldFromItsServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("which processes another started is not told")
	}
	t.Parallel()
	o := serverOptions(t, "well")
	o.patience = 300 * time.Millisecond
	o.Only = []string{"sigterm"}
	o.Command = []string{"sh", "-c", os.Args[0] + "; exit"}
	found := serverChecks(t, o)
	if c := found["sigterm"]; c.Verdict != results.Fails ||
		!strings.Contains(c.Found, "what it started stays: ") {
		t.Errorf("%s: %s", c.Verdict, c.Found)
	}
}

// No situation is held against a server that does nothing wrong, and none is left out. What two of
// them are known for is not theirs alone to mend: go-sdk ends at a line that is no message, and
// gopls waits for headers, allocates what they announce, and keeps something of each of its first
// requests.
func TestServersThatAreRight(t *testing.T) {
	t.Parallel()
	known := map[string][]string{
		"go-sdk": {"dirty-line"},
		"gopls":  {"wrong-framing", "lying-length", "memory-growth"},
	}
	for _, job := range []string{"well", "ours", "go-sdk", "gopls"} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, job)
			if job == "gopls" {
				path, err := exec.LookPath(job)
				if err != nil || testing.Short() {
					t.Skip("gopls is not installed, or takes too long")
				}
				o.Command, o.Env, o.starts, o.requests = []string{
					path,
					"serve",
				}, nil, 2, 100 // each start takes it long
			}
			checks := serverChecks(t, o)
			for _, m := range catalogue.For(catalogue.Server) {
				c, ok := checks[m.Name]
				if job == "gopls" &&
					strings.HasPrefix(m.Name, "mcp-") { // rules of what it does not speak
					if ok {
						t.Errorf("%s was tried", m.Name)
					}
					continue
				}
				if m.Name == "lying-length" && c.Verdict == results.Unsupported {
					continue // messages in lines have no length
				}
				if m.Name == "memory-growth" && raceEnabled {
					continue // the race detector takes memory for each request
				}
				if !ok ||
					c.Verdict != results.OK && c.Verdict != results.CannotTell &&
						!slices.Contains(known[job], m.Name) {
					t.Errorf("%s: %s: %s %s", m.Name, c.Verdict, c.Found, c.Evidence)
				}
				t.Logf("%s: %s: %s", m.Name, c.Verdict, c.Found)
			}
		})
	}
}

// A server that is only asked what it refuses may write more to standard error for its client.
func TestAServerWithoutToolsThatLogsNothingIsNotJudged(t *testing.T) {
	o := serverOptions(t, "reserve")
	o.Only = []string{"unread-stderr"}
	c := serverChecks(t, o)["unread-stderr"]
	const found = "it wrote nothing to standard error in 200 requests: what it does when its log " +
		"is not read was not seen"
	if c.Verdict != results.CannotTell || c.Found != found {
		t.Errorf("%s: %s", c.Verdict, c.Found)
	}
}

// A server that does nothing at all is waited for as long whatever the size of the request.
func TestAHangIsNotWaitedForLongerBecauseARequestIsLarge(t *testing.T) {
	for _, row := range []struct{ timeout, want time.Duration }{
		{0, leastStart}, {time.Second, leastStart}, {time.Minute, time.Minute},
	} {
		o := Options{Timeout: row.timeout}
		if got := o.target().Longest; got != row.want {
			t.Errorf("with the timeout %v: %v, want %v", row.timeout, got, row.want)
		}
	}
}

// Several situations need answers that hold what was sent. Where they do not, the reason is one
// sentence, the same in each.
func TestAnswersThatHoldNothingAreOneReason(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "nag")
	o.Only = []string{"slow-reader", "both-write", "large-reply", "end-in-flight"}
	found := serverChecks(t, o)
	for name, c := range found {
		want := "its answers do not hold what was sent: record a session (tap --bodies) and " +
			"replay it (drive --messages)"
		if name == "end-in-flight" {
			_, c.Found, _ = strings.Cut(c.Found, "; 8 of 8 were answered; ")
			want = "large answers were not tried: its answers do not hold what was sent"
		}
		if c.Verdict != results.CannotTell || c.Found != want {
			t.Errorf("%s: %s: %s", name, c.Verdict, c.Found)
		}
	}
}

// Memory that grows with each request until a heap of 4 MiB is full, and is used again then, is no
// leak. Neither is a history of so many requests, though memory is three times as large before the
// first is forgotten.
func TestMemoryThatIsUsedAgainIsNoLeak(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes several bytes for each that is used")
	}
	for _, server := range []string{"uncollected", "remembering"} {
		o := serverOptions(t, server)
		o.Only = []string{"memory-growth"}
		o.patience = time.Minute
		c := serverChecks(t, o)["memory-growth"]
		t.Logf("%s: %s: %s", server, c.Verdict, c.Evidence)
		if c.Verdict != results.OK && c.Verdict != results.CannotTell {
			t.Errorf("%s: %s: %s", server, c.Verdict, c.Found)
		}
	}
}

// A late answer may not have been flushed, whatever the test is about.
func TestALateAnswerMayNotHaveBeenFlushed(t *testing.T) {
	c := &serverCase{finding: new(finding)}
	c.judgeOutcome(target.Outcome{Verdict: target.Late})
	if c.Verdict != results.Fails || !strings.Contains(c.Advice, "is not flushed") {
		t.Errorf("%+v", c.Finding)
	}
}

// An answer that comes with the next one was only late, as answers are on a busy machine.
func TestALateAnswerIsAnAnswer(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "late")
	o.Only = []string{"ids"}
	o.patience = 2 * time.Second // of which the test takes one
	c := serverChecks(t, o)["ids"]
	if c.Verdict != results.OK || !strings.HasPrefix(c.Found, "10 ids of 10 came back") {
		t.Errorf("%s: %s", c.Verdict, c.Found)
	}
}

func TestACommandThatIsNoServerIsSaidToBeNone(t *testing.T) {
	o := serverOptions(t, "exits")
	err := Server(t.Context(), o, func(results.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "code 0") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Server(ctx, serverOptions(t, "well"), func(results.Line) error { return nil }); err == nil {
		t.Error("goes on when nobody waits any more")
	}
}

// A start that is slower as a whole holds nothing back; one that brings everything at its end does.
func TestWhatComesLateIsSeenFromBothEnds(t *testing.T) {
	lines := func(first time.Duration) *outcome {
		o := &outcome{took: first + 500*time.Millisecond}
		for i := range 10 {
			o.arrivals = append(
				o.arrivals,
				arrival{first + time.Duration(i)*50*time.Millisecond, int64(10 * (i + 1))},
			)
		}
		return o
	}
	gathered := &outcome{
		took:     520 * time.Millisecond,
		arrivals: []arrival{{510 * time.Millisecond, 100}},
	}
	if late := lines(300 * time.Millisecond).maxDelay(lines(0)); late != 0 {
		t.Errorf("a slow start makes lines %v late", late)
	}
	if late := gathered.maxDelay(lines(0)); late != 490*time.Millisecond {
		t.Errorf("what is gathered until the end comes %v late", late)
	}
	if late := lines(0).maxDelay(gathered); late != 0 {
		t.Errorf("what comes early comes %v late", late)
	}
}

// A program that was still filling its pipe when the reader came was not tried at all.
func TestAPipeThatWasNotFullTellsNothing(t *testing.T) {
	text := make([]byte, 100_000)
	whole := outcome{total: int64(len(text)), out: text, end: "exit 0"}
	p := &program{runs: reference{&whole}}
	for pipe, want := range map[string]results.Verdict{
		"full": results.OK, "not full": results.CannotTell, "smaller output": results.OK,
	} {
		late := whole
		late.capacity = 65_536
		late.stillWrote = pipe != "full"
		if pipe == "smaller output" {
			late.capacity = 1 << 20
		}
		f := &finding{}
		sameAsFile(p, f, &late)
		if f.Verdict != want {
			t.Errorf("%s: %s: %s", pipe, f.Verdict, f.Found)
		}
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

func TestACarelessServerInAnotherLanguage(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	for name, want := range map[string]string{
		"nonblocking-stdout": "truncated: its standard output was made non-blocking; ",
		"eof-mid-frame":      "stays", // how much of a CPU it burns is up to the others on the machine
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, "")
			o.Command = []string{python, "-I", "-S", "-c", careless}
			o.Env = nil
			o.patience = 300 * time.Millisecond
			o.longest = shortStart
			o.Only = []string{name} // alone, so that it is not tried again
			f := serverChecks(t, o)[name]
			if f.Verdict != results.Fails || !strings.Contains(f.Found, want) {
				t.Errorf("%s: %s, want %q", f.Verdict, f.Found, want)
			}
		})
	}
}

// Lines that only another test provokes are no less on standard output.
func TestStrayLinesInAnotherTest(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "logs-large")
	o.Only = []string{"stray-output", "large-request", "batch"}
	found := serverChecks(t, o)
	const want = "in large-request: 2 lines on standard output without a message, " +
		`the first: "large request"`
	if f := found["large-request"]; f.Verdict != results.OK {
		t.Errorf("large-request: %s: %s", f.Verdict, f.Found)
	}
	f := found["stray-output"]
	if f.Verdict != results.Fails || f.Found != want {
		t.Errorf("%s: %s; want %q", f.Verdict, f.Found, want)
	}
}

// A test must not pass over such lines if the one that judges them was left out.
func TestStrayLinesFailATestAlone(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "logs-large")
	o.Only = []string{"large-request"}
	f := serverChecks(t, o)["large-request"]
	const want = `2 lines on standard output without a message, the first: "large request"`
	if f.Verdict != results.Fails || f.Found != want {
		t.Errorf("%s: %s; want %q", f.Verdict, f.Found, want)
	}
}

// nonBlocking is a server of MCP that writes each answer in one call, and loses what is refused.
const nonBlocking = `
import json, os, sys
os.set_blocking(1, False)
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
tool = {"name": "echo", "inputSchema": schema}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    result = {"tools": [tool]}
    if m["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "specimen", "version": "1"}}
    if m["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": m["params"]["arguments"]["text"]}]}
    os.write(1, json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}).encode() + b"\n")
`

// A server whose output is known to be non-blocking is told so by the test of large answers.
func TestALargeReplyToANonBlockingPipe(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("takes python3, and Linux, which tells the mode of a server's output")
	}
	o := serverOptions(t, "")
	o.Command = []string{python, "-c", nonBlocking}
	o.patience = 300 * time.Millisecond
	o.Only = []string{"large-reply"}
	f := serverChecks(t, o)["large-reply"]
	const advice = "its standard output is non-blocking (O_NONBLOCK): a large write takes a part"
	if f.Verdict != results.Fails || !strings.HasPrefix(f.Advice, advice) {
		t.Errorf("%s: %s; %s", f.Verdict, f.Found, f.Advice)
	}
}

// If answers in flight together mix, the reader's pace and the mode of the pipe are not the cause.
func TestAnswersThatMixAreToldFromLostOnes(t *testing.T) {
	t.Parallel()
	for situation, found := range map[string]string{
		"slow-reader":        "mixed messages: ",
		"nonblocking-stdout": "mixed messages: ",
		"both-write":         "mixed messages: ",
		"pipelined":          " of 32 requests sent at once were answered, each by its id",
	} {
		t.Run(situation, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, "pieces")
			o.Only = []string{situation}
			o.patience = time.Second
			o.longest = shortStart
			f := serverChecks(t, o)[situation]
			if f.Verdict != results.Fails || !strings.Contains(f.Found, found) {
				t.Errorf("%s: %s; want %q", f.Verdict, f.Found, found)
			}
			if f.Advice != target.Mixed.Advice() {
				t.Errorf("advises %q", f.Advice)
			}
		})
	}
}

// Answers to requests that come at once are promised to be right only in the sizes that were tried.
func TestWhatIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	for job, found := range map[string]string{
		"ours":             ", some of them for 256 KiB",
		"well":             "all 32 small requests were answered, each by its id",
		"ours deaf@65536B": ", some of them for 256 KiB",
	} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, job)
			o.Only = []string{"pipelined"}
			f := serverChecks(t, o)["pipelined"]
			if f.Verdict != results.OK || !strings.Contains(f.Found, found) {
				t.Errorf("%s: %s; want %q", f.Verdict, f.Found, found)
			}
		})
	}
}

// However rarely a server reads, each of its reads ends inside a character.
func TestEachPieceIsReadAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the writer that a pipe is empty")
	}
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	const decodes = "import os, time\nwhile b := os.read(0, 1 << 16):\n" +
		"    os.write(1, b.decode(errors='replace').encode()); time.sleep(.005)"
	for program, want := range map[string]results.Verdict{
		careless: results.OK, decodes: results.Fails,
	} {
		o := serverOptions(t, "")
		o.Command = []string{python, "-I", "-S", "-c", program}
		o.Env = nil
		o.Only = []string{"split-utf8"}
		if f := serverChecks(t, o)["split-utf8"]; f.Verdict != want {
			t.Errorf("%s: %s: %s, want %s", program, f.Verdict, f.Found, want)
		}
	}
}

// A process that a call starts and that has the server's output is named.
func TestAProcessThatHoldsAStreamAfterACallIsNamed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process has open is told by Linux alone")
	}
	t.Parallel()
	o := serverOptions(t, "lender")
	o.Only = []string{"held-streams"}
	o.patience = 300 * time.Millisecond
	f := serverChecks(t, o)["held-streams"]
	if f.Verdict != results.Slow || !strings.Contains(f.Found, "holds its standard output") {
		t.Errorf("%s: %s", f.Verdict, f.Found)
	}
}

// Where no request fails, the finding says how far it looked.
func TestALimitThatWasNotMetIsNoPromise(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "ours")
	o.Only = []string{"large-request"}
	const want = "takes requests of 1,048,576 B; larger ones are looked at by pipebench drive"
	if f := serverChecks(t, o)["large-request"]; !strings.HasPrefix(f.Found, want) {
		t.Errorf("%s: %s", f.Verdict, f.Found)
	}
}

// A server whose large answers were not seen does not fail, nor does one whose answers never grew
// with the number that was asked for. No finding promises more than was tried.
func TestLargeReplies(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job, tool, situation, found string
		verdict                     results.Verdict
	}{
		{"ours", "", "large-reply", "answers of 262,144 B come", results.OK},
		{"ours", "get_large_data", "large-reply", "answers of 262,144 B come", results.OK},
		{"ours", "", "large-request", "its answers stayed small: see large-reply", results.OK},
		{"ours deaf@65536B", "", "large-reply", "answers of 262,144 B come", results.OK},
		{"go-sdk repeat", "repeat", "large-reply", "answers of 262,144 B come", results.OK},
		{"go-sdk shorten", "repeat", "large-reply",
			"an answer of 65,536 B: truncated: the answer holds the first 20,000", results.Fails},
		{"go-sdk shorten", "give", "large-reply",
			"give bytes=65536: the answer has 20,", results.Fails},
		{"go-sdk shorten", "give bytes", "large-reply",
			" B; give bytes=16384 came whole, with 16,5", results.Fails},
		{"go-sdk shorten", "give-few", "large-reply",
			"give-few bytes=4096: the answer has 2,", results.CannotTell},
		{"go-sdk", "", "large-reply", "the server has no tool that returns its text: none that " +
			"it lists takes a text", results.CannotTell},
		{"go-sdk shorten", "", "large-reply", "if one does, name it (--tool, --arg); " +
			"--tool give --arg bytes may make large answers", results.CannotTell},
		{"go-sdk shorten", "give", "slow-reader",
			"tool give does not return the text that it is given", results.CannotTell},
		{"slices", "", "stray-output", "one small request", results.OK},
		{"ours", "", "end-in-flight", "8 of 8 were answered, the largest with 262,", results.OK},
		{"go-sdk repeat", "repeat", "end-in-flight", " of 8 were answered, the largest with ",
			results.OK},
		{"go-sdk", "", "end-in-flight", "large answers were not tried: the server has no tool " +
			"that returns its text", results.CannotTell},
	} {
		t.Run(row.job+" "+row.tool+" "+row.situation, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, row.job)
			o.Only = []string{row.situation}
			o.Tool, o.Arg, _ = strings.Cut(row.tool, " ")
			o.patience = 300 * time.Millisecond
			f := serverChecks(t, o)[row.situation]
			if f.Verdict != row.verdict || !strings.Contains(f.Found, row.found) {
				t.Errorf("%s: %s; want %s: %s", f.Verdict, f.Found, row.verdict, row.found)
			}
		})
	}
}

func TestWhatAnotherFramingMeets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job, situation, found string
		framing               string
		verdict               results.Verdict
	}{
		{"nag", "wrong-framing", "waits in silence", "", results.Slow},
		{"reserve", "lying-length", "reserves what is announced", "content-length", results.Slow},
		{"characters", "ids", "after a request with the id " + charactersID + ", a message came " +
			"that announces 67 B and goes on behind them", "content-length", results.Fails},
		{"newlines", "stray-output", "a header line ends with LF alone", "", results.Fails},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			if row.job == "reserve" && runtime.GOOS != "linux" {
				t.Skip("no other system tells how much a process has reserved")
			}
			o := serverOptions(t, row.job)
			o.Only = []string{row.situation}
			o.Framing = row.framing
			o.patience = 300 * time.Millisecond
			advice := map[string]string{
				"characters": "Content-Length counts the bytes",
				"newlines":   "end each line of a header with CR and LF",
			}[row.job]
			if f := serverChecks(t, o)[row.situation]; f.Verdict != row.verdict ||
				!strings.Contains(f.Found, row.found) || !strings.HasPrefix(f.Advice, advice) {
				t.Errorf("%s: %s; %s", f.Verdict, f.Found, f.Advice)
			}
		})
	}
}

// A server that ignores unknown methods fails in "unknown-method" alone. The other tests use a
// method that it has, if it names one.
func TestServersThatIgnoreUnknownMethods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job, found string
		others     results.Verdict
	}{
		{"shy hoverProvider", "", results.OK},
		{"shy", "no other request is known that it answers", results.CannotTell},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, row.job)
			o.handshake = 4 * time.Second
			o.patience = 300 * time.Millisecond
			o.Only = []string{"unknown-method", "trickle", "closed-stdout", "held-streams",
				"stray-output", "cancel", "ids", "pipelined", "large-request", "memory-growth"}
			for situation, f := range serverChecks(t, o) {
				want := row.others
				if situation == "unknown-method" {
					want = results.Fails
				} else if !strings.Contains(f.Found, row.found) {
					t.Errorf("%s: %s", situation, f.Found)
				}
				if f.Verdict != want {
					t.Errorf("%s: %s: %s; want %s", situation, f.Verdict, f.Found, want)
				}
			}
		})
	}
}
