package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A protocol is what a server speaks. What its handshake finds out is kept, so that a server that
// is started again is not asked again.
type protocol struct {
	name     string // for the record, with its revision: "mcp 2025-11-25"
	sends    string // what requests exercise, in words; "" for unknownMethod
	wire     framers.Framing
	requests []string          // that it has, of [Requests]
	answers  map[string]string // results of requests that servers make of clients, by method
	jsonRPC  bool              // messages have ids; else whatever comes is an answer to us
	echoes   bool              // answers hold what was sent
	tryEcho  bool              // whether they do is to be found out by a request

	// greet shakes hands with a server that has just been started; nil where nothing is said.
	greet func(ctx context.Context, c *conn, within time.Duration) error
	// request makes a request of exactly size bytes, or of as few as it takes.
	request func(kind requestKind, size int) *requestTemplate
	// demand makes a request for an answer of about n bytes; nil where there is no such one.
	demand func(n int) *requestTemplate
}

// tools reports whether the protocol has tools that can be called.
func (p *protocol) tools() bool { return slices.Contains(p.requests, RequestTool) }

// describe says in words what requests exercise.
func (p *protocol) describe() string {
	switch {
	case p.sends == "":
		return "method " + unknownMethod + ", which is to be refused"
	case p.echoes:
		return p.sends + ", its answers compared byte by byte"
	}
	return p.sends
}

// respond makes the answer to a request of the server's own. It is called of JSON-RPC alone.
func (p *protocol) respond(msg []byte, e jsonrpc.Envelope) []byte {
	result, known := p.answers[string(e.Method)]
	var request struct {
		Params struct {
			Items []json.RawMessage `json:"items"`
		} `json:"params"`
	}
	switch {
	case known && result == nothingSet && json.Unmarshal(msg, &request) == nil:
		result = strings.Repeat("null,", len(request.Params.Items))
		result = "[" + strings.TrimSuffix(result, ",") + "]"
	case !known:
		why := jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not a method of this client"}
		return jsonrpc.AppendError(nil, jsonrpc.ID(e.ID), why)
	}
	return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), []byte(result))
}

// nothingSet stands for a list of nulls, one for each item that is asked for.
const nothingSet = "[]"

// A requestKind is what a request exercises.
type requestKind uint8

const (
	toolRequest      requestKind = iota // the tool, or what stands for one: the way a user's request takes
	transportRequest                    // nothing but reading, framing, and a refusal
)

// What requests exercise.
const (
	// RequestAuto calls MCP's tool echo, if there is one; else it is RequestUnknown.
	RequestAuto = "auto"
	// RequestUnknown asks for a method that no server knows, padded to size: nothing but reading,
	// framing, and a refusal.
	RequestUnknown = "unknown"
	// RequestTool calls a tool of an MCP server.
	RequestTool = "tool"
	// RequestDocument gives a language server a document of the size (didOpen), asks for its
	// symbols, and closes it.
	RequestDocument = "document"
)

// Requests lists what requests can exercise.
func Requests() []string {
	return []string{RequestAuto, RequestUnknown, RequestTool, RequestDocument}
}

// Protocols lists the names of the protocols, "auto" first.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

// newProtocol makes the protocol that the options name; nil for "auto". Their framing, which
// withDefaults has checked, comes before the protocol's own.
func newProtocol(o Options) *protocol {
	switch o.Protocol {
	case "mcp":
		return &newMCP(o, o.framing(framers.NDJSON())).protocol
	case "lsp":
		return &newLSP(o, o.framing(framers.ContentLength())).protocol
	case "jsonrpc":
		return newBare(o.framing(framers.NDJSON()))
	case "lines":
		return newLines(o.framing(framers.NDJSON()), true)
	}
	return nil
}

func (o Options) framing(standard framers.Framing) framers.Framing {
	if f, err := framers.Parse(o.Framing); o.Framing != "" && err == nil {
		return f
	}
	return standard
}

// checkRequest reports a request that the protocol does not have.
func checkRequest(p *protocol, o Options) error {
	if !slices.Contains(p.requests, o.Request) {
		return fmt.Errorf("drive: %s has no request %q, only %s", p.name, o.Request, strings.Join(p.requests, ", "))
	}
	if !p.tools() && o.Tool+o.Arg+o.Args+o.ReplyTool != "" {
		return fmt.Errorf("drive: %s has no tools that could be called with arguments", p.name)
	}
	return nil
}

// newBare is JSON-RPC without a protocol above it, where no method is known to exist.
func newBare(wire framers.Framing) *protocol {
	p := &protocol{
		name: "jsonrpc", wire: wire, requests: []string{RequestAuto, RequestUnknown}, jsonRPC: true, tryEcho: true,
	}
	p.request = func(_ requestKind, size int) *requestTemplate {
		t := refusable(size, "")
		t.echoes = p.echoes
		return t
	}
	return p
}

// newLines are lines, each of which a filter answers with a line, the same one (cat) or another. That
// needs no try: it was seen in the handshake, or is what was asked for. They are JSON text, which
// filters of any text take, too.
func newLines(wire framers.Framing, echoes bool) *protocol {
	p := &protocol{name: "lines", sends: "lines", wire: wire, requests: []string{RequestAuto}, echoes: echoes}
	if !echoes {
		p.name = "lines (answers with others)"
	}
	p.request = func(_ requestKind, size int) *requestTemplate {
		t := newTemplate(`"`, `"`, size)
		t.echoes = p.echoes
		return t
	}
	return p
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"
