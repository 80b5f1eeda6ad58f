package drive

import (
	"context"
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
	String() string // for the record: "mcp 2025-11-25"
	about() *traits
	// greet shakes hands with a server that has just been started.
	greet(ctx context.Context, c *conn, within time.Duration) error
	// respond makes the answer to a request of the server's own. It is called of JSON-RPC alone.
	respond(msg []byte, e jsonrpc.Envelope) []byte
	// request makes a request of exactly size bytes, or of as few as it takes.
	request(kind requestKind, size int) *requestTemplate
	// describe says in words what requests exercise.
	describe() string
}

// traits are what every protocol has.
type traits struct {
	wire     framers.Framing
	requests []string // that it has, of [Requests]
	jsonRPC  bool     // messages have ids; else whatever comes is an answer to us
	echoes   bool     // answers hold what was sent
	tryEcho  bool     // whether they do is to be found out by a request
}

func (t *traits) about() *traits { return t }

// compared adds to a description whether answers are compared with what was sent.
func (t *traits) compared(what string) string {
	if t.echoes {
		return what + ", its answers compared byte by byte"
	}
	return what
}

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
	if known := p.about().requests; !slices.Contains(known, o.Request) {
		return fmt.Errorf("drive: %s has no request %q, only %s", p, o.Request, strings.Join(known, ", "))
	}
	if _, hasTools := p.(*mcp); !hasTools && o.Tool+o.Arg+o.Args+o.ReplyTool != "" {
		return fmt.Errorf("drive: %s has no tools that could be called with arguments", p)
	}
	return nil
}

// A plain protocol has no handshake: JSON-RPC without a protocol above it, where no method is known
// to exist, or lines, each of which a filter answers with a line, the same one (cat) or another.
type plain struct{ traits }

func newBare(wire framers.Framing) *plain {
	return &plain{traits{wire: wire, requests: []string{RequestAuto, RequestUnknown}, jsonRPC: true, tryEcho: true}}
}

// newLines needs no try to tell an echo: it was seen in the handshake, or is what was asked for.
func newLines(wire framers.Framing, echoes bool) *plain {
	return &plain{traits{wire: wire, requests: []string{RequestAuto}, echoes: echoes}}
}

func (p *plain) String() string {
	switch {
	case p.jsonRPC:
		return "jsonrpc"
	case p.echoes:
		return "lines"
	}
	return "lines (answers with others)"
}

// greet finds nothing out: a line that is not answered is the first request's finding.
func (p *plain) greet(context.Context, *conn, time.Duration) error { return nil }

func (p *plain) respond(_ []byte, e jsonrpc.Envelope) []byte { return methodNotFound(e) }

// request makes lines of JSON text, which filters of any text take, too.
func (p *plain) request(_ requestKind, size int) *requestTemplate {
	t := newTemplate(`"`, `"`, size)
	if p.jsonRPC {
		t = refusable(size, "")
	}
	t.echoes = p.echoes
	return t
}

func (p *plain) describe() string {
	if p.jsonRPC {
		return describeUnknown
	}
	return p.compared("lines")
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"

const describeUnknown = "method " + unknownMethod + ", which is to be refused"

// methodNotFound makes the answer that a client gives to what it does not know.
func methodNotFound(e jsonrpc.Envelope) []byte {
	return jsonrpc.AppendError(nil, jsonrpc.ID(e.ID), jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not a method of this client"})
}

func resultOf(e jsonrpc.Envelope, result string) []byte {
	return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), []byte(result))
}
