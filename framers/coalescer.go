package framers

import (
	"errors"
	"fmt"
	"io"
)

// DefaultCoalesce is how many bytes a Coalescer gathers before it writes, unless told otherwise: 64
// KiB, a pipe's capacity.
const DefaultCoalesce = 64 << 10

// A Coalescer gathers many small frames into one system call. Put it between a Writer and the
// stream, and Flush it when no more messages are at hand:
//
//	c := framers.NewCoalescer(os.Stdout, 0)
//	w := framers.NDJSON().NewWriter(c)
//	...
//	err := c.Flush()
//
// Before Flush, bytes are sent only when the next ones do not fit the buffer. A frame larger than
// the buffer is sent together with the bytes that waited, without a copy if the stream is a
// Vectored. A Coalescer belongs to one goroutine. An error stays: every later call returns it, and
// the bytes that waited are lost or half sent.
type Coalescer struct {
	out frameWriter
	buf []byte
	err error
}

// NewCoalescer returns a Coalescer that gathers up to bytes bytes for w; 0 or less means
// DefaultCoalesce.
func NewCoalescer(w io.Writer, bytes int) *Coalescer {
	return &Coalescer{
		out: newFrameWriter(w, 0),
		buf: make([]byte, 0, positive(bytes, DefaultCoalesce)),
	}
}

// Buffered returns how many bytes wait for Flush.
func (c *Coalescer) Buffered() int { return len(c.buf) }

// Flush writes the bytes that wait.
func (c *Coalescer) Flush() error {
	if c.err == nil && len(c.buf) > 0 {
		c.forward(nil, 0)
	}
	return c.err
}

// forward sends the bytes that wait and bufs, which have total bytes, in one call.
func (c *Coalescer) forward(bufs [][]byte, total int) {
	c.out.vec = c.out.vec[:0]
	if len(c.buf) > 0 {
		c.out.vec = append(c.out.vec, c.buf)
	}
	c.out.vec = append(c.out.vec, bufs...)
	total += len(c.buf)
	c.buf = c.buf[:0]
	if err := c.out.sendVec(total); err != nil {
		c.err = fmt.Errorf("coalesced frames: %w", err)
	}
}

var errNoStream = errors.New("coalesced frames: a Coalescer without a stream: use NewCoalescer")

// Write gathers p.
func (c *Coalescer) Write(p []byte) (int, error) {
	n, err := c.Writev([][]byte{p})
	return int(n), err
}

// Writev gathers bufs or, if they do not fit, sends them together with the bytes that wait.
func (c *Coalescer) Writev(bufs [][]byte) (int64, error) {
	if c.out.w == nil && c.err == nil {
		c.err = errNoStream
	}
	if c.err != nil {
		return 0, c.err
	}
	total := 0
	for _, b := range bufs {
		total += len(b)
	}
	if total > cap(c.buf)-len(c.buf) && total <= cap(c.buf)/2 {
		c.forward(nil, 0)
	}
	if total > cap(c.buf)-len(c.buf) && c.err == nil {
		c.forward(bufs, total)
	} else {
		for _, b := range bufs {
			c.buf = append(c.buf, b...)
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	return int64(total), nil
}
