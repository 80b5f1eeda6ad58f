package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// Defaults of Options.
const (
	DefaultMaxMessage      = 10 << 20 // bytes
	DefaultMaxInFlight     = 256      // requests
	DefaultToolTimeout     = 60 * time.Second
	DefaultEOFGrace        = 250 * time.Millisecond
	DefaultFlushTimeout    = 2 * time.Second
	DefaultShutdownTimeout = 5 * time.Second
)

// Options say what a Server does. A field that is zero has the default its comment names.
type Options struct {
	Name    string // "pipebench"
	Version string // "(devel)"
	Tools   []Tool

	// ChangingTools says that the list of tools changes, so that clients can ask to be told, and
	// offers a tool that tells them of a change.
	ChangingTools bool

	Framing framers.Framing // NDJSON
	// MaxMessage is the largest request in bytes, its terminator not counted: DefaultMaxMessage;
	// negative: no limit, which is the default with a Fault.
	MaxMessage int
	// MaxInFlight is how many requests are served at a time, while others wait: DefaultMaxInFlight.
	// MaxInFlight × 256 KiB also bounds the bytes of these requests, and the bytes of their
	// answers.
	MaxInFlight int
	// Wait is about how long a message may wait for a frame of another message; the size of frames
	// is chosen for that. 0: frames have the size of the framing.
	Wait time.Duration
	// Lenient skips malformed lines of a header; only with content-length.
	Lenient bool

	// NullParseErrorID answers a message whose id is not known with the id null, as JSON-RPC says.
	// Without it the id of that answer is "", which clients need whose ids are strings.
	NullParseErrorID bool

	// ToolErrorsAsRPC answers a failing tool with an error of code -32603 in place of a result with
	// isError.
	ToolErrorsAsRPC bool

	// StrictLifecycle refuses requests other than ping before initialize. Without it a shell can
	// ask for tools/list at once.
	StrictLifecycle bool

	ToolTimeout time.Duration // DefaultToolTimeout; negative: none
	// EOFGrace is how long requests may still be served after reading has ended: DefaultEOFGrace;
	// negative: not at all. FlushTimeout is how long their answers may take after that:
	// DefaultFlushTimeout; negative: no time. ShutdownTimeout bounds both together:
	// DefaultShutdownTimeout.
	EOFGrace, FlushTimeout, ShutdownTimeout time.Duration

	// Playback answers what it can in place of the tools; nil: nothing.
	Playback *Playback

	// Fault makes the server misbehave; the zero Fault does nothing.
	Fault Fault
	// Stderr is where the faults that concern stderr write; nil: nowhere.
	Stderr io.Writer

	// Record gets every message that is read or written, and how the session ended; nil: nothing.
	// Bodies that are larger than a few KiB are left out.
	Record *results.Writer
	Run    string // of the records

	Logger *slog.Logger // nil: none. It is never given the values of arguments
}

// complete fills in the defaults and reports all options that are invalid.
func (o *Options) complete() error {
	o.Name = cmp.Or(o.Name, "pipebench")
	o.Version = cmp.Or(o.Version, "(devel)")
	if o.Fault.Kind != "" {
		// A limit could refuse messages before they reach the threshold of the fault.
		o.MaxMessage = cmp.Or(o.MaxMessage, -1)
	}
	o.MaxMessage = cmp.Or(o.MaxMessage, DefaultMaxMessage)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, DefaultMaxInFlight)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, DefaultToolTimeout)
	o.EOFGrace = cmp.Or(o.EOFGrace, DefaultEOFGrace)
	o.FlushTimeout = cmp.Or(o.FlushTimeout, DefaultFlushTimeout)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, DefaultShutdownTimeout)
	o.Framing = cmp.Or(o.Framing, framers.NDJSON())
	o.Stderr = cmp.Or(o.Stderr, io.Discard)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	var faults []error
	if o.MaxInFlight < 0 {
		faults = append(faults, fmt.Errorf("%d requests in flight: want at least 1", o.MaxInFlight))
	}
	seen := make(map[string]bool)
	for _, t := range o.Tools {
		if seen[t.Name] {
			faults = append(faults, fmt.Errorf("two tools are called %q", t.Name))
		}
		seen[t.Name] = true
	}
	return errors.Join(faults...)
}
