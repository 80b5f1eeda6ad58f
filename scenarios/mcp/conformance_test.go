package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A bridge lets a client that speaks over HTTP use servers that speak over pipes. A session has a
// server of its own; the requests of a revision without sessions share one, whose session is "".
type bridge struct {
	t        *testing.T
	mu       sync.Mutex
	sessions map[string]*bridged
}

type bridged struct {
	in      *os.File
	mu      sync.Mutex
	streams map[jsonrpc.ID]chan string // what the server says about a request
	last    chan string                // that of the last request
	tokens  map[jsonrpc.ID]json.RawMessage
}

// open starts a server.
func (b *bridge) open() *bridged {
	farIn, in, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, farOut, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	tools := append(mcp.Samples(), suiteTools(b.t)...)
	options := mcp.Options{Tools: tools, ChangingTools: true}
	s, err := mcp.Start(b.t.Context(), farIn, farOut, options)
	if err != nil {
		b.t.Fatal(err)
	}
	c := &bridged{
		in: in, streams: map[jsonrpc.ID]chan string{}, tokens: map[jsonrpc.ID]json.RawMessage{},
	}
	go func() {
		s.Wait()
		farIn.Close()
		farOut.Close()
	}()
	go func() {
		defer out.Close()
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			c.route(lines.Text())
		}
	}()
	return c
}

// route hands on what the server sends: an answer by its id, what a subscription brings by the id
// of that, and else to the request that came last.
func (c *bridged) route(line string) {
	m, err := jsonrpc.Parse([]byte(line))
	if err != nil {
		panic(fmt.Sprintf("the server sends what is no message: %q", line))
	}
	var params struct {
		Meta struct {
			ID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // of what has none, none is found
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.last
	switch {
	case m.Kind().Answers():
		to = c.streams[m.ID]
	case params.Meta.ID != nil:
		to = c.streams[jsonrpc.ID(params.Meta.ID)]
	}
	if to == nil { // nobody wants it any more
		return
	}
	for _, part := range expand(line, m, c.tokens[m.ID]) {
		to <- part // there is room
	}
}

// stream returns where comes what the server says about a request.
func (c *bridged) stream(m jsonrpc.Message) chan string {
	var params struct {
		Meta struct {
			ProgressToken json.RawMessage
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // of what has none, none is found
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = make(chan string, 100)
	c.streams[m.ID] = c.last
	c.tokens[m.ID] = params.Meta.ProgressToken
	return c.last
}

// session returns the server of a message, which is new for initialize; nil if it has ended.
func (b *bridge) session(r *http.Request, method string) (id string, c *bridged) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id = r.Header.Get("Mcp-Session-Id")
	stateless := r.Header.Get("Mcp-Protocol-Version") == mcp.FirstStateless
	switch {
	case method == "initialize" && !stateless:
		id = fmt.Sprint(len(b.sessions) + 1)
		b.sessions[id] = b.open()
	case id == "" && b.sessions[""] == nil:
		b.sessions[""] = b.open()
	case r.Method == http.MethodDelete && b.sessions[id] != nil:
		b.sessions[id].in.Close()
		b.sessions[id] = nil
	}
	return id, b.sessions[id]
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	// The suite calls the tool by a name of its own that has the list of tools change.
	body = bytes.ReplaceAll(body, []byte("test_trigger_tool_change"), []byte("change_tools"))
	m, err := jsonrpc.Parse(body)
	switch {
	case r.Method == http.MethodDelete:
		b.session(r, "")
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id, c := b.session(r, m.Method)
	if c == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if id != "" {
		w.Header().Set("Mcp-Session-Id", id)
	}
	if m.Kind() != jsonrpc.Request {
		c.in.Write(append(body, '\n'))
		w.WriteHeader(http.StatusAccepted)
		return
	}
	stream := c.stream(m)
	c.in.Write(append(body, '\n'))
	c.pass(w, r, stream, m.ID, id == "")
}

// pass sends what the server says about a request, up to the answer. A client that leaves before
// cancels it. In a revision without sessions an error has a status of its own.
func (c *bridged) pass(
	w http.ResponseWriter, r *http.Request, stream <-chan string, id jsonrpc.ID, stateless bool,
) {
	for first := true; ; first = false {
		var line string
		select {
		case line = <-stream:
		case <-r.Context().Done():
			params := fmt.Appendf(nil, `{"requestId":%s}`, id)
			cancel := jsonrpc.AppendRequest(nil, "", "notifications/cancelled", params)
			c.in.Write(append(cancel, '\n'))
			return
		}
		m, _ := jsonrpc.Parse([]byte(line))
		if first && stateless && m.Failure != nil {
			w.Header().Set("Content-Type", "application/json")
			status := http.StatusBadRequest
			if jsonrpc.ParseError(m.Failure).Code == jsonrpc.CodeMethodNotFound {
				status = http.StatusNotFound
			}
			w.WriteHeader(status)
			io.WriteString(w, line)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
		w.(http.Flusher).Flush()
		if m.Kind().Answers() {
			return
		}
	}
}

//go:embed testdata/conformance.json
var conformanceTools []byte

// A script is what a tool of the suite does beside answering with a text. Our tools answer with a
// text alone, so they give the script as their text, and the bridge does what it says.
type script struct {
	Content  json.RawMessage
	Logs     []string
	Progress []float64
}

// suiteTools are the tools that the suite calls by their names.
func suiteTools(t *testing.T) []mcp.Tool {
	t.Helper()
	var list []struct {
		Name, Description string
		InputSchema       json.RawMessage
		script
		IsError bool
		Error   *jsonrpc.Error
	}
	if err := json.Unmarshal(conformanceTools, &list); err != nil {
		t.Fatal(err)
	}
	var tools []mcp.Tool
	for _, l := range list {
		tool := mcp.Tool{Name: l.Name, Description: l.Description, Schema: l.InputSchema}
		tool.Call = func(context.Context, json.RawMessage) (string, error) {
			switch {
			case l.IsError:
				return "", errors.New("This tool intentionally returns an error for testing")
			case l.Error != nil:
				return "", l.Error
			}
			text, err := json.Marshal(l.script)
			return string(text), err
		}
		tools = append(tools, tool)
	}
	return tools
}

// expand plays the script that an answer holds, if it holds one: the notifications come before the
// answer, those of progress only if the client gave a token.
func expand(line string, m jsonrpc.Message, token json.RawMessage) []string {
	var answer struct{ Content []struct{ Text string } }
	var s script
	err := json.Unmarshal(m.Result, &answer)
	if err != nil || len(answer.Content) != 1 ||
		json.Unmarshal([]byte(answer.Content[0].Text), &s) != nil || s.Content == nil {
		return []string{line}
	}
	var lines []string
	for _, text := range s.Logs {
		lines = append(lines, notification("notifications/message",
			map[string]any{"level": "info", "data": text}))
	}
	for _, done := range s.Progress {
		if token != nil {
			lines = append(lines, notification("notifications/progress",
				map[string]any{"progressToken": token, "progress": done, "total": 100}))
		}
	}
	var result map[string]json.RawMessage
	_ = json.Unmarshal(m.Result, &result) // it is an object
	result["content"] = s.Content
	text, _ := json.Marshal(result)
	return append(lines, string(jsonrpc.AppendResult(nil, m.ID, text)))
}

func notification(method string, params map[string]any) string {
	text, _ := json.Marshal(params) // texts and numbers always marshal
	return string(jsonrpc.AppendRequest(nil, "", method, text))
}

// notBuilt are the scenarios and checks of the suite about what the server does not have: prompts,
// resources and completions, and requests of its own to the client.
var notBuilt = []string{
	"completion-complete", "resources-*", "prompts-*", "sep-2164-*", "sep-2549-prompts-*",
	"sep-2549-resources-*", "tools-call-sampling", "tools-call-elicitation", "elicitation-*",
	"input-required-result-*", "sep-2575-http-server-no-independent-requests-on-stream",
}

// ofHTTP are those about HTTP, which is the bridge's.
var ofHTTP = []string{
	"server-sse-*", "dns-rebinding-protection", "http-*",
	"sep-2575-http-server-header-mismatch-400",
}

// built reports whether a scenario or a check is about what the server has.
func built(name string) bool {
	for _, pattern := range slices.Concat(notBuilt, ofHTTP) {
		if ok, _ := path.Match(pattern, name); ok {
			return false
		}
	}
	return true
}

// A verdict is what the suite says of one check.
type verdict struct {
	ID           string
	Status       string
	ErrorMessage string
}

// verdicts reads the results of a suite by scenario: its folder there is called server-, the
// scenario and the time.
func verdicts(t *testing.T, folder string) map[string][]verdict {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]verdict{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []verdict
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
		found[resultsTime.ReplaceAllString(name, "")] = list
	}
	return found
}

var resultsTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\dZ-]*$`)

// The suite runs where it is installed, with Node 22 or later first in PATH:
//
//	npm install --global node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12
func TestConformanceSuitePasses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	suite, err := exec.LookPath("conformance")
	if err != nil {
		t.Skip(err)
	}
	if said, err := exec.Command(suite, "--version").CombinedOutput(); err != nil {
		t.Skipf("the suite does not start: %v\n%s", err, said)
	}
	for revision, least := range map[string]int{
		"2025-03-26": 1, "2025-06-18": 25, mcp.LastWithHandshake: 30, mcp.FirstStateless: 50,
	} { // the suite knows no older one
		t.Run(revision, func(t *testing.T) {
			b := &bridge{t: t, sessions: map[string]*bridged{}}
			server := httptest.NewServer(b)
			defer server.Close()
			folder := t.TempDir()
			command := exec.CommandContext(t.Context(), suite, "server", "--suite", "all",
				"--spec-version", revision, "--url", server.URL, "--output-dir", folder)
			said, err := command.CombinedOutput() // it fails for what is not built
			passed := 0
			for scenario, list := range verdicts(t, folder) {
				if !built(scenario) {
					t.Logf("not built: %s", scenario)
					continue
				}
				for _, v := range list {
					switch {
					case v.Status == "SUCCESS":
						passed++
					case v.Status != "FAILURE" && v.Status != "WARNING":
					case !built(v.ID):
						t.Logf("not built: %s, %s", scenario, v.ID)
					default:
						t.Errorf("%s, %s: %s", scenario, v.ID, v.ErrorMessage)
					}
				}
			}
			t.Logf("%d checks passed", passed)
			if passed < least {
				t.Errorf("want %d; the suite ended with %v:\n%s", least, err, said)
			}
			for _, c := range b.sessions {
				if c != nil {
					c.in.Close()
				}
			}
		})
	}
}
