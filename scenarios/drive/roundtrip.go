package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

var errClosed = errors.New("drive: the driver is closed")

// An outcome is what came of one request.
type outcome struct {
	verdict Verdict
	why     string
	// where the answer is not as a recording has it; "" where it is, or there is none
	differs string
	code    string        // of the error in the answer
	offset  *int64        // of the first wrong byte of the payload; nil where none is
	size    int           // bytes of the answer
	at      time.Time     // when it was whole
	took    time.Duration // from the first byte offered to the last byte of the answer
	// bytes of the request that the pipe took, header and terminator among them
	accepted int64

	evidence *results.FailureEvidence // nil where nothing failed
}

// fail makes the outcome one that needs an explanation.
func (o *outcome) fail(err error) {
	o.verdict, o.why = Deaf, err.Error()
	if errors.Is(err, errEndless) {
		o.verdict = Endless
	}
	o.evidence = cmp.Or(o.evidence, new(results.FailureEvidence))
}

// roundTrip sends the template's i-th copy and waits for its answer. Its error is ours, or that the
// server cannot be started any more; what the server does wrong is in the outcome, and it has been
// ended then.
func (d *Driver) roundTrip(ctx context.Context, t *requestTemplate, i int64) (outcome, error) {
	c, err := d.live(ctx)
	if err != nil {
		return outcome{}, err
	}
	before := c.counters()
	out := d.exchange(ctx, c, t, i, before, d.deadline(t.kind, len(t.msg)))
	if ctx.Err() != nil {
		d.discard(c)
		return outcome{}, context.Cause(ctx)
	}
	if out.verdict == OK {
		c.answered++
		if size := len(t.msg); size >= d.paces[t.kind].size {
			d.paces[t.kind] = deadlineModel{size, out.took}
		}
	} else {
		d.examine(ctx, c, before, &out)
		if again, works := d.retryInChunks(ctx, c, t, i); works {
			return again, nil
		}
		if out.verdict != ErrorReply || out.evidence.Probe != probeAnswered {
			d.discard(c)
			return out, nil
		}
	}
	if t.release != nil {
		msg := t.release.number(i)
		// where it is not taken, the next request fails, too
		_ = c.sendWithin(d.deadline(t.kind, len(msg)), msg)
	}
	return out, nil
}

// exchange sends and waits. Its verdicts are provisional where nothing came: examine finds out why.
func (d *Driver) exchange(
	ctx context.Context,
	c *conn,
	t *requestTemplate,
	i int64,
	before counters,
	limit time.Duration,
) outcome {
	got := c.expect(t)
	defer c.receiver.Store(nil)
	began := time.Now()
	stop := c.watchWrite(limit)
	err := c.send(t.number(i))
	if err == nil && t.query != nil {
		err = c.send(t.query.number(i))
	}
	out := outcome{evidence: stop(), accepted: c.in.bytes.Load() - before.sent}
	if err != nil {
		out.fail(errors.New(whyNotTaken(err, out.accepted)))
		out.evidence.Unsent = true
		c.lastAnswer(got, began, &out)
		return out
	}
	c.await(ctx, got, began, before, limit, &out)
	return out
}

// whyNotTaken says in plain words why a request could not be written.
func whyNotTaken(err error, accepted int64) string {
	taken := stat.FormatBytes(accepted) + " of the request were taken"
	if errors.Is(err, syscall.EPIPE) {
		return "nobody reads the server's input any more, after " + taken
	}
	if errors.Is(err, os.ErrClosed) {
		return "the request was not taken in its time: " + taken
	}
	return fmt.Sprintf("the request was not taken: %v", err)
}

// expect has the next answer to the template's message checked and handed over.
func (c *conn) expect(t *requestTemplate) <-chan outcome {
	got := make(chan outcome, 1)
	r := receiver(func(msg []byte, e jsonrpc.Envelope, at time.Time) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.answers(e) {
			c.strays.unasked.Add(1)
			return
		}
		out := t.check(msg, e)
		out.size, out.at = len(msg), at
		select {
		case got <- out:
		default: // a second answer to one request
			c.strays.unasked.Add(1)
		}
	})
	c.receiver.Store(&r)
	return got
}

// await waits for the answer. A server that works on it, or is still sending it, has its deadline
// put off.
func (c *conn) await(
	ctx context.Context,
	got <-chan outcome,
	began time.Time,
	before counters,
	limit time.Duration,
	out *outcome,
) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	more := c.extension(mostExtensions)
	more.last.received = before.received // the answer may be here already, and not yet handed over
	for {
		select {
		case r := <-got:
			out.take(r, began)
			return
		case <-c.closed:
			if out.fail(c.silence()); out.verdict == Deaf {
				c.lastAnswer(got, began, out)
			}
			return
		case <-timer.C:
			if len(got) > 0 || more.granted() { // both may have come while we had no CPU
				timer.Reset(limit)
				continue
			}
			out.fail(fmt.Errorf("no answer within %s", time.Since(began).Round(time.Millisecond)))
			return
		case <-ctx.Done():
			return
		}
	}
}

// take completes the outcome by an answer.
func (o *outcome) take(r outcome, began time.Time) {
	r.accepted, r.evidence = o.accepted, o.evidence
	r.took = r.at.Sub(began)
	*o = r
}

// lastAnswer takes an answer that came before the server left, or while it refused the rest of the
// request.
func (c *conn) lastAnswer(got <-chan outcome, began time.Time, out *outcome) {
	if !c.Ended(leaveAtTerm) {
		return
	}
	<-c.closed
	select {
	case r := <-got:
		out.take(r, began)
	default:
	}
}

// A deadlineModel predicts how long a server takes, after what it took for other sizes.
type deadlineModel struct {
	size int // bytes of the largest message that was answered
	took time.Duration
}

// firstGuess is for a server of which nothing is known: twice the slowest that was measured, an SDK
// example that logs what it gets.
const firstGuess = 800 * time.Nanosecond // a byte

// predict returns how long a message of size bytes takes if time grows as size does. What a small
// message took is mostly what every one costs, and says little about a large one.
func (m *deadlineModel) predict(size int) time.Duration {
	switch {
	case m.size == 0:
		return time.Duration(size) * firstGuess
	case size <= m.size:
		return m.took
	case m.size < linearFrom:
		return m.took + time.Duration(size-m.size)*firstGuess
	}
	return time.Duration(float64(m.took) * float64(size) / float64(m.size))
}

// margin is how much slower than predicted a server may be.
const margin = 10

// deadline returns how long a server has for a request of a kind, of size bytes.
func (d *Driver) deadline(kind requestKind, size int) time.Duration {
	return min(d.o.Patience+margin*d.paces[kind].predict(size), d.o.Longest)
}

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
	var late *results.FailureEvidence
	more := c.extension(mostExtensions)
	dog := child.Watch(limit, more.granted, func() {
		late = new(results.FailureEvidence)
		c.recordFills(late)
		c.stdin.Close()
	})
	return func() *results.FailureEvidence {
		dog.Stop()
		return late
	}
}

// recordFills reads how many bytes wait in each pipe, where the system tells.
func (c *conn) recordFills(e *results.FailureEvidence) {
	pipes := map[*syspipe.End]**int64{
		c.stdin:  &e.UnreadStdin,
		c.stdout: &e.UnreadStdout,
		c.stderr: &e.UnreadStderr,
	}
	for end, unread := range pipes {
		if n, err := end.Buffered(); err == nil {
			*unread = new(int64(n))
		}
	}
}

// examine finds out how a server failed: whether it lives, how it ended, and what it used since
// before.
func (d *Driver) examine(ctx context.Context, c *conn, before counters, out *outcome) {
	out.evidence = cmp.Or(out.evidence, new(results.FailureEvidence))
	e := out.evidence
	e.Accepted, e.ServedBefore, e.Offset = out.accepted, c.answered, out.offset
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
	e.CPUNS, e.PeakBytes = since(c.counters().cpu, before.cpu), ifKnown(c.PeakMemory())
	e.WaitedNS = int64(time.Since(before.at))
	if !c.alive() {
		if _, name, ok := proc.Signaled(c.Cmd.ProcessState); ok {
			e.Signal = name
		} else {
			e.ExitCode = new(c.Cmd.ProcessState.ExitCode())
		}
		closedWithin(c.drained, leaveAtTerm)
	}
	e.StderrBytes = c.stderrTail.Total() - before.stderr
	e.StderrTail = c.stderrLines()
}

// explainSilence finds a better word for a server that was not heard of.
func (d *Driver) explainSilence(ctx context.Context, c *conn, before counters, out *outcome) {
	e := out.evidence
	if c.left() {
		e.Probe = probeGone
		out.verdict = c.exitVerdict()
		n := c.partial()
		// a line framing delivers what it had when the stream ended
		if _, _, cut := c.strays.nonMessages(); cut {
			n = c.out.bytes.Load() - before.received
		}
		if n > 0 {
			out.why = fmt.Sprintf(
				"the answer broke off after %d bytes, and the server ended with %s",
				n,
				out.verdict,
			)
			out.verdict, e.Partial = Truncated, n
		}
		return
	}
	if e.Unsent {
		e.Probe = probeRefused
		stream, unread := "standard error", e.UnreadStderr
		if unread == nil || *unread == 0 {
			stream, unread = "output", e.UnreadStdout
		}
		if unread != nil && *unread > 0 {
			out.verdict = Deadlock
			out.why = fmt.Sprintf(
				"the request was not taken, and %d bytes of its %s wait for a reader",
				*unread,
				stream,
			)
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
	case !c.alive() || c.left():
		return probeGone
	case out.evidence != nil && out.evidence.Unsent:
		return probeRefused
	}
	return probeSilent
}

// ifKnown returns what a system told of a process, nil where it did not.
func ifKnown[N ~int64](n N, known bool) *int64 {
	if !known {
		return nil
	}
	return new(int64(n))
}

// counters are what both sides had done at a time.
type counters struct {
	at             time.Time
	sent, received int64 // bytes that the pipe took of ours, and that came
	calls          int64 // ours, to write and to read
	stderr         int64 // bytes that the server wrote there

	// ns of a CPU; nil where the system does not tell
	cpu     *int64 // that the server used
	treeCPU *int64 // that the server and all that it started used; read by account alone
	ownCPU  *int64 // that we used; read by account alone
}

// counters reads where both sides are, but for our own CPU time.
func (c *conn) counters() counters {
	return counters{
		at: time.Now(), sent: c.in.bytes.Load(), received: c.out.bytes.Load(),
		calls:  c.in.calls.Load() + c.out.calls.Load(),
		stderr: c.stderrTail.Total(), cpu: ifKnown(c.CPU()),
	}
}

// account reads where both sides are, for a sample.
func (c *conn) account() counters {
	now := c.counters()
	now.ownCPU, now.treeCPU = ifKnown(proc.OwnCPU()), ifKnown(c.TreeCPU())
	return now
}

// since returns by how much processor time went up; nil where it is not known.
func since(now, before *int64) *int64 {
	if now == nil || before == nil {
		return nil
	}
	return new(*now - *before)
}

// sample says what both sides did since. The writer is this process, the reader is the server,
// which alone knows how many calls it made.
func (c *conn) sample(before counters) results.Sample {
	now := c.account()
	s := results.Sample{WireBytes: now.sent - before.sent}
	moved := s.WireBytes + now.received - before.received
	s.Writer = results.Counters{
		Calls: now.calls - before.calls,
		Bytes: moved,
		CPUNS: since(now.ownCPU, before.ownCPU),
	}
	s.Reader = results.Counters{
		Bytes:     moved,
		CPUNS:     since(now.treeCPU, before.treeCPU),
		PeakBytes: ifKnown(c.PeakMemory()),
	}
	s.Capacity, _ = c.stdin.Capacity() // 0 where the system does not tell
	return s
}

// timed says what both sides did since, in round trips that took so many ns each and carried so
// many bytes of payload together.
func (c *conn) timed(before counters, times []int64, payload int64) (results.Sample, error) {
	s := c.sample(before)
	s.Messages, s.PayloadBytes = int64(len(times)), payload
	for _, took := range times {
		s.ElapsedNS += took
	}
	latency, err := results.NewLatency(times)
	s.Latency = map[string]results.Latency{latencyRoundtrip: latency}
	return s, err
}

// busy is the share of a CPU above which a server is at work, not asleep.
const busy = 0.2

// spun reports whether the server used a good part of a CPU between two readings; with all that it
// started, where both are of an account.
func spun(before, now counters) bool {
	worked := cmp.Or(since(now.treeCPU, before.treeCPU), since(now.cpu, before.cpu))
	return worked != nil && float64(*worked) > busy*float64(now.at.Sub(before.at))
}

// An extension puts off a deadline for a server that gets on, a number of times.
type extension struct {
	c    *conn
	last counters
	left int
}

// mostExtensions is how often a deadline for a message is put off.
const mostExtensions = 9

func (c *conn) extension(times int) extension { return extension{c, c.account(), times} }

// granted reports whether the server did anything since the last time (took something, sent
// something, or worked for a good part of the time), or would have if it had a CPU: on a busy
// machine one that is at work may come to less than its share.
func (x *extension) granted() bool {
	now, last := x.c.account(), x.last
	x.left, x.last = x.left-1, now
	moved := now.sent > last.sent || now.received > last.received
	waits, _ := x.c.stdout.Buffered() // 0 where the system does not tell
	return x.left >= 0 && (moved || waits > 0 || spun(last, now) || x.c.Runnable())
}
