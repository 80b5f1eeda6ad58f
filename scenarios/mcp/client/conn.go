// Package client starts a stdio MCP server and talks to it through a connection that survives the
// server's failures.
//
//	command := client.NewCommand("server.js", "--verbose") // node server.js --verbose
//	c := client.Open(command, client.Options{})
//	defer c.Close()
//	tools, err := client.ListTools(ctx, c)
//	answer, err := client.CallTool(ctx, c, "echo", map[string]any{"message": "hi"})
//
// If the server fails, all requests in flight fail with the same [TransportError], and the server
// is started again. The requests are not sent again, because they might take effect twice.
//
// A [Conn] and a [Pool] may be used by many goroutines at once. Of the server's own requests, ping
// is answered and all others are refused.
package client

import (
	"context"
	"fmt"
	"sync"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Conn is a connection to one server. It starts the server, and starts it again when the server
// fails.
type Conn struct {
	opts     Options
	launcher Launcher

	mu      sync.Mutex
	state   State
	link    *link         // the server while Initializing or Ready; else nil
	last    *link         // the server that was started last: the next start waits for its end
	ready   chan struct{} // closed in the states Ready and Closing
	over    chan struct{} // closed in the state Closing
	pending map[jsonrpc.ID]*pendingCall
	lastID  int64 // ids count up and are never used again
	retry   backoff
	lost    *TransportError // the reason for the state Backoff or Closing

	stopTimer func() bool // stops the timer that was set last; mu guards it
	tasks     sync.WaitGroup
}

// Open starts the server and returns at once. Requests wait until the server is ready.
func Open(launcher Launcher, opts Options) *Conn {
	opts.complete()
	c := &Conn{
		opts: opts, launcher: launcher,
		ready: make(chan struct{}), over: make(chan struct{}),
		pending: map[jsonrpc.ID]*pendingCall{}, stopTimer: func() bool { return false },
		retry: backoff{first: opts.BackoffFirst, random: opts.Random},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start()
	return c
}

// Wait returns when the connection is ready. Its error wraps ErrClosed or the error of ctx.
func (c *Conn) Wait(ctx context.Context) error { return c.whenReady(ctx, func() {}) }

// whenReady waits until the connection is ready, and then calls the function do while it holds the
// lock.
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
				return fmt.Errorf("connection is %v: %w", state, context.Cause(ctx))
			}
			return fmt.Errorf("connection is %v (%w): %w", state, lost, context.Cause(ctx))
		}
	}
}

// Close fails the requests in flight, closes the server's stdin, and returns when the server is
// gone. A server that does not end in time is killed.
func (c *Conn) Close() {
	c.dispatch(nil, closed, eventData{err: &TransportError{Reason: ReasonClosed, Err: ErrClosed}})
	c.tasks.Wait()
}

// Done returns a channel that is closed after Close, or when the connection has given up on its
// server.
func (c *Conn) Done() <-chan struct{} { return c.over }

// Exit returns the exit code of the latest server process, or 128 plus the number of the signal
// that ended it. The code is -1 if no process was started. forced is true if the process did not
// end by itself. Call Exit only after Close.
func (c *Conn) Exit() (code int, forced bool) {
	if c.last == nil {
		return -1, false
	}
	return c.last.proc.ExitCode(), c.last.forced
}
