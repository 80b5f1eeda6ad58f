package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

var errClosed = errors.New("drive: the driver is closed")

// An outcome is what came of one request.
type outcome struct {
	verdict  Verdict
	why      string
	took     time.Duration // from the first byte offered to the last byte of the answer
	accepted time.Duration // until the last byte was taken
	reply    int           // bytes of the answer
	code     string        // of the error in it
	evidence evidence
}

// A received is an answer as the reading goroutine saw it.
type received struct {
	judgement
	size int
	at   time.Time
}

// trip sends the shape's i-th copy and waits for its answer. The error is ours, or that the server cannot be started any more; what the
// server does wrong is in the outcome, and it has been ended then.
func (d *Driver) trip(ctx context.Context, s *shape, i int64) (outcome, error) {
	c, err := d.live(ctx)
	if err != nil {
		return outcome{}, err
	}
	out := d.exchange(ctx, c, s, i)
	if ctx.Err() != nil {
		d.discard(c)
		return outcome{}, context.Cause(ctx)
	}
	if out.verdict == OK {
		d.pace.learn(len(s.msg), out.took)
		d.conclude(c, s, i)
		return out, nil
	}
	d.examine(ctx, c, &out)
	if out.verdict != ErrorReply || !out.evidence.survived() {
		d.discard(c)
		return out, nil
	}
	d.conclude(c, s, i)
	return out, nil
}

// exchange sends and waits. Its verdicts are provisional where nothing came: examine finds out why.
func (d *Driver) exchange(ctx context.Context, c *conn, s *shape, i int64) outcome {
	msg := s.msg
	limit := d.deadline(len(msg))
	got := c.expect(s)
	defer c.receiver.Store(nil)
	before := c.state()
	began := time.Now()
	stuck := c.watch(limit)
	err := c.sendShape(s, i)
	out := outcome{accepted: time.Since(began)}
	out.evidence = stuck.end(before)
	if err != nil {
		out.verdict, out.why = Deaf, fmt.Sprintf("the request was not taken: %v", err)
		out.evidence.Unsent = true
		c.lastChance(got, began, &out)
		return out
	}
	c.await(ctx, got, began, limit, &out)
	return out
}

// expect has the next answer to the shape's message judged and handed over.
func (c *conn) expect(s *shape) <-chan received {
	got := make(chan received, 1)
	var j judge
	r := receiver(func(msg []byte, e jsonrpc.Envelope, at time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.answers(e) {
			c.noise.note(&c.noise.late)
			return
		}
		select {
		case got <- received{j.judge(s, msg, e), len(msg), at}:
		default: // a second answer to one request
			c.noise.note(&c.noise.late)
		}
	})
	c.receiver.Store(&r)
	return got
}

// await waits for the answer. A server that works on it, or is still sending it, has its deadline put off.
func (c *conn) await(ctx context.Context, got <-chan received, began time.Time, limit time.Duration, out *outcome) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	last, looks := c.state(), 0
	for {
		select {
		case r := <-got:
			out.take(r, began)
			return
		case <-c.closed:
			out.verdict, out.why = Deaf, "the server closed its output"
			c.lastChance(got, began, out)
			return
		case <-timer.C:
			now := c.state()
			if looks++; looks < most && c.getsOn(last, now) {
				last = now
				timer.Reset(limit)
				continue
			}
			out.verdict, out.why = Deaf, fmt.Sprintf("no answer within %s", time.Since(began).Round(time.Millisecond))
			return
		case <-ctx.Done():
			return
		}
	}
}

func (o *outcome) take(r received, began time.Time) {
	o.verdict, o.why, o.code, o.reply, o.took = r.verdict, r.why, r.code, r.size, r.at.Sub(began)
	if r.offset >= 0 {
		o.evidence.Offset = new(int64(r.offset))
	}
}

// lastChance takes an answer that came before the server left, or while it refused the rest of the request.
func (c *conn) lastChance(got <-chan received, began time.Time, out *outcome) {
	if !c.ended(leaveAtTerm) {
		return
	}
	<-c.closed
	select {
	case r := <-got:
		out.take(r, began)
	default:
	}
}
