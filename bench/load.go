package bench

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// isLoad reports whether the cell's messages are sent by a load generator: at
// a rate (open loop), or with several on the way at once (closed loop).
func (e *endpoint) isLoad() bool {
	return !e.Compare && (e.Cell.Rate > 0 || e.Cell.Inflight > 1)
}

// A load is the account of one generated load: when each message was sent and
// received, on the shared clock.
type load struct {
	clock     *sharedClock
	schedule  schedule
	open      bool  // messages fall due; else they wait for a place
	deadline  int64 // of an open loop: nothing is sent after it
	maySpin   bool
	sent      []int64
	received  []int64
	delivered atomic.Int64 // how many of received are written
	total     atomic.Int64 // how many were sent, once that is known; -1 before
}

func (e *endpoint) newLoad() (*load, error) {
	clock, err := newSharedClock()
	if err != nil {
		return nil, err
	}
	l := &load{
		clock:    clock,
		open:     e.Cell.Rate > 0,
		maySpin:  e.Cell.Placement != "same" && e.Cell.Placement != "free" && e.Role == sender,
		sent:     make([]int64, e.Messages),
		received: make([]int64, e.Messages),
	}
	l.total.Store(-1)
	prefault(l.sent)
	prefault(l.received)
	return l, nil
}

// startSchedule chooses the moment that messages fall due from.
func (e *endpoint) startSchedule() (start int64) {
	if e.load == nil {
		return 0
	}
	start = e.load.clock.now()
	if e.load.open {
		start += int64(leadTime)
	}
	e.setSchedule(start)
	return start
}

// setSchedule takes the moment that the ends agreed on. An open loop is given up at
// twice the time it should take.
func (e *endpoint) setSchedule(start int64) {
	l := e.load
	if l == nil {
		return
	}
	if l.schedule.start = start; l.open {
		l.schedule.period = 1e9 / e.Cell.Rate
		l.deadline = start + 2*int64(float64(e.Messages)*l.schedule.period) + int64(leadTime)
	}
}

// generate sends the messages as they fall due, or as places become free, and
// says at last how many that were.
func (e *endpoint) generate(places <-chan struct{}) error {
	l := e.load
	minimiseTimerSlack()
	i := int64(0)
	for ; i < e.Messages; i++ {
		if l.open {
			l.clock.await(l.schedule.due(i), l.maySpin)
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
func (e *endpoint) collect(places chan<- struct{}) error {
	l, check, slow := e.load, e.checker(), newRateLimit(e.Cell.Drain)
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
		slow.wait(len(msg))
	}
	return nil
}

// runLoad moves the messages of a loaded sample.
func (e *endpoint) runLoad() error {
	switch e.Role {
	case sender:
		return e.generate(nil)
	case receiver:
		return e.collect(nil)
	case client:
		return e.runClientLoad()
	default:
		return e.replyAll()
	}
}
