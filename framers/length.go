package framers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
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
	header: func(b []byte, size int) []byte { return binary.BigEndian.AppendUint32(b, uint32(size)) },
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
	arg:  "N",
	make: newRaw,
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
		b := newBody(r, s)
		b.receive = func() error { return b.sized(f.size) }
		return &b
	},
}

// Raw returns the framing that adds nothing. With a size in bytes, a message is that many bytes.
// With size 0 the stream has no messages: a Reader delivers what each read gives, which is the
// floor that every framing is compared with.
func Raw(size int) (Framing, error) { return newRaw(raw, size) }

func newRaw(f *form, size int) (Framing, error) {
	if size < 0 {
		return nil, fmt.Errorf("raw: size %d is negative", size)
	}
	return framing{f, size}, nil
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

// contentLength puts a header before the message, as LSP and some MCP servers do:
//
//	Content-Length: 5\r\n
//	\r\n
//	hello
var contentLength = &form{
	name:    "content-length",
	carries: func(framing, []byte, *settings) error { return nil },
	header: func(b []byte, size int) []byte {
		b = append(b, lengthPrompt...)
		b = strconv.AppendInt(b, int64(size), 10)
		return append(b, headerEnd...)
	},
	reader: func(_ framing, r io.Reader, s settings) Reader {
		h := &headerReader{body: newBody(r, s), length: -1}
		h.receive = h.header
		return h
	},
}

// ContentLength returns the framing that puts a Content-Length header before each message. It
// carries every message, the empty one too. A Reader takes names in any case, space around name and
// value, lines that end with LF alone, and other headers, which it ignores.
func ContentLength() Framing { return framing{contentLength, 0} }

const (
	lengthName   = "Content-Length"
	lengthPrompt = lengthName + ": "
	headerEnd    = "\r\n\r\n"
	maxDigits    = 19 // of an int64
)

// decimals returns how many digits n ≥ 0 has.
func decimals(n int64) int {
	d := 1
	for n >= 10 {
		n /= 10
		d++
	}
	return d
}

type headerReader struct {
	body
	length    int64 // what the header at hand has declared; -1: nothing yet
	begun     bool  // a line of the header at hand has been seen
	bytes     int   // of its lines so far
	lines     int
	resyncing bool // the header at hand had an error: look for the next
}

// header receives a header. The form that nearly every peer writes is recognised whole; anything
// else goes line by line.
func (r *headerReader) header() error {
	if r.resyncing {
		if err := r.resync(); err != nil {
			return err
		}
	}
	in := &r.in
	if !r.begun {
		r.body.start = in.offset(in.base)
		if n, used := usualHeader(in.held()); used > 0 && used <= r.set.headerBytes && r.set.headerLines >= 2 {
			in.base += used
			in.pos = in.base
			r.declare(n, r.body.start)
			return nil
		}
	}
	for !r.declared {
		if err := r.line(); err != nil {
			return err
		}
	}
	return nil
}

// usualHeader parses a header of the exact form that a Writer sends. used is 0 for any other,
// or an incomplete one.
func usualHeader(b []byte) (n int64, used int) {
	if len(b) < len(lengthPrompt) || string(b[:len(lengthPrompt)]) != lengthPrompt {
		return 0, 0
	}
	i := len(lengthPrompt)
	for ; i < len(b) && i < len(lengthPrompt)+maxDigits-1 && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if i == len(lengthPrompt) || len(b)-i < len(headerEnd) || string(b[i:i+len(headerEnd)]) != headerEnd {
		return 0, 0
	}
	return n, i + len(headerEnd)
}

// line receives one line of a header; the blank one ends it. How many bytes of a header too long
// are looked at does not depend on how many have come.
func (r *headerReader) line() error {
	in := &r.in
	for {
		most := in.base + r.set.headerBytes - r.bytes
		seen := min(in.end, most)
		if i := bytes.IndexByte(in.buf[in.pos:seen], '\n'); i >= 0 {
			return r.take(in.pos + i)
		}
		if in.pos = seen; seen == most {
			return r.fail(in.buf[in.base:most], most, ErrHeaderBytes)
		}
		if err := in.fill(0); err != nil {
			if r.begun || in.base < in.end {
				err = inside(err)
			}
			return err
		}
	}
}

// take judges the line that ends with the newline at end. A blank one ends the header; the body
// begins behind it.
func (r *headerReader) take(end int) error {
	in := &r.in
	line, next := in.buf[in.base:end], end+1
	r.begun = true
	r.bytes += next - in.base
	r.lines++
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if r.set.lenient {
		line = trim(line)
	}
	switch {
	case r.lines > r.set.headerLines:
		return r.fail(line, next, ErrHeaderLines)
	case len(line) > 0:
		if err := r.field(line); err != nil {
			return r.fail(line, next, err)
		}
	case r.length >= 0:
		r.declare(r.length, r.body.start)
		r.reset()
	case r.set.lenient && r.lines == 1:
		r.reset()
		r.body.start = in.offset(next)
	default:
		return r.fail(nil, next, ErrNoLength)
	}
	in.base, in.pos = next, next
	return nil
}

func (r *headerReader) reset() { r.length, r.begun, r.bytes, r.lines = -1, false, 0, 0 }

// field takes one header line. The name may have white space around it, as seed implementations
// strip it.
func (r *headerReader) field(line []byte) error {
	name, value, found := bytes.Cut(line, []byte{':'})
	if !found {
		if r.set.lenient {
			return nil
		}
		return ErrNoColon
	}
	if !bytes.EqualFold(trim(name), []byte(lengthName)) {
		return nil
	}
	n, err := parseLength(trim(value))
	if err != nil {
		return err
	}
	if r.length >= 0 && r.length != n {
		return ErrTwoLengths
	}
	r.length = n
	return nil
}

// parseLength takes decimal digits alone: no sign, no separator, no prefix.
func parseLength(b []byte) (int64, error) {
	digits, negative := bytes.CutPrefix(b, []byte{'-'})
	if len(digits) == 0 || bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, ErrBadLength
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	switch {
	case negative:
		return 0, ErrNegativeLength
	case err != nil:
		return 0, ErrHugeLength
	}
	return n, nil
}

// fail ends the header at hand with an error about line; what comes from next on is searched for
// another.
func (r *headerReader) fail(line []byte, next int, err error) error {
	e := &HeaderError{Offset: r.in.offset(r.in.base), Line: excerpt(line), Err: err}
	r.in.base, r.in.pos = next, next
	r.reset()
	r.resyncing = true
	return e
}

// resync drops bytes until a text that reads as the beginning of a Content-Length line.
func (r *headerReader) resync() error {
	in := &r.in
	skipped := false
	for {
		for in.end-in.base >= len(lengthName) {
			if c := in.buf[in.base] | 0x20; c == 'c' && bytes.EqualFold(in.buf[in.base:in.base+len(lengthName)], []byte(lengthName)) {
				in.pos = in.base
				r.resyncing = false
				return nil
			}
			in.base++
			skipped = true
		}
		in.pos = in.base
		if err := in.fill(0); err != nil {
			if skipped || in.base < in.end {
				err = inside(err)
			}
			return err
		}
	}
}
