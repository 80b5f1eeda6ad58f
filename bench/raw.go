package bench

import (
	"fmt"
	"io"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
)

// A rawWriter sends messages as they are, in writes of at most writeSize bytes if that is not 0.
type rawWriter struct {
	out       io.Writer
	writeSize int
}

func (w rawWriter) WriteMessage(msg []byte) error {
	for w.writeSize > 0 && len(msg) > w.writeSize {
		n, err := w.out.Write(msg[:w.writeSize])
		if err != nil {
			return err
		}
		msg = msg[n:]
	}
	_, err := w.out.Write(msg)
	return err
}

// A rawReader cuts a stream of bytes into messages, whose sizes it knows from its source.
type rawReader struct {
	in     io.Reader
	source *payload.Source
	buf    []byte
	next   int64 // the number of the next message
}

func (r *rawReader) ReadMessage() ([]byte, error) {
	msg := r.buf[:r.source.Size(r.next)]
	r.next++
	_, err := io.ReadFull(r.in, msg)
	return msg, err
}

// unframed returns the function that sends or receives messages in the framing "raw" while the
// clock runs. Like a simple C program, that function only counts bytes.
func (e *endpoint) unframed() func(from, n int64) error {
	if e.Role == sender {
		if e.Cell.Transfer != "" {
			return e.vmsplice
		}
		return e.writeRaw
	}
	// Ask for as many bytes as a framing's reader does. With smaller reads, "raw" might seem
	// slower.
	readSize := max(e.source.Largest(), framers.DefaultReadBuffer)
	if e.Cell.ReadBuffer > 0 && e.Role == receiver {
		readSize = e.Cell.ReadBuffer
	}
	e.buf = resident(payload.Aligned(readSize, e.readOffset))
	switch e.Role {
	case receiver:
		return e.readRaw
	case client:
		return e.requestRaw
	}
	return e.respondRaw
}

func (e *endpoint) writeRaw(from, n int64) error {
	inPieces := rawWriter{e.out, e.Cell.WriteSize}
	for i := from; i < from+n; i++ {
		var err error
		if e.Cell.WriteSize > 0 {
			err = inPieces.WriteMessage(e.source.Body(i))
		} else { // through as few functions as possible
			_, err = e.out.WriteUnguarded(e.source.Body(i))
		}
		if err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
	}
	return nil
}

// vmsplice gives the pipe the memory pages of n messages instead of copies. The pages must never
// change afterwards.
func (e *endpoint) vmsplice(from, n int64) error {
	for i := from; i < from+n; i++ {
		if _, err := e.out.Vmsplice(e.source.Body(i)); err != nil {
			return fmt.Errorf("vmsplice message %d: %w", i, err)
		}
	}
	return nil
}

// readRaw reads the bytes of n messages, and takes no notice of where a message ends.
func (e *endpoint) readRaw(from, n int64) error {
	buf := e.buf
	left := e.source.Bytes(from, n)
	for left > 0 {
		got, err := e.in.ReadUnguarded(buf[:min(int64(len(buf)), left)])
		if err != nil {
			return fmt.Errorf("receive, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
		e.touch(buf[:got])
		e.spend(got)
		e.pace.wait(got)
	}
	return nil
}

// requestRaw makes n round trips without a framing. Its loop does as little as possible, because a
// trip takes only 2 µs.
func (e *endpoint) requestRaw(from, n int64) error {
	last := syspipe.Now()
	for i := from; i < from+n; i++ {
		body := e.source.Body(i)
		if err := e.writeAll(body); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
		if err := e.readFull(e.buf[:len(body)]); err != nil {
			return fmt.Errorf("receive the answer to message %d: %w", i, err)
		}
		now := syspipe.Now()
		e.trips = append(e.trips, int64(now-last))
		last = now
	}
	return nil
}

func (e *endpoint) respondRaw(from, n int64) error {
	for i := from; i < from+n; i++ {
		msg := e.buf[:e.source.Size(i)]
		if err := e.readFull(msg); err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		e.touch(msg)
		e.spend(len(msg))
		if err := e.writeAll(msg); err != nil {
			return fmt.Errorf("answer message %d: %w", i, err)
		}
	}
	return nil
}

// writeAll writes a message through as few functions as possible.
func (e *endpoint) writeAll(msg []byte) error {
	if e.Cell.WriteSize > 0 {
		return rawWriter{e.out, e.Cell.WriteSize}.WriteMessage(msg)
	}
	_, err := e.out.WriteUnguarded(msg)
	return err
}

// readFull fills p through as few functions as possible.
func (e *endpoint) readFull(p []byte) error {
	for len(p) > 0 {
		n, err := e.in.ReadUnguarded(p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
