package framers

import (
	"bytes"
	"io"
)

// ndjson ends each message with a newline:
//
//	{"jsonrpc":"2.0","method":"ping"}\n
var ndjson = &form{
	name:    "ndjson",
	carries: lineCarries,
	tail:    newline,
	reader: func(_ framing, r io.Reader, s settings) Reader {
		return &lineReader{in: newReadBuffer(r, &s), set: s}
	},
}

var newline = []byte{'\n'}

// NDJSON returns the framing of newline-delimited JSON: a message is a line. It does not look into
// the JSON. A Reader drops white space around a message and skips blank lines (WithVerbatim keeps
// both), takes CR LF for LF, and delivers a last line that has no newline. A Writer refuses what a
// Reader of the same options would not give back unchanged.
func NDJSON() Framing { return framing{ndjson, 0} }

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func lineCarries(_ framing, msg []byte, s *settings) error {
	if i := bytes.IndexByte(msg, '\n'); i >= 0 {
		return newlineAt(i)
	}
	if last := len(msg) - 1; last >= 0 && msg[0] > ' ' && msg[last] > ' ' {
		return nil
	}
	return checkEnds(msg, s.verbatim)
}

func newlineAt(i int) error { return &PayloadError{Offset: i, Err: ErrNewline} }

// checkEnds returns why msg cannot be a line because of its first or last byte, or nil.
func checkEnds(msg []byte, verbatim bool) error {
	last := len(msg) - 1
	switch {
	case verbatim && last >= 0 && msg[last] == '\r':
		return &PayloadError{Offset: last, Err: ErrReturn}
	case verbatim:
		return nil
	case last < 0:
		return &PayloadError{Err: ErrEmpty}
	case space(msg[0]):
		return &PayloadError{Err: ErrSpace}
	case space(msg[last]):
		return &PayloadError{Offset: last, Err: ErrSpace}
	}
	return nil
}

type lineReader struct {
	in       readBuffer
	set      settings
	skipping bool // inside a line that is dropped
	refused  refusal
	broken   error
}

func (r *lineReader) ReadMessage() ([]byte, error) {
	for {
		if r.in.base == r.in.end && r.broken == nil && !r.skipping { // as body.ReadMessage does
			if err := r.in.fill(0); err != nil {
				return nil, err
			}
		}
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if r.set.verbatim {
			return line, nil
		}
		line = trim(line)
		if len(line) > 0 {
			return line, nil
		}
	}
}

// line returns the next line without its terminator. It searches only what the last read brought.
func (r *lineReader) line() ([]byte, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	in := &r.in
	if r.skipping {
		if err := r.skip(); err != nil {
			return nil, err
		}
	}
	for {
		if i := bytes.IndexByte(in.buf[in.pos:in.end], '\n'); i >= 0 {
			return r.finish(in.pos+i, in.pos+i+1)
		}
		in.pos = in.end
		if exceeds(in.held(), r.set.maxMessage) {
			r.skipping = true
			return nil, r.refuse()
		}
		if err := in.fill(0); err == io.EOF && in.base < in.end {
			return r.finish(in.end, in.end)
		} else if err != nil {
			return nil, err
		}
	}
}

// exceeds reports whether a line whose end has not been seen is beyond the limit already. A
// carriage return may yet turn out to be part of its terminator.
func exceeds(line []byte, limit int) bool {
	n := len(line)
	return n > limit+1 || n == limit+1 && line[limit] != '\r'
}

// finish takes the line that ends at end; the next begins at next.
func (r *lineReader) finish(end, next int) ([]byte, error) {
	in := &r.in
	size := int64(end - in.base)
	if next > end && end > in.base && in.buf[end-1] == '\r' {
		end--
	}
	if end-in.base > r.set.maxMessage {
		err := r.refuse()
		r.refused.size = size
		r.refused.tell(&r.set)
		in.next(next)
		return nil, err
	}
	line := in.buf[in.base:end:end]
	in.next(next)
	return line, nil
}

// refuse returns the error for the line at hand, which is beyond the limit.
func (r *lineReader) refuse() error {
	err := tooLong(r.in.held(), r.set.maxMessage, r.in.offset(r.in.base))
	r.refused.err = err
	return r.set.refuse(err, &r.broken)
}

// skip drops the rest of a line.
func (r *lineReader) skip() error {
	err := r.in.skipLine()
	if err != nil && err != io.EOF {
		return err
	}
	if e := r.refused.err; e != nil {
		r.refused.size = r.in.offset(r.in.base) - e.Offset
		if err == nil {
			r.refused.size-- // the newline
		}
	}
	r.refused.tell(&r.set)
	r.skipping = err != nil
	return err
}

// tooLong is the error for a message that declares no size.
func tooLong(msg []byte, limit int, offset int64) *TooLargeError {
	return &TooLargeError{
		Size:   int64(limit) + 1,
		Limit:  int64(limit),
		Offset: offset,
		Head:   head(msg, limit+1),
	}
}

// skipLine drops everything up to and with the next newline.
func (in *readBuffer) skipLine() error {
	for {
		if i := bytes.IndexByte(in.buf[in.pos:in.end], '\n'); i >= 0 {
			in.base = in.pos + i + 1
			in.pos = in.base
			return nil
		}
		in.base = in.end
		in.pos = in.end
		if err := in.fill(0); err != nil {
			return err
		}
	}
}

// trim returns b without JSON's white space around it. bytes.TrimSpace would also remove parts of a
// text in another encoding.
func trim(b []byte) []byte {
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
