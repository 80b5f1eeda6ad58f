package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// said makes the messages of a recording, bodies and all.
func said(bodies ...string) []payload.Message {
	var out []payload.Message
	for _, b := range bodies {
		out = append(out, payload.Message{Size: len(b), Body: []byte(b)})
	}
	return out
}

func playing(t *testing.T, messages []payload.Message) *rig {
	t.Helper()
	p, err := mcp.NewPlayback(messages)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, mcp.Options{Playback: p})
}

func TestAPlaybackAnswersAsWasRecorded(t *testing.T) {
	r := playing(t, said(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"x","serverInfo":{"name":"recorded"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"n":"b"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"n":"a"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"secrets/list"}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"no","data":[1]}}`,
		`{"jsonrpc":"2.0","id":9,"result":{"to":"nobody"}}`,
		`this is no message`,
	))
	for _, row := range []struct{ name, asks, answers string }{
		{"the handshake", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"x","serverInfo":{"name":"recorded"}}}`},
		{"the same request", `{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"a"}}`, `{"jsonrpc":"2.0","id":70,"result":{"n":"a"}}`},
		{"the same request again", `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"a"}}`, `{"jsonrpc":"2.0","id":71,"result":{"n":"a"}}`},
		{"another: the first of its method", `{"jsonrpc":"2.0","id":72,"method":"tools/call","params":{"name":"z"}}`, `{"jsonrpc":"2.0","id":72,"result":{"n":"b"}}`},
		{"another: the next", `{"jsonrpc":"2.0","id":73,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":73,"result":{"n":"a"}}`},
		{"and then again from the first", `{"jsonrpc":"2.0","id":74,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":74,"result":{"n":"b"}}`},
		{"an error", `{"jsonrpc":"2.0","id":75,"method":"secrets/list"}`, `{"jsonrpc":"2.0","id":75,"error":{"code":-32001,"message":"no","data":[1]}}`},
		{"what was not recorded is the server's", `{"jsonrpc":"2.0","id":76,"method":"ping"}`, `{"jsonrpc":"2.0","id":76,"result":{}}`},
	} {
		r.send(row.asks)
		if got := r.recv(); got != row.answers {
			t.Errorf("%s: got %s, want %s", row.name, got, row.answers)
		}
	}
}

func TestAPlaybackWithoutBodiesAnswersInTheRecordedSizes(t *testing.T) {
	var messages []payload.Message
	sizes := []int{20, 40, 60, 100, 5000}
	for i, size := range sizes {
		id := json.RawMessage(fmt.Sprint(i + 1000))
		messages = append(messages,
			payload.Message{Dir: "request", Method: "tools/call", ID: id, Size: 77},
			payload.Message{Dir: "reply", ID: id, Size: size},
			payload.Message{Dir: "request", Method: "initialize", ID: id, Size: 77},
			payload.Message{Dir: "reply", ID: id, Size: 80},
			payload.Message{Dir: "reply", Method: "notifications/progress", Size: 80},
		)
	}
	r := playing(t, messages)
	for _, size := range sizes {
		r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any"}}`)
		got := r.recv()
		if want := max(size, len(`{"jsonrpc":"2.0","id":1,"result":{}}`)); len(got) != want || !json.Valid([]byte(got)) {
			t.Errorf("%d bytes, want %d of JSON: %.100s", len(got), want, got)
		}
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
	if got := r.recv(); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("the handshake is not the server's own: %s", got)
	}
}

func TestAPlaybackTellsTheServersOwnRequestsFromTheClients(t *testing.T) {
	both := func(dir, body string) payload.Message {
		return payload.Message{Dir: dir, Size: len(body), Body: []byte(body)}
	}
	r := playing(t, []payload.Message{
		both("request", `{"jsonrpc":"2.0","id":1,"method":"hover","params":{}}`),
		both("reply", `{"jsonrpc":"2.0","id":1,"method":"workspace/configuration","params":{}}`),
		both("request", `{"jsonrpc":"2.0","id":1,"result":[null]}`),
		both("reply", `{"jsonrpc":"2.0","id":1,"result":{"text":"here"}}`),
	})
	r.send(`{"jsonrpc":"2.0","id":5,"method":"hover","params":{}}`)
	if got, want := r.recv(), `{"jsonrpc":"2.0","id":5,"result":{"text":"here"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARecordingWithoutAnswersCannotBePlayed(t *testing.T) {
	for name, messages := range map[string][]payload.Message{
		"nothing":        nil,
		"requests alone": said(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		"answers alone":  said(`{"jsonrpc":"2.0","id":1,"result":{}}`),
		"sizes of a handshake alone": {
			{Dir: "request", Method: "initialize", ID: json.RawMessage("1"), Size: 9}, {Dir: "reply", ID: json.RawMessage("1"), Size: 9}},
	} {
		if _, err := mcp.NewPlayback(messages); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}
