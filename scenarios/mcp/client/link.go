package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A link is the connection to one process of the server. A Conn has one link after another.
type link struct {
	c     *Conn
	proc  *Process
	queue chan []byte   // messages to be written
	down  chan struct{} // closed when the connection gives this link up
	ended chan struct{} // closed when the process is gone
	init  jsonrpc.ID    // id of the first request; "" once that is answered
	limit int           // the largest request, in bytes; negative: no limit
	noise int           // how many lines in a row were no message; for the reading goroutine only
	tasks sync.WaitGroup

	skipped atomic.Pointer[error] // why the last line was no message; nil if it was one

	forced bool // the process did not end by itself; set before ended is closed
}

// queueSize is how many requests can be queued for writing. Further calls wait for a place.
const queueSize = 64

// newLink starts a server. The output of the server is not read before the handshake begins.
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

// pipes returns how the output of the server and its stderr are to be read.
func (l *link) pipes() child.Options {
	o := &l.c.opts
	policy := framers.Close
	if o.Policy == ErrorOnOversize {
		policy = framers.Resync // the error then has the frame's first KiB, where the id may be
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
	return child.Options{
		Divert: l.take, Reading: reading, Stderr: stderrSink{o.Stderr},
		Held: true, // until the handshake begins
	}
}

const (
	drainInterval  = 250 * time.Millisecond // between two checks of awaitEnd
	maxDrainChecks = 40
)

// awaitEnd is called when a process has ended. It waits until the channel over is closed, which
// happens at the end of the output. awaitEnd gives up when nothing is left to read, because a child
// of the process may hold the pipe open.
func awaitEnd(over <-chan struct{}, unread func() (n int, known bool)) bool {
	for range maxDrainChecks {
		if child.Within(over, drainInterval) {
			return true
		}
		n, known := unread()
		if !known || n == 0 {
			return false
		}
	}
	return false
}

// watch tells the connection of the end of the server's output.
func (l *link) watch() {
	over := l.proc.Conn.Closed()
	select {
	case <-over:
	case <-l.proc.Done:
		if !awaitEnd(over, l.proc.Conn.Out.Unread) {
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

// write writes the messages in the queue, until the link is given up.
func (l *link) write() {
	chunks := mcp.ChunkLog{Logger: l.c.opts.Logger, Framing: l.c.opts.Framing}
	for {
		select {
		case msg := <-l.queue:
			began := time.Now()
			// A write goes on even if the caller has given up: after half a message, no other
			// message can be sent.
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

// fail tells the connection, by the event e, that the link cannot be used any more.
func (l *link) fail(e event, reason string, err error) {
	l.c.dispatch(l, e, eventData{err: &TransportError{Reason: reason, Err: err}})
}

// take handles a message from the server. It always returns true, so that nobody else gets the
// message.
func (l *link) take(m child.Message) bool {
	switch {
	case m.Err != nil:
		l.invalidMessage(errors.Unwrap(m.Err)) // the reason alone: the line may hold anything
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
	l.skipped.Store(nil)
	l.c.dispatch(l, frame, eventData{msg: &parsed})
	return true
}

// invalidMessage drops a line that is no message. The link fails after more than MaxNoise such
// lines in a row.
func (l *link) invalidMessage(err error) {
	l.skipped.Store(&err)
	l.c.opts.Logger.Warn("Skipped what is no message", "error", err)
	l.noise++
	if l.noise > l.c.opts.MaxNoise {
		why := fmt.Errorf("%d lines in a row were no message, the last one: %w", l.noise, err)
		l.fail(gone, ReasonNoise, why)
	}
}

// rejectOversized ends the link because of a frame that is larger than the limit.
func (l *link) rejectOversized(e *framers.TooLargeError) {
	tooLarge := &FrameError{Size: e.Size, Limit: e.Limit}
	if !e.Declared {
		tooLarge.Size = max(e.Size, l.proc.Conn.Partial()) // so far: more bytes may come
	}
	data := eventData{err: &TransportError{Reason: ReasonOversized, Err: tooLarge}}
	if l.c.opts.Policy == ErrorOnOversize {
		data.id, _ = jsonrpc.FindID(e.Head)
		l.sendOversizeError(data.id, tooLarge)
	}
	l.c.dispatch(l, oversized, data)
}

// sendOversizeError tells the server that its frame was too large. It gives up after
// oversizeErrorTimeout.
func (l *link) sendOversizeError(id jsonrpc.ID, e *FrameError) {
	if id == "" {
		id = jsonrpc.Null
	}
	wrong := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: e.Error()}
	ctx, cancel := context.WithTimeout(context.Background(), oversizeErrorTimeout)
	defer cancel()
	_ = l.proc.Conn.Send(ctx, jsonrpc.AppendError(nil, id, wrong))
}

const oversizeErrorTimeout = 100 * time.Millisecond

// stderrSink passes the server's stderr on. It ignores errors, because a server hangs if nobody
// reads its stderr and the pipe is full.
type stderrSink struct{ to io.Writer }

func (s stderrSink) Write(p []byte) (int, error) {
	_, _ = s.to.Write(p)
	return len(p), nil
}
