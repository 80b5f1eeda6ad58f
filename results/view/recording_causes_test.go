package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// lspServer is how a recorded language server ended.
func lspServer(requests, replies results.DirectionTraffic) results.Target {
	traffic := &results.TrafficEvidence{Requests: requests, Replies: replies}
	return results.Target{Command: []string{"server"}, Protocol: "lsp", Verdict: "exit 0",
		Evidence: results.TargetEvidence{Traffic: traffic}}
}

// What the client owes to the server stands before what the server owes to the client.
func TestAServerThatWaitsForTheClientIsNamedFirst(t *testing.T) {
	set := &results.Set{Messages: []results.Message{
		{Dir: "request", Method: "initialized", Size: 2},
		{Dir: "request", Method: "hover", ID: []byte("3"), T: 10},
		{Dir: "reply", Method: "configuration", ID: []byte("3"), T: 20},
	}}
	want := "The client did not answer configuration (id 3), for which the server may wait."
	if got := recordingSummary(set, "")[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	set.Messages = append(set.Messages,
		results.Message{Dir: "reply", Method: "show", ID: []byte("4"), T: 30})
	want = "The client did not answer configuration (id 3), show (id 4), for which the server " +
		"may wait."
	if got := recordingSummary(set, "")[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, id := range []string{"3", "4"} {
		set.Messages = append(set.Messages,
			results.Message{Dir: "request", ID: []byte(id), T: 40, Size: 9})
	}
	if got := recordingSummary(set, "")[0]; !strings.HasPrefix(got, "1 request without an answer") {
		t.Errorf("the client answered, and the first line is %q", got)
	}
}

// A server may wait for the answer to a request of its own, and not read it. It may have asked
// before the request that it does not answer.
func TestAQuestionOfAServerThatFellSilentIsNamed(t *testing.T) {
	const asked = ". The server asked configuration (id 2) and was answered; it may not have " +
		"read that answer, or it swallowed the request. "
	const flush = ". An answer was not written, not written whole, or not flushed. "
	for _, tt := range []struct {
		name     string
		messages []results.Message
		want     string
	}{
		{"after the request", []results.Message{
			{Dir: "request", Method: "hover", ID: []byte("3"), T: 10},
			{Dir: "reply", Method: "configuration", ID: []byte("2"), T: 20},
			{Dir: "request", ID: []byte("2"), T: 30},
			{Dir: "reply", Method: "log", T: 40},
		}, asked},
		{"before the request", []results.Message{
			{Dir: "reply", Method: "configuration", ID: []byte("2"), T: 20},
			{Dir: "request", ID: []byte("2"), T: 30, Size: 9},
			{Dir: "request", Method: "hover", ID: []byte("3"), T: 40},
		}, asked},
		{"and the server wrote more", []results.Message{
			{Dir: "reply", Method: "configuration", ID: []byte("2"), T: 20},
			{Dir: "request", ID: []byte("2"), T: 30, Size: 9},
			{Dir: "reply", Method: "log", T: 35},
			{Dir: "request", Method: "hover", ID: []byte("3"), T: 40},
		}, flush},
	} {
		set := &results.Set{Messages: append([]results.Message{
			{Dir: "reply", Method: "register", ID: []byte("1"), T: 1},
			{Dir: "request", ID: []byte("1"), T: 2, Size: 9},
		}, tt.messages...)}
		if got := recordingSummary(set, "")[0]; !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A side that stops reading is named first, even if the write that waits for it never ends and no
// message has its stall.
func TestASideThatStoppedReadingIsNamedFirst(t *testing.T) {
	messages := []results.Message{
		{Dir: "request", Method: "a", ID: []byte("1"), Stall: 5e6},
		{Dir: "reply", ID: []byte("1"), T: 2e9, Stall: 1e6},
	}
	stalled := func(ns int64) results.DirectionTraffic {
		return results.DirectionTraffic{Messages: 1, StalledNS: ns}
	}
	gap := results.DirectionTraffic{Messages: 9, StalledNS: 9e9, Gaps: 1, MessagesMissing: 8}
	server := "The server stopped reading: the client waited 36.3 s to write."
	client := "The client stopped reading: the server waited 4.00 s to write."
	slowest := "Slowest after the handshake: a (id 1), 2.00 s."
	for _, tt := range []struct {
		name   string
		target results.Target
		want   string
	}{
		{"the server", lspServer(stalled(36.3e9+5e6), stalled(1e6)), server},
		{"the client", lspServer(stalled(5e6), stalled(4e9+1e6)), client},
		{"a short wait", lspServer(stalled(300e6), stalled(300e6)), slowest},
		{"many waits of messages that are not recorded", lspServer(gap, gap), slowest},
	} {
		set := &results.Set{Messages: messages, Targets: []results.Target{tt.target}}
		if got := recordingSummary(set, "")[0]; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	set := &results.Set{Messages: messages,
		Targets: []results.Target{lspServer(stalled(36.3e9+5e6), stalled(4e9+1e6))}}
	both := server + " " + client + " If they waited at once: let each side read while it writes."
	if got := recordingSummary(set, "")[0]; got != both {
		t.Errorf("both: got %q, want %q", got, both)
	}
	set = &results.Set{
		Messages: messages[1:],
		Targets:  []results.Target{lspServer(stalled(36.3e9), stalled(1e6))},
	}
	if got := recordingSummary(set, "")[0]; got != server {
		t.Errorf("no message passed to the server: got %q, want %q", got, server)
	}
	set = &results.Set{Messages: messages}
	messages[0].Stall = 36.3e9
	slow := "The server was slow to read: the client waited 36.3 s to write."
	if got := recordingSummary(set, "")[0]; got != slow {
		t.Errorf("a write that ended: got %q, want %q", got, slow)
	}
}

// A deadlock is named before what came of it: the rest of a message was not written, or the server
// ended.
func TestADeadlockIsNamedFirst(t *testing.T) {
	set := conversation("1 a")
	stalled := results.DirectionTraffic{StalledNS: 4e9, EndedNS: 5e9, Announced: 10, Came: 5}
	set.Targets = []results.Target{lspServer(stalled, stalled)}
	got := recordingSummary(set, "")
	for i, want := range []string{"The server stopped reading",
		"The last message to the server announces"} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d: got %q, want %q", i, got[i], want)
		}
	}
}

// The end of a server is named first if the server ended while its client waited.
func TestAServerThatFailedIsNamedFirst(t *testing.T) {
	open := results.DirectionTraffic{}
	part := results.DirectionTraffic{EndedNS: 3e9, Announced: 9, Came: 5}
	whole := results.DirectionTraffic{EndedNS: 3e9}
	for _, tt := range []struct {
		name              string
		messages          []string
		requests, replies results.DirectionTraffic
		verdict           string
		first             bool
	}{
		{"a crash", []string{"1 a"}, open, part, "signal SIGSEGV", true},
		{"a crash, and the client noticed", []string{"1 a"}, results.DirectionTraffic{EndedNS: 4e9},
			whole, "signal SIGSEGV", true},
		{"a crash between requests", []string{"1 a", "1"}, open, whole, "signal SIGSEGV", true},
		{"an end with a request open", []string{"1 a"}, open, whole, "exit 0", true},
		{"an end in the middle of an answer", []string{"1 a", "1"}, open, part, "exit 0", true},
		{"an end as it should be", []string{"1 a", "1"}, open, whole, "exit 0", false},
		{"an end that was asked for", []string{"1 a"}, open, whole, "signal SIGTERM", false},
		{"after the client's end", []string{"1 a"}, results.DirectionTraffic{EndedNS: 2e9}, whole,
			"exit 1", false},
		{"after the client left", []string{"1 a"}, open, open, "exit 1", false},
	} {
		set := conversation(tt.messages...)
		set.Targets[0] = lspServer(tt.requests, tt.replies)
		set.Targets[0].Verdict = tt.verdict
		set.Targets[0].Evidence.Traffic.ElapsedNS = 3e9
		set.Messages[0].Body = "{}"
		got := recordingSummary(set, "")
		want := "The server ended after 3.00 s, before its input did: " + tt.verdict + "."
		if isFirst := got[0] == want; isFirst != tt.first {
			t.Errorf("%s: got %q, want %q first: %v", tt.name, got, want, tt.first)
		}
		said := strings.Join(got, " ")
		if strings.Count(said, "ended after") != 1 ||
			tt.first && strings.Contains(said, "while the client hangs") {
			t.Errorf("%s: got %q", tt.name, got)
		}
	}
}

// What a server left behind may hold its output open while the client waits.
func TestAServerThatFailedIsNamedFirstThoughItsOutputStaysOpen(t *testing.T) {
	set := conversation("1 a")
	set.Targets[0] = lspServer(results.DirectionTraffic{EndedNS: 9e9}, results.DirectionTraffic{})
	set.Targets[0].Evidence.Traffic.ElapsedNS = 3e9
	set.Targets[0].Evidence.Traffic.OutputOpenNS = 6e9
	for verdict, want := range map[string]string{
		"signal SIGABRT": "The server ended after 3.00 s, before its input did: signal SIGABRT. " +
			"Its output stayed open 6.00 s after that: a process that it left behind holds it.",
		// It may have left its work to another process.
		"exit 0": "1 request without an answer: a (id 1). An answer was not written, ",
	} {
		set.Targets[0].Verdict = verdict
		if got := recordingSummary(set, "")[0]; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The server of a client that closes its end should end soon.
func TestAServerThatStaysIsNamed(t *testing.T) {
	server := lspServer(results.DirectionTraffic{EndedNS: 2e9}, results.DirectionTraffic{})
	for elapsed, want := range map[int64]string{
		29e8: "server ended after 2.90 s: exit 0.",
		9e9: "server ended after 9.00 s: exit 0. It stayed 7.00 s after the end of its " +
			"input. Next: pipebench check --server --only end-idle -- server",
	} {
		server.Evidence.Traffic.ElapsedNS = elapsed
		got := recordingSummary(&results.Set{Targets: []results.Target{server}}, "")
		if got[0] != want {
			t.Errorf("got %q, want %q", got[0], want)
		}
	}
	open := results.Message{Run: server.Run, Dir: "request", Method: "hover", ID: []byte("2")}
	server.Evidence.Traffic.ElapsedNS = 9e9
	got := recordingSummary(
		&results.Set{Messages: []results.Message{open}, Targets: []results.Target{server}}, "")
	const want = " It stayed 7.00 s after the end of its input, with a request open."
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, want) }) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a server left behind can hold its output open. The server itself has ended by then.
func TestAnOutputThatOutlivesItsServerIsNamed(t *testing.T) {
	server := lspServer(results.DirectionTraffic{}, results.DirectionTraffic{})
	server.Evidence.Traffic.ElapsedNS = 15e8
	server.Evidence.Traffic.OutputOpenNS = 37e8
	const want = "server ended after 1.50 s: exit 0. Its output stayed open 3.70 s after that: " +
		"a process that it left behind holds it."
	got := recordingSummary(&results.Set{Targets: []results.Target{server}}, "")
	if got[0] != want {
		t.Errorf("got %q, want %q", got[0], want)
	}
}

// The last message of a side may be shorter than announced.
func TestAMessageThatIsNotWholeIsNamedFirst(t *testing.T) {
	set := &results.Set{
		Messages: []results.Message{{Dir: "request", Method: "hover", ID: []byte("2"), Size: 154}},
	}
	for want, reply := range map[string]results.DirectionTraffic{
		"The last message from the server announces 110 B; 90 came: its length is wrong, or the " +
			"rest was not written.": {Announced: 110, Came: 90},
		"The last line from the server has no newline: 90 B came, and a reader of lines may " +
			"wait for its end.": {Came: 90},
	} {
		set.Targets = []results.Target{lspServer(results.DirectionTraffic{}, reply)}
		if got := recordingSummary(set, "")[0]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Text between the messages is named first.
func TestTextBetweenMessagesIsNamedFirst(t *testing.T) {
	set := &results.Set{
		Messages: []results.Message{{Dir: "request", Method: "hover", ID: []byte("2"), Size: 154}},
		Targets: []results.Target{lspServer(results.DirectionTraffic{},
			results.DirectionTraffic{Strays: 1, FirstStray: "hover debug"})},
	}
	const want = "Text that is no message came from the server at 1 place, the first: " +
		`"hover debug". Strict readers break at it.`
	if got := recordingSummary(set, "")[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Readers that wait for CR LF hang at a header whose lines end with LF alone.
func TestHeadersWithLFAloneAreNamedFirst(t *testing.T) {
	set := &results.Set{
		Messages: []results.Message{{Dir: "request", Method: "hover", ID: []byte("2"), Size: 154}},
		Targets: []results.Target{lspServer(results.DirectionTraffic{},
			results.DirectionTraffic{BareHeaders: 3})},
	}
	const want = "LF alone ends lines in 3 headers from the server: readers that look for CR LF " +
		"wait for ever. End each line of a header with CR LF (\\r\\n)."
	if got := recordingSummary(set, "")[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A recording is sent again by its name and with its command, if both are known.
func TestWhatSendsARecordingAgainCanBeTyped(t *testing.T) {
	messages := []results.Message{
		{Dir: "request", Method: "open", Size: 9, Body: "{}"},
		{Dir: "request", Method: "hover", ID: []byte("2"), Size: 154, Body: "{}"},
	}
	set := &results.Set{Messages: messages, Environments: []results.Environment{{
		Command: "pipebench tap --bodies -o x.jsonl -- python3 srv.py 'a b'"}}}
	for file, want := range map[string]string{
		"a/tap.jsonl": "pipebench drive --messages a/tap.jsonl -- python3 srv.py 'a b'. ",
		"":            "pipebench drive --messages RECORDING -- python3 srv.py 'a b'. ",
	} {
		if got := recordingSummary(set, file)[0]; !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q in it", file, got, want)
		}
	}
}

// While the client runs, the recording says of a message in part how much of it came.
func TestARecordingWithoutAnEndIsToldSo(t *testing.T) {
	set := &results.Set{Messages: []results.Message{
		{Dir: "request", Method: "initialize", ID: []byte("1"), Size: 9}}}
	const want = "The recording has no end: the server still runs, or tap was killed. If it " +
		"runs, next: pipebench inspect PID; then end the client and look again."
	if got := recordingSummary(set, ""); got[1] != want {
		t.Errorf("says %q", got)
	}
	set.Messages = append(set.Messages, results.Message{Dir: "reply", ID: []byte("1"), T: 9})
	if got := recordingSummary(set, ""); got[0] != want {
		t.Errorf("with all requests answered: %q", got)
	}
	set.Environments = []results.Environment{{PID: 4711}}
	if got := recordingSummary(set, "")[0]; !strings.Contains(got, "pipebench inspect 4711;") {
		t.Errorf("with the number of the process: %q", got)
	}
	nothing := results.DirectionTraffic{}
	set.Messages = set.Messages[:1]
	part := lspServer(nothing, results.DirectionTraffic{EndedNS: 1, Announced: 65000, Came: 4096})
	part.Verdict = results.VerdictRunning
	set.Targets = []results.Target{part}
	said := strings.Join(recordingSummary(set, ""), " ")
	const came = "The last message from the server announces 65,000 B; 4,096 came"
	if !strings.HasPrefix(said, came) || !strings.Contains(said, "The recording has no end") ||
		strings.Contains(said, "ended after") || strings.Contains(said, "not flushed") {
		t.Errorf("with a message that came in part: %q", said)
	}
	set.Targets = []results.Target{lspServer(nothing, nothing)}
	if got := recordingSummary(set, ""); strings.Contains(strings.Join(got, " "), "no end") {
		t.Errorf("with its end: %q", got)
	}
}

// A message that is cut short is named first: the client or the server counts wrong.
func TestAMessageOfWrongLengthIsNamedFirst(t *testing.T) {
	open := `{"method":"open","params":{"text":"é`
	const length = ": its Content-Length may be wrong: it has to count bytes, not characters."
	server := lspServer(results.DirectionTraffic{}, results.DirectionTraffic{})
	for _, tt := range []struct {
		message results.Message
		want    string // at the beginning of the first line; "" if no message is cut
	}{
		{results.Message{Dir: "request", Size: 3175, Body: open}, "Message 2 to the server, of " +
			"3,175 B, is not JSON" + length},
		{results.Message{Dir: "reply", Size: 9, Body: `{"id":1,"`}, "Message 1 from the server, " +
			"of 9 B, is not JSON" + length},
		{results.Message{Dir: "reply", Size: 3175}, "Message 1 from the server, of 3,175 B, has " +
			"no method and no id" + length},
		{results.Message{Dir: "reply", Size: 110, ID: []byte("2"), Body: `{"id":2}Content-Le`},
			"Message 1 from the server, of 110 B, is not JSON" + length},
		{results.Message{Dir: "reply", Size: 92, Body: "Content-Length: 56\r\n\r\n{"},
			"Message 1 from the server, of 92 B, is not JSON: the header of another message is " +
				"in it. Two writers mix their messages: lock around header and body. Or one " +
				"was not written to its end."},
		{results.Message{Dir: "request", Size: 9, Body: "{\"id\":content-length: 56\r\n\r\n{}"},
			"Message 2 to the server, of 9 B, is not JSON: the header of another message is in " +
				"it. Two writers mix"},
		{results.Message{Dir: "request", Size: 11, Body: `{"batch":1}`}, ""},
		{results.Message{Dir: "request", Size: 8 << 20}, ""}, // too large for its id to be known
	} {
		hello := results.Message{Dir: "request", Method: "hello", Size: 2}
		set := &results.Set{
			Messages: []results.Message{hello, tt.message}, Targets: []results.Target{server},
		}
		got := recordingSummary(set, "")[0]
		if tt.want == "" {
			tt.want = "The recording has "
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if len(tt.message.ID) > 0 {
			continue
		}
		set.Targets[0].Protocol = "lines"
		if got := recordingSummary(set, "")[0]; !strings.HasPrefix(got, "The recording has ") {
			t.Errorf("a log line: got %q", got)
		}
	}
}

// A request without an answer has two possible causes, until a better one is named.
func TestWhatMayHaveKeptAnAnswerIsSaidUntilTheCauseIsNamed(t *testing.T) {
	set := conversation("1 a", "1", "2 b")
	for i := range set.Messages {
		set.Messages[i].Size = 9
		set.Messages[i].Body = "{}"
	}
	set.Targets[0] = lspServer(results.DirectionTraffic{}, results.DirectionTraffic{})
	hints := []string{"An answer was not written, not written whole, or not flushed. Send it again",
		"tells more while the client hangs"}
	said := strings.Join(recordingSummary(set, ""), " ")
	for _, hint := range hints {
		if !strings.Contains(said, hint) {
			t.Errorf("says %q, not %q", said, hint)
		}
	}
	set.Targets[0].Evidence.Traffic.Replies = results.DirectionTraffic{Announced: 110, Came: 90}
	said = strings.Join(recordingSummary(set, ""), " ")
	for _, hint := range hints {
		if strings.Contains(said, hint) || !strings.Contains(said, "Send it again") {
			t.Errorf("with its cause: %q", said)
		}
	}
	set = conversation("1 a")
	set.Targets[0] = lspServer(results.DirectionTraffic{},
		results.DirectionTraffic{Announced: 110, Came: 90})
	said = strings.Join(recordingSummary(set, ""), " ")
	if !strings.Contains(said, "without an answer: a (id 1). ") || strings.Contains(said, "Next") {
		t.Errorf("of the first request, with its cause: %q", said)
	}
}

// A server that writes whole notifications long after a request flushes what it writes.
func TestNotificationsAfterAnUnansweredRequestAreCounted(t *testing.T) {
	set := conversation("7 open", "7", "1 a")
	for i := range set.Messages {
		set.Messages[i].Body = "{}"
	}
	asked := set.Messages[2]
	for i := range int64(24) {
		set.Messages = append(set.Messages, results.Message{Run: asked.Run, Dir: "reply",
			Method: "$/progress", Size: 9, T: asked.T + i*100e6})
	}
	const came = ". After it came 23 notifications, the last: $/progress. Send it again"
	got := strings.Join(recordingSummary(set, ""), " ")
	if !strings.Contains(got, came) || strings.Contains(got, "not flushed") {
		t.Errorf("got %q, want %q", got, came)
	}
	set.Messages = set.Messages[:6]
	const flush = "An answer was not written, not written whole, or not flushed. "
	if got := recordingSummary(set, "")[0]; !strings.Contains(got, flush) {
		t.Errorf("of notifications that may have been on their way: got %q", got)
	}
}

// A server that lost the id of a request answers with the id null.
func TestAnErrorWithoutAnIDIsNamed(t *testing.T) {
	const came = ". After it came 1 error with the id null, which may be meant for it. "
	for _, before := range []string{"7 open", "7"} { // with a request before, and without
		set := conversation(before, "7", "1 a", "")
		for i := range set.Messages {
			set.Messages[i].Body = "{}"
		}
		set.Messages[3].Error = true
		got := strings.Join(recordingSummary(set, ""), " ")
		if !strings.Contains(got, came) || strings.Contains(got, "not flushed") {
			t.Errorf("got %q, want %q", got, came)
		}
		set.Messages[3].T = 1
		if got := strings.Join(recordingSummary(set, ""), " "); strings.Contains(got, "null") {
			t.Errorf("of an error before it: %q", got)
		}
	}
}

// An answer that comes when a client has left may have waited for the end to be flushed.
func TestAnAnswerThatCameWhenTheClientHadLeftIsNamed(t *testing.T) {
	const came = "The answer to a (id 1) came when the client had left: it was late, not " +
		"flushed, or held up by an output that the client did not read, such as standard error. "
	set := conversation("7 open", "7", "1 a", "1")
	set.Messages[3].Untaken = true
	got := strings.Join(recordingSummary(set, ""), " ")
	if !strings.Contains(got, came) || !strings.Contains(got, "without an answer") {
		t.Errorf("got %q, want %q", got, came)
	}
}

// What the client sent right before an unanswered request may be its own answer.
func TestAnAnswerOfTheClientIsNamedByItsRequest(t *testing.T) {
	set := conversation("1 a", "1", "2 b")
	ask := results.Message{Dir: "reply", Method: "applyEdit", ID: []byte(`"w1"`), T: 1}
	answer := results.Message{Dir: "request", ID: []byte(`"w1"`), T: 1, Size: 48}
	set.Messages = slices.Insert(set.Messages, 2, ask, answer)
	const want = `b (id 2), right after the answer to applyEdit (id "w1"). `
	if got := recordingSummary(set, "")[0]; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
