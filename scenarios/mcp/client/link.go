package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A link is one process of the server. A connection has one after another.
type link struct {
	c     *Conn
	proc  *Process
	queue chan []byte   // messages to be written
	down  chan struct{} // closed when the link is left
	ended chan struct{} // closed when the process is gone
	force bool          // it did not go by itself; set before ended is closed
	init  jsonrpc.ID    // id of the first request
	limit int           // of requests, in bytes; negative: none
	noise int           // lines in a row that were no message; of the reading goroutine
	tasks sync.WaitGroup
}

// queueSize is how many requests wait to be written; a further one waits for a place.
const queueSize = 64

// newLink starts a server, whose output is not read before the handshake begins.
func newLink(c *Conn) (*link, error) {
	l := &link{
		c: c,
		// The two messages of the handshake have places of their own.
		queue: make(chan []byte, queueSize+2),
		down:  make(chan struct{}),
		ended: make(chan struct{}),
		limit: -1,
	}
	var err error
	l.proc, err = c.launcher.Launch(child.LinesOrChunks(c.opts.Framing), l.pipes())
	if err != nil {
		return nil, err
	}
	return l, nil
}

// pipes says how a server is read.
func (l *link) pipes() child.Options {
	o := &l.c.opts
	policy := framers.Close
	if o.Policy == ErrorOnOversize {
		policy = framers.Resync // which waits for the first KiB, where the id is looked for
	}
	chunks := mcp.ChunkLog{Logger: o.Logger}
	progress := func(c framers.Chunk) {
		chunks.Received(c)
		if o.OnChunk != nil && c.Total > 1 {
			o.OnChunk(c)
		}
	}
	reading := []framers.Option{
		framers.WithMaxMessage(o.MaxMessage), framers.WithPolicy(policy),
		framers.WithProgress(progress),
	}
	if o.Lenient {
		reading = append(reading, framers.WithLenient())
	}
	return child.Options{Divert: l.take, Reading: reading, Held: true, Stderr: stderrSink{o.Stderr}}
}

// Once a process has ended, all that it wrote is in the pipe, but a process that it left behind may
// hold the other end open. So ends looks every drainTimeout, and gives up if there is nothing to be
// read, or after mostDrains looks.
const (
	drainTimeout = 250 * time.Millisecond
	mostDrains   = 40
)

// ends waits for the end of the output of a process that has ended, and reports whether the end
// came. over is closed at the end; unread says how many bytes are still to be read.
func ends(over <-chan struct{}, unread func() (n int, known bool)) bool {
	for range mostDrains {
		select {
		case <-over:
			return true
		case <-time.After(drainTimeout):
		}
		n, known := unread()
		if !known || n == 0 {
			return false
		}
	}
	return false
}

// watch reports the end of the server's output.
func (l *link) watch() {
	over := l.proc.Conn.Closed()
	select {
	case <-over:
	case <-l.proc.Done:
		if !ends(over, l.proc.Conn.Out.Unread) {
			l.proc.Conn.CloseOutput()
			<-over
		}
	case <-l.down:
		return
	}
	err := l.proc.Conn.Err()
	large, tooLarge := errors.AsType[*framers.TooLargeError](err)
	if tooLarge {
		l.rejectOversized(large)
		return
	}
	l.fail(gone, ReasonGone, fmt.Errorf("read answer: %w", err))
}

// write writes what is queued, until the link is left.
func (l *link) write() {
	chunks := mcp.ChunkLog{Logger: l.c.opts.Logger, Framing: l.c.opts.Framing}
	for {
		select {
		case msg := <-l.queue:
			began := time.Now()
			// A write goes on even if its call is given up: after half a message nothing more can
			// be sent.
			if err := l.proc.Conn.Send(context.Background(), msg); err != nil {
				l.fail(gone, ReasonGone, fmt.Errorf("write request: %w", err))
				return
			}
			chunks.Sent(msg, began)
		case <-l.down:
			return
		}
	}
}

// fail reports by an event that the link can be used no more.
func (l *link) fail(e event, reason string, err error) {
	l.c.dispatch(l, e, eventData{err: &TransportError{Reason: reason, Err: err}})
}

// take takes a message that has come. A link that is left is still read to its end, so that the
// server can finish what it writes, but its events are dropped.
func (l *link) take(m child.Message) bool {
	switch {
	case m.Err != nil:
		l.invalidMessage(errors.Unwrap(m.Err)) // without the line, which may hold anything
		return true
	case len(bytes.TrimSpace(m.Raw)) == 0:
		return true
	}
	parsed, err := jsonrpc.Parse(m.Raw)
	if err != nil {
		l.invalidMessage(err)
		return true
	}
	l.noise = 0
	l.c.dispatch(l, frame, eventData{msg: &parsed})
	return true
}

// invalidMessage drops a line that is no message. After more than MaxNoise of them in a row, the
// link fails.
func (l *link) invalidMessage(err error) {
	l.c.opts.Logger.Warn("Skipped what is no message", "error", err)
	l.noise++
	if l.noise > max(l.c.opts.MaxNoise, 0) {
		why := fmt.Errorf("%d lines in a row were no message, the last one: %w", l.noise, err)
		l.fail(gone, ReasonNoise, why)
	}
}

// rejectOversized ends the link because of a frame beyond the limit.
func (l *link) rejectOversized(e *framers.TooLargeError) {
	size := &FrameError{Size: e.Size, Limit: e.Limit}
	if !e.Declared {
		size.Size = max(e.Size, l.proc.Conn.Partial()) // so far: there may be more
	}
	data := eventData{err: &TransportError{Reason: ReasonOversized, Err: size}}
	if l.c.opts.Policy == ErrorOnOversize {
		data.id, _ = jsonrpc.FindID(e.Head)
		l.sendOversizeError(data.id, size)
	}
	l.c.dispatch(l, oversized, data)
}

// sendOversizeError tells the server that its frame was too large. It waits at most
// oversizeErrorTimeout until the server takes that: the connection ends in any case.
func (l *link) sendOversizeError(id jsonrpc.ID, e *FrameError) {
	if id == "" {
		id = jsonrpc.Null
	}
	wrong := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: e.Error()}
	ctx, cancel := context.WithTimeout(context.Background(), oversizeErrorTimeout)
	defer cancel()
	_ = l.proc.Conn.Send(ctx, jsonrpc.AppendError(nil, id, wrong))
}

// oversizeErrorTimeout bounds the wait for a server that has sent too large a frame.
const oversizeErrorTimeout = 100 * time.Millisecond

// stderrSink passes the server's stderr on to Options.Stderr. An error of that writer does not end
// the reading: a server that logs into a full pipe stands still.
type stderrSink struct{ to io.Writer }

func (s stderrSink) Write(p []byte) (int, error) {
	_, _ = s.to.Write(p)
	return len(p), nil
}
