package check

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
)

// Server checks a server that speaks over its standard input and output: how it starts, lives and
// ends, and what it makes of bad clients. Most of it is done by [drive.Driver.Treat].
func Server(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Server); err != nil {
		return err
	}
	began, patience := time.Now(), max(o.Timeout, leastStart)
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
		tries[m.Name] = situation{
			do: func(ctx context.Context, f *finding) error {
				found, err := d.Treat(ctx, m, f.mark)
				if err != nil {
					return err
				}
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
				return nil
			},
			alone: m.Name == "many-starts",
		}
	}
	addRules(tries, d, patience)
	return o.try(ctx, catalogue.Server, tries, sink)
}

// leastStart is how long a server has to answer the handshake at least: wrappers take seconds.
const leastStart = 10 * time.Second

// mcpRules are the rules of MCP over stdio for servers, by their names in the catalogue: the error of
// each says what is broken, or that the server is not there, or silent.
var mcpRules = map[string]func(*mcpSession) error{
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
		tries[name] = situation{do: func(ctx context.Context, f *finding) error {
			p := f.command(f.Command)
			defer p.Close()
			in, err := p.Pipe(0)
			if err != nil {
				return err
			}
			defer in.Close()
			out, err := p.Pipe(1)
			if err != nil {
				return err
			}
			defer out.Close()
			if err := p.Start(ctx); err != nil {
				return err
			}
			s := &mcpSession{in: in, patience: patience, lines: make(chan []byte, 64)}
			go s.read(out)
			if err := rule(s); err != nil && ctx.Err() == nil {
				d, _ := errors.AsType[departure](err)
				f.judge(cmp.Or(d.verdict, results.CheckFails), "%v", err)
			}
			f.evidence = McpEvidence{s.sent, s.got}
			f.ok("keeps the rule")
			return ctx.Err()
		}}
	}
}

// An mcpSession speaks with a server a message at a time.
type mcpSession struct {
	in        *os.File
	patience  time.Duration // for an answer
	lines     chan []byte
	id        int
	sent, got []string
	asked     []string // methods of the requests that the server sent
}

func (s *mcpSession) read(out io.Reader) {
	defer close(s.lines)
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		select {
		case s.lines <- bytes.Clone(scan.Bytes()):
		default: // of so many nobody asked for any
		}
	}
}

// send sends a request, or with an empty id a notification; params are nil for none.
func (s *mcpSession) send(id jsonrpc.ID, method string, params []byte) error {
	msg := jsonrpc.AppendRequest(nil, id, method, params)
	s.sent = append(s.sent, string(msg))
	_ = s.in.SetWriteDeadline(time.Now().Add(s.patience)) // our end of a pipe has them
	if _, err := s.in.Write(append(msg, '\n')); err != nil {
		return fmt.Errorf("takes no request: %w", err)
	}
	return nil
}

// mostKept bounds the evidence of a line, in bytes.
const mostKept = 2 << 10

// ask sends a request and returns its answer.
func (s *mcpSession) ask(method string, params []byte) (jsonrpc.Message, error) {
	s.id++
	id := jsonrpc.Number(int64(s.id))
	if err := s.send(id, method, params); err != nil {
		return jsonrpc.Message{}, err
	}
	return s.await("answer "+method, func(m jsonrpc.Message) bool { return m.Kind().Answers() && m.ID == id })
}

// await returns the first message that is what the server should do; what else comes is kept.
func (s *mcpSession) await(should string, is func(jsonrpc.Message) bool) (jsonrpc.Message, error) {
	timer := time.NewTimer(s.patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				return jsonrpc.Message{}, fmt.Errorf("ends, where it should %s", should)
			}
			s.got = append(s.got, string(line[:min(len(line), mostKept)]))
			m, err := jsonrpc.Parse(line)
			switch {
			case err != nil: // another situation looks at such lines
			case m.Kind() == jsonrpc.Request:
				s.asked = append(s.asked, m.Method)
			case is(m):
				return m, nil
			}
		case <-timer.C:
			return jsonrpc.Message{}, fmt.Errorf("does not %s within %v", should, s.patience)
		}
	}
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
func (s *mcpSession) initialize(version string) (g greeting, err error) {
	m, err := s.ask("initialize", []byte(mcpstdio.InitializeParams(version)))
	if m.Failure != nil {
		return g, departure{results.CheckOK, "opens no session of " + version}
	}
	_ = json.Unmarshal(m.Result, &g) // what is missing is found missing
	return g, err
}

// open opens a session and lists its tools, if it has any.
func (s *mcpSession) open() (tools jsonrpc.Message, err error) {
	g, err := s.initialize(mcpstdio.LastWithHandshake)
	if err == nil {
		err = s.send("", "notifications/initialized", nil)
	}
	if err == nil && g.Capabilities["tools"] == nil {
		err = departure{results.CheckOK, "has no tools"}
	}
	if err != nil {
		return tools, err
	}
	return s.ask("tools/list", nil)
}

func serverOpening(s *mcpSession) error {
	g, err := s.initialize(mcpstdio.LastWithHandshake)
	if err != nil {
		return err
	}
	switch {
	case !versionForm.MatchString(g.ProtocolVersion):
		return fmt.Errorf("answers initialize with the protocolVersion %q", g.ProtocolVersion)
	case g.Capabilities == nil:
		return errors.New("answers initialize without capabilities")
	case g.ServerInfo.Name == nil || g.ServerInfo.Version == nil:
		return errors.New("answers initialize without the name or the version of serverInfo")
	}
	m, err := s.ask("ping", nil)
	if err != nil {
		return err
	}
	asked := slices.DeleteFunc(s.asked, func(method string) bool { return method == "ping" })
	switch {
	case m.Failure != nil || !bytes.HasPrefix(m.Result, []byte("{")):
		return errors.New("refuses ping, which is to be answered with an empty object")
	case len(asked) > 0:
		return fmt.Errorf("sends %s before notifications/initialized", asked[0])
	}
	return nil
}

func serverVersion(s *mcpSession) error {
	g, err := s.initialize(noVersion)
	if err == nil && (g.ProtocolVersion == noVersion || !versionForm.MatchString(g.ProtocolVersion)) {
		return fmt.Errorf("asked for version %s, it answers with %q, where one belongs that it supports", noVersion, g.ProtocolVersion)
	}
	return err
}

// meta are the params of a request without a session.
func meta(version string) []byte { return []byte("{" + mcpstdio.Meta(version) + "}") }

// serverDiscover asks a server without a handshake. One that knows no such thing refuses in any way
// it likes, but does not end: clients go on with initialize.
func serverDiscover(s *mcpSession) error {
	m, err := s.ask("server/discover", meta(mcpstdio.FirstWithout))
	if err != nil {
		return err
	}
	if m.Failure != nil {
		if _, err := s.initialize(mcpstdio.LastWithHandshake); err != nil {
			return fmt.Errorf("refuses server/discover, and then %w", err)
		}
		return nil
	}
	var known struct{ SupportedVersions []string }
	if err := json.Unmarshal(m.Result, &known); err != nil || !slices.ContainsFunc(known.SupportedVersions, versionForm.MatchString) {
		return errors.New("answers server/discover without supportedVersions")
	}
	if m, err = s.ask("tools/list", meta(futureVersion)); err != nil {
		return err
	}
	var failure struct{ Supported []string }
	if e := jsonrpc.ParseError(m.Failure); m.Failure == nil || e.Code != -32022 || json.Unmarshal(e.Data, &failure) != nil || len(failure.Supported) == 0 {
		return fmt.Errorf("does not refuse version %s with -32022 and the versions that it supports", futureVersion)
	}
	return nil
}

func serverNotifications(s *mcpSession) error {
	if _, err := s.initialize(mcpstdio.LastWithHandshake); err != nil {
		return err
	}
	before := len(s.got)
	for _, method := range []string{"notifications/initialized", "notifications/pipebench/unknown"} {
		if err := s.send("", method, nil); err != nil {
			return err
		}
	}
	if _, err := s.ask("tools/list", nil); err != nil {
		return fmt.Errorf("after a notification that it cannot know, it %w", err)
	}
	for _, line := range s.got[before : len(s.got)-1] {
		if m, err := jsonrpc.Parse([]byte(line)); err == nil && m.Kind().Answers() {
			return fmt.Errorf("answers a notification: %.80s", line)
		}
	}
	return nil
}

func serverTools(s *mcpSession) error {
	m, err := s.open()
	if err != nil {
		return err
	}
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Type string }
		}
	}
	if err := json.Unmarshal(m.Result, &list); err != nil || list.Tools == nil {
		return errors.New("has tools, and answers tools/list without a list")
	}
	for _, t := range list.Tools {
		if t.Name == "" || t.InputSchema.Type != "object" {
			return fmt.Errorf("has a tool %q whose inputSchema is no object's", t.Name)
		}
	}
	if m, err = s.ask("tools/call", []byte(`{"name":"no tool has this name","arguments":{}}`)); err != nil {
		return err
	}
	var result struct{ IsError bool }
	if m.Failure == nil && (json.Unmarshal(m.Result, &result) != nil || !result.IsError) {
		return errors.New("answers a call of a tool that there is not as if there were one")
	}
	return nil
}

// serverSubscriptions listens to changes of the list of tools.
func serverSubscriptions(s *mcpSession) error {
	m, err := s.ask("server/discover", meta(mcpstdio.FirstWithout))
	if err != nil {
		return err
	}
	var about struct {
		SupportedVersions []string
		Capabilities      struct{ Tools struct{ ListChanged bool } }
	}
	if m.Failure != nil || json.Unmarshal(m.Result, &about) != nil || !slices.Contains(about.SupportedVersions, mcpstdio.FirstWithout) {
		return departure{results.CheckOK, "speaks no version that has subscriptions"}
	}
	const id = `"listen"`
	asked := `{"notifications":{"toolsListChanged":true},` + mcpstdio.Meta(mcpstdio.FirstWithout) + "}"
	if err = s.send(id, mcpstdio.Listen, []byte(asked)); err != nil {
		return err
	}
	var under string // which id
	m, err = s.await("acknowledge "+mcpstdio.Listen, func(m jsonrpc.Message) bool {
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
	case err != nil:
		return err
	case m.Failure != nil && !changes:
		return departure{results.CheckOK, "has no changes to tell of, and refuses " + mcpstdio.Listen}
	case m.Failure != nil:
		return errors.New("has a list of tools that changes, and refuses " + mcpstdio.Listen)
	case m.Method != mcpstdio.Acknowledged:
		return fmt.Errorf("sends %s before it acknowledges a subscription", cmp.Or(m.Method, "the answer"))
	case under != id:
		return fmt.Errorf("acknowledges the subscription %s under the id %s", id, cmp.Or(under, "none"))
	}
	return nil
}

// longCalls are arguments with which tools of servers in use take long, by their names.
var longCalls = map[string]string{
	"sleep":                          `{"seconds":30}`,
	"trigger-long-running-operation": `{"duration":30,"steps":3}`,
}

// serverCancel cancels a call that is under way.
func serverCancel(s *mcpSession) error {
	m, err := s.open()
	if err != nil {
		return err
	}
	for name, arguments := range longCalls {
		if !bytes.Contains(m.Result, []byte(`"name":"`+name+`"`)) {
			continue
		}
		before := len(s.got)
		err = s.send(`"long"`, "tools/call", []byte(`{"name":"`+name+`","arguments":`+arguments+`}`))
		for _, method := range []string{"ping", "notifications/cancelled", "ping"} {
			if method == "ping" && err == nil { // its answer says that what came before has been read
				_, err = s.ask(method, nil)
			} else if err == nil {
				err = s.send("", method, []byte(`{"requestId":"long"}`))
			}
		}
		for over := time.After(quiet); err == nil && over != nil; {
			select {
			case line, ok := <-s.lines:
				if s.got = append(s.got, string(line)); !ok {
					return errors.New("ends over a cancellation")
				}
			case <-over:
				over = nil
			}
		}
		for _, line := range s.got[before:] {
			if m, e := jsonrpc.Parse([]byte(line)); e == nil && m.Kind().Answers() && m.ID == `"long"` {
				return departure{results.CheckSlow, fmt.Sprintf("answers a call that was cancelled: %.80s", line)}
			}
		}
		return err
	}
	return departure{results.CheckCannotTell, "it has no tool that is known to take long"}
}
