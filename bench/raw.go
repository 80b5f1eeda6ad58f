package bench

import (
	"fmt"
	"io"

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

func (r *rawReader) ReadMessage() ([]byte, error) {
	msg := r.buf[:r.source.Size(r.next)]
	r.next++
	_, err := io.ReadFull(r.in, msg)
	return msg, err
}

// unframed returns what the endpoint's role does in a raw cell while the clock runs: what a C
// program would do, and no more. Bytes are counted, and nobody looks at the messages' numbers, so
// they have none.
func (e *endpoint) unframed() func(from, n int64) error {
	switch {
	case e.Role == sender && e.Cell.Transfer != "":
		return e.vmsplice
	case e.Role == sender:
		return e.writeRaw
	case e.Role == receiver && e.Cell.Transfer == string(syspipe.Splice):
		return e.discard
	}
	// A raw end asks for as much in one read as a framing's reader would, so that no framing beats raw
	// by larger reads alone. A cell that is held against a C program says otherwise.
	atOnce := max(e.source.Largest(), framers.DefaultReadBuffer)
	if e.Cell.ReadBuffer > 0 && e.Role == receiver {
		atOnce = e.Cell.ReadBuffer
	}
	e.buf = resident(make([]byte, atOnce))
	return map[role]func(from, n int64) error{receiver: e.readRaw, client: e.requestRaw, server: e.respondRaw}[e.Role]
}

// writeRaw writes n messages.
func (e *endpoint) writeRaw(from, n int64) error {
	for i := from; i < from+n; i++ {
		if _, err := e.out.Write(e.source.Body(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
	}
	return nil
}

// vmsplice gives the pipe the pages of n messages instead of their bytes. They do not change, so
// the reader may take its time.
func (e *endpoint) vmsplice(from, n int64) error {
	for i := from; i < from+n; i++ {
		if _, err := e.out.Vmsplice(e.source.Body(i)); err != nil {
			return fmt.Errorf("vmsplice message %d: %w", i, err)
		}
	}
	return nil
}

// discard drops the bytes of n messages, which nobody reads.
func (e *endpoint) discard(from, n int64) error {
	for left := e.source.Bytes(from, n); left > 0; {
		got, err := e.in.Discard(int(min(left, discardAtOnce)))
		if err != nil {
			return fmt.Errorf("discard, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
	}
	return nil
}

// discardAtOnce is how many bytes are dropped in one call at most: more than any pipe holds.
const discardAtOnce = 1 << 20

// readRaw takes the bytes of n messages as they come.
func (e *endpoint) readRaw(from, n int64) error {
	buf, left := e.buf, e.source.Bytes(from, n)
	for left > 0 {
		got, err := e.in.Read(buf[:min(int64(len(buf)), left)])
		if err != nil {
			return fmt.Errorf("receive, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
		e.pace.wait(got)
	}
	return nil
}

// requestRaw makes the round trips of a raw cell, by the shortest way to the system calls where
// there is one. Where all messages are alike the body is looked up once: in a trip of 2 µs
// everything beside the four calls shows.
func (e *endpoint) requestRaw(from, n int64) error {
	out, direct := e.out.Direct()
	in, _ := e.in.Direct()
	defer e.countDirect(&out, &in)
	timed, alike := e.timesTrips(), e.source.Distinct() == 1
	body := e.source.Body(from)
	last := syspipe.Now()
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
		answer := e.buf[:len(body)]
		if moved = -1; direct {
			moved = in.Read(answer)
		}
		if moved == len(answer) {
			in.Count(moved)
		} else if err := e.in.ReadRest(answer, moved); err != nil {
			return fmt.Errorf("receive the answer to message %d: %w", i, err)
		}
		if timed {
			now := syspipe.Now()
			e.trips = append(e.trips, int64(now-last))
			last = now
		}
	}
	return nil
}

func (e *endpoint) respondRaw(from, n int64) error {
	out, direct := e.out.Direct()
	in, _ := e.in.Direct()
	defer e.countDirect(&out, &in)
	msg, alike := e.buf[:e.source.Size(from)], e.source.Distinct() == 1
	for i := from; i < from+n; i++ {
		if !alike {
			msg = e.buf[:e.source.Size(i)]
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

// countDirect accounts for the calls of a round trip's direct ways.
func (e *endpoint) countDirect(out, in *syspipe.Direct) {
	e.out.AddWrites(out)
	e.in.AddReads(in)
}
