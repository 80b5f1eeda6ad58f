package drive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A loadRound is one of the equal parts of a load, and makes one sample. One goroutine sends the
// requests, and another goroutine receives the answers.
type loadRound struct {
	server *target.Server
	load   Load
	length time.Duration
	limit  time.Duration   // how long the server may do nothing while it owes an answer
	send   *target.Request // the request, for the goroutine that sends
	expect *target.Request // a copy of the request, for the goroutine that receives

	// Each slot holds when an unanswered request was due, in ns since the round began, plus 1. A
	// free slot holds 0.
	slots []atomic.Int64
	began time.Time
	wake  chan struct{} // gets a value when an answer has come

	sent     atomic.Int64
	answered atomic.Int64
	wrong    atomic.Pointer[target.Outcome] // the outcome of the first wrong answer; nil for none

	// These belong to the goroutine that receives, until the round is over:
	latency    *hdrhistogram.Histogram
	highest    int64 // the highest number of a request that was answered; -1 for none
	outOfOrder int64 // answers that came after the answer to a later request
	over       int64 // latencies that are too long for the histogram

	// These belong to the goroutine that sends, until the round is over:
	lateness *hdrhistogram.Histogram
	late     int64 // requests that were late, by more than the constant slack

	failed *target.Outcome // how the server failed, if it did
	sample results.Sample  // if the server did not fail
}

// slot returns the slot of the i-th request. The number of slots is a power of two.
func (r *loadRound) slot(i int64) *atomic.Int64 { return &r.slots[i&int64(len(r.slots)-1)] }

// There are at least slotFactor times as many slots as Load.Inflight, so that one slow answer does
// not hold up other requests.
const slotFactor = 8

// loadRound makes one round of a load.
func (d *Driver) loadRound(
	ctx context.Context, l Load, request *target.Request,
) (*loadRound, error) {
	s, err := d.live(ctx)
	if err != nil {
		return nil, err
	}
	r := &loadRound{
		server: s, load: l, length: l.Duration / loadRounds,
		limit: s.LimitOf(request.Kind, request.Size()*l.Inflight),
		send:  request, expect: request.Clone(),
		slots: make([]atomic.Int64, slotFactor<<bits.Len(uint(l.Inflight))),
		wake:  make(chan struct{}, 1), highest: -1,
		latency: results.NewHistogram(), lateness: results.NewHistogram(),
	}
	before := s.Account()
	r.began = time.Now()
	s.Receive(r.receive)
	failure := r.generate(ctx)
	s.Receive(nil)
	s.CountServed(request.Kind, r.answered.Load())
	elapsed := time.Since(r.began)
	if ctx.Err() != nil {
		d.discard()
		return nil, context.Cause(ctx)
	}
	if failure == nil {
		return r, r.makeSample(before, elapsed)
	}
	out := target.Outcome{Verdict: target.Deaf, Why: failure.Error()}
	if errors.Is(failure, child.ErrEndless) {
		out.Verdict = target.Endless
	}
	if wrong := r.wrong.Load(); wrong != nil {
		out = *wrong
	}
	s.Explain(ctx, before, &out)
	d.discard()
	r.failed = &out
	return r, nil
}

// generate sends requests until the time of the round is over, and waits for the last answer. The
// error says how the server failed.
func (r *loadRound) generate(ctx context.Context) error {
	fits := int64(max(1, batchBytes/r.send.Size()))
	for time.Since(r.began) < r.length {
		var err error
		n := r.room(time.Since(r.began))
		if n > 0 {
			err = r.batch(ctx, min(n, fits))
		} else {
			err = r.wait(ctx, r.nextDue())
		}
		if err != nil {
			return err
		}
	}
	// requests that became due while we had no CPU are sent now, late
	n := r.room(r.length)
	if n > 0 && r.load.Rate > 0 {
		if err := r.batch(ctx, n); err != nil {
			return err
		}
	}
	for r.answered.Load() < r.sent.Load() {
		if err := r.wait(ctx, never); err != nil {
			return err
		}
	}
	return r.firstWrong()
}

// countDue returns how many requests are due when the round has lasted for this time.
func (r *loadRound) countDue(elapsed time.Duration) int64 {
	return int64(r.load.Rate*elapsed.Seconds()) + 1
}

// dueAt returns when the i-th request is due, counted from the start of the round.
func (r *loadRound) dueAt(i int64) time.Duration {
	return time.Duration(float64(i) / r.load.Rate * float64(time.Second))
}

// room returns how many requests may be sent when the round has lasted for this time. A request
// keeps its slot until it is answered.
func (r *loadRound) room(elapsed time.Duration) int64 {
	sent := r.sent.Load()
	n := int64(r.load.Inflight) - (sent - r.answered.Load())
	if r.load.Rate > 0 {
		n = min(n, r.countDue(elapsed)-sent)
	}
	for i := range n {
		if r.slot(sent+i).Load() != 0 {
			return i
		}
	}
	return n
}

const never = time.Duration(math.MaxInt64)

// nextDue returns when the next request is due or the round ends, counted from the start of the
// round. While only an answer can make room for a request, the result is the constant never.
func (r *loadRound) nextDue() time.Duration {
	sent := r.sent.Load()
	full := sent-r.answered.Load() >= int64(r.load.Inflight) || r.slot(sent).Load() != 0
	if full || r.load.Rate == 0 {
		return never
	}
	return min(r.dueAt(sent), r.length)
}

// batchBytes is how many bytes of requests are written before generate looks again how many more
// may be sent.
const batchBytes = 32 << 10

// batch sends n requests in as few calls as possible.
func (r *loadRound) batch(ctx context.Context, n int64) error {
	patient, stop := r.server.Patient(ctx, r.limit, target.MaxPatience*r.limit)
	defer stop()
	before := r.server.In.Bytes()
	err := r.server.Batch(patient, func(w framers.Writer) error { return r.write(w, n) })
	if err != nil {
		return errors.New(target.WhyNotTaken(err, r.server.In.Bytes()-before))
	}
	return nil
}

// A request counts as late if it is sent more than slack after it was due. Timers may be that
// inexact.
const slack = 2 * time.Millisecond

// write writes n requests, and notes when each was due.
func (r *loadRound) write(w framers.Writer, n int64) error {
	now := time.Since(r.began)
	for range n {
		i := r.sent.Load()
		due := now
		if r.load.Rate > 0 {
			due = r.dueAt(i)
			results.Observe(r.lateness, int64(now-due))
			if now-due > slack {
				r.late++
			}
		}
		r.slot(i).Store(int64(due) + 1)
		r.sent.Add(1)
		if err := w.WriteMessage(r.send.Number(i)); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for an answer, but only for a limited time. The parameter end says until when, counted
// from the start of the round. It returns an error if the server owes an answer and does nothing
// for r.limit.
func (r *loadRound) wait(ctx context.Context, end time.Duration) error {
	patient, stop := r.server.Patient(ctx, r.limit, target.MaxPatience*r.limit)
	defer stop()
	due := time.NewTimer(end - time.Since(r.began))
	defer due.Stop()
	before := r.answered.Load()
	select {
	case <-r.wake:
	case <-due.C:
	case <-r.server.Strays.Mixing(): // an answer in that line cannot come any more
		mixed := target.Outcome{Verdict: target.Mixed, Why: target.WhyMixed}
		r.wrong.CompareAndSwap(nil, &mixed)
	case <-r.server.Closed(): // no error if the server answered everything before it ended
		if r.answered.Load() < r.sent.Load() || time.Since(r.began) < r.length {
			return r.server.Err()
		}
	case <-patient.Done():
		owed := r.sent.Load() - before
		if ctx.Err() == nil && r.answered.Load() == before && owed > 0 {
			return fmt.Errorf("%d requests are not answered after %s",
				owed, r.limit.Round(time.Millisecond))
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.firstWrong()
}

// firstWrong returns an error if one of the answers was wrong.
func (r *loadRound) firstWrong() error {
	if wrong := r.wrong.Load(); wrong != nil {
		return errors.New(wrong.Why)
	}
	return nil
}

// receive handles a message that may be an answer. It runs in the goroutine that receives.
func (r *loadRound) receive(m child.Message) {
	i := r.answered.Load()
	if r.expect.Numbered() {
		var ok bool
		i, ok = target.NumberOf(m.Envelope.ID)
		if !ok {
			r.server.Strays.AddUnasked(m.Envelope.ID)
			return
		}
	}
	due := r.freeSlot(i)
	if due < 0 {
		r.server.Strays.AddUnasked(m.Envelope.ID)
		return
	}
	r.expect.Number(i)
	out := r.server.Check(r.expect, m)
	judgeFrames(&out)
	if out.Verdict != target.OK {
		failed := out // a copy, so that only a wrong answer costs an allocation
		r.wrong.CompareAndSwap(nil, &failed)
		r.signal()
		return
	}
	if i < r.highest {
		r.outOfOrder++
	}
	r.highest = max(r.highest, i)
	if results.Observe(r.latency, int64(m.At.Sub(r.began))-due) {
		r.over++
	}
	r.answered.Add(1)
	r.signal()
}

// signal wakes the goroutine that sends.
func (r *loadRound) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// freeSlot frees the slot of the i-th request, and returns when that request was due, in ns since
// the round began. The result is negative if the request was not waiting for an answer.
func (r *loadRound) freeSlot(i int64) int64 {
	sent := r.sent.Load()
	if i >= sent || i < sent-int64(len(r.slots)) {
		return -1
	}
	return r.slot(i).Swap(0) - 1
}

// makeSample makes the sample of the round. By now every request has been answered.
func (r *loadRound) makeSample(before target.Usage, elapsed time.Duration) error {
	latency, err := results.SummariseHistogram(r.latency)
	if err != nil {
		return err
	}
	latency.Over = r.over
	r.sample = r.server.Sample(before)
	n := r.answered.Load()
	r.sample.ElapsedNS = int64(elapsed)
	r.sample.Messages = n
	r.sample.PayloadBytes = n * int64(len(r.send.Payload()))
	if r.load.Rate == 0 {
		r.sample.Latency = map[string]results.Latency{latencyRoundtrip: latency}
		return nil
	}
	late, err := results.SummariseHistogram(r.lateness)
	if err != nil {
		return err
	}
	r.sample.Latency = map[string]results.Latency{"due": latency, "lateness": late}
	due := r.countDue(r.length)
	r.sample.Load = &results.Load{
		Due: due, Sent: r.sent.Load(), Late: r.late,
		Unsent:   max(due-r.sent.Load(), 0),
		Achieved: float64(n) / elapsed.Seconds(),
	}
	return nil
}
