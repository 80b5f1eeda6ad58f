package framers

import (
	"bytes"
	"io"
)

// The naive forms are the line framing as two documents on MCP's stdio transport print it: the same
// bytes on the wire, received by their algorithms, which are slow. They are here to be measured.
// Both hold a line whole before they look at its length, so the memory bound of the other Readers
// does not hold for them.
var (
	bytewise = &form{
		name:    "ndjson-bytewise",
		carries: lineCarries,
		tail:    newline,
		reader:  func(_ framing, r io.Reader, s settings) Reader { return newNaiveReader(r, s, 1) },
	}
	rescan = &form{
		name:    "ndjson-rescan",
		carries: lineCarries,
		tail:    newline,
		reader: func(_ framing, r io.Reader, s settings) Reader {
			return newNaiveReader(r, s, rescanRead)
		},
	}
)

// Bytewise returns the line framing whose Reader reads one byte a call until it is a newline.
func Bytewise() Framing { return framing{bytewise, 0} }

// Rescan returns the line framing whose Reader reads 4096 bytes a call and after each searches the
// whole buffer again.
func Rescan() Framing { return framing{rescan, 0} }

func newNaiveReader(r io.Reader, s settings, atOnce int) Reader {
	return &naiveReader{r: r, set: s, chunk: newBuffer(atOnce, s.readOffset)}
}

// rescanRead is what the printed algorithm reads at once, in bytes.
const rescanRead = 4096

// A naiveReader delivers what a lineReader delivers.
type naiveReader struct {
	r      io.Reader
	set    settings
	chunk  []byte // what one read asks for
	buf    []byte // what has been read and not yet returned
	spare  []byte // bytewise: the buffer of the line returned last
	offset int64
	broken error
}

func (r *naiveReader) ReadMessage() ([]byte, error) {
	for {
		if r.broken != nil {
			return nil, r.broken
		}
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		start := r.offset
		r.offset += int64(len(line))
		if bare, found := bytes.CutSuffix(line, newline); found {
			line = bytes.TrimSuffix(bare, []byte{'\r'})
		}
		if len(line) > r.set.maxMessage {
			return nil, r.set.refuse(tooLong(line, r.set.maxMessage, start), &r.broken)
		}
		if !r.set.verbatim {
			line = trim(line)
			if len(line) == 0 {
				continue
			}
		}
		return line, nil
	}
}

// next returns the next line with its newline, or the last line of the stream without one.
// Bytewise: buffer = ""; while true: char = read(1); if char == '\n': return buffer; buffer +=
// char. Rescan: read 4096 bytes, append them to the buffer, search the buffer from its start, take
// lines off its front.
func (r *naiveReader) next() ([]byte, error) {
	if r.buf == nil {
		r.buf = r.spare[:0]
	}
	searched := 0
	for {
		if i := bytes.IndexByte(r.buf[searched:], '\n'); i >= 0 {
			return r.take(searched + i + 1), nil
		}
		n, err := io.ReadAtLeast(r.r, r.chunk, 1)
		if err == io.EOF && len(r.buf) > 0 {
			return r.take(len(r.buf)), nil
		}
		if err != nil {
			return nil, err
		}
		if len(r.chunk) == 1 {
			searched = len(r.buf)
		}
		r.buf = append(r.buf, r.chunk[:n]...)
	}
}

// take takes the first n bytes off the buffer.
func (r *naiveReader) take(n int) []byte {
	line := r.buf[:n:n]
	rest := r.buf[n:]
	if len(r.chunk) == 1 {
		r.spare = r.buf
		rest = nil
	}
	r.buf = rest
	return line
}
