package bench

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
)

// isLoad reports whether the cell's messages are sent by a load generator: at a rate (open loop),
// or with several on the way at once (closed loop).
func (e *endpoint) isLoad() bool { return e.Cell.Rate > 0 || e.Cell.Inflight > 1 }

// generates reports whether this job's are: the untimed ones are not.
func (e *endpoint) generates() bool { return e.isLoad() && !e.Compare }

// A schedule says when messages fall due: one a period, from a moment that both endpoints know.
type schedule struct {
	start  int64   // on the shared clock, in nanoseconds
	period float64 // nanoseconds; a fraction of one adds up over many messages
}

func (s schedule) due(i int64) int64 { return s.start + int64(float64(i)*s.period) }

// leadTime is how long before the first message is due the start is agreed on, so that it is not
// late from the beginning.
const leadTime = time.Millisecond

// A load is the account of one generated load: when each message was sent and received, on the
// shared clock.
type load struct {
	clock     *Clock
	schedule  schedule
	open      bool  // messages fall due; else they wait for a slot
	deadline  int64 // of an open loop: nothing is sent after it
	maySpin   bool
	sent      []int64
	received  []int64
	delivered atomic.Int64 // how many of received are written
	total     atomic.Int64 // how many were sent, once that is known; -1 before
}

func (e *endpoint) newLoad() (*load, error) {
	clock, err := NewClock()
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
	start = e.load.clock.Now()
	if e.load.open {
		start += int64(leadTime)
	}
	e.setSchedule(start)
	return start
}

// setSchedule takes the moment that the endpoints agreed on. An open loop is given up at twice the
// time it should take.
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

// runLoad moves the messages of a loaded sample. Whoever receives those of an open loop that was
// given up finds their end: the rest was never sent.
func (e *endpoint) runLoad() (err error) {
	switch e.Role {
	case sender:
		return e.generate(nil)
	case receiver:
		err = e.collect(nil)
	case client:
		return e.runClientLoad()
	case server:
		err = e.respond(e.Warmup, e.Messages)
	}
	if e.load.open && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// generate sends the messages as they fall due, or as slots become free, and says at last how many
// that were.
func (e *endpoint) generate(slots <-chan struct{}) error {
	l := e.load
	minimiseTimerSlack()
	i := int64(0)
	for ; i < e.Messages; i++ {
		if l.open {
			l.clock.await(l.schedule.due(i), l.maySpin)
		} else {
			<-slots
		}
		now := l.clock.Now()
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
func (e *endpoint) collect(slots chan<- struct{}) error {
	l, check, limit := e.load, e.checker(), newRateLimit(e.Cell.Drain)
	for i := range e.Messages {
		msg, err := e.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive message %d: %w", e.Warmup+i, err)
		}
		l.received[i] = l.clock.Now()
		if err := check(e.Warmup+i, msg); err != nil {
			return err
		}
		l.delivered.Store(i + 1)
		if slots != nil {
			slots <- struct{}{}
		}
		limit.wait(len(msg))
	}
	return nil
}

// runClientLoad sends on one thread and receives on another: a client that only sends would in the
// end fill both pipes.
func (e *endpoint) runClientLoad() error {
	var slots chan struct{}
	if !e.load.open {
		slots = make(chan struct{}, e.Cell.Inflight+int(e.Messages)) // giving a slot back never waits
		for range e.Cell.Inflight {
			slots <- struct{}{}
		}
	}
	over := make(chan error, 2)
	go e.onOwnThread(over, func() error { return e.generate(slots) })
	go e.onOwnThread(over, func() error { return e.collect(slots) })
	if err := <-over; err != nil {
		return err
	}
	return e.awaitReplies(over)
}

// onOwnThread runs half of a client on a thread of its own, where the endpoint is placed.
func (e *endpoint) onOwnThread(over chan<- error, half func() error) {
	runtime.LockOSThread()
	if !e.Alone {
		if err := placement.PinThread(e.CPU); err != nil {
			over <- err
			return
		}
	}
	over <- half()
}

// awaitReplies waits for the last reply. Where the loop was given up, the receiving thread waits
// for ever for replies to what was never sent; it goes with the worker.
func (e *endpoint) awaitReplies(over <-chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-tick.C:
			if total := e.load.total.Load(); total >= 0 && e.load.delivered.Load() >= total {
				return nil
			}
		}
	}
}
