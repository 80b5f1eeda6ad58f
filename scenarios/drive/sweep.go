package drive

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// linearFrom is from which size on, in bytes, time is taken to grow with size.
const linearFrom = stat.LinearFrom

// A Sweep is what came of requests of several sizes.
type Sweep struct {
	Targets []results.Target   // by size
	Growth  *stat.TargetGrowth // nil where fewer than three sizes were answered
}

// Sweep makes round trips of each size, in bytes, and keeps a record of each. A size below the
// smallest request is raised to it. After a failure the server is started again and the sweep goes
// on; it ends early when the server cannot be started any more, or ctx is done, and returns what it
// found by then beside the error.
//
// Before the first size the server is warmed up, for as long as one size is measured: where a
// compiler works while a server runs, the first requests take several times as long, and time would
// seem to grow more slowly with size than it does.
func (d *Driver) Sweep(ctx context.Context, sizes []int, sink Sink) (*Sweep, error) {
	return d.sweep(ctx, sizes, sink, false)
}

// sweep ends at the first size that fails where it is told to.
func (d *Driver) sweep(
	ctx context.Context,
	sizes []int,
	sink Sink,
	toFailure bool,
) (*Sweep, error) {
	defer d.heed(ctx)()
	sweep := &Sweep{}
	var before, held *results.Target // held waits for the next size before its verdict is final
	release := func(next *results.Target) error {
		if held == nil {
			return nil
		}
		judgeSlow(before, held, next)
		before = held
		sweep.Targets = append(sweep.Targets, *held)
		return sink(*held)
	}
	var failed error
	for i, size := range sizes {
		t := d.request(toolRequest, size)
		if held != nil && int64(len(t.msg)) <= held.Size {
			continue // both were raised to the smallest
		}
		d.o.Observe("measuring messages of " + results.FormatSize(int64(len(t.msg))))
		var next *results.Target
		next, failed = d.measure(ctx, t, i == 0)
		if failed != nil {
			break
		}
		if err := release(next); err != nil {
			return sweep, err
		}
		held = next
		if toFailure && !held.Served() {
			break
		}
	}
	failed = errors.Join(failed, release(nil))
	sweep.Growth = stat.FitTargetGrowth(sweep.Targets)
	return sweep, failed
}

// warmUp makes round trips that are not measured, and says how many. One that fails is left to the
// measurement to find again.
func (d *Driver) warmUp(ctx context.Context, t *requestTemplate) (n int64, err error) {
	for began := time.Now(); time.Since(began) < d.o.Budget; n++ {
		out, err := d.roundTrip(ctx, t, n)
		if err != nil || out.verdict != OK {
			return n, err
		}
	}
	return n, nil
}

const (
	// what a sample gathers round trips for, unless one takes longer
	sampleTime = 20 * time.Millisecond
	mostTrips  = 2000 // in one sample
	// budgets that a size may take until it has stat.LeastSamples
	patientRuns = 10

	latencyRoundtrip = "roundtrip" // what is timed, in a sample
)

// A series is the round trips of one size that a record is made of.
type series struct {
	*Driver
	t       *requestTemplate
	size    *results.SizeEvidence
	trips   int64   // of the next sample
	out     outcome // of the last round trip
	served  int64
	samples []results.Sample
}

func (d *Driver) series(t *requestTemplate) *series {
	size := &results.SizeEvidence{PayloadBytes: len(t.payload())}
	return &series{Driver: d, t: t, size: size, trips: 1, out: fine}
}

// keep takes a sample, and what its last round trip met.
func (s *series) keep(sample results.Sample, out outcome) {
	s.out = out
	s.served += sample.Messages
	if out.verdict == OK {
		s.samples = append(s.samples, sample)
	}
}

// measure sends requests of one size, one at a time, until the budget is spent and there are enough
// samples, or one is not served, and makes the record. The first round trip is a warm-up that the
// samples do not hold, unless it took so long that it has to do.
func (d *Driver) measure(
	ctx context.Context, t *requestTemplate, warm bool,
) (*results.Target, error) {
	s := d.series(t)
	if warm {
		n, err := d.warmUp(ctx, t)
		if err != nil {
			return nil, err
		}
		s.size.WarmupMessages = n
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	s.trips = tripsOf(s.out)
	if s.out.took <= patientRuns*d.o.Budget {
		s.samples = nil
	}
	for began := time.Now(); s.out.verdict == OK && s.wantsMore(time.Since(began)); {
		if err := s.take(ctx); err != nil {
			return nil, err
		}
	}
	if s.out.verdict == OK {
		s.size.ReplyBytes = s.out.size
		if err := d.checkAlive(ctx, &s.out); err != nil {
			return nil, err
		}
	}
	return s.sizeRecord(), nil
}

// take takes the next sample.
func (s *series) take(ctx context.Context) error {
	sample, out, err := s.sample(ctx, s.t, s.trips, s.served)
	if err == nil {
		s.keep(sample, out)
	}
	return err
}

// tripsOf returns how many round trips like one make up a sample.
func tripsOf(out outcome) int64 {
	return min(max(int64(sampleTime/max(out.took, 1)), 1), mostTrips)
}

// sizeRecord makes the record of one size.
func (s *series) sizeRecord() *results.Target {
	r := s.record()
	r.Size, r.Samples = int64(len(s.t.msg)), s.samples
	if s.out.verdict != OK {
		setFailure(&r, s.out)
		if s.size.WarmupMessages > 0 {
			r.Evidence.Size = s.size
		}
		warnIf(s.served > 0, &r, "some requests of this size were served before one was not")
		return &r
	}
	r.Evidence.Size = s.size
	s.size.NSPerByte = stat.MedianTime(s.samples) / float64(len(s.t.msg))
	s.size.DriverCPUShare = driverShare(s.samples)
	s.warnOfSideEffects(&r)
	return &r
}

// tooLong is how long a message may take to be sent a second time: a single one says nothing of how
// slow its size is, nor of growth.
const tooLong = 10 * time.Second

// wantsMore reports whether a size is to be measured on, after so long.
func (s *series) wantsMore(spent time.Duration) bool {
	n := len(s.samples)
	switch {
	case s.served <= s.least[len(s.t.msg)]: // the first is in no sample
		return spent < demandTime
	case n >= stat.LeastSamples:
		return spent < s.o.Budget
	}
	return n == 0 || n == 1 && s.out.took < tooLong || spent < patientRuns*s.o.Budget
}

// sample makes some round trips and takes both sides' counters. Where one was not served, last is
// what it met, and the sample holds no more than how many were.
func (d *Driver) sample(
	ctx context.Context, t *requestTemplate, trips, from int64,
) (s results.Sample, last outcome, err error) {
	c, err := d.live(ctx)
	if err != nil {
		return s, last, err
	}
	before := c.account()
	times := make([]int64, 0, trips)
	for i := range trips {
		last, err = d.roundTrip(ctx, t, from+i+1)
		if err != nil || last.verdict != OK {
			return results.Sample{Messages: i}, last, err
		}
		times = append(times, int64(last.took))
	}
	s, err = c.timed(before, times, trips*int64(t.to-t.from))
	return s, last, err
}

// checkAlive asks a server that has answered for another sign of life: one that ends over a message
// after its answer would else seem to end over the next.
func (d *Driver) checkAlive(ctx context.Context, out *outcome) error {
	after, err := d.roundTrip(ctx, d.smallest(transportRequest), 0)
	if err != nil || after.verdict == OK {
		return err
	}
	after.why = "it was answered, but a small request after it was not: " + after.why
	after.size = out.size
	*out = after
	return nil
}

// warnOfSideEffects warns of what the server did on the side that may trouble a client.
func (d *Driver) warnOfSideEffects(t *results.Target) {
	c := d.running()
	if c == nil {
		return
	}
	lines, first, _ := c.strays.nonMessages()
	warnIf(lines > 0, t, "%d lines on standard output are no messages, the first: %q", lines, first)
	late := c.strays.unasked.Load()
	warnIf(
		late > 0,
		t,
		"%d answers came that nobody waited for: to no request, or the second to one",
		late,
	)
	in, logged := c.in.bytes.Load(), c.stderrTail.Total()
	warnIf(
		logged > max(in, loud),
		t,
		"it wrote %d bytes to standard error for %d bytes of requests: "+
			"a client that does not read them will hang",
		logged,
		in,
	)
}

// loud is how much a server may write to standard error before it is warned of: what a pipe holds,
// so that it would block unread.
const loud = 64 << 10

// driverShare returns this process's part of the processor time that both sides used together; nil
// where it is not known.
func driverShare(samples []results.Sample) *float64 {
	var ours, theirs int64
	for _, s := range samples {
		if s.Writer.CPUNS == nil || s.Reader.CPUNS == nil {
			return nil
		}
		ours += *s.Writer.CPUNS
		theirs += *s.Reader.CPUNS
	}
	if ours+theirs == 0 {
		return nil
	}
	return new(float64(ours) / float64(ours+theirs))
}

// judgeSlow finds a size that took over ten times what its neighbours suggest, if time grew evenly
// between them: its fastest round trip, too, as a busy machine holds up some of them and a cause in
// the server all. The smallest size has nothing that it could be slow against.
func judgeSlow(before, t, after *results.Target) {
	if t.Verdict != string(OK) || !served(before) ||
		len(t.Samples) == 1 && t.Samples[0].Messages == 1 {
		return
	}
	size, from := float64(t.Size), float64(before.Size)
	var expected float64
	for _, timeOf := range []func([]results.Sample) float64{fastest, stat.MedianTime} {
		lower := timeOf(before.Samples)
		expected = lower * size / from
		if served(after) {
			share := math.Log(size/from) / math.Log(float64(after.Size)/from)
			expected = lower * math.Pow(timeOf(after.Samples)/lower, share)
		}
		if timeOf(t.Samples) <= margin*expected {
			return
		}
	}
	setVerdict(t, Slow)
	if t.Evidence.Size == nil {
		t.Evidence.Size = &results.SizeEvidence{}
	}
	t.Evidence.Size.ExpectedNS = expected
}

// served reports whether there are times of a size.
func served(t *results.Target) bool { return t != nil && t.Served() && len(t.Samples) > 0 }

// fastest returns the shortest round trip of samples, in ns.
func fastest(samples []results.Sample) float64 {
	shortest := math.Inf(1)
	for _, s := range samples {
		shortest = min(shortest, float64(max(1, s.Latency[latencyRoundtrip].MinNS)))
	}
	return shortest
}

// growthRecord makes a growth a record.
func (d *Driver) growthRecord(g stat.TargetGrowth) results.Target {
	t := d.record()
	t.Evidence.Growth, t.Evidence.Capacity = g.Evidence(), g.Capacity
	if g.Fast() {
		setVerdict(&t, Superlinear)
	}
	return t
}
