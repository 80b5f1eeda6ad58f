package mcp

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

const (
	DefaultMaxInFlight     = 256 // requests
	DefaultToolTimeout     = 60 * time.Second
	DefaultEOFGrace        = 250 * time.Millisecond
	DefaultFlushTimeout    = 2 * time.Second
	DefaultShutdownTimeout = 5 * time.Second
)

// Options say what a Server does. For a field that is zero, the default in its comment holds.
type Options struct {
	Version string // of the server, as told to clients
	Tools   []Tool // no two have the same name

	// ChangingTools tells clients that the list of tools may change, and adds a tool, change_tools,
	// that announces a change.
	ChangingTools bool

	Framing framers.Framing // default: NDJSON
	// MaxMessage is the length of the largest request, in bytes. The default is 10 MiB, or no limit
	// if Fault is set. A negative number means no limit.
	MaxMessage int
	// MaxInFlight is how many requests are served at a time; default: DefaultMaxInFlight. These
	// requests have at most MaxInFlight × 256 KiB in all, and so do their answers.
	MaxInFlight int
	// Wait is roughly how long a message may have to wait while a frame of another message is
	// written. Wait sets the size of frames. If Wait is 0, the framing sets the size.
	Wait time.Duration
	// Lenient skips malformed header lines. It concerns only the framing content-length.
	Lenient bool

	// NullParseErrorID gives an error the id null, as JSON-RPC says, if the id of the message is
	// not known. If NullParseErrorID is false, the id is "", for clients whose ids must be strings.
	NullParseErrorID bool

	// ToolErrorsAsRPC answers with an error of code -32603 if a tool fails, and not with a result
	// that has isError.
	ToolErrorsAsRPC bool

	// StrictLifecycle refuses requests before "initialize", except "ping" and requests that need no
	// handshake.
	StrictLifecycle bool

	ToolTimeout time.Duration // default: DefaultToolTimeout; negative: none
	// After the end of the input, the server serves requests for the time EOFGrace, and then writes
	// answers for the time FlushTimeout. In all it takes at most ShutdownTimeout. The defaults are
	// DefaultEOFGrace, DefaultFlushTimeout and DefaultShutdownTimeout. A negative EOFGrace or
	// FlushTimeout means no time.
	EOFGrace, FlushTimeout, ShutdownTimeout time.Duration

	// Playback, if set, answers the requests that it knows. The server answers the others.
	Playback *Playback

	// Fault makes the server misbehave; the zero Fault does nothing.
	Fault Fault
	// Stderr is where a fault such as stderr-flood writes; nil: nowhere.
	Stderr io.Writer

	// Record gets every message that is read or written, and how the session ended; nil: no
	// recording. Messages above 8 KiB are recorded without their bodies.
	Record *results.Writer
	Run    string // the run that the records name

	Logger *slog.Logger // nil: no log. The values of arguments are never logged
}

func (o *Options) complete() {
	if o.Fault.Kind != "" {
		// A limit could refuse the messages that are large enough to set off the fault.
		o.MaxMessage = cmp.Or(o.MaxMessage, -1)
	}
	o.MaxMessage = cmp.Or(o.MaxMessage, 10<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, DefaultMaxInFlight)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, DefaultToolTimeout)
	o.EOFGrace = cmp.Or(o.EOFGrace, DefaultEOFGrace)
	o.FlushTimeout = cmp.Or(o.FlushTimeout, DefaultFlushTimeout)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, DefaultShutdownTimeout)
	o.Framing = cmp.Or(o.Framing, framers.NDJSON())
	o.Stderr = cmp.Or(o.Stderr, io.Discard)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}
