package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// mcp is the Model Context Protocol. Its newest revision asks for server/discover and has no initialize; a server that does not know it is
// greeted in the old way.
type mcp struct {
	wire      framers.Framing
	revision  string
	discovers bool   // the server is of the era without initialize
	asked     bool   // revision and tool are known
	kind      string // of Requests
	tool, arg string
	others    string    // arguments besides, each followed by a comma
	replies   sizedTool // that is asked for; zero leaves the choice to us
	echoes    bool
	sized     *sizedTool // answers with as many bytes as it is asked for
}

func newMCP(o Options, wire framers.Framing) *mcp {
	return &mcp{wire: wire, kind: o.Request, tool: o.Tool, arg: o.Arg, others: o.Args,
		replies: sizedTool{o.ReplyTool, o.ReplyArg, o.ReplyArgs}}
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

func (m *mcp) framing() framers.Framing { return m.wire }

func (m *mcp) answer() answerer {
	return func(_ []byte, e jsonrpc.Envelope) []byte {
		if string(e.Method) == "ping" {
			return granted(e, "{}")
		}
		return denial(e)
	}
}

// meta is what each request of the newest revision carries, followed by a comma.
func (m *mcp) meta() string {
	if !m.discovers {
		return ""
	}
	return `"_meta":` + clientMeta(m.revision) + `,`
}

func clientMeta(revision string) string {
	return `{"io.modelcontextprotocol/protocolVersion":` + strconv.Quote(revision) + `,"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":` + clientInfo + `}`
}

const clientInfo = `{"name":"pipebench","version":"1"}`

func (m *mcp) greet(ctx context.Context, c *conn, within time.Duration) error {
	c.hear(m.answer())
	if !m.asked {
		reply, err := c.call(ctx, discoverCall, within)
		if err != nil {
			return err
		}
		m.discovered(reply)
	}
	if m.discovers {
		return m.chooseTool(ctx, c, within)
	}
	if err := m.initialize(ctx, c, within); err != nil {
		return err
	}
	return m.chooseTool(ctx, c, within)
}

var discoverCall = call{method: "server/discover", params: `{"_meta":` + clientMeta(newestMCP) + `}`}

// discovered learns from the answer to server/discover which era the server is of.
func (m *mcp) discovered(reply answer) {
	var about struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	if reply.failure != nil || json.Unmarshal(reply.result, &about) != nil || len(about.SupportedVersions) == 0 {
		return
	}
	if slices.Contains(about.SupportedVersions, newestMCP) {
		m.discovers, m.revision = true, newestMCP
	}
}

func (m *mcp) initialize(ctx context.Context, c *conn, within time.Duration) error {
	reply, err := c.call(ctx, call{method: "initialize", params: `{"protocolVersion":"` + legacyMCP + `","capabilities":{},"clientInfo":` + clientInfo + `}`}, within)
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

// argument is the first argument of a type, by name: the only one that is required, or else the first of the alphabet.
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

// chooseTool finds the tool to call. None is called but one that is asked for or named echo: a tool may do anything.
func (m *mcp) chooseTool(ctx context.Context, c *conn, within time.Duration) error {
	if m.asked {
		return nil
	}
	tools, err := m.list(ctx, c, within)
	if err != nil {
		return err
	}
	m.asked = true
	if err := m.choosePayload(tools); err != nil {
		return err
	}
	m.sized, err = m.chooseSized(tools)
	return err
}

// choosePayload finds the tool that requests are calls of, and its argument that takes the payload.
func (m *mcp) choosePayload(tools []tool) error {
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
		return fmt.Errorf("the server has no tool %q; it has %s", wanted, toolNames(tools))
	}
	if m.tool != "" && m.arg == "" {
		return fmt.Errorf("tool %s takes no text: name the argument that takes the payload", m.tool)
	}
	return nil
}

func toolNames(tools []tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// list asks for the tools. A server without any may refuse.
func (m *mcp) list(ctx context.Context, c *conn, within time.Duration) ([]tool, error) {
	params := `{}`
	if m.discovers {
		params = `{"_meta":` + clientMeta(m.revision) + `}`
	}
	reply, err := c.call(ctx, call{method: "tools/list", params: params}, within)
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []tool `json:"tools"`
	}
	if reply.failure == nil {
		err = json.Unmarshal(reply.result, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	return list.Tools, nil
}

func (m *mcp) request(a ask, size int) (*shape, error) {
	if a == askTransport || m.tool == "" {
		return refusable(size, m.meta())
	}
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"tools/call","params":{` + m.meta() + `"name":` + quoted(m.tool) + `,"arguments":{` + m.others + quoted(m.arg) + `:"`
	s, err := newShape(before, `"}}}`, size, int64(size))
	if err != nil {
		return nil, err
	}
	s.echoes = m.echoes
	return s, nil
}

func (m *mcp) compares() *bool {
	if m.tool == "" {
		return nil
	}
	return &m.echoes
}
