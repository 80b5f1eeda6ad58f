package child

import (
	"context"
	"sync"
	"time"
)

// A program is at work, not asleep, if it uses more than this share of a CPU.
const busyShare = 0.2

// maxInterval bounds the time between the first reading of a program's CPU time and the second,
// which shows whether the program computes.
const maxInterval = time.Second / 2

// A patience is a wait for a program to do something.
type patience struct {
	c     *Conn
	limit time.Duration // the wait ends if the program does nothing for so long
	most  time.Duration // a check after this time ends the wait in any case
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
	sent, received int64         // bytes to the program, bytes from it
	cpu            time.Duration // of the program and all that it started
	known          bool          // cpu was read, and the system tells
}

// Patient returns a context that ends, with ErrSilent as its cause, when the program was silent for
// limit: it has taken and sent no bytes and used at most busyShare of a CPU. A program is not
// silent if we have not read all its output yet, or if it waits for a CPU. In any case the context
// ends at the first check after most, which is at most limit later. While all goes well this costs
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

// remaining returns the time until the next check, 0 if the wait is over.
func (p *patience) remaining() time.Duration {
	if time.Since(p.began) >= p.most {
		return 0
	}
	now := p.c.progress()
	last := p.last
	p.last = now
	moved := now.sent > last.sent || now.received > last.received
	// The last condition finds what was read after progress and before isDelayed.
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

// progress reads what the program has done so far.
func (c *Conn) progress() reading {
	r := reading{at: time.Now(), sent: c.In.Bytes(), received: c.Out.Bytes()}
	if c.Process != nil {
		r.cpu, r.known = c.Process.TreeCPU()
	}
	return r
}

// isDelayed reports whether the program may be held up by others: we have not read all its output,
// or it would go on if it had a CPU.
func (c *Conn) isDelayed() bool {
	unread, _ := c.Out.Unread()
	return unread > 0 || c.Process != nil && c.Process.Runnable()
}
