package drive

import (
	"cmp"
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
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A Load is requests that do not wait for each other's answers.
type Load struct {
	Size     int // bytes of a request; 0 is 1 KiB
	Inflight int // unanswered requests at once, at most; 0 is 1, or 1024 with a Rate
	// requests a second, whatever the server does; 0 is as many as Inflight lets
	Rate     float64
	Duration time.Duration // 0 is 3 s
}

const (
	defaultInflight = 1024
	mostInflight    = 1 << 16
	leastRate       = 1e-9 // the next request is due in 30 years; of fewer no time can be told
	mostRate        = 1e9  // one is due in every ns
	defaultLoad     = 3 * time.Second
	loadRounds      = stat.LeastSamples // parts of the duration, each a sample
)

// Validate says what is wrong with the load, without a server.
func (l Load) Validate() error {
	_, err := l.withDefaults()
	return err
}

func (l Load) withDefaults() (Load, error) {
	inflight := 1
	if l.Rate > 0 {
		inflight = defaultInflight
	}
	l.Size, l.Inflight = cmp.Or(l.Size, defaultFrom), cmp.Or(l.Inflight, inflight)
	l.Duration = cmp.Or(max(l.Duration, 0), defaultLoad)
	if l.Inflight < 0 || l.Inflight > mostInflight {
		return l, fmt.Errorf(
			"drive: %d requests in flight: want 1 to %d", l.Inflight, mostInflight)
	}
	rateFits := l.Rate >= leastRate && l.Rate <= mostRate // NaN does not
	if l.Rate != 0 && !rateFits {
		return l, fmt.Errorf("drive: %v requests a second: want a rate of 0, or from %g to %g",
			l.Rate, leastRate, mostRate)
	}
	return l, nil
}

// Load sends requests without waiting for each answer, matches the answers by id in whatever order
// they come, compares them, and keeps one record. With a Rate, latency counts from when a request
// was due.
func (d *Driver) Load(ctx context.Context, l Load, sink Sink) error {
	defer d.heed(ctx)()
	l, err := l.withDefaults()
	if err != nil {
		return err
	}
	tpl := d.request(toolRequest, l.Size)
	t := d.record()
	t.Size = int64(len(tpl.msg))
	size := &results.SizeEvidence{PayloadBytes: len(tpl.payload())}
	load := &results.LoadEvidence{Inflight: l.Inflight, Rate: l.Rate}
	t.Evidence.Size, t.Evidence.Load = size, load
	for range loadRounds {
		r, err := d.loadRound(ctx, l, tpl, math.MaxInt64)
		if err != nil {
			return err
		}
		load.OutOfOrder += r.outOfOrder
		if r.outcome.verdict != OK {
			setFailure(&t, r.outcome)
			break
		}
		t.Samples = append(t.Samples, r.sample)
	}
	size.DriverCPUShare = driverShare(t.Samples)
	judgeRate(&t)
	d.warnOfSideEffects(&t)
	return sink(t)
}

// A loadRound is one part of a load, from an idle server to an idle server, and one sample.
type loadRound struct {
	sentBefore int64 // bytes, before the round
	c          *conn
	load       Load
	most       int64            // requests
	send       *requestTemplate // of the sending goroutine
	expect     *requestTemplate // of the reading one
	frames     *framers.Coalescer
	writer     framers.Writer // into frames
	limit      time.Duration  // how long the server may answer nothing

	slots []slot // of the requests in flight, by number
	began time.Time
	wake  chan struct{} // there is room in the window, or an answer was wrong

	// requests that were answered, where the server is to be told; the next batch does
	done chan int64

	sent     atomic.Int64
	answered atomic.Int64
	wrong    atomic.Pointer[outcome]

	// of the reading goroutine, until the round is over
	latency    *hdrhistogram.Histogram
	highest    int64
	outOfOrder int64
	over       int64 // latencies beyond what the histogram counts

	lateness *hdrhistogram.Histogram // of the sending goroutine
	late     int64

	outcome outcome
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
	n := min(int64(r.load.Inflight)-(sent-r.answered.Load()), r.most-sent)
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

// loadRound makes one round, of so many requests at most.
func (d *Driver) loadRound(
	ctx context.Context, l Load, t *requestTemplate, most int64,
) (*loadRound, error) {
	c, err := d.live(ctx)
	if err != nil {
		return nil, err
	}
	frames := framers.NewCoalescer(c.wire(), 0)
	r := &loadRound{
		c: c, load: l, most: most, send: t, expect: t.clone(),
		wake: make(chan struct{}, 1), highest: -1, frames: frames,
		writer: c.framing.NewWriter(
			frames, framers.WithMaxMessage(-1), framers.WithVerbatim(),
		),
		limit:   d.deadline(t.kind, len(t.msg)*l.Inflight),
		slots:   make([]slot, overtaking<<bits.Len(uint(l.Inflight))),
		latency: results.NewHistogram(), lateness: results.NewHistogram(),
	}
	if t.release != nil {
		r.done = make(chan int64, 2*l.Inflight) // as many as can be answered between two batches
	}
	before := c.account()
	r.sentBefore = before.sent
	r.began = time.Now()
	receive := receiver(r.receive)
	c.receiver.Store(&receive)
	err = r.generate(ctx)
	c.receiver.Store(nil)
	elapsed := time.Since(r.began)
	if ctx.Err() != nil {
		d.discard(c)
		return nil, context.Cause(ctx)
	}
	r.outcome.verdict = OK
	if err == nil {
		return r, r.sum(before, elapsed)
	}
	r.outcome.fail(err)
	if wrong := r.wrong.Load(); wrong != nil {
		r.outcome.verdict, r.outcome.why, r.outcome.offset = wrong.verdict, wrong.why, wrong.offset
	}
	d.examine(ctx, c, before, &r.outcome)
	d.discard(c)
	return r, nil
}

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
	fits := int64(max(1, batchBytes/len(r.send.msg)))
	for time.Since(r.began) < length && r.sent.Load() < r.most {
		var err error
		if n := r.room(time.Since(r.began)); n > 0 {
			err = r.batch(min(n, fits))
		} else {
			err = r.pause(ctx, length)
		}
		if err != nil {
			return err
		}
	}
	// what fell due while we had no CPU is sent late
	if n := r.room(length); n > 0 && r.load.Rate > 0 {
		if err := r.batch(n); err != nil {
			return err
		}
	}
	for r.answered.Load() < r.sent.Load() {
		if err := r.awaitAnswer(ctx); err != nil {
			return err
		}
	}
	if err := r.batch(0); err != nil { // what is to be said when all was answered
		return err
	}
	return r.checkAnswers()
}

// batchBytes is how much is written before the window is looked at again.
const batchBytes = 32 << 10

// batch sends some requests in as few calls as they take.
func (r *loadRound) batch(n int64) error {
	defer r.c.watchWrite(r.limit)()
	r.c.sending.Lock()
	defer r.c.sending.Unlock()
	if err := r.write(n); err != nil {
		return err
	}
	return r.taken(r.frames.Flush())
}

// taken says why the server did not take its messages, if err is not nil.
func (r *loadRound) taken(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(whyNotTaken(err, r.c.in.bytes.Load()-r.sentBefore))
}

// put has a message go with the batch.
func (r *loadRound) put(t *requestTemplate, i int64) error {
	return r.taken(r.writer.WriteMessage(t.number(i)))
}

// write tells the server of the requests that were answered since the last batch, where it is to be
// told, and makes new ones.
func (r *loadRound) write(n int64) error {
	for range len(r.done) {
		if err := r.put(r.send.release, <-r.done); err != nil {
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
		if err := r.put(r.send, i); err != nil {
			return err
		}
		if r.send.query == nil {
			continue
		}
		if err := r.put(r.send.query, i); err != nil {
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
	_, err := r.wait(ctx, nil, min(r.dueAt(sent), length)-time.Since(r.began))
	return err
}

// awaitAnswer waits for an answer. A server that answers nothing for as long as the limit has
// failed.
func (r *loadRound) awaitAnswer(ctx context.Context) error {
	before := r.answered.Load()
	inTime, err := r.wait(ctx, r.wake, r.limit)
	if err == nil && !inTime && r.answered.Load() == before {
		err = fmt.Errorf("%d requests are not answered after %s",
			r.sent.Load()-before, r.limit.Round(time.Millisecond))
	}
	return err
}

// wait waits until there is something on wake, or for so long, and reports which it was. A server
// that says no more has failed, unless its answer to all was waited for.
func (r *loadRound) wait(
	ctx context.Context, wake <-chan struct{}, limit time.Duration,
) (woken bool, err error) {
	select {
	case <-wake:
		woken = true
	case <-r.c.closed:
		woken = true
		if wake == nil || r.answered.Load() < r.sent.Load() {
			return woken, r.c.silence()
		}
	case <-time.After(limit):
	case <-ctx.Done():
		return woken, context.Cause(ctx)
	}
	return woken, r.checkAnswers()
}

// checkAnswers fails where one of the answers was wrong.
func (r *loadRound) checkAnswers() error {
	if j := r.wrong.Load(); j != nil {
		return errors.New(j.why)
	}
	return nil
}

// receive takes an answer. It is called by the goroutine that reads.
func (r *loadRound) receive(msg []byte, e jsonrpc.Envelope, at time.Time) {
	i := r.answered.Load()
	if r.expect.id >= 0 {
		var ok bool
		if i, ok = numberOf(e.ID); !ok {
			r.c.strays.unasked.Add(1)
			return
		}
	}
	due := r.slot(i).due.Load()
	if !r.slot(i).waits.CompareAndSwap(i+1, 0) { // it has been answered before, or was never asked
		r.c.strays.unasked.Add(1)
		return
	}
	r.expect.number(i)
	if out := r.expect.check(msg, e); out.verdict != OK {
		failed := out // so that out itself need not be allocated
		r.wrong.CompareAndSwap(nil, &failed)
	}
	if i < r.highest {
		r.outOfOrder++
	}
	r.highest = max(r.highest, i)
	if results.Observe(r.latency, int64(at.Sub(r.began))-due) {
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
func (r *loadRound) sum(before counters, elapsed time.Duration) error {
	latency, err := results.SummariseHistogram(r.latency)
	if err != nil {
		return err
	}
	latency.Over = r.over
	r.sample = r.c.sample(before)
	n := r.answered.Load()
	r.sample.ElapsedNS = int64(elapsed)
	r.sample.Messages = n
	r.sample.PayloadBytes = n * int64(r.send.to-r.send.from)
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

// mostUnsent is the part of the requests that were due that may go unsent at a rate that counts as
// reached.
const mostUnsent = 0.05

// judgeRate warns where the driver itself explains what it measured, and says whether the rate was
// reached.
func judgeRate(t *results.Target) {
	var late, sent, unsent int64
	for _, s := range t.Samples {
		if s.Load != nil {
			late, sent, unsent = late+s.Load.Late, sent+s.Load.Sent, unsent+s.Load.Unsent
		}
	}
	warnIf(
		late*100 > sent,
		t,
		"%d of %d requests left late: the window was full or the driver had no CPU; "+
			"latency counts from when they were due",
		late,
		sent,
	)
	why := fmt.Sprintf(
		"%d of %d requests that were due were never sent: "+
			"the server does not keep up with the rate",
		unsent,
		sent+unsent,
	)
	if float64(unsent) > mostUnsent*float64(sent+unsent) && t.Verdict == string(OK) {
		setVerdict(t, Overloaded)
		t.Evidence.Why = why
	} else {
		warnIf(unsent > 0, t, "%s", why)
	}
}
