package drive

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// A protocol is what a server speaks. What its handshake finds out is kept, so that a server that
// is started again is not asked again.
type protocol struct {
	name     string // for the record, with its revision: "mcp 2025-11-25"
	sends    string // what requests exercise, in words; "" for unknownMethod
	wire     framers.Framing
	requests []string // that it has, of [Requests]
	// results of requests that servers make of clients, by method
	answers map[string]json.RawMessage
	jsonRPC bool // messages have ids; else whatever comes is an answer to us
	echoes  bool // answers hold what was sent
	tryEcho bool // whether they do is to be found out by a request

	// greet shakes hands with a server that has just been started; nil where nothing is said.
	greet func(handshake) error
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
		why := jsonrpc.Error{
			Code:    jsonrpc.CodeMethodNotFound,
			Message: "not a method of this client",
		}
		return jsonrpc.AppendError(nil, jsonrpc.ID(e.ID), why)
	// one for each item that is asked for
	case string(result) == "[]" && json.Unmarshal(msg, &request) == nil:
		result, _ = json.Marshal(make([]any, len(request.Params.Items)))
	}
	return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), result)
}

// A requestKind is what a request exercises.
type requestKind uint8

const (
	// the tool, or what stands for one: the way a user's request takes
	toolRequest      requestKind = iota
	transportRequest             // nothing but reading, framing, and a refusal
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
		name: "jsonrpc", wire: wire, requests: []string{RequestAuto, RequestUnknown},
		jsonRPC: true, tryEcho: true,
		request: func(_ requestKind, size int) *requestTemplate { return refusable(size, "") },
	}
}

// newLines are lines, each of which a filter answers with a line, the same one (cat) or another.
// That needs no try: it was seen in the handshake, or is what was asked for. They are JSON text,
// which filters of any text take, too.
func newLines(wire framers.Framing, echoes bool) *protocol {
	p := &protocol{
		name: "lines", sends: "lines", wire: wire, requests: []string{RequestAuto}, echoes: echoes,
		request: func(_ requestKind, size int) *requestTemplate {
			return newTemplate(`"`, `"`, size)
		},
	}
	if !echoes {
		p.name = "lines (answers with others)"
	}
	return p
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"

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

// A toolCall is a tool with the argument that is ours to fill: with text, or with a number of
// bytes.
type toolCall struct {
	name, arg string
	others    string // arguments besides, each followed by a comma
}

func newMCP(o Options, wire framers.Framing) *mcp {
	tool, sized := toolCall{o.Tool, o.Arg, o.Args}, toolCall{o.ReplyTool, o.ReplyArg, o.ReplyArgs}
	m := &mcp{kind: o.Request, tool: tool, sized: sized}
	m.protocol = protocol{
		name: "mcp", wire: wire, requests: []string{RequestAuto, RequestUnknown, RequestTool},
		jsonRPC: true, answers: map[string]json.RawMessage{"ping": []byte("{}")},
		greet: m.greet, request: m.request,
	}
	return m
}

// discoverParams are what each request of the newest revision carries.
var discoverParams = "{" + mcpstdio.Meta(mcpstdio.FirstWithout) + "}"

func (m *mcp) greet(h handshake) error {
	var reply answer
	if !m.known {
		var err error
		reply, err = h.call("server/discover", discoverParams)
		if err != nil {
			return err
		}
	}
	return m.enter(h, reply)
}

// enter ends the handshake with a server that answered server/discover, or did so when it was first
// started, in the way of its era.
func (m *mcp) enter(h handshake, reply answer) error {
	var about struct{ SupportedVersions []string }
	if reply.decode(&about) == nil &&
		slices.Contains(about.SupportedVersions, mcpstdio.FirstWithout) {
		m.meta, m.name = mcpstdio.Meta(mcpstdio.FirstWithout)+",", "mcp "+mcpstdio.FirstWithout
	}
	if m.meta == "" {
		if err := m.initialize(h); err != nil {
			return err
		}
	}
	if !m.known {
		return m.chooseTools(h)
	}
	return nil
}

func (m *mcp) initialize(h handshake) error {
	reply, err := h.call("initialize", mcpstdio.InitializeParams(mcpstdio.LastWithHandshake))
	if err != nil {
		return err
	}
	var hello struct{ ProtocolVersion string }
	if err := reply.decode(&hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if hello.ProtocolVersion == "" {
		return errors.New(
			"initialize: the answer names no protocolVersion, so this is no MCP server",
		)
	}
	// treatments shake hands at once, and agree
	if name := "mcp " + hello.ProtocolVersion; m.name != name {
		m.name = name
	}
	return h.say([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`))
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
	properties := t.InputSchema.Properties
	fits := func(name string) bool { return slices.Contains(kinds, properties[name].Type) }
	names := stat.Filter(slices.Sorted(maps.Keys(properties)), fits)
	required := stat.Filter(
		names,
		func(name string) bool { return slices.Contains(t.InputSchema.Required, name) },
	)
	return slices.Concat(required, names, []string{""})[0]
}

// chooseTools finds the tools to call. None is called but one that is asked for or named echo, and
// for replies one that only makes bytes: a tool may do anything.
func (m *mcp) chooseTools(h handshake) error {
	reply, err := h.call("tools/list", "{"+strings.TrimSuffix(m.meta, ",")+"}")
	if err != nil {
		return err
	}
	var list struct{ Tools []tool }
	err = reply.decode(&list)
	if err != nil && reply.failure == nil { // a server without any may refuse
		return fmt.Errorf("tools/list: %w", err)
	}
	tools := list.Tools
	m.known = true
	demanded := m.tool.name != "" || m.kind == RequestTool
	if m.tool.name == "" && m.kind != RequestUnknown {
		m.tool.name = "echo"
	}
	m.tool, err = m.tool.complete(tools, demanded, "string")
	if err != nil {
		return err
	}
	if m.tool.name != "" {
		m.sends, m.tryEcho = "tool "+m.tool.name, true
	}
	if m.sized.name != "" {
		m.demand = m.askFor
		m.sized, err = m.sized.complete(tools, true, "integer", "number")
		return err
	}
	for _, t := range tools {
		arg, required := t.argument("integer", "number"), t.InputSchema.Required
		if m.demand == nil && slices.Contains(replyToolNames, t.Name) &&
			slices.Contains(replyArguments, arg) &&
			(len(required) == 0 || slices.Equal(required, []string{arg})) {
			m.sized, m.demand = toolCall{name: t.Name, arg: arg}, m.askFor
		}
	}
	return nil
}

// complete finds the tool among those of the server, and its first argument of a type where none is
// named. A tool that is not there is an error if it is demanded, else it is none.
func (call toolCall) complete(tools []tool, demanded bool, kinds ...any) (toolCall, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == call.name })
	if i < 0 {
		names := slices.Sorted(
			slices.Values(stat.Map(tools, func(t tool) string { return t.Name })),
		)
		if demanded {
			return call, fmt.Errorf("the server has no tool %q; it has %s", call.name, names)
		}
		return toolCall{}, nil
	}
	call.arg = cmp.Or(call.arg, tools[i].argument(kinds...))
	if call.arg == "" {
		return call, fmt.Errorf("tool %s has no argument of type %s: name the one to be filled",
			call.name, kinds[0])
	}
	return call, nil
}

// What a tool is called that makes nothing but bytes, and its argument that says how many.
var (
	replyToolNames = []string{"get_large_data", "large_data", "generate_data", "get_bytes"}
	replyArguments = []string{"bytes", "size", "length", "numBytes", "byteCount"}
)

// template makes a call, its argument the text between before and after, which make up its size.
func (m *mcp) template(call toolCall, before, after string, size int) *requestTemplate {
	start := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%s,"arguments":{%s%s:%s`,
		idMark,
		m.meta,
		quoted(call.name),
		call.others,
		quoted(call.arg),
		before,
	)
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

// lsp is the Language Server Protocol.
type lsp struct {
	protocol
	root     string    // the folder of the documents, a URI; "" where none are sent
	language string    // of the documents; "" is to be found out
	document *document // what requests open; nil for requests that are refused
}

func newLSP(o Options, wire framers.Framing) *lsp {
	l := &lsp{root: o.root, language: o.Language}
	l.protocol = protocol{
		name: "lsp", wire: wire, requests: []string{RequestAuto, RequestUnknown, RequestDocument},
		jsonRPC: true, answers: theEditor().Answers, greet: l.greet, request: l.request,
	}
	return l
}

func (l *lsp) greet(h handshake) error {
	h.protocol.Store(&l.protocol)
	where := `"rootUri":null,"workspaceFolders":null`
	if l.root != "" {
		root := quoted(l.root)
		where = `"rootUri":` + root +
			`,"workspaceFolders":[{"uri":` + root + `,"name":"pipebench"}]`
	}
	params := fmt.Sprintf(`{"processId":%d,%s,"capabilities":%s}`,
		h.client, where, theEditor().Capabilities)
	reply, err := h.call("initialize", params)
	if err != nil {
		return err
	}
	var hello struct {
		Capabilities    json.RawMessage
		ProtocolVersion string // which language servers have none of
	}
	err = reply.decode(&hello)
	switch {
	case knowsNoInitialize(err):
		return fmt.Errorf("initialize: %w: %w", errNotLSP, err)
	case err != nil:
		return fmt.Errorf("initialize: %w", err)
	case hello.ProtocolVersion != "":
		return fmt.Errorf("initialize: %w", errSpeaksMCP)
	case len(hello.Capabilities) == 0:
		return fmt.Errorf("initialize: the answer names no capabilities: %w", errNotLSP)
	}
	if err := h.say([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)); err != nil {
		return err
	}
	if l.root != "" && l.document == nil {
		return l.chooseDocument(h)
	}
	return nil
}

// chooseDocument offers a small document of each language, or of the one that is asked for, until
// one's symbol is found; where none is, the first that is not refused will do.
func (l *lsp) chooseDocument(h handshake) error {
	offers := stat.Filter(
		theEditor().Documents,
		func(d document) bool { return l.language == "" || l.language == d.Language },
	)
	if len(offers) == 0 { // a language that is not known has a text of letters
		offers = []document{{Language: l.language, Suffix: "txt"}}
	}
	var refused *jsonrpc.Error
	for _, d := range offers {
		t := d.template(l.root, 0)
		if err := h.say(t.number(0)); err != nil {
			return err
		}
		reply, err := h.ask("textDocument/documentSymbol", t.query.number(0))
		if err != nil {
			return err
		}
		if err := h.say(t.release.number(0)); err != nil {
			return err
		}
		if refused = cmp.Or(reply.failure, refused); reply.failure != nil {
			continue
		}
		found := slices.Contains(slices.Collect(texts(reply.result)), d.Symbol)
		if l.document == nil || found {
			l.document = &d
		}
		l.sends = fmt.Sprintf(
			"documents of language %s, opened, their symbols asked for, and closed",
			l.document.Language,
		)
		if found {
			return nil
		}
	}
	if l.document == nil {
		return fmt.Errorf("textDocument/documentSymbol of no language is answered: %w "+
			"(name the server's language: --language)", refused)
	}
	return nil
}

// What an editor's greeting of another server comes to.
var (
	errSpeaksMCP = errors.New("it is an MCP server")
	errNotLSP    = errors.New("it is no language server")
)

// An editor is what a language server is told and given in an editor's place.
type editor struct {
	// Capabilities are what this client says that it can: a server may then ask for settings,
	// announce what it is at, and register what it can.
	Capabilities json.RawMessage
	// Answers are to requests that language servers make, without answers to which some never go
	// on: what is agreed to, refused, or left unchosen.
	Answers map[string]json.RawMessage
	// Documents are those that a server is offered to find out its language. The order matters
	// where a server answers for languages that are not its own: a shell's sees a function in much
	// that is no shell script, and a stylesheet's a selector in one.
	Documents []document
}

//go:embed editor.json
var editorText []byte

var theEditor = sync.OnceValue(func() (e editor) {
	if err := json.Unmarshal(editorText, &e); err != nil {
		panic(err) // the text is part of this program
	}
	return e
})

func (l *lsp) request(kind requestKind, size int) *requestTemplate {
	if kind == transportRequest || l.document == nil {
		return refusable(size, "")
	}
	return l.document.template(l.root, size)
}

// A document is a text that a language server can be given in an editor's place, with one symbol in
// it and room for as many bytes as a request is to have.
type document struct {
	Language      string // as LSP calls it, its languageId
	Suffix        string // of its file
	Before, After string // the room: the inside of a comment, or of a value
	Symbol        string // what a server of the language calls the symbol
}

// Languages lists the languages that a server is tried with when it is to be sent documents.
func Languages() []string {
	return stat.Map(theEditor().Documents, func(d document) string { return d.Language })
}

// template makes the document, opened by a message of exactly size bytes, its symbols asked for,
// and closed when they came. It lies in the folder in name alone, since its text is sent.
func (d document) template(root string, size int) *requestTemplate {
	uri := root + "/" + idMark + "." + d.Suffix
	at := `{"textDocument":{"uri":` + quoted(uri)
	const room = "…"
	opening, closing, _ := strings.Cut(quoted(d.Before+room+d.After), room)
	before := `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":` + at +
		`,"languageId":` + quoted(d.Language) + `,"version":1,"text":` + opening
	t := newTemplate(before, closing+`}}}`, size)
	t.query = newTemplate(
		`{"jsonrpc":"2.0","id":`+idMark+
			`,"method":"textDocument/documentSymbol","params":`+at+`}}}`,
		"",
		0,
	)
	t.release = newTemplate(
		`{"jsonrpc":"2.0","method":"textDocument/didClose","params":`+at+`}}}`,
		"",
		0,
	)
	return t
}

// quoted returns a text as JSON.
func quoted(s string) string {
	text, _ := json.Marshal(s) // no error: every string has a JSON text
	return string(text)
}
