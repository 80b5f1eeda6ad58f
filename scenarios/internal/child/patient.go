package child

import (
	"context"
	"sync"
	"time"
)

// A program is at work, not asleep, if it uses more than this share of a CPU.
const busyShare = 0.2

// maxInterval bounds the time between two readings that show whether a program computes.
const maxInterval = time.Second / 2

// A patience is a wait for a program to do something.
type patience struct {
	c     *Conn
	limit time.Duration // the wait ends if the program does nothing for so long
	most  time.Duration // the wait ends after this in any case
	began time.Time
	last  reading

	ctx    context.Context // ends with the wait
	cancel context.CancelCauseFunc
	mu     sync.Mutex // guards timer
	timer  *time.Timer
}

// A reading says what a program had done at a time.
type reading struct {
	at             time.Time
	sent, received int64         // bytes, seen from us
	cpu            time.Duration // of the program and all that it started
	known          bool          // cpu was read, and the system tells
}

// Patient returns a context that ends with ErrSilent when the program has neither taken, sent nor
// computed anything for limit, and after most at the latest. A program is not silent either if we
// have not read all its output yet, or if it waits for a CPU. While all goes well this costs
// nothing: the CPU time of the program is not read before limit is over.
func (c *Conn) Patient(
	ctx context.Context, limit, most time.Duration,
) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithCancelCause(ctx)
	p := &patience{c: c, limit: limit, most: most, began: time.Now(), ctx: patient, cancel: cancel}
	p.last.sent = c.In.Bytes()
	p.last.received = c.Out.Bytes()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(limit, p.check)
	return patient, p.stop
}

// check is called by the timer. It ends the wait or sets the timer again.
func (p *patience) check() {
	more := p.more() // takes time, so the wait may end meanwhile
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil:
	case more > 0:
		p.timer.Reset(more)
	default:
		p.cancel(ErrSilent)
	}
}

func (p *patience) stop() {
	p.cancel(context.Canceled)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}

// more returns how much longer the wait may last, 0 if it is over.
func (p *patience) more() time.Duration {
	if time.Since(p.began) >= p.most {
		return 0
	}
	now := p.c.progress()
	last := p.last
	p.last = now
	moved := now.sent > last.sent || now.received > last.received
	// The last condition finds what was read after progress and before hasMore.
	if moved || p.c.hasMore() || p.c.Out.Bytes() > now.received {
		return p.limit
	}
	worked := now.cpu - last.cpu
	switch {
	case now.known && !last.known: // a second reading will tell whether the program computes
		return min(p.limit/4, maxInterval)
	case now.known && float64(worked) > busyShare*float64(now.at.Sub(last.at)):
		return p.limit
	}
	return 0
}

// progress reads what the program has done so far.
func (c *Conn) progress() reading {
	r := reading{at: time.Now(), sent: c.In.Bytes(), received: c.Out.Bytes()}
	if c.Process != nil {
		r.cpu, r.known = c.Process.TreeCPU()
	}
	return r
}

// hasMore reports whether there is output to read, or the program would go on if it had a CPU.
func (c *Conn) hasMore() bool {
	unread, _ := c.Out.Unread()
	return unread > 0 || c.Process != nil && c.Process.Runnable()
}
