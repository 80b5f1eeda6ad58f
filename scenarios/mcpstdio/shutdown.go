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
	case <-s.hung:
		reading, s.err = true, s.hangErr
	case <-s.gone:
		reading = true
	}
	s.drain()
	if reading && interrupt(s.in) {
		<-ended
	}
	if s.vanished() {
		s.err = s.goneErr
	}
	release(s.in, s.out)
	close(s.stopped)
}

// drain answers what was read, in a bounded time:
//
//	reading ends     grace     cancelled    flush      over
//	     |-------------|-----------|----------|----------|
//	     <----------- ShutdownTimeout at most ----------->
func (s *Server) drain() {
	latest := time.Now().Add(s.opts.ShutdownTimeout)
	s.desk.advance(Running, Draining)
	interrupt(s.in)
	if !s.vanished() && !s.settled(s.opts.EOFGrace, latest) {
		flush := time.Now().Add(max(s.opts.FlushTimeout, 0))
		if flush.After(latest) {
			flush = latest
		}
		bound(s.out, flush)
		for _, r := range s.desk.unanswered() {
			go r.session.cancel(r.number)
		}
		s.settled(time.Until(flush), latest)
	}
	flushed, dropped := s.desk.shut()
	if !s.vanished() {
		s.log.Info(fmt.Sprintf("Client disconnected (EOF), flushed %d responses, dropped %d responses", flushed, dropped))
	}
	bound(s.out, time.Now())
	close(s.drained)
	s.dismiss(latest)
}

// settled waits until everything is answered, for d at most and not beyond latest. It reports whether everything is.
func (s *Server) settled(d time.Duration, latest time.Time) bool {
	timer := time.NewTimer(min(d, time.Until(latest)))
	defer timer.Stop()
	select {
	case <-s.desk.quiet:
		return true
	case <-s.hung:
		return true // or never will be
	case <-s.gone:
		return true // as above
	case <-timer.C:
		return false
	}
}

// dismiss waits for the SDK's sessions, which end when what they write does: at once where the output has deadlines.
func (s *Server) dismiss(latest time.Time) {
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

func (s *Server) vanished() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// interrupt ends a read that blocks, and reports whether it could: in needs deadlines. Without them, as stdin of most
// programs, the read ends with the process.
func interrupt(in any) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(time.Unix(1, 0)) == nil
}

// bound ends a write that still blocks at a time, if out has deadlines.
func bound(out any, at time.Time) {
	if d, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(at)
	}
}

// release gives the streams back without deadlines.
func release(in, out any) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(time.Time{})
	}
	bound(out, time.Time{})
}
