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

// A zero option stands for these.
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
	// negative: no limit, as with a Fault.
	MaxMessage int
	// MaxInFlight is how many requests are served at a time, others wait: DefaultMaxInFlight. Each
	// stands for 256 KiB, of requests and of answers.
	MaxInFlight int
	// Wait has the size of frames be chosen so that a message waits about so long for a frame of
	// another one; 0: frames have the size of the framing.
	Wait time.Duration
	// Lenient skips lines of a header that are malformed; of content-length alone.
	Lenient bool

	// NullParseErrorID answers what has no id that can be known with the id null, as JSON-RPC says.
	// Without it that id is "", as clients whose ids are strings need it.
	NullParseErrorID bool

	// ToolErrorsAsRPC answers a failing tool with an error of code -32603 in place of a result with
	// isError.
	ToolErrorsAsRPC bool

	// StrictLifecycle refuses requests other than ping before initialize. Without it a shell can
	// ask for tools/list at once.
	StrictLifecycle bool

	ToolTimeout time.Duration // DefaultToolTimeout; negative: none
	// EOFGrace is how long what was read may go on when reading ends: DefaultEOFGrace; negative:
	// not at all. FlushTimeout is how long its answers may take from then on: DefaultFlushTimeout;
	// negative: no time. ShutdownTimeout bounds both together: DefaultShutdownTimeout.
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

// complete fills in the defaults and reports all that cannot be.
func (o *Options) complete() error {
	o.Name = cmp.Or(o.Name, "pipebench")
	o.Version = cmp.Or(o.Version, "(devel)")
	if o.Fault.Kind != "" {
		o.MaxMessage = cmp.Or(o.MaxMessage, -1) // the fault's threshold is to be found, not this
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
