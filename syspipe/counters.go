package syspipe

import (
	"syscall"
	"time"
)

// Counters tell what an end did since it was opened. They are counted at each system call.
type Counters struct {
	Calls    uint64        // system calls that moved bytes or tried to, even if they met EAGAIN
	Bytes    uint64        // bytes that the kernel took from this end or gave to it
	Short    uint64        // calls that moved some bytes, but fewer than were asked for
	EAGAIN   uint64        // calls that the kernel refused for now
	Waits    uint64        // times that the end had to wait; refusals in a row are one wait
	WaitTime time.Duration // total of all waits that have ended, also by an error or a deadline

	// SeesEAGAIN says whether EAGAIN is counted, and SeesWaits whether Waits and WaitTime are. What
	// is not counted is 0.
	SeesEAGAIN, SeesWaits bool
}

// A counter counts either the reads or the writes of an end. Its fields are not atomic, because
// only one goroutine at a time reads, and only one writes.
type counter struct {
	Counters
	waiting bool      // a refusal has not been followed by a success yet
	since   time.Time // when the kernel refused, if waiting
}

// moved counts a call that moved n of the bytes that were asked for. If the end was waiting, this
// ends the wait.
func (c *counter) moved(asked, n int) {
	c.Calls++
	c.Bytes += uint64(n)
	if n < asked && n > 0 {
		c.Short++
	}
	c.endWait()
}

func (c *counter) endWait() {
	if c.waiting {
		c.WaitTime += time.Since(c.since)
		c.waiting = false
	}
}

// account counts a call by its outcome. It does not count a call that a signal interrupted.
func (c *counter) account(asked, n int, errno syscall.Errno) {
	switch errno {
	case 0:
		c.moved(asked, n)
	case syscall.EINTR:
	case syscall.EAGAIN:
		c.Calls++
		c.EAGAIN++
		if !c.waiting {
			c.waiting = true
			c.since = time.Now()
			c.Waits++
		}
	default: // the call failed, which ends a wait too
		c.moved(asked, 0)
	}
}

// Add adds the counts of another end. The sum sees what both of them see.
func (c *Counters) Add(other Counters) {
	c.Calls += other.Calls
	c.Bytes += other.Bytes
	c.Short += other.Short
	c.EAGAIN += other.EAGAIN
	c.Waits += other.Waits
	c.WaitTime += other.WaitTime
	c.SeesEAGAIN = c.SeesEAGAIN && other.SeesEAGAIN
	c.SeesWaits = c.SeesWaits && other.SeesWaits
}

// Counters returns what the end has done so far, in both directions together.
func (e *End) Counters() Counters {
	sum := e.in.Counters
	sum.Add(e.out.Counters)
	sum.SeesEAGAIN, sum.SeesWaits = e.countersSeen()
	return sum
}
