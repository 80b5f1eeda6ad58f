// Package mcpstdio is an MCP server for stdin and stdout that survives what clients do to it, and
// one that misbehaves on purpose.
//
//	s, err := mcpstdio.NewServer(os.Stdin, os.Stdout, mcpstdio.Options{Tools: mcpstdio.Samples()})
//	err = s.Start(ctx)
//	...
//	err = s.Wait() // until the client closes stdin, or Stop
//
// The protocol is that of the official SDK (github.com/modelcontextprotocol/go-sdk). The transport
// is this package's, on framers: an oversized, malformed or half line costs one answer and never
// the session, ids are answered in the text they came in, answers never interleave, and the end of
// stdin lets what was asked be answered, for a bounded time.
//
//	stdin -> framers.Reader -> jsonrpc.Parse -> queue -> SDK session -> Tool
//	stdout <- framers.Mux  <- error codes <--------'-------------'
//
// Reading waits for neither tools nor the output, up to [maxWaiting] bytes: so the end of the input
// and cancellations are seen behind requests that wait. Beyond that the system is asked whether the
// client still holds its end.
//
// A [Fault] makes a server misbehave in one of the ways that people report, so that authors of
// clients can test theirs. Package client is the other end.
//
// All methods of a Server may be called concurrently. Not promised: resources, prompts, batches, and
// that a tool which ignores its context ends with the server.
package mcpstdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A State is where a Server is in its life, which goes one way.
type State int

const (
	Created  State = iota // not started
	Running               // reading requests
	Draining              // reading no more; answering what was read
	Stopped               // over
)

func (s State) String() string {
	return [...]string{"created", "running", "draining", "stopped"}[s]
}

// A Server answers MCP requests that come on one stream with answers on another.
type Server struct {
	opts Options
	in   io.Reader
	out  io.Writer
	log  *slog.Logger
	sdk  *mcp.Server

	chunks ChunkLog
	mux    *framers.Mux

	stopping context.Context // ends by Stop
	stop     context.CancelFunc
	failed   context.Context // ends when the output fails, or by abort: nothing can be answered then
	fail     context.CancelCauseFunc
	drained  context.Context // ends when nothing more is to be answered, and the SDK's sessions with it
	endDrain context.CancelFunc
	stopped  chan struct{} // closed when all is over
	fault    *faultInjector

	waiting  chan waitingItem    // what was read and has not had its turn
	room     *semaphore.Weighted // bytes of it
	taken    atomic.Int64        // items that have had their turn
	inFlight *semaphore.Weighted // the weights of requests that the SDK has
	answers  *semaphore.Weighted // bytes that tools say their answers have, until those are written
	capacity int64               // of both

	preInit, main *session    // preInit: nil if requests must wait for initialize
	initSeen      atomic.Bool // initialize has come
	deserted      bool        // the end of the input is known to come behind what is not read yet; the reading goroutine's alone
	sessions      sync.WaitGroup

	began     time.Time
	recording sync.Mutex

	pending pendingTable
	err     error // of Wait; set before stopped is closed
}

// NewServer returns a server of opts.Tools that is not started yet. It closes neither in nor out.
// Where they have deadlines (as pipes of os.Pipe and network connections do), it uses them to end a
// read or a write that blocks.
func NewServer(in io.Reader, out io.Writer, opts Options) (*Server, error) {
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s := &Server{
		opts: opts, in: in, out: out, log: opts.Logger, chunks: ChunkLog{opts.Logger, opts.Framing},
		stopped:  make(chan struct{}),
		waiting:  make(chan waitingItem, maxWaiting/itemOverhead),
		room:     semaphore.NewWeighted(maxWaiting),
		capacity: requestWeight * int64(min(opts.MaxInFlight, 1<<30)),
		pending:  pendingTable{byNumber: map[int64]*request{}, byID: map[jsonrpc.ID]*request{}, idle: make(chan struct{})},
	}
	s.inFlight, s.answers = semaphore.NewWeighted(s.capacity), semaphore.NewWeighted(s.capacity)
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.failed, s.fail = context.WithCancelCause(context.Background())
	s.drained, s.endDrain = context.WithCancel(context.Background())
	s.fault = &faultInjector{Fault: opts.Fault, s: s, parent: os.Getppid()}
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: opts.Name, Version: opts.Version}, opts.serves())
	s.sdk.AddReceivingMiddleware(s.offerFrameSize)
	for _, t := range opts.Tools {
		if err := s.register(t); err != nil {
			return nil, fmt.Errorf("new server: %w", err)
		}
	}
	if opts.Fixtures {
		return s, s.addFixtures()
	}
	return s, nil
}

// Start begins to serve and returns. The server ends as by Stop when ctx does.
func (s *Server) Start(ctx context.Context) error {
	if !s.pending.advance(Created, Running) {
		return errors.New("start server: it was started before")
	}
	s.began = time.Now()
	s.mux = framers.NewMux(s.fault.output(s.out), s.opts.Framing)
	var err error
	if s.main, err = s.connect(ctx, nil); err == nil && !s.opts.StrictLifecycle {
		s.preInit, err = s.connect(ctx, &mcp.ServerSessionState{InitializeParams: &mcp.InitializeParams{}})
	}
	if err != nil {
		s.pending.advance(Running, Stopped)
		s.endDrain()
		close(s.stopped)
		return fmt.Errorf("start server: %w", err)
	}
	s.sessions.Add(1)
	go s.takeTurns()
	go s.supervise(ctx)
	return nil
}

// EndOfInput is the verdict of the last record of a session whose client closed the input; that of
// one that was told to stop is another, and one that a signal killed has none.
const EndOfInput = "end of input"

// State returns where the server is in its life.
func (s *Server) State() State {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	return s.pending.state
}

// Stop has the server read no more and end as at the end of its input. It returns at once; Wait
// waits.
func (s *Server) Stop() { s.stop() }

// ErrLost is in the error of a server whose client did not take all answers.
var ErrLost = errors.New("answers were lost")

// Wait returns when the server, which has been started, is over: nil after the end of its input,
// Stop, and a client that closed the output; else why it could not go on reading or writing, or
// ErrLost with the number of answers that could not be given in time.
func (s *Server) Wait() error {
	<-s.stopped
	return s.err
}

// supervise reads until something ends that, and shuts the server down.
func (s *Server) supervise(ctx context.Context) {
	ended := make(chan error, 1)
	go func() { ended <- s.read() }()
	reading := true
	select {
	case s.err = <-ended:
		reading = false
	case <-s.stopping.Done():
	case <-ctx.Done():
	case <-s.failed.Done():
	}
	s.drain()
	if reading && boundRead(s.in, time.Unix(1, 0)) {
		<-ended
	}
	flushed, dropped := s.pending.close()
	failure := context.Cause(s.failed)
	why := s.whyOver(reading, failure)
	var abort *abortError
	switch {
	case errors.As(failure, &abort):
		s.err = abort.err
	case failure != nil && closedByPeer(failure): // the client has left
	case failure != nil && !errors.Is(failure, os.ErrDeadlineExceeded):
		s.err = cmp.Or(s.err, fmt.Errorf("write answer: %w", failure))
	case dropped > 0:
		s.err = cmp.Or(s.err, fmt.Errorf("%d %w: not taken in time after the end of the input", dropped, ErrLost))
	}
	if abort == nil {
		s.log.Info(fmt.Sprintf("%s, flushed %d responses, dropped %d responses", why, flushed, dropped))
	}
	if s.opts.Record != nil && abort == nil {
		end := "stopped"
		if !reading && s.err == nil {
			end = EndOfInput
		}
		ended := results.Target{Kind: results.KindTarget, Run: s.opts.Run, Time: time.Now().UTC(), Protocol: "mcp", Verdict: end}
		if err := s.keep(ended); err != nil {
			s.log.Error("Record failed", "error", err)
		}
	}
	boundRead(s.in, time.Time{}) // the streams are given back as they came
	boundWrite(s.out, time.Time{})
	close(s.stopped)
}

// whyOver says in the log's words why the server ends; failure is that of the output, if it failed.
func (s *Server) whyOver(reading bool, failure error) string {
	switch {
	case !reading && s.err == nil:
		return "Client disconnected (EOF)"
	case !reading:
		return "Input failed"
	case failure != nil:
		return "Output failed"
	}
	return "Stopped"
}

// drain answers what was read, in a bounded time:
//
//	reading ends   queue stands    grace     cancelled    flush      over
//	     |--------------|------------|-----------|----------|----------|
//	                    <--------- ShutdownTimeout at most ----------->
//
// Requests that wait are taken up as long as that goes on: a client may send more than is served at
// a time and close its end at once.
func (s *Server) drain() {
	s.pending.advance(Running, Draining)
	boundRead(s.in, time.Unix(1, 0))
	latest := time.Now().Add(s.opts.ShutdownTimeout)
	for before := int64(-1); len(s.waiting) > 0 && s.taken.Load() != before; {
		before, latest = s.taken.Load(), time.Now().Add(s.opts.ShutdownTimeout)
		if s.awaitAnswers(stallTime, latest) {
			break
		}
	}
	if !s.awaitAnswers(s.opts.EOFGrace, latest) {
		flush := time.Now().Add(max(s.opts.FlushTimeout, 0))
		if flush.After(latest) {
			flush = latest
		}
		boundWrite(s.out, flush)
		for _, r := range s.pending.list() {
			r.cancel()
		}
		s.awaitAnswers(time.Until(flush), latest)
	}
	boundWrite(s.out, time.Now())
	s.endDrain()
	over := make(chan struct{})
	go func() {
		s.sessions.Wait() // they end when what they write does: at once where the output has deadlines
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(time.Until(latest)):
	}
}

// stallTime is how long nothing that waits is taken up before the server ends without it.
const stallTime = time.Second

// awaitAnswers waits until everything is answered, for d at most and not beyond latest. It reports
// false if time is up. After a failed output or an abort nothing more will be answered, so it waits
// no longer then.
func (s *Server) awaitAnswers(d time.Duration, latest time.Time) bool {
	select {
	case <-s.pending.idle:
	case <-s.failed.Done():
	case <-time.After(min(d, time.Until(latest))):
		return false
	}
	return true
}

// abort ends the server without a further word; err is what Wait returns.
func (s *Server) abort(err error) {
	s.fail(&abortError{err})
	s.pending.advance(Running, Draining)
}

// An abortError is the end that a fault makes: with err, or with nil.
type abortError struct{ err error }

func (e *abortError) Error() string { return fmt.Sprintf("aborted: %v", e.err) }

// boundRead ends a read that still blocks at a time, and reports whether it can: in needs deadlines.
// Without them, as stdin of most programs, the read ends with the process.
func boundRead(in any, at time.Time) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(at) == nil
}

// boundWrite ends a write that still blocks at a time, if out has deadlines.
func boundWrite(out any, at time.Time) {
	if d, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(at)
	}
}

// What Options stand for where they are zero.
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

	// Fixtures offers the tools that MCP's conformance suite calls by their names, too. These are all
	// that send notifications, and ask the client for something.
	Fixtures bool

	Framing     framers.Framing // NDJSON
	MaxMessage  int             // bytes of a message, terminator not counted: DefaultMaxMessage; negative: no limit, as with a Fault
	MaxInFlight int             // requests served at a time, and 256 KiB for each of them and of their answers; others wait: DefaultMaxInFlight

	// ParseErrorID is the id of an answer to what has no id that can be known: jsonrpc.Empty, as
	// clients whose ids are strings need it, or jsonrpc.Null, as JSON-RPC says. A server uses one
	// of them throughout.
	ParseErrorID jsonrpc.ID

	// ToolErrorsAsRPC answers a failing tool with an error of code -32603 in place of a result with
	// isError.
	ToolErrorsAsRPC bool

	// StrictLifecycle refuses requests other than ping before initialize. Without it a shell can
	// ask for tools/list at once.
	StrictLifecycle bool

	ToolTimeout     time.Duration // DefaultToolTimeout; negative: none
	EOFGrace        time.Duration // how long what was read may go on when reading ends: DefaultEOFGrace; negative: not at all
	FlushTimeout    time.Duration // how long its answers may take from then on: DefaultFlushTimeout; negative: no time
	ShutdownTimeout time.Duration // bounds both together: DefaultShutdownTimeout

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
	o.ParseErrorID = cmp.Or(o.ParseErrorID, jsonrpc.Empty)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, DefaultToolTimeout)
	o.EOFGrace = cmp.Or(o.EOFGrace, DefaultEOFGrace)
	o.FlushTimeout = cmp.Or(o.FlushTimeout, DefaultFlushTimeout)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, DefaultShutdownTimeout)
	o.Framing = cmp.Or(o.Framing, framers.NDJSON())
	o.Stderr = cmp.Or(o.Stderr, io.Discard)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	faults := []error{o.Fault.check()}
	if o.ParseErrorID != jsonrpc.Empty && o.ParseErrorID != jsonrpc.Null {
		faults = append(faults, fmt.Errorf(`id of parse errors is %s: want "" or null`, o.ParseErrorID))
	}
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
