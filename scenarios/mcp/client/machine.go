package client

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A State is the state of a connection.
type State int

const (
	Starting     State = iota // the server's process is being started
	Initializing              // it runs; the handshake is under way
	Ready                     // requests are sent
	Backoff                   // it failed; it is started again after a wait
	Closing                   // it is over for good
)

func (s State) String() string {
	return [...]string{"starting", "initializing", "ready", "backoff", "closing"}[s]
}

// An event is something that can happen to a connection.
type event int

const (
	started     event = iota // the process runs
	startFailed              // the process could not be started
	initialized              // the handshake is done
	refused                  // the handshake failed, or took too long
	frame                    // a message came
	oversized                // a frame came that is larger than the limit
	gone                     // the stream ended, writing failed, or too many lines were no message
	elapsed                  // the backoff is over
	exhausted                // the server failed too often
	closed                   // Close was called
)

type eventData struct {
	err *TransportError  // the error of the pending calls
	msg *jsonrpc.Message // the message that came, for the event "frame"
	id  jsonrpc.ID       // the id in an oversized frame, if one was found
}

// An action is a set of things to do at an event, one bit for each. They are done in this order.
type action int

const (
	report       action = 1 << iota // log the frame that was too large, and call OnViolation
	disconnect                      // leave the server, and see that it ends
	failAll                         // fail the pending calls: late answers to them are dropped
	resetBackoff                    // forget earlier failures
	schedule                        // start the backoff's timer
	launch                          // start the server
	handshake                       // start the handshake
	deliver                         // hand the message to the call that waits for it
)

// A step is an entry in the table [machine]: the next state, and the actions to do.
type step struct {
	next State
	do   action
}

// machine says what an event leads to in each state. An event that is not listed changes nothing.
var machine = map[State]map[event]step{
	Starting: {
		started:     {Initializing, handshake},
		startFailed: {Backoff, failAll | schedule},
		closed:      {Closing, failAll},
	},
	Initializing: {
		initialized: {Ready, resetBackoff},
		refused:     {Backoff, disconnect | failAll | schedule},
		frame:       {Initializing, deliver},
		oversized:   {Backoff, report | disconnect | failAll | schedule},
		gone:        {Backoff, disconnect | failAll | schedule},
		closed:      {Closing, disconnect | failAll},
	},
	Ready: {
		frame:     {Ready, deliver},
		oversized: {Backoff, report | disconnect | failAll | schedule},
		gone:      {Backoff, disconnect | failAll | schedule},
		closed:    {Closing, disconnect | failAll},
	},
	Backoff: {
		elapsed:   {Starting, launch},
		started:   {Backoff, disconnect}, // too late
		exhausted: {Closing, failAll},
		closed:    {Closing, failAll},
	},
	Closing: {
		started: {Closing, disconnect},
	},
}

// dispatch runs the state machine for an event. l is the server that the event is about, or nil.
// Events of an earlier server are ignored, except the event that this server has started too late.
func (c *Conn) dispatch(l *link, e event, data eventData) {
	c.mu.Lock()
	was := c.state
	isEarlier := l != nil && l != c.link && e != started
	st, listed := machine[was][e]
	if isEarlier || !listed {
		c.mu.Unlock()
		return
	}
	var after func() // at most one of the actions returns a function
	for bit := report; bit <= deliver; bit <<= 1 {
		f := c.act(st.do&bit, l, data)
		if f != nil {
			after = f
		}
	}
	c.setState(st.next)
	c.mu.Unlock()
	if after != nil {
		after()
	}
	if st.next != was && c.opts.OnState != nil {
		c.opts.OnState(st.next)
	}
}

// setState changes the state, and closes or renews the channels ready and over as the new state
// demands.
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

// act does a single action, or nothing for 0. The caller holds the lock. If act returns a function,
// the caller calls it without the lock.
func (c *Conn) act(one action, l *link, data eventData) (after func()) {
	switch one {
	case report:
		return func() { c.tellViolation(data.err.Err.(*FrameError)) }
	case disconnect: // from the current server, or from one that has started too late
		if l == nil {
			l = c.link
		}
		if l == c.link {
			c.link = nil
		}
		c.stopTimer()
		politely := data.err == nil || data.err.Reason == ReasonClosed
		c.tasks.Go(func() { l.leave(politely) })
	case failAll:
		c.failPending(data)
	case resetBackoff:
		c.lost = nil
		c.retry.failures = 0
		c.stopTimer()
	case schedule:
		c.schedule(data.err)
	case launch:
		c.start()
	case handshake:
		c.startHandshake(l)
	case deliver:
		return c.deliver(l, data.msg)
	}
	return nil
}

// leave ends the server. If politely is true, leave also reads whatever the server still writes.
func (l *link) leave(politely bool) {
	close(l.down)
	l.proc.Conn.Out.Resume() // reading is still held if the handshake has not begun
	l.proc.Conn.CloseInput()
	if !politely {
		l.proc.Conn.CloseOutput()
	}
	l.forced = l.proc.Stop()
	l.proc.Conn.Close()
	l.tasks.Wait()
	close(l.ended)
}

// failPending fails the calls that wait. If the answer to one call was an oversized frame, the
// error of that call says how large the frame was. The caller must hold the lock.
func (c *Conn) failPending(data eventData) {
	c.lost = data.err
	for id, p := range c.pending {
		var err error = data.err
		if id == data.id {
			err = data.err.Err
		}
		p.answer <- answer{err: err}
		delete(c.pending, id)
	}
}

func (c *Conn) tellViolation(e *FrameError) {
	v := Violation{FrameSize: e.Size, Max: e.Limit, Reason: ReasonOversized}
	log := c.opts.Logger
	log.Error(fmt.Sprintf("Frame size exceeds limit: %d bytes (max: %d)", v.FrameSize, v.Max))
	log.Error("Closing connection due to protocol violation.",
		"frame_size", v.FrameSize, "max", v.Max, "reason", v.Reason)
	if c.opts.OnViolation != nil {
		c.opts.OnViolation(v)
	}
}

// schedule sets the timer for the next start, or gives the server up after too many failures.
func (c *Conn) schedule(lost *TransportError) {
	c.stopTimer()
	never := c.opts.Restarts < 0
	tooOften := c.opts.Restarts > 0 && c.retry.failures >= c.opts.Restarts
	if never || tooOften {
		c.tasks.Go(func() { c.dispatch(nil, exhausted, eventData{err: lost}) })
		return
	}
	wait := c.retry.next()
	c.opts.Logger.Warn("Server lost",
		"reason", lost.Reason, "error", lost.Err, "restart", wait.Round(time.Millisecond))
	c.stopTimer = c.opts.AfterFunc(wait, func() { c.dispatch(nil, elapsed, eventData{}) })
}

// start returns at once, and starts the server as soon as the previous process is gone.
func (c *Conn) start() {
	c.opts.Logger.Debug("Starting the server")
	before := c.last
	c.tasks.Go(func() {
		if before != nil {
			<-before.ended
		}
		l, err := newLink(c)
		if err != nil {
			lost := &TransportError{Reason: ReasonStart, Err: err}
			c.dispatch(nil, startFailed, eventData{err: lost})
			return
		}
		c.mu.Lock()
		c.last = l
		c.mu.Unlock()
		c.dispatch(l, started, eventData{})
	})
}
