package framers

import (
	"errors"
	"io"
)

// A readBuffer is the receiving side of a framing: one buffer into which reads go and out of which
// messages are sliced, so that a message is moved at most once on its way.
//
//	0 ...... base ........ pos ........ end ...... len(buf)
//	  free   |  seen         | not looked |  free
//	         |               | at yet     |
//	         |  held                      |
//
// The held part begins with the message being received. When the next read needs room, the held
// part is moved to the front; if that does not suffice, the buffer grows. The sizes of a grown
// buffer are top, top/2, top/4 ..., so that old and new together take at most 1.5 × top.
type readBuffer struct {
	r              io.Reader
	buf            []byte
	base, pos, end int
	read           int64 // bytes of the stream read so far; buf[end] will be at this offset
	pageOffset     int   // where in a page of memory the buffer begins
	size           int   // what one read asks for, and the capacity while messages are small
	top            int   // the largest capacity
	fullRead       bool  // the last read was as large as one can be: there may be more
	last           int   // bytes of the last message
	shrinkCount    int   // messages in a row that took at most a quarter of the grown buffer
	err            error // came with data, to be returned by the next fill
}

// shrinkAfter is how many messages in a row must fit a quarter of a grown buffer before the buffer
// is given back.
const shrinkAfter = 32

// framingSlack is what must fit beside a message of the largest size: a chunk's header, or a line's
// CR LF.
const framingSlack = 128

func newReadBuffer(r io.Reader, s *settings) readBuffer {
	largest := max(s.maxMessage, mostHeaderBytes, headBytes)
	return readBuffer{
		r:          r,
		pageOffset: s.readOffset,
		size:       s.readBuffer,
		top:        max(largest+max(s.readBuffer/2, framingSlack), s.readBuffer),
	}
}

// held returns what was read and is not given out yet.
func (in *readBuffer) held() []byte { return in.buf[in.base:in.end] }

// offset returns where in the stream buf[i] was. i must be an index of now: fill moves bytes.
func (in *readBuffer) offset(i int) int64 { return in.read - int64(in.end-i) }

// next ends the message: the held part begins at i from now on.
func (in *readBuffer) next(i int) {
	in.last = i - in.base
	if len(in.buf) > in.size {
		in.shrinkCount++
		if in.last > len(in.buf)/4 {
			in.shrinkCount = 0
		}
	}
	in.base = i
	in.pos = i
}

// fill reads once: at most limit bytes, and at most the read size. A limit of 0 means the read
// size. It returns nil if any bytes came; an error that came with them is returned by the next
// call. io.EOF is returned by every call from then on, any other error once.
func (in *readBuffer) fill(limit int) error {
	if err := in.err; err != nil {
		if err != io.EOF {
			in.err = nil
		}
		return err
	}
	in.makeRoom()
	if limit == 0 || limit > in.size {
		limit = in.size
	}
	room := in.buf[in.end:min(in.end+limit, len(in.buf))]
	for range 100 {
		n, err := in.r.Read(room)
		if n < 0 || n > len(room) {
			return errors.New("read: the reader returned an impossible count")
		}
		if n > 0 {
			in.end += n
			in.read += int64(n)
			in.fullRead = n == in.size
			in.err = err
			return nil
		}
		if err != nil {
			if err == io.EOF {
				in.err = err
			}
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom makes room behind the held part: at least a quarter of the read size, or as much as top
// allows.
func (in *readBuffer) makeRoom() {
	held := len(in.held())
	if in.buf == nil || in.shrinkCount >= shrinkAfter && held <= in.size/2 {
		in.replace(in.size)
		return
	}
	want := max(in.size/4, 1)
	if in.base > 0 && in.shouldSlide(held, want) {
		in.slide(in.buf)
	}
	if len(in.buf)-in.end < want && len(in.buf) < in.top {
		in.replace(capacity(held+want, in.top))
	}
}

// shouldSlide reports whether the held bytes are to be moved to the front, so that there is more
// room than the wanted bytes.
func (in *readBuffer) shouldSlide(held, want int) bool {
	switch {
	case held == 0: // nothing has to be moved
		return true
	case len(in.buf)-in.end < want:
		return true
	case in.fullRead: // more is waiting to be read
		return true
	case in.base+in.last+want > len(in.buf): // a message like the last would not fit
		return true
	}
	// A large message behind the last one would meet memory that is not in the cache.
	return len(in.buf) > in.size && held <= len(in.buf)/16
}

// replace moves what is held into a new buffer of n bytes.
func (in *readBuffer) replace(n int) {
	in.slide(newBuffer(n, in.pageOffset))
	in.shrinkCount = 0
}

// giveBack replaces a grown buffer by one of the usual size, if half of that can take what is held.
func (in *readBuffer) giveBack() {
	if len(in.buf) > in.size && len(in.held()) <= in.size/2 {
		in.replace(in.size)
	}
}

func (in *readBuffer) slide(to []byte) {
	copy(to, in.held())
	in.pos -= in.base
	in.end -= in.base
	in.base = 0
	in.buf = to
}

// capacity returns the smallest of top, top/2, top/4 ... that is at least n, or top.
func capacity(n, top int) int {
	c := top
	for c/2 >= n {
		c /= 2
	}
	return c
}

// need reads until n bytes are there. If the stream ends before the first byte it returns io.EOF.
func (in *readBuffer) need(n int) error {
	for in.end-in.base < n {
		missing := n - (in.end - in.base)
		if missing < in.size {
			missing = 0 // the rest is small: read on into the next frame
		}
		if err := in.fill(missing); err != nil && in.base < in.end {
			return inside(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// take returns the next n bytes. After an error other than the end of the stream, another take
// returns the same bytes.
func (in *readBuffer) take(n int) ([]byte, error) {
	if err := in.need(n); err != nil {
		return nil, inside(err)
	}
	b := in.buf[in.base : in.base+n : in.base+n]
	in.next(in.base + n)
	return b, nil
}

// skip drops n bytes without holding them, and returns how many are still to be dropped when an
// error ends it.
func (in *readBuffer) skip(n int64) (int64, error) {
	for {
		here := min(n, int64(in.end-in.base))
		in.base += int(here)
		in.pos = in.base
		n -= here
		if n == 0 {
			return 0, nil
		}
		if err := in.fill(0); err != nil {
			return n, inside(err)
		}
	}
}

// inside turns io.EOF into io.ErrUnexpectedEOF: the stream ended inside a frame.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
