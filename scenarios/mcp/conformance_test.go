package mcp_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
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
	s, err := mcp.NewServer(farIn, farOut, mcp.Options{Tools: mcp.Samples()})
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

// beyond are the scenarios of the suite about what the server does not do (it has none of the
// suite's tools, and asks nothing of clients), and about HTTP.
var beyond = regexp.MustCompile(
	`^(resources-|prompts-|server-sse-|dns-|completion-|tools-call-|elicitation-|json-schema-)`)

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
	if t.Logf("%d of %d checks passed", passed, tried); tried < 5 || t.Failed() {
		t.Errorf("%s\n%v", text, err)
	}
	for _, c := range b.sessions {
		c.in.Close()
	}
}
