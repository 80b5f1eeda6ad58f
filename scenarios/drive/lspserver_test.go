package drive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pipebench/pipebench/framers"
)

// languageServer is a small language server that insists on the protocol: it answers nothing until
// the client has answered what it asks itself, knows the symbols of documents that are open alone,
// and ends at one that is opened twice.
type languageServer struct {
	out      framers.Writer
	language string // of the documents that it takes
	limit    int    // of a document's text, in bytes
	open     map[string]string
	waits    map[string]string // answers that it waits for, by id
	held     []lspMessage      // what came meanwhile
}

// A lspMessage has what any message may have.
type lspMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Text       string `json:"text"`
		} `json:"textDocument"`
		RootURI          string                       `json:"rootUri"`
		WorkspaceFolders []struct{ URI, Name string } `json:"workspaceFolders"`
		Capabilities     struct {
			Workspace struct {
				Configuration bool `json:"configuration"`
			} `json:"workspace"`
		} `json:"capabilities"`
	} `json:"params"`
}

// serveLSP serves a language, up to a limit if arg names one: "go 100000". If the language is
// "shy" or "reserved", it ignores our own unknown method. If it is "shy", it names no capability.
func serveLSP(arg string) error {
	s := &languageServer{out: framers.ContentLength().NewWriter(os.Stdout),
		open: map[string]string{}, waits: map[string]string{}, limit: 1 << 30}
	if _, err := fmt.Sscan(arg, &s.language, &s.limit); err != nil && !errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	in := framers.ContentLength().NewReader(os.Stdin, framers.WithMaxMessage(-1))
	for {
		msg, err := in.ReadMessage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var m lspMessage
		if err := json.Unmarshal(msg, &m); err != nil {
			return err
		}
		if err := s.take(m); err != nil {
			return err
		}
	}
}

func (s *languageServer) take(m lspMessage) error {
	if len(s.waits) > 0 && m.Method != "" {
		s.held = append(s.held, m)
		return nil
	}
	d := m.Params.TextDocument
	switch m.Method {
	case "initialize":
		// as ccls, which looks for settings where the folder lies
		folders := m.Params.WorkspaceFolders
		if len(folders) != 1 || m.Params.RootURI == "" || folders[0].URI != m.Params.RootURI {
			return s.refuse(m, -32600, "expected rootUri")
		}
		if !m.Params.Capabilities.Workspace.Configuration {
			return errors.New("a client without settings")
		}
		const says = `{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{` +
			`"documentSymbolProvider":%t}}}`
		return s.say(says, m.ID, s.language != "shy")
	case "initialized":
		return s.inquire()
	case "":
		return s.heard(m)
	case "textDocument/didOpen":
		if _, twice := s.open[d.URI]; twice {
			return fmt.Errorf("%s is open", d.URI)
		}
		if len(d.Text) > s.limit {
			return fmt.Errorf("%d bytes of text are too many", len(d.Text))
		}
		s.open[d.URI] = d.LanguageID
		return nil
	case "textDocument/didClose":
		if _, ok := s.open[d.URI]; !ok {
			return fmt.Errorf("%s is not open", d.URI)
		}
		delete(s.open, d.URI)
		return nil
	case "textDocument/documentSymbol":
		return s.symbols(m)
	case "work": // reports without end
		for {
			err := s.say(`{"jsonrpc":"2.0","method":"$/progress"}`)
			if err != nil {
				return err
			}
		}
	}
	isShy := s.language == "shy" || s.language == "reserved"
	if isShy && m.Method == "pipebench/unknown" {
		return nil
	}
	return s.refuse(m, -32601, "no such method")
}

// inquire asks what servers ask of editors.
func (s *languageServer) inquire() error {
	for id, ask := range map[string]struct{ method, params, due string }{
		`"s1"`: {"workspace/configuration", `{"items":[{"section":"a"},{"section":"b"}]}`,
			"[null,null]"},
		`"s2"`: {"client/registerCapability", `{"registrations":[]}`, "null"},
		`3`:    {"workspace/applyEdit", `{"edit":{}}`, `{"applied":false}`},
	} {
		s.waits[id] = ask.due
		if err := s.say(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, ask.method,
			ask.params); err != nil {
			return err
		}
	}
	return s.say(`{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"hello"}}`)
}

func (s *languageServer) heard(m lspMessage) error {
	if due, ok := s.waits[string(m.ID)]; !ok || due != string(m.Result) {
		return fmt.Errorf("the answer to %s is %s, not %s", m.ID, m.Result, due)
	}
	delete(s.waits, string(m.ID))
	if len(s.waits) > 0 {
		return nil
	}
	for _, m := range s.held {
		if err := s.take(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *languageServer) symbols(m lspMessage) error {
	language, ok := s.open[m.Params.TextDocument.URI]
	switch {
	case !ok:
		return s.refuse(m, -32602, "no such document")
	case language != s.language:
		return s.refuse(m, -32602, "no such language")
	}
	return s.say(`{"jsonrpc":"2.0","id":%s,"result":[{"name":"pipebench","kind":12}]}`, m.ID)
}

func (s *languageServer) refuse(m lspMessage, code int, why string) error {
	if len(m.ID) == 0 || strings.HasPrefix(m.Method, "$/") {
		return nil
	}
	return s.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, why)
}

func (s *languageServer) say(format string, args ...any) error {
	return s.out.WriteMessage(fmt.Appendf(nil, format, args...))
}
