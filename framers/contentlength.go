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
	name: "content-length",
	header: func(b []byte, size int) []byte {
		b = append(b, lengthPrompt...)
		b = strconv.AppendInt(b, int64(size), 10)
		return append(b, headerEnd...)
	},
	reader: func(_ framing, r io.Reader, s settings) Reader {
		h := &headerReader{bodyReader: newBodyReader(r, s), stated: -1}
		h.receive = h.header
		return h
	},
}

// ContentLength returns the framing that puts a Content-Length header before each message. A Reader
// also accepts names in upper or lower case, white space around names and values, lines that end
// with LF alone, and other header lines.
func ContentLength() Framing { return framing{contentLength, 0} }

const (
	lengthName   = "Content-Length"
	lengthPrompt = lengthName + ": "
	headerEnd    = "\r\n\r\n"
	maxDigits    = 19 // the most digits of an int64

	// mostHeaderBytes and mostHeaderLines limit the header of one message, its line ends included.
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

// A headerReader receives messages that have a Content-Length header. It parses a header of the
// usual form as a whole, and any other header line by line.
type headerReader struct {
	bodyReader
	// The header at hand, while it is read line by line:
	stated int64 // the length that the header states; -1: none yet
	begun  bool  // a line of it has come
	bytes  int   // number of bytes of its lines so far
	lines  int   // number of its lines so far
	bare   bool  // the line of its length, or a later one, ended with LF alone

	resyncing   bool  // a header was faulty: look for the next one
	bareHeaders int64 // see HeaderReader
}

// header receives a header, and stores the length of the message that follows it.
func (r *headerReader) header() error {
	if r.resyncing {
		if err := r.resync(); err != nil {
			return err
		}
	}
	in := &r.in
	if !r.begun {
		r.start = in.offset(in.base)
		n, used := usualHeader(in.held())
		if used > 0 {
			in.base += used
			in.pos = in.base
			return r.declare(n, r.start)
		}
	}
	for !r.declared {
		if err := r.line(); err != nil {
			return err
		}
	}
	return nil
}

// usualHeader parses a header of exactly the form that a Writer sends. The second result is the
// length of the header in bytes. It is 0 if the header is incomplete or has another form.
func usualHeader(b []byte) (n int64, used int) {
	if len(b) < len(lengthPrompt) || string(b[:len(lengthPrompt)]) != lengthPrompt {
		return 0, 0
	}
	i := len(lengthPrompt)
	// Stop one digit before maxDigits, so that n cannot overflow.
	for ; i < len(b) && i < len(lengthPrompt)+maxDigits-1 && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if i == len(lengthPrompt) || !bytes.HasPrefix(b[i:], []byte(headerEnd)) {
		return 0, 0
	}
	return n, i + len(headerEnd)
}

// line receives one line of a header. A header of more than mostHeaderBytes is an error.
func (r *headerReader) line() error {
	in := &r.in
	for {
		limit := in.base + mostHeaderBytes - r.bytes // the header must end before this index
		end := min(in.end, limit)
		if i := bytes.IndexByte(in.buf[in.pos:end], '\n'); i >= 0 {
			return r.take(in.pos + i)
		}
		in.pos = end
		if end == limit {
			return r.fail(in.buf[in.base:limit], limit, ErrHeaderBytes)
		}
		if err := in.fill(readSize); err != nil {
			if r.begun || in.base < in.end {
				err = inside(err)
			}
			return err
		}
	}
}

// take removes a line from the buffer, up to the newline at index end. A blank line ends the
// header.
func (r *headerReader) take(end int) error {
	in := &r.in
	line := in.buf[in.base:end]
	next := end + 1
	r.begun = true
	r.bytes += next - in.base
	r.lines++
	line, hasCR := bytes.CutSuffix(line, []byte{'\r'})
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
		r.bare = r.bare || !hasCR && r.stated >= 0
	case r.stated >= 0: // a blank line behind a length
		if err := r.declare(r.stated, r.start); err != nil {
			return err
		}
		if r.bare || !hasCR {
			r.bareHeaders++
		}
		r.reset()
	case r.set.lenient && r.lines == 1: // a blank line before the header
		r.reset()
		r.start = in.offset(next)
	default:
		failed := r.fail(nil, next, ErrNoLength)
		failed.Offset = r.start
		return failed
	}
	in.base = next
	in.pos = next
	return nil
}

func (r *headerReader) reset() {
	r.stated = -1
	r.begun = false
	r.bytes = 0
	r.lines = 0
	r.bare = false
}

// Pending implements [LengthReader].
func (r *headerReader) Pending() Pending {
	p := r.bodyReader.Pending()
	begin := r.in.held()
	begin = begin[:min(len(begin), len("Content-"))]
	isObject := len(begin) > 0 && begin[0] == '{'
	mayBeHeader := r.begun || bytes.EqualFold(begin, []byte(lengthName[:len(begin)]))
	if !r.declared && !mayBeHeader && !isObject {
		p.Text = excerpt(r.in.held())
	}
	return p
}

// BareHeaders implements [HeaderReader].
func (r *headerReader) BareHeaders() int64 { return r.bareHeaders }

// field processes one header line. Like common implementations, it drops white space around the
// name.
func (r *headerReader) field(line []byte) error {
	name, value, found := bytes.Cut(line, []byte{':'})
	if !found {
		if r.set.lenient {
			return nil
		}
		return ErrNoColon
	}
	name = trim(name)
	if !bytes.EqualFold(name, []byte(lengthName)) {
		if r.set.verbatim && !r.set.lenient && !bytes.EqualFold(name, []byte("Content-Type")) {
			return ErrOtherName
		}
		return nil
	}
	n, err := parseLength(trim(value))
	if err != nil {
		return err
	}
	if r.stated >= 0 && r.stated != n {
		return ErrTwoLengths
	}
	r.stated = n
	return nil
}

// parseLength parses a decimal number. A negative number has an error of its own.
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

// fail returns the error about a line, and goes on at the index next of the buffer. It gives up the
// header at hand and searches for the next one, unless the line is text that is no header line.
func (r *headerReader) fail(line []byte, next int, err error) *HeaderError {
	e := &HeaderError{Offset: r.in.offset(r.in.base), Line: excerpt(line), Err: err}
	r.in.base = next
	r.in.pos = next
	r.resyncing = err != ErrOtherName
	if r.resyncing || r.stated < 0 {
		r.reset()
	}
	return e
}

// resync drops bytes up to the next "Content-Length", in upper or lower case.
func (r *headerReader) resync() error {
	in := &r.in
	skipped := false // bytes were dropped
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
		if err := in.fill(readSize); err != nil {
			if skipped || in.base < in.end {
				err = inside(err)
			}
			return err
		}
	}
}
