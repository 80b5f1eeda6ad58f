package drive

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A conn is a running server that is spoken to in one framing.
type conn struct {
	*server
	framing framers.Framing
	in, out *countedStream

	sending sync.Mutex // one message at a time
	writer  framers.Writer

	receiver atomic.Pointer[receiver]
	protocol atomic.Pointer[protocol] // once it is known to be of JSON-RPC
	whole    atomic.Int64             // bytes that had come when the last message was whole
	closed   chan struct{}            // closed when the server's output ended

	replies chan []byte   // to the server's own requests
	replied chan struct{} // closed when nobody sends them any more

	strays strays
}

// A receiver is called with each message that may be an answer, by the goroutine that reads. The
// message is valid during the call.
type receiver func(msg []byte, e jsonrpc.Envelope, at time.Time)

// connect starts the server and reads what it says from then on.
func connect(o Options, f framers.Framing) (*conn, error) {
	s, err := startServer(o)
	if err != nil {
		return nil, err
	}
	c := &conn{
		server: s, framing: f,
		in:     &countedStream{end: s.stdin, chunk: o.WriteChunk, pause: o.WritePause},
		out:    &countedStream{end: s.stdout},
		closed: make(chan struct{}), replies: make(chan []byte, 64), replied: make(chan struct{}),
	}
	opts := []framers.Option{framers.WithMaxMessage(-1), framers.WithVerbatim()}
	c.writer = f.NewWriter(c.wire(), opts...)
	go c.read(f.NewReader(c.out, opts...))
	go func() {
		defer close(c.replied)
		for reply := range c.replies {
			c.send(reply) // a failure is met by the next request, too
		}
	}()
	return c, nil
}

// wire returns where frames are written: in one call each, or in the pieces asked for.
func (c *conn) wire() io.Writer {
	if c.in.chunk > 0 {
		return c.in
	}
	return gatherStream{c.in}
}

// speak makes the conn take requests of the server's own for what they are, and not for answers.
func (c *conn) speak(p protocol) {
	if p.about().jsonRPC {
		c.protocol.Store(&p)
	}
}

// send writes one message.
func (c *conn) send(msg []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.writer.WriteMessage(msg)
}

// read takes what the server says where it belongs, until it says no more. As long as nothing is
// known of the server, every message may be the answer.
func (c *conn) read(r framers.Reader) {
	defer close(c.closed)
	defer close(c.replies)
	for {
		msg, err := r.ReadMessage()
		if err != nil {
			if c.strays.badFrame(err) {
				continue
			}
			return
		}
		at := time.Now()
		c.whole.Store(c.out.bytes.Load())
		e := jsonrpc.Scan(msg)
		kind, p, receive := e.Kind(), c.protocol.Load(), c.receiver.Load()
		switch {
		case p != nil && kind == jsonrpc.Request:
			c.replyToServer((*p).respond(msg, e))
		case p != nil && kind == jsonrpc.Notification:
		case p != nil && kind == jsonrpc.None:
			c.strays.nonMessage(msg)
		case receive != nil:
			(*receive)(msg, e, at)
		default:
			c.strays.unasked.Add(1)
		}
	}
}

// partial returns how many bytes have come of a message that is not whole.
func (c *conn) partial() int64 { return c.out.bytes.Load() - c.whole.Load() }

// replyToServer queues a reply, so that the read loop never blocks on a write: a server may wait
// for its output to be read before it reads. One of too many at once gets none.
func (c *conn) replyToServer(reply []byte) {
	select {
	case c.replies <- reply:
	default:
	}
}

// shutdown ends the server and everything that served it. A polite server is given time to leave.
func (c *conn) shutdown(politely bool) {
	c.resumeReading()
	if politely {
		c.stop()
	} else {
		c.kill()
	}
	<-c.closed
	<-c.replied
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// pauseReading leaves what the server says unread from the next read on, until resumeReading.
func (c *conn) pauseReading() { c.out.gate.Store(new(make(chan struct{}))) }

// resumeReading goes on with a standard output that was left unread. It may be called when none
// was.
func (c *conn) resumeReading() {
	if gate := c.out.gate.Swap(nil); gate != nil {
		close(*gate)
	}
}

// strays are what the server said beside answers that were waited for.
type strays struct {
	unasked atomic.Int64 // answers that nobody waited for

	mu    sync.Mutex
	lines int64 // messages that are no JSON-RPC
	first string
	cut   bool // the last line began as JSON and did not end as such
}

// strayBytes bounds what of a line is kept.
const strayBytes = 120

// nonMessage counts what should not be on a standard output, and keeps the first for the record.
func (s *strays) nonMessage(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	s.cut = len(msg) > 0 && msg[0] == '{'
	if s.lines == 1 {
		s.first = shorten(strings.ToValidUTF8(string(msg[:min(len(msg), 2*strayBytes)]), "\uFFFD"), strayBytes)
	}
}

// badFrame counts a frame that could not be read and after which the next one can; it reports false
// for any other error.
func (s *strays) badFrame(err error) bool {
	var header *framers.HeaderError
	var chunk *framers.ChunkError
	switch {
	case errors.As(err, &header):
		s.nonMessage([]byte(header.Line))
	case errors.As(err, &chunk):
		s.nonMessage([]byte(chunk.Line))
	default:
		return false
	}
	return true
}

// nonMessages returns how many lines were no message, the first of them, and whether the last was
// half a message.
func (s *strays) nonMessages() (lines int64, first string, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines, s.first, s.cut
}

// forget drops what was taken for no message and was one.
func (s *strays) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.first, s.cut = 0, "", false
}
