// Package mcp is an MCP server for stdin and stdout that survives what clients do to it, and one
// that misbehaves on purpose. It is for pipebench's commands and may change.
//
//	s, err := mcp.NewServer(os.Stdin, os.Stdout, mcp.Options{Tools: mcp.Samples()})
//	err = s.Start(ctx)
//	...
//	err = s.Wait() // until the client closes stdin, or Stop
//
// An oversized, malformed or half message gets one error as its answer and never ends the session.
// An answer has the id in the same text as its request. Answers never interleave. After the end of
// stdin the requests that were read are still answered, for a bounded time.
//
//	stdin -> framers.Reader -> jsonrpc.Parse -> queue -> dispatch -> Tool
//	stdout <- framers.Mux <------------------------------'-----------'
//
// Reading waits for neither tools nor the output, up to [maxWaiting] bytes: so the end of the input
// and cancellations are seen behind requests that wait. If more waits, the server asks the system
// whether the client still holds its end of stdin.
//
// A [Fault] makes a server misbehave in one of the ways that people report, so that authors of
// clients can test theirs. Package client is the other end.
//
// All methods of a Server may be called concurrently. Not promised: resources, prompts, batches,
// and that a tool which ignores its context ends with the server.
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

// A Server answers MCP requests that come on one stream with answers on another.
type Server struct {
	opts Options
	in   io.Reader
	out  io.Writer
	log  *slog.Logger

	tools  map[string]*offered
	offers []ToolInfo // in the order of their names

	chunks ChunkLog
	mux    *framers.Mux

	stopping context.Context // ends by Stop
	stop     context.CancelFunc
	// Ends when the output fails, or by abort: nothing can be answered then.
	failed   context.Context
	fail     context.CancelCauseFunc
	drained  context.Context // ends when nothing more is to be answered
	endDrain context.CancelFunc
	stopped  chan struct{} // closed when all is over
	fault    *faultInjector

	waiting  chan waitingItem    // what was read and has not had its turn
	room     *semaphore.Weighted // bounds the bytes of what waits
	taken    atomic.Int64        // items that have had their turn
	inFlight *semaphore.Weighted // the weights of requests that are served
	answers  *semaphore.Weighted // bytes that tools say their answers have, until those are written
	capacity int64               // of inFlight and of answers

	initialized atomic.Bool // initialize was answered
	listening   sync.Mutex
	subscribed  []*request // subscriptions that are told of changes; listening guards it

	// the client has left, but its messages are not all read; of the reading goroutine
	deserted bool
	workers  sync.WaitGroup

	began     time.Time
	recording sync.Mutex

	pending pendingTable
	err     error // what Wait returns; set before stopped is closed
}

// NewServer returns a server of opts.Tools that is not started yet. It closes neither in nor out.
// If they have deadlines (as pipes of os.Pipe and network connections do), the server uses those to
// end a read or a write that blocks.
func NewServer(in io.Reader, out io.Writer, opts Options) (*Server, error) {
	err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s := &Server{
		opts: opts, in: in, out: out, log: opts.Logger,
		chunks:   ChunkLog{opts.Logger, opts.Framing},
		tools:    map[string]*offered{},
		stopped:  make(chan struct{}),
		waiting:  make(chan waitingItem, maxWaiting/itemOverhead),
		room:     semaphore.NewWeighted(maxWaiting),
		capacity: requestWeight * int64(min(opts.MaxInFlight, 1<<30)),
		pending:  pendingTable{byID: map[jsonrpc.ID]*request{}, idle: make(chan struct{})},
	}
	s.inFlight = semaphore.NewWeighted(s.capacity)
	s.answers = semaphore.NewWeighted(s.capacity)
	s.stopping, s.stop = context.WithCancel(context.Background())
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
			return nil, fmt.Errorf("new server: %w", err)
		}
	}
	return s, nil
}

// Start begins to serve and returns. The server ends as by Stop when ctx does.
func (s *Server) Start(ctx context.Context) error {
	if !s.pending.advance(Created, Running) {
		return errors.New("start server: it was started before")
	}
	s.began = time.Now()
	s.mux = framers.NewMux(s.fault.output(s.out), s.opts.Framing, framers.WithWait(s.opts.Wait))
	s.workers.Go(s.takeTurns)
	go s.supervise(ctx)
	return nil
}

// EndOfInput is the verdict in the last record of a session whose client closed the input. A
// session that was told to stop has another verdict there; one that a signal killed has no such
// record.
const EndOfInput = "end of input"

// State returns where the server is in its life.
func (s *Server) State() State {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	return s.pending.state
}

// Stop makes the server read no more and end as at the end of its input. It returns at once; Wait
// waits for the end.
func (s *Server) Stop() { s.stop() }

// ErrLost is in the error of a server whose client did not take all answers.
var ErrLost = errors.New("answers were lost")

// Wait returns when the server, which must have been started, has ended. It returns nil after the
// end of the input, after Stop, or if the client closed the output. Else it returns why reading or
// writing failed, or ErrLost with the number of answers that could not be given in time.
func (s *Server) Wait() error {
	<-s.stopped
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
	_, aborted := errors.AsType[*abortError](failure)
	s.err = s.ending(failure, dropped)
	if !aborted {
		level := slog.LevelInfo
		if dropped > 0 {
			level = slog.LevelWarn
		}
		s.log.Log(ctx, level, fmt.Sprintf("%s, flushed %d responses, dropped %d responses",
			why, flushed, dropped))
		s.recordEnd(!reading && s.err == nil)
	}
	boundRead(s.in, time.Time{}) // the streams are given back without deadlines
	boundWrite(s.out, time.Time{})
	close(s.stopped)
}

// ending returns what Wait returns: failure is that of the output, if it failed, and dropped counts
// the answers that could not be given.
func (s *Server) ending(failure error, dropped int) error {
	abort, aborted := errors.AsType[*abortError](failure)
	switch {
	case aborted:
		return abort.err
	case failure != nil && closedByPeer(failure): // the client has left
		return s.err
	case failure != nil && !errors.Is(failure, os.ErrDeadlineExceeded):
		return cmp.Or(s.err, fmt.Errorf("write answer: %w", failure))
	case dropped > 0:
		lost := fmt.Errorf("%d %w: not taken in time after the end of the input", dropped, ErrLost)
		return cmp.Or(s.err, lost)
	}
	return s.err
}

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
//	reading ends   queue stuck     grace     cancelled    flush      over
//	     |--------------|------------|-----------|----------|----------|
//	                    <--------- ShutdownTimeout at most ----------->
//
// Requests that wait are still taken up: a client may send more than are served at a time, and
// close its end at once. The queue is stuck if none was taken from it for stallTime.
func (s *Server) drain() {
	s.pending.advance(Running, Draining)
	boundRead(s.in, time.Unix(1, 0)) // long past: a read that blocks ends at once
	latest := time.Now().Add(s.opts.ShutdownTimeout)
	for before := int64(-1); len(s.waiting) > 0 && s.taken.Load() != before; {
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
	bounded := boundWrite(s.out, time.Now())
	s.endDrain()
	s.pending.cancel()
	if !bounded && s.pending.unanswered() { // a write may block, and nothing but its reader ends it
		return
	}
	over := make(chan struct{})
	go func() {
		s.workers.Wait() // workers end when their writes end
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(time.Until(latest)):
	}
}

// If nothing that waits is taken up within stallTime, the server ends without it.
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

// An abortError says that a fault ended the server. Wait returns its err, which may be nil.
type abortError struct{ err error }

func (e *abortError) Error() string { return fmt.Sprintf("aborted: %v", e.err) }

// boundRead sets the time at which a blocked read ends, and reports whether in has deadlines. Stdin
// of most programs has none; then the read ends with the process.
func boundRead(in any, at time.Time) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(at) == nil
}

// boundWrite ends a write that still blocks at the time at, and reports whether it can: out needs
// deadlines. An inherited pipe or terminal has none.
func boundWrite(out any, at time.Time) bool {
	d, ok := out.(interface{ SetWriteDeadline(time.Time) error })
	return ok && d.SetWriteDeadline(at) == nil
}
