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

// Options say what a Server does. For a field that is zero, the default in its comment holds.
type Options struct {
	Name    string // default: "pipebench"
	Version string // default: "(devel)"
	Tools   []Tool

	// ChangingTools tells clients that the list of tools may change, so that they can ask to be
	// told of changes. It also adds a tool, change_tools, that tells them of a change.
	ChangingTools bool

	Framing framers.Framing // default: NDJSON
	// MaxMessage is the length of the largest request, in bytes without its terminator. The default
	// is DefaultMaxMessage. A negative number means no limit. With a Fault, no limit is the
	// default.
	MaxMessage int
	// MaxInFlight is how many requests are served at the same time, while further requests wait.
	// The default is DefaultMaxInFlight. All requests in flight together have at most MaxInFlight ×
	// 256 KiB, and so have their answers. A larger request is served alone.
	MaxInFlight int
	// Wait is roughly how long a message may have to wait for a frame of another message. The
	// server chooses the size of its frames accordingly. If Wait is 0, frames have the size that
	// the framing sets.
	Wait time.Duration
	// Lenient makes the server skip malformed header lines. It concerns only the framing
	// content-length.
	Lenient bool

	// NullParseErrorID is about the answer to a message whose id is not known. If it is true, the
	// id of the answer is null, as JSON-RPC says. If it is false, the id is "", for clients whose
	// ids must be strings.
	NullParseErrorID bool

	// ToolErrorsAsRPC is about the answer to a call if the tool fails. If it is true, the answer is
	// an error of code -32603. If it is false, the answer is a result with isError.
	ToolErrorsAsRPC bool

	// StrictLifecycle refuses requests that come before initialize, except ping and stateless
	// requests. If it is false, somebody at a shell can ask for tools/list at once.
	StrictLifecycle bool

	ToolTimeout time.Duration // default: DefaultToolTimeout; negative: none
	// EOFGrace is how long requests may still be served after reading has ended. FlushTimeout is
	// how long their answers may take after that. ShutdownTimeout bounds the sum of both. The
	// defaults are DefaultEOFGrace, DefaultFlushTimeout and DefaultShutdownTimeout. A negative
	// EOFGrace or FlushTimeout means no time.
	EOFGrace, FlushTimeout, ShutdownTimeout time.Duration

	// Playback answers the requests for which it has an answer, and the server answers the others.
	// If Playback is nil, the server answers all requests.
	Playback *Playback

	// Fault makes the server misbehave; the zero Fault does nothing.
	Fault Fault
	// Stderr is where a fault such as stderr-flood writes; nil: nowhere.
	Stderr io.Writer

	// Record gets every message that is read or written, and how the session ended. If Record is
	// nil, nothing is recorded. Messages of more than a few KiB are recorded without their bodies.
	Record *results.Writer
	Run    string // the run that the records name

	Logger *slog.Logger // nil: no log. The values of arguments are never logged
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
