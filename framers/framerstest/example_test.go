package framerstest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/framerstest"
)

// A netstring is a framing of one's own: "5:hello,".
type netstring struct{}

func (netstring) String() string { return "netstring" }

func (netstring) NewWriter(w io.Writer, _ ...framers.Option) framers.Writer {
	return &netstringWriter{w: w}
}

func (netstring) NewReader(r io.Reader, _ ...framers.Option) framers.Reader {
	return &netstringReader{r: r, chunk: make([]byte, 64<<10)}
}

type netstringWriter struct {
	w      io.Writer
	frame  []byte
	broken error // part of a frame was written
}

func (w *netstringWriter) WriteMessage(msg []byte) error {
	if w.broken != nil {
		return w.broken
	}
	w.frame = fmt.Appendf(w.frame[:0], "%d:%s,", len(msg), msg)
	n, err := w.w.Write(w.frame)
	if err != nil && n > 0 {
		w.broken = err
	}
	return err
}

type netstringReader struct {
	r     io.Reader
	chunk []byte // for one read
	came  []byte // what was read: the frame of the last message, and what came behind it
	used  int    // bytes of that frame
}

// ReadMessage keeps what came, so that after a failed read the next call goes on.
func (r *netstringReader) ReadMessage() ([]byte, error) {
	r.came = r.came[r.used:]
	r.used = 0
	for {
		digits, rest, colon := bytes.Cut(r.came, []byte(":"))
		if colon {
			length, err := strconv.ParseUint(string(digits), 10, 24)
			if err != nil {
				return nil, err
			}
			if len(rest) > int(length) {
				if rest[length] != ',' {
					return nil, errors.New("no comma behind the message")
				}
				r.used = len(digits) + 1 + int(length) + 1
				return rest[:length], nil
			}
		}
		n, err := r.r.Read(r.chunk)
		r.came = append(r.came, r.chunk[:n]...)
		if n > 0 {
			continue // an error comes again
		}
		if err == io.EOF && len(r.came) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
}

var t *testing.T

// The test of a package that has a framing of its own.
func Example() {
	// in func TestNetstring(t *testing.T):
	framerstest.Check(t, netstring{})
}
