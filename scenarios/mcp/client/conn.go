// Package client starts a stdio MCP server and talks to it through a connection that outlives the
// server's mistakes.
//
//	command := client.NewCommand("server.js", "--verbose") // node server.js --verbose
//	c, err := client.Open(command, client.Options{})
//	defer c.Close()
//	tools, err := c.ListTools(ctx)
//	answer, err := c.CallTool(ctx, "echo", map[string]any{"message": "hi"})
//
// A connection is a state machine. Whatever goes wrong with the server fails the requests in flight
// with one typed error, and starts the server again after a while:
//
//	            started               initialized
//	Starting ------------> Initializing ---------> Ready
//	  ^  \                      |                   |
//	  |   \ start failed        | refused, gone,    | gone,
//	  |    \                    | oversized frame   | oversized frame
//	  |     '-------> Backoff <-+-------------------'
//	  '--------------- timer
//
//	and from every state, with Close: Closing
//
// A [Conn] and a [Pool] are for many goroutines. Requests carry ids and answers may come in any
// order.
//
// Not promised: requests but subscriptions are not sent again when a server fails (they might take
// effect twice), and what a server asks of the client is refused, ping excepted: there is no
// sampling, and there are no roots.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A Conn is a connection to one server, which it starts, and starts again when it fails.
type Conn struct {
	opts     Options
	launcher Launcher

	mu      sync.Mutex
	state   State
	link    *link         // the server of Initializing and Ready; nil else
	last    *link         // the one before, or the same: the next start waits for its end
	ready   chan struct{} // closed while the state is Ready, and when it is Closing
	over    chan struct{} // closed when the state is Closing
	pending map[jsonrpc.ID]*pendingCall
	lastID  int64 // ids count up and are never used again
	retry   backoff
	timer   func() bool // stops the timer that was set last
	stats   Stats
	server  *mcp.ServerInfo
	lost    *TransportError // why the state is Backoff or Closing

	tasks sync.WaitGroup
}

// Stats are counts since Open.
type Stats struct {
	Starts     int   // of the server
	Violations int   // frames beyond the limit
	Noise      int64 // lines that were no message, and messages that were malformed
	Late       int64 // answers to requests that had failed already
	Strays     int64 // answers to nothing that was asked
	Dropped    int64 // events that came when they had no meaning any more
	Stderr     int64 // bytes
	InFlight   int   // requests, now
}

// Open starts the server and returns at once. Requests wait until it is ready.
func Open(launcher Launcher, opts Options) (*Conn, error) {
	err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("open connection: %w", err)
	}
	c := &Conn{
		opts: opts, launcher: launcher,
		ready: make(chan struct{}), over: make(chan struct{}),
		pending: map[jsonrpc.ID]*pendingCall{}, timer: func() bool { return false },
		retry: backoff{first: opts.BackoffFirst, most: opts.BackoffMost, random: opts.Random},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start()
	return c, nil
}

// Stats returns the counts.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.InFlight = len(c.pending)
	return s
}

// Server returns what the server said of itself when it last became ready, or nil.
func (c *Conn) Server() *mcp.ServerInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// Wait returns when the connection is ready. Its error is ErrClosed, with the reason, or that of
// ctx.
func (c *Conn) Wait(ctx context.Context) error { return c.whenReady(ctx, func() {}) }

// whenReady waits as Wait does, and then calls do with the lock.
func (c *Conn) whenReady(ctx context.Context, do func()) error {
	for {
		c.mu.Lock()
		state := c.state
		ready := c.ready
		lost := c.lost
		if state == Ready {
			do()
		}
		c.mu.Unlock()
		switch state {
		case Ready:
			return nil
		case Closing:
			if lost == nil || lost.Reason == ReasonClosed {
				return ErrClosed
			}
			return fmt.Errorf("%w: %w", ErrClosed, lost)
		}
		select {
		case <-ready:
		case <-ctx.Done():
			if lost == nil {
				return fmt.Errorf("connection is %v: %w", state, ctx.Err())
			}
			return fmt.Errorf("connection is %v (%w): %w", state, lost, ctx.Err())
		}
	}
}

// Close ends the connection: requests in flight fail, the server's stdin is closed, and it is given
// time to end before it is told to and then killed. Close returns when the server is gone.
func (c *Conn) Close() error {
	c.dispatch(nil, closed, eventData{err: &TransportError{Reason: ReasonClosed, Err: ErrClosed}})
	c.tasks.Wait()
	return nil
}

// Done is closed when the connection is Closing: by Close, or because it gave its server up.
func (c *Conn) Done() <-chan struct{} { return c.over }

// Exit returns how the server that was last started has ended: its code, or 128 + the signal that
// ended it, and whether it had to be told to end, or made to, after its stdin was closed. The code
// is -1 if it has not ended, or never ran.
func (c *Conn) Exit() (code int, forced bool) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last == nil {
		return -1, false
	}
	select {
	case <-last.ended:
		return last.proc.ExitCode(), last.force
	default:
		return -1, false
	}
}

// ErrClosed is returned for requests to a connection that has been closed, or that gave its server
// up.
var ErrClosed = errors.New("connection is closed")

// Reasons of a TransportError.
const (
	ReasonStart     = "start_failed"
	ReasonHandshake = "handshake_failed"
	ReasonOversized = "oversized_frame"
	ReasonGone      = "server_gone"
	ReasonNoise     = "too_much_noise"
	ReasonClosed    = "closed"
)

// A TransportError is returned for a request that was in flight when the connection to the server
// was lost. Whether the server carried it out is not known. All requests of that moment get the
// same one.
type TransportError struct {
	Reason string // one of the Reason constants
	Err    error
}

func (e *TransportError) Error() string { return fmt.Sprintf("lost the server: %v", e.Err) }
func (e *TransportError) Unwrap() error { return e.Err }

// A FrameError says that a frame is beyond the limit.
type FrameError struct {
	Size  int64 // bytes that the frame declares, or that had come when it was refused
	Limit int64 // bytes
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("frame of %d bytes or more exceeds the limit of %d: "+
		"ask for less, or raise the limit", e.Size, e.Limit)
}

// A Violation tells of a frame beyond the limit.
type Violation struct {
	FrameSize int64  `json:"frame_size"` // bytes, as in FrameError
	Max       int64  `json:"max"`        // bytes
	Reason    string `json:"reason"`     // ReasonOversized
}

// A Pool spreads requests over several servers that do the same.
type Pool struct {
	conns []*Conn
	over  chan struct{} // closed when all connections are Closing
}

// NewPool returns a pool of connections, which become its own: Close closes them.
func NewPool(conns ...*Conn) (*Pool, error) {
	if len(conns) == 0 {
		return nil, errors.New("new pool: no connection")
	}
	p := &Pool{conns: conns, over: make(chan struct{})}
	go func() {
		for _, c := range conns {
			<-c.Done()
		}
		close(p.over)
	}()
	return p, nil
}

// Wait returns when the first connection is ready. Its errors are those of [Conn.Wait] on all of
// them, if none can be.
func (p *Pool) Wait(ctx context.Context) error {
	_, err := p.firstReady(ctx)
	return err
}

// Done is closed when all connections have given their servers up, or were closed.
func (p *Pool) Done() <-chan struct{} { return p.over }

// Call sends a request to the server that is ready and has the fewest in flight; if none is, to the
// first that becomes ready. Errors are those of [Conn.Call], RequestTimeout that of the first
// connection. A request is sent once: one that fails with its server is not tried on another.
func (p *Pool) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := p.conns[0].withTimeout(ctx)
	defer cancel()
	c := p.leastLoaded()
	if c == nil {
		var err error
		c, err = p.firstReady(ctx)
		if err != nil {
			return nil, fmt.Errorf("call %s: %w", method, err)
		}
	}
	return c.Call(ctx, method, params)
}

// Notify sends a notification to every server: each has a session of its own that it may concern.
func (p *Pool) Notify(ctx context.Context, method string, params any) error {
	ctx, cancel := p.conns[0].withTimeout(ctx)
	defer cancel()
	var errs []error
	for _, c := range p.conns {
		errs = append(errs, c.Notify(ctx, method, params))
	}
	return errors.Join(errs...)
}

// leastLoaded returns the connection that is ready and has the fewest requests in flight, or nil.
func (p *Pool) leastLoaded() (best *Conn) {
	least := 0
	for _, c := range p.conns {
		c.mu.Lock()
		ready := c.state == Ready
		n := len(c.pending)
		c.mu.Unlock()
		if ready && (best == nil || n < least) {
			best = c
			least = n
		}
	}
	return best
}

// firstReady waits for the first connection that is ready. It fails when all are closed, or ctx
// ends.
func (p *Pool) firstReady(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		c   *Conn
		err error
	}
	outcomes := make(chan outcome, len(p.conns))
	for _, c := range p.conns {
		go func() { outcomes <- outcome{c, c.Wait(ctx)} }()
	}
	var errs []error
	for range p.conns {
		o := <-outcomes
		if o.err == nil {
			return o.c, nil
		}
		errs = append(errs, o.err)
	}
	return nil, errors.Join(errs...)
}

// Close closes all connections, and returns when all servers are gone.
func (p *Pool) Close() error {
	var closing sync.WaitGroup
	for _, c := range p.conns {
		closing.Go(func() { _ = c.Close() }) // its error is always nil
	}
	closing.Wait()
	return nil
}
