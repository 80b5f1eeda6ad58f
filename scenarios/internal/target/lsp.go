package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
)

// lsp is the Language Server Protocol.
type lsp struct {
	Protocol
	root     string    // the folder of the documents, a URI; "" if none are sent
	language string    // of the documents; "" is to be found out
	document *document // what requests open; nil for requests that are refused
}

func newLSP(o Options, wire framers.Framing) *lsp {
	l := &lsp{root: o.Root, language: o.Language}
	l.Protocol = Protocol{
		Name: "lsp", Framing: wire,
		requests: []string{RequestAuto, RequestUnknown, RequestDocument},
		JSONRPC:  true, answers: editorAnswers, greet: l.greet, request: l.request,
	}
	return l
}

// An editor greets a server that turns out to be of another kind.
var (
	errSpeaksMCP = errors.New("it is an MCP server")
	errNotLSP    = errors.New("it is no language server")
)

func (l *lsp) greet(g greeting) error {
	g.protocol.Store(&l.Protocol)
	where := `"rootUri":null,"workspaceFolders":null`
	if l.root != "" {
		root := quoted(l.root)
		where = `"rootUri":` + root +
			`,"workspaceFolders":[{"uri":` + root + `,"name":"pipebench"}]`
	}
	params := fmt.Sprintf(`{"processId":%d,%s,"capabilities":%s}`,
		g.client, where, editorCapabilities)
	reply, err := g.call("initialize", params)
	if err != nil {
		return err
	}
	var hello struct {
		Capabilities    json.RawMessage
		ProtocolVersion string // which language servers have none of
	}
	err = decode(reply, &hello)
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
	if err := g.say([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)); err != nil {
		return err
	}
	if l.root == "" || l.document != nil {
		return nil
	}
	return l.chooseDocument(g)
}

// chooseDocument offers a small document of each language, or of the one that is asked for, until
// one's symbol is found; if none is, the first that is not refused will do.
func (l *lsp) chooseDocument(g greeting) error {
	var refused error
	for _, d := range l.offers() {
		reply, err := g.offer(d.template(l.root, 0))
		if err != nil {
			return err
		}
		var symbols json.RawMessage
		err = decode(reply, &symbols)
		if err != nil {
			refused = err
			continue
		}
		found := holdsText(symbols, d.symbol)
		if found || l.document == nil {
			l.document = &d
			l.sends = fmt.Sprintf(
				"documents of language %s, opened, their symbols asked for, and closed",
				d.language)
		}
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

// offers returns the documents that the server's language is found out by.
func (l *lsp) offers() []document {
	if l.language == "" {
		return documents
	}
	for _, d := range documents {
		if d.language == l.language {
			return []document{d}
		}
	}
	// a language that is not known has a text of letters
	return []document{{language: l.language, suffix: "txt"}}
}

// offer opens a document, asks for its symbols, and closes it.
func (g greeting) offer(r *Request) (child.Message, error) {
	if err := g.say(r.Number(0)); err != nil {
		return child.Message{}, err
	}
	reply, err := g.ask("textDocument/documentSymbol", r.Query.Number(0))
	if err != nil {
		return reply, err
	}
	return reply, g.say(r.Release.Number(0))
}

// holdsText reports whether one of the texts in a JSON value is the one that is looked for.
func holdsText(value []byte, text string) bool {
	for t := range texts(value) {
		if t == text {
			return true
		}
	}
	return false
}

func (l *lsp) request(kind Kind, size int) *Request {
	if kind == Transport || l.document == nil {
		return refusable(size, "")
	}
	return l.document.template(l.root, size)
}

// editorCapabilities are what we say in an editor's place that we can: a server may then ask for
// settings, announce what it is at, and register what it can.
const editorCapabilities = `{"workspace":{"configuration":true,"workspaceFolders":true,` +
	`"applyEdit":true,"didChangeConfiguration":{"dynamicRegistration":true}},` +
	`"textDocument":{"synchronization":{"dynamicRegistration":true},` +
	`"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}},` +
	`"window":{"workDoneProgress":true}}`

// editorAnswers are to requests that language servers make, without answers to which some never go
// on: what is agreed to, refused, or left unchosen.
var editorAnswers = map[string]json.RawMessage{
	"client/registerCapability":        []byte("null"),
	"client/unregisterCapability":      []byte("null"),
	"window/workDoneProgress/create":   []byte("null"),
	"window/showMessageRequest":        []byte("null"),
	"workspace/workspaceFolders":       []byte("null"),
	"workspace/codeLens/refresh":       []byte("null"),
	"workspace/diagnostic/refresh":     []byte("null"),
	"workspace/foldingRange/refresh":   []byte("null"),
	"workspace/inlayHint/refresh":      []byte("null"),
	"workspace/inlineValue/refresh":    []byte("null"),
	"workspace/semanticTokens/refresh": []byte("null"),
	"workspace/configuration":          []byte("[]"),
	"workspace/applyEdit":              []byte(`{"applied":false}`),
	"window/showDocument":              []byte(`{"success":false}`),
}

// A document is a text that a language server can be given in an editor's place, with one symbol in
// it and room for as many bytes as a request is to have.
type document struct {
	language      string // as LSP calls it, its languageId
	suffix        string // of its file
	before, after string // the room: the inside of a comment, or of a value
	symbol        string // what a server of the language calls the symbol
}

// documents are those that a server is offered to find out its language. The order matters if a
// server answers for languages that are not its own: a shell's sees a function in much that is no
// shell script, and a stylesheet's a selector in one.
var documents = []document{
	{"json", "json", `{"pipebench":"`, `"}`, "pipebench"},
	{"css", "css", ".pipebench {} /* ", " */\n", ".pipebench"},
	{"html", "html", `<p id="pipebench"></p><!-- `, " -->\n", "p#pipebench"},
	{"shellscript", "sh", "pipebench() { :; } # ", "\n", "pipebench"},
	{"go", "go", "package p\n\nfunc pipebench() {}\n\n// ", "\n", "pipebench"},
	{"typescript", "ts", "function pipebench() {} // ", "\n", "pipebench"},
	{"python", "py", "def pipebench(): pass # ", "\n", "pipebench"},
	{"yaml", "yaml", "pipebench: ", "\n", "pipebench"},
	{"c", "c", "void pipebench(void) {} // ", "\n", "pipebench()"},
	{"rust", "rs", "fn pipebench() {} // ", "\n", "pipebench"},
	{"java", "java", "class pipebench {} // ", "\n", "pipebench"},
}

// Languages lists the languages that a server is tried with when it is to be sent documents.
func Languages() []string {
	var names []string
	for _, d := range documents {
		names = append(names, d.language)
	}
	return slices.Clip(names)
}

// template makes the document, opened by a message of exactly size bytes, its symbols asked for,
// and closed when they came. It lies in the folder in name alone, since its text is sent.
func (d document) template(root string, size int) *Request {
	uri := root + "/" + idMark + "." + d.suffix
	at := `{"textDocument":{"uri":` + quoted(uri)
	const room = "…"
	opening, closing, _ := strings.Cut(quoted(d.before+room+d.after), room)
	before := `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":` + at +
		`,"languageId":` + quoted(d.language) + `,"version":1,"text":` + opening
	r := newRequest(before, closing+`}}}`, size)
	query := `{"jsonrpc":"2.0","id":` + idMark +
		`,"method":"textDocument/documentSymbol","params":` + at + `}}}`
	r.Query = newRequest(query, "", 0)
	release := `{"jsonrpc":"2.0","method":"textDocument/didClose","params":` + at + `}}}`
	r.Release = newRequest(release, "", 0)
	return r
}
