package drive_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

func recording(t *testing.T, text string) []payload.Message {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := payload.ReadMessages(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplaySendsWhatTheClientSaid(t *testing.T) {
	t.Parallel()
	const lines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"a","method":"tools/list"}
{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}
`
	const both = `{"jsonrpc":"2.0","id":"a","method":"tools/list"}
{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}
{"jsonrpc":"2.0","id":"b","method":"ping"}
{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"no"}}
`
	const tapped = `{"kind":"environment","schema":1,"run":"r"}
{"kind":"message","run":"r","dir":"request","t_ns":1,"size":60,"method":"initialize","id":1}
{"kind":"message","run":"r","dir":"reply","t_ns":2,"size":300,"id":1}
{"kind":"message","run":"r","dir":"request","t_ns":3,"size":5000,"method":"tools/call","id":2}
{"kind":"message","run":"r","dir":"request","t_ns":3,"size":40,"method":"tools/list","id":3,"body":"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}"}
{"kind":"message","run":"r","dir":"request","t_ns":4,"size":200,"method":"notifications/progress"}
{"kind":"message","run":"r","dir":"request","t_ns":5,"size":40,"id":9}
{"kind":"target","run":"r","command":["x"],"protocol":"mcp","verdict":"exit 0"}
`
	for _, row := range []struct {
		name, text         string
		replayed, answered int
		verdict            target.Verdict
	}{{"lines", lines, 3, 2, target.OK}, {"lines of both sides", both, 2, 2, target.Differs},
		{"a recording", tapped, 3, 2, target.OK}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := begin(t, server("mcp"))
			var kept results.Target
			if err := d.Replay(t.Context(), recording(t, row.text), func(l results.Line) error {
				kept = l.(results.Target)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if kept.Verdict != string(row.verdict) ||
				kept.Evidence.Replay.Replayed != row.replayed ||
				kept.Evidence.Replay.Answered != row.answered {
				t.Errorf("kept %s %v", kept.Verdict, kept.Evidence)
			}
		})
	}
}

func TestReplayNamesTheMessageThatFailed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		messages []payload.Message
		at       int
	}{
		{"a request", []payload.Message{{Size: 1000}, {Size: 4000}, {Size: 1000}}, 2},
		{"a notification", []payload.Message{{Size: 1000}, {Size: 4000,
			Method: "notifications/x"}}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := begin(t, server("mcp exit0@3000"))
			var kept results.Target
			if err := d.Replay(t.Context(), row.messages, func(l results.Line) error {
				kept = l.(results.Target)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if kept.Verdict != "exit 0" || kept.Evidence.Replay.FailedAtMessage != row.at {
				t.Errorf("kept %s %v", kept.Verdict, kept.Evidence)
			}
		})
	}
}

// replayed sends messages to a server that does not answer one of them, and returns the record.
func replayed(t *testing.T, job, protocol string, messages []payload.Message) results.Target {
	t.Helper()
	o := server(job)
	o.Protocol = protocol
	o.Patience = time.Second
	o.Recording = "tap.jsonl"
	set := new(results.Set)
	if err := begin(t, o).Replay(t.Context(), messages, keepIn(set)); err != nil {
		t.Fatal(err)
	}
	return set.Targets[0]
}

// The large message is the cause, and the request behind it is what gets no answer. Both go out in
// one write: so the server reads them together, whatever stands between it and the driver.
func TestAReplaySaysWhatCameBeforeARequestWithoutAnswer(t *testing.T) {
	t.Parallel()
	kept := replayed(t, "drop", "jsonrpc", []payload.Message{
		{Dir: "request", Size: 500, Method: "a", ID: []byte("1")},
		{Dir: "reply", Size: 10, ID: []byte("1")},
		{Dir: "request", Size: 4000, Method: "open"},
		{Dir: "request", Size: 500, Method: "hover", ID: []byte("2")},
	})
	e := kept.Evidence
	if kept.Verdict != string(target.Unanswered) || e.Replay.FailedAtMessage != 3 {
		t.Fatalf("%s at %d", kept.Verdict, e.Replay.FailedAtMessage)
	}
	for _, says := range []string{
		"hover (id 2) of 500 B: no answer within ",
		"; right after message 2, open of 4,000 B, which expects no answer",
		"; without message 2 it is answered",
	} {
		if !strings.Contains(e.Why, says) {
			t.Errorf("%q does not say %q", e.Why, says)
		}
	}
	if !strings.HasPrefix(e.Advice, adviceOnTwo) {
		t.Errorf("advises %q", e.Advice)
	}
}

// adviceOnTwo says what was shown of message 2 in a replay.
const adviceOnTwo = "with message 2 there is no answer to message 3, and without it there is " +
	"one: what it holds matters, or how many messages come before; "

// A small notification may take a lock, or end the thread that reads.
func TestAReplayTriesWithoutASmallNotification(t *testing.T) {
	t.Parallel()
	var messages []payload.Message
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"hover","params":{"line":1}}`,
		`{"jsonrpc":"2.0","method":"lock"}`,
		`{"jsonrpc":"2.0","id":2,"method":"hover","params":{"line":2}}`,
	} {
		messages = append(messages,
			payload.Message{Dir: "request", Size: len(body), Body: []byte(body)})
	}
	e := replayed(t, "hangs lock", "jsonrpc", messages).Evidence
	const says = "; right after message 2, lock of 33 B, which expects no answer; without " +
		"message 2 it is answered"
	const advice = "it read the whole request and gave no answer: "
	if !strings.HasSuffix(e.Why, says) || !strings.HasPrefix(e.Advice, advice) {
		t.Errorf("says %q and advises %q", e.Why, e.Advice)
	}
}

// A request of the server that the recorded client left open may be why it hung.
func TestAReplayNamesWhatOnlyItAnswered(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"hover"}`
	server := func(id, method string) payload.Message {
		return payload.Message{Dir: "reply", Method: method, ID: []byte(id)}
	}
	got := replayed(t, "lsp go", "lsp", []payload.Message{
		server("1", "workspace/configuration"), server("2", "workspace/applyEdit"),
		{Dir: "request", ID: []byte("3")}, server("3", "client/registerCapability"),
		server("4", "window/neverAsked"), {Dir: "request", ID: []byte("2")},
		{Dir: "request", Size: len(ask), Body: []byte(ask)},
	})
	want := []string{"drive answered workspace/configuration, which the recorded client did not"}
	if got.Verdict != string(target.OK) || !slices.Equal(got.Warnings, want) {
		t.Errorf("%s: %q", got.Verdict, got.Warnings)
	}
}

// A message is not called the cause if the server fails at its number, or fails now and then.
func TestAReplayBlamesNoMessageForACountOrForChance(t *testing.T) {
	t.Parallel()
	const change = `{"jsonrpc":"2.0","method":"change","params":{}}`
	const hover = `{"jsonrpc":"2.0","id":2,"method":"hover"}`
	var messages []payload.Message
	for _, body := range []string{change, hover, change, hover, change, hover} {
		messages = append(messages,
			payload.Message{Dir: "request", Size: len(body), Body: []byte(body)})
	}
	const chance = "; sent again, the same messages fail there in some tries and not in others: " +
		"it comes now and then"
	for _, row := range []struct {
		server       string
		at           int
		says, advice string
	}{
		{"counts 6", 6, "; without message 5 it is answered", "it read the whole request"},
		{"fate h", 2, chance, "no message alone is the cause"},
		{"fate hha", 2, chance, "no message alone is the cause"},
		{"fate hhhah", 2, chance, "no message alone is the cause"},
		{"fate hhhaah", 2, chance, "no message alone is the cause"},
		{"fate hhhh", 2, ", which expects no answer", "no answer within "},
		{"fate hhhaaa", 2, "; without message 1 it is answered", "with message 1 there is no "},
	} {
		t.Run(row.server, func(t *testing.T) {
			t.Parallel()
			job := row.server
			if strings.HasPrefix(job, "fate") {
				job += " " + t.TempDir()
			}
			e := replayed(t, job, "jsonrpc", messages).Evidence
			if e.Replay.FailedAtMessage != row.at || e.Replay.Replayed != row.at ||
				!strings.HasSuffix(e.Why, row.says) ||
				!strings.HasPrefix(e.Advice, row.advice) {
				t.Errorf("%+v: %s\n%s", e.Replay, e.Why, e.Advice)
			}
		})
	}
}

// A server that drive understands may hang a client that is stricter.
func TestAReplayWarnsOfHeadersWithLFAlone(t *testing.T) {
	t.Parallel()
	const hover = `{"jsonrpc":"2.0","id":2,"method":"hover"}`
	got := replayed(t, "mislength 0 LF", "lsp", []payload.Message{
		{Dir: "request", Size: len(hover), Body: []byte(hover)},
	})
	const want = "LF alone ends lines of its headers: clients that look for CR LF (\\r\\n) wait " +
		"for ever"
	if got.Verdict != string(target.OK) || !slices.Equal(got.Warnings, []string{want}) ||
		!got.Evidence.Server.BareHeaders {
		t.Errorf("%s: %q", got.Verdict, got.Warnings)
	}
}

// A program may flush a line of a log only when it ends, and write LF alone in one header of many.
func TestAReplayWarnsOfWhatComesAtItsEnd(t *testing.T) {
	t.Parallel()
	const hover = `{"jsonrpc":"2.0","id":2,"method":"hover"}`
	messages := []payload.Message{{Dir: "request", Size: len(hover), Body: []byte(hover)}}
	if got := replayed(t, "parting", "jsonrpc", messages); got.Evidence.Server.StrayLines != 1 {
		t.Errorf("of a line at its end: %q", got.Warnings)
	}
	if got := replayed(t, "twice", "jsonrpc", messages); got.Evidence.Server.ExtraAnswers == 0 {
		t.Errorf("of a second answer: %q", got.Warnings)
	}
	got := replayed(t, "mislength 0 oneLF", "lsp", messages)
	if !got.Evidence.Server.BareHeaders {
		t.Errorf("of the header of one answer: %q", got.Warnings)
	}
}

// The size of a message is not to blame if one of as many bytes in ASCII is taken.
func TestAReplayTellsCharactersFromSize(t *testing.T) {
	t.Parallel()
	open := `{"jsonrpc":"2.0","method":"open","params":"é` + strings.Repeat("x", 9000) + `"}`
	const hover = `{"jsonrpc":"2.0","id":2,"method":"hover"}`
	e := replayed(t, "characters", "lsp", []payload.Message{
		{Dir: "request", Size: len(open), Body: []byte(open)},
		{Dir: "request", Size: len(hover), Body: []byte(hover)},
	}).Evidence
	const says = "; message 1 has characters of several bytes: with ASCII in their place, as " +
		"many bytes, it is answered"
	if !strings.Contains(e.Why, says) || e.Advice != target.AdviceOnCharacters {
		t.Errorf("says %q and advises %q", e.Why, e.Advice)
	}
}

// A wrong length is named, and so is how much a server read that stops reading. The advice repeats
// the replay.
func TestAReplayNamesWhatALanguageServerDidWrong(t *testing.T) {
	t.Parallel()
	const hover = `{"jsonrpc":"2.0","id":2,"method":"hover"}`
	open := `{"jsonrpc":"2.0","method":"open","params":"` + strings.Repeat("x", 150_000) + `"}`
	const waits = `it may wait for the answer to workspace/configuration (id "c") in the thread ` +
		"that should take it"
	const prompt = ", but 1 line without a whole JSON-RPC message: Allow download? (y); right "
	for _, row := range []struct {
		server, verdict, why, advice string
	}{
		{"mislength 20", "wrong length", "an answer came that announces 83 B and has 63: its " +
			"Content-Length is wrong", "count them after encoding"},
		{"mislength 1000", "truncated", "; a message came that announces 1,063 B and has 63: its " +
			"Content-Length is wrong, or the rest was not written", "count them after encoding"},
		{"mislength -5", "wrong length",
			"a message came that announces 58 B and goes on behind them", "count them"},
		{"mislength -1 tells", "wrong length",
			"a message came that announces 62 B and goes on behind them", "count them"},
		{"mislength -5 follows", "wrong length",
			"a message came that announces 58 B and goes on behind them", "count them"},
		{"mislength 0 mixes", "mixed messages", "; a message came with the beginning of " +
			"another in it",
			"two writers of the server mix their messages"},
		{"mislength 0 deaf", "deaf", "; right after message 1, open of 150,045 B, which expects " +
			"no answer; without message 1 it is answered", "B of what was sent, then stopped " +
			"reading: to see what it does instead, run pipebench drive " +
			"--patience 1m --messages tap.jsonl --protocol lsp -- "},
		{"mislength 0 prompts", "deaf", prompt, "it read the whole request and gave no answer"},
		{"mislength 0 logs", "deaf", prompt, "it read the whole request and gave no answer"},
		{"mislength 0 asks", "deaf", `; the server asked workspace/configuration (id "c"), was ` +
			"answered, and wrote nothing since", waits},
		{"mislength 0 awaits", "deaf", `; the server asked workspace/configuration (id "c"), was ` +
			"answered, and wrote nothing since; right after message 1, open of 150,045 B, which " +
			"expects no answer; without message 1 it is answered", waits},
	} {
		t.Run(row.server, func(t *testing.T) {
			t.Parallel()
			o := server(row.server)
			o.Protocol = "lsp"
			o.Patience = time.Second
			o.Recording = "tap.jsonl"
			d := begin(t, o)
			messages := []payload.Message{{Dir: "request", Size: len(hover), Body: []byte(hover)}}
			if row.verdict == "deaf" {
				messages = append([]payload.Message{
					{Dir: "request", Size: len(open), Body: []byte(open)}}, messages...)
			}
			set := new(results.Set)
			if err := d.Replay(t.Context(), messages, keepIn(set)); err != nil {
				t.Fatal(err)
			}
			e := set.Targets[0].Evidence
			if set.Targets[0].Verdict != row.verdict || !strings.Contains(e.Why, row.why) ||
				!strings.Contains(e.Advice, row.advice) {
				t.Errorf("%s: %s\n%s", set.Targets[0].Verdict, e.Why, e.Advice)
			}
			if strings.HasSuffix(row.server, "asks") &&
				strings.Contains(e.Advice, "stopped reading") {
				t.Errorf("it read all messages: %s", e.Advice)
			}
		})
	}
}

func TestAReplayWaitsLongerThanTheRecordingDid(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"ponder"}`
	const answer = `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`
	o := server("ponder 3s")
	o.Protocol = "jsonrpc"
	o.Patience = 2 * time.Second
	d := begin(t, o)
	set := new(results.Set)
	err := d.Replay(t.Context(), []payload.Message{
		{Dir: "request", Size: len(ask), Body: []byte(ask), At: time.Second},
		{Dir: "reply", Size: len(answer), Body: []byte(answer), At: 6 * time.Second},
	}, keepIn(set))
	if err != nil || set.Targets[0].Verdict != string(target.OK) {
		t.Errorf("%s, %v: %v", set.Targets[0].Verdict, set.Targets[0].Evidence.Why, err)
	}
}

// A replay that passes may have sent less than the client did: it says so.
func TestAReplaySaysHowItDiffersFromTheRecording(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"hover"}`
	for name, body := range map[string]string{"no bodies": "", "bodies": ask} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := server("late 0s")
			o.Protocol = "jsonrpc"
			d := begin(t, o)
			set := new(results.Set)
			asked := payload.Message{Dir: "request", Size: 500, Method: "hover", ID: []byte("7"),
				At: time.Second}
			if body != "" {
				asked.Body = []byte(body)
			}
			err := d.Replay(t.Context(), []payload.Message{
				asked, {Dir: "reply", Size: 10, ID: []byte("7"), At: time.Hour},
			}, keepIn(set))
			if err != nil || set.Targets[0].Verdict != string(target.OK) {
				t.Fatalf("%v: %+v", err, set.Targets)
			}
			said := strings.Join(set.Targets[0].Warnings, "; ")
			const took = "message 1, hover (id 7) of 500 B took 3599 s in the recording"
			if !strings.Contains(said, took) {
				t.Errorf("of the times it says %q", said)
			}
			made := strings.Contains(said,
				"made-up text of the same length was sent (1 of 1 message)")
			if made != (body == "") || made && !strings.Contains(said, "pipebench tap --bodies") {
				t.Errorf("of what was sent it says %q", said)
			}
		})
	}
}

func TestARecordingWithoutRequestsIsRefused(t *testing.T) {
	d := open(t, server("mcp"))
	const answers = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
{"jsonrpc":"2.0","id":1,"result":{}}
`
	const want = "replay: no request in the recording that could be sent again: drive opens " +
		"the session itself (initialize), and that worked; to try more, run pipebench drive -- "
	err := d.Replay(t.Context(), recording(t, answers), discard)
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		strings.Contains(err.Error(), "LF alone") {
		t.Errorf("got %v", err)
	}
	o := server("mislength 0 LF")
	o.Protocol = "lsp"
	err = begin(t, o).Replay(t.Context(), recording(t, answers), discard)
	if err == nil || !strings.HasSuffix(err.Error(), "; LF alone ends lines of its headers: "+
		"clients that look for CR LF (\\r\\n) wait for ever") {
		t.Errorf("of LF: got %v", err)
	}
}

func TestReplayComparesAnswersWithThoseOfTheRecording(t *testing.T) {
	t.Parallel()
	ask := `{"jsonrpc":"2.0","id":7,"method":"x"}` + "\n"
	for _, row := range []struct {
		name, recorded string
		ignore         []string
		says           string
	}{
		{"the same", `"error":{"code":-32601,"message":"no"}`, nil, ""},
		{"another text of that length", `"error":{"code":-32601,"message":"ho"}`, nil, ""},
		{"another code", `"error":{"code":-32600,"message":"no"}`, nil,
			"answer.error.code is -32601, not -32600"},
		{"a longer text", `"error":{"code":-32601,"message":"never"}`, nil,
			"answer.error.message is a text of 2 bytes, not a text of 5 bytes"},
		{"a longer text that may differ", `"error":{"code":-32601,"message":"never"}`,
			[]string{"message"}, ""},
		{"no error", `"result":{}`, nil, "answer.error was not there"},
		{"more in it", `"error":{"code":-32601,"message":"no","data":[1]}`, nil,
			"answer.error.data is missing"},
		{"another type", `"error":{"code":"-32601","message":"no"}`, nil,
			"answer.error.code is -32601, not a text of 6 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := server("late 0s")
			o.Protocol = "jsonrpc"
			d := begin(t, o)
			text := ask + `{"jsonrpc":"2.0","id":7,` + row.recorded + "}\n"
			set := new(results.Set)
			if err := d.Replay(t.Context(), recording(t, text), keepIn(set),
				row.ignore...); err != nil {
				t.Fatal(err)
			}
			kept, failed := set.Targets[0], drive.Failed(set)
			if kept.Evidence.Replay.Compared != 1 || (kept.Verdict == "ok") != (row.says == "") ||
				(failed == nil) != (row.says == "") ||
				!strings.Contains(kept.Evidence.Why, row.says) {
				t.Errorf("%s: %s, %d compared; %v", kept.Verdict, kept.Evidence.Why,
					kept.Evidence.Replay.Compared, failed)
			}
		})
	}
}

// Redaction removes what an answer is compared with. Such an answer is neither right nor wrong.
func TestReplayOfARedactedRecordingCannotTell(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"x"}`
	const same = `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`
	const blanked = `{"jsonrpc":"2.0","id":7,"error":{"code":-10000,"message":"x"}}`
	const other = `{"jsonrpc":"2.0","id":7,"result":{}}`
	message := func(dir, body string, redacted bool) payload.Message {
		return payload.Message{Dir: dir, Size: len(body), Body: []byte(body), Redacted: redacted}
	}
	for _, row := range []struct {
		name            string
		asked, answered bool // are redacted
		was             string
		verdict         target.Verdict
		undecided       int
	}{
		{"an answer", false, true, blanked, target.CannotTell, 1},
		{"an answer of another kind", false, true, other, target.Differs, 0},
		{"a request", true, false, same, target.OK, 0},
		{"a request that another answer is due to", true, false, other, target.CannotTell, 1},
		{"both", true, true, other, target.CannotTell, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := server("late 0s")
			o.Protocol = "jsonrpc"
			d := begin(t, o)
			set := new(results.Set)
			messages := []payload.Message{
				message("request", ask, row.asked), message("reply", row.was, row.answered),
			}
			if err := d.Replay(t.Context(), messages, keepIn(set)); err != nil {
				t.Fatal(err)
			}
			kept := set.Targets[0]
			e := kept.Evidence
			if kept.Verdict != string(row.verdict) || e.Replay.Compared != 1 ||
				e.Replay.Undecided != row.undecided {
				t.Errorf("%s: %s, cannot tell %d", kept.Verdict, e.Why, e.Replay.Undecided)
			}
			if failed := drive.Failed(set); (failed != nil) != (row.verdict == target.Differs) {
				t.Errorf("failed: %v", failed)
			}
			if u := drive.Undecided(set); (u != nil) != (row.verdict == target.CannotTell) {
				t.Errorf("undecided: %v", u)
			}
		})
	}
}

// A server may answer a request twice, or answer before anything was asked. Neither is the answer
// to a later request with the same id.
func TestAnExtraAnswerInARecordingIsNotCompared(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"x"}`
	const right = `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`
	const other = `{"jsonrpc":"2.0","id":7,"result":{}}`
	const notice = `{"jsonrpc":"2.0","method":"y"}`
	const joined = `{"jsonrpc":"2.0","method":"z"}` // in one write with the next message
	for _, row := range []struct {
		name     string
		messages []string
		compared int
	}{
		{"answered twice", []string{ask, right, other, ask, right}, 2},
		{"answered before it was asked", []string{notice, other, notice, ask, right}, 1},
		{"recorded before its request", []string{notice, right, ask}, 1},
		{"recorded before the write of its request", []string{notice, right, joined, ask}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := server("late 0s")
			o.Protocol = "jsonrpc"
			var messages []payload.Message
			for i, body := range row.messages {
				m := payload.Message{Dir: "request", Size: len(body), Body: []byte(body),
					At: time.Duration(i + 1)}
				if body == right || body == other {
					m.Dir = "reply"
				}
				if i > 0 && body == ask && row.messages[i-1] == joined {
					m.At = messages[i-1].At
				}
				messages = append(messages, m)
			}
			set := new(results.Set)
			if err := begin(t, o).Replay(t.Context(), messages, keepIn(set)); err != nil {
				t.Fatal(err)
			}
			kept := set.Targets[0]
			if kept.Verdict != "ok" || kept.Evidence.Replay.Compared != row.compared {
				t.Errorf("%s: %s, %d compared", kept.Verdict, kept.Evidence.Why,
					kept.Evidence.Replay.Compared)
			}
		})
	}
}

// A second answer to one request is a difference, unless the recorded server gave two as well.
func TestASecondAnswerThatIsNotInTheRecordingDiffers(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"x"}` + "\n"
	const answer = `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}` + "\n"
	const why = "message 1, x (id 7) of 37 B: it was answered more than once, and in the " +
		"recording once"
	tapped := func(dir string, at int64, body string) string {
		record, err := json.Marshal(results.Message{Kind: results.KindMessage, Run: "1", Dir: dir,
			T: at, Size: 9, Body: strings.TrimSpace(body)})
		if err != nil {
			t.Fatal(err)
		}
		return string(record) + "\n"
	}
	early := tapped("reply", 8, answer)
	for _, row := range []struct {
		name, text string
		verdict    target.Verdict
		why        string
	}{
		{"once in the recording", ask + answer, target.Differs, why},
		{"twice in the recording", ask + answer + answer, target.OK, ""},
		{"no recording of answers", ask, target.OK, ""},
		{"twice before its request", early + early + tapped("request", 9, ask), target.OK, ""},
		{"before and after its request", early + tapped("request", 9, ask) + early, target.OK, ""},
		{"once before its request", early + tapped("request", 9, ask), target.Differs, why},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := server("twice")
			o.Protocol = "jsonrpc"
			set := new(results.Set)
			if err := begin(t, o).Replay(t.Context(), recording(t, row.text),
				keepIn(set)); err != nil {
				t.Fatal(err)
			}
			kept := set.Targets[0]
			if kept.Verdict != string(row.verdict) || kept.Evidence.Why != row.why {
				t.Errorf("%s: %q", kept.Verdict, kept.Evidence.Why)
			}
			failed := drive.Failed(set)
			if row.why == "" && failed != nil || row.why != "" && failed.Error() != row.why {
				t.Errorf("failed: %v", failed)
			}
			if said := strings.Join(kept.Warnings, " "); !strings.Contains(said, " 7): ") {
				t.Errorf("warns %q", said)
			}
		})
	}
}

// A text that is no recording is not sent to a server that expects JSON.
func TestProseIsNotReplayedToAServerOfJSON(t *testing.T) {
	o := server("late 0s")
	o.Protocol = "jsonrpc"
	prose := recording(t, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\"}\nOnce upon a time\n")
	err := begin(t, o).Replay(t.Context(), prose, discard)
	const want = "message 2 is no JSON, which a server of jsonrpc expects: give a recording of " +
		"pipebench tap, or a file with a JSON-RPC message per line"
	var refused drive.OptionError
	if !errors.As(err, &refused) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A recorded message that is no JSON is the client's fault, and said first.
func TestAReplayNamesARecordedMessageThatIsNoJSON(t *testing.T) {
	t.Parallel()
	cut := `{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", 4000)
	set := new(results.Set)
	d := begin(t, server("mcp exit0@3000"))
	err := d.Replay(t.Context(), []payload.Message{
		{Dir: "request", Size: 1000},
		{Dir: "request", Size: len(cut), Body: []byte(cut)},
	}, keepIn(set))
	if err != nil {
		t.Fatal(err)
	}
	e := set.Targets[0].Evidence
	const fault = "message 2 is not JSON: the fault of the recorded client, not of the server"
	if e.Replay.NotJSON != 2 || e.Advice != fault {
		t.Errorf("advises %q, of message %d", e.Advice, e.Replay.NotJSON)
	}
}

// An answer that was written and not flushed comes at the end of the server's input, and so does
// one for which the server waits for a child that reads its input.
func TestAReplayNamesAnAnswerThatComesAtTheEnd(t *testing.T) {
	t.Parallel()
	for job, says := range map[string]string{
		"unflushed hover": "flush after each answer",
		"captures hover":  ", whose descendant ",
	} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			if !proc.TellsOfOthers && job == "captures hover" {
				says = "or a child of it reads its standard input"
			}
			o := server(job)
			o.Protocol = "jsonrpc"
			o.Patience = time.Second
			set := new(results.Set)
			const text = `{"jsonrpc":"2.0","id":7,"method":"x"}
{"jsonrpc":"2.0","id":8,"method":"hover"}
`
			if err := begin(t, o).Replay(t.Context(), recording(t, text), keepIn(set)); err != nil {
				t.Fatal(err)
			}
			kept := set.Targets[0]
			e := kept.Evidence
			const want = "; it came at the end of the input"
			if kept.Verdict != string(target.Buffered) || !strings.HasSuffix(e.Why, want) ||
				!strings.Contains(e.Advice, says) {
				t.Errorf("%s: %q; %q, want %q", kept.Verdict, e.Why, e.Advice, says)
			}
		})
	}
}

// A server that ignores methods that it does not know does not fail a replay in which it answers
// all that was recorded.
func TestAReplayDoesNotFailAtAMethodThatTheServerIgnores(t *testing.T) {
	t.Parallel()
	o := server("lsp shy")
	o.Protocol = "lsp"
	o.Start = 4 * time.Second
	o.Patience = 200 * time.Millisecond
	set := new(results.Set)
	const text = `{"jsonrpc":"2.0","id":7,"method":"textDocument/documentSymbol"}` + "\n"
	if err := begin(t, o).Replay(t.Context(), recording(t, text), keepIn(set)); err != nil {
		t.Fatal(err)
	}
	kept := set.Targets[0]
	const says = "the server ignores methods that it does not know: whether it still lives after " +
		"the last message cannot be told"
	if kept.Verdict != string(target.OK) || !slices.Contains(kept.Warnings, says) {
		t.Errorf("%s: %s; %q", kept.Verdict, kept.Evidence.Why, kept.Warnings)
	}
}

// Notifications that come in place of an answer are counted and named.
func TestAReplayNamesNotificationsInPlaceOfAnAnswer(t *testing.T) {
	t.Parallel()
	const text = `{"jsonrpc":"2.0","id":7,"method":"work"}` + "\n"
	kept := replayed(t, "lsp go", "lsp", recording(t, text))
	const says = " notifications came meanwhile, the last: $/progress"
	if kept.Verdict != string(target.Deaf) || !strings.Contains(kept.Evidence.Why, says) {
		t.Errorf("%s: %s", kept.Verdict, kept.Evidence.Why)
	}
}

// That a server computes is said whether it still reads or not, and instead of a guess.
func TestAReplaySaysThatAServerComputes(t *testing.T) {
	t.Parallel()
	const first = `{"jsonrpc":"2.0","id":1,"method":"hover"}`
	const change = `{"jsonrpc":"2.0","method":"compute"}`
	const second = `{"jsonrpc":"2.0","id":2,"method":"hover"}`
	const request = `{"jsonrpc":"2.0","id":2,"method":"compute"}`
	for _, row := range []struct {
		server   string
		messages []string
		verdict  target.Verdict
		says     string
	}{
		{"computes", []string{first, change, second}, target.Deaf, "; it computed all that " +
			"time; right after message 2, compute of 36 B, which expects no answer; without " +
			"message 2 it is answered"},
		{"computes noted", []string{first, request}, target.Deaf, "; it computed all that time"},
		{"computes beside", []string{first, request}, target.Unanswered,
			"; it computed all that time"},
	} {
		t.Run(row.server, func(t *testing.T) {
			t.Parallel()
			o := server(row.server)
			o.Protocol = "jsonrpc"
			o.Patience = 200 * time.Millisecond
			var steps []string
			o.Observe = func(step string) { steps = append(steps, step) }
			text := strings.Join(row.messages, "\n") + "\n"
			set := new(results.Set)
			err := begin(t, o).Replay(t.Context(), recording(t, text), keepIn(set))
			if err != nil {
				t.Fatal(err)
			}
			kept := set.Targets[0]
			e := kept.Evidence
			if kept.Verdict != string(row.verdict) || !strings.HasSuffix(e.Why, row.says) ||
				!e.Failure.Computed ||
				!strings.HasPrefix(e.Advice, "it computed all that time: to see") {
				t.Errorf("%s: %s\n%s", kept.Verdict, e.Why, e.Advice)
			}
			said := strings.Join(steps, "\n")
			const atOnce = "; it computed all that time: trying the same messages again"
			if row.verdict == target.Deaf && !strings.Contains(said, atOnce) {
				t.Errorf("before the cause is known, it says %q", said)
			}
		})
	}
}
