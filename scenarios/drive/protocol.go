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
type protocol interface {
	about() *traits
	// greet shakes hands with a server that has just been started.
	greet(ctx context.Context, c *conn, within time.Duration) error
	// request makes a request of exactly size bytes, or of as few as it takes.
	request(kind requestKind, size int) *requestTemplate
}

// traits are what every protocol has.
type traits struct {
	name     string // for the record, with its revision: "mcp 2025-11-25"
	sends    string // what requests exercise, in words; "" for unknownMethod
	wire     framers.Framing
	requests []string          // that it has, of [Requests]
	answers  map[string]string // results of requests that servers make of clients, by method
	jsonRPC  bool              // messages have ids; else whatever comes is an answer to us
	echoes   bool              // answers hold what was sent
	tryEcho  bool              // whether they do is to be found out by a request
}

func (t *traits) about() *traits { return t }

// describe says in words what requests exercise.
func (t *traits) describe() string {
	switch {
	case t.sends == "":
		return "method " + unknownMethod + ", which is to be refused"
	case t.echoes:
		return t.sends + ", its answers compared byte by byte"
	}
	return t.sends
}

// respond makes the answer to a request of the server's own. It is called of JSON-RPC alone.
func (t *traits) respond(msg []byte, e jsonrpc.Envelope) []byte {
	result, known := t.answers[string(e.Method)]
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
func newProtocol(o Options) protocol {
	switch o.Protocol {
	case "mcp":
		return newMCP(o, o.framing(framers.NDJSON()))
	case "lsp":
		return newLSP(o, o.framing(framers.ContentLength()))
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
func checkRequest(p protocol, o Options) error {
	name, known := p.about().name, p.about().requests
	if !slices.Contains(known, o.Request) {
		return fmt.Errorf("drive: %s has no request %q, only %s", name, o.Request, strings.Join(known, ", "))
	}
	if _, hasTools := p.(*mcp); !hasTools && o.Tool+o.Arg+o.Args+o.ReplyTool != "" {
		return fmt.Errorf("drive: %s has no tools that could be called with arguments", name)
	}
	return nil
}

// A plain protocol has no handshake: JSON-RPC without a protocol above it, where no method is known
// to exist, or lines, each of which a filter answers with a line, the same one (cat) or another.
type plain struct{ traits }

func newBare(wire framers.Framing) *plain {
	return &plain{traits{
		name: "jsonrpc", wire: wire, requests: []string{RequestAuto, RequestUnknown}, jsonRPC: true, tryEcho: true,
	}}
}

// newLines needs no try to tell an echo: it was seen in the handshake, or is what was asked for.
func newLines(wire framers.Framing, echoes bool) *plain {
	name := "lines"
	if !echoes {
		name = "lines (answers with others)"
	}
	return &plain{traits{name: name, sends: "lines", wire: wire, requests: []string{RequestAuto}, echoes: echoes}}
}

// greet finds nothing out: a line that is not answered is the first request's finding.
func (p *plain) greet(context.Context, *conn, time.Duration) error { return nil }

// request makes lines of JSON text, which filters of any text take, too.
func (p *plain) request(_ requestKind, size int) *requestTemplate {
	t := newTemplate(`"`, `"`, size)
	if p.jsonRPC {
		t = refusable(size, "")
	}
	t.echoes = p.echoes
	return t
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"
