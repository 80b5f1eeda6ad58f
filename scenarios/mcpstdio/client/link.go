package client

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
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
	tasks sync.WaitGroup
}

// An outgoing is a message on its way out.
type outgoing struct {
	msg  []byte
	sent chan struct{} // closed when it has been written; nil if nobody waits for that
}

func newLink(c *Conn, p *Process) *link {
	l := &link{
		c: c, proc: p,
		queue: make(chan outgoing, c.opts.Queue+2), // the handshake's are beside the requests'
		down:  make(chan struct{}),
		ended: make(chan struct{}),
		limit: -1,
	}
	if p.Stderr != nil {
		l.tasks.Go(l.drainStderr)
	}
	l.tasks.Go(l.watch)
	return l
}

// run starts to read and write.
func (l *link) run() {
	l.tasks.Go(l.write)
	l.tasks.Go(l.read)
}

// end leaves the server and sees to it that it ends. If polite, what it still writes is read.
func (l *link) end(polite bool) {
	close(l.down)
	l.proc.Stdin.Close()
	if !polite {
		l.proc.Stdout.Close()
	}
	l.force = l.proc.stop()
	l.curtail()
	l.tasks.Wait()
	l.proc.Stdout.Close()
	if l.proc.Stderr != nil {
		l.proc.Stderr.Close()
	}
	close(l.ended)
}

// afterlife is how long the streams of a process that has ended are read: what it wrote is in the pipe already, but a
// process that it left behind may hold the other end open.
const afterlife = 250 * time.Millisecond

// curtail bounds the reading of the streams of a process that has ended. A stream without deadlines is closed.
func (l *link) curtail() {
	for _, stream := range []io.ReadCloser{l.proc.Stdout, l.proc.Stderr} {
		if stream == nil {
			continue
		}
		d, ok := stream.(interface{ SetReadDeadline(time.Time) error })
		if !ok || d.SetReadDeadline(time.Now().Add(afterlife)) != nil {
			stream.Close()
		}
	}
}

// watch curtails the streams when the process ends by itself.
func (l *link) watch() {
	select {
	case <-l.proc.Done:
		l.curtail()
	case <-l.down:
	}
}

// write writes what is queued, until the link is left.
func (l *link) write() {
	w := l.c.opts.Framing.NewWriter(l.proc.Stdin)
	for {
		select {
		case o := <-l.queue:
			if err := w.WriteMessage(o.msg); err != nil {
				l.lose(ReasonGone, fmt.Errorf("write request: %w", err))
				return
			}
			if o.sent != nil {
				close(o.sent)
			}
		case <-l.down:
			return
		}
	}
}

// lose reports that the link can be used no more.
func (l *link) lose(reason string, err error) {
	l.c.happen(l, gone, happening{err: &TransportError{Reason: reason, Err: err}})
}

// read takes frames until the stream ends or the link is lost. A link that is left is read to its end, so that the server
// can finish what it writes.
func (l *link) read() {
	stream := &gate{r: l.proc.Stdout, shut: l.c.opts.Policy == Negotiate}
	r := l.reader(stream, l.c.opts.limit())
	for {
		msg, err := r.ReadMessage()
		if err == nil && l.take(msg) {
			if stream.shut && l.limit >= 0 {
				stream.shut = false
				r = l.reader(stream, l.limit)
			}
			continue
		}
		if err != nil && l.forgive(err) {
			continue
		}
		return
	}
}

func (l *link) reader(r io.Reader, limit int) framers.Reader {
	policy := framers.Close
	if l.c.opts.Policy == ErrorOnOversize {
		policy = framers.Resync // which waits for the first KiB, where the id is looked for
	}
	return l.c.opts.Framing.NewReader(r, framers.WithMaxMessage(limit), framers.WithPolicy(policy))
}

// take parses a message. It reports whether to read on.
func (l *link) take(msg []byte) bool {
	m, err := jsonrpc.Parse(msg)
	if err != nil {
		return l.babble(err)
	}
	l.noise = 0
	l.c.happen(l, frame, happening{msg: &m})
	return true
}

// babble counts what is no message. It reports whether the server may go on so.
func (l *link) babble(err error) bool {
	l.c.opts.Logger.Warn("Skipped what is no message", "error", err)
	l.c.happen(l, malformed, happening{})
	if l.noise++; l.noise > max(l.c.opts.MaxNoise, 0) {
		l.lose(ReasonNoise, fmt.Errorf("%d lines in a row were no message, the last one: %w", l.noise, err))
		return false
	}
	return true
}

// forgive judges an error of the stream. It reports whether there may be more to read.
func (l *link) forgive(err error) bool {
	var large *framers.TooLargeError
	var header *framers.HeaderError
	var chunk *framers.ChunkError
	switch {
	case errors.As(err, &large):
		l.refuse(large)
		return false
	case errors.As(err, &header):
		return l.babble(header.Err) // without the line, which may hold anything
	case errors.As(err, &chunk):
		return l.babble(chunk.Err)
	case err == io.EOF:
		err = errors.New("the server closed its stdout")
	}
	l.lose(ReasonGone, fmt.Errorf("read answer: %w", err))
	return false
}

// refuse ends the link over a frame beyond the limit.
func (l *link) refuse(e *framers.TooLargeError) {
	size := &FrameError{Size: e.Size, Limit: e.Limit}
	h := happening{err: &TransportError{Reason: ReasonOversized, Err: size}, size: size}
	if l.c.opts.Policy == ErrorOnOversize {
		h.id, _ = jsonrpc.FindID(e.Head)
		l.complain(h.id, size)
	}
	l.c.happen(l, oversized, h)
}

// complain tells the server what it did, if its stdin takes it soon: the frame has to be dealt with now.
func (l *link) complain(id jsonrpc.ID, e *FrameError) {
	if id == "" {
		id = jsonrpc.Null
	}
	o := outgoing{sent: make(chan struct{})}
	o.msg = jsonrpc.AppendError(nil, id, jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: e.Error()})
	timer := time.NewTimer(complaintTime)
	defer timer.Stop()
	select {
	case l.queue <- o:
	case <-timer.C:
		return
	}
	select {
	case <-o.sent:
	case <-timer.C:
	}
}

// complaintTime is how long a server that has sent too large a frame is waited for.
const complaintTime = 100 * time.Millisecond

// drainStderr reads the server's stderr to its end: a server that logs into a full pipe stands still.
func (l *link) drainStderr() {
	buf := make([]byte, 32<<10)
	for {
		n, err := l.proc.Stderr.Read(buf)
		if n > 0 {
			_, _ = l.c.opts.Stderr.Write(buf[:n]) // where it goes must not stop the server
			l.c.mu.Lock()
			l.c.stats.Stderr += int64(n)
			l.c.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// A gate gives a framing one byte at a time while it is shut: so the framing has read nothing beyond the message that it
// delivers, and can be replaced by one with another limit.
type gate struct {
	r    io.Reader
	shut bool
	buf  []byte // read and not given
}

func (g *gate) Read(p []byte) (int, error) {
	if !g.shut && len(g.buf) == 0 {
		return g.r.Read(p)
	}
	if len(g.buf) == 0 {
		g.buf = make([]byte, 4096)
		n, err := g.r.Read(g.buf)
		if g.buf = g.buf[:n]; n == 0 {
			return 0, err
		}
	}
	if g.shut && len(p) > 1 {
		p = p[:1]
	}
	n := copy(p, g.buf)
	g.buf = g.buf[n:]
	return n, nil
}
