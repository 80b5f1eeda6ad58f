package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/target/envelope"
)

// lsp is the Language Server Protocol.
type lsp struct{ wire framers.Framing }

func (l *lsp) String() string           { return "lsp" }
func (l *lsp) framing() framers.Framing { return l.wire }

func (l *lsp) greet(ctx context.Context, c *conn, within time.Duration) error {
	c.hear(l.answer())
	reply, err := c.call(ctx, initializeLSP(), within)
	if err != nil {
		return err
	}
	if err := l.accepted(reply); err != nil {
		return err
	}
	return c.send([]byte(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
}

func initializeLSP() call {
	return call{method: "initialize", params: fmt.Sprintf(`{"processId":%d,"rootUri":null,"workspaceFolders":null,"capabilities":{}}`, os.Getpid())}
}

func (l *lsp) accepted(reply answer) error {
	var hello struct {
		Capabilities json.RawMessage `json:"capabilities"`
	}
	if err := reply.decode(&hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if len(hello.Capabilities) == 0 {
		return errors.New("initialize: the answer names no capabilities, so this is no language server")
	}
	return nil
}

// answer serves the requests that a language server waits for: without answers some never go on.
func (l *lsp) answer() answerer {
	return func(msg []byte, e envelope.Envelope) []byte {
		if string(e.Method) != "workspace/configuration" {
			return granted(e, "null")
		}
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
}

func (l *lsp) request(_ ask, size int) (*shape, error) { return refusable(size, "") }

func (l *lsp) compares() *bool { return nil }
