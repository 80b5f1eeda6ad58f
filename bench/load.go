package bench

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// loaded reports whether the cell's messages are sent by a load generator: at
// a rate (open loop), or with several on the way at once (closed loop).
func (e *end) loaded() bool {
	return !e.Compare && (e.Cell.Rate > 0 || e.Cell.Inflight > 1)
}

// A load is the account of one generated load: when each message was sent and
// received, on the shared clock.
type load struct {
	clock     *sharedClock
	pace      pace
	open      bool  // messages fall due; else they wait for a place
	deadline  int64 // of an open loop: nothing is sent after it
	mayspin   bool
	sent      []int64
	received  []int64
	delivered atomic.Int64 // how many of received are written
	total     atomic.Int64 // how many were sent, once that is known; -1 before
}

func (e *end) newLoad() (*load, error) {
	clock, err := newSharedClock()
	if err != nil {
		return nil, err
	}
	l := &load{
		clock:    clock,
		open:     e.Cell.Rate > 0,
		mayspin:  e.Cell.Placement != "same" && e.Cell.Placement != "free" && e.Role == sender,
		sent:     make([]int64, e.Messages),
		received: make([]int64, e.Messages),
	}
	l.total.Store(-1)
	touch(l.sent)
	touch(l.received)
	return l, nil
}

// begin chooses the moment that messages fall due from.
func (e *end) begin() (start int64) {
	if e.load == nil {
		return 0
	}
	start = e.load.clock.now()
	if e.load.open {
		start += int64(headStart)
	}
	e.join(start)
	return start
}

// join takes the moment that the ends agreed on. An open loop is given up at
// twice the time it should take.
func (e *end) join(start int64) {
	l := e.load
	if l == nil {
		return
	}
	if l.pace.start = start; l.open {
		l.pace.period = 1e9 / e.Cell.Rate
		l.deadline = start + 2*int64(float64(e.Messages)*l.pace.period) + int64(headStart)
	}
}

// generate sends the messages as they fall due, or as places become free, and
// says at last how many that were.
func (e *end) generate(places <-chan struct{}) error {
	l := e.load
	sharpenTimers()
	i := int64(0)
	for ; i < e.Messages; i++ {
		if l.open {
			l.clock.await(l.pace.due(i), l.mayspin)
		} else {
			<-places
		}
		now := l.clock.now()
		if l.open && now > l.deadline {
			break
		}
		l.sent[i] = now
		if err := e.w.WriteMessage(e.source.Message(e.Warmup + i)); err != nil {
			return fmt.Errorf("send message %d: %w", e.Warmup+i, err)
		}
	}
	l.total.Store(i)
	return nil
}

// collect receives messages until all are there, or there are no more.
func (e *end) collect(places chan<- struct{}) error {
	l, check, slow := e.load, e.checker(), newDrain(e.Cell.Drain)
	for i := range e.Messages {
		msg, err := e.r.ReadMessage()
		if l.open && errors.Is(err, io.EOF) {
			return nil // the rest was never sent
		}
		if err != nil {
			return fmt.Errorf("receive message %d: %w", e.Warmup+i, err)
		}
		l.received[i] = l.clock.now()
		if err := check(e.Warmup+i, msg); err != nil {
			return err
		}
		l.delivered.Store(i + 1)
		if places != nil {
			places <- struct{}{}
		}
		slow.took(len(msg))
	}
	return nil
}

// carry moves the messages of a loaded sample.
func (e *end) carry() error {
	switch e.Role {
	case sender:
		return e.generate(nil)
	case receiver:
		return e.collect(nil)
	case asker:
		return e.converse()
	default:
		return e.answerAll()
	}
}
