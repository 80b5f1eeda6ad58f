package framers

import (
	"bytes"
	"io"
)

// Lines lets a program that speaks lines, such as the stdio transport of an MCP library, speak
// another framing. Messages of f that arrive on r are read as lines. Lines that are written go out
// on w as messages of f.
//
// A newline inside a message, which in JSON can only be white space, becomes a space. White space
// around a line and blank lines are dropped. Closing either end closes r or w, if it is an
// io.Closer; the writer first sends a last line that has no newline. The options are those of f's
// Reader and Writer. Each end belongs to one goroutine.
func Lines(f Framing, r io.Reader, w io.Writer, opts ...Option) (io.ReadCloser, io.WriteCloser) {
	in := &linesReader{r: f.NewReader(r, opts...), under: r}
	out := &linesWriter{w: f.NewWriter(w, opts...), under: w}
	return in, out
}

// A linesReader gives messages as lines.
type linesReader struct {
	r     Reader
	under io.Reader
	left  []byte // of the message at hand
	open  bool   // its newline is still to come
}

func (l *linesReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(l.left) == 0 && !l.open {
		msg, err := l.r.ReadMessage()
		if err != nil {
			return 0, err
		}
		l.left = msg
		l.open = true
	}
	n := copy(b, l.left)
	l.left = l.left[n:]
	for i, c := range b[:n] {
		if c == '\n' {
			b[i] = ' '
		}
	}
	if len(l.left) == 0 && n < len(b) {
		b[n] = '\n'
		n++
		l.open = false
	}
	return n, nil
}

func (l *linesReader) Close() error { return closeIfCloser(l.under) }

// A linesWriter sends lines as messages.
type linesWriter struct {
	w     Writer
	under io.Writer
	begun []byte // of a line whose end has not been written yet
}

func (l *linesWriter) Write(b []byte) (int, error) {
	written := 0
	for {
		i := bytes.IndexByte(b[written:], '\n')
		if i < 0 {
			break
		}
		line := b[written : written+i]
		if len(l.begun) > 0 {
			l.begun = append(l.begun, line...)
			line = l.begun
		}
		written += i + 1
		err := l.send(line)
		l.begun = l.begun[:0]
		if err != nil {
			return written, err
		}
	}
	l.begun = append(l.begun, b[written:]...)
	if cap(l.begun) > keepCompose && len(l.begun) == 0 {
		l.begun = nil
	}
	return len(b), nil
}

func (l *linesWriter) send(line []byte) error {
	line = trim(line)
	if len(line) == 0 {
		return nil
	}
	return l.w.WriteMessage(line)
}

func (l *linesWriter) Close() error {
	err := l.send(l.begun)
	l.begun = nil
	closed := closeIfCloser(l.under)
	if err != nil {
		return err
	}
	return closed
}

func closeIfCloser(stream any) error {
	c, ok := stream.(io.Closer)
	if !ok {
		return nil
	}
	return c.Close()
}
