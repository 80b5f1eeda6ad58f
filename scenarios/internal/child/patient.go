package child

import (
	"context"
	"time"
)

// busy is the share of a CPU above which a program is at work, not asleep.
const busy = 0.2

// A reading is how far both sides were at a time.
type reading struct {
	at             time.Time
	sent, received int64
	cpu            time.Duration // of the program and all that it started
	known          bool          // the system tells
}

func (c *Conn) progress() reading {
	r := reading{at: time.Now(), sent: c.In.Bytes(), received: c.Out.Bytes()}
	if c.Process != nil {
		r.cpu, r.known = c.Process.TreeCPU()
	}
	return r
}

// movedSince reports whether the program took or sent something, or computed for a good part of the
// time.
func (r reading) movedSince(last reading) bool {
	if r.sent > last.sent || r.received > last.received {
		return true
	}
	worked := r.cpu - last.cpu
	return r.known && last.known && float64(worked) > busy*float64(r.at.Sub(last.at))
}

// Patient returns a context that ends with ErrSilent once the program has neither taken, sent nor
// computed anything for limit, or after most in any case. A program that has something to say which
// we have not read yet, or that waits for a CPU, is not silent either.
func (c *Conn) Patient(
	ctx context.Context, limit, most time.Duration,
) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	last := c.progress()
	granted := func() bool {
		now := c.progress()
		moved := now.movedSince(last)
		last = now
		if !moved {
			waits, _ := c.Out.Unread()
			moved = waits > 0 || c.Process != nil && c.Process.Runnable()
		}
		return moved && time.Since(began) < most
	}
	dog := Watch(limit, granted, func() { cancel(ErrSilent) })
	return patient, func() {
		dog.Stop()
		cancel(context.Canceled)
	}
}
