package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
	"github.com/pipebench/pipebench/syspipe/script"
)

// Server checks a server that speaks over its standard input and output: how it starts, lives and
// ends, and what it makes of bad clients. Most of it is done by [drive.Driver.Treat].
func Server(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Server); err != nil {
		return err
	}
	began, patience := time.Now(), max(o.Timeout, cmp.Or(o.start, leastStart))
	d, err := drive.Open(ctx, drive.Options{
		Command: o.Command, Env: o.Env, Run: o.Run, Start: patience,
		Starts: o.starts, Requests: o.requests, Patience: o.patience,
	})
	if err != nil {
		return err
	}
	patience = max(patience, parallel*time.Since(began)) // others start beside it then
	d.Close()                                            // what it speaks is known: each situation starts its own
	tries := map[string]situation{}
	for _, m := range catalogue.Situations(catalogue.Server) {
		tries[m.Name] = func(ctx context.Context, f *finding) {
			found := script.Must(d.Treat(ctx, m, f.mark))
			f.evidence = found.Evidence
			verdict := results.CheckFails
			switch {
			case found.Fine:
				verdict = results.CheckOK
			case found.Verdict == drive.NotTried:
				verdict = results.CheckCannotTell
			case found.Verdict == drive.Slow, found.Mild:
				verdict = results.CheckSlow
			}
			f.judge(verdict, "%s", found.Found)
		}
	}
	addRules(tries, d, patience)
	return o.try(ctx, catalogue.Server, tries, sink)
}

// leastStart is how long a server has to answer the handshake at least: wrappers take seconds.
const leastStart = 10 * time.Second

// mcpRules are the rules of MCP over stdio for servers, by their names in the catalogue: each is a
// script, whose error says what is broken, or that the server is not there, or silent.
var mcpRules = map[string]func(*mcpSession){
	"mcp-opening":       serverOpening,
	"mcp-version":       serverVersion,
	"mcp-discover":      serverDiscover,
	"mcp-notifications": serverNotifications,
	"mcp-tools":         serverTools,
	"mcp-cancel":        serverCancel,
	"mcp-subscriptions": serverSubscriptions,
}

// A departure is what is to be said of a server that breaks no rule: it leaves undone what it should
// do, or does not show whether it keeps the rule.
type departure struct{ verdict, text string }

func (d departure) Error() string { return d.text }

// breaks ends a rule that is broken.
func breaks(format string, args ...any) { script.Check(fmt.Errorf(format, args...)) }

// departs ends a rule by a departure.
func departs(verdict, format string, args ...any) {
	script.Check(departure{verdict, fmt.Sprintf(format, args...)})
}

// An McpEvidence is what was sent to a server to see whether it keeps a rule, and what it wrote.
type McpEvidence struct {
	Sent []string `json:"sent"`
	Got  []string `json:"got"`
}

// addRules adds the rules of MCP to what is tried on a server, or leaves them out where another
// protocol is spoken.
func addRules(tries map[string]situation, d *drive.Driver, patience time.Duration) {
	for name, rule := range mcpRules {
		if delete(tries, name); !strings.HasPrefix(d.Protocol(), "mcp") || d.Framing() != "ndjson" {
			continue
		}
		tries[name] = func(ctx context.Context, f *finding) {
			s := &mcpSession{Conversation: faults.Converse(ctx, f.command(f.Command)), ctx: ctx, patience: patience}
			defer s.Close()
			err := script.Run(func() { rule(s) })
			f.evidence = s.McpEvidence
			script.Check(ctx.Err())
			if err != nil {
				d, _ := errors.AsType[departure](err)
				f.judge(cmp.Or(d.verdict, results.CheckFails), "%v", err)
			}
			f.ok("keeps the rule")
		}
	}
}

// An mcpSession speaks with a server a message at a time, as steps of a script: a server that is gone,
// or silent, ends it.
type mcpSession struct {
	*faults.Conversation
	McpEvidence
	ctx      context.Context
	patience time.Duration // for an answer
	id       int64
	heard    []jsonrpc.Message // what was got, a line each; the zero Message is none
}

// send sends a request, or with an empty id a notification; params are nil for none.
func (s *mcpSession) send(id jsonrpc.ID, method string, params []byte) {
	msg := string(jsonrpc.AppendRequest(nil, id, method, params))
	s.Sent = append(s.Sent, msg)
	_ = s.In.SetWriteDeadline(time.Now().Add(s.patience)) // our end of a pipe has them
	if err := s.Say(msg + "\n"); err != nil {
		breaks("takes no request: %w", err)
	}
}

// mostKept bounds the evidence of a line, in bytes.
const mostKept = 2 << 10

// hear takes down a line.
func (s *mcpSession) hear(line string) jsonrpc.Message {
	m, _ := jsonrpc.Parse([]byte(line)) // another situation looks at lines that are no message
	s.Got, s.heard = append(s.Got, line[:min(len(line), mostKept)]), append(s.heard, m)
	return m
}

// ask sends a request and returns its answer.
func (s *mcpSession) ask(method string, params []byte) jsonrpc.Message {
	s.id++
	id := jsonrpc.Number(s.id)
	s.send(id, method, params)
	return s.await("answer "+method, func(m jsonrpc.Message) bool { return m.Kind().Answers() && m.ID == id })
}

// await returns the first message that is what the server should do, and no request.
func (s *mcpSession) await(should string, is func(jsonrpc.Message) bool) (m jsonrpc.Message) {
	err := s.Await(s.ctx, s.patience, func(line string) bool {
		m = s.hear(line)
		return m.Kind() != jsonrpc.None && m.Kind() != jsonrpc.Request && is(m)
	})
	switch {
	case errors.Is(err, faults.ErrLate):
		breaks("does not %s within %v", should, s.patience)
	case err != nil:
		breaks("ends, where it should %s", should)
	}
	return m
}

// Versions of the protocol that never were.
const (
	noVersion     = "1999-12-31"
	futureVersion = "2099-12-31" // some take what is older than the first without a handshake for one with
)

var versionForm = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)

// A greeting is the answer to initialize.
type greeting struct {
	ProtocolVersion string
	Capabilities    map[string]any
	ServerInfo      struct{ Name, Version *string }
}

// initialize opens a session of a version. A server that refuses has none of that kind, and breaks no
// rule of those.
func (s *mcpSession) initialize(version string) (g greeting) {
	m := s.ask("initialize", []byte(mcpstdio.InitializeParams(version)))
	if m.Failure != nil {
		departs(results.CheckOK, "opens no session of %s", version)
	}
	_ = json.Unmarshal(m.Result, &g) // what is missing is found missing
	return g
}

// open opens a session and lists its tools, if it has any.
func (s *mcpSession) open() (tools jsonrpc.Message) {
	g := s.initialize(mcpstdio.LastWithHandshake)
	s.send("", "notifications/initialized", nil)
	if g.Capabilities["tools"] == nil {
		departs(results.CheckOK, "has no tools")
	}
	return s.ask("tools/list", nil)
}

func serverOpening(s *mcpSession) {
	g := s.initialize(mcpstdio.LastWithHandshake)
	switch {
	case !versionForm.MatchString(g.ProtocolVersion):
		breaks("answers initialize with the protocolVersion %q", g.ProtocolVersion)
	case g.Capabilities == nil:
		breaks("answers initialize without capabilities")
	case g.ServerInfo.Name == nil || g.ServerInfo.Version == nil:
		breaks("answers initialize without the name or the version of serverInfo")
	}
	m := s.ask("ping", nil)
	if m.Failure != nil || !bytes.HasPrefix(m.Result, []byte("{")) {
		breaks("refuses ping, which is to be answered with an empty object")
	}
	for _, m := range s.heard {
		if m.Kind() == jsonrpc.Request && m.Method != "ping" {
			breaks("sends %s before notifications/initialized", m.Method)
		}
	}
}

func serverVersion(s *mcpSession) {
	g := s.initialize(noVersion)
	if g.ProtocolVersion == noVersion || !versionForm.MatchString(g.ProtocolVersion) {
		breaks("asked for version %s, it answers with %q, where one belongs that it supports", noVersion, g.ProtocolVersion)
	}
}

// meta are the params of a request without a session.
func meta(version string) []byte { return []byte("{" + mcpstdio.Meta(version) + "}") }

// serverDiscover asks a server without a handshake. One that knows no such thing refuses in any way
// it likes, but does not end: clients go on with initialize.
func serverDiscover(s *mcpSession) {
	m := s.ask("server/discover", meta(mcpstdio.FirstWithout))
	if m.Failure != nil {
		if err := script.Run(func() { s.initialize(mcpstdio.LastWithHandshake) }); err != nil {
			breaks("refuses server/discover, and then %w", err)
		}
		return
	}
	var known struct{ SupportedVersions []string }
	if err := json.Unmarshal(m.Result, &known); err != nil || !slices.ContainsFunc(known.SupportedVersions, versionForm.MatchString) {
		breaks("answers server/discover without supportedVersions")
	}
	m = s.ask("tools/list", meta(futureVersion))
	var failure struct{ Supported []string }
	if e := jsonrpc.ParseError(m.Failure); m.Failure == nil || e.Code != -32022 || json.Unmarshal(e.Data, &failure) != nil || len(failure.Supported) == 0 {
		breaks("does not refuse version %s with -32022 and the versions that it supports", futureVersion)
	}
}

func serverNotifications(s *mcpSession) {
	s.initialize(mcpstdio.LastWithHandshake)
	before := len(s.Got)
	for _, method := range []string{"notifications/initialized", "notifications/pipebench/unknown"} {
		s.send("", method, nil)
	}
	if err := script.Run(func() { s.ask("tools/list", nil) }); err != nil {
		breaks("after a notification that it cannot know, it %w", err)
	}
	last := len(s.Got) - 1
	for i, m := range s.heard[before:last] {
		if m.Kind().Answers() {
			breaks("answers a notification: %.80s", s.Got[before+i])
		}
	}
}

func serverTools(s *mcpSession) {
	m := s.open()
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Type string }
		}
	}
	if err := json.Unmarshal(m.Result, &list); err != nil || list.Tools == nil {
		breaks("has tools, and answers tools/list without a list")
	}
	for _, t := range list.Tools {
		if t.Name == "" || t.InputSchema.Type != "object" {
			breaks("has a tool %q whose inputSchema is no object's", t.Name)
		}
	}
	m = s.ask("tools/call", []byte(`{"name":"no tool has this name","arguments":{}}`))
	var result struct{ IsError bool }
	if m.Failure == nil && (json.Unmarshal(m.Result, &result) != nil || !result.IsError) {
		breaks("answers a call of a tool that there is not as if there were one")
	}
}

// serverSubscriptions listens to changes of the list of tools.
func serverSubscriptions(s *mcpSession) {
	m := s.ask("server/discover", meta(mcpstdio.FirstWithout))
	var about struct {
		SupportedVersions []string
		Capabilities      struct{ Tools struct{ ListChanged bool } }
	}
	if m.Failure != nil || json.Unmarshal(m.Result, &about) != nil || !slices.Contains(about.SupportedVersions, mcpstdio.FirstWithout) {
		departs(results.CheckOK, "speaks no version that has subscriptions")
	}
	const id = `"listen"`
	asked := `{"notifications":{"toolsListChanged":true},` + mcpstdio.Meta(mcpstdio.FirstWithout) + "}"
	s.send(id, mcpstdio.Listen, []byte(asked))
	var under string // which id
	m = s.await("acknowledge "+mcpstdio.Listen, func(m jsonrpc.Message) bool {
		var told struct {
			Meta struct {
				ID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &told) // what is missing is found missing
		under = string(told.Meta.ID)
		return m.Kind().Answers() && m.ID == id || under != "" || m.Method == mcpstdio.Acknowledged
	})
	switch changes := about.Capabilities.Tools.ListChanged; {
	case m.Failure != nil && !changes:
		departs(results.CheckOK, "has no changes to tell of, and refuses %s", mcpstdio.Listen)
	case m.Failure != nil:
		breaks("has a list of tools that changes, and refuses %s", mcpstdio.Listen)
	case m.Method != mcpstdio.Acknowledged:
		breaks("sends %s before it acknowledges a subscription", cmp.Or(m.Method, "the answer"))
	case under != id:
		breaks("acknowledges the subscription %s under the id %s", id, cmp.Or(under, "none"))
	}
}

// longCalls are arguments with which tools of servers in use take long, by their names.
var longCalls = map[string]string{
	"sleep":                          `{"seconds":30}`,
	"trigger-long-running-operation": `{"duration":30,"steps":3}`,
}

// serverCancel cancels a call that is under way.
func serverCancel(s *mcpSession) {
	tools := s.open().Result
	for name, arguments := range longCalls {
		if !bytes.Contains(tools, []byte(`"name":"`+name+`"`)) {
			continue
		}
		const id = `"long"`
		before := len(s.Got)
		s.send(id, "tools/call", []byte(`{"name":"`+name+`","arguments":`+arguments+`}`))
		s.ask("ping", nil) // its answer says that what came before has been read
		s.send("", "notifications/cancelled", []byte(`{"requestId":`+id+`}`))
		s.ask("ping", nil)
		err := s.Await(s.ctx, quiet, func(line string) bool { s.hear(line); return false })
		if !errors.Is(err, faults.ErrLate) {
			breaks("ends over a cancellation")
		}
		for i, m := range s.heard[before:] {
			if m.Kind().Answers() && m.ID == id {
				departs(results.CheckSlow, "answers a call that was cancelled: %.80s", s.Got[before+i])
			}
		}
		return
	}
	departs(results.CheckCannotTell, "it has no tool that is known to take long")
}
