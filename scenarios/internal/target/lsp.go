package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pipebench/pipebench/framers"
)

type lsp struct {
	Protocol
	root     string    // URI of an empty folder that we make and the server opens
	document *document // what requests send; nil if they send no documents
}

func newLSP(o Options, wire framers.Framing) *lsp {
	l := &lsp{}
	l.Protocol = Protocol{
		Name: "lsp", Framing: wire,
		requests: []string{RequestAuto, RequestUnknown, RequestDocument},
		JSONRPC:  true, answers: editorAnswers, greet: l.greet, request: l.request,
	}
	if o.Request == RequestDocument {
		l.document = documentOf(o.Language)
		l.sends = fmt.Sprintf("documents of language %s, opened, their symbols asked for, "+
			"and closed", o.Language)
	}
	return l
}

// Errors for a server that answers "initialize" in another way than a language server.
var (
	errSpeaksMCP = errors.New("it is an MCP server")
	errSpeaksLSP = errors.New("it may be a language server") // greeted as an MCP server
	errNotLSP    = errors.New("it is no language server")
)

// makeRoot makes a folder for the server to open. Some servers start only with a folder. The folder
// is empty, since some servers read all that is in it.
func (l *lsp) makeRoot() error {
	folder, err := os.MkdirTemp("", "pipebench-documents-")
	if err != nil {
		return err
	}
	l.folder = folder
	path := "/" + strings.TrimPrefix(filepath.ToSlash(folder), "/") // "/C:/…" on Windows
	l.root = (&url.URL{Scheme: "file", Path: path}).String()
	return nil
}

// greet has the server open the folder, and completes the handshake.
func (l *lsp) greet(g greeting) error {
	g.protocol.Store(&l.Protocol)
	if l.root == "" {
		if err := l.makeRoot(); err != nil {
			return err
		}
	}
	root := quoted(l.root)
	params := fmt.Sprintf(`{"processId":%d,"rootUri":%s,`+
		`"workspaceFolders":[{"uri":%s,"name":"pipebench"}],"capabilities":%s}`,
		g.client, root, root, editorCapabilities)
	reply, err := g.initialize(params)
	if err != nil {
		return err
	}
	var hello struct {
		Capabilities    json.RawMessage
		ProtocolVersion string // language servers do not name one
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
	if l.instead == "" { // later, several servers may share l and be started at once
		l.choose(hello.Capabilities)
	}
	err = g.say([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
	if err == nil && l.ignores {
		err = g.say(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"textDocument/didOpen",`+
			`"params":{"textDocument":{"uri":%s,"languageId":"plaintext","version":1,`+
			`"text":"pipebench\n"}}}`, l.text()))
	}
	return err
}

// text returns the URI of a text, which is opened if the server ignores unknown methods.
func (l *lsp) text() string { return quoted(l.root + "/pipebench.txt") }

// choose chooses the method that takes the place of an unknown one, of those that the server says
// it has.
func (l *lsp) choose(capabilities json.RawMessage) {
	var has map[string]any
	_ = json.Unmarshal(capabilities, &has) // on an error, none is known
	for _, name := range []string{"hover", "documentSymbol", "definition", "completion"} {
		provider := has[name+"Provider"]
		if provider != nil && provider != false {
			l.instead = "textDocument/" + name
			l.about = `"textDocument":{"uri":` + l.text() + `},"position":{"line":0,"character":0},`
			return
		}
	}
}

func (l *lsp) request(kind Kind, size int) *Request {
	if kind == Transport || l.document == nil {
		return l.plain(size)
	}
	return l.document.template(l.root, size)
}

// editorCapabilities are the capabilities that we claim to have, as an editor does.
const editorCapabilities = `{"workspace":{"configuration":true,"workspaceFolders":true,` +
	`"applyEdit":true,"didChangeConfiguration":{"dynamicRegistration":true}},` +
	`"textDocument":{"synchronization":{"dynamicRegistration":true},` +
	`"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}},` +
	`"window":{"workDoneProgress":true}}`

// editorAnswers are our results for requests from the server, by method. Some servers do not go on
// without these answers.
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

// A document is a text in one language, with one symbol. It consists of the texts "before" and
// "after" and the payload between them.
type document struct {
	language      string // its languageId in LSP
	suffix        string // of its file
	before, after string
}

var documents = []document{
	{language: "json", suffix: "json", before: `{"pipebench":"`, after: `"}`},
	{language: "css", suffix: "css", before: ".pipebench {} /* ", after: " */\n"},
	{language: "html", suffix: "html", before: `<p id="pipebench"></p><!-- `, after: " -->\n"},
	{language: "shellscript", suffix: "sh", before: "pipebench() { :; } # ", after: "\n"},
	{language: "go", suffix: "go", before: "package p\n\nfunc pipebench() {}\n\n// ", after: "\n"},
	{language: "typescript", suffix: "ts", before: "function pipebench() {} // ", after: "\n"},
	{language: "python", suffix: "py", before: "def pipebench(): pass # ", after: "\n"},
	{language: "yaml", suffix: "yaml", before: "pipebench: ", after: "\n"},
	{language: "c", suffix: "c", before: "void pipebench(void) {} // ", after: "\n"},
	{language: "rust", suffix: "rs", before: "fn pipebench() {} // ", after: "\n"},
	{language: "java", suffix: "java", before: "class pipebench {} // ", after: "\n"},
}

// documentOf returns the document for a language. For an unknown language, the document holds
// nothing but the payload.
func documentOf(language string) *document {
	for _, d := range documents {
		if d.language == language {
			return &d
		}
	}
	return &document{language: language, suffix: "txt"}
}

// Languages lists the languages for which there is a document with a symbol.
func Languages() []string {
	var names []string
	for _, d := range documents {
		names = append(names, d.language)
	}
	return names
}

// template makes a request of size bytes that opens the document. The Query of the request then
// asks for the symbols, and its Release closes the document.
func (d document) template(root string, size int) *Request {
	uri := root + "/" + idMark + "." + d.suffix
	params := `{"textDocument":{"uri":` + quoted(uri)
	const room = "…"
	opening, closing, _ := strings.Cut(quoted(d.before+room+d.after), room)
	before := `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":` + params +
		`,"languageId":` + quoted(d.language) + `,"version":1,"text":` + opening
	r := newRequest(before, closing+`}}}`, size)
	query := `{"jsonrpc":"2.0","id":` + idMark +
		`,"method":"textDocument/documentSymbol","params":` + params + `}}}`
	r.Query = newRequest(query, "", asSmallAsCanBe)
	release := `{"jsonrpc":"2.0","method":"textDocument/didClose","params":` + params + `}}}`
	r.Release = newRequest(release, "", asSmallAsCanBe)
	return r
}
