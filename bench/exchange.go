package bench

import (
	"bufio"
	"fmt"
	"io"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// exchanger returns the function with which this endpoint sends or receives messages. Before that,
// it makes the reader, writer or buffer that the function uses.
func (e *endpoint) exchanger() func(from, n int64) error {
	if !e.checks() {
		return e.unframed()
	}
	if e.out != nil {
		e.w = e.writer()
	}
	switch {
	case e.in != nil && e.raw: // messages are told apart by their known sizes
		buf := resident(payload.Aligned(e.source.Largest(), e.readOffset))
		e.r = &rawReader{in: e.input(), source: e.source, buf: buf}
	case e.in != nil:
		e.r = e.framing.NewReader(e.input(), e.options()...)
	}
	switch e.Role {
	case sender:
		return e.send
	case receiver:
		return e.receive
	case client:
		return e.request
	}
	return e.respond
}

// maxFrameOverhead is the most bytes that a framing may add to a message. If the buffer had less
// room for them, a batch of messages would be sent too early.
const maxFrameOverhead = 128

func (e *endpoint) writer() framers.Writer {
	var out io.Writer = bareEnd{e.out}
	if e.Cell.Batch > 1 {
		e.batch = bufio.NewWriterSize(out, e.Cell.Batch*(e.source.Largest()+maxFrameOverhead))
		out = e.batch
	}
	if e.raw {
		return rawWriter{out, e.Cell.WriteSize}
	}
	if e.Cell.Pattern == PatternMixed {
		opts := append(e.options(), framers.WithQueue(maxLoadMessages))
		if wait, err := results.ParseFrameWait(e.Cell.FrameWait); err == nil {
			opts = append(opts, framers.WithWait(wait))
		}
		e.mixed.mux = framers.NewMux(out, e.framing, opts...)
		return muxWriter{e.mixed.mux}
	}
	return e.framing.NewWriter(out, e.options()...)
}

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

// receive receives n messages. If e.load is set, receive notes there when each message arrived.
func (e *endpoint) receive(from, n int64) error {
	check := e.checker()
	l := e.load
	for i := from; i < from+n; i++ {
		msg, err := e.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		if l != nil {
			l.received[i-from] = e.clock.now()
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

// request makes n round trips. A trip is timed from the end of the previous one, so the clock is
// read only once per trip.
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

// checks reports whether this end looks at the messages that it receives. With the framing "raw",
// an end usually only counts bytes.
func (e *endpoint) checks() bool { return !e.raw || e.Compare || e.isLoad() }

// checker returns the function that checks a received message. In the untimed job, that function
// compares every byte. Otherwise it checks only the number and the length of the message.
func (e *endpoint) checker() func(i int64, msg []byte) error {
	if e.Compare {
		return e.source.Compare
	}
	return e.source.Check
}

// resident clears all of s, so that the kernel allocates its memory now and not while the clock
// runs.
func resident[T any](s []T) []T {
	clear(s[:cap(s)])
	return s
}
