package client

import (
	"cmp"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

const (
	DefaultRequestTimeout = 60 * time.Second
	DefaultInitTimeout    = 30 * time.Second
	DefaultProtocol       = mcp.LastWithHandshake
)

// A Policy says what happens if a frame is larger than MaxMessage.
type Policy string

const (
	// CloseOnOversize closes the connection without telling the server. It is the default.
	CloseOnOversize Policy = "close"
	// ErrorOnOversize answers the frame with a JSON-RPC error, and then closes the connection. If
	// the frame answered a request, that request fails with a *FrameError.
	ErrorOnOversize Policy = "error"
	// Negotiate is CloseOnOversize with a limit from the handshake: client and server each put a
	// number into capabilities.experimental.maxFrameSize, and the smaller one holds. Requests must
	// not exceed the limit either. A strict server may refuse such a handshake, because MCP wants
	// an object in place of the number.
	Negotiate Policy = "negotiate"
)

// Options say how a connection behaves. For a field that is zero, the default in its comment holds.
type Options struct {
	Version string // of the client, as told to the server
	// Protocol is the MCP revision to ask for; default: DefaultProtocol. If it is
	// [mcp.FirstStateless] or later, the server must speak exactly that revision.
	Protocol string

	Framing framers.Framing // default: NDJSON, and then the server may also send chunk frames
	// MaxMessage is the length of the largest frame, in bytes without the terminator. The default
	// is 16 MiB: room for a document or an image. A negative number means no limit.
	MaxMessage int
	Policy     Policy // default: CloseOnOversize
	Lenient    bool   // skip malformed header lines; only for the framing content-length
	// MaxNoise is how many lines in a row are skipped if they are no messages. After one more, the
	// server counts as lost. The default is 10,000.
	MaxNoise int

	// RequestTimeout bounds a request whose context has no deadline; default:
	// DefaultRequestTimeout; negative: no timeout.
	RequestTimeout time.Duration
	InitTimeout    time.Duration // for the handshake; default: DefaultInitTimeout; negative: none

	// Restarts is how many times in a row the server is started again; 0: no limit; negative:
	// never. A handshake that succeeds begins the count anew.
	Restarts int
	// The wait before a new start is random, up to a bound. The bound doubles after each failure,
	// from BackoffFirst to 30 s; default: 100 ms.
	BackoffFirst time.Duration
	Random       func() float64 // returns a number in [0, 1) for the backoff; default: rand.Float64

	// AfterFunc sets the timers; default: time.AfterFunc. stop may be called after f has run, and
	// more than once.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)

	Stderr io.Writer    // gets the server's stderr; nil: stderr is read and dropped
	Logger *slog.Logger // nil: no log. The content of messages is never logged

	// The following functions may be nil. The connection's goroutines call them, so they must
	// return soon.
	OnState        func(State)
	OnViolation    func(Violation)
	OnNotification func(method string, params []byte) // params is valid during the call
	// OnChunk gets each chunk of a message that comes in several chunks. The slices in the Chunk
	// are valid during the call.
	OnChunk func(framers.Chunk)
}

func (o *Options) complete() {
	o.Protocol = cmp.Or(o.Protocol, DefaultProtocol)
	o.MaxMessage = cmp.Or(o.MaxMessage, 16<<20)
	o.MaxNoise = cmp.Or(o.MaxNoise, 10_000)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, DefaultRequestTimeout)
	o.InitTimeout = cmp.Or(o.InitTimeout, DefaultInitTimeout)
	o.BackoffFirst = cmp.Or(o.BackoffFirst, 100*time.Millisecond)
	o.Stderr = cmp.Or(o.Stderr, io.Discard)
	o.Framing = cmp.Or(o.Framing, framers.NDJSON())
	if o.AfterFunc == nil {
		o.AfterFunc = func(d time.Duration, f func()) (stop func() bool) {
			return time.AfterFunc(d, f).Stop
		}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// A backoff computes the time until the next start. It is random, so that the clients of one
// machine do not all start their servers at once.
type backoff struct {
	first    time.Duration
	random   func() float64 // in [0, 1)
	failures int            // since the connection was last ready
}

const mostBackoff = 30 * time.Second

// next returns a random time. Its bound is b.first × 2^b.failures, but at most mostBackoff.
func (b *backoff) next() time.Duration {
	bound := math.Ldexp(float64(b.first), b.failures)
	b.failures++
	return time.Duration(b.random() * min(bound, float64(mostBackoff)))
}
