package target

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Protocol is what a server speaks. It keeps the results of its handshake, so that a server that
// is started again is not asked again.
type Protocol struct {
	Name    string // for the record, with its revision: "mcp 2025-11-25"
	Framing framers.Framing
	JSONRPC bool // messages have ids; else every message counts as an answer
	Echoes  bool // answers hold what was sent
	// Demand makes a request for an answer of about n bytes; nil if there is no such request.
	Demand    func(n int) *Request
	ToolFails bool // the tool did not answer a first, small request
	// Paces tells by Kind how long the first requests took. Every further server begins with it.
	Paces [2]Pace

	sends    string   // what requests exercise, in words; "" for unknownMethod
	requests []string // those of Requests that it has
	tryEcho  bool     // a first request is to find out whether answers hold what was sent
	refusal  string   // the code of the error for an unknown method
	ignores  bool     // it does not answer an unknown method
	meta     string   // JSON members of all params, followed by a comma; "" in most protocols
	// answers has the results of requests that servers make of clients, by method.
	answers map[string]json.RawMessage
	folder  string // an empty one that servers are told of, removed by Close; "" if there is none

	greet   func(greeting) error // shakes hands with a server; nil if nothing is said
	request func(kind Kind, size int) *Request
}

// A Kind is what a request exercises.
type Kind uint8

// Kinds of requests.
const (
	Tool      Kind = iota // the tool, or what a protocol has instead: what users ask for
	Transport             // nothing but reading, framing, and a refusal
)

// Requests exercise one of these.
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

// Close removes the folder that servers of the protocol were told of.
func (p *Protocol) Close() { os.RemoveAll(p.folder) }

// HasTools reports whether the protocol has tools that can be called.
func (p *Protocol) HasTools() bool { return slices.Contains(p.requests, RequestTool) }

// Speaks returns the name without the revision.
func (p *Protocol) Speaks() string {
	name, _, _ := strings.Cut(p.Name, " ")
	return name
}

// Sends says in words what requests exercise.
func (p *Protocol) Sends() string {
	switch {
	case p.sends == "" && p.ignores:
		return "method " + listMethod
	case p.sends == "":
		return "method " + unknownMethod + ", which is to be refused"
	case p.Echoes:
		return p.sends + ", its answers compared byte by byte"
	}
	return p.sends
}

// Request makes a request of size bytes, or as small as can be.
func (p *Protocol) Request(kind Kind, size int) *Request {
	r := p.request(kind, size)
	r.Kind = kind
	r.refusal = p.refusal
	r.Echoes = p.Echoes && (kind == Tool || !p.HasTools()) // if there are tools, only they echo
	return r
}

// Smallest makes a request that any server takes, with room for its number.
func (p *Protocol) Smallest(kind Kind) *Request {
	return p.Request(kind, p.Request(kind, asSmallAsCanBe).Size()+4*StampDigits)
}

// plain makes a request, padded to size, that exercises no tool: for a method that is refused or,
// if the server ignores such methods, for its list of tools.
func (p *Protocol) plain(size int) *Request {
	if p.ignores {
		before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"` + listMethod +
			`","params":{` + p.meta + `"pad":"`
		return newRequest(before, `"}}`, size)
	}
	return refusable(size, p.meta)
}

// Unknown makes a request for a method that no server knows.
func (p *Protocol) Unknown() *Request { return refusable(asSmallAsCanBe, p.meta) }

// check returns an error if the options ask for a request or a tool that the protocol lacks.
func (p *Protocol) check(o Options) error {
	request := o.Request
	if request == "" {
		request = RequestAuto
	}
	if !slices.Contains(p.requests, request) {
		return fmt.Errorf("%s has no request %q, only %s",
			p.Speaks(), request, strings.Join(p.requests, ", "))
	}
	if !p.HasTools() && (o.Tool != ToolCall{} || o.ReplyTool != ToolCall{}) {
		return fmt.Errorf("%s has no tools that could be called with arguments", p.Speaks())
	}
	return nil
}

// respond makes the answer to a request of the server's own.
func (p *Protocol) respond(msg []byte, e jsonrpc.Envelope) []byte {
	result, known := p.answers[string(e.Method)]
	if !known {
		why := jsonrpc.Error{
			Code:    jsonrpc.CodeMethodNotFound,
			Message: "not a method of this client",
		}
		return jsonrpc.AppendError(nil, jsonrpc.ID(e.ID), why)
	}
	if string(result) == "[]" { // one for each item that is asked for
		var request struct{ Params struct{ Items []any } }
		if json.Unmarshal(msg, &request) == nil {
			result, _ = json.Marshal(make([]any, len(request.Params.Items)))
		}
	}
	return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), result)
}

// named makes the protocol that the options name; nil for "auto".
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

// newBare is JSON-RPC without a protocol above it, where no method is known to exist.
func newBare(wire framers.Framing) *Protocol {
	return &Protocol{
		Name: "jsonrpc", Framing: wire, requests: []string{RequestAuto, RequestUnknown},
		JSONRPC: true, tryEcho: true,
		request: func(_ Kind, size int) *Request { return refusable(size, "") },
	}
}

// newEcho is the protocol of a filter that answers each line with the same line, as cat does. The
// lines are JSON, because a filter of any text takes JSON as well.
func newEcho(wire framers.Framing) *Protocol {
	return &Protocol{
		Name: "lines", sends: "lines", Framing: wire, requests: []string{RequestAuto},
		Echoes:  true,
		request: func(_ Kind, size int) *Request { return newRequest(`"`, `"`, size) },
	}
}

// newFilter is the protocol of a filter that answers each line with another line.
func newFilter(wire framers.Framing) *Protocol {
	p := newEcho(wire)
	p.Name = "lines (answers with others)"
	p.Echoes = false
	return p
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"

// listMethod takes the place of unknownMethod if a server ignores methods that it does not know.
const listMethod = "tools/list"

// quoted returns a text as a JSON string.
func quoted(text string) string { return string(jsonrpc.AppendString(nil, text)) }
