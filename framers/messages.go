package framers

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// Messages yields the messages and errors of r up to the end of the stream. A message is valid
// until the next one is yielded. Messages goes on after a [*HeaderError] or a [*ChunkError], and
// with the policy [Resync] also after a [*TooLargeError]. Any other error is the last.
//
//	for msg, err := range framers.Messages(r) {
//		if err != nil {
//			log.Print(err)
//			continue
//		}
//		handle(msg)
//	}
func Messages(r Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var last error
		for {
			msg, err := r.ReadMessage()
			// A Reader that has given its stream up returns the same error again.
			if err == io.EOF || err != nil && err == last {
				return
			}
			if !yield(msg, err) || err != nil && !goesOn(err) {
				return
			}
			last = err
		}
	}
}

// goesOn reports whether a Reader may go on after err.
func goesOn(err error) bool {
	var header *HeaderError
	var chunk *ChunkError
	var large *TooLargeError
	return errors.As(err, &header) || errors.As(err, &chunk) || errors.As(err, &large)
}

// A Resetter is a Reader that can hold incomplete messages. Readers of [Chunked], [Adaptive] and
// [Compressed] are Resetters.
type Resetter interface {
	Reader
	// Reset drops the incomplete messages, gives their memory back, and returns how many there
	// were. If further chunks of such a message come, they count as chunks of a new one.
	Reset() (dropped int)
}

// An Assembler puts messages together from frames that the caller passes to it one by one. It
// belongs to one goroutine.
type Assembler struct {
	r  Reader
	in frameSource
}

// NewAssembler returns an Assembler for frames of f. It takes the options of a Reader.
func NewAssembler(f Chunker, opts ...Option) *Assembler {
	a := &Assembler{}
	a.r = f.NewReader(&a.in, opts...)
	return a
}

// ErrSeveralFrames is returned by ProcessFrame if its argument holds more than one frame.
var ErrSeveralFrames = errors.New("process frame: a newline inside the frame")

// ProcessFrame takes one frame, with or without its newline. If the frame completes a message,
// whole is true, and msg is valid until the next call. The errors are those of a Reader.
func (a *Assembler) ProcessFrame(frame []byte) (msg []byte, whole bool, err error) {
	frame = bytes.TrimSuffix(frame, newline)
	if bytes.IndexByte(frame, '\n') >= 0 {
		return nil, false, ErrSeveralFrames
	}
	a.in = frameSource{frame: frame, open: true}
	msg, err = a.r.ReadMessage()
	if err == errNextFrame {
		return nil, false, nil
	}
	return msg, err == nil, err
}

// Reset drops the incomplete messages and returns how many there were. It does nothing if the
// framing's Reader is no [Resetter].
func (a *Assembler) Reset() (dropped int) {
	r, ok := a.r.(Resetter)
	if !ok {
		return 0
	}
	return r.Reset()
}

// errNextFrame is the error that a frameSource returns after its frame. A Reader treats it like a
// passed deadline: the next call goes on.
var errNextFrame = errors.New("the next frame is to come")

// A frameSource is what an Assembler's Reader reads from: one frame and its newline.
type frameSource struct {
	frame []byte // the bytes of the frame that have not yet been read
	open  bool   // the newline has not yet been read
}

func (s *frameSource) Read(b []byte) (int, error) {
	n := copy(b, s.frame)
	s.frame = s.frame[n:]
	if len(s.frame) == 0 && s.open && n < len(b) {
		b[n] = '\n'
		n++
		s.open = false
	}
	if n == 0 && len(b) > 0 {
		return 0, errNextFrame
	}
	return n, nil
}
