package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

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
		e.r = &rawReader{in: e.in, source: e.source, buf: resident(make([]byte, e.source.Largest()))}
	case e.in != nil:
		e.r = e.framing.NewReader(e.in, e.options()...)
	}
	return map[role]func(from, n int64) error{sender: e.send, receiver: e.receive, client: e.request, server: e.respond}[e.Role]
}

// maxFrameOverhead is more than any framing adds to a message that it keeps whole, in bytes: a
// batch is to leave when it is full of messages, not of bytes.
const maxFrameOverhead = 128

func (e *endpoint) writer() framers.Writer {
	var out io.Writer = e.out
	if e.Cell.Batch > 1 {
		e.batch = framers.NewCoalescer(e.out, e.Cell.Batch*(e.source.Largest()+maxFrameOverhead))
		out = e.batch
	}
	if e.raw {
		return rawWriter{out}
	}
	return e.framing.NewWriter(out, e.options()...)
}

// options returns what a framing needs to know of the cell.
func (e *endpoint) options() []framers.Option {
	opts := []framers.Option{framers.WithMaxMessage(max(e.source.Largest(), framers.DefaultMaxMessage))}
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
	check, timed := e.checker(), e.timesTrips()
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
		if timed {
			now := syspipe.Now()
			e.trips = append(e.trips, int64(now-last))
			last = now
		}
	}
	return nil
}

// timesTrips reports whether this end takes the time of each round trip.
func (e *endpoint) timesTrips() bool { return e.Role == client && e.Cell.Clock != clockPerSample }

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
	e.report.Departed = e.clock.Now()
	return e.in.Close()
}

// writeUntilTold goes on with messages until the kernel says that the reader has left.
func (e *endpoint) writeUntilTold() (err error) {
	signals, taken := countSIGPIPE(), e.out.Counters().Bytes
	signals() // forgets those of the departure before
	for i := e.Warmup + e.Messages; err == nil; i++ {
		err = e.exchange(i, 1)
	}
	e.report.Departed = e.clock.Now()
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
