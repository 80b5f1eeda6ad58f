package bench

import (
	"time"

	"github.com/pipebench/pipebench/results"
)

// run warms up, meets the other end, and moves the messages of the sample.
func (e *end) run() error {
	began := time.Now()
	if err := e.exchange(0, e.Warmup); err != nil {
		return explain("warm-up", err)
	}
	e.report.Warmup = results.Warmup{Messages: e.Warmup, ElapsedNS: time.Since(began).Nanoseconds()}
	if e.holdsClock() {
		return explain("timed part", e.lead())
	}
	return explain("timed part", e.follow())
}

// lead waits until the other end is ready, starts the clock, says go, and
// stops the clock when it has the last message.
func (e *end) lead() error {
	heap := e.heap()
	if _, err := e.hear(); err != nil {
		return err
	}
	before := e.usage(heap)
	start := e.begin()
	began := time.Now()
	if err := e.say(start); err != nil {
		return err
	}
	if err := e.move(); err != nil {
		return err
	}
	e.report.ElapsedNS = time.Since(began).Nanoseconds()
	return e.account(before)
}

// follow says that it is ready, and moves its messages when it may.
func (e *end) follow() error {
	heap := e.heap()
	settle()
	before := e.usage(heap)
	if err := e.say(0); err != nil {
		return err
	}
	start, err := e.hear()
	if err != nil {
		return err
	}
	e.join(start)
	if err := e.move(); err != nil {
		return err
	}
	return e.account(before)
}

// looks is how often an end notes its CPU while the clock runs. Each costs a
// system call of some 50 ns.
const looks = 16

// move exchanges the sample's messages.
func (e *end) move() error {
	if e.load != nil {
		e.look()
		defer e.look()
		return e.carry()
	}
	e.trips = e.trips[:0]
	for i := range int64(looks) {
		from, to := e.Messages*i/looks, e.Messages*(i+1)/looks
		e.look()
		if err := e.exchange(e.Warmup+from, to-from); err != nil {
			return err
		}
	}
	e.look()
	return nil
}
