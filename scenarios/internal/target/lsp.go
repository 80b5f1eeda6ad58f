package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/framers"
)

// lsp is the Language Server Protocol.
type lsp struct {
	Protocol
	root     string // the URI of the folder that is opened, ours and empty
	document *document
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

// Errors for a server that does not answer initialize as a language server does.
var (
	errSpeaksMCP = errors.New("it is an MCP server")
	errNotLSP    = errors.New("it is no language server")
)

// makeRoot makes an empty folder to be opened: some servers look around in it, and some refuse an
// editor that opens none.
func (l *lsp) makeRoot() error {
	folder, err := os.MkdirTemp("", "pipebench-documents-")
	if err != nil {
		return err
	}
	l.folder = folder
	path := "/" + strings.TrimPrefix(filepath.ToSlash(folder), "/") // also before C: on Windows
	l.root = (&url.URL{Scheme: "file", Path: path}).String()
	return nil
}

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
	reply, err := g.call(helloID, "initialize", params)
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
	return g.say([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
}

func (l *lsp) request(kind Kind, size int) *Request {
	if kind == Transport || l.document == nil {
		return refusable(size, "")
	}
	return l.document.template(l.root, size)
}

// editorCapabilities are the capabilities that we name in place of an editor. With them a server
// may ask for settings, announce its progress, and register capabilities of its own.
const editorCapabilities = `{"workspace":{"configuration":true,"workspaceFolders":true,` +
	`"applyEdit":true,"didChangeConfiguration":{"dynamicRegistration":true}},` +
	`"textDocument":{"synchronization":{"dynamicRegistration":true},` +
	`"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}},` +
	`"window":{"workDoneProgress":true}}`

// editorAnswers are the results for requests that language servers make; some servers do not go on
// without them. Each agrees, refuses, or chooses nothing.
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
	before, after string // around the room, which is inside a comment or a value
}

var documents = []document{
	{"json", "json", `{"pipebench":"`, `"}`},
	{"css", "css", ".pipebench {} /* ", " */\n"},
	{"html", "html", `<p id="pipebench"></p><!-- `, " -->\n"},
	{"shellscript", "sh", "pipebench() { :; } # ", "\n"},
	{"go", "go", "package p\n\nfunc pipebench() {}\n\n// ", "\n"},
	{"typescript", "ts", "function pipebench() {} // ", "\n"},
	{"python", "py", "def pipebench(): pass # ", "\n"},
	{"yaml", "yaml", "pipebench: ", "\n"},
	{"c", "c", "void pipebench(void) {} // ", "\n"},
	{"rust", "rs", "fn pipebench() {} // ", "\n"},
	{"java", "java", "class pipebench {} // ", "\n"},
}

// documentOf returns the document of a language. For an unknown language it is a text of letters.
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
	return slices.Clip(names)
}

// template makes a message of exactly size bytes that opens the document, a query for its symbols,
// and a message that closes it once they have come. There is no such file in the folder, since the
// text of the document is sent.
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
