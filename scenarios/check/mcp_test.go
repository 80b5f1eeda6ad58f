package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// mcpJob names, in the environment of a child, the rule that the test binary breaks as a server.
const mcpJob = "CHECK_TEST_MCP"

func init() {
	if wrong := os.Getenv(mcpJob); wrong != "" {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 2<<20)
		for lines.Scan() {
			isLarge := len(lines.Bytes()) > 64<<10
			isJoined := beginsARead(lines.Bytes())
			if wrong == "joins" && isJoined {
				lines.Scan()
			}
			if wrong == "joins" && (isJoined || isLarge) {
				fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`)
				continue
			}
			answerWrongly(wrong, lines.Bytes())
		}
		os.Exit(0)
	}
}

// beginsARead reports whether a server that takes each read for one message gets this line together
// with the next one.
func beginsARead(line []byte) bool {
	e := jsonrpc.Scan(line)
	return string(e.Method) == "notifications/initialized" || string(e.ID) == "10"
}

// A server that takes each read for one message is named in the tests that show it.
func TestAServerThatTakesEachReadForAMessage(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "")
	o.Env = append(os.Environ(), mcpJob+"=joins")
	o.Only = []string{"large-request", "pipelined"}
	o.patience = 200 * time.Millisecond // each failure is waited for
	found := serverChecks(t, o)
	for name, says := range map[string]string{
		"large-request": "a request of 65,536 B is answered; after one of 65,537 B: unanswered",
		"pipelined":     "30 of 32 requests sent at once were answered, each by its id",
	} {
		f := found[name]
		if f.Found != says || f.Advice != target.AdviceOneRead {
			t.Errorf("%s: %q, advises %q", name, f.Found, f.Advice)
		}
	}
}

// answerWrongly answers as a server with one tool does, but for what is wrong.
func answerWrongly(wrong string, line []byte) {
	var r struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProtocolVersion string
			Name            string
		}
	}
	_ = json.Unmarshal(line, &r)
	refuse := `"error":{"code":-32601,"message":"no"}`
	answers := map[string]string{
		"initialize": `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"s","version":"1"}}`,
		"ping": `"result":{}`,
		"tools/list": `"result":{"tools":[{"name":"echo","inputSchema":` +
			`{"type":"object","properties":{"message":{"type":"string"}}}}]}`,
		"tools/call": `"result":{"content":[]}`,
	}
	if r.Params.Name != "echo" {
		answers["tools/call"] = `"error":{"code":-32602,"message":"unknown tool"}`
	}
	switch wrong {
	case "nameless":
		answers["initialize"] = `"result":{"protocolVersion":"2025-06-18","capabilities":{}}`
	case "no ping":
		answers["ping"] = refuse
	case "eager":
		if r.Method == "ping" {
			fmt.Println(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`)
		}
	case "any version":
		answers["initialize"] = strings.Replace(
			answers["initialize"],
			"2025-06-18",
			r.Params.ProtocolVersion,
			1,
		)
	case "any request":
		answers["server/discover"] = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}`
	case "untyped":
		answers["server/discover"] = `"result":{"resultType":"complete","ttlMs":0,` +
			`"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "answers all":
		if r.ID == nil {
			fmt.Println(
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such notification"}}`,
			)
		}
	case "no schema":
		answers["tools/list"] = strings.Replace(answers["tools/list"], `"type":"object",`, "", 1)
	case "unleveled":
		if r.Method == "notifications/cancelled" {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message",` +
				`"params":{"data":"gone"}}`)
		}
	case "any tool":
		answers["tools/call"] = `"result":{"content":[]}`
	}
	if r.ID == nil {
		return
	}
	if wrong == "talkative" {
		for range 500 {
			fmt.Println(
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}`,
			)
		}
	}
	answer, ok := answers[r.Method]
	if !ok {
		answer = refuse
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, answer)
}

// A message that does not fit the schema is found whatever the situation in which it is sent.
func TestMessagesOfAllSituationsAreHeldToTheSchema(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "")
	o.Env = append(os.Environ(), mcpJob+"=unleveled")
	o.Only = []string{"mcp-schema"}
	if f := serverChecks(t, o)["mcp-schema"]; f.Verdict != results.OK {
		t.Errorf("where nothing is cancelled: %s: %s", f.Verdict, f.Found)
	}
	o.Only = []string{"cancel", "mcp-schema"}
	f := serverChecks(t, o)["mcp-schema"]
	const found = "notifications/message does not fit the schema of 2025-11-25: " +
		`LoggingMessageNotificationParams: required: missing properties: ["level"]`
	if f.Verdict != results.Fails || f.Found != found {
		t.Errorf("%s: %s", f.Verdict, f.Found)
	}
}

// An answer is held to the schema only if it is known to which request it is.
func TestAnswersThatMayBeToAnotherRequestAreNotJudged(t *testing.T) {
	const (
		list  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		ping  = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		pong  = `{"jsonrpc":"2.0","id":1,"result":{}}`
		other = `{"jsonrpc":"2.0","id":"1","result":{}}`
	)
	for name, c := range map[string]struct {
		sent, heard []string
		misfits     int
	}{
		"known":              {[]string{list}, []string{pong}, 1},
		"of another request": {[]string{list}, []string{other}, 0},
		"one id for two":     {[]string{list, ping}, []string{pong, pong}, 0},
		"a second answer":    {[]string{list}, []string{pong, pong}, 1},
		"no message":         {[]string{list}, []string{`{"id":1,"result":{}}`, `{"id":1`}, 0},
	} {
		watch, err := newSchemaWatch("mcp 2025-11-25")
		if err != nil {
			t.Fatal(err)
		}
		w := watch.begin()
		for _, msg := range c.sent {
			w.Sent([]byte(msg))
		}
		for _, msg := range c.heard {
			w.Heard(child.Message{Raw: []byte(msg)})
		}
		misfits, _ := watch.found()
		if len(misfits) != c.misfits {
			t.Errorf("%s: %v", name, misfits)
		}
	}
}

// A server that ignores the revision in a request answers as its own revision wants it.
func TestOnlyAServerWithoutSessionsIsHeldToTheirSchema(t *testing.T) {
	for protocol, misfits := range map[string]int{"mcp 2025-11-25": 0, "mcp 2026-07-28": 1} {
		watch, err := newSchemaWatch(protocol)
		if err != nil {
			t.Fatal(err)
		}
		w := watch.begin()
		params := meta(mcpstdio.FirstStateless)
		w.Sent(jsonrpc.AppendRequest(nil, "1", "tools/list", params))
		w.Heard(child.Message{Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)})
		w.Sent(jsonrpc.AppendRequest(nil, "2", "tools/list", meta(futureVersion)))
		w.Heard(child.Message{Raw: []byte(`{"jsonrpc":"2.0","id":2,"result":{}}`)})
		found, _ := watch.found()
		if len(found) != misfits {
			t.Errorf("%s: %v", protocol, found)
		}
	}
}

// Answers to calls are told apart by their tool. The answer to a call of an unknown tool that does
// not fail is a matter of mcp-tools alone.
func TestTheSchemaNamesTheCall(t *testing.T) {
	watch, err := newSchemaWatch("mcp 2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	w := watch.begin()
	for i, tool := range []string{noTool, "echo"} {
		id := jsonrpc.Number(int64(i))
		w.Sent(jsonrpc.AppendRequest(nil, id, "tools/call", []byte(`{"name":"`+tool+`"}`)))
		w.Heard(child.Message{Raw: jsonrpc.AppendResult(nil, id, []byte(`{"content":[{}]}`))})
	}
	misfits, _ := watch.found()
	if len(misfits) != 1 || misfits[0].Message != `its answer to tools/call of "echo"` {
		t.Errorf("%v", misfits)
	}
}

// No MCP client reads frames: mcp-schema fails, alone, and no other situation is said to be right.
func TestFramesAreNoMCP(t *testing.T) {
	t.Parallel()
	for framing, found := range map[string]string{
		"adaptive": "comes in chunk frames, and clients read lines",
		"chunked":  "speaks MCP in chunked:61440 framing, and its clients read lines",
	} {
		t.Run(framing, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, "framed "+framing)
			o.Only = []string{"slow-reader", "mcp-schema"}
			checks := serverChecks(t, o)
			f := checks["mcp-schema"]
			if f.Verdict != results.Fails || !strings.Contains(f.Found, found) {
				t.Errorf("mcp-schema: %s: %s", f.Verdict, f.Found)
			}
			f = checks["slow-reader"]
			if f.Verdict != results.CannotTell || !strings.Contains(f.Found, "--framing "+framing) {
				t.Errorf("slow-reader: %s: %s", f.Verdict, f.Found)
			}
			o.Framing = framing
			for name, f := range serverChecks(t, o) {
				if f.Verdict != results.OK {
					t.Errorf("asked for, %s: %s: %s", name, f.Verdict, f.Found)
				}
			}
			o.Framing = ""
			o.Only = []string{"mcp-schema"}
			if f := serverChecks(t, o)["mcp-schema"]; f.Verdict != results.Fails {
				t.Errorf("mcp-schema by itself: %s: %s", f.Verdict, f.Found)
			}
		})
	}
}

// Answers are compared if a tool returns what it is sent, and the finding says how to name one.
func TestATool(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "go-sdk repeat")
	o.Only = []string{"split-utf8"}
	f := serverChecks(t, o)["split-utf8"]
	if f.Verdict != results.CannotTell || !strings.Contains(f.Found, "no tool is called") ||
		!strings.Contains(f.Found, "--tool") {
		t.Errorf("without a flag: %s: %s", f.Verdict, f.Found)
	}
	o.Tool = "repeat"
	f = serverChecks(t, o)["split-utf8"]
	if f.Verdict == results.Fails || strings.Contains(f.Found, "tool") {
		t.Errorf("%s: %s", f.Verdict, f.Found)
	}
}

// If an encoding lost characters, the pieces in which they were sent are not to blame.
func TestAnEncodingThatLosesCharacters(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "go-sdk latin")
	o.Only = []string{"split-utf8"}
	o.Tool = "repeat"
	f := serverChecks(t, o)["split-utf8"]
	if f.Verdict != results.Fails || !strings.HasPrefix(f.Advice, "read and write UTF-8") {
		t.Errorf("%s: %s; %s", f.Verdict, f.Found, f.Advice)
	}
}

// Each breaks one rule, which is named; the first two break none.
func TestServersThatBreakARuleOfMCP(t *testing.T) {
	t.Parallel()
	for wrong, broken := range map[string]string{
		"none":      "",
		"talkative": "", // many notifications before each answer are allowed
		"nameless": "mcp-schema: its answer to initialize does not fit the schema of 2025-11-25: " +
			`InitializeResult: required: missing properties: ["serverInfo"]`,
		"no ping":     "mcp-opening: refuses ping",
		"eager":       "mcp-opening: sends roots/list before notifications/initialized",
		"any version": `mcp-version: asked for version 1999-12-31, it answers with "1999-12-31"`,
		"any request": "mcp-discover: does not refuse version 2099-12-31 with -32022",
		"untyped": "mcp-schema: its answer to tools/list does not fit the schema of 2026-07-28: " +
			`ListToolsResult: required: missing properties: ["cacheScope" "resultType" "ttlMs"]`,
		"answers all": "mcp-notifications: answers a notification",
		"no schema": "mcp-schema: its answer to tools/list does not fit " +
			"the schema of 2025-11-25: Tool",
		"any tool": "mcp-tools: answers a call of an unknown tool as if it existed",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, "")
			o.Env = append(os.Environ(), mcpJob+"="+wrong)
			name, text, _ := strings.Cut(broken, ": ")
			if o.Only = []string{name}; broken == "" {
				o.Only = []string{
					"mcp-opening",
					"mcp-version",
					"mcp-discover",
					"mcp-stateless",
					"mcp-notifications",
					"mcp-tools",
					"mcp-schema",
				}
			}
			found := serverChecks(t, o)
			if len(found) != len(o.Only) {
				t.Errorf("%d records of %d", len(found), len(o.Only))
			}
			for _, c := range found {
				caught := c.Verdict == results.Fails && strings.HasPrefix(c.Found, text)
				if broken == "" && c.Verdict != results.OK || broken != "" && !caught {
					t.Errorf("%s: %s: %s", c.Name(), c.Verdict, c.Found)
				}
			}
		})
	}
}

// A server that pastes a text into its JSON breaks its answer at the first newline.
func TestAServerThatEscapesNothing(t *testing.T) {
	t.Parallel()
	o := serverOptions(t, "pastes")
	o.Only = []string{"split-utf8"}
	f := serverChecks(t, o)["split-utf8"]
	if f.Verdict != results.Fails || !strings.HasSuffix(f.Found, ": the answer's line ends where "+
		"the text has a newline: the server does not escape texts as JSON asks") ||
		!strings.HasPrefix(f.Advice, "let a JSON library write the answers") {
		t.Errorf("%s: %s; %s", f.Verdict, f.Found, f.Advice)
	}
}
