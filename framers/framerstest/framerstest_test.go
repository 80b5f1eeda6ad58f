package framerstest_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/framerstest"
)

func TestARightFraming(t *testing.T) {
	framerstest.Check(t, netstring{})
}

// A spy keeps the failures of a test.
type spy struct {
	testing.TB
	failures []string
}

func (*spy) Helper() {}

func (s *spy) Errorf(format string, args ...any) {
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

// A wrong framing is a netstring, but for one of its ends.
type wrong struct {
	netstring
	write func(w io.Writer, msg []byte) error
	read  func(r io.Reader) framers.Reader
}

type readFunc func() ([]byte, error)

func (read readFunc) ReadMessage() ([]byte, error) { return read() }

type writeFunc func(msg []byte) error

func (write writeFunc) WriteMessage(msg []byte) error { return write(msg) }

func (f wrong) NewWriter(w io.Writer, opts ...framers.Option) framers.Writer {
	if f.write == nil {
		return f.netstring.NewWriter(w, opts...)
	}
	return writeFunc(func(msg []byte) error { return f.write(w, msg) })
}

func (f wrong) NewReader(r io.Reader, opts ...framers.Option) framers.Reader {
	if f.read == nil {
		return f.netstring.NewReader(r, opts...)
	}
	return f.read(r)
}

// changing reads netstrings, and returns what change makes of a message or an error.
func changing(change func([]byte, error) ([]byte, error)) func(io.Reader) framers.Reader {
	return func(r io.Reader) framers.Reader {
		own := netstring{}.NewReader(r)
		return readFunc(func() ([]byte, error) { return change(own.ReadMessage()) })
	}
}

// writeLength writes four bytes of length, then msg.
func writeLength(w io.Writer, msg []byte) error {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(msg)))
	_, err := w.Write(append(frame, msg...))
	return err
}

// readLength reads what writeLength wrote with io.ReadFull, which drops what came at an error.
func readLength(r io.Reader) framers.Reader {
	return readFunc(func() ([]byte, error) {
		var header [4]byte
		if _, err := io.ReadFull(r, header[:]); err != nil {
			return nil, err
		}
		length := binary.BigEndian.Uint32(header[:])
		if length > 1<<20 {
			return nil, errors.New("too large")
		}
		msg := make([]byte, length)
		_, err := io.ReadFull(r, msg)
		return msg, err
	})
}

func writeLine(w io.Writer, msg []byte) error {
	_, err := fmt.Fprintf(w, "%s\n", msg)
	return err
}

func readLines(r io.Reader) framers.Reader {
	lines := bufio.NewReader(r)
	return readFunc(func() ([]byte, error) {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return line, err
		}
		return line[:len(line)-1], nil
	})
}

func TestWrongFramings(t *testing.T) {
	shared := make([]byte, 100_000)
	var batch []byte
	for _, c := range []struct {
		name string
		f    framers.Framing
		want string
	}{
		{"without messages", mustParse(t, "raw"), "message of 1 bytes"},
		{"an empty message is the end", wrong{read: changing(
			func(msg []byte, err error) ([]byte, error) {
				if err == nil && len(msg) == 0 {
					return nil, io.EOF
				}
				return msg, err
			})}, "message of 0 bytes: ReadMessage returned io.EOF; want an empty message"},
		{"wraps io.EOF", wrong{read: changing(func(msg []byte, err error) ([]byte, error) {
			if err != nil {
				return nil, fmt.Errorf("read: %w", err)
			}
			return msg, nil
		})}, `behind the last message: ReadMessage returned the error "read: EOF"; want io.EOF ` +
			"itself"},
		{"ends inside a message", wrong{read: changing(func(msg []byte, err error) ([]byte, error) {
			if err == io.ErrUnexpectedEOF {
				return nil, io.EOF
			}
			return msg, err
		})}, "the stream ends after 1 of 135 bytes that were written for a message of 130 bytes: " +
			"ReadMessage returned io.EOF; want io.ErrUnexpectedEOF"},
		{"a part is a message", wrong{read: changing(func(msg []byte, err error) ([]byte, error) {
			if err == io.ErrUnexpectedEOF {
				return []byte("part"), nil
			}
			return msg, err
		})}, "ReadMessage returned a message of 4 bytes; want io.ErrUnexpectedEOF"},
		{"drops what came", wrong{write: writeLength, read: readLength},
			"each second read fails, as after a deadline: "},
		{"keeps an error", wrong{read: func(r io.Reader) framers.Reader {
			own := netstring{}.NewReader(r)
			var failed error
			return readFunc(func() (msg []byte, err error) {
				if failed == nil {
					msg, failed = own.ReadMessage()
				}
				return msg, failed
			})
		}}, "the error of an earlier read, without a new read"},
		{"one read a message", wrong{write: writeLine, read: func(r io.Reader) framers.Reader {
			buf := make([]byte, 1<<20)
			return readFunc(func() ([]byte, error) {
				n, err := r.Read(buf)
				return bytes.TrimSuffix(buf[:n], []byte("\n")), err
			})
		}}, `the stream came "whole": message of 1 bytes`},
		{"reads on", wrong{read: func(r io.Reader) framers.Reader {
			ahead := bufio.NewReaderSize(r, 128<<10)
			own := netstring{}.NewReader(ahead)
			return readFunc(func() ([]byte, error) {
				msg, err := own.ReadMessage()
				if err != nil {
					return nil, err
				}
				_, _ = ahead.Peek(1) // to skip a second terminator, say
				return msg, nil
			})
		}}, "ReadMessage reads on although all of the message came"},
		{"carries a newline", wrong{write: writeLine, read: readLines},
			`message of 1 bytes ("\n"): ReadMessage returned a message of 0 bytes; want the ` +
				"message"},
		{"refuses too late", wrong{write: func(w io.Writer, msg []byte) error {
			if len(msg) == 0 {
				w.Write([]byte("0:"))
				return &framers.PayloadError{Err: framers.ErrEmpty}
			}
			return netstring{}.NewWriter(w).WriteMessage(msg)
		}}, "but had written 2 bytes; want none"},
		{"refuses by an error of its own", wrong{write: func(w io.Writer, msg []byte) error {
			if len(msg) == 0 {
				return io.ErrShortBuffer
			}
			return netstring{}.NewWriter(w).WriteMessage(msg)
		}}, `message of 0 bytes: WriteMessage returned the error "short buffer"; want no error, ` +
			"or a " +
			`*framers.PayloadError if the framing cannot carry the message`},
		{"refuses everything", wrong{write: func(io.Writer, []byte) error {
			return &framers.PayloadError{Err: framers.ErrLength}
		}}, "WriteMessage refused every message"},
		{"appends to the message", wrong{write: func(w io.Writer, msg []byte) error {
			_, err := w.Write(append(msg, '\n'))
			return err
		}, read: readLines}, "WriteMessage changed the message or the memory behind it"},
		{"sends later", wrong{write: func(w io.Writer, msg []byte) error {
			batch = append(batch, msg...)
			return nil
		}}, "WriteMessage wrote nothing; want all of the message written when it returns"},
		{"goes on after half a frame", wrong{write: func(w io.Writer, msg []byte) error {
			return netstring{}.NewWriter(w).WriteMessage(msg) // forgets that a write failed
		}}, "a write fails after 1 of 24 bytes of a frame: the next WriteMessage returned no " +
			"error"},
		{"drops the error of a write", wrong{write: func(w io.Writer, msg []byte) error {
			netstring{}.NewWriter(w).WriteMessage(msg)
			return nil
		}}, "WriteMessage returned no error; want the error of the write"},
		{"shares memory", wrong{read: changing(func(msg []byte, err error) ([]byte, error) {
			return shared[:copy(shared, msg)], err
		})}, "a message changed when another Reader read; keep nothing of a stream in the Framing"},
		{"panics inside a message", wrong{read: changing(
			func(msg []byte, err error) ([]byte, error) {
				if err == io.ErrUnexpectedEOF {
					panic("half a length")
				}
				return msg, err
			})}, "the stream ends after 1 of 135 bytes that were written for a message of 130 " +
			`bytes: ReadMessage returned the error "it panicked: half a length"`},
		{"panics when it writes", wrong{write: func(io.Writer, []byte) error {
			panic("no room")
		}}, "netstring: messages in pieces: it panicked: no room"},
	} {
		seen := &spy{}
		framerstest.Check(seen, c.f)
		all := strings.Join(seen.failures, "\n")
		if !strings.Contains(all, c.want) {
			t.Errorf("%s: got\n%s\nwant %s", c.name, all, c.want)
		}
	}
}

// A Reader that hangs does not hang the test.
func TestAReaderThatHangs(t *testing.T) {
	defer framerstest.SetPatience(framerstest.SetPatience(time.Second))
	hangs := wrong{read: func(r io.Reader) framers.Reader {
		own := netstring{}.NewReader(r)
		return readFunc(func() ([]byte, error) {
			msg, err := own.ReadMessage()
			if err == io.ErrUnexpectedEOF {
				select {}
			}
			return msg, err
		})
	}}
	seen := &spy{}
	framerstest.Check(seen, hangs)
	const want = "a stream that ends early: not over after 1s: ReadMessage hangs, or "
	if all := strings.Join(seen.failures, "\n"); !strings.Contains(all, want) {
		t.Errorf("got %q", all)
	}
}

// A Reader that takes ever longer does not hang the test, although each message comes.
func TestAReaderThatCopiesWhatCameAtEachRead(t *testing.T) {
	defer framerstest.SetPatience(framerstest.SetPatience(time.Second))
	var isOver atomic.Bool
	defer isOver.Store(true)
	slow := wrong{read: func(r io.Reader) framers.Reader {
		var came []byte
		return netstring{}.NewReader(readerFunc(func(b []byte) (int, error) {
			n, err := r.Read(b)
			came = append(came, b[:n]...)
			for range 1000 {
				if isOver.Load() {
					return n, errors.New("the test is over")
				}
				came = bytes.Clone(came)
			}
			return n, err
		}))
	}}
	seen := &spy{}
	framerstest.Check(seen, slow)
	all := strings.Join(seen.failures, "\n")
	if !strings.Contains(all, "messages in pieces: not over after 1s") {
		t.Errorf("got %q", all)
	}
}

type readerFunc func(b []byte) (int, error)

func (read readerFunc) Read(b []byte) (int, error) { return read(b) }

// A framing without a name cannot be registered or chosen.
type nameless struct{ netstring }

func (nameless) String() string { return "" }

func TestAFramingWithoutAName(t *testing.T) {
	seen := &spy{}
	framerstest.Check(seen, nameless{})
	if len(seen.failures) != 1 || !strings.Contains(seen.failures[0], "String returned nothing") {
		t.Errorf("got %q", seen.failures)
	}
}

func mustParse(t *testing.T, spec string) framers.Framing {
	t.Helper()
	f, err := framers.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
