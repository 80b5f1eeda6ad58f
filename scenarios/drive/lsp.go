package drive

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// lsp is the Language Server Protocol.
type lsp struct {
	protocol
	root     string    // the folder of the documents, a URI; "" where none are sent
	language string    // of the documents; "" is to be found out
	document *document // what requests open; nil for requests that are refused
}

func newLSP(o Options, wire framers.Framing) *lsp {
	l := &lsp{
		protocol: protocol{
			name: "lsp", wire: wire, requests: []string{RequestAuto, RequestUnknown, RequestDocument}, jsonRPC: true,
			answers: theEditor().Answers,
		},
		root: o.root, language: o.Language,
	}
	l.protocol.greet, l.protocol.request = l.greet, l.request
	return l
}

func (l *lsp) greet(h handshake) {
	h.protocol.Store(&l.protocol)
	where := `"rootUri":null,"workspaceFolders":null`
	if l.root != "" {
		where = `"rootUri":` + quoted(l.root) + `,"workspaceFolders":[{"uri":` + quoted(l.root) + `,"name":"pipebench"}]`
	}
	reply := h.call("initialize", fmt.Sprintf(`{"processId":%d,%s,"capabilities":%s}`, h.client, where, theEditor().Capabilities))
	var hello struct {
		Capabilities    json.RawMessage
		ProtocolVersion string // which language servers have none of
	}
	err := reply.decode(&hello)
	failIf(err != nil, "initialize: %w: %w", errNotLSP, err)
	failIf(hello.ProtocolVersion != "", "initialize: %w", errSpeaksMCP)
	failIf(len(hello.Capabilities) == 0,
		"initialize: the answer names no capabilities: %w", errNotLSP)
	h.say([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
	if l.root != "" && l.document == nil {
		l.chooseDocument(h)
	}
}

// chooseDocument offers a small document of each language, or of the one that is asked for, until
// one's symbol is found; where none is, the first that is not refused will do.
func (l *lsp) chooseDocument(h handshake) {
	offers := stat.Filter(theEditor().Documents, func(d document) bool { return l.language == "" || l.language == d.Language })
	if len(offers) == 0 { // a language that is not known has a text of letters
		offers = []document{{Language: l.language, Suffix: "txt"}}
	}
	var refused *jsonrpc.Error
	for _, d := range offers {
		t := d.template(l.root, 0)
		h.say(t.number(0))
		reply := h.ask("textDocument/documentSymbol", t.query.number(0))
		h.say(t.release.number(0))
		if refused = cmp.Or(reply.failure, refused); reply.failure != nil {
			continue
		}
		found := slices.Contains(slices.Collect(texts(reply.result)), d.Symbol)
		if l.document == nil || found {
			l.document = &d
		}
		l.sends = fmt.Sprintf("documents of language %s, opened, their symbols asked for, and closed", l.document.Language)
		if found {
			return
		}
	}
	failIf(l.document == nil,
		"textDocument/documentSymbol of no language is answered: %w (name the server's language: --language)", refused)
}

// What an editor's greeting of another server comes to.
var (
	errSpeaksMCP = errors.New("it is an MCP server")
	errNotLSP    = errors.New("it is no language server")
)

// An editor is what a language server is told and given in an editor's place.
type editor struct {
	// Capabilities are what this client says that it can: a server may then ask for settings, announce
	// what it is at, and register what it can.
	Capabilities json.RawMessage
	// Answers are to requests that language servers make, without answers to which some never go on:
	// what is agreed to, refused, or left unchosen.
	Answers map[string]json.RawMessage
	// Documents are those that a server is offered to find out its language. The order matters where
	// a server answers for languages that are not its own: a shell's sees a function in much that is no
	// shell script, and a stylesheet's a selector in one.
	Documents []document
}

//go:embed editor.json
var editorText []byte

var theEditor = sync.OnceValue(func() (e editor) {
	script.Check(json.Unmarshal(editorText, &e))
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
	t.query = newTemplate(`{"jsonrpc":"2.0","id":`+idMark+`,"method":"textDocument/documentSymbol","params":`+at+`}}}`, "", 0)
	t.release = newTemplate(`{"jsonrpc":"2.0","method":"textDocument/didClose","params":`+at+`}}}`, "", 0)
	return t
}

// quoted returns a text as JSON.
func quoted(s string) string {
	text, _ := json.Marshal(s) // no error: every string has a JSON text
	return string(text)
}
