package client

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A happening is what an event carries.
type happening struct {
	err  *TransportError  // what those in flight fail with
	msg  *jsonrpc.Message // of a frame
	size *FrameError      // of an oversized frame
	id   jsonrpc.ID       // found in it, if any
}

// happen runs the machine. An event of a server that is not the current one is out of date: nil is for those of none.
func (c *Conn) happen(l *link, e event, h happening) {
	c.mu.Lock()
	was := c.state
	if l != nil && l != c.link && e != started {
		c.stats.Dropped++
		c.mu.Unlock()
		return
	}
	st := transition(c.state, e)
	after := c.perform(l, st.do, h)
	c.enter(st.next)
	now := c.state
	c.mu.Unlock()
	if after != nil {
		after()
	}
	if now != was && c.opts.OnState != nil {
		c.opts.OnState(now)
	}
}

// enter changes the state, and opens and closes ready with it.
func (c *Conn) enter(next State) {
	if next == c.state {
		return
	}
	if c.state == Ready {
		c.ready = make(chan struct{})
	}
	c.state = next
	if next == Ready || next == Closing {
		close(c.ready)
	}
	if next == Closing {
		close(c.over)
	}
}

// perform does what the table says, and returns what is to be done without the lock.
func (c *Conn) perform(l *link, do action, h happening) (after func()) {
	if do&report != 0 {
		after = c.violated(h)
	}
	if do&hangUp != 0 {
		c.leave(l, h)
	}
	if do&failAll != 0 {
		c.lost = h.err
		c.flights.failAll(h)
	}
	if do&settle != 0 {
		c.lost = nil
		c.retry.reset()
		c.stopTimer()
	}
	if do&schedule != 0 {
		c.schedule(h)
	}
	if do&launch != 0 {
		c.start()
	}
	if do&shake != 0 {
		c.shake(l)
	}
	if do&deliver != 0 {
		after = c.deliver(l, h.msg)
	}
	if do&skip != 0 {
		c.stats.Noise++
	}
	if do&drop != 0 {
		c.stats.Dropped++
	}
	return after
}

// leave hangs up on the current server, or on one that has started too late.
func (c *Conn) leave(l *link, h happening) {
	if l == nil {
		l = c.link
	}
	if l == c.link {
		c.link = nil
	}
	c.stopTimer()
	polite := h.err == nil || h.err.Reason == ReasonClosed
	c.tasks.Go(func() { l.end(polite) })
}

func (c *Conn) stopTimer() {
	if c.timer != nil {
		c.timer()
		c.timer = nil
	}
}

// violated counts a frame beyond the limit and returns what tells of it.
func (c *Conn) violated(h happening) func() {
	c.stats.Violations++
	return func() {
		c.opts.Logger.Error(fmt.Sprintf("Frame size exceeds limit: %d bytes (max: %d)", h.size.Size, h.size.Limit))
		c.opts.Logger.Error("Closing connection due to protocol violation.")
		if c.opts.OnViolation != nil {
			c.opts.OnViolation(Violation{FrameSize: h.size.Size, Max: h.size.Limit, Reason: ReasonOversized})
		}
	}
}

// schedule sets the timer of the next start, or ends it all.
func (c *Conn) schedule(h happening) {
	c.stopTimer()
	if c.opts.Restarts < 0 || c.opts.Restarts > 0 && c.retry.failures >= c.opts.Restarts {
		c.tasks.Go(func() { c.happen(nil, exhausted, happening{err: h.err}) })
		return
	}
	wait := c.retry.next()
	c.opts.Logger.Warn("Server lost", "reason", h.err.Reason, "error", h.err.Err, "restart", wait.Round(time.Millisecond))
	c.timer = c.opts.Clock.AfterFunc(wait, func() { c.happen(nil, elapsed, happening{}) })
}

// start starts the server, when the one before is gone.
func (c *Conn) start() {
	c.timer = nil
	c.stats.Starts++
	before := c.last
	c.tasks.Go(func() {
		if before != nil {
			<-before.ended
		}
		proc, err := c.launcher.Launch()
		if err != nil {
			c.happen(nil, startFailed, happening{err: &TransportError{Reason: ReasonStart, Err: err}})
			return
		}
		l := newLink(c, proc)
		c.mu.Lock()
		c.last = l
		c.mu.Unlock()
		c.happen(l, started, happening{})
	})
}
