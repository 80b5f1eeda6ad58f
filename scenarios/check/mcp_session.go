package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// An mcpRule tests one rule of MCP on a new session. The error says how the server breaks the rule.
// If the error has the type exemption, it says why the rule does not apply.
type mcpRule func(*mcpSession) error

// An exemption says why a server need not keep a rule, for example because the server has no tools.
type exemption string

func (e exemption) Error() string { return string(e) }

// An McpEvidence has the messages that were sent to a server to test a rule of MCP, and the lines
// that the server wrote.
type McpEvidence struct {
	Sent []string `json:"sent"`
	Got  []string `json:"got"`
}

// addRules adds tests of the rules of MCP to the map tries.
func addRules(
	tries map[string]situation, p *target.Protocol, o target.Options, w *schemaWatch,
) {
	for name, rule := range mcpRules {
		tries[name] = func(ctx context.Context, f *finding) error {
			return tryRule(ctx, f, p, rule, o)
		}
	}
	tries["mcp-schema"] = func(ctx context.Context, f *finding) error {
		return fitSchemas(ctx, f, p, o, w)
	}
}

// tryRule starts the server and judges whether it keeps a rule.
func tryRule(
	ctx context.Context, f *finding, p *target.Protocol, rule mcpRule, o target.Options,
) error {
	s, err := startSession(ctx, f, p, o)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	err = rule(s)
	f.evidence = s.evidence()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[exemption](err); ok {
		f.ok("%s", e)
	} else if err != nil {
		f.fails("%v", err)
	}
	if s.framed {
		f.cannotTell(inFrames)
	}
	f.ok("keeps the rule") // counts only if no other verdict was set
	return nil
}

// startSession starts the server, and sends it nothing yet.
func startSession(
	ctx context.Context, f *finding, p *target.Protocol, o target.Options,
) (*mcpSession, error) {
	pipes := child.Options{MaxMessage: longestLine, Watch: o.Pipes.Watch}
	conn, err := child.Start(ctx, f.command(f.options.Command), p.Framing, pipes)
	if err != nil {
		return nil, err
	}
	return &mcpSession{conn: conn, ctx: ctx, patience: o.Start}, nil
}

// longestLine is the length of the longest line that we accept from a server, in bytes.
const longestLine = 64 << 20

// An mcpSession exchanges messages with a server, one at a time, and keeps them as evidence.
type mcpSession struct {
	conn     *child.Conn
	ctx      context.Context
	patience time.Duration // how long to wait for an answer
	id       int64         // of the last request
	sent     []string
	heard    []heardMessage
	framed   bool // a message came in chunks, although we expect one line
}

// A heardMessage is a line from the server. The embedded Message is zero if the line is not
// JSON-RPC.
type heardMessage struct {
	text string // the beginning of the line
	jsonrpc.Message
}

// Limits of the evidence.
const (
	mostLines = 200     // the largest number of lines of the server that are kept
	mostKept  = 2 << 10 // the largest number of bytes of each message that are kept
)

// evidence returns the beginnings of all messages that we sent, and of the first lines that the
// server wrote.
func (s *mcpSession) evidence() McpEvidence {
	e := McpEvidence{Sent: s.sent}
	for _, m := range s.heard[:min(len(s.heard), mostLines)] {
		e.Got = append(e.Got, m.text)
	}
	return e
}

// send sends a request, or a notification if the id is empty. The parameter params may be nil.
func (s *mcpSession) send(id jsonrpc.ID, method string, params []byte) error {
	return s.write(jsonrpc.AppendRequest(nil, id, method, params))
}

func (s *mcpSession) write(msg []byte) error {
	s.sent = append(s.sent, string(msg[:min(len(msg), mostKept)]))
	ctx, cancel := s.conn.Patient(s.ctx, s.patience, 3*s.patience)
	defer cancel()
	if err := s.conn.Send(ctx, msg); err != nil {
		return fmt.Errorf("takes no request: %w", err)
	}
	return nil
}

// ask sends a request and returns its answer.
func (s *mcpSession) ask(method string, params []byte) (heardMessage, error) {
	s.id++
	id := jsonrpc.Number(s.id)
	if err := s.send(id, method, params); err != nil {
		return heardMessage{}, err
	}
	return s.awaitAnswer(method, id)
}

// awaitAnswer returns the answer to the request with this id. It waits for the time s.patience, or
// about three times as long if the server is busy.
func (s *mcpSession) awaitAnswer(method string, id jsonrpc.ID) (heardMessage, error) {
	began := time.Now()
	ctx, cancel := s.conn.Patient(s.ctx, s.patience, 3*s.patience)
	defer cancel()
	for {
		line, err := s.conn.Next(ctx)
		switch {
		case errors.Is(err, child.ErrSilent):
			waited := time.Since(began).Round(time.Second / 10)
			return heardMessage{}, fmt.Errorf("does not answer %s within %v", method, waited)
		case err != nil:
			return heardMessage{}, fmt.Errorf("ends, where it should answer %s", method)
		}
		s.framed = s.framed || line.InChunks
		parsed, _ := jsonrpc.Parse(line.Raw) // "stray-output" judges lines that are no messages
		kept := string(line.Raw[:min(len(line.Raw), mostKept)])
		m := heardMessage{text: kept, Message: parsed}
		s.heard = append(s.heard, m)
		if m.Kind().Answers() && m.ID == id {
			return m, nil
		}
	}
}

// Versions of the protocol that do not exist.
const (
	noVersion     = "1999-12-31"
	futureVersion = "2099-12-31" // later than any real version, so it has no sessions
)

// A serverInfo is what a server says of itself in its answer to "initialize", which has no
// SupportedVersions, or to "server/discover", which has no ProtocolVersion.
type serverInfo struct {
	ProtocolVersion   string
	SupportedVersions []string
	Capabilities      map[string]any
}

// initialize opens a session with this version of MCP. If the server refuses, the error has the
// type exemption, since a server need not speak every version.
func (s *mcpSession) initialize(version string) (serverInfo, error) {
	var answer serverInfo
	m, err := s.ask("initialize", []byte(mcpstdio.InitializeParams(version)))
	if err != nil {
		return answer, err
	}
	if m.Failure != nil {
		return answer, exemption("opens no session of " + version)
	}
	_ = json.Unmarshal(m.Result, &answer) // a missing field stays zero, and the rules look at that
	return answer, nil
}

// discover asks which versions of MCP the server speaks. If the server refuses to answer, the
// result is zero.
func (s *mcpSession) discover() (serverInfo, error) {
	var about serverInfo
	m, err := s.ask("server/discover", meta(mcpstdio.FirstStateless))
	if err == nil && m.Failure == nil {
		_ = json.Unmarshal(m.Result, &about) // a missing field stays zero
	}
	return about, err
}
