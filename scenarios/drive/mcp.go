package drive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
)

// mcp is the Model Context Protocol. Its newest revision asks for server/discover and has no
// initialize; a server that does not know it is greeted in the old way.
type mcp struct {
	protocol
	meta  string   // what each request carries, followed by a comma: of the era without initialize
	known bool     // its revision and tools are
	kind  string   // of Requests
	tool  toolCall // that takes the payload; its zero value is none
	sized toolCall // that answers with as many bytes as it is asked for, if there is one
}

// A toolCall is a tool with the argument that is ours to fill: with text, or with a number of bytes.
type toolCall struct {
	name, arg string
	others    string // arguments besides, each followed by a comma
}

func newMCP(o Options, wire framers.Framing) *mcp {
	m := &mcp{
		protocol: protocol{
			name: "mcp", wire: wire, requests: []string{RequestAuto, RequestUnknown, RequestTool}, jsonRPC: true,
			answers: map[string]json.RawMessage{"ping": []byte("{}")},
		},
		kind: o.Request, tool: toolCall{o.Tool, o.Arg, o.Args}, sized: toolCall{o.ReplyTool, o.ReplyArg, o.ReplyArgs},
	}
	m.protocol.greet, m.protocol.request = m.greet, m.request
	return m
}

// discoverParams are what each request of the newest revision carries.
var discoverParams = "{" + mcpstdio.Meta(mcpstdio.FirstWithout) + "}"

func (m *mcp) greet(h handshake) {
	var reply answer
	if !m.known {
		reply = h.call("server/discover", discoverParams)
	}
	m.enter(h, reply)
}

// enter ends the handshake with a server that answered server/discover, or did so when it was first
// started, in the way of its era.
func (m *mcp) enter(h handshake, reply answer) {
	var about struct{ SupportedVersions []string }
	if reply.decode(&about) == nil && slices.Contains(about.SupportedVersions, mcpstdio.FirstWithout) {
		m.meta, m.name = mcpstdio.Meta(mcpstdio.FirstWithout)+",", "mcp "+mcpstdio.FirstWithout
	}
	if m.meta == "" {
		m.initialize(h)
	}
	if !m.known {
		m.chooseTools(h)
	}
}

func (m *mcp) initialize(h handshake) {
	reply := h.call("initialize", mcpstdio.InitializeParams(mcpstdio.LastWithHandshake))
	var hello struct{ ProtocolVersion string }
	checkAs("initialize", reply.decode(&hello))
	failIf(hello.ProtocolVersion == "",
		"initialize: the answer names no protocolVersion, so this is no MCP server")
	if name := "mcp " + hello.ProtocolVersion; m.name != name { // treatments shake hands at once, and agree
		m.name = name
	}
	h.say([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`))
}

// A tool as tools/list describes it.
type tool struct {
	Name        string
	InputSchema struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
}

// argument returns the first argument of a type, by name: the only one that is required, or else
// the first of the alphabet.
func (t tool) argument(kinds ...any) string {
	var names []string
	for name, p := range t.InputSchema.Properties {
		if slices.Contains(kinds, p.Type) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	required := stat.Filter(names, func(name string) bool { return slices.Contains(t.InputSchema.Required, name) })
	return slices.Concat(required, names, []string{""})[0]
}

// chooseTools finds the tools to call. None is called but one that is asked for or named echo, and
// for replies one that only makes bytes: a tool may do anything.
func (m *mcp) chooseTools(h handshake) {
	reply := h.call("tools/list", "{"+strings.TrimSuffix(m.meta, ",")+"}")
	var list struct{ Tools []tool }
	if err := reply.decode(&list); reply.failure == nil { // a server without any may refuse
		checkAs("tools/list", err)
	}
	tools := list.Tools
	m.known = true
	demanded := m.tool.name != "" || m.kind == RequestTool
	if m.tool.name == "" && m.kind != RequestUnknown {
		m.tool.name = "echo"
	}
	m.tool = m.tool.complete(tools, demanded, "string")
	if m.tool.name != "" {
		m.sends, m.tryEcho = "tool "+m.tool.name, true
	}
	if m.sized.name != "" {
		m.sized, m.demand = m.sized.complete(tools, true, "integer", "number"), m.askFor
		return
	}
	for _, t := range tools {
		arg, required := t.argument("integer", "number"), t.InputSchema.Required
		if m.demand == nil && slices.Contains(replyToolNames, t.Name) && slices.Contains(replyArguments, arg) &&
			(len(required) == 0 || slices.Equal(required, []string{arg})) {
			m.sized, m.demand = toolCall{name: t.Name, arg: arg}, m.askFor
		}
	}
}

// complete finds the tool among those of the server, and its first argument of a type where none is
// named. A tool that is not there is an error if it is demanded, else it is none.
func (call toolCall) complete(tools []tool, demanded bool, kinds ...any) toolCall {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == call.name })
	if i < 0 {
		names := slices.Sorted(slices.Values(stat.Map(tools, func(t tool) string { return t.Name })))
		failIf(demanded, "the server has no tool %q; it has %s", call.name, names)
		return toolCall{}
	}
	call.arg = cmp.Or(call.arg, tools[i].argument(kinds...))
	failIf(call.arg == "",
		"tool %s has no argument of type %s: name the one to be filled", call.name, kinds[0])
	return call
}

// What a tool is called that makes nothing but bytes, and its argument that says how many.
var (
	replyToolNames = []string{"get_large_data", "large_data", "generate_data", "get_bytes"}
	replyArguments = []string{"bytes", "size", "length", "numBytes", "byteCount"}
)

// template makes a call, its argument the text between before and after, which make up its size.
func (m *mcp) template(call toolCall, before, after string, size int) *requestTemplate {
	start := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%s,"arguments":{%s%s:%s`,
		idMark, m.meta, quoted(call.name), call.others, quoted(call.arg), before)
	return newTemplate(start, after+"}}}", size)
}

func (m *mcp) askFor(n int) *requestTemplate {
	t := m.template(m.sized, strconv.Itoa(n), "", 0)
	t.demands = n
	return t
}

func (m *mcp) request(kind requestKind, size int) *requestTemplate {
	if kind == transportRequest || m.tool.name == "" {
		return refusable(size, m.meta)
	}
	return m.template(m.tool, `"`, `"`, size)
}
