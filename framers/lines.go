package framers

import (
	"bytes"
	"errors"
	"io"
)

// Lines lets a program that speaks lines, such as an MCP library, speak the framing f. Messages
// that arrive on r become lines on the returned reader, and lines written to the returned writer
// become messages on w.
//
// A newline inside a message becomes a space. Closing the returned writer sends a last line that
// has no newline, and also closes w if w is an io.Closer. Closing the returned reader also closes r
// if r is an io.Closer. The reader and the writer belong to one goroutine each.
func Lines(f Framing, r io.Reader, w io.Writer, opts ...Option) (io.ReadCloser, io.WriteCloser) {
	in := &messagesAsLines{r: f.NewReader(r, opts...), under: r}
	out := &linesAsMessages{w: f.NewWriter(w, opts...), under: w}
	return in, out
}

// messagesAsLines is the reading end of Lines: each message becomes a line.
type messagesAsLines struct {
	r     Reader
	under io.Reader // what r reads from
	left  []byte    // the rest of the message at hand, for the next Read
	open  bool      // Read has not yet given the newline behind that message
}

func (l *messagesAsLines) Read(b []byte) (int, error) {
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

func (l *messagesAsLines) Close() error { return closeIfCloser(l.under) }

// linesAsMessages is the writing end of Lines: each line becomes a message.
type linesAsMessages struct {
	w     Writer
	under io.Writer // what w writes to
	begun []byte    // the beginning of a line whose newline has not been written yet
}

func (l *linesAsMessages) Write(b []byte) (int, error) {
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

func (l *linesAsMessages) send(line []byte) error {
	line = trim(line)
	if len(line) == 0 {
		return nil
	}
	return l.w.WriteMessage(line)
}

func (l *linesAsMessages) Close() error {
	err := l.send(l.begun)
	l.begun = nil
	return errors.Join(err, closeIfCloser(l.under))
}

func closeIfCloser(stream any) error {
	c, ok := stream.(io.Closer)
	if !ok {
		return nil
	}
	return c.Close()
}
