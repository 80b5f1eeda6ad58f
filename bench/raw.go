package bench

import (
	"fmt"
	"io"

	"github.com/pipebench/pipebench/bench/payload"
)

// A rawWriter sends messages as they are.
type rawWriter struct{ out io.Writer }

func (w rawWriter) WriteMessage(msg []byte) error {
	_, err := w.out.Write(msg)
	return err
}

// A rawReader cuts the stream by what it knows of the messages: their sizes.
type rawReader struct {
	in     io.Reader
	source *payload.Source
	buf    []byte
	next   int64
}

func newRawReader(in io.Reader, source *payload.Source) *rawReader {
	r := &rawReader{in: in, source: source, buf: make([]byte, source.Largest())}
	touch(r.buf)
	return r
}

func (r *rawReader) ReadMessage() ([]byte, error) {
	msg := r.buf[:r.source.Size(r.next)]
	r.next++
	_, err := io.ReadFull(r.in, msg)
	return msg, err
}

// drain takes the bytes of n messages as they come, up to a message a call,
// and counts them: what the C yardstick does, and the floor of every stream.
func (e *end) drain(buf []byte, from, n int64) error {
	left := e.source.Bytes(from, n)
	for left > 0 {
		got, err := e.in.Read(buf[:min(int64(len(buf)), left)])
		if err != nil {
			return fmt.Errorf("receive, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
	}
	return nil
}
