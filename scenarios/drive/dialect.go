package drive

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A dialect is a protocol as a server speaks it: what is found out in the handshake is kept, so that a server that is started again is not
// asked again.
type dialect interface {
	String() string // for the record: "mcp 2025-11-25"
	framing() framers.Framing
	// greet shakes hands with a server that has just been started.
	greet(ctx context.Context, c *conn, within time.Duration) error
	// answer makes the answer to a request of the server's own; nil where the protocol has none, and whatever comes is an answer to us.
	answer() answerer
	// request makes a request of exactly size bytes.
	request(a ask, size int) (*shape, error)
	// compares is where it is kept whether answers hold what was sent, if that is to be found out; else nil.
	compares() *bool
}

// An ask is what a request is to exercise.
type ask uint8

const (
	askTool      ask = iota // the tool, or what stands for one: the way a user's request takes
	askTransport            // nothing but reading, framing, and a refusal
)

// Protocols lists the names of the protocols, "auto" first.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

// dialectNamed makes the dialect of a protocol; none for "auto".
func dialectNamed(name string) (func(o Options) dialect, error) {
	switch name {
	case "", "auto":
		return nil, nil
	case "mcp":
		return func(o Options) dialect { return newMCP(o, o.framing(framers.NDJSON())) }, nil
	case "lsp":
		return func(o Options) dialect { return newLSP(o, o.framing(framers.ContentLength())) }, nil
	case "jsonrpc":
		return func(o Options) dialect { return &bare{wire: o.framing(framers.NDJSON())} }, nil
	case "lines":
		return func(o Options) dialect { return &lines{wire: o.framing(framers.NDJSON()), echoes: true} }, nil
	}
	return nil, fmt.Errorf("unknown protocol %q (known: %s)", name, strings.Join(Protocols(), ", "))
}

// framing is what the options say, or the protocol's own. withDefaults has read the spec before.
func (o Options) framing(standard framers.Framing) framers.Framing {
	if f, err := framers.Parse(o.Framing); o.Framing != "" && err == nil {
		return f
	}
	return standard
}

// unknownMethod is one that no server has: its refusal is the shortest way through a server.
const unknownMethod = "pipebench/unknown"

// refusable is the request for an unknown method, padded to size.
func refusable(size int, meta string) (*shape, error) {
	s, err := newShape(`{"jsonrpc":"2.0","id":`+idMark+`,"method":"`+unknownMethod+`","params":{`+meta+`"pad":"`, `"}}`, size, int64(size))
	if err != nil {
		return nil, err
	}
	s.errs = true
	return s, nil
}

// denial is the answer that a client gives to what it does not know.
func denial(e jsonrpc.Envelope) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not a method of this client"}}`, e.ID)
}

func granted(e jsonrpc.Envelope, result string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, e.ID, result)
}
