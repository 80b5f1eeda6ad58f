package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// Defaults of Options.
const (
	DefaultMaxMessage     = 16 << 20 // bytes: room for a document or an image
	DefaultMaxNoise       = 10_000   // lines in a row
	DefaultRequestTimeout = 60 * time.Second
	DefaultInitTimeout    = 30 * time.Second
	DefaultBackoffFirst   = 100 * time.Millisecond
	DefaultBackoffMost    = 30 * time.Second
	DefaultProtocol       = mcp.LastWithHandshake
)

// A Policy says what a frame beyond the limit leads to.
type Policy int

const (
	// CloseOnOversize closes the connection without an answer. It is the default, because it looks
	// at nothing in the frame.
	CloseOnOversize Policy = iota
	// Unlimited takes frames of every size.
	Unlimited
	// ErrorOnOversize answers with a JSON-RPC error and closes the connection. The error has the id
	// that is in the frame's first KiB, or null if there is none. The request with that id fails
	// with a *FrameError of its own.
	ErrorOnOversize
	// Negotiate is CloseOnOversize with a limit that both ends agree on in the handshake. Each
	// names a number in capabilities.experimental.maxFrameSize, and the smaller one holds; if the
	// server names none, the client's holds. The limit bounds requests, too. A strict server may
	// refuse such a handshake, because MCP wants an object in place of the number.
	Negotiate
)

// Options say how a connection behaves. A field that is zero has the default its comment names.
type Options struct {
	Version string // of the client, for the server: "(devel)"
	// The MCP revision to ask for: DefaultProtocol. If it is [mcp.FirstWithout] or later, a server
	// that does not speak it is refused.
	Protocol string

	Framing    framers.Framing // NDJSON, to which a server may answer in chunk frames too
	MaxMessage int             // bytes of a message, terminator not counted: DefaultMaxMessage
	Policy     Policy          // CloseOnOversize
	Lenient    bool            // skip malformed lines of a header; only with content-length
	// How many lines in a row may be no message before the server counts as lost: DefaultMaxNoise;
	// negative: none.
	MaxNoise int

	// For a request whose context has no deadline: DefaultRequestTimeout; negative: none.
	RequestTimeout time.Duration
	InitTimeout    time.Duration // for the handshake: DefaultInitTimeout; negative: none

	// Restarts is how often in a row the server is started again; 0: without end, negative: never.
	// A handshake that succeeds begins the count anew.
	Restarts int
	// The wait before a start is random. Its bound is BackoffFirst at first (DefaultBackoffFirst),
	// and doubles each time up to BackoffMost (DefaultBackoffMost).
	BackoffFirst time.Duration
	BackoffMost  time.Duration
	Random       func() float64 // in [0, 1), for the backoff: a random one

	// AfterFunc sets the timers of the backoff and the handshake: time.AfterFunc. stop may be
	// called after f has run, and more than once.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)

	Stderr io.Writer    // gets the server's stderr; if nil, it is read and dropped
	Logger *slog.Logger // nil: none. It is never given what messages carry

	// The following are called from the connection's goroutines and must return soon. Nil is fine.
	OnState        func(State)
	OnViolation    func(Violation)
	OnNotification func(method string, params []byte) // params is valid during the call
	// Gets each chunk of a message that comes in several; its slices are valid during the call.
	OnChunk func(framers.Chunk)
}

func afterFunc(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

// complete fills in the defaults, and reports values that are not allowed.
func (o *Options) complete() error {
	o.Version = cmp.Or(o.Version, "(devel)")
	o.Protocol = cmp.Or(o.Protocol, DefaultProtocol)
	o.MaxMessage = cmp.Or(o.MaxMessage, DefaultMaxMessage)
	o.MaxNoise = cmp.Or(o.MaxNoise, DefaultMaxNoise)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, DefaultRequestTimeout)
	o.InitTimeout = cmp.Or(o.InitTimeout, DefaultInitTimeout)
	o.BackoffFirst = cmp.Or(o.BackoffFirst, DefaultBackoffFirst)
	o.BackoffMost = cmp.Or(o.BackoffMost, DefaultBackoffMost)
	o.Stderr = cmp.Or(o.Stderr, io.Discard)
	o.Framing = cmp.Or(o.Framing, framers.NDJSON())
	if o.AfterFunc == nil {
		o.AfterFunc = afterFunc
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	var faults []error
	if o.MaxMessage < 0 {
		faults = append(faults, fmt.Errorf("frame limit of %d: want more than 0", o.MaxMessage))
	}
	if o.Policy < CloseOnOversize || o.Policy > Negotiate {
		faults = append(faults, fmt.Errorf("policy %d is not known", o.Policy))
	}
	if o.Policy == Unlimited {
		o.MaxMessage = -1 // no limit, in package framers
	}
	return errors.Join(faults...)
}

// A backoff computes the time before the next start. The time is random between 0 and its bound
// ("full jitter"), so that many clients of one machine do not come back together.
type backoff struct {
	first, most time.Duration
	random      func() float64 // in [0, 1)
	failures    int            // since the connection was last ready
}

// next returns a random time up to first × 2^failures, and up to most.
func (b *backoff) next() time.Duration {
	bound := b.first
	for range b.failures {
		if bound >= b.most/2 { // doubling it could overflow
			bound = b.most
			break
		}
		bound *= 2
	}
	b.failures++
	return time.Duration(b.random() * float64(min(bound, b.most)))
}
