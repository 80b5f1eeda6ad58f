package syspipe

import (
	"syscall"
	"time"
)

// Counters tell what an end did since it was opened. They are counted at each system call, not
// inferred.
type Counters struct {
	Calls    uint64        // system calls that moved bytes or tried to, also those that met EAGAIN
	Bytes    uint64        // bytes the kernel took from this end or gave to it
	Short    uint64        // calls that moved fewer bytes than they offered or had room for
	EAGAIN   uint64        // calls that the kernel refused for now
	Waits    uint64        // times the end had to wait: all refusals up to the next success are one
	WaitTime time.Duration // time between the first of these refusals and the success

	// SeesEAGAIN says whether EAGAIN is counted, SeesWaits whether Waits and WaitTime are. A field
	// that is not counted, because the system or the end's io does not tell it, is 0.
	SeesEAGAIN, SeesWaits bool
}

// A counter counts one direction of an end. Its fields are plain: the direction belongs to one
// goroutine, and an atomic add for each field would cost too much (a 64 B write takes 130 ns).
type counter struct {
	calls, bytes, short, eagain, waits uint64
	waited                             time.Duration
	waiting                            bool      // a refusal has not been followed by a success yet
	since                              time.Time // of that refusal
}

// moved counts a call that was asked to move asked bytes and moved n.
func (m *counter) moved(asked, n int) {
	m.calls++
	m.bytes += uint64(n)
	if n < asked && n > 0 {
		m.short++
	}
	if m.waiting {
		m.endWait()
	}
}

func (m *counter) endWait() {
	m.waited += time.Since(m.since)
	m.waiting = false
}

// account counts one call and returns its errno. A call that a signal interrupted did nothing and
// is not counted.
func (m *counter) account(asked, n int, errno syscall.Errno) syscall.Errno {
	switch errno {
	case 0:
		m.moved(asked, n)
	case syscall.EINTR:
	case syscall.EAGAIN:
		m.calls++
		m.eagain++
		if !m.waiting {
			m.waiting = true
			m.since = time.Now()
			m.waits++
		}
	default:
		m.moved(asked, 0)
	}
	return errno
}

func (m *counter) addTo(c *Counters) {
	c.Calls += m.calls
	c.Bytes += m.bytes
	c.Short += m.short
	c.EAGAIN += m.eagain
	c.Waits += m.waits
	c.WaitTime += m.waited
}

// Counters returns what the end has done so far, in both directions together.
func (e *End) Counters() Counters {
	var c Counters
	c.SeesEAGAIN, c.SeesWaits = e.seen()
	e.in.addTo(&c)
	e.out.addTo(&c)
	return c
}
