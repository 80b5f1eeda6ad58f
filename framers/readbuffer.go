package framers

import (
	"errors"
	"io"
)

// A readBuffer is the buffer of a Reader. Messages are slices of it.
//
//	0 ...... base ........ pos ........ end ...... len(buf)
//	  free   |  searched     | not yet    |  free
//	         |               | searched   |
//	         |  held                      |
//
// The held part begins with the message being received. If the next read needs room, the held part
// is moved to the front, or into a larger buffer.
type readBuffer struct {
	r              io.Reader
	buf            []byte
	base, pos, end int   // see above
	read           int64 // bytes of the stream read so far: the position of buf[end] in it
	pageOffset     int   // where in a page of memory the buffer begins
	size           int   // bytes that one read asks for; also the capacity while messages are small
	top            int   // the largest capacity
	fullRead       bool  // the last read filled the size it asked for: more may be waiting
	last           int   // bytes of the last message
	shrinkCount    int   // messages in a row that took at most a quarter of a buffer that has grown
	err            error // an error that came together with data; the next fill returns it
}

// shrinkAfter is how many messages in a row must fit a quarter of a buffer that has grown before
// the buffer is replaced by a smaller one.
const shrinkAfter = 32

// framingSlack is room, in bytes, for what stands around a message, such as the header of a chunk.
const framingSlack = 128

// readSize stands for the usual size of a read, as the argument of fill.
const readSize = 0

func newReadBuffer(r io.Reader, s *settings) readBuffer {
	// The largest header and the bytes that an error quotes must fit, too.
	largest := max(s.maxMessage, mostHeaderBytes, headBytes)
	return readBuffer{
		r:          r,
		pageOffset: s.readOffset,
		size:       s.readBuffer,
		top:        max(largest+max(s.readBuffer/2, framingSlack), s.readBuffer),
	}
}

// held returns what was read and has not been delivered.
func (in *readBuffer) held() []byte { return in.buf[in.base:in.end] }

// offset returns where in the stream buf[i] lies. Because fill may move bytes, an index i from
// before the latest call of fill is wrong.
func (in *readBuffer) offset(i int) int64 { return in.read - int64(in.end-i) }

// next ends the message at hand. From now on the bytes that the buffer has to keep begin at i.
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

// fill reads once, at most limit bytes. It returns nil if any bytes came. An error that came with
// them is returned by the next call.
func (in *readBuffer) fill(limit int) error {
	if err := in.err; err != nil {
		if err != io.EOF {
			in.err = nil
		}
		return err
	}
	in.makeRoom()
	if limit == readSize || limit > in.size {
		limit = in.size
	}
	room := in.buf[in.end:min(in.end+limit, len(in.buf))]
	for range 100 { // an io.Reader may return no bytes and no error, but not for ever
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

// makeRoom makes room behind the held part: at least a quarter of in.size, as far as top allows.
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

// shouldSlide reports whether to move the held bytes to the front. The parameter want is the room
// needed behind them.
func (in *readBuffer) shouldSlide(held, want int) bool {
	switch {
	case held == 0: // nothing has to be moved
		return true
	case len(in.buf)-in.end < want:
		return true
	case in.fullRead: // more may be waiting: make as much room as possible
		return true
	case in.base+in.last+want > len(in.buf): // a message like the last would not fit
		return true
	}
	// Move few bytes, so that the next large message is put into memory that is still in the cache.
	return len(in.buf) > in.size && held <= len(in.buf)/16
}

// replace moves what is held into a new buffer of n bytes.
func (in *readBuffer) replace(n int) {
	in.slide(newBuffer(n, in.pageOffset))
	in.shrinkCount = 0
}

// giveBack replaces a grown buffer by one of the usual size, unless the held bytes need more than
// half of the usual size.
func (in *readBuffer) giveBack() {
	if len(in.buf) > in.size && len(in.held()) <= in.size/2 {
		in.replace(in.size)
	}
}

// slide moves the held bytes to the front of a slice, which becomes the buffer.
func (in *readBuffer) slide(to []byte) {
	copy(to, in.held())
	in.pos -= in.base
	in.end -= in.base
	in.base = 0
	in.buf = to
}

// capacity returns the smallest of top, top/2, top/4 and so on that is at least n. So an old and a
// new buffer together take at most 1.5 × top.
func capacity(n, top int) int {
	c := top
	for c/2 >= n {
		c /= 2
	}
	return c
}

// need reads until n bytes are held. It returns io.EOF if the stream ends before the first of them.
func (in *readBuffer) need(n int) error {
	for in.end-in.base < n {
		missing := n - (in.end - in.base)
		if missing < in.size {
			missing = readSize // little is missing: read more than that, for the next frame
		}
		if err := in.fill(missing); err != nil && in.base < in.end {
			return inside(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// take returns the next n bytes, and ends the message with them. After a read error, take may be
// called again.
func (in *readBuffer) take(n int) ([]byte, error) {
	if err := in.need(n); err != nil {
		return nil, inside(err)
	}
	b := in.buf[in.base : in.base+n : in.base+n]
	in.next(in.base + n)
	return b, nil
}

// skip drops n bytes without holding them. After an error it returns how many are left.
func (in *readBuffer) skip(n int64) (int64, error) {
	for {
		here := min(n, int64(in.end-in.base))
		in.base += int(here)
		in.pos = in.base
		n -= here
		if n == 0 {
			return 0, nil
		}
		if err := in.fill(readSize); err != nil {
			return n, inside(err)
		}
	}
}

// inside turns io.EOF into io.ErrUnexpectedEOF, for an error inside a frame.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
