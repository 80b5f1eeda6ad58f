package mcpstdio

import (
	"context"
	"fmt"
	"time"
)

// supervise reads until something ends that, and sees the server out.
func (s *Server) supervise(ctx context.Context) {
	ended := make(chan error, 1)
	go func() { ended <- s.read() }()
	var reading bool
	select {
	case s.err = <-ended:
	case <-s.stop:
		reading = true
	case <-ctx.Done():
		reading = true
	case <-s.outputFailed:
		reading, s.err = true, s.outputErr
	case <-s.aborted:
		reading = true
	}
	s.drain()
	if reading && interruptRead(s.in) {
		<-ended
	}
	if s.isAborted() {
		s.err = s.abortErr
	}
	clearDeadlines(s.in, s.out)
	close(s.stopped)
}

// drain answers what was read, in a bounded time:
//
//	reading ends     grace     cancelled    flush      over
//	     |-------------|-----------|----------|----------|
//	     <----------- ShutdownTimeout at most ----------->
func (s *Server) drain() {
	latest := time.Now().Add(s.opts.ShutdownTimeout)
	s.pending.advance(Running, Draining)
	interruptRead(s.in)
	if !s.isAborted() && !s.awaitAnswers(s.opts.EOFGrace, latest) {
		flush := time.Now().Add(max(s.opts.FlushTimeout, 0))
		if flush.After(latest) {
			flush = latest
		}
		boundWrite(s.out, flush)
		for _, r := range s.pending.list() {
			go r.session.cancel(r.number)
		}
		s.awaitAnswers(time.Until(flush), latest)
	}
	flushed, dropped := s.pending.close()
	if !s.isAborted() {
		s.log.Info(fmt.Sprintf("Client disconnected (EOF), flushed %d responses, dropped %d responses", flushed, dropped))
	}
	boundWrite(s.out, time.Now())
	close(s.drained)
	s.awaitSessions(latest)
}

// awaitAnswers waits until everything is answered, for d at most and not beyond latest. It reports whether everything is.
func (s *Server) awaitAnswers(d time.Duration, latest time.Time) bool {
	timer := time.NewTimer(min(d, time.Until(latest)))
	defer timer.Stop()
	select {
	case <-s.pending.idle:
		return true
	case <-s.outputFailed:
		return true // or never will be
	case <-s.aborted:
		return true // as above
	case <-timer.C:
		return false
	}
}

// awaitSessions waits for the SDK's sessions, which end when what they write does: at once where the output has deadlines.
func (s *Server) awaitSessions(latest time.Time) {
	over := make(chan struct{})
	go func() {
		s.sessions.Wait()
		close(over)
	}()
	timer := time.NewTimer(time.Until(latest))
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
}

func (s *Server) isAborted() bool {
	select {
	case <-s.aborted:
		return true
	default:
		return false
	}
}

// interruptRead ends a read that blocks, and reports whether it could: in needs deadlines. Without them, as stdin of most
// programs, the read ends with the process.
func interruptRead(in any) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(time.Unix(1, 0)) == nil
}

// boundWrite ends a write that still blocks at a time, if out has deadlines.
func boundWrite(out any, at time.Time) {
	if d, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(at)
	}
}

// clearDeadlines gives the streams back without deadlines.
func clearDeadlines(in, out any) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(time.Time{})
	}
	boundWrite(out, time.Time{})
}
