package bench

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
)

// exchanger is what the part's role does with the messages. In a raw cell they
// are told apart by their known sizes, and that only where they are compared.
func (e *end) exchanger() func(from, n int64) error {
	if e.Role == asker {
		e.trips = make([]int64, max(e.Warmup, e.Messages))
		touch(e.trips)
	}
	if e.raw && !e.Compare {
		return e.unframed()
	}
	var w framers.Writer
	var r framers.Reader
	if e.out != nil {
		w = e.writer()
	}
	if e.in != nil {
		r = e.reader()
	}
	switch e.Role {
	case sender:
		return func(from, n int64) error { return e.send(w, from, n) }
	case receiver:
		return func(from, n int64) error { return e.receive(r, from, n) }
	case asker:
		return func(from, n int64) error { return e.ask(w, r, from, n) }
	default:
		return func(from, n int64) error { return e.answer(w, r, from, n) }
	}
}

func (e *end) writer() framers.Writer {
	if e.raw {
		return rawWriter{e.out}
	}
	return e.framing.NewWriter(e.out, e.options()...)
}

func (e *end) reader() framers.Reader {
	if e.raw {
		return newRawReader(e.in, e.source)
	}
	return e.framing.NewReader(e.in, e.options()...)
}

// options are what a framing needs to know of the cell.
func (e *end) options() []framers.Option {
	opts := []framers.Option{framers.WithMaxMessage(max(e.source.Largest(), framers.DefaultMaxMessage))}
	if e.Cell.ReadBuffer > 0 {
		opts = append(opts, framers.WithReadBuffer(e.Cell.ReadBuffer))
	}
	return opts
}

func (e *end) send(w framers.Writer, from, n int64) error {
	for i := from; i < from+n; i++ {
		if err := w.WriteMessage(e.source.Message(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
	}
	return nil
}

func (e *end) receive(r framers.Reader, from, n int64) error {
	check := e.checker()
	for i := from; i < from+n; i++ {
		msg, err := r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		if err := check(i, msg); err != nil {
			return err
		}
	}
	return nil
}

// ask times each trip from the end of the one before, by one reading of the
// clock: what a trip costs is in it, and none falls between two.
func (e *end) ask(w framers.Writer, r framers.Reader, from, n int64) error {
	check := e.checker()
	base := time.Now()
	var last time.Duration
	for i := from; i < from+n; i++ {
		if err := w.WriteMessage(e.source.Message(i)); err != nil {
			return fmt.Errorf("send message %d: %w", i, err)
		}
		msg, err := r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive the answer to message %d: %w", i, err)
		}
		if err := check(i, msg); err != nil {
			return err
		}
		now := time.Since(base)
		e.trips = append(e.trips, int64(now-last))
		last = now
	}
	return nil
}

func (e *end) answer(w framers.Writer, r framers.Reader, from, n int64) error {
	check := e.checker()
	for i := from; i < from+n; i++ {
		msg, err := r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive message %d: %w", i, err)
		}
		if err := check(i, msg); err != nil {
			return err
		}
		if err := w.WriteMessage(msg); err != nil {
			return fmt.Errorf("answer message %d: %w", i, err)
		}
	}
	return nil
}

// checker is how a received message is looked at: by its number and length
// while the clock runs, byte for byte in the untimed sample.
func (e *end) checker() func(i int64, msg []byte) error {
	if e.Compare {
		return e.source.Compare
	}
	return e.source.Check
}

// touch makes the pages of a buffer resident before the clock starts.
func touch[T any](s []T) { clear(s[:cap(s)]) }
