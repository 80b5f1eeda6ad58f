package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// mcp is the Model Context Protocol. Its newest revision asks for server/discover and has no
// initialize; a server that does not know it is greeted in the old way.
type mcp struct {
	traits
	revision  string
	discovers bool   // the server is of the era without initialize
	known     bool   // revision and tools are
	kind      string // of Requests
	tool, arg string
	others    string     // arguments besides, each followed by a comma
	replies   replyTool  // that was asked for; the zero value leaves the choice to us
	sized     *replyTool // answers with as many bytes as it is asked for
}

func newMCP(o Options, wire framers.Framing) *mcp {
	return &mcp{
		traits: traits{wire: wire, requests: []string{RequestAuto, RequestUnknown, RequestTool}, jsonRPC: true},
		kind:   o.Request, tool: o.Tool, arg: o.Arg, others: o.Args,
		replies: replyTool{o.ReplyTool, o.ReplyArg, o.ReplyArgs},
	}
}

const (
	newestMCP = "2026-07-28"
	legacyMCP = "2025-11-25"
)

func (m *mcp) String() string {
	if m.revision == "" {
		return "mcp"
	}
	return "mcp " + m.revision
}

func (m *mcp) describe() string {
	if m.tool == "" {
		return describeUnknown
	}
	return m.compared("tool " + m.tool)
}

func (m *mcp) respond(_ []byte, e jsonrpc.Envelope) []byte {
	if string(e.Method) == "ping" {
		return resultOf(e, "{}")
	}
	return methodNotFound(e)
}

// meta returns what each request of the newest revision carries, followed by a comma.
func (m *mcp) meta() string {
	if !m.discovers {
		return ""
	}
	return `"_meta":` + clientMeta(m.revision) + `,`
}

func clientMeta(revision string) string {
	return `{"io.modelcontextprotocol/protocolVersion":` + strconv.Quote(revision) +
		`,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":` + clientInfo + `}`
}

const clientInfo = `{"name":"pipebench","version":"1"}`

func (m *mcp) greet(ctx context.Context, c *conn, within time.Duration) error {
	c.speak(m)
	if !m.known {
		reply, err := c.call(ctx, "server/discover", discoverParams, within)
		if err != nil {
			return err
		}
		m.discovered(reply)
	}
	return m.enter(ctx, c, within)
}

// enter ends the handshake with a server that was asked server/discover, in the way of its era.
func (m *mcp) enter(ctx context.Context, c *conn, within time.Duration) error {
	if !m.discovers {
		if err := m.initialize(ctx, c, within); err != nil {
			return err
		}
	}
	return m.chooseTools(ctx, c, within)
}

var discoverParams = `{"_meta":` + clientMeta(newestMCP) + `}`

// discovered learns from the answer to server/discover which era the server is of.
func (m *mcp) discovered(reply answer) {
	var about struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	if reply.decode(&about) == nil && slices.Contains(about.SupportedVersions, newestMCP) {
		m.discovers, m.revision = true, newestMCP
	}
}

func (m *mcp) initialize(ctx context.Context, c *conn, within time.Duration) error {
	params := `{"protocolVersion":"` + legacyMCP + `","capabilities":{},"clientInfo":` + clientInfo + `}`
	reply, err := c.call(ctx, "initialize", params, within)
	if err != nil {
		return err
	}
	var hello struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := reply.decode(&hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if hello.ProtocolVersion == "" {
		return errors.New("initialize: the answer names no protocolVersion, so this is no MCP server")
	}
	m.revision = hello.ProtocolVersion
	return c.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`))
}

// A tool as tools/list describes it.
type tool struct {
	Name        string `json:"name"`
	InputSchema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	} `json:"inputSchema"`
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
	for _, name := range names {
		if slices.Contains(t.InputSchema.Required, name) {
			return name
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// chooseTools finds the tools to call. None is called but one that is asked for or named echo, and
// for replies one that only makes bytes: a tool may do anything.
func (m *mcp) chooseTools(ctx context.Context, c *conn, within time.Duration) error {
	if m.known {
		return nil
	}
	tools, err := m.listTools(ctx, c, within)
	if err != nil {
		return err
	}
	m.known = true
	if err := m.chooseTool(tools); err != nil {
		return err
	}
	m.tryEcho = m.tool != ""
	m.sized, err = m.chooseReplyTool(tools)
	return err
}

// listTools asks for the tools. A server without any may refuse.
func (m *mcp) listTools(ctx context.Context, c *conn, within time.Duration) ([]tool, error) {
	params := `{}`
	if m.discovers {
		params = discoverParams
	}
	reply, err := c.call(ctx, "tools/list", params, within)
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []tool `json:"tools"`
	}
	if err := reply.decode(&list); err != nil && reply.failure == nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	return list.Tools, nil
}

// chooseTool finds the tool that requests are calls of, and its argument that takes the payload.
func (m *mcp) chooseTool(tools []tool) error {
	wanted := m.tool
	if wanted == "" && m.kind != RequestUnknown {
		wanted = "echo"
	}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == wanted })
	switch {
	case i >= 0:
		m.tool = wanted
		if m.arg == "" {
			m.arg = tools[i].argument("string")
		}
	case m.tool != "" || m.kind == RequestTool:
		return noTool(wanted, tools)
	}
	if m.tool != "" && m.arg == "" {
		return fmt.Errorf("tool %s takes no text: name the argument that takes the payload", m.tool)
	}
	return nil
}

func noTool(name string, tools []tool) error {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return fmt.Errorf("the server has no tool %q; it has %s", name, names)
}

// A replyTool answers with as many bytes as it is asked for: a small request with a large answer,
// which finds a limit on answers apart from one on requests.
type replyTool struct {
	name, arg string
	others    string // arguments besides, each followed by a comma
}

// What a tool is called that makes nothing but bytes, and its argument that says how many.
var (
	replyToolNames = []string{"get_large_data", "large_data", "generate_data", "get_bytes"}
	replyArguments = []string{"bytes", "size", "length", "numBytes", "byteCount"}
)

// chooseReplyTool finds the tool that replies of a size are asked of: the one that was named, or
// one that needs nothing but a number of bytes and whose name says that it only makes data.
func (m *mcp) chooseReplyTool(tools []tool) (*replyTool, error) {
	chosen := m.replies
	for _, t := range tools {
		arg := t.argument("integer", "number")
		if chosen.name != "" && t.Name == chosen.name {
			if chosen.arg == "" {
				chosen.arg = arg
			}
			if chosen.arg == "" {
				return nil, fmt.Errorf("tool %s takes no number: name the argument that says how much it is to answer", chosen.name)
			}
			return &chosen, nil
		}
		required := t.InputSchema.Required
		if chosen.name == "" && slices.Contains(replyToolNames, t.Name) && slices.Contains(replyArguments, arg) &&
			(len(required) == 0 || slices.Equal(required, []string{arg})) {
			return &replyTool{name: t.Name, arg: arg}, nil
		}
	}
	if chosen.name != "" {
		return nil, noTool(chosen.name, tools)
	}
	return nil, nil
}

// demand makes a request for an answer of about n bytes.
func (m *mcp) demand(n int) *requestTemplate {
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%s,"arguments":{%s%s:%d}}}`,
		idMark, m.meta(), quoted(m.sized.name), m.sized.others, quoted(m.sized.arg), n)
	t := newTemplate(msg, "", 0)
	t.demands = n
	return t
}

func (m *mcp) request(kind requestKind, size int) *requestTemplate {
	if kind == transportRequest || m.tool == "" {
		return refusable(size, m.meta())
	}
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"tools/call","params":{` + m.meta() +
		`"name":` + quoted(m.tool) + `,"arguments":{` + m.others + quoted(m.arg) + `:"`
	t := newTemplate(before, `"}}}`, size)
	t.echoes = m.echoes
	return t
}
