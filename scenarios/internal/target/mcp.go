package target

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// mcp is the Model Context Protocol. Its first request is "server/discover", or "initialize" in
// older revisions.
type mcp struct {
	Protocol
	known     bool     // its revision and tools are known from an earlier start
	exercises string   // what requests exercise, one of Requests()
	tool      ToolCall // the tool that takes the payload; zero if there is none
	replyTool ToolCall // the tool that answers with as many bytes as asked, or may; zero if none
}

// A ToolCall names a tool and the one argument that we set, to a text or to a number of bytes.
type ToolCall struct {
	Name, Arg string
	Others    string // JSON members of the other arguments, each followed by a comma
}

func newMCP(o Options, wire framers.Framing) *mcp {
	m := &mcp{exercises: o.Request, tool: o.Tool, replyTool: o.ReplyTool}
	m.Protocol = Protocol{
		Name: "mcp", Framing: wire, requests: []string{RequestAuto, RequestUnknown, RequestTool},
		JSONRPC: true, answers: map[string]json.RawMessage{"ping": []byte("{}")},
		greet: m.greet, request: m.request, instead: listMethod,
	}
	return m
}

const listMethod = "tools/list"

var discoverParams = "{" + mcpstdio.Meta(mcpstdio.FirstStateless) + "}"

func (m *mcp) greet(g greeting) error {
	if m.known {
		return m.enter(g, opening{})
	}
	o, err := g.open()
	if err == nil && o.reply.Envelope.Kind() == jsonrpc.Request {
		err = errEcho
	}
	if err != nil {
		return fmt.Errorf("server/discover: %w", err)
	}
	return m.enter(g, o)
}

// enter completes the handshake. The parameter o holds what the server has answered so far. It is
// empty if m.known is true.
func (m *mcp) enter(g greeting, o opening) error {
	var about struct{ SupportedVersions []string }
	err := decode(o.reply, &about)
	if err == nil && slices.Contains(about.SupportedVersions, mcpstdio.FirstStateless) {
		m.meta = mcpstdio.Meta(mcpstdio.FirstStateless) + ","
		m.Name = "mcp " + mcpstdio.FirstStateless
	}
	if m.meta == "" {
		if err := m.initialize(g, o.hello); err != nil {
			return err
		}
	}
	if m.known && m.OneRead.Load() { // so that no request comes together with the notification
		_, err := m.listTools(g)
		return err
	}
	if m.known {
		return nil
	}
	m.ignores = o.reply.Raw == nil // it did not answer server/discover
	return m.chooseTools(g)
}

// initialize completes the handshake of older revisions. It sends the request "initialize" unless
// reply already answers that request.
func (m *mcp) initialize(g greeting, reply child.Message) error {
	if reply.Raw == nil {
		var err error
		reply, err = g.initialize(mcpstdio.InitializeParams(mcpstdio.LastWithHandshake))
		if err != nil {
			return err
		}
	}
	var hello struct {
		ProtocolVersion          string
		Capabilities, ServerInfo any
	}
	if err := decode(reply, &hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	switch {
	case hello.ProtocolVersion != "":
	case hello.Capabilities == nil && hello.ServerInfo == nil:
		return fmt.Errorf("initialize: the answer names no protocolVersion: %w", errNotMCP)
	case g.Framing.String() == framers.ContentLength().String():
		return fmt.Errorf("initialize: the answer names no protocolVersion: %w", errSpeaksLSP)
	default:
		return errors.New("initialize: the answer names no protocolVersion")
	}
	if !m.known { // later, several servers may share m and be started at once
		m.Name = "mcp " + hello.ProtocolVersion
	}
	return g.say([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`))
}

// A tool is what tools/list says about one tool of the server.
type tool struct {
	Name        string
	InputSchema struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
}

// argument returns the name of an argument that has one of the JSON types. It prefers a required
// argument, and returns "" if there is none.
func (t tool) argument(types ...any) string {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(t.InputSchema.Properties)) {
		if !slices.Contains(types, t.InputSchema.Properties[name].Type) {
			continue
		}
		if slices.Contains(t.InputSchema.Required, name) {
			return name
		}
		first = cmp.Or(first, name)
	}
	return first
}

// hintAt names tools that the user may ask for: those that may echo or, if no tool is called, one
// that takes a text. It notes whether there is such a tool.
func (m *mcp) hintAt(tools []tool) {
	for _, t := range tools {
		takesText := t.argument("string") != ""
		m.TakesText = m.TakesText || takesText
		switch {
		case takesText && strings.Contains(t.Name, "echo") && t.Name != m.tool.Name:
			m.Hints = append(m.Hints, "--tool "+t.Name+" may echo")
		case takesText && m.tool.Name == "" && len(m.Hints) == 0:
			m.Hints = append(m.Hints, "no tool is called unasked: --tool "+t.Name)
		}
	}
}

// listTools asks for the list of tools. If an error without an id comes, the server may have taken
// the notification before it and this request for one message: listTools asks again.
func (m *mcp) listTools(g greeting) (child.Message, error) {
	params := "{" + strings.TrimSuffix(m.meta, ",") + "}"
	reply, err := g.call(listID, listMethod, params)
	if err != nil || !isRefusal(reply) {
		return reply, err
	}
	reply, err = g.call(againID, listMethod, params)
	if err != nil {
		return reply, err
	}
	switch string(reply.Envelope.ID) {
	case listID: // the error was about the notification alone: drop the second list
		_, err = g.answerTo(listMethod)
	case againID:
		m.OneRead.Store(true)
	}
	return reply, err
}

// chooseTools chooses the tools to call: the tools that the user named, or else a tool named "echo"
// and a tool that only makes bytes. Other tools might do anything.
func (m *mcp) chooseTools(g greeting) error {
	reply, err := m.listTools(g)
	if errors.Is(err, child.ErrSilent) {
		return fmt.Errorf("%w; %w", errFellSilent, err)
	}
	if err != nil {
		return err
	}
	var list struct{ Tools []tool }
	err = decode(reply, &list)
	_, refuses := errors.AsType[*jsonrpc.Error](err)
	demanded := m.tool.Name != "" || m.exercises == RequestTool
	if err != nil && (demanded || !refuses) { // a server without tools may refuse
		return fmt.Errorf("tools/list: %w", err)
	}
	if err != nil {
		m.Hints = append(m.Hints, fmt.Sprintf("tools/list failed: %v", err))
	}
	m.known = true
	if m.tool.Name == "" && m.exercises != RequestUnknown {
		m.tool.Name = "echo"
	}
	m.tool, err = m.tool.complete(list.Tools, demanded, "string")
	if err != nil && m.replyTool.Name == "" { // the tool may take a number, and make replies
		m.replyTool = m.tool
		m.tool = ToolCall{}
	} else if err != nil {
		return err
	}
	if m.tool.Name != "" {
		m.sends = "tool " + m.tool.Name
		m.tryEcho = true
	}
	m.hintAt(list.Tools)
	makesBytes := m.replyTool.Name != ""
	if makesBytes {
		m.replyTool, err = m.replyTool.complete(
			list.Tools, true /* demanded */, "integer", "number")
	} else {
		m.replyTool, makesBytes = bytesTool(list.Tools)
	}
	m.Call = strings.TrimSpace(m.replyTool.Name + " " + m.replyTool.Arg)
	if makesBytes {
		m.Demand = m.askFor
	} else if m.replyTool.Name != "" {
		m.Hints = append(m.Hints, "--reply-tool "+m.replyTool.Name+" may make some")
	}
	return err
}

// Usual names of a tool that makes nothing but bytes, and of the argument that says how many.
var (
	replyToolNames = []string{"get_large_data", "large_data", "generate_data", "get_bytes"}
	replyArguments = []string{"bytes", "size", "length", "numBytes", "byteCount"}
)

// bytesTool finds a tool that makes as many bytes as requested. If it only takes a number, certain
// is false.
func bytesTool(tools []tool) (call ToolCall, certain bool) {
	for _, t := range tools {
		arg := t.argument("integer", "number")
		isUsual := slices.Contains(replyToolNames, t.Name) && slices.Contains(replyArguments, arg)
		required := t.InputSchema.Required
		needsNoOther := len(required) == 0 || slices.Equal(required, []string{arg})
		if isUsual && needsNoOther {
			return ToolCall{Name: t.Name, Arg: arg}, true
		}
		if arg != "" && needsNoOther && call.Name == "" {
			call = ToolCall{Name: t.Name, Arg: arg}
		}
	}
	return call, false
}

// complete looks for the call's tool among the server's tools. If the server lacks the tool, the
// result is the zero ToolCall, or an error if demanded is true. If the call names no argument,
// complete picks one that has one of the types. An argument that the tool declares with another
// type is an error, and so is one that it does not declare, unless it declares none.
func (call ToolCall) complete(tools []tool, demanded bool, types ...any) (ToolCall, error) {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	i := slices.Index(names, call.Name)
	if i < 0 && demanded {
		slices.Sort(names)
		return call, optionError("the server has no tool %q; it has %s", call.Name, names)
	}
	if i < 0 {
		return ToolCall{}, nil
	}
	properties := tools[i].InputSchema.Properties
	call.Arg = cmp.Or(call.Arg, tools[i].argument(types...))
	property, known := properties[call.Arg]
	declared, isOne := property.Type.(string)
	isOther := isOne && !slices.Contains(types, any(declared))
	if call.Arg == "" || isOther || !known && len(properties) > 0 {
		return call, optionError("tool %s has no such argument; it has %s: --tool needs a string "+
			"or a number, --reply-tool a number", call.Name, slices.Sorted(maps.Keys(properties)))
	}
	return call, nil
}

// template makes a request of size bytes that calls the tool. The value of the tool's argument is a
// payload between two given texts.
func (m *mcp) template(call ToolCall, before, after string, size int) *Request {
	start := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%s,"arguments":{%s%s:%s`,
		idMark, m.meta, quoted(call.Name), call.Others, quoted(call.Arg), before)
	r := newRequest(start, after+"}}}", size)
	r.isCall = true
	return r
}

// askFor makes a call that asks for an answer of n bytes.
func (m *mcp) askFor(n int) *Request {
	r := m.template(m.replyTool, strconv.Itoa(n), "", asSmallAsCanBe)
	r.Demands = n
	return r
}

func (m *mcp) request(kind Kind, size int) *Request {
	if kind == Transport || m.tool.Name == "" {
		return m.plain(size)
	}
	const quote = `"`
	return m.template(m.tool, quote, quote, size)
}
