package drive

import (
	"context"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// bare is JSON-RPC without a protocol above it: there is no handshake, and no method that a server is known to have.
type bare struct {
	wire   framers.Framing
	echoes bool
}

func (b *bare) String() string                                    { return "jsonrpc" }
func (b *bare) framing() framers.Framing                          { return b.wire }
func (b *bare) greet(context.Context, *conn, time.Duration) error { return nil }
func (b *bare) compares() *bool                                   { return &b.echoes }

func (b *bare) request(_ ask, size int) (*shape, error) {
	s, err := refusable(size, "")
	if err != nil {
		return nil, err
	}
	s.echoes = b.echoes
	return s, nil
}

func (b *bare) answer() answerer {
	return func(_ []byte, e jsonrpc.Envelope) []byte { return denial(e) }
}
