package drive

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A loadRound is one part of a load, from an idle server to an idle server, and one sample.
type loadRound struct {
	s          *target.Server
	sentBefore int64 // bytes, before the round
	load       Load
	send       *target.Request // of the sending goroutine
	expect     *target.Request // of the reading one
	limit      time.Duration   // how long the server may do nothing

	slots []slot // of the requests in flight, by number
	began time.Time
	wake  chan struct{} // there is room in the window, or an answer was wrong

	// requests that were answered, if the server is to be told; the next batch does
	done chan int64

	sent     atomic.Int64
	answered atomic.Int64
	wrong    atomic.Pointer[target.Outcome]

	// of the reading goroutine, until the round is over
	latency    *hdrhistogram.Histogram
	highest    int64
	outOfOrder int64
	over       int64 // latencies beyond what the histogram counts

	lateness *hdrhistogram.Histogram // of the sending goroutine
	late     int64

	outcome target.Outcome
	sample  results.Sample
}

// A slot is a request in flight.
type slot struct {
	waits atomic.Int64 // its number and 1; 0 while no request waits here for its answer
	due   atomic.Int64 // in ns since the round began
}

// slot returns where the i-th request waits.
func (r *loadRound) slot(i int64) *slot { return &r.slots[i&int64(len(r.slots)-1)] }

// room returns how many requests can be sent at a time of the round: as the window, the rate, and
// the slots allow. That of a request whose answer later ones overtake is not free before it came.
func (r *loadRound) room(at time.Duration) int64 {
	sent := r.sent.Load()
	n := int64(r.load.Inflight) - (sent - r.answered.Load())
	if r.load.Rate > 0 {
		n = min(n, r.due(at)-sent)
	}
	for i := range n {
		if r.slot(sent+i).waits.Load() != 0 {
			return i
		}
	}
	return n
}

// overtaking is how many times as many requests as are in flight at once may be sent while one of
// them waits for its answer.
const overtaking = 8

// loadRound makes one round.
func (d *Driver) loadRound(
	ctx context.Context, l Load, request *target.Request,
) (*loadRound, error) {
	s, err := d.live(ctx)
	if err != nil {
		return nil, err
	}
	r := &loadRound{
		s: s, load: l, send: request, expect: request.Clone(),
		wake: make(chan struct{}, 1), highest: -1,
		limit:   s.LimitOf(request.Kind, request.Size()*l.Inflight),
		slots:   make([]slot, overtaking<<bits.Len(uint(l.Inflight))),
		latency: results.NewHistogram(), lateness: results.NewHistogram(),
	}
	if request.Release != nil {
		r.done = make(chan int64, 2*l.Inflight) // as many as can be answered between two batches
	}
	before := s.Account()
	r.sentBefore = before.Sent
	r.began = time.Now()
	s.Receive(r.receive)
	err = r.generate(ctx)
	s.Receive(nil)
	elapsed := time.Since(r.began)
	if ctx.Err() != nil {
		d.discard()
		return nil, context.Cause(ctx)
	}
	r.outcome.Verdict = target.OK
	if err == nil {
		return r, r.sum(before, elapsed)
	}
	r.outcome = target.Outcome{Verdict: target.Deaf, Why: err.Error()}
	if errors.Is(err, child.ErrEndless) {
		r.outcome.Verdict = target.Endless
	}
	if wrong := r.wrong.Load(); wrong != nil {
		r.outcome = *wrong
	}
	s.Explain(ctx, before, &r.outcome)
	d.discard()
	return r, nil
}

// mostWaits is how many times its limit a server may be at work without an answer.
const mostWaits = 10

// due returns how many requests are due at a time of the round.
func (r *loadRound) due(at time.Duration) int64 { return int64(r.load.Rate*at.Seconds()) + 1 }

// dueAt returns when in the round the i-th request is due.
func (r *loadRound) dueAt(i int64) time.Duration {
	return time.Duration(float64(i) / r.load.Rate * float64(time.Second))
}

// generate sends until the time is over, and waits for the last answer. It returns how the server
// failed, if it did.
func (r *loadRound) generate(ctx context.Context) error {
	length := r.load.Duration / loadRounds
	fits := int64(max(1, batchBytes/r.send.Size()))
	for time.Since(r.began) < length {
		var err error
		n := r.room(time.Since(r.began))
		if n > 0 {
			err = r.batch(ctx, min(n, fits))
		} else {
			err = r.pause(ctx, length)
		}
		if err != nil {
			return err
		}
	}
	// what fell due while we had no CPU is sent late
	n := r.room(length)
	if n > 0 && r.load.Rate > 0 {
		if err := r.batch(ctx, n); err != nil {
			return err
		}
	}
	for r.answered.Load() < r.sent.Load() {
		if err := r.awaitAnswer(ctx); err != nil {
			return err
		}
	}
	if err := r.batch(ctx, 0); err != nil { // what is to be said when all was answered
		return err
	}
	return r.checkAnswers()
}

// batchBytes is how much is written before the window is looked at again.
const batchBytes = 32 << 10

// batch sends some requests in as few calls as they take.
func (r *loadRound) batch(ctx context.Context, n int64) error {
	patient, stop := r.s.Patient(ctx, r.limit, mostWaits*r.limit)
	defer stop()
	err := r.s.Batch(patient, func(w framers.Writer) error { return r.write(w, n) })
	if err != nil {
		return errors.New(target.WhyNotTaken(err, r.s.In.Bytes()-r.sentBefore))
	}
	return nil
}

// write tells the server of the requests that were answered since the last batch, where it is to be
// told, and makes new ones.
func (r *loadRound) write(w framers.Writer, n int64) error {
	for range len(r.done) {
		if err := w.WriteMessage(r.send.Release.Number(<-r.done)); err != nil {
			return err
		}
	}
	now := time.Since(r.began)
	for range n {
		i := r.sent.Load()
		at := now
		if r.load.Rate > 0 {
			at = r.dueAt(i)
			results.Observe(r.lateness, int64(now-at))
			if now-at > slack {
				r.late++
			}
		}
		r.slot(i).due.Store(int64(at))
		r.slot(i).waits.Store(i + 1)
		r.sent.Add(1)
		if err := w.WriteMessage(r.send.Number(i)); err != nil {
			return err
		}
		if r.send.Query == nil {
			continue
		}
		if err := w.WriteMessage(r.send.Query.Number(i)); err != nil {
			return err
		}
	}
	return nil
}

// slack is how late a request may leave without being counted as late: what a timer of the
// operating system is off by.
const slack = 2 * time.Millisecond

// pause waits for room in the window, or for the next request to be due.
func (r *loadRound) pause(ctx context.Context, length time.Duration) error {
	sent := r.sent.Load()
	full := sent-r.answered.Load() >= int64(r.load.Inflight) || r.slot(sent).waits.Load() != 0
	if full || r.load.Rate == 0 {
		return r.awaitAnswer(ctx)
	}
	due := time.NewTimer(min(r.dueAt(sent), length) - time.Since(r.began))
	defer due.Stop()
	select {
	case <-due.C:
	case <-r.s.Closed():
		return r.s.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return r.checkAnswers()
}

// awaitAnswer waits for an answer. A server that does nothing for as long as the limit has failed.
func (r *loadRound) awaitAnswer(ctx context.Context) error {
	patient, stop := r.s.Patient(ctx, r.limit, mostWaits*r.limit)
	defer stop()
	before := r.answered.Load()
	select {
	case <-r.wake:
	case <-r.s.Closed(): // its answer to all may have come
		if r.answered.Load() < r.sent.Load() {
			return r.s.Err()
		}
	case <-patient.Done():
		if ctx.Err() == nil && r.answered.Load() == before {
			return fmt.Errorf("%d requests are not answered after %s",
				r.sent.Load()-before, r.limit.Round(time.Millisecond))
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.checkAnswers()
}

// checkAnswers fails where one of the answers was wrong.
func (r *loadRound) checkAnswers() error {
	if wrong := r.wrong.Load(); wrong != nil {
		return errors.New(wrong.Why)
	}
	return nil
}

// receive takes an answer. It is called by the goroutine that reads.
func (r *loadRound) receive(m child.Message) {
	i := r.answered.Load()
	if r.expect.Numbered() {
		var ok bool
		i, ok = target.NumberOf(m.Envelope.ID)
		if !ok {
			r.s.Strays.Unasked.Add(1)
			return
		}
	}
	due := r.slot(i).due.Load()
	if !r.slot(i).waits.CompareAndSwap(i+1, 0) { // it has been answered before, or was never asked
		r.s.Strays.Unasked.Add(1)
		return
	}
	r.expect.Number(i)
	out := r.expect.Check(m.Raw, m.Envelope)
	if out.Verdict != target.OK {
		failed := out // so that out itself need not be allocated
		r.wrong.CompareAndSwap(nil, &failed)
	}
	if i < r.highest {
		r.outOfOrder++
	}
	r.highest = max(r.highest, i)
	if results.Observe(r.latency, int64(m.At.Sub(r.began))-due) {
		r.over++
	}
	if r.done != nil {
		r.done <- i
	}
	r.answered.Add(1)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// sum makes the sample. Everything has been answered by now.
func (r *loadRound) sum(before target.Usage, elapsed time.Duration) error {
	latency, err := results.SummariseHistogram(r.latency)
	if err != nil {
		return err
	}
	latency.Over = r.over
	r.sample = r.s.Sample(before)
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
	due := r.due(r.load.Duration / loadRounds)
	r.sample.Load = &results.Load{
		Due: due, Sent: r.sent.Load(), Late: r.late,
		Unsent:   max(due-r.sent.Load(), 0),
		Achieved: float64(n) / elapsed.Seconds(),
	}
	return nil
}
