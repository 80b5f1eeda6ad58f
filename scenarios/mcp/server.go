// Package mcp is an MCP server for stdin and stdout that survives what clients do to it. With a
// [Fault], it misbehaves on purpose. It is for pipebench's commands and may change.
//
//	s, err := mcp.Start(ctx, os.Stdin, os.Stdout, mcp.Options{Tools: mcp.Samples()})
//	...
//	err = s.Wait() // until the client closes stdin, or ctx ends
//
// A malformed message gets an error as its answer and never ends the session. After the end of
// stdin, the server still answers the requests that it has read, for a bounded time.
//
// All methods of a Server may be called concurrently. There are no resources, prompts or batches. A
// tool that ignores its context may outlive the server.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Server reads MCP requests from one stream and writes the answers to another.
type Server struct {
	opts Options
	in   io.Reader
	out  io.Writer
	log  *slog.Logger

	tools  map[string]*Tool
	offers []ToolInfo // in the order of their names

	chunks ChunkLog
	mux    *framers.Mux

	// failed ends when the output fails or abort is called. After that, nothing can be answered.
	failed   context.Context
	fail     context.CancelCauseFunc
	drained  context.Context // ends when nothing more is to be answered
	endDrain context.CancelFunc
	over     chan struct{} // closed when the server has ended
	fault    *faultInjector

	waiting  chan waitingItem    // messages that were read and have not had their turn
	room     *semaphore.Weighted // bounds the bytes of these messages
	taken    atomic.Int64        // how many messages have had their turn
	inFlight *semaphore.Weighted // bounds the weights of requests that are being served
	answers  *semaphore.Weighted // bounds the bytes (Tool.Size) of answers not yet written
	capacity int64               // of inFlight, and also of answers

	initialized atomic.Bool // initialize was answered
	listening   sync.Mutex
	subscribed  []*request // subscriptions that are told of changes; guarded by listening

	clientLeft bool // the client has left while the queue was full; only the reader uses it
	workers    sync.WaitGroup

	began     time.Time
	recording sync.Mutex // held while a line is recorded

	pending pendingTable
	err     error // what Wait returns; set before over is closed
}

// Start begins to serve and returns at once. When ctx ends, the server ends as if its input had
// ended. It does not close in and out, but sets deadlines on these streams if it can.
func Start(ctx context.Context, in io.Reader, out io.Writer, opts Options) (*Server, error) {
	opts.complete()
	s := &Server{
		opts: opts, in: in, out: out, log: opts.Logger,
		chunks:  ChunkLog{opts.Logger, opts.Framing},
		tools:   map[string]*Tool{},
		over:    make(chan struct{}),
		began:   time.Now(),
		waiting: make(chan waitingItem, maxWaiting/itemOverhead),
		room:    semaphore.NewWeighted(maxWaiting),
		// 1<<30 keeps the product within an int64.
		capacity: requestWeight * int64(min(opts.MaxInFlight, 1<<30)),
		pending:  pendingTable{byID: map[jsonrpc.ID]*request{}, idle: make(chan struct{})},
	}
	s.inFlight = semaphore.NewWeighted(s.capacity)
	s.answers = semaphore.NewWeighted(s.capacity)
	s.failed, s.fail = context.WithCancelCause(context.Background())
	s.drained, s.endDrain = context.WithCancel(context.Background())
	s.fault = &faultInjector{Fault: opts.Fault, s: s, parent: os.Getppid()}
	tools := opts.Tools
	if opts.ChangingTools {
		does := "Tell that the list of tools has changed"
		change := NewTool("change_tools", does, nil, s.tellOfChange)
		tools = append(slices.Clone(tools), change)
	}
	for _, t := range tools {
		err := s.offer(t)
		if err != nil {
			return nil, fmt.Errorf("start server: %w", err)
		}
	}
	s.mux = s.fault.mux(out)
	s.workers.Go(s.serveQueue)
	go s.supervise(ctx)
	return s, nil
}

// State returns the stage that the server has reached in its life.
func (s *Server) State() State {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	return s.pending.state
}

// ErrLost is wrapped in the error of Wait if the client did not take all answers.
var ErrLost = errors.New("answers were lost")

// Wait waits until the server has ended. The error is nil if the input or the context of Start
// ended, or the client left. It wraps ErrLost if answers could not be given in time.
func (s *Server) Wait() error {
	<-s.over
	return s.err
}

// supervise reads until the input ends, the output fails or the server is stopped. Then it shuts
// the server down.
func (s *Server) supervise(ctx context.Context) {
	ended := make(chan error, 1)
	go func() { ended <- s.read() }()
	reading := true
	select {
	case s.err = <-ended:
		reading = false
	case <-ctx.Done():
	case <-s.failed.Done():
	}
	s.drain()
	if reading && boundRead(s.in, longPast) {
		<-ended
	}
	flushed, dropped := s.pending.close()
	failure := context.Cause(s.failed)
	if abort, aborted := errors.AsType[*abortError](failure); aborted {
		s.err = abort.err
	} else {
		s.conclude(reading, failure, flushed, dropped)
	}
	boundRead(s.in, time.Time{}) // the streams are given back without deadlines
	boundWrite(s.out, time.Time{})
	close(s.over)
}

// conclude logs and records how the session ended, and sets what Wait returns. failure is the error
// of the output, or nil.
func (s *Server) conclude(stillReading bool, failure error, flushed, dropped int) {
	why := "Stopped"
	switch {
	case !stillReading && s.err == nil:
		why = "Client disconnected (EOF)"
	case !stillReading:
		why = "Input failed"
	case failure != nil:
		why = "Output failed"
	}
	level := slog.LevelInfo
	if dropped > 0 {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, fmt.Sprintf(
		"%s, flushed %d responses, dropped %d responses", why, flushed, dropped))
	switch {
	case closedByPeer(failure): // the client has left
	// An answer that is cut off because the time to write is up is no failure here. It counts as
	// dropped.
	case failure != nil && !errors.Is(failure, os.ErrDeadlineExceeded):
		s.err = cmp.Or(s.err, fmt.Errorf("write answer: %w", failure))
	case dropped > 0:
		lost := fmt.Errorf("%d %w: not taken in time after the end of the input", dropped, ErrLost)
		s.err = cmp.Or(s.err, lost)
	}
	s.recordEnd(!stillReading && s.err == nil)
}

// EndOfInput is the verdict in the last record of a session whose client closed the input. The
// verdict on other sessions is "stopped".
const EndOfInput = "end of input"

// recordEnd writes the last record of a session, if it is recorded.
func (s *Server) recordEnd(endOfInput bool) {
	if s.opts.Record == nil {
		return
	}
	end := "stopped"
	if endOfInput {
		end = EndOfInput
	}
	err := s.keep(results.Target{
		Kind: results.KindTarget, Run: s.opts.Run, Time: time.Now().UTC(),
		Protocol: "mcp", Verdict: end,
	})
	if err != nil {
		s.log.Error("Record failed", "error", err)
	}
}

// drain answers what was read, in a bounded time, and ends early when nothing is left to answer:
//
//	while the queue gets shorter    | EOFGrace      | FlushTimeout
//	serve the requests that wait    | finish served | cancel the rest, write answers
//	                                <-- at most ShutdownTimeout -->
func (s *Server) drain() {
	s.pending.drain()
	boundRead(s.in, longPast)
	latest := time.Now().Add(s.opts.ShutdownTimeout)
	// Some clients send more requests than are served at a time, and close their end at once.
	before := int64(-1) // differs from any count, so that the loop begins
	for len(s.waiting) > 0 && s.taken.Load() != before {
		before = s.taken.Load()
		latest = time.Now().Add(s.opts.ShutdownTimeout)
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
		s.pending.cancel()
		s.awaitAnswers(time.Until(flush), latest)
	}
	bounded := boundWrite(s.out, time.Now()) // time is up: writes that still block end now
	s.endDrain()
	s.pending.cancel()
	if !bounded && s.pending.unanswered() { // a write may block, and only its reader can end that
		return
	}
	idle := make(chan struct{})
	go func() {
		s.workers.Wait() // workers end when their writes end
		close(idle)
	}()
	select {
	case <-idle:
	case <-time.After(time.Until(latest)):
	}
}

// stallTime is how long the server waits for the next message in the queue to have its turn. After
// that, it gives up all messages in the queue.
const stallTime = time.Second

// awaitAnswers waits until every request is answered or no more answers can be sent. It returns
// false if that takes longer than d or until after latest.
func (s *Server) awaitAnswers(d time.Duration, latest time.Time) bool {
	select {
	case <-s.pending.idle:
	case <-s.failed.Done():
	case <-time.After(min(d, time.Until(latest))):
		return false
	}
	return true
}

// abort ends the server because of a fault. The server answers nothing more, and Wait returns err.
func (s *Server) abort(err error) {
	s.fail(&abortError{err})
	s.pending.drain()
}

// An abortError says that a fault ended the server. Wait returns its err, which may be nil.
type abortError struct{ err error }

func (e *abortError) Error() string { return fmt.Sprintf("aborted: %v", e.err) }

// longPast is a deadline that ends a blocked read at once.
var longPast = time.Unix(1, 0)

// boundRead sets the time at which a blocked read ends. It reports whether the stream has
// deadlines, which the stdin of most programs has not.
func boundRead(in any, at time.Time) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(at) == nil
}

// boundWrite sets the time at which a blocked write ends, and reports whether the stream has
// deadlines.
func boundWrite(out any, at time.Time) bool {
	d, ok := out.(interface{ SetWriteDeadline(time.Time) error })
	return ok && d.SetWriteDeadline(at) == nil
}
