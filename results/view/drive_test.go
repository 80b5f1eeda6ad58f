package view_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// Whether a server passed is said first, in words and as fields for programs.
func TestDriveSaysFirstWhetherAServerPassed(t *testing.T) {
	served := results.Target{Command: []string{"server"}, Size: 64 << 20, Verdict: "ok"}
	loaded := served
	loaded.Evidence.Load = &results.LoadEvidence{Inflight: 8}
	smaller := loaded
	smaller.Size = 1 << 20
	slow := results.Target{Command: []string{"server"}, Size: 1 << 20, Verdict: "ok", Samples: []results.Sample{{ElapsedNS: 1_040_000_000, Messages: 1}}}
	for _, row := range []struct {
		name, first string
		targets     []results.Target
		want        view.DriveResult
	}{
		{"all served", "works to 64 MiB, one at a time", []results.Target{served},
			view.DriveResult{Passed: true, Limit: 64 << 20}},
		{"a load", "works under a load of requests of 64 MiB, the largest sent",
			[]results.Target{smaller, loaded}, view.DriveResult{Passed: true, Limit: 64 << 20}},
		{"a size fails under a load",
			"FAIL under a load of requests of 2 KiB: no reply, process alive",
			[]results.Target{{Command: []string{"server"}, Size: 1024, Verdict: "ok"},
				{Command: []string{"server"}, Size: 2048, Verdict: "deaf",
					Evidence: results.TargetEvidence{Load: &results.LoadEvidence{Inflight: 8}}}},
			view.DriveResult{Limit: 1024, Failure: "deaf"}},
		{"a limit", "breaks at 10,485,760 B: no reply, process alive",
			[]results.Target{slow, {Command: []string{"server"}, Verdict: "deaf",
				RequestLimit: new(int64(10485759))}},
			view.DriveResult{Limit: 10485759, Failure: "deaf"}},
		{"not over a size", "answers 3 requests of 140 B or of 1,024 B, then fails: no reply, " +
			"process alive",
			[]results.Target{{Command: []string{"server"}, Size: 1024, Verdict: "deaf",
				Evidence: results.TargetEvidence{Failure: &results.FailureEvidence{
					ServedBefore: 3, AnySize: true, SmallBytes: 140}}}},
			view.DriveResult{Failure: "deaf"}},
		{"works anew", "fails after 6 answered requests or 7,000 B in all, and not over a size: " +
			"corrupt",
			[]results.Target{{Command: []string{"server"}, Size: 1024, Verdict: "corrupt",
				Evidence: results.TargetEvidence{Failure: &results.FailureEvidence{
					ServedBefore: 6, SentBefore: 7000, WorksAnew: true}}}},
			view.DriveResult{Failure: "corrupt"}},
		{"a size works in the search", "fails after 6 answered requests, and not over a size: " +
			"error reply",
			[]results.Target{{Command: []string{"server"}, Size: 1024, Verdict: "error reply",
				Evidence: results.TargetEvidence{
					Failure: &results.FailureEvidence{ServedBefore: 6}}},
				{Command: []string{"server"}, SearchedTo: new(int64(2048)), Verdict: "ok"}},
			view.DriveResult{Limit: 2048, Failure: "error reply"}},
		{"no time", "INCOMPLETE: requests work to 2 KiB; 128 KiB, 256 KiB were not tried",
			[]results.Target{
				{Command: []string{"server"}, SearchedTo: new(int64(2048)), Verdict: "ok"},
				{Command: []string{"server"}, Size: 128 << 10, Verdict: "not tried"},
				{Command: []string{"server"}, Size: 256 << 10, Verdict: "not tried"}},
			view.DriveResult{Limit: 2048, Failure: "not tried"}},
		{"answers that are not compared", "requests work to 2 KiB; answers were not compared",
			[]results.Target{{Command: []string{"server"}, Size: 2048, Verdict: "ok",
				Evidence: results.TargetEvidence{
					Server: &results.ServerEvidence{Uncompared: true}}}},
			view.DriveResult{Passed: true, Limit: 2048}},
		{"every call refused", "FAIL at every size tried: error reply: no API key",
			[]results.Target{{Command: []string{"server"}, Size: 1024, Verdict: "error reply",
				Evidence: results.TargetEvidence{Why: "no API key"}}},
			view.DriveResult{Failure: "error reply"}},
		{"no replies", "requests that call no tool work to 2 KiB (--tool NAME calls one)",
			[]results.Target{{Command: []string{"server"}, Size: 2048, Verdict: "ok",
				Evidence: results.TargetEvidence{
					Server: &results.ServerEvidence{SmallReplies: true}}}},
			view.DriveResult{Passed: true, Limit: 2048}},
		{"no replies under a load", "works under a load of requests of 2 KiB that call no tool " +
			"(see check --server)",
			[]results.Target{{Command: []string{"server"}, Size: 2048, Verdict: "ok",
				Evidence: results.TargetEvidence{
					Load:   new(results.LoadEvidence),
					Server: &results.ServerEvidence{SmallReplies: true}}}},
			view.DriveResult{Passed: true, Limit: 2048}},
		{"no time for replies",
			"INCOMPLETE: requests work to 2 KiB; large replies were not tried",
			[]results.Target{
				{Command: []string{"server"}, SearchedTo: new(int64(2048)), Verdict: "ok"},
				{Command: []string{"server"}, Verdict: "not tried"}},
			view.DriveResult{Limit: 2048, Failure: "not tried"}},
		{"nothing works", "FAIL at every size tried: exited (code 7)",
			[]results.Target{{Command: []string{"server"}, Size: 1024, Verdict: "exit 7"}},
			view.DriveResult{Failure: "exit 7"}},
		{"a redacted recording", "INCOMPLETE: 3 messages replayed; cannot tell", []results.Target{{
			Command: []string{"server"}, Verdict: "cannot-tell", Evidence: results.TargetEvidence{
				Replay: &results.ReplayEvidence{Replayed: 3, Compared: 2, Undecided: 1},
			},
		}}, view.DriveResult{Failure: "cannot-tell"}},
	} {
		set := &results.Set{Targets: row.targets}
		for _, format := range []view.Format{view.FormatTable, view.FormatMarkdown} {
			var text strings.Builder
			if err := view.WriteDrive(&text, format, set, view.Options{}); err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(text.String(), "\n"); strings.TrimPrefix(first, "- ") != row.first {
				t.Errorf("%s as %s begins with %q, want %q", row.name, format, first, row.first)
			}
			if strings.Contains(text.String(), "e+0") {
				t.Errorf("%s has an exponent:\n%s", row.name, text.String())
			}
		}
		var text strings.Builder
		if err := view.WriteDrive(&text, view.FormatJSON, set, view.Options{}); err != nil {
			t.Fatal(err)
		}
		var got view.DriveResult
		if err := json.Unmarshal([]byte(text.String()), &got); err != nil || got != row.want {
			t.Errorf("%s: got %+v, want %+v: %v", row.name, got, row.want, err)
		}
		if strings.Contains(text.String(), "null") {
			t.Errorf("%s has a null:\n%s", row.name, text.String())
		}
	}
}

// A server that wrote errors before it ended did not end silently.
func TestAnEndWithErrorsIsNotSilent(t *testing.T) {
	for _, row := range []struct{ stderr, says string }{
		{"", "exited silently (code 0)"},
		{"dash: 1: {: not found", "exited (code 0)"},
	} {
		failure := &results.FailureEvidence{StderrBytes: int64(len(row.stderr))}
		broken := results.Target{
			Kind: results.KindTarget, Command: []string{"dash"}, Verdict: "exit 0",
			RequestLimit: new(int64(2000)), Evidence: results.TargetEvidence{
				Failure: failure,
				Limit:   &results.LimitEvidence{Side: "request", FailedAt: 2001},
			},
		}
		var text strings.Builder
		set := &results.Set{Targets: []results.Target{broken}}
		if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Count(text.String(), row.says) < 2 { // at the top, and of the limit
			t.Errorf("with %q on standard error it says\n%s", row.stderr, text.String())
		}
	}
}

// The last words of a server tell more than advice on how it ended.
func TestLastWordsComeBeforeAdvice(t *testing.T) {
	broken := results.Target{Command: []string{"server"}, Size: 1024, Verdict: "exit 3"}
	broken.Evidence.Advice = "the server ended"
	broken.Evidence.Failure = &results.FailureEvidence{StderrTail: []string{"out of handles"}}
	var text strings.Builder
	set := &results.Set{Targets: []results.Target{broken}}
	if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
		t.Fatal(err)
	}
	const says = "\nexited (code 3): its last words: out of handles; the server ended\n"
	if !strings.Contains(text.String(), says) {
		t.Errorf("no %q in\n%s", says, text.String())
	}
}

// The first line counts all calls of the tool, and the table those of one size.
func TestTheCallsOfASizeAreNotThoseOfAllSizes(t *testing.T) {
	broken := results.Target{Command: []string{"server"}, Size: 1024, Verdict: "exit 3"}
	broken.Evidence.Failure = &results.FailureEvidence{
		ServedBefore: 400, ServedOfSize: 399, AnySize: true, SmallBytes: 140,
	}
	var text strings.Builder
	set := &results.Set{Targets: []results.Target{broken}}
	if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"answers 400 requests of 140 B or of 1,024 B, then fails: exited (code 3)\n",
		"  1 KiB  ok 399 of this size, then exited (code 3)\n",
	} {
		if !strings.Contains(text.String(), says) {
			t.Errorf("no %q in\n%s", says, text.String())
		}
	}
}

// What a server writes besides its answers is said in the first line, of a replay, too.
func TestAServerThatLogsMuchIsNamedFirst(t *testing.T) {
	logs := results.ServerEvidence{LoggedBytes: 65_230}
	for _, row := range []struct {
		target results.Target
		server results.ServerEvidence
		first  string
	}{
		{results.Target{Size: 1 << 20, Verdict: "ok"}, logs,
			"works to 1 MiB, one at a time; can hang a client "},
		{
			results.Target{Size: 1 << 20, Verdict: "ok"}, results.ServerEvidence{StrayLines: 3},
			"works to 1 MiB, one at a time; writes lines that are no messages\n",
		},
		{
			results.Target{Verdict: "ok", Evidence: results.TargetEvidence{
				Replay: &results.ReplayEvidence{Replayed: 9},
			}},
			logs, "PASS: 9 messages replayed; can hang a client ",
		},
		{
			results.Target{Size: 1 << 20, Verdict: "ok"}, results.ServerEvidence{BareHeaders: true},
			"works to 1 MiB, one at a time; ends lines of headers with LF alone\n",
		},
		{
			results.Target{Size: 1 << 20, Verdict: "ok"}, results.ServerEvidence{ExtraAnswers: 1},
			"works to 1 MiB, one at a time; gives answers that nobody waits for\n",
		},
	} {
		row.target.Command = []string{"server"}
		row.target.Evidence.Server = &row.server
		var text strings.Builder
		set := &results.Set{Targets: []results.Target{row.target}}
		if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text.String(), row.first) {
			t.Errorf("it says\n%s", text.String())
		}
	}
}

// A recorded message that is no JSON is named before the verdict.
func TestAReplayNamesAMessageThatIsNoJSONFirst(t *testing.T) {
	replay := results.Target{Command: []string{"server"}, Verdict: "exit 1"}
	replay.Evidence.Replay = &results.ReplayEvidence{Replayed: 3, FailedAtMessage: 5, NotJSON: 5}
	set := &results.Set{Targets: []results.Target{replay}}
	var text strings.Builder
	if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
		t.Fatal(err)
	}
	const says = "FAIL: recorded message 5 is not JSON; 3 messages replayed; exited"
	if !strings.HasPrefix(text.String(), says) {
		t.Errorf("it says\n%s", text.String())
	}
}

// The command check names the replay for a server that echoes nothing, so a replay must not send
// the reader back to check.
func TestAReplayThatPassesNamesAnotherCommandThanCheck(t *testing.T) {
	replay := results.Target{Command: []string{"server"}, Verdict: "ok"}
	replay.Evidence.Replay = &results.ReplayEvidence{Replayed: 9}
	set := &results.Set{Targets: []results.Target{replay}}
	var text strings.Builder
	if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(text.String()), " ")
	if strings.Contains(said, "pipebench check") || !strings.Contains(said, "pipebench inspect") {
		t.Errorf("it says\n%s", text.String())
	}
}

// After a load, the hint does not advise to load the server.
func TestALoadThatPassesDoesNotAdviseALoad(t *testing.T) {
	load := results.Target{Command: []string{"server"}, Size: 1 << 10, Verdict: "ok"}
	load.Evidence.Load = &results.LoadEvidence{Inflight: 8}
	set := &results.Set{Targets: []results.Target{load}}
	var text strings.Builder
	if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(text.String()), " ")
	if strings.Contains(said, "--inflight") || !strings.Contains(said, "--size 1KiB,256KiB") ||
		!strings.Contains(said, "If it hangs with your client: pipebench check --server") {
		t.Errorf("it says\n%s", text.String())
	}
}

// Whoever loaded the server with several sizes needs no advice to do so.
func TestALoadOfSeveralSizesIsToldOfNoOthers(t *testing.T) {
	load := results.Target{Command: []string{"server"}, Size: 1 << 10, Verdict: "ok"}
	load.Evidence.Load = &results.LoadEvidence{Inflight: 8}
	set := &results.Set{Targets: []results.Target{load, load}}
	var text strings.Builder
	if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "--size") {
		t.Errorf("it says\n%s", text.String())
	}
}

// A name that says the protocol, the framing and the request at once is said once.
func TestDriveNamesTheProtocolOnce(t *testing.T) {
	for _, row := range []struct{ spoken, framing, request, want string }{
		{"lines", "ndjson", "lines", "server: lines, ndjson\n"},
		{"mcp 2025-06-18", "ndjson", "tool echo", "server: mcp 2025-06-18, ndjson, tool echo\n"},
	} {
		server := &results.ServerEvidence{
			Spoken: row.spoken, Framing: row.framing, Request: row.request,
		}
		set := &results.Set{Targets: []results.Target{{
			Command: []string{"server"}, Size: 1024, Verdict: "ok",
			Evidence: results.TargetEvidence{Server: server},
		}}}
		var text strings.Builder
		if err := view.WriteDrive(&text, view.FormatTable, set, view.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), row.want) {
			t.Errorf("no %q in %s", row.want, text.String())
		}
	}
}

// A call of an echo is as large as its answer. Without a byte of the answer, the call may be what
// is too large.
func TestALimitIsOneOfRepliesOnlyIfSomeOfTheAnswerCame(t *testing.T) {
	for _, row := range []struct {
		verdict string
		failure *results.FailureEvidence
		call    string
		says    string
	}{
		{"error reply", nil, "", "calls of the tool up to 999 B work"},
		{"deaf", nil, "", "calls of the tool up to 999 B work"},
		{"unanswered", nil, "", "calls of the tool up to 999 B work"},
		{"error reply", nil, "report rows", "replies of 999 B work"},
		{"exit 2", nil, "", "calls of the tool up to"},
		{"signal SIGKILL", nil, "", "calls of the tool up"},
		{"exit 2", &results.FailureEvidence{Partial: 1}, "", "replies up to"},
		{"truncated", nil, "", "replies up to 999 B work"},
		{"corrupt", &results.FailureEvidence{ExitCode: new(2)}, "", "replies up to 999 B work"},
	} {
		record := results.Target{Verdict: row.verdict, ReplyLimit: new(int64(999))}
		record.Evidence.Failure = row.failure
		record.Evidence.Limit = &results.LimitEvidence{Side: "reply", Call: row.call}
		if said := view.TargetLine(record); !strings.Contains(said, row.says) {
			t.Errorf("%s says %q, want %q", row.verdict, said, row.says)
		}
	}
	cut := results.Target{Verdict: "truncated", ReplyLimit: new(int64(65535))}
	cut.Evidence.Server = &results.ServerEvidence{Framing: "ndjson"}
	cut.Evidence.Limit = &results.LimitEvidence{Side: "reply", FailedAt: 65536}
	cut.Evidence.Failure = &results.FailureEvidence{Partial: 65536}
	const newline = "one byte more: truncated: all 65,536 B came, its newline did not"
	if said := view.TargetLine(cut); !strings.HasSuffix(said, newline) {
		t.Errorf("says %q, want %q", said, newline)
	}
	free := results.Target{Verdict: "ok", SearchedTo: new(int64(1024))}
	free.Evidence.Limit = &results.LimitEvidence{Side: "request"}
	free.Evidence.Server = &results.ServerEvidence{SmallReplies: true}
	const says = "no limit on a request up to 1 KiB that calls no tool"
	if said := view.TargetLine(free); said != says {
		t.Errorf("says %q, want %q", said, says)
	}
}
