package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// lsp is the Language Server Protocol.
type lsp struct {
	wire     framers.Framing
	root     string    // the folder of the documents, a URI; "" where none are sent
	language string    // of the documents; "" is to be found out
	document *document // what requests open; nil for requests that are refused
}

func newLSP(o Options, wire framers.Framing) *lsp {
	return &lsp{wire: wire, root: o.root, language: o.Language}
}

func (l *lsp) String() string           { return "lsp" }
func (l *lsp) framing() framers.Framing { return l.wire }

func (l *lsp) greet(ctx context.Context, c *conn, within time.Duration) error {
	c.hear(l.answer())
	reply, err := c.call(ctx, l.initialize(), within)
	if err != nil {
		return err
	}
	if err := l.accepted(reply); err != nil {
		return err
	}
	return l.enter(ctx, c, within)
}

// able is what this client says that it can: a server may then ask for settings, announce what it is at, and register what it can.
const able = `{"workspace":{"configuration":true,"workspaceFolders":true,"applyEdit":true,"didChangeConfiguration":{"dynamicRegistration":true}},` +
	`"textDocument":{"synchronization":{"dynamicRegistration":true},"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}},"window":{"workDoneProgress":true}}`

func (l *lsp) initialize() call {
	where := `"rootUri":null,"workspaceFolders":null`
	if l.root != "" {
		where = `"rootUri":` + quoted(l.root) + `,"workspaceFolders":[{"uri":` + quoted(l.root) + `,"name":"pipebench"}]`
	}
	return call{method: "initialize", params: fmt.Sprintf(`{"processId":%d,%s,"capabilities":%s}`, os.Getpid(), where, able)}
}

// enter ends the handshake, and finds out which documents the server understands if it is to be sent some.
func (l *lsp) enter(ctx context.Context, c *conn, within time.Duration) error {
	if err := c.send([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)); err != nil {
		return c.left(err)
	}
	if l.root == "" || l.document != nil {
		return nil
	}
	return l.chooseDocument(ctx, c, within)
}

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

// answer serves the requests that a language server waits for: without answers some never go on.
func (l *lsp) answer() answerer {
	return func(msg []byte, e jsonrpc.Envelope) []byte {
		switch method := string(e.Method); {
		case method == "workspace/configuration":
			return nothingSet(msg, e)
		case method == "workspace/applyEdit":
			return granted(e, `{"applied":false}`)
		case method == "window/showDocument":
			return granted(e, `{"success":false}`)
		case slices.Contains(agreed, method), strings.HasSuffix(method, "/refresh"):
			return granted(e, "null")
		}
		return denial(e)
	}
}

// agreed are requests to which null is a full answer: so be it, or none of the choices.
var agreed = []string{
	"client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest", "workspace/workspaceFolders",
}

// nothingSet answers that nothing is set, once for each item that is asked for.
func nothingSet(msg []byte, e jsonrpc.Envelope) []byte {
	var request struct {
		Params struct {
			Items []json.RawMessage `json:"items"`
		} `json:"params"`
	}
	if json.Unmarshal(msg, &request) != nil {
		return denial(e)
	}
	nulls := strings.Repeat("null,", len(request.Params.Items))
	return granted(e, "["+strings.TrimSuffix(nulls, ",")+"]")
}

func (l *lsp) request(a ask, size int) (*shape, error) {
	if a == askTransport || l.document == nil {
		return refusable(size, "")
	}
	return l.document.shape(l.root, size)
}

func (l *lsp) compares() *bool { return nil }
