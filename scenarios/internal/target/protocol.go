package target

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Protocol is what a server speaks, together with facts about the server that need not be found
// out again when it is started later.
type Protocol struct {
	Name    string // with its revision, as records have it: "mcp 2025-11-25"
	Framing framers.Framing
	JSONRPC bool // messages have ids; else every message counts as an answer
	Echoes  bool // answers contain what was sent
	// Demand makes a request for an answer of about n bytes. It is nil if the protocol has no such
	// request.
	Demand    func(n int) *Request
	Call      string   // the tool of Demand, or one that may do, and its number: "report rows"
	Hints     []string // why tools are not called, and flags that call one
	TakesText bool     // a tool has an argument that is a text
	ToolFails bool     // the tool did not answer a first, small request
	Silent    bool     // it ignores unknownMethod, and no other request is known that it answers
	// OneRead says that the server refused two messages that came together, and answers one alone.
	OneRead atomic.Bool
	// Paces holds, by Kind, how long the first requests took.
	Paces [2]Pace

	sends    string   // what requests exercise, in words; "" for unknownMethod
	requests []string // which of Requests() it has
	tryEcho  bool     // a first request is to find out whether answers hold what was sent
	refusal  string   // the code of the error for an unknown method
	ignores  bool     // it does not answer an unknown method: instead takes its place
	instead  string   // a method that the server should have; "" if none is known
	about    string   // JSON members that the params of instead need, and a comma
	meta     string   // JSON members that begin all params, and a comma; "" in most protocols
	// answers holds our results for the requests that servers send, by method.
	answers map[string]json.RawMessage
	folder  string // an empty folder that servers are told to open; "": none; Close removes it

	greet   func(greeting) error               // completes the handshake; nil if there is none
	request func(kind Kind, size int) *Request // makes a request of size bytes
}

// A Kind is what a request exercises.
type Kind uint8

const (
	Tool      Kind = iota // what users ask for: a tool, or what a protocol has instead
	Transport             // the server only reads the request and refuses it
)

// Values by which the user chooses what requests exercise.
const (
	RequestAuto     = "auto"
	RequestUnknown  = "unknown"
	RequestTool     = "tool"
	RequestDocument = "document"
)

// Requests lists what requests can exercise.
func Requests() []string {
	return []string{RequestAuto, RequestUnknown, RequestTool, RequestDocument}
}

// Protocols lists the names of the protocols, "auto" first.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

// Close removes the folder that servers of the protocol were told to open.
func (p *Protocol) Close() { os.RemoveAll(p.folder) }

// HasTools reports whether the protocol has tools that can be called.
func (p *Protocol) HasTools() bool { return slices.Contains(p.requests, RequestTool) }

// CallsTool reports whether requests of the kind Tool call a tool.
func (p *Protocol) CallsTool() bool { return p.HasTools() && p.sends != "" }

// Speaks returns the name of the protocol without its revision.
func (p *Protocol) Speaks() string {
	name, _, _ := strings.Cut(p.Name, " ")
	return name
}

// Sends says in words what requests exercise.
func (p *Protocol) Sends() string {
	text := p.sends
	switch {
	case p.sends == "" && p.ignores:
		text = "method " + p.instead + ", as it ignores unknown methods"
	case p.sends == "" && p.refusal == "":
		text = "method " + unknownMethod
	case p.sends == "":
		text = "method " + unknownMethod + ", which it refuses"
	case p.Echoes:
		return p.sends + ", answers checked byte by byte"
	}
	switch {
	case p.Demand != nil:
		return text + "; large replies are asked of " + p.Call + " in a search for limits"
	case p.CallsTool():
		text += "; answers are not compared: "
	case p.HasTools():
		text += "; large replies are not tried: "
	default:
		return text
	}
	return text + cmp.Or(strings.Join(p.Hints, ", "), "no tool echoes (see --reply-tool)")
}

// Request makes a request of size bytes, or the smallest possible request if that is larger.
func (p *Protocol) Request(kind Kind, size int) *Request {
	r := p.request(kind, size)
	r.Kind = kind
	r.refusal = p.refusal
	r.Echoes = p.Echoes && (kind == Tool || !p.HasTools()) // if there are tools, only they echo
	return r
}

// Smallest makes a small request whose payload has room for the number of the request.
func (p *Protocol) Smallest(kind Kind) *Request {
	return p.Request(kind, p.Request(kind, asSmallAsCanBe).Size()+4*StampDigits)
}

// plain makes a request of size bytes that calls no tool: the server refuses it or, if it ignores
// unknown methods, has its method.
func (p *Protocol) plain(size int) *Request {
	if !p.ignores {
		return refusable(unknownMethod, p.meta, size)
	}
	r := refusable(p.instead, p.meta+p.about, size)
	r.errs = p.refusal != "" // it refused the first one
	return r
}

// Unknown makes a request for a method that no server knows.
func (p *Protocol) Unknown() *Request { return refusable(unknownMethod, p.meta, asSmallAsCanBe) }

// An OptionError says that the server lacks something that the options name.
type OptionError string

func (e OptionError) Error() string { return string(e) }

func optionError(format string, args ...any) error {
	return OptionError(fmt.Sprintf(format, args...))
}

// check returns an error if the options ask for a request or a tool that the protocol lacks.
func (p *Protocol) check(o Options) error {
	request := cmp.Or(o.Request, RequestAuto)
	if !slices.Contains(p.requests, request) {
		return optionError("%s has no request %q, only %s",
			p.Speaks(), request, strings.Join(p.requests, ", "))
	}
	if !p.HasTools() && (o.Tool != ToolCall{} || o.ReplyTool != ToolCall{}) {
		return optionError("%s has no tools that could be called with arguments", p.Speaks())
	}
	return nil
}

// respond makes the answer to a request that a server sends.
func (p *Protocol) respond(msg []byte, e jsonrpc.Envelope) []byte {
	result, known := p.answers[string(e.Method)]
	if !known {
		why := jsonrpc.Error{
			Code:    jsonrpc.CodeMethodNotFound,
			Message: "not a method of this client",
		}
		return jsonrpc.AppendError(nil, jsonrpc.ID(e.ID), why)
	}
	if string(result) == "[]" { // one null for each item that is asked for
		var request struct{ Params struct{ Items []any } }
		if json.Unmarshal(msg, &request) == nil {
			result, _ = json.Marshal(make([]any, len(request.Params.Items)))
		}
	}
	return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), result)
}

// named makes the protocol that the options name. It returns nil for "auto".
func named(o Options) *Protocol {
	switch o.Protocol {
	case "mcp":
		return &newMCP(o, o.framing(framers.NDJSON())).Protocol
	case "lsp":
		return &newLSP(o, o.framing(framers.ContentLength())).Protocol
	case "jsonrpc":
		return newBare(o.framing(framers.NDJSON()))
	case "lines":
		return newEcho(o.framing(framers.NDJSON()))
	}
	return nil
}

// newBare returns the protocol of a server that speaks JSON-RPC without a known protocol above it.
func newBare(wire framers.Framing) *Protocol {
	return &Protocol{
		Name: "jsonrpc", Framing: wire, requests: []string{RequestAuto, RequestUnknown},
		JSONRPC: true, tryEcho: true,
		request: func(_ Kind, size int) *Request { return refusable(unknownMethod, "", size) },
	}
}

// newEcho returns the protocol of a filter that answers each line with the same line, as cat does.
func newEcho(wire framers.Framing) *Protocol {
	return &Protocol{
		Name: "lines", sends: "lines", Framing: wire, requests: []string{RequestAuto},
		Echoes:  true,
		request: func(_ Kind, size int) *Request { return newRequest(`"`, `"`, size) },
	}
}

// unknownMethod is a method that no server has. Refusing it is the least work for a server.
const unknownMethod = "pipebench/unknown"

// quoted returns a text as a JSON string.
func quoted(text string) string { return string(jsonrpc.AppendString(nil, text)) }
