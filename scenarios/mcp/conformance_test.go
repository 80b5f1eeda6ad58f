package mcp_test

import (
	"bufio"
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
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A bridge lets a client that speaks over HTTP use servers that speak over pipes: each initialize
// starts one. What a server sends besides answers goes along with the request that came last.
type bridge struct {
	t        *testing.T
	mu       sync.Mutex
	sessions map[string]*bridged
}

type bridged struct {
	mu      sync.Mutex
	in      *os.File
	streams map[jsonrpc.ID]chan []byte
	last    chan []byte
}

func (b *bridge) open() (string, *bridged) {
	farIn, in, err := os.Pipe()
	out, farOut, err2 := os.Pipe()
	if err != nil || err2 != nil {
		b.t.Error(err, err2)
	}
	s, err := mcp.NewServer(farIn, farOut, mcp.Options{Tools: append(mcp.Samples(), suiteTools(b.t)...)})
	if err == nil {
		err = s.Start(b.t.Context())
	}
	if err != nil {
		b.t.Error(err)
	}
	c := &bridged{in: in, streams: map[jsonrpc.ID]chan []byte{}}
	go func() {
		s.Wait()
		farIn.Close()
		farOut.Close()
	}()
	go func() {
		defer out.Close()
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			m, err := jsonrpc.Parse([]byte(lines.Text()))
			if err != nil {
				b.t.Errorf("no message: %q", lines.Text())
			}
			c.mu.Lock()
			to := c.last
			if m.Kind().Answers() {
				to = c.streams[m.ID]
			}
			c.mu.Unlock()
			to <- []byte(lines.Text())
		}
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	id := fmt.Sprint(len(b.sessions) + 1)
	b.sessions[id] = c
	return id, c
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	id := r.Header.Get("Mcp-Session-Id")
	c := b.sessions[id]
	b.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete && c != nil:
		c.in.Close()
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Parse(body)
	if m.Method == "initialize" {
		id, c = b.open()
	}
	if err != nil || c == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	stream := make(chan []byte, 100)
	c.mu.Lock()
	if m.Kind() == jsonrpc.Request {
		c.streams[m.ID], c.last = stream, stream
	}
	c.in.Write(append(body, '\n'))
	c.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", id)
	if m.Kind() != jsonrpc.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case line := <-stream:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
			w.(http.Flusher).Flush()
			if came, _ := jsonrpc.Parse(line); came.Kind().Answers() && came.ID == m.ID {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// outcome is a line of the suite's summary.
var outcome = regexp.MustCompile(`(?m)^\S+ ([a-z0-9-]+): (\d+) passed, (\d+) failed`)

// beyond are the scenarios of the suite about what the server does not do, and about HTTP: it has no
// resources, prompts and completions, and asks nothing of clients.
var beyond = regexp.MustCompile(`^(resources-|prompts-|completion-|elicitation-|server-sse-|dns-` +
	`|tools-call-sampling|tools-call-elicitation)`)

//go:embed testdata/conformance.json
var conformanceTools []byte

// suiteTools are the tools that the suite calls by their names.
func suiteTools(t *testing.T) []mcp.Tool {
	t.Helper()
	var list []struct {
		Name, Description    string
		InputSchema, Content json.RawMessage
		Logs                 []string
		Progress             []float64
		IsError              bool
	}
	if err := json.Unmarshal(conformanceTools, &list); err != nil {
		t.Fatal(err)
	}
	var tools []mcp.Tool
	for _, l := range list {
		tool := mcp.Tool{Name: l.Name, Description: l.Description, Schema: l.InputSchema, Content: l.Content}
		tool.Call = func(ctx context.Context, _ json.RawMessage) (string, error) {
			for _, text := range l.Logs {
				if err := mcp.Notify(ctx, "notifications/message", map[string]string{"level": "info", "data": text}); err != nil {
					return "", err
				}
			}
			for _, done := range l.Progress {
				if err := mcp.Progress(ctx, done, 100); err != nil {
					return "", err
				}
			}
			if l.IsError {
				return "", errors.New("This tool intentionally returns an error for testing")
			}
			return "", nil
		}
		tools = append(tools, tool)
	}
	return tools
}

// What a call tells of comes before its answer, under the token that the client gave.
func TestACallTellsOfItself(t *testing.T) {
	r := serve(t, mcp.Options{Tools: suiteTools(t)})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tool_with_progress","_meta":{"progressToken":"t"}}}`)
	for _, done := range []string{"0", "50", "100"} {
		r.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":` + done + `,"total":100}}`)
	}
	if got := r.recv(); !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("got %s, want the answer", got)
	}
	r.send(call("2", "test_tool_with_progress", "{}"), call("3", "test_image_content", "{}"))
	if got := r.recv() + r.recv(); strings.Contains(got, "notifications") || !strings.Contains(got, `"mimeType":"image/png"`) {
		t.Errorf("got %s, want two answers and no progress", got)
	}
}

// The suite runs where it is installed, with Node 22 or later first in PATH:
//
//	npm install --global node@22 @modelcontextprotocol/conformance@0.1.16
func TestConformanceSuitePasses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	suite, err := exec.LookPath("conformance")
	if err != nil {
		t.Skip(err)
	}
	b := &bridge{t: t, sessions: map[string]*bridged{}}
	server := httptest.NewServer(b)
	defer server.Close()
	text, err := exec.CommandContext(t.Context(), suite, "server", "--suite", "all", "--url", server.URL).CombinedOutput()
	passed, tried := 0, 0
	for _, row := range outcome.FindAllStringSubmatch(string(text), -1) {
		good, _ := strconv.Atoi(row[2])
		bad, _ := strconv.Atoi(row[3])
		if passed, tried = passed+good, tried+good+bad; bad > 0 && !beyond.MatchString(row[1]) {
			t.Errorf("%s: %d checks failed", row[1], bad)
		}
	}
	if t.Logf("%d of %d checks passed", passed, tried); tried < 20 || t.Failed() {
		t.Errorf("%s\n%v", text, err)
	}
	for _, c := range b.sessions {
		c.in.Close()
	}
}
