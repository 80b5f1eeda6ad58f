package child

import (
	"context"
	"sync"
	"time"
)

// A program that uses more than this share of one CPU counts as at work.
const busyShare = 0.2

// maxInterval is the longest time between the first two readings of a program's CPU time.
const maxInterval = time.Second / 2

// A patience is a wait for a program to do something.
type patience struct {
	c     *Conn
	limit time.Duration // the wait ends if the program does nothing for this long
	most  time.Duration // the first check after this time ends the wait, whatever happens
	began time.Time
	last  reading // what the program had done at the last check

	ctx    context.Context // ends with the wait
	cancel context.CancelCauseFunc
	mu     sync.Mutex // guards timer
	timer  *time.Timer
}

// A reading is what a program had done by a certain time.
type reading struct {
	at             time.Time
	sent, received int64         // bytes to the program, bytes from the program
	cpu            time.Duration // of the program and all that it started
	known          bool          // cpu is valid
}

// Patient returns a context that ends when the program has done nothing for the duration limit: it
// has taken no bytes, sent none and not computed. In any case the context ends soon after the
// duration most. Either way, the cause is ErrSilent.
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
	remaining := p.remaining() // takes time, so the wait may end meanwhile
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil:
	case remaining > 0:
		p.timer.Reset(remaining)
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

// remaining returns the time until the next check, or 0 if the wait is over.
func (p *patience) remaining() time.Duration {
	if time.Since(p.began) >= p.most {
		return 0
	}
	now := p.c.progress()
	last := p.last
	p.last = now
	moved := now.sent > last.sent || now.received > last.received
	// The last condition notices output that was read between the calls of progress and isDelayed.
	if moved || p.c.isDelayed() || p.c.Out.Bytes() > now.received {
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

func (c *Conn) progress() reading {
	r := reading{at: time.Now(), sent: c.In.Bytes(), received: c.Out.Bytes()}
	if c.Process != nil {
		r.cpu, r.known = c.Process.TreeCPU()
	}
	return r
}

// isDelayed reports whether the program may be waiting for us to read its output, or for a CPU. We
// may also wait for a CPU ourselves, with a message that has come.
func (c *Conn) isDelayed() bool {
	unread, _ := c.Out.Unread()
	return unread > 0 || c.Out.handling.Load() || c.Process != nil && c.Process.Runnable()
}
