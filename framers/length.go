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
type lengthPrefix struct{}

const prefixBytes = 4

// LengthPrefix returns the framing that puts a 4-byte big-endian length before each message. It
// carries every message of less than 4 GiB, the empty one too, and is the floor that a framing can
// reach.
func LengthPrefix() Framing { return lengthPrefix{} }

func (lengthPrefix) String() string { return "length-prefix" }

func (f lengthPrefix) NewWriter(w io.Writer, opts ...Option) Writer {
	return newPrefixWriter(f, w, opts)
}

func (f lengthPrefix) NewReader(r io.Reader, opts ...Option) Reader {
	return &lengthReader{body: newBodyReader(r, opts)}
}

func (lengthPrefix) carries(msg []byte, _ *settings) error {
	if most := uint64(math.MaxUint32); uint64(len(msg)) > most {
		return &PayloadError{Offset: int(most), Err: ErrLength}
	}
	return nil
}

func (lengthPrefix) appendPrefix(b []byte, size int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(size))
}

// A prefixed framing sends a message behind something that says how long it is, or behind nothing.
type prefixed interface {
	builtin
	appendPrefix(b []byte, size int) []byte
}

// A prefixWriter sends the messages of a prefixed framing.
type prefixWriter struct {
	f      prefixed
	set    settings
	out    frameWriter
	prefix []byte
}

func newPrefixWriter(f prefixed, w io.Writer, opts []Option) Writer {
	return &prefixWriter{f: f, set: newSettings(opts), out: newFrameWriter(w)}
}

func (w *prefixWriter) WriteMessage(msg []byte) error {
	if err := check(w.f, msg, &w.set); err != nil {
		return err
	}
	if w.prefix = w.f.appendPrefix(w.prefix[:0], len(msg)); len(w.prefix) == 0 {
		return w.out.send(msg)
	}
	return w.out.send(w.prefix, msg)
}

type lengthReader struct{ body }

func (r *lengthReader) ReadMessage() ([]byte, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	if r.declared {
		return r.deliver()
	}
	in := &r.in
	start := in.offset(in.base)
	for in.end-in.base < prefixBytes {
		if err := in.fill(0); err != nil {
			if in.base != in.end {
				err = inside(err)
			}
			return nil, err
		}
	}
	n := binary.BigEndian.Uint32(in.held())
	in.base += prefixBytes
	in.pos = in.base
	r.declare(int64(n), start)
	return r.deliver()
}

// A body receives messages whose length is declared before them. What is under way is kept in it,
// so that a read error loses nothing.
type body struct {
	in       readBuffer
	set      settings
	declared bool  // the length is known and the message is being received
	length   int64 // of that message
	start    int64 // where in the stream its frame begins
	skipping int64 // bytes of a message beyond the limit that are still to come
	broken   error // ends the stream
}

func newBodyReader(r io.Reader, opts []Option) body {
	s := newSettings(opts)
	return body{in: newReadBuffer(r, &s), set: s}
}

// ready brings the stream to the next message: it drops what remains of one beyond the limit.
func (b *body) ready() error {
	if b.broken != nil {
		return b.broken
	}
	if b.skipping == 0 {
		return nil
	}
	var err error
	b.skipping, err = b.in.skip(b.skipping)
	return err
}

func (b *body) declare(length, start int64) { b.declared, b.length, b.start = true, length, start }

// deliver returns the message declared.
func (b *body) deliver() ([]byte, error) {
	if b.length > int64(b.set.maxMessage) {
		return nil, b.refuse()
	}
	msg, err := b.in.take(int(b.length))
	if err == nil {
		b.declared = false
	}
	return msg, err
}

// refuse returns the error for a message beyond the limit. Under Resync it waits for as much as the
// error is to show.
func (b *body) refuse() error {
	in := &b.in
	if b.set.policy == Resync {
		for want := min(b.length, headBytes); int64(in.end-in.base) < want; {
			if err := in.fill(0); err != nil {
				return inside(err)
			}
		}
	}
	err := &TooLargeError{
		Size: b.length, Declared: true, Limit: int64(b.set.maxMessage), Offset: b.start,
		Head: head(in.held(), int(min(b.length, headBytes))),
	}
	b.declared = false
	if b.set.policy == Resync {
		b.skipping = b.length
	} else {
		b.broken = err
	}
	return err
}

// raw puts nothing on the wire: both ends know the size.
type raw struct{ size int } // 0: not known

// Raw returns the framing that adds nothing. With a size in bytes, a message is that many bytes.
// With size 0 the stream has no messages: a Reader delivers what each read gives, which is the
// floor that every framing is compared with.
func Raw(size int) (Framing, error) {
	if size < 0 {
		return nil, fmt.Errorf("raw: size %d is negative", size)
	}
	return raw{size}, nil
}

func (f raw) String() string {
	if f.size == 0 {
		return "raw"
	}
	return fmt.Sprintf("raw:%d", f.size)
}

func (f raw) NewWriter(w io.Writer, opts ...Option) Writer {
	return newPrefixWriter(f, w, opts)
}

func (f raw) NewReader(r io.Reader, opts ...Option) Reader {
	s := newSettings(opts)
	return &rawReader{in: newReadBuffer(r, &s), size: f.size, limit: s.maxMessage}
}

func (f raw) carries(msg []byte, _ *settings) error {
	if len(msg) == 0 {
		return &PayloadError{Err: ErrEmpty}
	}
	if f.size != 0 && len(msg) != f.size {
		return &PayloadError{Offset: min(len(msg), f.size), Err: ErrLength}
	}
	return nil
}

func (raw) appendPrefix(b []byte, _ int) []byte { return b }

type rawReader struct {
	in    readBuffer
	size  int
	limit int
}

// ReadMessage delivers size bytes, or where no size is known what has come, at most limit bytes.
func (r *rawReader) ReadMessage() ([]byte, error) {
	in := &r.in
	if in.base == in.end {
		if err := in.fill(0); err != nil {
			return nil, err
		}
	}
	if r.size > r.limit {
		return nil, &TooLargeError{Size: int64(r.size), Declared: true, Limit: int64(r.limit), Offset: in.offset(in.base)}
	}
	if r.size == 0 {
		return in.take(min(in.end-in.base, r.limit))
	}
	return in.take(r.size)
}
