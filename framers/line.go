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
		return newLineReader(r, s)
	},
}

var newline = []byte{'\n'}

// NDJSON returns the framing of newline-delimited JSON: each message is a line, whatever it holds.
// A Reader drops white space around a message and skips blank lines, unless [WithVerbatim] is
// given. A Writer refuses a message that would not arrive unchanged.
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

// checkEnds returns an error if msg cannot be a line because it is empty, or because of its first
// or last byte.
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

// A lineReader receives lines. It serves the framing ndjson and two slow variants of that framing.
// It is also a part of chunkReader.
type lineReader struct {
	in       readBuffer
	set      settings
	limit    int     // the most bytes of a line that may come before its newline
	rescans  bool    // search the whole line again after each read, as in Rescan
	late     bool    // check the length of a line only when its newline has come
	skipping bool    // inside a line whose rest is to be dropped
	skipFrom int64   // position in the stream of the first byte that the method skip counts
	refused  refusal // about the message in the line that is dropped
	broken   error   // the error that ended the stream
}

func newLineReader(r io.Reader, s settings) *lineReader {
	return &lineReader{in: newReadBuffer(r, &s), set: s, limit: s.maxMessage}
}

func (r *lineReader) ReadMessage() ([]byte, error) {
	for {
		if r.broken != nil {
			return nil, r.broken
		}
		if r.skipping {
			if err := r.skip(); err != nil {
				return nil, err
			}
		}
		if r.in.base == r.in.end { // wait here: see bodyReader.ReadMessage
			if err := r.in.fill(readSize); err != nil {
				return nil, err
			}
		}
		n, ended, err := r.await()
		if err != nil {
			return nil, err
		}
		line, err := r.take(n, ended)
		if line != nil || err != nil {
			return line, err
		}
	}
}

// await reads until the line at hand has its newline, the stream ends, or the line is longer than
// the limit. The results say how many bytes of the line have come, and whether the newline has.
func (r *lineReader) await() (n int, ended bool, err error) {
	in := &r.in
	for {
		if i := bytes.IndexByte(in.buf[in.pos:in.end], '\n'); i >= 0 {
			return in.pos + i - in.base, true, nil
		}
		in.pos = in.end // search only what the next read brings
		if r.rescans {
			in.pos = in.base
		}
		n = in.end - in.base
		// A carriage return just beyond the limit may be part of the line's end.
		beyond := n > r.limit+1 || n == r.limit+1 && in.buf[in.end-1] != '\r'
		if beyond && !r.late {
			return n, false, nil
		}
		if err := in.fill(readSize); err != nil && (err != io.EOF || n == 0) {
			return 0, false, err
		} else if err != nil { // the stream ended inside the line
			return n, false, nil
		}
	}
}

// take removes a line of n bytes from the buffer, and also the newline behind it if ended is true.
// It returns the message in the line, or nil for a blank line. A message that is too large is an
// error.
func (r *lineReader) take(n int, ended bool) ([]byte, error) {
	in := &r.in
	line := in.buf[in.base : in.base+n : in.base+n]
	next := in.base + n
	if ended {
		next++
		if n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
	}
	if len(line) > r.set.maxMessage {
		start := in.offset(in.base)
		r.skipping = true
		r.skipFrom = start
		r.refused = refusal{err: tooLong(line, r.set.maxMessage, start)}
		return nil, r.set.refuse(r.refused.err, &r.broken)
	}
	in.next(next)
	if r.set.verbatim {
		return line, nil
	}
	line = trim(line)
	if len(line) == 0 {
		return nil, nil
	}
	return line, nil
}

// skip drops the rest of a line whose message was refused, and counts the dropped bytes in
// r.refused. After a read error, skip may be called again.
func (r *lineReader) skip() error {
	err := r.in.skipLine()
	if err != nil && err != io.EOF {
		return err
	}
	r.skipping = err != nil // at the end of the stream, the newline of the line has not come
	r.refused.size += r.in.offset(r.in.base) - r.skipFrom
	if err == nil {
		r.refused.size-- // the newline
	}
	r.refused.tell(&r.set)
	return err
}

// tooLong returns the error for a message that is too large, in a framing that states no sizes. The
// parameter msg is the part of the message that has come.
func tooLong(msg []byte, limit int, offset int64) *TooLargeError {
	return &TooLargeError{
		Size:   int64(limit) + 1,
		Limit:  int64(limit),
		Offset: offset,
		Head:   head(msg, limit+1),
	}
}

// skipLine drops everything up to and including the next newline.
func (in *readBuffer) skipLine() error {
	for {
		if i := bytes.IndexByte(in.buf[in.pos:in.end], '\n'); i >= 0 {
			in.base = in.pos + i + 1
			in.pos = in.base
			return nil
		}
		in.base = in.end
		in.pos = in.end
		if err := in.fill(readSize); err != nil {
			return err
		}
	}
}

// trim drops what JSON counts as white space from both ends of b. bytes.TrimSpace would drop
// further characters.
func trim(b []byte) []byte {
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
