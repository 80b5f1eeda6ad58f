package child

import (
	"context"
	"sync"
	"time"
)

// busy is the share of a CPU above which a program is at work, not asleep.
const busy = 0.2

// longestLook is how long a program is looked at, at most, to see whether it computes.
const longestLook = time.Second / 2

// A reading says how many bytes were sent and received, and how long the program had computed, at a
// time.
type reading struct {
	at             time.Time
	sent, received int64
	cpu            time.Duration // of the program and all that it started
	known          bool          // cpu was read, and the system tells
}

// A patience is a wait for a program to do something.
type patience struct {
	c           *Conn
	limit, most time.Duration
	began       time.Time
	last        reading

	ctx    context.Context // of the wait
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	timer  *time.Timer
}

// Patient returns a context that ends with ErrSilent once the program has neither taken, sent nor
// computed anything for limit, and after most at the latest. A program whose output we have not
// read yet, or that waits for a CPU, is not silent either. The program's CPU time is read only once
// limit is over, and then again after a while: that costs nothing while all goes well.
func (c *Conn) Patient(
	ctx context.Context, limit, most time.Duration,
) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithCancelCause(ctx)
	p := &patience{c: c, limit: limit, most: most, began: time.Now(), ctx: patient, cancel: cancel}
	p.last.sent = c.In.Bytes()
	p.last.received = c.Out.Bytes()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(limit, p.look)
	return patient, p.stop
}

// look is called when the limit is over. It takes time to see what the program does. If the wait
// ends meanwhile, the timer is not set again.
func (p *patience) look() {
	more := p.more()
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
	// an answer that was read while we looked is neither in now nor unread
	if moved || p.c.hasMore() || p.c.Out.Bytes() > now.received {
		return p.limit
	}
	worked := now.cpu - last.cpu
	switch {
	case now.known && !last.known:
		return min(p.limit/4, longestLook)
	case now.known && float64(worked) > busy*float64(now.at.Sub(last.at)):
		return p.limit
	}
	return 0
}

// progress returns how far both sides are.
func (c *Conn) progress() reading {
	r := reading{at: time.Now(), sent: c.In.Bytes(), received: c.Out.Bytes()}
	if c.Process != nil {
		r.cpu, r.known = c.Process.TreeCPU()
	}
	return r
}

// hasMore reports whether the program has said something that we have not read, or would go on if
// it had a CPU.
func (c *Conn) hasMore() bool {
	waits, _ := c.Out.Unread()
	return waits > 0 || c.Process != nil && c.Process.Runnable()
}
