package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// exchanger returns what the endpoint's role does with the messages, and makes what that takes. In
// a raw cell they are told apart by their known sizes, and that only where they are compared.
func (e *endpoint) exchanger() func(from, n int64) error {
	if !e.checks() {
		return e.unframed()
	}
	if e.out != nil {
		e.w = e.writer()
	}
	switch {
	case e.in != nil && e.raw:
		buf := resident(payload.Aligned(e.source.Largest(), e.readOffset))
		e.r = &rawReader{in: e.input(), source: e.source, buf: buf}
	case e.in != nil:
		e.r = e.framing.NewReader(e.input(), e.options()...)
	}
	return map[role]func(from, n int64) error{sender: e.send, receiver: e.receive, client: e.request, server: e.respond}[e.Role]
}

// maxFrameOverhead is more than any framing adds to a message that it keeps whole, in bytes: a
// batch is to leave when it is full of messages, not of bytes.
const maxFrameOverhead = 128

func (e *endpoint) writer() framers.Writer {
	var out io.Writer = bareEnd{e.out}
	if e.Cell.Batch > 1 {
		e.batch = framers.NewCoalescer(out, e.Cell.Batch*(e.source.Largest()+maxFrameOverhead))
		out = e.batch
	}
	if e.raw {
		return rawWriter{out, e.Cell.WriteSize}
	}
	if e.Cell.Pattern == PatternMixed {
		opts := append(e.options(), framers.WithQueue(maxLoadMessages))
		e.mixed.mux = framers.NewMux(out, e.framing, opts...)
		return muxWriter{e.mixed.mux}
	}
	return e.framing.NewWriter(out, e.options()...)
}

// options returns what a framing needs to know of the cell.
func (e *endpoint) options() []framers.Option {
	opts := []framers.Option{
		framers.WithMaxMessage(max(e.source.Largest(), framers.DefaultMaxMessage)),
		framers.WithReadOffset(e.readOffset),
		framers.WithWriteSize(e.Cell.WriteSize),
	}
	if e.Cell.ReadBuffer > 0 {
		opts = append(opts, framers.WithReadBuffer(e.Cell.ReadBuffer))
	}
	return opts
}

func (e *endpoint) send(from, n int64) error {
	for i := from; i < from+n; i++ {
		if err := e.w.WriteMessage(e.source.Message(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
		if e.batch != nil && (i+1-from)%int64(e.Cell.Batch) == 0 {
			if err := e.batch.Flush(); err != nil {
				return fmt.Errorf("send the batch up to message %d: %w", i, err)
			}
		}
	}
	if e.batch != nil {
		return e.batch.Flush()
	}
	return nil
}

// receive takes messages, and where they are those of a load notes when each was there.
func (e *endpoint) receive(from, n int64) error {
	check, l := e.checker(), e.load
	for i := from; i < from+n; i++ {
		msg, err := e.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		if l != nil {
			l.received[i-from] = e.clock.Now()
		}
		if err := check(i, msg); err != nil {
			return err
		}
		e.touch(msg)
		if l != nil {
			l.deliver(i - from)
		}
		e.pace.wait(len(msg))
	}
	return nil
}

// request times each trip from the end of the one before, by one reading of the clock: what a trip
// costs is in it, and none falls between two.
func (e *endpoint) request(from, n int64) error {
	check := e.checker()
	last := syspipe.Now()
	for i := from; i < from+n; i++ {
		if err := e.w.WriteMessage(e.source.Message(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
		msg, err := e.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive the answer to message %d: %w", i, err)
		}
		if err := check(i, msg); err != nil {
			return err
		}
		now := syspipe.Now()
		e.trips = append(e.trips, int64(now-last))
		last = now
	}
	return nil
}

func (e *endpoint) respond(from, n int64) error {
	check := e.checker()
	for i := from; i < from+n; i++ {
		msg, err := e.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		if err := check(i, msg); err != nil {
			return err
		}
		e.touch(msg)
		if err := e.w.WriteMessage(msg); err != nil {
			return fmt.Errorf("answer message %d: %w", i, err)
		}
	}
	return nil
}

// A reader that leaves takes nothing for a while before it closes its end, as a program that hangs
// before it dies: until its writer has filled the pipe, of which nothing came for leavePause, or
// for so many of them at most.
const (
	leavePause  = 500 * time.Microsecond
	leavePauses = 2000
)

// countSIGPIPE counts the signals of this worker.
var countSIGPIPE = sync.OnceValue(syspipe.CountSIGPIPE)

// part does an endpoint's half of a departure, after the messages that the reader takes.
func (e *endpoint) part() error {
	if e.Role.isOrigin() {
		return e.writeUntilTold()
	}
	last := 0 // bytes in the pipe
	for range leavePauses {
		time.Sleep(leavePause)
		n, err := e.in.Buffered()
		if err != nil || n > 0 && n == last {
			break // one that cannot be told is taken for full
		}
		last = n
	}
	e.report.ClosedAt = e.clock.Now()
	return e.in.Close()
}

// writeUntilTold goes on with messages until the kernel says that the reader has left.
func (e *endpoint) writeUntilTold() (err error) {
	signals, taken := countSIGPIPE(), e.out.Counters().Bytes
	signals() // forgets those of the departure before
	for i := e.Warmup + e.Messages; err == nil; i++ {
		err = e.exchange(i, 1)
	}
	e.report.ClosedAt = e.clock.Now()
	if !errors.Is(err, syscall.EPIPE) {
		return err
	}
	e.report.Left = &results.Left{
		LostBytes: int64(e.out.Counters().Bytes - taken),
		Error:     syspipe.ErrorName(err),
		Signals:   signals(),
	}
	return e.out.Close()
}

// checks reports whether this end looks at the messages it receives: all but a plain raw cell's.
func (e *endpoint) checks() bool { return !e.raw || e.Compare || e.isLoad() }

// checker returns how a received message is looked at: by its number and length while the clock
// runs, byte for byte in the untimed sample.
func (e *endpoint) checker() func(i int64, msg []byte) error {
	if e.Compare {
		return e.source.Compare
	}
	return e.source.Check
}

// resident returns a buffer whose pages are made so before the clock starts.
func resident[T any](s []T) []T {
	clear(s[:cap(s)])
	return s
}

// A Pace holds a reader to a number of bytes a second, from its first bytes on. The zero Pace holds
// nothing up. It belongs to one goroutine.
type Pace struct {
	PerSecond int64 // bytes
	Next      int64 // when the reader is done with what it took, by the clock of Take; 0 before the first
}

// catchUp is how far a reader may lag behind its pace and still make up for it: what a sleep is late,
// not what the pipe was empty.
const catchUp = time.Millisecond

// Take counts n bytes that were taken at a moment, in nanoseconds of any clock, and returns Next.
func (p *Pace) Take(n int, now int64) int64 {
	p.Next = max(cmp.Or(p.Next, now), now-int64(catchUp)) + int64(n)*1e9/p.PerSecond
	return p.Next
}

// wait waits until a reader of that pace would be done with n more bytes.
func (p *Pace) wait(n int) {
	if p.PerSecond > 0 { // apart, so that what costs nothing is inlined
		p.sleep(n)
	}
}

func (p *Pace) sleep(n int) {
	now := int64(syspipe.Now())
	time.Sleep(time.Duration(p.Take(n, now) - now))
}

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
	}
	// A raw end asks for as much in one read as a framing's reader would, so that no framing beats raw
	// by larger reads alone. A cell that is held against a C program says otherwise.
	atOnce := max(e.source.Largest(), framers.DefaultReadBuffer)
	if e.Cell.ReadBuffer > 0 && e.Role == receiver {
		atOnce = e.Cell.ReadBuffer
	}
	e.buf = resident(payload.Aligned(atOnce, e.readOffset))
	return map[role]func(from, n int64) error{receiver: e.readRaw, client: e.requestRaw, server: e.respondRaw}[e.Role]
}

// writeRaw writes n messages.
func (e *endpoint) writeRaw(from, n int64) error {
	if e.Cell.WriteSize > 0 {
		return e.writeRawPieces(from, n)
	}
	for i := from; i < from+n; i++ {
		if _, err := e.out.WriteUnguarded(e.source.Body(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
	}
	return nil
}

// writeRawPieces writes n messages in writes of a bounded size.
func (e *endpoint) writeRawPieces(from, n int64) error {
	w := rawWriter{e.out, e.Cell.WriteSize}
	for i := from; i < from+n; i++ {
		if err := w.WriteMessage(e.source.Body(i)); err != nil {
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

// readRaw takes the bytes of n messages as they come.
func (e *endpoint) readRaw(from, n int64) error {
	buf, left := e.buf, e.source.Bytes(from, n)
	for left > 0 {
		got, err := e.in.ReadUnguarded(buf[:min(int64(len(buf)), left)])
		if err != nil {
			return fmt.Errorf("receive, with %d bytes to come: %w", left, err)
		}
		left -= int64(got)
		e.touch(buf[:got])
		e.work.spend(got)
		e.pace.wait(got)
	}
	return nil
}

// requestRaw makes the round trips of a raw cell. Where all messages are alike the body is looked
// up once: in a trip of 2 µs everything beside the four calls shows.
func (e *endpoint) requestRaw(from, n int64) error {
	alike := e.source.IsOne()
	body := e.source.Body(from)
	last := syspipe.Now()
	for i := from; i < from+n; i++ {
		if !alike {
			body = e.source.Body(i)
		}
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
	msg, alike := e.buf[:e.source.Size(from)], e.source.Distinct() == 1
	for i := from; i < from+n; i++ {
		if !alike {
			msg = e.buf[:e.source.Size(i)]
		}
		if err := e.readFull(msg); err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		e.touch(msg)
		e.work.spend(len(msg))
		if err := e.writeAll(msg); err != nil {
			return fmt.Errorf("answer message %d: %w", i, err)
		}
	}
	return nil
}

// writeAll writes a message in as few layers as can be.
func (e *endpoint) writeAll(msg []byte) error {
	if e.Cell.WriteSize > 0 {
		return rawWriter{e.out, e.Cell.WriteSize}.WriteMessage(msg)
	}
	_, err := e.out.WriteUnguarded(msg)
	return err
}

// readFull fills p, in as few layers as can be.
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
