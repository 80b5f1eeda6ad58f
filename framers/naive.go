package framers

import (
	"bytes"
	"io"
)

// A naive framing is the line framing as two documents on MCP's stdio transport print it: the same
// bytes on the wire, received by their algorithms, which are slow. They are here to be measured.
// Both hold a line whole before they look at its length, so the memory bound of the other Readers
// does not hold for them.
type naive string

const (
	bytewise naive = "ndjson-bytewise"
	rescan   naive = "ndjson-rescan"
)

// Bytewise returns the line framing whose Reader reads one byte a call until it is a newline.
func Bytewise() Framing { return bytewise }

// Rescan returns the line framing whose Reader reads 4096 bytes a call and after each searches the
// whole buffer again.
func Rescan() Framing { return rescan }

func (f naive) String() string { return string(f) }

func (f naive) NewWriter(w io.Writer, opts ...Option) Writer { return line{}.NewWriter(w, opts...) }

func (f naive) NewReader(r io.Reader, opts ...Option) Reader {
	p := &naiveReader{lines: &byteLines{r: r}, set: newSettings(opts)}
	if f == rescan {
		p.lines = &rescanLines{r: r}
	}
	return p
}

func (naive) carries(msg []byte, s *settings) error { return line{}.carries(msg, s) }
func (naive) wireSize(size int64) (int64, bool)     { return line{}.wireSize(size) }

// lineSource returns the next line with its newline, or without one what the stream ends with.
type lineSource interface{ next() ([]byte, error) }

// A naiveReader delivers what a lineReader delivers.
type naiveReader struct {
	lines  lineSource
	set    settings
	offset int64
	broken error
}

func (r *naiveReader) ReadMessage() ([]byte, error) {
	for {
		if r.broken != nil {
			return nil, r.broken
		}
		line, err := r.lines.next()
		if err != nil {
			return nil, err
		}
		start := r.offset
		r.offset += int64(len(line))
		if bare, found := bytes.CutSuffix(line, newline); found {
			line = bytes.TrimSuffix(bare, []byte{'\r'})
		}
		if len(line) > r.set.maxMessage {
			return nil, r.refuse(line, start)
		}
		if !r.set.verbatim {
			if line = trim(line); len(line) == 0 {
				continue
			}
		}
		return line, nil
	}
}

func (r *naiveReader) refuse(line []byte, start int64) error {
	err := tooLong(line, r.set.maxMessage, start)
	if r.set.policy == Close {
		r.broken = err
	}
	return err
}

// byteLines: buffer = ""; while true: char = read(1); if char == '\n': return buffer; buffer +=
// char.
type byteLines struct {
	r    io.Reader
	buf  []byte
	done bool // buf was returned
	char [1]byte
}

func (l *byteLines) next() ([]byte, error) {
	if l.done {
		l.buf, l.done = l.buf[:0], false
	}
	for {
		_, err := io.ReadFull(l.r, l.char[:])
		if err == io.EOF && len(l.buf) > 0 {
			l.done = true
			return l.buf, nil
		}
		if err != nil {
			return nil, err
		}
		l.buf = append(l.buf, l.char[0])
		if l.char[0] == '\n' {
			l.done = true
			return l.buf, nil
		}
	}
}

// rescanRead is what the printed algorithm reads at once, in bytes.
const rescanRead = 4096

// rescanLines: read 4096 bytes, append them to the buffer, search the buffer from its start, take
// lines off its front.
type rescanLines struct {
	r     io.Reader
	buf   []byte // what has been read and not yet returned
	chunk [rescanRead]byte
}

func (l *rescanLines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf, '\n'); i >= 0 {
			line := l.buf[: i+1 : i+1]
			l.buf = l.buf[i+1:]
			return line, nil
		}
		n, err := io.ReadAtLeast(l.r, l.chunk[:], 1)
		if err == io.EOF && len(l.buf) > 0 {
			line := l.buf
			l.buf = nil
			return line, nil
		}
		if err != nil {
			return nil, err
		}
		l.buf = append(l.buf, l.chunk[:n]...)
	}
}
