package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// isLoad reports whether messages are sent at a fixed rate (an open loop), or so that several are
// on the way at once (a closed loop).
func (e *endpoint) isLoad() bool { return e.Cell.Rate > 0 || e.Cell.Inflight > 1 }

// A schedule says when messages fall due: one per period, from a start that both ends know.
type schedule struct {
	start  int64   // on the shared clock, in nanoseconds
	period float64 // nanoseconds; not an integer, since rounding would add up
}

func (s schedule) due(i int64) int64 { return s.start + int64(float64(i)*s.period) }

// leadTime lies between the choice of a start time and the start itself, if messages are sent at a
// fixed rate. In this time both ends learn when the start is.
const leadTime = time.Millisecond

// A load records when each message was sent and received, in nanoseconds of the clock that both
// ends share.
type load struct {
	schedule  schedule
	open      bool          // send a message when it is due; if false: when a slot is free
	deadline  int64         // if open: nothing is sent after this time
	maySpin   bool          // the sender may keep its CPU busy until a message is due
	sent      []int64       // when each message was sent
	received  []int64       // when each message was received
	delivered atomic.Int64  // how many elements of received are set
	total     atomic.Int64  // how many messages were sent; -1 until the last is sent
	slots     chan struct{} // if not open: one element for each message that may be sent
}

func (e *endpoint) newLoad() *load {
	l := &load{
		open:     e.Cell.Rate > 0,
		maySpin:  e.maySpin(),
		sent:     resident(make([]int64, e.Messages)),
		received: resident(make([]int64, e.Messages)),
	}
	l.total.Store(-1)
	if !l.open {
		// The channel has room for all messages, so that freeing a slot never blocks.
		l.slots = make(chan struct{}, e.Cell.Inflight+int(e.Messages))
		for range e.Cell.Inflight {
			l.slots <- struct{}{}
		}
	}
	return l
}

// maySpin reports whether this end may keep its CPU busy while it waits. Only an end that does
// nothing but send messages, and has the CPU for itself, may do so.
func (e *endpoint) maySpin() bool {
	if e.Role != sender || e.Cell.Pattern == PatternMixed {
		return false
	}
	return e.Cell.Placement != "same" && e.Cell.Placement != "free"
}

// deliver notes that message i has arrived. If there are slots, deliver also frees one, so that
// another message may be sent.
func (l *load) deliver(i int64) {
	l.delivered.Store(i + 1)
	if l.slots != nil {
		l.slots <- struct{}{}
	}
}

// setSchedule sets the time at which messages begin to fall due, and returns that time. If the
// parameter start is undecidedStart, setSchedule chooses the time. Without a load, it returns 0.
func (e *endpoint) setSchedule(start int64) int64 {
	l := e.load
	if l == nil {
		return 0
	}
	if start == undecidedStart {
		start = e.clock.now()
		if l.open {
			start += int64(leadTime)
		}
	}
	l.schedule.start = start
	if l.open {
		l.schedule.period = 1e9 / e.Cell.Rate
		// twice the time that it should take
		l.deadline = start + 2*int64(float64(e.Messages)*l.schedule.period) + int64(leadTime)
	}
	return start
}

func (e *endpoint) runLoad() (err error) {
	if e.isMixed() {
		if e.Role == sender {
			return e.sendMixed()
		}
		return e.receiveMixed()
	}
	switch e.Role {
	case sender:
		return e.generate()
	case receiver:
		err = e.receive(e.Warmup, e.Messages)
	case client:
		return e.runClientLoad()
	case server:
		err = e.respond(e.Warmup, e.Messages)
	}
	if e.load.open && errors.Is(err, io.EOF) { // the sender gave up before all were sent
		return nil
	}
	return err
}

// generate sends each message when it falls due, or when a slot is free. At the end it stores in
// l.total how many messages it sent.
func (e *endpoint) generate() error {
	l := e.load
	minimiseTimerSlack()
	i := int64(0)
	for ; i < e.Messages; i++ {
		if l.open {
			e.clock.await(l.schedule.due(i), l.maySpin)
		} else {
			<-l.slots
		}
		now := e.clock.now()
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

// runClientLoad sends on one thread and receives on another. With one thread, both ends could wait
// forever to write into full pipes.
func (e *endpoint) runClientLoad() error {
	over := make(chan error, 2)
	onOwnThread := func(half func() error) { // on the endpoint's CPU
		runtime.LockOSThread()
		err := placement.PinThread(e.CPU)
		if err == nil {
			err = half()
		}
		over <- err
	}
	go onOwnThread(e.generate)
	go onOwnThread(func() error {
		if e.in.IO() == syspipe.Poller {
			// While the sending thread sleeps in a raw system call, the Go scheduler would wake a
			// goroutine that is locked to its thread late or never.
			runtime.UnlockOSThread()
		}
		return e.receive(e.Warmup, e.Messages)
	})
	if err := <-over; err != nil {
		return err
	}
	// If the sending thread gave up, it sent fewer messages than planned: do not wait for replies
	// to the rest.
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

// finishLoad fills in the report: how many messages arrived, and how long they took. The sender of
// a stream only tells the receiver when each message was sent.
func (e *endpoint) finishLoad() error {
	if e.isMixed() {
		return e.finishMixed()
	}
	l := e.load
	switch e.Role {
	case sender:
		if err := e.out.Close(); err != nil {
			return err
		}
		return e.handOver(l.total.Load())
	case receiver:
		sent, err := e.takeOver()
		if err != nil {
			return err
		}
		l.total.Store(sent)
		if got := l.delivered.Load(); got != sent {
			return fmt.Errorf("%d messages were sent and %d received", sent, got)
		}
	case server:
		return nil
	}
	return e.summariseLoad()
}

// handOver sends the receiver n, a number of messages that were sent, and the times at which the
// messages of the load were sent.
func (e *endpoint) handOver(n int64) error {
	return binary.Write(e.toPeer, binary.NativeEndian, append([]int64{n}, e.load.sent...))
}

// takeOver receives what handOver sent. It returns the number n, and copies the times to
// e.load.sent.
func (e *endpoint) takeOver() (n int64, err error) {
	account := make([]int64, 1+len(e.load.sent))
	err = binary.Read(e.fromPeer, binary.NativeEndian, account)
	copy(e.load.sent, account[1:])
	return account[0], err
}

// summariseLoad fills in the report: latencies, messages, bytes, and, if messages were to be sent
// at a fixed rate, how well that rate was kept.
func (e *endpoint) summariseLoad() error {
	l := e.load
	n := l.delivered.Load()
	if l.open {
		kept := &results.Load{Due: int64(len(l.sent)), Sent: l.total.Load()}
		kept.Unsent = kept.Due - kept.Sent
		if n > 0 {
			end := max(l.received[n-1], l.schedule.due(n))
			kept.Achieved = float64(n) / (float64(end-l.schedule.start) / 1e9)
		}
		e.report.Load = kept
	}
	name := "oneway"
	if e.Role == client {
		name = "roundtrip"
	}
	if err := e.addLoadLatencies(name, n); err != nil {
		return err
	}
	e.report.Messages = n
	if n > 0 {
		e.report.ElapsedNS = l.received[n-1] - l.schedule.start
	}
	e.report.PayloadBytes = e.source.Bytes(e.Warmup, n)
	return nil
}

// addLoadLatencies reports the latencies of the first n messages, from sending to receiving, under
// the given name. If messages were sent at a fixed rate, it adds the latencies "due" (from when a
// message was due until it was received) and "lateness" (from when it was due until it was sent).
func (e *endpoint) addLoadLatencies(name string, n int64) error {
	l := e.load
	times := map[string][]int64{name: make([]int64, n)}
	for i := range n {
		times[name][i] = l.received[i] - l.sent[i]
	}
	if l.open {
		due := make([]int64, n)
		lateness := make([]int64, n)
		for i := range n {
			due[i] = l.received[i] - l.schedule.due(i)
			lateness[i] = l.sent[i] - l.schedule.due(i)
			if float64(lateness[i]) > l.schedule.period {
				e.report.Load.Late++
			}
		}
		times["due"] = due
		times["lateness"] = lateness
	}
	e.report.Latency = map[string]results.Latency{}
	for key, ns := range times {
		latency, err := results.NewLatency(ns)
		if err != nil {
			return err
		}
		e.report.Latency[key] = latency
	}
	return nil
}
