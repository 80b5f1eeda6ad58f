package framers

import (
	"fmt"
	"io"
)

const (
	// gatherFrom is the size from which a frame is sent as a gather list: below, one copy is cheaper than a second
	// iovec. Measured on Linux; the two meet between 8 and 32 KiB.
	gatherFrom = 16 << 10
	// maxGather is how many pieces one gather call has: IOV_MAX of Linux, macOS and FreeBSD.
	maxGather = 1024
	// keepCompose is the largest compose buffer kept between messages, in bytes. A Vectored needs none beyond gatherFrom.
	keepCompose = 1 << 20
)

// An outlet is the sending side of a framing: pieces of a frame go out in one call, gathered by a Vectored, composed
// for any other writer.
type outlet struct {
	w      io.Writer
	v      Vectored // nil if w is none
	gather int      // the size from which pieces are gathered
	buf    []byte
	vec    [][]byte
	broken error
}

func newOutlet(w io.Writer) outlet {
	o := outlet{w: w, gather: gatherFrom}
	switch w := w.(type) {
	case *Coalescer:
		o.v, o.gather = w, 0 // it copies anyway
	case Vectored:
		o.v = w
	default:
		if v := vectoredFile(w); v != nil {
			o.v = v
		}
	}
	return o
}

// send writes pieces as one frame.
func (o *outlet) send(pieces ...[]byte) error {
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

// sendVec writes the frames gathered in o.vec, of total bytes.
func (o *outlet) sendVec(total int) (err error) {
	if o.v == nil || total < o.gather {
		err = o.compose(o.vec, total)
	} else if err = o.broken; err == nil {
		var n int64
		n, err = o.v.Writev(o.vec)
		err = o.settle(n, total, err)
	}
	clear(o.vec) // the caller's message is not retained
	o.vec = o.vec[:0]
	return err
}

// compose writes pieces with one Write, of a copy if there are several.
func (o *outlet) compose(pieces [][]byte, total int) error {
	if o.broken != nil || len(pieces) == 0 {
		return o.broken
	}
	b := pieces[0]
	if len(pieces) > 1 {
		b = o.join(pieces, total)
	}
	n, err := o.w.Write(b)
	if err == nil && n == total {
		return nil
	}
	return o.settle(int64(n), total, err)
}

// join copies pieces together. The buffer is kept while frames need it.
func (o *outlet) join(pieces [][]byte, total int) []byte {
	if cap(o.buf) < total || cap(o.buf) > keepCompose && total < keepCompose/4 {
		o.buf = make([]byte, 0, max(total, 512))
	}
	b := o.buf[:0]
	for _, p := range pieces {
		b = append(b, p...)
	}
	o.buf = b
	return b
}

// settle judges what a write returned. Half a frame on the stream cannot be taken back: it breaks the outlet for good,
// while a write that failed before its first byte may be tried again.
func (o *outlet) settle(n int64, total int, err error) error {
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
