package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// A document is a text that a language server can be given in an editor's place, with one symbol in it and room for as many bytes as a
// request is to have.
type document struct {
	language      string // as LSP calls it, its languageId
	suffix        string // of its file
	before, after string // the room: the inside of a comment, or of a value
	symbol        string // what a server of the language calls the symbol
}

// documents are those that a server is offered to find out its language. The order matters where a server answers for languages that are not
// its own.
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

// documentsIn are those of a language, or all without one. A language that is not known has a text of letters.
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

// uri is where a document lies in a folder: in name alone, since its text is sent.
func (d document) uri(root string) string { return root + "/" + idMark + "." + d.suffix }

// shape is the document, opened by a message of exactly size bytes, its symbols asked for, and closed when they came.
func (d document) shape(root string, size int) (*shape, error) {
	at := `{"textDocument":{"uri":` + quoted(d.uri(root))
	s, err := newShape(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":`+at+`,"languageId":`+quoted(d.language)+`,"version":1,"text":"`+inside(d.before),
		inside(d.after)+`"}}}`, size, int64(size))
	if err != nil {
		return nil, err
	}
	s.question = newSequel(`{"jsonrpc":"2.0","id":` + idMark + `,"method":"textDocument/documentSymbol","params":` + at + `}}}`)
	s.farewell = newSequel(`{"jsonrpc":"2.0","method":"textDocument/didClose","params":` + at + `}}}`)
	return s, nil
}

// quoted is a text as JSON.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // cannot be: every string has a JSON text
	}
	return string(text)
}

// inside is a text as it stands between the quotes of JSON.
func inside(s string) string {
	text := quoted(s)
	return text[1 : len(text)-1]
}

// fileURI names a folder as language servers are told of it.
func fileURI(folder string) string {
	path := filepath.ToSlash(folder)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// chooseDocument opens a small document of each language until one's symbol is found. Where none is, the first that is not refused will do.
func (l *lsp) chooseDocument(ctx context.Context, c *conn, within time.Duration) error {
	var refused error
	for _, d := range documentsIn(l.language) {
		found, err := l.offer(ctx, c, d, within)
		var refusal *failure
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

// offer opens one document, and reports whether its symbol is found. The error is a [*failure] if the server refuses.
func (l *lsp) offer(ctx context.Context, c *conn, d document, within time.Duration) (found bool, err error) {
	s, err := d.shape(l.root, 0)
	if least, small := leastOf(err); small {
		s, err = d.shape(l.root, least+4*stampDigits)
	}
	if err != nil {
		return false, err
	}
	if err := c.send(s.number(0)); err != nil {
		return false, c.left(err)
	}
	reply, err := c.ask(ctx, s.question.number(0), within)
	if err != nil {
		return false, fmt.Errorf("textDocument/documentSymbol: %w", err)
	}
	if err := c.send(s.farewell.number(0)); err != nil {
		return false, c.left(err)
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
