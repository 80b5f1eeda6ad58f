package framers

import (
	"bytes"
	"io"
	"strconv"
)

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

	// mostHeaderBytes and mostHeaderLines bound the header of one message, terminators counted.
	mostHeaderBytes = 8 << 10
	mostHeaderLines = 64
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
		n, used := usualHeader(in.held())
		if used > 0 {
			in.base += used
			in.pos = in.base
			return r.declare(n, r.body.start)
		}
	}
	for !r.declared {
		if err := r.line(); err != nil {
			return err
		}
	}
	return nil
}

// usualHeader parses a header of the exact form that a Writer sends. used is 0 for any other form,
// and for an incomplete header.
func usualHeader(b []byte) (n int64, used int) {
	if len(b) < len(lengthPrompt) || string(b[:len(lengthPrompt)]) != lengthPrompt {
		return 0, 0
	}
	i := len(lengthPrompt)
	// One digit less than maxDigits, so that n cannot overflow.
	for ; i < len(b) && i < len(lengthPrompt)+maxDigits-1 && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if i == len(lengthPrompt) || !bytes.HasPrefix(b[i:], []byte(headerEnd)) {
		return 0, 0
	}
	return n, i + len(headerEnd)
}

// line receives one line of a header; a blank line ends the header. It looks at mostHeaderBytes of
// a header and no more, so that the size of reads does not decide which header is too long.
func (r *headerReader) line() error {
	in := &r.in
	for {
		most := in.base + mostHeaderBytes - r.bytes
		seen := min(in.end, most)
		if i := bytes.IndexByte(in.buf[in.pos:seen], '\n'); i >= 0 {
			return r.take(in.pos + i)
		}
		in.pos = seen
		if seen == most {
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

// take judges the line that ends with the newline at end. A blank line ends the header; the body
// begins behind it.
func (r *headerReader) take(end int) error {
	in := &r.in
	line := in.buf[in.base:end]
	next := end + 1
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
	case r.lines > mostHeaderLines:
		return r.fail(line, next, ErrHeaderLines)
	case len(line) > 0:
		if err := r.field(line); err != nil {
			return r.fail(line, next, err)
		}
	case r.length >= 0:
		if err := r.declare(r.length, r.body.start); err != nil {
			return err
		}
		r.reset()
	case r.set.lenient && r.lines == 1: // a blank line before the header
		r.reset()
		r.body.start = in.offset(next)
	default:
		return r.fail(nil, next, ErrNoLength)
	}
	in.base = next
	in.pos = next
	return nil
}

func (r *headerReader) reset() { r.length, r.begun, r.bytes, r.lines = -1, false, 0, 0 }

// field takes one header line. The name may have white space around it: common implementations
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

// parseLength takes decimal digits alone. A negative number has an error of its own.
func parseLength(b []byte) (int64, error) {
	digits, negative := bytes.CutPrefix(b, []byte{'-'})
	if len(digits) == 0 {
		return 0, ErrBadLength
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, ErrBadLength
		}
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

// fail ends the header at hand with an error about line. The search for another header begins at
// next.
func (r *headerReader) fail(line []byte, next int, err error) error {
	e := &HeaderError{Offset: r.in.offset(r.in.base), Line: excerpt(line), Err: err}
	r.in.base = next
	r.in.pos = next
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
			name := in.buf[in.base : in.base+len(lengthName)]
			if name[0]|0x20 == 'c' && bytes.EqualFold(name, []byte(lengthName)) {
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
