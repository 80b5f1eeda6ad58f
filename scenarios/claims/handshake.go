package claims

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
)

// A Server is the evidence of how a real MCP server takes what the documents
// speak of.
type Server struct {
	Name string `json:"name"`

	Newline       bool `json:"newline"`        // it answered a handshake sent as a line
	ContentLength bool `json:"content_length"` // it answered one sent with a header

	Blank       bool   `json:"blank"`          // it answered the request after a blank line
	Trailing    bool   `json:"trailing_space"` // it answered a request with spaces at its end
	Malformed   bool   `json:"malformed"`      // it answered the request after a malformed line
	MalformedID string `json:"malformed_id"`   // id of the answer to that line: "null", `""`, or "no answer"

	Replied bool  `json:"replied"`            // a request under way when standard input ended was answered
	ReplyNS int64 `json:"reply_ns,omitempty"` // after the end
	Exited  bool  `json:"exited"`             // it left by itself after the end
	ExitNS  int64 `json:"exit_ns,omitempty"`
}

// Deadlines of a conversation. A server that means to answer does so in
// milliseconds, one on node after half a second at its first message.
const (
	answerWithin  = 10 * time.Second
	silenceWithin = 1500 * time.Millisecond // how long no answer is an answer
	leaveWithin   = 6 * time.Second         // beyond the five seconds that the document gives
)

// A program is an MCP server that can be started any number of times.
type program struct {
	name  string
	slow  string // a request that is not answered at once
	start func(ctx context.Context) (*conversation, error)
}

// everything is the reference server of the TypeScript SDK, where a package
// manager has put it on the path.
const everything = "mcp-server-everything"

func programs() []program {
	const slow = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"slow","arguments":{}}}`
	all := []program{
		{"go-sdk", slow, startActor("go-sdk")},
		{"mcp-go", slow, startActor("mcp-go")},
	}
	if path, err := exec.LookPath(everything); err == nil {
		echo := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`
		all = append(all, program{"server-everything", echo, startProgram(path, "stdio")})
	}
	return all
}

// servers interviews all servers, at the same time: they wait, mostly.
func (l *lab) servers(ctx context.Context) ([]Server, error) {
	return shared(l, "shaking hands with MCP servers", func() ([]Server, error) {
		all := programs()
		out, failed := make([]Server, len(all)), make([]error, len(all))
		var wg sync.WaitGroup
		for i, p := range all {
			wg.Go(func() { out[i], failed[i] = p.interview(ctx) })
		}
		wg.Wait()
		return out, errors.Join(failed...)
	})
}

// interview asks one question in each of several conversations, since a
// server that takes an oddity amiss answers nothing after it.
func (p program) interview(ctx context.Context) (Server, error) {
	s := Server{Name: p.name, MalformedID: "no answer"}
	for _, ask := range []func(context.Context, *Server) error{p.askEnd, p.askHeader, p.askBlank, p.askTrailing, p.askMalformed} {
		if err := ask(ctx, &s); err != nil {
			return s, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return s, nil
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipebench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// shaken starts the server and shakes hands in lines.
func (p program) shaken(ctx context.Context) (c *conversation, ok bool, err error) {
	if c, err = p.start(ctx); err != nil {
		return nil, false, err
	}
	c.send(initialize + "\n")
	if _, ok = c.await(ctx, answerWithin, isResult("1")); ok {
		c.send(initialized + "\n")
	}
	return c, ok, nil
}

// askEnd ends standard input while a request is under way.
func (p program) askEnd(ctx context.Context, s *Server) error {
	c, ok, err := p.shaken(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	if s.Newline = ok; !ok {
		return nil
	}
	c.send(p.slow + "\n")
	c.in.Close()
	ended := time.Now()
	if _, s.Replied = c.await(ctx, leaveWithin, isResult("9")); s.Replied {
		s.ReplyNS = time.Since(ended).Nanoseconds()
	}
	if s.Exited = c.left(ctx, leaveWithin-time.Since(ended)); s.Exited {
		s.ExitNS = time.Since(ended).Nanoseconds()
	}
	return nil
}

// askHeader shakes hands in the framing of language servers.
func (p program) askHeader(ctx context.Context, s *Server) error {
	c, err := p.start(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	c.send(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(initialize), initialize))
	_, s.ContentLength = c.await(ctx, silenceWithin, func(line string) bool {
		return strings.HasPrefix(strings.ToLower(line), "content-length:") || isResult("1")(line)
	})
	return nil
}

func (p program) askBlank(ctx context.Context, s *Server) (err error) {
	s.Blank, err = p.survives(ctx, "\n"+ping+"\n")
	return err
}

func (p program) askTrailing(ctx context.Context, s *Server) (err error) {
	s.Trailing, err = p.survives(ctx, ping+"  \t\n")
	return err
}

// survives tells whether a ping in what is sent is answered.
func (p program) survives(ctx context.Context, text string) (bool, error) {
	c, ok, err := p.shaken(ctx)
	if err != nil {
		return false, err
	}
	defer c.close()
	if ok {
		c.send(text)
		_, ok = c.await(ctx, silenceWithin, isResult("2"))
	}
	return ok, nil
}

// askMalformed sends a line that is no JSON, then a request.
func (p program) askMalformed(ctx context.Context, s *Server) error {
	c, ok, err := p.shaken(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	if !ok {
		return nil
	}
	c.send("{malformed\n" + ping + "\n")
	_, s.Malformed = c.await(ctx, silenceWithin, func(line string) bool {
		if id, isError := errorID(line); isError {
			s.MalformedID = id
		}
		return isResult("2")(line)
	})
	return nil
}

// isResult recognises the result of the request with that id.
func isResult(id string) func(string) bool {
	return func(line string) bool {
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		return json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id && m.Result != nil
	}
}

// errorID is the id of an error response, as it was written; "absent" if it
// has none.
func errorID(line string) (string, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &m) != nil || m["error"] == nil {
		return "", false
	}
	if id, ok := m["id"]; ok {
		return string(id), true
	}
	return "absent", true
}

// A conversation is a server that was started, and what it says.
type conversation struct {
	in     io.WriteCloser
	lines  chan string   // closed at the end of its output
	exited chan struct{} // closed when it has exited
	stop   func()        // ends it
}

func startActor(part string) func(context.Context) (*conversation, error) {
	return func(ctx context.Context) (*conversation, error) {
		a, err := actor.Prepare(ctx, part, nil)
		if err != nil {
			return nil, err
		}
		return converse(a.Cmd, a.Start, a.Wait, a.Dismiss)
	}
}

func startProgram(path string, args ...string) func(context.Context) (*conversation, error) {
	return func(ctx context.Context) (*conversation, error) {
		ctx, cancel := context.WithCancel(ctx)
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.WaitDelay = time.Second
		return converse(cmd, cmd.Start, cmd.Wait, cancel)
	}
}

func converse(cmd *exec.Cmd, start, wait func() error, stop func()) (*conversation, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		stop()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	if err := start(); err != nil {
		stop()
		return nil, err
	}
	c := &conversation{in: in, lines: make(chan string, 64), exited: make(chan struct{}), stop: stop}
	go func() {
		defer close(c.exited)
		defer close(c.lines)
		c.listen(out)
		wait() // how it ended is not asked
	}()
	return c, nil
}

// listen gives lines on until the output ends. A line without an end is one.
func (c *conversation) listen(out io.Reader) {
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			select {
			case c.lines <- line:
			default: // nobody listens to that much
			}
		}
		if err != nil {
			return
		}
	}
}

// send says something; a server that has left does not hear it.
func (c *conversation) send(text string) { io.WriteString(c.in, text) }

// await is the first line that is wanted, within d.
func (c *conversation) await(ctx context.Context, d time.Duration, wanted func(string) bool) (string, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return "", false
			}
			if wanted(line) {
				return line, true
			}
		case <-timer.C:
			return "", false
		case <-ctx.Done():
			return "", false
		}
	}
}

// left reports whether the server exits within d.
func (c *conversation) left(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// close ends the server and returns when it is gone.
func (c *conversation) close() {
	c.in.Close()
	c.stop()
	<-c.exited
}
