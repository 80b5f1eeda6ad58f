package client

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A eventData is what an event carries.
type eventData struct {
	err  *TransportError  // what those in flight fail with
	msg  *jsonrpc.Message // of a frame
	size *FrameError      // of an oversized frame
	id   jsonrpc.ID       // found in it, if any
}

// dispatch runs the machine. An event of a server that is not the current one is out of date: nil is for those of none.
func (c *Conn) dispatch(l *link, e event, h eventData) {
	c.mu.Lock()
	was := c.state
	if l != nil && l != c.link && e != started {
		c.stats.Dropped++
		c.mu.Unlock()
		return
	}
	st := transition(c.state, e)
	after := c.execute(l, st.do, h)
	c.setState(st.next)
	now := c.state
	c.mu.Unlock()
	if after != nil {
		after()
	}
	if now != was && c.opts.OnState != nil {
		c.opts.OnState(now)
	}
}

// setState changes the state, and opens and closes ready with it.
func (c *Conn) setState(next State) {
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

// execute does what the table says, and returns what is to be done without the lock.
func (c *Conn) execute(l *link, do action, h eventData) (after func()) {
	if do&report != 0 {
		after = c.reportViolation(h)
	}
	if do&disconnect != 0 {
		c.disconnect(l, h)
	}
	if do&failAll != 0 {
		c.lost = h.err
		c.pending.failAll(h)
	}
	if do&resetBackoff != 0 {
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
	if do&handshake != 0 {
		c.startHandshake(l)
	}
	if do&deliver != 0 {
		after = c.deliver(l, h.msg)
	}
	if do&countNoise != 0 {
		c.stats.Noise++
	}
	if do&drop != 0 {
		c.stats.Dropped++
	}
	return after
}

// disconnect hangs up on the current server, or on one that has started too late.
func (c *Conn) disconnect(l *link, h eventData) {
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

// reportViolation counts a frame beyond the limit and returns what tells of it.
func (c *Conn) reportViolation(h eventData) func() {
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
func (c *Conn) schedule(h eventData) {
	c.stopTimer()
	if c.opts.Restarts < 0 || c.opts.Restarts > 0 && c.retry.failures >= c.opts.Restarts {
		c.tasks.Go(func() { c.dispatch(nil, exhausted, eventData{err: h.err}) })
		return
	}
	wait := c.retry.next()
	c.opts.Logger.Warn("Server lost", "reason", h.err.Reason, "error", h.err.Err, "restart", wait.Round(time.Millisecond))
	c.timer = c.opts.Clock.AfterFunc(wait, func() { c.dispatch(nil, elapsed, eventData{}) })
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
			c.dispatch(nil, startFailed, eventData{err: &TransportError{Reason: ReasonStart, Err: err}})
			return
		}
		l := newLink(c, proc)
		c.mu.Lock()
		c.last = l
		c.mu.Unlock()
		c.dispatch(l, started, eventData{})
	})
}
