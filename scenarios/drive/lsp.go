package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// lsp is the Language Server Protocol.
type lsp struct {
	traits
	root     string    // the folder of the documents, a URI; "" where none are sent
	language string    // of the documents; "" is to be found out
	document *document // what requests open; nil for requests that are refused
}

func newLSP(o Options, wire framers.Framing) *lsp {
	return &lsp{
		traits: traits{wire: wire, requests: []string{RequestAuto, RequestUnknown, RequestDocument}, jsonRPC: true},
		root:   o.root, language: o.Language,
	}
}

func (l *lsp) String() string { return "lsp" }

func (l *lsp) describe() string {
	if l.document == nil {
		return describeUnknown
	}
	return fmt.Sprintf("documents of language %s, opened, their symbols asked for, and closed", l.document.language)
}

func (l *lsp) greet(ctx context.Context, c *conn, within time.Duration) error {
	c.speak(l)
	reply, err := c.call(ctx, "initialize", l.initializeParams(), within)
	if err != nil {
		return err
	}
	if err := l.accepted(reply); err != nil {
		return err
	}
	return l.enter(ctx, c, within)
}

// capabilities are what this client says that it can: a server may then ask for settings, announce
// what it is at, and register what it can.
const capabilities = `{"workspace":{"configuration":true,"workspaceFolders":true,"applyEdit":true,` +
	`"didChangeConfiguration":{"dynamicRegistration":true}},` +
	`"textDocument":{"synchronization":{"dynamicRegistration":true},` +
	`"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}},"window":{"workDoneProgress":true}}`

func (l *lsp) initializeParams() string {
	where := `"rootUri":null,"workspaceFolders":null`
	if l.root != "" {
		where = `"rootUri":` + quoted(l.root) + `,"workspaceFolders":[{"uri":` + quoted(l.root) + `,"name":"pipebench"}]`
	}
	return fmt.Sprintf(`{"processId":%d,%s,"capabilities":%s}`, os.Getpid(), where, capabilities)
}

// accepted reports whether the answer to initialize is a language server's.
func (l *lsp) accepted(reply answer) error {
	var hello struct {
		Capabilities    json.RawMessage `json:"capabilities"`
		ProtocolVersion string          `json:"protocolVersion"` // which language servers have none of
	}
	if err := reply.decode(&hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if hello.ProtocolVersion != "" {
		return fmt.Errorf("initialize: %w", errSpeaksMCP)
	}
	if len(hello.Capabilities) == 0 {
		return errors.New("initialize: the answer names no capabilities, so this is no language server")
	}
	return nil
}

// enter ends the handshake, and finds out which documents the server understands if it is to be
// sent some.
func (l *lsp) enter(ctx context.Context, c *conn, within time.Duration) error {
	if err := c.send([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)); err != nil {
		return leftError(err)
	}
	if l.root == "" || l.document != nil {
		return nil
	}
	return l.chooseDocument(ctx, c, within)
}

// nullAnswers are requests to which null is a full answer: agreed, or none of the choices.
var nullAnswers = []string{
	"client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
	"window/showMessageRequest", "workspace/workspaceFolders",
}

// respond serves the requests that a language server waits for: without answers some never go on.
func (l *lsp) respond(msg []byte, e jsonrpc.Envelope) []byte {
	switch method := string(e.Method); {
	case method == "workspace/configuration":
		return nothingSet(msg, e)
	case method == "workspace/applyEdit":
		return resultOf(e, `{"applied":false}`)
	case method == "window/showDocument":
		return resultOf(e, `{"success":false}`)
	case slices.Contains(nullAnswers, method), strings.HasSuffix(method, "/refresh"):
		return resultOf(e, "null")
	}
	return methodNotFound(e)
}

// nothingSet answers that nothing is set, once for each item that is asked for.
func nothingSet(msg []byte, e jsonrpc.Envelope) []byte {
	var request struct {
		Params struct {
			Items []json.RawMessage `json:"items"`
		} `json:"params"`
	}
	if json.Unmarshal(msg, &request) != nil {
		return methodNotFound(e)
	}
	nulls := strings.Repeat("null,", len(request.Params.Items))
	return resultOf(e, "["+strings.TrimSuffix(nulls, ",")+"]")
}

func (l *lsp) request(kind requestKind, size int) (*requestTemplate, error) {
	if kind == transportRequest || l.document == nil {
		return refusable(size, "")
	}
	return l.document.template(l.root, size)
}

// A document is a text that a language server can be given in an editor's place, with one symbol in
// it and room for as many bytes as a request is to have.
type document struct {
	language      string // as LSP calls it, its languageId
	suffix        string // of its file
	before, after string // the room: the inside of a comment, or of a value
	symbol        string // what a server of the language calls the symbol
}

// documents are those that a server is offered to find out its language. The order matters where a
// server answers for languages that are not its own.
var documents = []document{
	{"json", "json", `{"pipebench":"`, `"}`, "pipebench"},
	{"go", "go", "package p\n\nfunc pipebench() {}\n\n// ", "\n", "pipebench"},
	{"css", "css", ".pipebench {} /* ", " */\n", ".pipebench"},
	{"html", "html", `<p id="pipebench"></p><!-- `, " -->\n", "p#pipebench"},
	{"typescript", "ts", "function pipebench() {} // ", "\n", "pipebench"},
	{"python", "py", "def pipebench(): pass # ", "\n", "pipebench"},
	{"shellscript", "sh", "pipebench() { :; } # ", "\n", "pipebench"},
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
	return names
}

// documentsIn returns those of a language, or all without one. A language that is not known has a
// text of letters.
func documentsIn(language string) []document {
	if language == "" {
		return documents
	}
	for _, d := range documents {
		if d.language == language {
			return []document{d}
		}
	}
	return []document{{language: language, suffix: "txt"}}
}

// template makes the document, opened by a message of exactly size bytes, its symbols asked for,
// and closed when they came. It lies in the folder in name alone, since its text is sent.
func (d document) template(root string, size int) (*requestTemplate, error) {
	uri := root + "/" + idMark + "." + d.suffix
	at := `{"textDocument":{"uri":` + quoted(uri)
	inside := func(s string) string { // the quotes of a JSON text
		text := quoted(s)
		return text[1 : len(text)-1]
	}
	before := `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":` + at +
		`,"languageId":` + quoted(d.language) + `,"version":1,"text":"` + inside(d.before)
	t, err := newTemplate(before, inside(d.after)+`"}}}`, size)
	if err != nil {
		return nil, err
	}
	t.query = newFollowUp(`{"jsonrpc":"2.0","id":` + idMark + `,"method":"textDocument/documentSymbol","params":` + at + `}}}`)
	t.release = newFollowUp(`{"jsonrpc":"2.0","method":"textDocument/didClose","params":` + at + `}}}`)
	return t, nil
}

// quoted returns a text as JSON.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // cannot be: every string has a JSON text
	}
	return string(text)
}

// fileURI names a folder as language servers are told of it.
func fileURI(folder string) string {
	path := filepath.ToSlash(folder)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// chooseDocument opens a small document of each language until one's symbol is found. Where none
// is, the first that is not refused will do.
func (l *lsp) chooseDocument(ctx context.Context, c *conn, within time.Duration) error {
	var refused error
	for _, d := range documentsIn(l.language) {
		found, err := l.offer(ctx, c, d, within)
		var refusal *jsonrpc.Error
		switch {
		case errors.As(err, &refusal):
			refused = err
			continue
		case err != nil:
			return err
		}
		if l.document == nil || found {
			l.document = &d
		}
		if found {
			return nil
		}
	}
	if l.document == nil {
		return fmt.Errorf("textDocument/documentSymbol of no language is answered: %w (name the server's language)", refused)
	}
	return nil
}

// offer opens one document, and reports whether its symbol is found. The error is a
// [*jsonrpc.Error] if the server refuses.
func (l *lsp) offer(ctx context.Context, c *conn, d document, within time.Duration) (found bool, err error) {
	inFolder := func(size int) (*requestTemplate, error) { return d.template(l.root, size) }
	t, err := templateMaker(inFolder).atLeast(0, 4*stampDigits)
	if err != nil {
		return false, err
	}
	if err := c.send(t.number(0)); err != nil {
		return false, leftError(err)
	}
	reply, err := c.ask(ctx, t.query.number(0), within)
	if err != nil {
		return false, fmt.Errorf("textDocument/documentSymbol: %w", err)
	}
	if err := c.send(t.release.number(0)); err != nil {
		return false, leftError(err)
	}
	if reply.failure != nil {
		return false, reply.failure
	}
	var tree any
	if err := json.Unmarshal(reply.result, &tree); err != nil {
		return false, fmt.Errorf("textDocument/documentSymbol: %w", err)
	}
	for text := range texts(tree) {
		found = found || text == d.symbol
	}
	return found, nil
}
