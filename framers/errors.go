package framers

import (
	"errors"
	"fmt"
)

// headBytes is the most bytes that a TooLargeError keeps: enough to find a request's id.
const headBytes = 1 << 10

// A TooLargeError is returned for a message that is larger than the limit set by WithMaxMessage.
type TooLargeError struct {
	// Size is the stated size of the message in bytes, or Limit + 1 if the framing states no sizes
	// (WithSkipped reports the real one).
	Size     int64
	Declared bool  // whether a header, or the caller of a Writer, stated Size
	Limit    int64 // the largest message allowed, in bytes
	Offset   int64 // where in the stream the frame of the message begins; -1 if a Writer refused it
	// Head holds the first bytes of the message, at most 1 KiB. With the policy Close, these are
	// only the bytes that had arrived. The caller may keep the slice.
	Head []byte
}

func (e *TooLargeError) Error() string {
	if !e.Declared {
		return fmt.Sprintf("message at byte %d exceeds the limit of %d bytes",
			e.Offset, e.Limit)
	}
	if e.Offset < 0 {
		return fmt.Sprintf("message of %d bytes exceeds the limit of %d",
			e.Size, e.Limit)
	}
	return fmt.Sprintf("message at byte %d declares %d bytes, the limit is %d",
		e.Offset, e.Size, e.Limit)
}

// A refusal counts the bytes of one message that is too large, while a Reader skips them.
type refusal struct {
	err  *TooLargeError // nil if no message is being skipped
	size int64          // bytes of the message that have come
}

// tell ends a refusal. It calls the function that was given to WithSkipped, if any, with the error
// and the size of the message.
func (f *refusal) tell(s *settings) {
	if f.err != nil && s.skipped != nil {
		e := *f.err
		e.Size = f.size
		s.skipped(&e)
	}
	*f = refusal{}
}

// head copies the first bytes of a message for an error: at most size, and at most headBytes.
func head(b []byte, size int) []byte {
	return append([]byte(nil), b[:min(len(b), size, headBytes)]...)
}

// Reasons why a framing cannot carry a message. Each can be the Err of a PayloadError.
var (
	ErrEmpty   = errors.New("the message is empty, which this framing cannot tell from nothing")
	ErrNewline = errors.New("the message holds a newline, which would end the frame")
	ErrSpace   = errors.New("the message begins or ends with white space, which a reader drops")
	ErrReturn  = errors.New("the message ends with a carriage return, which a reader drops")
	ErrLength  = errors.New("the message length differs from the fixed length of the framing")
	ErrFrames  = errors.New("the message needs more than 2147483647 frames: use a larger chunk")
)

// A PayloadError is returned by a Writer that cannot carry a message. No part of the message was
// written.
type PayloadError struct {
	Offset int   // where in the message the reason lies, in bytes from the message's start
	Err    error // ErrEmpty, ErrNewline, ErrSpace, ErrReturn, ErrLength or ErrFrames
}

func (e *PayloadError) Error() string {
	return fmt.Sprintf("write message: byte %d: %v", e.Offset, e.Err)
}
func (e *PayloadError) Unwrap() error { return e.Err }

// Faults of a Content-Length header. Each can be the Err of a HeaderError.
var (
	ErrNoLength       = errors.New("no Content-Length")
	ErrBadLength      = errors.New("Content-Length is not a decimal number")
	ErrNegativeLength = errors.New("Content-Length is negative")
	ErrHugeLength     = errors.New("Content-Length overflows 63 bits")
	ErrTwoLengths     = errors.New("two Content-Length lines contradict each other")
	ErrNoColon        = errors.New("line without a colon")
	ErrOtherName      = errors.New("neither Content-Length nor Content-Type") // see WithVerbatim
	ErrHeaderBytes    = errors.New("header has more than 8 KiB")
	ErrHeaderLines    = errors.New("header has more than 64 lines")
)

// A HeaderError is returned for a header that does not give the length of its message. The next
// ReadMessage goes on at the next "Content-Length", which may be inside a message: stop if you
// cannot trust the peer. With ErrOtherName, it goes on at the next line.
type HeaderError struct {
	Offset int64  // where in the stream the faulty line begins; for ErrNoLength, the header
	Line   string // the faulty line without its terminator, at most 80 bytes of it
	Err    error
}

func (e *HeaderError) Error() string {
	text := fmt.Sprintf("read header at byte %d: %v", e.Offset, e.Err)
	if e.Line == "" {
		return text
	}
	return fmt.Sprintf("%s: %q", text, e.Line)
}
func (e *HeaderError) Unwrap() error { return e.Err }

// Faults of a chunk or of its message. Each can be the Err of a ChunkError.
var (
	ErrMalformed = errors.New("not a frame of the form id:index:total:data")
	ErrIndex     = errors.New("chunk index is not below the total")
	ErrTotal     = errors.New("chunk total contradicts an earlier chunk of the message")
	ErrDuplicate = errors.New("chunk came before")
	ErrInFlight  = errors.New("too much is in flight") // see WithMaxInFlight
	ErrMissing   = errors.New("chunks are missing at the end of the stream")
	ErrPacked    = errors.New("not a valid compressed message")
	ErrExpired   = errors.New("chunks are missing and none came for too long") // see WithExpiry
)

// A ChunkError is returned for a chunk that cannot be used, or for a message that cannot become
// complete. The next message can still be read. With ErrMalformed, ErrIndex, ErrTotal or
// ErrDuplicate only the frame is lost, with any other Err the whole message.
type ChunkError struct {
	// Offset is where the frame begins in the stream; for ErrMissing and ErrExpired, where the
	// first frame of the message begins.
	Offset int64
	ID     string // the message's id; "" if none can be read
	// Index is the chunk's index; for ErrMissing and ErrExpired, that of the first missing chunk.
	Index    int
	Total    int    // number of chunks of the message
	Received int    // number of chunks of the message that came before; 0 for ErrIndex
	Line     string // for ErrMalformed: the frame, at most 80 bytes of it
	Err      error
}

func (e *ChunkError) Error() string {
	if e.Err == ErrMalformed {
		return fmt.Sprintf("read chunk at byte %d: %v: %q", e.Offset, e.Err, e.Line)
	}
	return fmt.Sprintf("read chunk %d of %d of message %s at byte %d (%d received): %v",
		e.Index, e.Total, e.ID, e.Offset, e.Received, e.Err)
}
func (e *ChunkError) Unwrap() error { return e.Err }

// excerptBytes is the most bytes of a faulty line that an error quotes.
const excerptBytes = 80

func excerpt(line []byte) string { return string(line[:min(len(line), excerptBytes)]) }
