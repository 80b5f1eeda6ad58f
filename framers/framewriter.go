package framers

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

const (
	// gatherFrom is the size from which a frame is sent as a gather list: below, one copy is
	// cheaper than a second iovec. Measured on Linux; the two meet between 8 and 32 KiB.
	gatherFrom = 16 << 10
	// maxGather is how many pieces one gather call has: IOV_MAX of Linux, macOS and FreeBSD.
	maxGather = 1024
	// keepCompose is the largest compose buffer kept between messages, in bytes. A Vectored needs
	// none beyond gatherFrom.
	keepCompose = 1 << 20
)

// A frameWriter is the sending side of a framing: pieces of a frame go out in one call, gathered by
// a Vectored, composed for any other writer.
type frameWriter struct {
	w      io.Writer
	v      Vectored // nil if w is none
	gather int      // the size from which pieces are gathered
	buf    []byte
	vec    [][]byte
	broken error
}

func newFrameWriter(w io.Writer) frameWriter {
	o := frameWriter{w: w, gather: gatherFrom}
	switch w := w.(type) {
	case *Coalescer:
		o.v, o.gather = w, 0 // it copies anyway
	case Vectored:
		o.v = w
	case *os.File:
		if file, err := NewFile(w); err == nil && gathers {
			o.v = file
		}
	}
	return o
}

// send writes pieces as one frame.
func (o *frameWriter) send(pieces ...[]byte) error {
	total := 0
	for _, p := range pieces {
		total += len(p)
	}
	if o.v == nil || total < o.gather {
		return o.compose(pieces, total)
	}
	o.vec = append(o.vec[:0], pieces...)
	return o.sendVec(total)
}

// line writes head, msg and a newline as one frame, or refuses a msg with a newline in it.
func (o *frameWriter) line(head, msg []byte) error {
	if i := indexNewline(msg); i >= 0 {
		return newlineAt(i)
	}
	total := len(head) + len(msg) + 1
	if o.v != nil && total >= o.gather {
		if len(head) == 0 {
			return o.send(msg, newline)
		}
		return o.send(head, msg, newline)
	}
	frame := o.frameBuffer(len(head), total)
	copy(frame, head)
	copy(frame[len(head):], msg)
	frame[total-1] = '\n'
	return o.write(frame)
}

// sendVec writes the frames gathered in o.vec, of total bytes.
func (o *frameWriter) sendVec(total int) (err error) {
	if o.v == nil || total < o.gather {
		err = o.compose(o.vec, total)
	} else if err = o.broken; err == nil {
		var n int64
		n, err = o.v.Writev(o.vec)
		err = o.writeError(n, total, err)
	}
	clear(o.vec) // the caller's message is not retained
	o.vec = o.vec[:0]
	return err
}

// compose writes pieces with one Write, of a copy if there are several.
func (o *frameWriter) compose(pieces [][]byte, total int) error {
	if len(pieces) == 0 {
		return o.broken
	}
	if len(pieces) == 1 {
		return o.write(pieces[0])
	}
	frame := o.frameBuffer(len(pieces[0]), total)
	at := 0
	for _, p := range pieces {
		at += copy(frame[at:], p)
	}
	return o.write(frame)
}

func (o *frameWriter) write(frame []byte) error {
	if o.broken != nil {
		return o.broken
	}
	n, err := o.w.Write(frame)
	if err == nil && n == len(frame) {
		return nil
	}
	return o.writeError(int64(n), len(frame), err)
}

// cacheLine is what a copy is fastest to a multiple of, in bytes.
const cacheLine = 64

// frameBuffer returns total bytes of the compose buffer, which is kept while frames need it. What
// follows a header of head bytes begins a cache line there: to copy 4 KiB and write them takes 5 %
// less then.
func (o *frameWriter) frameBuffer(head, total int) []byte {
	skew := -head & (cacheLine - 1)
	need := skew + total
	if cap(o.buf) < need || cap(o.buf) > keepCompose && need < keepCompose/4 {
		o.buf = make([]byte, max(need, 512))
	}
	return o.buf[skew:need]
}

// writeError judges what a write returned. Half a frame on the stream cannot be taken back: it
// breaks the frameWriter for good, while a write that failed before its first byte may be tried
// again.
func (o *frameWriter) writeError(n int64, total int, err error) error {
	if err == nil && n != int64(total) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	if n != 0 {
		o.broken = fmt.Errorf("write message: stream broken after %d of %d bytes of a frame: %w", n, total, err)
		return o.broken
	}
	return fmt.Errorf("write message: %w", err)
}

// DefaultCoalesce is what a Coalescer gathers before it writes unless told otherwise: 64 KiB in
// bytes, a pipe's capacity.
const DefaultCoalesce = 64 << 10

// A Coalescer gathers many small frames into one system call. Put it between a Writer and the
// stream, and Flush it when no more messages are at hand:
//
//	c := framers.NewCoalescer(os.Stdout, 0)
//	w := framers.NDJSON().NewWriter(c)
//	...
//	err := c.Flush()
//
// Nothing is sent before Flush but what does not fit. A frame larger than the buffer goes out
// uncopied, in one gather call with what was waiting, where the stream is a Vectored. It belongs to
// one goroutine. An error stays: what was gathered is lost or half sent, and every later call
// returns it.
type Coalescer struct {
	out frameWriter
	buf []byte
	err error
}

// NewCoalescer returns a Coalescer that gathers up to bytes bytes for w; 0 or less means
// DefaultCoalesce.
func NewCoalescer(w io.Writer, bytes int) *Coalescer {
	return &Coalescer{out: newFrameWriter(w), buf: make([]byte, 0, positive(bytes, DefaultCoalesce))}
}

// Buffered returns how many bytes wait for Flush.
func (c *Coalescer) Buffered() int { return len(c.buf) }

// Flush writes what waits.
func (c *Coalescer) Flush() error {
	if c.err == nil && len(c.buf) > 0 {
		c.forward(nil, 0)
	}
	return c.err
}

// forward sends what waits and bufs, of total bytes, in one call.
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

// Write gathers p.
func (c *Coalescer) Write(p []byte) (int, error) {
	n, err := c.Writev([][]byte{p})
	return int(n), err
}

// Writev gathers bufs, or sends them with what waits if they do not fit.
func (c *Coalescer) Writev(bufs [][]byte) (int64, error) {
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

// A File is an *os.File that is a [Vectored]: on Linux, macOS and FreeBSD one writev(2) through
// SyscallConn, which net.Buffers does not do for files. A file that Go polls stays polled, with its
// deadlines. Elsewhere Writev copies the pieces together and calls Write once.
//
// A Writer over a plain *os.File makes one for itself; a File is for other uses of Writev. It
// belongs to one goroutine.
type File struct {
	*os.File
	conn syscall.RawConn
	vector
}

// NewFile returns f as a Vectored.
func NewFile(f *os.File) (*File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &File{File: f, conn: conn}, nil
}
