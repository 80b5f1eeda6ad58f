package framers

import (
	"io"
	"iter"
)

// A Framing is a way to tell messages apart on a byte stream. It holds no state of any stream, so one value may be
// shared and used concurrently.
type Framing interface {
	// String returns the framing's spec in canonical form, such as "ndjson" or "chunked:61440". Parse takes it back.
	String() string
	// NewWriter returns a Writer of this framing over w.
	NewWriter(w io.Writer, opts ...Option) Writer
	// NewReader returns a Reader of this framing over r. It may read ahead of the message it delivers.
	NewReader(r io.Reader, opts ...Option) Reader
}

// A Writer sends messages. It belongs to one goroutine.
type Writer interface {
	// WriteMessage sends msg, which it neither changes nor retains. A message that the framing cannot carry is
	// refused with a [PayloadError] before a byte is written. A write that fails part-way leaves half a frame on the
	// stream, so every later call returns that failure.
	WriteMessage(msg []byte) error
}

// A Reader receives messages. It belongs to one goroutine.
type Reader interface {
	// ReadMessage returns the next message, valid until the next call. It returns as soon as the last byte of the
	// message has arrived. It returns io.EOF only between messages, and io.ErrUnexpectedEOF inside one.
	//
	// An error of the underlying reader other than io.EOF, such as a deadline, loses nothing: the next call goes on.
	ReadMessage() ([]byte, error)
}

// A Chunker is a framing that splits messages.
type Chunker interface {
	Framing
	// Frames yields each frame of msg as a gather list, valid until the next one.
	Frames(msg []byte) iter.Seq[[][]byte]
}

// A Vectored takes a gather list in one call. Writev writes all of bufs in order, neither retains nor changes them,
// and returns the bytes written; n < total implies an error.
type Vectored interface {
	Writev(bufs [][]byte) (int64, error)
}

// own is what the framings of this package know beyond the contract.
type own interface {
	Framing
	// carries returns the PayloadError with which a Writer of these settings refuses msg, or nil.
	carries(msg []byte, s *settings) error
	// wireSize returns the bytes on the wire of a message of size bytes, and whether size alone decides them.
	wireSize(size int64) (int64, bool)
}

// Carries reports whether a Writer of f with opts takes msg: nil, or the [*PayloadError] or [*TooLargeError] it would
// return. What a Writer takes, a Reader with the same options gives back unchanged. For a framing that is not of this
// package only its Writer knows: Carries returns nil.
func Carries(f Framing, msg []byte, opts ...Option) error {
	o, ok := f.(own)
	if !ok {
		return nil
	}
	s := newSettings(opts)
	return check(o, msg, &s)
}

// WireSize returns the bytes that a message of size bytes takes on the wire, and whether that can be known from the
// size alone: not for a compressing framing, nor for one that is not of this package. (The adaptive framing sends a
// message with white space around it, or one that looks like a frame, as a chunk whatever its size; WireSize is that
// of any other.)
func WireSize(f Framing, size int64) (bytes int64, known bool) {
	o, ok := f.(own)
	if !ok || size < 0 {
		return 0, false
	}
	return o.wireSize(size)
}

// check is what a Writer does before it sends.
func check(o own, msg []byte, s *settings) error {
	if err := s.admits(msg); err != nil {
		return err
	}
	return o.carries(msg, s)
}

// admits returns an error for a message beyond a Writer's limit.
func (s *settings) admits(msg []byte) error {
	if s.writerLimit && len(msg) > s.maxMessage {
		return &TooLargeError{Size: int64(len(msg)), Declared: true, Limit: int64(s.maxMessage), Offset: -1, Head: head(msg, len(msg))}
	}
	return nil
}
