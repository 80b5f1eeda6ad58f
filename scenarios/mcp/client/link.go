package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A link is one server in the life of a connection.
type link struct {
	c     *Conn
	proc  *Process
	queue chan outgoing // to be written
	down  chan struct{} // closed when the link is left
	ended chan struct{} // closed when the process is gone
	force bool          // it did not go by itself; set before ended is closed
	init  jsonrpc.ID    // of the handshake
	limit int           // of requests, in bytes; negative: none
	noise int           // lines in a row that were no message; the reader's alone
	meter *meter        // the reader's alone
	tasks sync.WaitGroup
}

// An outgoing is a message that waits to be written.
type outgoing struct {
	msg  []byte
	sent chan struct{} // closed when it has been written; nil if nobody waits for that
}

// queueSize is how many requests wait to be written; a further one waits for a place.
const queueSize = 64

func newLink(c *Conn, p *Process) *link {
	c.mu.Lock()
	listens := len(c.pending) // all else failed with the link before
	c.mu.Unlock()
	l := &link{
		c: c, proc: p,
		// The handshake's are beside the requests'.
		queue: make(chan outgoing, queueSize+2+listens),
		down:  make(chan struct{}),
		ended: make(chan struct{}),
		limit: -1,
	}
	p.Stderr = cmp.Or(p.Stderr, io.NopCloser(strings.NewReader("")))
	l.tasks.Go(func() { _, _ = io.Copy(stderrSink{c}, p.Stderr) }) // its end is no failure
	l.tasks.Go(func() {
		select {
		case <-p.Done: // by itself
			l.boundDrain()
		case <-l.down:
		}
	})
	return l
}

// drainTimeout bounds the reading of the streams of a process that has ended: what it wrote is in
// the pipe already, but a process that it left behind may hold the other end open.
const drainTimeout = 250 * time.Millisecond

// boundDrain bounds the reading of the streams of a process that has ended. A stream without
// deadlines is closed.
func (l *link) boundDrain() {
	for _, stream := range []io.ReadCloser{l.proc.Stdout, l.proc.Stderr} {
		d, ok := stream.(interface{ SetReadDeadline(time.Time) error })
		if !ok || d.SetReadDeadline(time.Now().Add(drainTimeout)) != nil {
			stream.Close()
		}
	}
}

// write writes what is queued, until the link is left.
func (l *link) write() {
	w := l.c.opts.Framing.NewWriter(l.proc.Stdin)
	chunks := mcp.ChunkLog{Logger: l.c.opts.Logger, Framing: l.c.opts.Framing}
	for {
		select {
		case o := <-l.queue:
			began := time.Now()
			if err := w.WriteMessage(o.msg); err != nil {
				l.fail(gone, ReasonGone, fmt.Errorf("write request: %w", err))
				return
			}
			chunks.Sent(o.msg, began)
			if o.sent != nil {
				close(o.sent)
			}
		case <-l.down:
			return
		}
	}
}

// fail reports by an event that the link can be used no more.
func (l *link) fail(e event, reason string, err error) {
	l.c.dispatch(l, e, eventData{err: &TransportError{Reason: reason, Err: err}})
}

// read takes frames until the stream ends or the link is lost. A link that is left is read to its
// end, so that the server can finish what it writes.
func (l *link) read() {
	policy := framers.Close
	if l.c.opts.Policy == ErrorOnOversize {
		policy = framers.Resync // which waits for the first KiB, where the id is looked for
	}
	o := &l.c.opts
	f := o.Framing
	if f == framers.NDJSON() {
		// Lines are read as lines, and frames taken too.
		f, _ = framers.Adaptive(framers.DefaultChunk)
	}
	chunks := mcp.ChunkLog{Logger: o.Logger}
	progress := func(c framers.Chunk) {
		chunks.Received(c)
		if o.OnChunk != nil && c.Total > 1 {
			o.OnChunk(c)
		}
	}
	opts := []framers.Option{
		framers.WithMaxMessage(o.MaxMessage), framers.WithPolicy(policy),
		framers.WithProgress(progress),
	}
	if o.Lenient {
		opts = append(opts, framers.WithLenient())
	}
	l.meter = &meter{r: l.proc.Stdout, limit: -1}
	r := f.NewReader(l.meter, opts...)
	for {
		l.meter.came = 0
		msg, err := r.ReadMessage()
		if !l.handle(msg, err) {
			return
		}
	}
}

// A meter counts what comes of a message while it is read, and ends one that is longer than a limit
// which was agreed on after reading had begun. A reader asks for more only if its message is not
// whole yet: so all that has come belongs to that one, but for what the framing adds to it.
type meter struct {
	r     io.Reader
	came  int64 // bytes since the message was asked for, less what had come before
	limit int64 // -1: none but the reader's own
}

// framingShare is how much of the stream may be what framings add to messages: one part in 64 and
// a header.
func framingShare(n int64) int64 { return n/64 + 8<<10 }

func (m *meter) Read(p []byte) (int, error) {
	if m.limit >= 0 && m.came > m.limit+framingShare(m.limit) {
		return 0, &framers.TooLargeError{Size: m.came, Limit: m.limit}
	}
	n, err := m.r.Read(p)
	m.came += int64(n)
	return n, err
}

// handle parses what was read. It reports whether to read on. What is within this end's limit, by
// which frames are read, may be beyond a smaller one that was negotiated.
func (l *link) handle(msg []byte, err error) bool {
	if err != nil {
		var large *framers.TooLargeError
		var header *framers.HeaderError
		var chunk *framers.ChunkError
		switch {
		case errors.As(err, &large):
			l.rejectOversized(large)
			return false
		case errors.As(err, &header), errors.As(err, &chunk):
			return l.invalidMessage(errors.Unwrap(err)) // without the line, which may hold anything
		case err == io.EOF:
			err = errors.New("the server closed its stdout")
		}
		l.fail(gone, ReasonGone, fmt.Errorf("read answer: %w", err))
		return false
	}
	if l.limit >= 0 && len(msg) > l.limit {
		l.rejectOversized(&framers.TooLargeError{Size: int64(len(msg)), Limit: int64(l.limit)})
		return false
	}
	m, err := jsonrpc.Parse(msg)
	if err != nil {
		return l.invalidMessage(err)
	}
	l.noise = 0
	l.c.dispatch(l, frame, eventData{msg: &m})
	return true
}

// invalidMessage counts what is no message. It reports whether the server may go on so.
func (l *link) invalidMessage(err error) bool {
	l.c.opts.Logger.Warn("Skipped what is no message", "error", err)
	l.c.dispatch(l, malformed, eventData{})
	l.noise++
	if l.noise > max(l.c.opts.MaxNoise, 0) {
		why := fmt.Errorf("%d lines in a row were no message, the last one: %w", l.noise, err)
		l.fail(gone, ReasonNoise, why)
		return false
	}
	return true
}

// rejectOversized ends the link over a frame beyond the limit.
func (l *link) rejectOversized(e *framers.TooLargeError) {
	size := &FrameError{Size: e.Size, Limit: e.Limit}
	if !e.Declared {
		size.Size = max(e.Size, l.meter.came) // so far: there may be more
	}
	data := eventData{err: &TransportError{Reason: ReasonOversized, Err: size}}
	if l.c.opts.Policy == ErrorOnOversize {
		data.id, _ = jsonrpc.FindID(e.Head)
		l.sendOversizeError(data.id, size)
	}
	l.c.dispatch(l, oversized, data)
}

// sendOversizeError tells the server what it did, if its stdin takes it soon: the frame has to be
// dealt with now.
func (l *link) sendOversizeError(id jsonrpc.ID, e *FrameError) {
	if id == "" {
		id = jsonrpc.Null
	}
	wrong := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: e.Error()}
	o := outgoing{msg: jsonrpc.AppendError(nil, id, wrong), sent: make(chan struct{})}
	late := time.After(oversizeErrorTimeout)
	select {
	case l.queue <- o:
	case <-late:
		return
	}
	select {
	case <-o.sent:
	case <-late:
	}
}

// oversizeErrorTimeout bounds the wait for a server that has sent too large a frame.
const oversizeErrorTimeout = 100 * time.Millisecond

// stderrSink takes the server's stderr, which is read to its end: a server that logs into a full
// pipe stands still. Where it goes must not stop the server either.
type stderrSink struct{ *Conn }

func (s stderrSink) Write(p []byte) (int, error) {
	_, _ = s.opts.Stderr.Write(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Stderr += int64(len(p))
	return len(p), nil
}
