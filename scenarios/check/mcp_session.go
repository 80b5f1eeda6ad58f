package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// An exemption says why a server need not keep a rule of MCP, for example because the server has no
// tools.
type exemption string

func (e exemption) Error() string { return string(e) }

// keeps returns a test of one rule of MCP, on a new session. The error of rule says how the server
// breaks the rule, or why the rule does not apply if its type is exemption.
func keeps(rule func(*mcpSession) error) func(context.Context, *serverCase) error {
	return func(ctx context.Context, c *serverCase) error {
		s, err := c.startSession(ctx)
		if err != nil {
			return err
		}
		err = rule(s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, isExempt := errors.AsType[exemption](err)
		switch {
		case isExempt:
			c.ok("%s", e)
		case err != nil:
			c.fails("%v", err)
		default:
			c.ok("keeps the rule")
		}
		return nil
	}
}

// An mcpSession sends messages to a server of MCP, one at a time.
type mcpSession struct {
	*target.Server
	ctx      context.Context
	patience time.Duration // how long to wait for an answer
	id       int64         // of the last request
	unasked  []string      // the beginnings of answers to no request of ours
}

// startSession starts the server, and sends it nothing yet.
func (c *serverCase) startSession(ctx context.Context) (*mcpSession, error) {
	var err error
	c.server, err = target.Launch(ctx, c.target, c.protocol)
	if err != nil {
		return nil, err
	}
	return &mcpSession{Server: c.server, ctx: ctx, patience: c.target.Start}, nil
}

// ask sends a request and returns its answer. The parameter params may be nil.
func (s *mcpSession) ask(method string, params []byte) (jsonrpc.Message, error) {
	s.id++
	id := jsonrpc.Number(s.id)
	return s.call(method, id, jsonrpc.AppendRequest(nil, id, method, params))
}

func (s *mcpSession) notify(method string) error {
	return s.write(jsonrpc.AppendRequest(nil, "", method, nil))
}

func (s *mcpSession) write(msg []byte) error {
	if err := s.SendWithin(s.ctx, s.patience, msg); err != nil {
		return fmt.Errorf("takes no request: %w", err)
	}
	return nil
}

// call sends msg, a request with this id, and returns the answer. It waits for the time s.patience,
// or about three times as long if the server is busy.
func (s *mcpSession) call(method string, id jsonrpc.ID, msg []byte) (jsonrpc.Message, error) {
	if err := s.write(msg); err != nil {
		return jsonrpc.Message{}, err
	}
	began := time.Now()
	ctx, cancel := s.Patient(s.ctx, s.patience, 3*s.patience)
	defer cancel()
	for {
		line, err := s.Next(ctx)
		switch {
		case errors.Is(err, child.ErrSilent):
			waited := time.Since(began).Round(time.Second / 10)
			return jsonrpc.Message{}, fmt.Errorf("does not answer %s within %v", method, waited)
		case err != nil:
			return jsonrpc.Message{}, fmt.Errorf("ends, where it should answer %s", method)
		}
		m, err := jsonrpc.Parse(line.Raw)
		switch {
		case err != nil || !m.Kind().Answers(): // "stray-output" judges what is no message
		case m.ID == id:
			return m, nil
		default:
			s.unasked = append(s.unasked, fmt.Sprintf("%.80s", line.Raw))
		}
	}
}

// Versions of the protocol that do not exist.
const (
	noVersion     = "1999-12-31"
	futureVersion = "2099-12-31" // later than any real version, so it has no sessions
)

// meta returns the params of a request outside a session. These params name the version of MCP.
func meta(version string) []byte { return []byte("{" + mcpstdio.Meta(version) + "}") }

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
	if err == nil && m.Failure != nil {
		err = exemption("opens no session of " + version)
	}
	if err == nil {
		_ = json.Unmarshal(m.Result, &answer) // a missing field stays zero
	}
	return answer, err
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

// openAny opens a session, if this revision of MCP has sessions. It returns the server's
// capabilities. The second result holds the params that each later request must carry. It is nil if
// there are no such params.
func (s *mcpSession) openAny(revision string) (map[string]any, []byte, error) {
	if revision != mcpstdio.FirstStateless {
		answer, err := s.initialize(revision)
		if err == nil {
			err = s.notify("notifications/initialized")
		}
		return answer.Capabilities, nil, err
	}
	about, err := s.discover()
	if err == nil && !slices.Contains(about.SupportedVersions, revision) {
		err = exemption("speaks no revision without sessions")
	}
	return about.Capabilities, meta(revision), err
}
