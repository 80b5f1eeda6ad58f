package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

func TestInitialize(t *testing.T) { // seed 004, "Initialize Response Structure"
	tests := []struct{ asked, got string }{
		{"2024-11-05", "2024-11-05"},
		{"2025-03-26", "2025-03-26"},
		{"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"},
		{"1999-01-01", "2025-11-25"}, // the newest that has a handshake
	}
	for _, test := range tests {
		t.Run(test.asked, func(t *testing.T) {
			r := serve(t, mcp.Options{Version: "v"})
			r.send(`{"jsonrpc":"2.0","id":"0","method":"initialize","params":{"protocolVersion":"` + test.asked + `","clientInfo":{"name":"MCP Client","version":"1.0"}}}`)
			r.want(`{"jsonrpc":"2.0","id":"0","result":{"protocolVersion":"` + test.got +
				`","serverInfo":{"name":"pipebench","version":"v"},"capabilities":{"tools":{}}}}`)
		})
	}
}

func TestDiscover(t *testing.T) { // MCP 2026-07-28 has no initialize
	r := serve(t, mcp.Options{})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`
	r.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`)
	if got := r.recv(); !strings.Contains(got, `"2026-07-28"`) || !strings.Contains(got, `"2024-11-05"`) {
		t.Errorf("got %s, want the revisions", got)
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"m"},` + meta + `}}`)
	if got := r.recv(); !strings.Contains(got, `"text":"m"`) {
		t.Errorf("got %s, want the message", got)
	}
}

// A revision without a handshake asks for nothing before a call, and each of its results says that
// it is whole; one of a revision that nobody knows is refused with those that are spoken.
func TestStatelessRequestsStandAlone(t *testing.T) {
	r := serve(t, mcp.Options{})
	meta := mcp.Meta(mcp.FirstStateless)
	for _, request := range []string{
		`"tools/call","params":{"name":"echo","arguments":{"message":"m"},` + meta + `}`,
		`"tools/call","params":{"name":"fail",` + meta + `}`,
		`"tools/list","params":{` + meta + `}`,
		`"server/discover","params":{` + meta + `}`,
	} {
		r.send(`{"jsonrpc":"2.0","id":1,"method":` + request + `}`)
		got := r.recv()
		if !strings.Contains(got, `"resultType":"complete"`) || !strings.Contains(got, `serverInfo":{"name":"pipebench"`) {
			t.Errorf("%s: got %s", request, got)
		}
	}
	r.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta + `}}`)
	if got := r.recv(); !strings.Contains(got, "-32601") {
		t.Errorf("ping is none of that revision: got %s", got)
	}
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + mcp.Meta("2099-01-01") + `}}`)
	if got := r.recv(); !strings.Contains(got, `"code":-32022`) || !strings.Contains(got, `"supported":["2026-07-28"`) {
		t.Errorf("a revision to come: got %s", got)
	}
	r.send(call("1", "echo", `{"message":"m"}`))
	r.want(result("1", "m"))
}

// What is told of a subscription goes under the id that the client gave it, be it a text; one that asks
// for what does not change ends at once.
func TestSubscriptions(t *testing.T) {
	const listen = `"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},`
	of := func(id, method, rest string) string {
		meta := `{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}` + rest + `}`
		return `{"jsonrpc":"2.0","method":"` + method + `","params":` + meta + `}`
	}
	meta := mcp.Meta(mcp.FirstStateless)
	r := serve(t, mcp.Options{ChangingTools: true})
	r.send(`{"jsonrpc":"2.0","id":"$1",` + listen + meta + `}}`)
	r.want(of(`"$1"`, mcp.Acknowledged, `,"notifications":{"toolsListChanged":true}`))
	r.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"change_tools",` + meta + `}}`)
	if got := answerAndChange(t, r, `"id":7`); !sameJSON(got, of(`"$1"`, "notifications/tools/list_changed", "")) {
		t.Errorf("got %s, want the change under the id of the subscription", got)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"$1"}}`, `{"jsonrpc":"2.0","id":8,"method":"server/discover","params":{`+meta+`}}`)
	if got := r.recv(); !strings.Contains(got, `"id":8`) {
		t.Errorf("got %s, want nothing of a subscription that was cancelled", got)
	}

	r = serve(t, mcp.Options{})
	r.send(`{"jsonrpc":"2.0","id":"a",` + listen + meta + `}}`)
	r.want(of(`"a"`, mcp.Acknowledged, `,"notifications":{}`))
	if got := r.recv(); !strings.Contains(got, `"id":"a"`) || !strings.Contains(got, `subscriptionId":"a"`) {
		t.Errorf("got %s, want the end of the subscription", got)
	}
}

// answerAndChange takes the answer to a call that changes the tools and what is told of the change, which
// comes a while after the change and so behind the answer as a rule. It returns the latter.
func answerAndChange(t *testing.T, r *rig, id string) string {
	t.Helper()
	answer, change := r.recv(), r.recv()
	if strings.Contains(answer, "list_changed") {
		answer, change = change, answer
	}
	if !strings.Contains(answer, id) || !strings.Contains(change, "list_changed") {
		t.Errorf("got %s and %s, want the answer and the change", answer, change)
	}
	return change
}

// A client with a handshake is told of changes once, whichever way it came to it.
func TestChangesAreToldOnceInASession(t *testing.T) {
	r := serve(t, mcp.Options{ChangingTools: true})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	r.recv()
	r.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":` + mcp.InitializeParams(mcp.LastWithHandshake) + `}`)
	r.recv()
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, call("3", "change_tools", "{}"))
	answerAndChange(t, r, `"id":3`)
	r.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	r.want(`{"jsonrpc":"2.0","id":4,"result":{}}`)
}

func TestMaxFrameSizeIsOfferedToThoseWhoAsk(t *testing.T) {
	r := serve(t, mcp.Options{MaxMessage: 7000})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"experimental":{"maxFrameSize":16777216}},"clientInfo":{"name":"c","version":"1"}}}`)
	if got := r.recv(); !strings.Contains(got, `"experimental":{"maxFrameSize":7000}`) {
		t.Errorf("got %s, want the limit", got)
	}
}

// Seed 002, "Protocol Flow Example".
func TestWeatherConversation(t *testing.T) {
	r := serve(t, mcp.Options{})
	r.send(`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":"2024-11-05"}}`)
	r.recv()
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":"2","method":"tools/list"}`)
	if got := r.recv(); !strings.Contains(got, `"name":"get-alerts"`) || !strings.Contains(got, `"id":"2"`) {
		t.Errorf("got %s, want get-alerts", got)
	}
	r.send(call(`"3"`, "get-alerts", `{"state":"CA"}`))
	if got := r.recv(); !strings.Contains(got, `Active alerts for CA:\n\nEvent: Heat Advisory\n`) {
		t.Errorf("got %s, want the heat advisory", got)
	}
}

func TestTools(t *testing.T) {
	tests := []struct{ name, tool, args, want string }{
		{"echo", "echo", `{"message":"<&> \u2028"}`, "<&> \u2028"},
		{"no alerts", "get-alerts", `{"state":"ny"}`, "No active alerts for NY"},
		{"large data, seed 000", "get_large_data", `{}`, strings.Repeat("X", 100_000)},
		{"large data of a size", "get_large_data", `{"bytes":3}`, "XXX"},
		{"none", "get_large_data", `{"bytes":0}`, ""},
		{"uppercase", "string", `{"operation":"uppercase","input":"añb"}`, "AÑB"},
		{"lowercase", "string", `{"operation":"lowercase","input":"ABC"}`, "abc"},
		{"reverse", "string", `{"operation":"reverse","input":"añ€"}`, "€ña"},
		{"trim", "string", `{"operation":"trim","input":" x "}`, "x"},
		{"length", "string", `{"operation":"length","input":"añ€"}`, "3"},
		{"sleep", "sleep", `{"seconds":0}`, "slept 0 seconds"},
	}
	r := serve(t, mcp.Options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.send(call("1", test.tool, test.args))
			want := result("1", test.want)
			if got := r.recv(); !sameJSON(got, want) {
				t.Errorf("got %.300s, want %.300s", got, want)
			}
		})
	}
	r.send(call("2", "get-forecast", `{"latitude":37.77,"longitude":-122.42}`))
	if got := r.recv(); !strings.Contains(got, "Forecast for 37.7700, -122.4200") {
		t.Errorf("got %s, want a forecast", got)
	}
	r.send(call("3", "datetime", `{}`))
	var a struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(r.recv()), &a); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339, a.Result.Content[0].Text); err != nil {
		t.Error(err)
	}
}

// The table of codes. Seed 002, "Input validation on all messages"; seed 004, "Error cases".
func TestCodes(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := []struct{ name, request, code, message string }{
		{"unknown method", `"method":"no/such","params":{"pad":1}`, "-32601", `Method not found: "no/such"`},
		{"unknown method, long", `"method":"` + long + `"`, "-32601", "..."},
		{"method of a feature that is not here", `"method":"resources/read","params":{"uri":"file:///etc/passwd"}`, "-3", ""},
		{"unknown tool", `"method":"tools/call","params":{"name":"nope","arguments":{}}`, "-32602", `unknown tool "nope"`},
		{"unknown tool, long", `"method":"tools/call","params":{"name":"` + long + `"}`, "-32602", "..."},
		{"no params", `"method":"tools/call"`, "-32602", "tools/call needs params"},
		{"null params", `"method":"tools/call","params":null`, "-32602", "tools/call needs params"},
		{"params are a list", `"method":"tools/call","params":[1]`, "-32602", "another form"},
		{"name is a number", `"method":"tools/call","params":{"name":5}`, "-32602", "another form"},
		{"argument missing", `"method":"tools/call","params":{"name":"echo","arguments":{}}`, "-32602", "message"},
		{"argument of another type", `"method":"tools/call","params":{"name":"echo","arguments":{"message":5}}`, "-32602", "message"},
		{"arguments are a list", `"method":"tools/call","params":{"name":"echo","arguments":[1]}`, "-32602", "echo"},
		{"argument beyond its bounds", `"method":"tools/call","params":{"name":"get-forecast","arguments":{"latitude":91,"longitude":0}}`, "-32602", "latitude"},
		{"argument not of the list", `"method":"tools/call","params":{"name":"string","arguments":{"operation":"explode","input":""}}`, "-32602", "operation"},
		{"initialize without params", `"method":"initialize"`, "-32602", "initialize needs params"},
		{"discover without a revision", `"method":"server/discover"`, "-32602", "protocolVersion"},
		{"a notification with an id", `"method":"notifications/initialized","params":{}`, "-32600", ""},
	}
	r := serve(t, mcp.Options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.send(`{"jsonrpc":"2.0","id":1,` + test.request + `}`)
			got := r.recv()
			if !strings.Contains(got, `"code":`+test.code) || !strings.Contains(got, strings.ReplaceAll(test.message, `"`, `\"`)) {
				t.Errorf("got %.400s, want code %s and %q", got, test.code, test.message)
			}
			if len(got) > 1000 || strings.Contains(got, "goroutine") || strings.Contains(got, "mcp.") {
				t.Errorf("got %.400s, want nothing of the inside", got)
			}
		})
	}
	r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	r.recv()
	r.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`)
	if got := r.recv(); !strings.Contains(got, "-32600") {
		t.Errorf("a second initialize: got %s", got)
	}
}

func TestStrictLifecycle(t *testing.T) {
	r := serve(t, mcp.Options{StrictLifecycle: true})
	r.send(ping)
	r.want(pong)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := r.recv(); !strings.Contains(got, "-32600") || !strings.Contains(got, "initialization") {
		t.Errorf("got %s, want it refused before initialize", got)
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	r.recv()
	r.send(call("3", "echo", `{"message":"m"}`))
	r.want(result("3", "m"))
}

func TestBeforeAndAfterInitialize(t *testing.T) {
	r := serve(t, mcp.Options{})
	r.send(call("1", "echo", `{"message":"before"}`))
	r.want(result("1", "before"))
	r.send(call("2", "sleep", `{"seconds":3600}`), `{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	r.recv()
	r.send(call("4", "echo", `{"message":"after"}`))
	r.want(result("4", "after"))
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`) // of the time before
	r.send(ping)
	r.want(pong)
}

// broken are tools that go wrong in ways of their own.
func broken(release chan struct{}) []mcp.Tool {
	tool := func(name string, call func(context.Context, struct{}) (string, error)) mcp.Tool {
		return mcp.NewTool(name, "", nil, call)
	}
	return []mcp.Tool{
		tool("panics", func(context.Context, struct{}) (string, error) { panic("secret of /home/u") }),
		tool("opens", func(context.Context, struct{}) (string, error) {
			return "", &fs.PathError{Op: "open", Path: "/home/u/secret", Err: fs.ErrNotExist}
		}),
		tool("tells", func(context.Context, struct{}) (string, error) {
			return "", errors.New(`no "/home/u/a b" (in ~/x/y, C:\Users\u): see \\srv\share and path=/etc/x, not tools/call or http://h/p`)
		}),
		tool("refuses", func(context.Context, struct{}) (string, error) {
			return "", fmt.Errorf("wrapped: %w", &jsonrpc.Error{Code: -32001, Message: "no /etc/shadow here"})
		}),
		tool("stuck", func(context.Context, struct{}) (string, error) { <-release; return "", nil }),
		mcp.NewTool("fail", "", nil, func(context.Context, struct{}) (string, error) { return "", errors.New("no") }),
	}
}

func TestFailingTools(t *testing.T) { // seed 004, "Error Handling Safety"; seed 002, "Secure handling of file paths"
	const short = 10 * time.Millisecond // a busy machine takes as long over any tool
	tests := []struct {
		tool, text string
		timeout    time.Duration
	}{
		{"fail", "no", patience},
		{"panics", "internal error", patience},
		{"opens", "open: file does not exist", patience},
		{"tells", `no \"(path)\" (in (path), (path)): see (path) and path=(path), ` +
			`not tools/call or http://h/p`, patience},
		{"stuck", "stuck was not done after 10ms", short},
	}
	for _, asRPC := range []bool{false, true} {
		release := make(chan struct{})
		servers := map[time.Duration]*rig{}
		for _, timeout := range []time.Duration{patience, short} {
			servers[timeout] = serve(t, mcp.Options{
				Tools: broken(release), ToolErrorsAsRPC: asRPC, ToolTimeout: timeout,
			})
		}
		t.Cleanup(func() { close(release) })
		for _, test := range tests {
			r := servers[test.timeout]
			r.send(call("1", test.tool, `{}`))
			want := `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"` + test.text + `"}]}}`
			if asRPC {
				want = failure("1", "-32603", test.text)
			}
			r.want(want)
		}
		r := servers[patience]
		r.send(call("1", "refuses", `{}`))
		r.want(failure("1", "-32001", "no (path) here"))
		if strings.Contains(r.logs.String(), "secret") {
			t.Errorf("log is %s: want no text of a panic", r.logs)
		}
	}
}

func TestCancellation(t *testing.T) { // seed 004, "Request cancellation tests"
	release := make(chan struct{})
	defer close(release)
	r := serve(t, mcp.Options{Tools: append(broken(release), mcp.Samples()[6])})
	for _, tool := range []string{"sleep", "stuck"} { // one that heeds its context, and one that does not
		r.send(call(`"c"`, tool, map[string]string{"sleep": `{"seconds":3600}`, "stuck": `{}`}[tool]),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c","reason":"changed my mind"}}`)
		r.send(ping) // what was cancelled is not answered: MCP 2025-11-25, basic/utilities/cancellation
		r.want(pong)
	}
	for _, odd := range []string{`{"requestId":"unknown"}`, `{}`, `7`} {
		r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + odd + `}`)
	}
	r.send(ping)
	r.want(pong)
}

func TestLogsHoldNoArguments(t *testing.T) { // seed 004, "Logging Security"
	r := serve(t, mcp.Options{})
	for _, line := range []string{
		call("1", "echo", `{"message":"hunter2"}`), call("2", "fail", `{"message":"hunter2"}`),
		call("3", "echo", `{"message":{"hunter2":1}}`), `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":"hunter2"}`,
		`{"hunter2"`, call("5", "hunter2", `{}`),
	} {
		r.send(line)
		r.recv()
	}
	if log := r.logs.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, "tool=echo ok=true") {
		t.Errorf("log is %s: want tools' names and nothing they were given", log)
	}
}

// A tool whose schema is no object is refused before a client can ask for it.
func TestASchemaIsAnObject(t *testing.T) {
	for _, schema := range []string{`{}`, `true`, `{"type":"string"}`, `{"properties":{}}`, `{`} {
		tool := mcp.NewTool("t", "does", json.RawMessage(schema),
			func(context.Context, struct{}) (string, error) { return "", nil })
		options := mcp.Options{Tools: []mcp.Tool{tool}}
		_, err := mcp.Start(t.Context(), strings.NewReader(""), io.Discard, options)
		if err == nil || !strings.Contains(err.Error(), `tool "t": `) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
