package framers

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// lengthPrefix puts a 4-byte big-endian length before the message:
//
//	00 00 00 05 h e l l o
var lengthPrefix = &form{
	name: "length-prefix",
	carries: func(_ framing, msg []byte, _ *settings) error {
		if most := uint64(math.MaxUint32); uint64(len(msg)) > most {
			return &PayloadError{Offset: int(most), Err: ErrLength}
		}
		return nil
	},
	send: func(w *writer, msg []byte) error {
		if err := w.carries(w.framing, msg, &w.set); err != nil {
			return err
		}
		w.head = binary.BigEndian.AppendUint32(w.head[:0], uint32(len(msg)))
		return w.out.send(w.head, msg)
	},
	reader: func(_ framing, r io.Reader, s settings) Reader {
		b := newBody(r, s)
		b.receive = b.prefix
		return &b
	},
}

const prefixBytes = 4

// LengthPrefix returns the framing that puts a 4-byte big-endian length before each message. It
// carries every message of less than 4 GiB, the empty one too, and is the floor that a framing can
// reach.
func LengthPrefix() Framing { return framing{lengthPrefix, 0} }

// A body receives messages whose length is declared before them. What is under way is kept in it,
// so that a read error loses nothing.
type body struct {
	in       readBuffer
	set      settings
	receive  func() error // what stands before a message, and declares it
	declared bool         // the length is known and the message is being received
	length   int64        // of that message
	start    int64        // where in the stream its frame begins
	skipping int64        // bytes of a message beyond the limit that are still to come
	broken   error        // ends the stream
}

func newBody(r io.Reader, s settings) body { return body{in: newReadBuffer(r, &s), set: s} }

// prefix receives a binary length.
func (b *body) prefix() error {
	in := &b.in
	start := in.offset(in.base)
	if err := in.need(prefixBytes); err != nil {
		return err
	}
	b.declare(int64(binary.BigEndian.Uint32(in.held())), start)
	in.base += prefixBytes
	in.pos = in.base
	return nil
}

func (b *body) declare(length, start int64) { b.declared, b.length, b.start = true, length, start }

// ReadMessage drops what remains of a message beyond the limit, and receives the next one.
func (b *body) ReadMessage() (msg []byte, err error) {
	if b.broken != nil {
		return nil, b.broken
	}
	if b.skipping > 0 {
		if b.skipping, err = b.in.skip(b.skipping); err != nil {
			return nil, err
		}
	}
	if !b.declared {
		if err := b.receive(); err != nil {
			return nil, err
		}
	}
	if b.length > int64(b.set.maxMessage) {
		return nil, b.refuse()
	}
	if msg, err = b.in.take(int(b.length)); err == nil {
		b.declared = false
	}
	return msg, err
}

// refuse returns the error for a message beyond the limit. Under Resync it waits for as much as the
// error is to show.
func (b *body) refuse() error {
	in := &b.in
	if b.set.policy == Resync {
		if err := in.need(int(min(b.length, headBytes))); err != nil {
			return inside(err)
		}
	}
	err := &TooLargeError{
		Size: b.length, Declared: true, Limit: int64(b.set.maxMessage), Offset: b.start,
		Head: head(in.held(), int(min(b.length, headBytes))),
	}
	b.declared, b.skipping = false, b.length
	return b.set.refuse(err, &b.broken)
}

// raw puts nothing on the wire: both ends know the size, or there is none.
var raw = &form{
	name: "raw",
	arg:  rawArg,
	carries: func(f framing, msg []byte, _ *settings) error {
		if len(msg) == 0 {
			return &PayloadError{Err: ErrEmpty}
		}
		if f.size != 0 && len(msg) != f.size {
			return &PayloadError{Offset: min(len(msg), f.size), Err: ErrLength}
		}
		return nil
	},
	send: func(w *writer, msg []byte) error {
		if err := w.carries(w.framing, msg, &w.set); err != nil {
			return err
		}
		return w.out.send(msg)
	},
	reader: func(f framing, r io.Reader, s settings) Reader {
		b := newBody(r, s)
		b.receive = func() error { return b.sized(f.size) }
		return &b
	},
}

const rawArg = "N"

// Raw returns the framing that adds nothing. With a size in bytes, a message is that many bytes.
// With size 0 the stream has no messages: a Reader delivers what each read gives, which is the
// floor that every framing is compared with.
func Raw(size int) (Framing, error) {
	if size < 0 {
		return nil, fmt.Errorf("raw: size %d is negative", size)
	}
	return framing{raw, size}, nil
}

// sized receives what each message begins with where its size is known: nothing, so that the stream
// may end there. Where it is not, what has come is the message, at most as much as the limit allows.
func (b *body) sized(size int) error {
	in := &b.in
	if err := in.need(1); err != nil {
		return err
	}
	if size == 0 {
		size = min(in.end-in.base, b.set.maxMessage)
	}
	b.declare(int64(size), in.offset(in.base))
	return nil
}
