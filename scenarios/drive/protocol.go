package drive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
)

// A protocol is what a server speaks. What its handshake finds out is kept, so that a server that
// is started again is not asked again.
type protocol struct {
	name     string // for the record, with its revision: "mcp 2025-11-25"
	sends    string // what requests exercise, in words; "" for unknownMethod
	wire     framers.Framing
	requests []string                   // that it has, of [Requests]
	answers  map[string]json.RawMessage // results of requests that servers make of clients, by method
	jsonRPC  bool                       // messages have ids; else whatever comes is an answer to us
	echoes   bool                       // answers hold what was sent
	tryEcho  bool                       // whether they do is to be found out by a request

	// greet shakes hands with a server that has just been started; nil where nothing is said.
	greet func(handshake)
	// request makes a request of exactly size bytes, or of as few as it takes.
	request func(kind requestKind, size int) *requestTemplate
	// demand makes a request for an answer of about n bytes; nil where there is no such one.
	demand func(n int) *requestTemplate
}

// tools reports whether the protocol has tools that can be called.
func (p *protocol) tools() bool { return slices.Contains(p.requests, RequestTool) }

// respond makes the answer to a request of the server's own. It is called of JSON-RPC alone.
func (p *protocol) respond(msg []byte, e jsonrpc.Envelope) []byte {
	result, known := p.answers[string(e.Method)]
	var request struct{ Params struct{ Items []any } }
	switch {
	case !known:
		why := jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not a method of this client"}
		return jsonrpc.AppendError(nil, jsonrpc.ID(e.ID), why)
	case string(result) == "[]" && json.Unmarshal(msg, &request) == nil: // one for each item that is asked for
		result, _ = json.Marshal(make([]any, len(request.Params.Items)))
	}
	return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), result)
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

// newBare is JSON-RPC without a protocol above it, where no method is known to exist.
func newBare(wire framers.Framing) *protocol {
	return &protocol{
		name: "jsonrpc", wire: wire, requests: []string{RequestAuto, RequestUnknown}, jsonRPC: true, tryEcho: true,
		request: func(_ requestKind, size int) *requestTemplate { return refusable(size, "") },
	}
}

// newLines are lines, each of which a filter answers with a line, the same one (cat) or another. That
// needs no try: it was seen in the handshake, or is what was asked for. They are JSON text, which
// filters of any text take, too.
func newLines(wire framers.Framing, echoes bool) *protocol {
	p := &protocol{
		name: "lines", sends: "lines", wire: wire, requests: []string{RequestAuto}, echoes: echoes,
		request: func(_ requestKind, size int) *requestTemplate { return newTemplate(`"`, `"`, size) },
	}
	if !echoes {
		p.name = "lines (answers with others)"
	}
	return p
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"

// Options say what to start and how to speak to it. Only Command is needed.
type Options struct {
	Command []string // program and arguments; no shell is involved
	Env     []string // of the server; nil is ours
	Dir     string   // where it runs; "" is where we run

	Protocol string // "mcp", "lsp", "jsonrpc", "lines"; "" and "auto" find out
	Framing  string // a framers spec; "" is the protocol's own
	Request  string // what requests exercise, one of Requests; "" is RequestAuto

	// MCP: the tool to call ("" is "echo" if there is one, else a method that no server knows), its
	// argument that takes the payload ("" is its first text), and the others, a JSON object.
	Tool, Arg, Args string
	// MCP: the tool by which the limit of replies is sought ("" is the echo, and beyond the limit
	// of requests one that makes bytes), its argument that says how much ("" is its first number),
	// and the others, a JSON object.
	ReplyTool, ReplyArg, ReplyArgs string

	Language string // LSP: of the documents; "" is the first of Languages whose symbol the server finds

	Pipe       syspipe.Kind  // of standard input and output; "" is anonymous
	Capacity   int           // bytes of each pipe; 0 leaves it to the system
	WriteChunk int           // bytes given to the pipe at a time; 0 is a message in one call
	WritePause time.Duration // between two of those

	Start    time.Duration // how long the server may take until it has answered the handshake; 0 is 10 s
	Patience time.Duration // the least deadline for an answer; 0 is 1 s
	Longest  time.Duration // the greatest; 0 is 2 min
	Budget   time.Duration // how long a sweep measures one size; 0 is 300 ms

	Starts   int // of a server whose starts are compared; 0 is 50
	Requests int // after which memory is compared; 0 is 10,000

	MaxReply int // bytes of a message of the server's, beyond which it is said to have no end; 0 is 256 MiB

	Observe func(step string) // if set, is told what is tried, by the goroutine that measures

	Run string // the run that records belong to

	root      string // LSP: of the documents, a URI
	undrained bool   // leave standard error unread
	nonblock  bool   // hand the server a standard output in non-blocking mode
	behind    bool   // have a process between us start the server
	mark      string // "NAME=value" in Env, by which what the server starts is found; "" where nobody is
	scratch   string // the folder for temporary files in Env; "" where there is none
}

// Validate reports all that is wrong with the options, without starting anything.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults fills in what was left open, and reports all that is wrong with the rest.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	if len(o.Command) == 0 {
		faults = append(faults, errors.New("no command to start"))
	}
	o.Pipe = cmp.Or(o.Pipe, syspipe.Anonymous)
	faults = append(faults, o.Pipe.Supported(), o.checkRequest(), compact(&o.Args), compact(&o.ReplyArgs))
	o.Request = cmp.Or(o.Request, RequestAuto)
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	if o.Protocol != "" && !slices.Contains(Protocols(), o.Protocol) {
		faults = append(faults, fmt.Errorf("unknown protocol %q (known: %s)", o.Protocol, strings.Join(Protocols(), ", ")))
	}
	if o.Framing != "" {
		if _, err := framers.Parse(o.Framing); err != nil {
			faults = append(faults, err)
		}
	}
	for d, usual := range map[*time.Duration]time.Duration{
		&o.Start: 10 * time.Second, &o.Patience: time.Second, &o.Longest: 2 * time.Minute, &o.Budget: 300 * time.Millisecond,
	} {
		*d = cmp.Or(max(*d, 0), usual)
	}
	o.MaxReply = cmp.Or(max(o.MaxReply, 0), 256<<20)
	o.Starts, o.Requests = cmp.Or(max(o.Starts, 0), 50), cmp.Or(max(o.Requests, 0), 10_000)
	if o.Capacity < 0 || o.WriteChunk < 0 || o.WritePause < 0 {
		faults = append(faults, errors.New("capacity, write chunk and write pause cannot be negative"))
	}
	if err := errors.Join(faults...); err != nil {
		return o, fmt.Errorf("drive: %w", err)
	}
	return o, nil
}

// checkRequest reports a request that is none, or cannot be.
func (o Options) checkRequest() error {
	switch {
	case o.Request != "" && !slices.Contains(Requests(), o.Request):
		return fmt.Errorf("unknown request %q (known: %s)", o.Request, strings.Join(Requests(), ", "))
	case o.ReplyArg+o.ReplyArgs != "" && o.ReplyTool == "":
		return errors.New("arguments for replies say nothing without their tool")
	case o.Tool != "" && (o.Request == RequestUnknown || o.Request == RequestDocument):
		return fmt.Errorf("tool %s is not called by request %q", o.Tool, o.Request)
	case o.Language != "" && o.Request != RequestDocument:
		return fmt.Errorf("language %q says nothing without request %q", o.Language, RequestDocument)
	}
	return nil
}

// compact makes a JSON object its members, each followed by a comma, on one line.
func compact(args *string) error {
	if *args == "" {
		return nil
	}
	text := jsontext.Value(*args)
	err := text.Compact()
	if err == nil && text.Kind() != '{' {
		err = errors.New("it is none")
	}
	if err != nil {
		return fmt.Errorf("arguments %s: want a JSON object: %w", *args, err)
	}
	if *args = string(text[1 : len(text)-1]); *args != "" {
		*args += ","
	}
	return nil
}
