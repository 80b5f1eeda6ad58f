package drive

import (
	"context"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// What a small request met after a failure.
const (
	probeAnswered = "answered"
	probeSilent   = "silent"
	probeRefused  = "not taken"
	probeGone     = "gone"
)

// watchWrite closes the server's standard input when a write misses its deadline, after recording
// how full the pipes were; stop ends the watch, and returns that record if it came to that, else
// nil. While a write is under way the answers of the server are read, so that only a server which
// does not read can make it late.
func (c *conn) watchWrite(limit time.Duration) (stop func() *results.FailureEvidence) {
	late := make(chan *results.FailureEvidence, 1)
	last, looks := c.counters(), 0
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		now := c.counters()
		if looks++; looks < mostExtensions && c.progresses(last, now) {
			last = now
			timer.Reset(limit)
			return
		}
		e := new(results.FailureEvidence)
		c.recordFills(e)
		late <- e
		c.stdin.Close()
	})
	timer.Reset(limit) // not before it has its name
	return func() *results.FailureEvidence {
		timer.Stop()
		select {
		case e := <-late:
			return e
		default:
			return nil
		}
	}
}

// recordFills reads how many bytes wait in each pipe, where the system tells.
func (c *conn) recordFills(e *results.FailureEvidence) {
	if n, err := c.stdin.Buffered(); err == nil {
		e.UnreadStdin = new(int64(n))
	}
	if n, err := c.stdout.Buffered(); err == nil {
		e.UnreadStdout = new(int64(n))
	}
	if n, err := c.stderr.Buffered(); err == nil {
		e.UnreadStderr = new(int64(n))
	}
}

// examine finds out how a server failed: whether it lives, how it ended, and what it used since
// before.
func (d *Driver) examine(ctx context.Context, c *conn, before counters, out *outcome) {
	if out.evidence == nil {
		out.evidence = new(results.FailureEvidence)
	}
	e := out.evidence
	e.Accepted, e.ServedBefore = out.accepted, c.answered
	if out.offset >= 0 {
		e.Offset = new(int64(out.offset))
	}
	if e.UnreadStdin == nil && c.alive() {
		c.recordFills(e)
	}
	switch out.verdict {
	case Deaf:
		d.explainSilence(ctx, c, before, out)
	case Endless: // nobody reads any more what it answers
	default:
		e.Probe = d.probe(ctx, c)
	}
	e.CPUNS, e.PeakBytes = since(c.counters().cpu, before.cpu), c.peakMemory()
	ended := !c.alive()
	if ended {
		if _, name, ok := proc.Signaled(c.Cmd.ProcessState); ok {
			e.Signal = name
		} else {
			e.ExitCode = new(c.Cmd.ProcessState.ExitCode())
		}
	}
	e.WaitedNS = int64(time.Since(before.at))
	if ended {
		c.drainStderr()
	}
	e.StderrBytes = c.stderrTail.Total() - before.stderr
	e.StderrTail = c.stderrLines()
}

// explainSilence finds a better word for a server that was not heard of.
func (d *Driver) explainSilence(ctx context.Context, c *conn, before counters, out *outcome) {
	e := out.evidence
	if c.isClosed() && c.Ended(leaveAtTerm) {
		e.Probe = probeGone
		out.verdict = c.exitVerdict()
		n := c.partial()
		if _, _, cut := c.strays.nonMessages(); cut { // a line framing delivers what it had when the stream ended
			n = c.out.bytes.Load() - before.received
		}
		if n > 0 {
			out.why = fmt.Sprintf("the answer broke off after %d bytes, and the server ended with %s", n, out.verdict)
			out.verdict, e.Partial = Truncated, n
		}
		return
	}
	if e.Unsent {
		e.Probe = probeRefused
		for _, stream := range []struct {
			name   string
			unread *int64
		}{{"standard error", e.UnreadStderr}, {"output", e.UnreadStdout}} {
			if stream.unread != nil && *stream.unread > 0 {
				out.verdict = Deadlock
				out.why = fmt.Sprintf("the request was not taken, and %d bytes of its %s wait for a reader", *stream.unread, stream.name)
				return
			}
		}
		return
	}
	partial := c.partial() // the answer to the probe would end it
	e.Probe = d.probe(ctx, c)
	switch {
	case e.Probe == probeAnswered:
		out.verdict = Unanswered
	case !c.alive():
		out.verdict = c.exitVerdict()
	case partial > 0:
		out.verdict, e.Partial = Truncated, partial
		out.why += fmt.Sprintf(", %d bytes of it came", partial)
	}
}

// probe asks the server for a sign of life.
func (d *Driver) probe(ctx context.Context, c *conn) string {
	if !c.alive() {
		return probeGone
	}
	out := d.exchange(ctx, c, d.smallest(transportRequest), manyIDs-1, c.counters(), d.o.Patience)
	switch {
	case out.verdict == OK, out.verdict == ErrorReply:
		return probeAnswered
	case !c.alive() || c.isClosed() && c.Ended(leaveAtTerm):
		return probeGone
	case out.evidence != nil && out.evidence.Unsent:
		return probeRefused
	}
	return probeSilent
}
