package drive

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A conn is a running server that is spoken to in one framing.
type conn struct {
	*child
	framing framers.Framing
	in, out *meter

	sending sync.Mutex // one message at a time
	writer  framers.Writer

	receiver atomic.Pointer[receiver]
	answerer atomic.Pointer[answerer]
	settled  atomic.Int64  // bytes that had come when the last message was whole
	closed   chan struct{} // closed when the server's output ended
	ending   error         // why; read it after closed

	asked    chan []byte   // answers to the server's own requests
	answered chan struct{} // closed when nobody sends them any more

	noise noise
}

// A receiver is called with each message that may be an answer, by the goroutine that reads. The message is valid during the call.
type receiver func(msg []byte, e jsonrpc.Envelope, at time.Time)

// An answerer makes the answer to a request of the server's own.
type answerer func(msg []byte, e jsonrpc.Envelope) []byte

// dial starts the server and reads what it says from then on.
func dial(o Options, f framers.Framing) (*conn, error) {
	kid, err := launch(o)
	if err != nil {
		return nil, err
	}
	c := &conn{
		child: kid, framing: f,
		in:     &meter{end: kid.stdin, chunk: o.WriteChunk, pause: o.WritePause},
		out:    &meter{end: kid.stdout},
		closed: make(chan struct{}), asked: make(chan []byte, 64), answered: make(chan struct{}),
	}
	opts := []framers.Option{framers.WithMaxMessage(-1), framers.WithVerbatim()}
	c.writer = f.NewWriter(c.wire(), opts...)
	go c.read(f.NewReader(c.out, opts...))
	go c.reply()
	return c, nil
}

// wire is where frames are written: in one call each, or in the pieces asked for.
func (c *conn) wire() io.Writer {
	if c.in.chunk > 0 {
		return c.in
	}
	return whole{c.in}
}

// send writes one message.
func (c *conn) send(msg []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.writer.WriteMessage(msg)
}

// read takes what the server says, until it says no more.
func (c *conn) read(r framers.Reader) {
	defer close(c.closed)
	defer close(c.asked)
	for {
		msg, err := r.ReadMessage()
		switch {
		case err == nil:
			at := time.Now()
			c.settled.Store(c.out.bytes.Load())
			c.route(msg, at)
		case !c.noise.frame(err):
			c.ending = err
			return
		}
	}
}

// route takes a message where it belongs. As long as nothing is known of the server, every message may be the answer.
func (c *conn) route(msg []byte, at time.Time) {
	e := jsonrpc.Scan(msg)
	if answer := c.answerer.Load(); answer != nil {
		switch e.Kind() {
		case jsonrpc.Request:
			c.oblige((*answer)(msg, e))
			return
		case jsonrpc.Notification:
			c.noise.note(&c.noise.notifications)
			return
		case jsonrpc.None:
			c.noise.line(msg)
			return
		}
	}
	if r := c.receiver.Load(); r != nil {
		(*r)(msg, e, at)
		return
	}
	c.noise.note(&c.noise.late)
}

// partial is how many bytes have come of a message that is not whole.
func (c *conn) partial() int64 { return c.out.bytes.Load() - c.settled.Load() }

// oblige has an answer to the server sent. The reading goes on meanwhile: a server may wait for its output to be read before it reads.
func (c *conn) oblige(answer []byte) {
	c.noise.note(&c.noise.requests)
	select {
	case c.asked <- answer:
	default:
		c.noise.note(&c.noise.refused)
	}
}

// reply sends the answers to the server's own requests.
func (c *conn) reply() {
	defer close(c.answered)
	for answer := range c.asked {
		c.send(answer) // a failure is met by the next request, too
	}
}

// hangUp ends the server and everything that served it. A polite server is given time to leave.
func (c *conn) hangUp(politely bool) {
	c.readOn()
	if politely {
		c.stop()
	} else {
		c.kill()
	}
	<-c.closed
	<-c.answered
}

// hold leaves what the server says unread from the next read on, until readOn.
func (c *conn) hold() { c.out.gate.Store(new(make(chan struct{}))) }

// readOn goes on with a standard output that was left unread. It may be called when none was.
func (c *conn) readOn() {
	if gate := c.out.gate.Swap(nil); gate != nil {
		close(*gate)
	}
}
