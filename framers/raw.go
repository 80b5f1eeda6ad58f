package framers

import (
	"fmt"
	"io"
)

// raw adds nothing to messages. Either both ends know the size of all messages, or the stream has
// no messages.
var raw = &form{
	name:     "raw",
	arg:      "N",
	newSized: newRaw,
	carries: func(f framing, msg []byte, _ *settings) error {
		if len(msg) == 0 {
			return &PayloadError{Err: ErrEmpty}
		}
		if f.size != 0 && len(msg) != f.size {
			return &PayloadError{Offset: min(len(msg), f.size), Err: ErrLength}
		}
		return nil
	},
	reader: func(f framing, r io.Reader, s settings) Reader {
		b := newBodyReader(r, s)
		b.receive = func() error { return b.raw(f.size) }
		return &b
	},
}

// Raw returns the framing that adds nothing: each message has size bytes. If size is 0, the stream
// has no messages, and a Reader delivers what each read gives.
func Raw(size int) (Framing, error) { return newRaw(raw, size) }

func newRaw(f *form, size int) (Framing, error) {
	if size < 0 {
		return nil, fmt.Errorf("raw: size %d is negative", size)
	}
	return framing{f, size}, nil
}

// raw waits for the first byte of a message, and declares the message's size. If size is 0, all
// bytes that have come, up to the limit, are the message.
func (b *bodyReader) raw(size int) error {
	in := &b.in
	if err := in.need(1); err != nil {
		return err
	}
	if size == 0 {
		size = min(in.end-in.base, b.set.maxMessage)
	}
	return b.declare(int64(size), in.offset(in.base))
}
