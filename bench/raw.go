package bench

import (
	"fmt"
	"io"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
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

// unframed is what the part's role does in a raw cell while the clock runs:
// what a C program would do, and no more. Bytes are counted, and nobody looks
// at the messages' numbers, so they have none.
func (e *end) unframed() func(from, n int64) error {
	if e.Role == sender {
		if e.Cell.Transfer != "" {
			return e.lend
		}
		return e.pour
	}
	buf := make([]byte, e.readBuffer())
	touch(buf)
	switch e.Role {
	case receiver:
		if e.Cell.Transfer == string(syspipe.Splice) {
			return e.discard
		}
		return func(from, n int64) error { return e.absorb(buf, from, n) }
	case asker:
		return func(from, n int64) error { return e.askRaw(buf, from, n) }
	default:
		return func(from, n int64) error { return e.answerRaw(buf, from, n) }
	}
}

// readBuffer is how much a raw end asks for in one read: as much as a framing's
// reader would, so that no framing beats raw by larger reads alone. A cell that
// is held against a C program says otherwise.
func (e *end) readBuffer() int {
	if e.Cell.ReadBuffer > 0 && e.Role == receiver {
		return e.Cell.ReadBuffer
	}
	return max(e.source.Largest(), framers.DefaultReadBuffer)
}

// pour writes n messages.
func (e *end) pour(from, n int64) error {
	for i := from; i < from+n; i++ {
		if _, err := e.out.Write(e.source.Body(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
	}
	return nil
}

// lend gives the pipe the pages of n messages instead of their bytes. They do
// not change, so the reader may take its time.
func (e *end) lend(from, n int64) error {
	for i := from; i < from+n; i++ {
		if _, err := e.out.Vmsplice(e.source.Body(i)); err != nil {
			return fmt.Errorf("lend message %d: %w", i, err)
		}
	}
	return nil
}

// discard drops the bytes of n messages, which nobody reads.
func (e *end) discard(from, n int64) error {
	for left := e.source.Bytes(from, n); left > 0; {
		got, err := e.in.Discard(int(min(left, discarded)))
		if err != nil {
			return fmt.Errorf("discard, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
	}
	return nil
}

// discarded is how many bytes are dropped in one call at most: more than any
// pipe holds.
const discarded = 1 << 20

// absorb takes the bytes of n messages as they come.
func (e *end) absorb(buf []byte, from, n int64) error {
	left, slow := e.source.Bytes(from, n), newDrain(e.Cell.Drain)
	for left > 0 {
		got, err := e.in.Read(buf[:min(int64(len(buf)), left)])
		if err != nil {
			return fmt.Errorf("receive, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
		slow.took(got)
	}
	return nil
}

// askRaw makes the round trips of a raw cell, by the shortest way to the system
// calls where there is one. Where all messages are alike the body is looked up
// once: in a trip of 2 µs everything beside the four calls shows.
func (e *end) askRaw(buf []byte, from, n int64) error {
	out, direct := e.out.Direct()
	in, _ := e.in.Direct()
	defer e.settleDirect(&out, &in)
	timed, base, alike := e.timesTrips(), time.Now(), e.source.Distinct() == 1
	var last time.Duration
	body := e.source.Body(from)
	for i := from; i < from+n; i++ {
		if !alike {
			body = e.source.Body(i)
		}
		moved := -1
		if direct {
			moved = out.Write(body)
		}
		if moved == len(body) {
			out.Count(moved)
		} else if err := e.out.WriteRest(body, moved); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
		answer := buf[:len(body)]
		if moved = -1; direct {
			moved = in.Read(answer)
		}
		if moved == len(answer) {
			in.Count(moved)
		} else if err := e.in.ReadRest(answer, moved); err != nil {
			return fmt.Errorf("receive the answer to message %d: %w", i, err)
		}
		if timed {
			now := time.Since(base)
			e.trips = append(e.trips, int64(now-last))
			last = now
		}
	}
	return nil
}

func (e *end) answerRaw(buf []byte, from, n int64) error {
	out, direct := e.out.Direct()
	in, _ := e.in.Direct()
	defer e.settleDirect(&out, &in)
	msg, alike := buf[:e.source.Size(from)], e.source.Distinct() == 1
	for i := from; i < from+n; i++ {
		if !alike {
			msg = buf[:e.source.Size(i)]
		}
		moved := -1
		if direct {
			moved = in.Read(msg)
		}
		if moved == len(msg) {
			in.Count(moved)
		} else if err := e.in.ReadRest(msg, moved); err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		if moved = -1; direct {
			moved = out.Write(msg)
		}
		if moved == len(msg) {
			out.Count(moved)
		} else if err := e.out.WriteRest(msg, moved); err != nil {
			return fmt.Errorf("answer message %d: %w", i, err)
		}
	}
	return nil
}

// settleDirect accounts for the calls of a round trip's direct ways.
func (e *end) settleDirect(out, in *syspipe.Direct) {
	e.out.SettleWrites(out)
	e.in.SettleReads(in)
}
