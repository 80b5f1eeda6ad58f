package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// evidence is what there is to know about a failed request, as it stands in the record.
type evidence struct {
	Accepted   int64    `json:"accepted_bytes,omitempty"`      // of the request, header and terminator among them, taken by the pipe
	Unread     *int64   `json:"unread_stdin_bytes,omitempty"`  // of them, not read by the server
	Unfetched  *int64   `json:"unread_stdout_bytes,omitempty"` // written by the server, not read by us
	StuckError *int64   `json:"unread_stderr_bytes,omitempty"` // written by the server to a standard error that is not drained
	Unsent     bool     `json:"unsent,omitempty"`              // the pipe did not take all of the request
	Offset     *int64   `json:"offset,omitempty"`              // of the first wrong byte of the payload
	Partial    int64    `json:"partial_reply_bytes,omitempty"` // that came of an answer which did not come whole
	Probe      string   `json:"probe,omitempty"`               // what a small request met afterwards: "answered", "silent", "not taken", "gone"
	Exit       *int     `json:"exit_code,omitempty"`
	Signal     string   `json:"signal,omitempty"`
	CPU        *int64   `json:"cpu_ns,omitempty"`     // that the server used over this request
	Peak       *int64   `json:"peak_bytes,omitempty"` // largest resident memory so far
	Stderr     int64    `json:"stderr_bytes,omitempty"`
	LastWords  []string `json:"stderr_tail,omitempty"`
	Waited     int64    `json:"waited_ns,omitempty"`

	before state
}

// fields are the evidence as a record holds it.
func (e evidence) fields() map[string]any {
	text, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("target: evidence: %v", err)) // plain data
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("target: evidence: %v", err))
	}
	return out
}

// survived reports whether the server answered the probe.
func (e evidence) survived() bool { return e.Probe == probeAnswered }

const (
	probeAnswered = "answered"
	probeSilent   = "silent"
	probeRefused  = "not taken"
	probeGone     = "gone"
)

// A state is what the server has done so far.
type state struct {
	at       time.Time
	cpu      cpuTime
	sent     int64 // bytes that the pipe took of ours
	received int64 // bytes that came
	stderr   int64
}

func (c *conn) state() state {
	return state{time.Now(), c.cpu(), c.in.bytes.Load(), c.out.bytes.Load(), c.words.bytes()}
}

// busy is the share of a CPU above which a server is at work, not asleep.
const busy = 0.2

// ahead reports whether the server got on since an earlier state: it took something, sent something, or worked for a good part of the time.
func (s state) ahead(earlier state) bool {
	if s.sent > earlier.sent || s.received > earlier.received {
		return true
	}
	worked := s.cpu.since(earlier.cpu)
	return worked != nil && float64(*worked) > busy*float64(s.at.Sub(earlier.at))
}

// getsOn reports whether the server is ahead of an earlier state, or would be if it had a CPU: on a busy machine one that is at work may come
// to less than its share.
func (c *conn) getsOn(earlier, now state) bool {
	return now.ahead(earlier) || c.alive() && runnable(c.cmd.Process.Pid)
}

// most is how often a deadline is put off for a server that gets on.
const most = 10

// A watchman ends a write that takes too long, having looked around first.
type watchman struct {
	c     *conn
	timer *time.Timer
	done  chan evidence
}

// watch sets the deadline for a write. While it is under way the answers of the server are read, so that only a server which does not read
// can make it late.
func (c *conn) watch(limit time.Duration) *watchman {
	w := &watchman{c: c, done: make(chan evidence, 1)}
	last, looks := c.state(), 0
	w.timer = time.AfterFunc(time.Hour, func() {
		now := c.state()
		if looks++; looks < most && c.getsOn(last, now) {
			last = now
			w.timer.Reset(limit)
			return
		}
		var e evidence
		c.fills(&e)
		w.done <- e
		c.stdin.Close()
	})
	w.timer.Reset(limit)
	return w
}

// end calls the watchman off, and returns what he saw if he had to act.
func (w *watchman) end(before state) evidence {
	var e evidence
	w.timer.Stop()
	select {
	case e = <-w.done:
	default:
	}
	e.before = before
	e.Accepted = w.c.in.bytes.Load() - before.sent
	return e
}

// fills reads how many bytes wait in each pipe, where the system tells.
func (c *conn) fills(e *evidence) {
	if n, err := c.stdin.Buffered(); err == nil {
		e.Unread = new(int64(n))
	}
	if n, err := c.stdout.Buffered(); err == nil {
		e.Unfetched = new(int64(n))
	}
	if n, err := c.stderr.Buffered(); err == nil {
		e.StuckError = new(int64(n))
	}
}

// examine finds out how a server failed: whether it lives, how it ended, and what it used.
func (d *Driver) examine(ctx context.Context, c *conn, out *outcome) {
	e := &out.evidence
	if e.Unread == nil && c.alive() {
		c.fills(e)
	}
	if out.verdict == Deaf {
		d.tellDeaf(ctx, c, out)
	} else {
		e.Probe = d.probe(ctx, c)
	}
	e.CPU, e.Peak = c.cpu().since(e.before.cpu), c.peakMemory()
	if !c.alive() {
		e.ended(c.cmd.ProcessState)
	}
	e.Waited = int64(time.Since(e.before.at))
	if !c.alive() {
		c.hearOut()
	}
	e.Stderr = c.words.bytes() - e.before.stderr
	e.LastWords = c.words.lines()
}

func (e *evidence) ended(state *os.ProcessState) {
	if name, ok := signalOf(state); ok {
		e.Signal = name
		return
	}
	e.Exit = new(state.ExitCode())
}

// tellDeaf finds a better word for silence.
func (d *Driver) tellDeaf(ctx context.Context, c *conn, out *outcome) {
	e := &out.evidence
	if c.isClosed() && c.ended(leaveAtTerm) {
		e.Probe = probeGone
		out.verdict = c.verdict()
		if n := c.brokenOff(e.before); n > 0 {
			out.verdict, e.Partial = Truncated, n
			out.why = fmt.Sprintf("the answer broke off after %d bytes, and the server ended with %s", n, c.verdict())
		}
		return
	}
	if e.Unsent {
		e.Probe = probeRefused
		if stuck := e.stuckOutput(); stuck != "" {
			out.verdict = Deadlock
			out.why = "the request was not taken, and " + stuck
		}
		return
	}
	partial := c.partial() // the answer to the probe would end it
	e.Probe = d.probe(ctx, c)
	switch {
	case e.Probe == probeAnswered:
		out.verdict = Unanswered
	case !c.alive():
		out.verdict = c.verdict()
	case partial > 0:
		out.verdict, e.Partial = Truncated, partial
		out.why += fmt.Sprintf(", %d bytes of it came", e.Partial)
	}
}

// brokenOff is how many bytes of an answer came from a server that ended in the middle of it. What a line framing had of a message when the
// stream ended, it delivers as a line.
func (c *conn) brokenOff(before state) int64 {
	switch {
	case c.noise.torn():
		return c.out.bytes.Load() - before.received
	case c.partial() > 0:
		return c.partial()
	}
	return 0
}

// stuckOutput says which output of the server holds it up, if one does.
func (e *evidence) stuckOutput() string {
	switch {
	case e.StuckError != nil && *e.StuckError > 0:
		return fmt.Sprintf("%d bytes of its standard error wait for a reader", *e.StuckError)
	case e.Unfetched != nil && *e.Unfetched > 0:
		return fmt.Sprintf("%d bytes of its output wait for a reader", *e.Unfetched)
	}
	return ""
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// probe asks the server for a sign of life.
func (d *Driver) probe(ctx context.Context, c *conn) string {
	s, err := d.smallest(askTransport)
	if err != nil || !c.alive() {
		return probeGone
	}
	got := c.expect(s)
	defer c.receiver.Store(nil)
	limit := d.o.Patience
	began := time.Now()
	stuck := c.watch(limit)
	err = c.send(s.number(manyIDs - 1))
	stuck.end(c.state())
	if err != nil {
		if c.ended(leaveAtTerm) {
			return probeGone
		}
		return probeRefused
	}
	var out outcome
	c.await(ctx, got, began, limit, &out)
	switch {
	case out.verdict == OK, out.verdict == ErrorReply:
		return probeAnswered
	case !c.alive() || c.isClosed() && c.ended(leaveAtTerm):
		return probeGone
	}
	return probeSilent
}
