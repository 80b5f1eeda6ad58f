package drive

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Sweep holds the results of requests of several sizes.
type Sweep struct {
	Targets []results.Target   // by size
	Growth  *stat.TargetGrowth // nil if fewer than three sizes were answered
}

// Sweep makes round trips of each size, in bytes, and keeps a record of each, up to the first that
// is not served. A size below the smallest request is raised to it. It ends early if the server
// cannot be started any more, or ctx is done; then it returns both the error and what it found so
// far. If a request gets no answer in time, its size is measured again with another process.
//
// Before the first size the server is warmed up, for as long as one size is measured: if the
// server's language is compiled while it runs, the first requests take several times as long, and
// time would seem to grow more slowly with size than it does.
func (d *Driver) Sweep(ctx context.Context, sizes []int, sink Sink) (*Sweep, error) {
	return d.sweep(ctx, ctx, sizes, sink)
}

// sweep is Sweep with two contexts: ctx ends the measuring, whole also ends the look into a
// failure.
func (d *Driver) sweep(
	ctx, whole context.Context, sizes []int, sink Sink,
) (*Sweep, error) {
	sweep := &Sweep{}
	held := false // the last record is not with sink yet
	var err error
	for i, size := range sizes {
		r := d.protocol.Request(target.Tool, size)
		if n := len(sweep.Targets); n > 0 && int64(r.Size()) <= sweep.Targets[n-1].Size {
			continue // both were raised to the smallest
		}
		var t *results.Target
		t, err = d.measure(ctx, r, i == 0)
		if err != nil {
			break
		}
		if gotNothing(t) {
			t = d.measureAgain(whole, r, t)
		}
		if n := len(sweep.Targets); n > 0 {
			judgeSlow(&sweep.Targets[n-1], t)
		}
		if held {
			d.measureSlowAgain(ctx, sweep.Targets, t)
			held = false
			err = sink(sweep.Targets[len(sweep.Targets)-1])
			if err != nil {
				break
			}
		}
		if !t.Served() {
			d.tryWithSmall(whole, t)
			if i < len(sizes)-1 {
				warn(t, "sizes above %s were not measured", stat.FormatBytes(t.Size))
			}
		}
		sweep.Targets = append(sweep.Targets, *t)
		held = t.Verdict == string(target.Slow)
		if !held {
			err = sink(*t)
		}
		if err != nil || !t.Served() {
			break
		}
	}
	if held {
		err = errors.Join(err, sink(sweep.Targets[len(sweep.Targets)-1]))
	}
	sweep.Growth = stat.FitTargetGrowth(sweep.Targets)
	return sweep, err
}

// gotNothing reports whether a request got no answer in time although the server lives.
func gotNothing(t *results.Target) bool {
	switch target.Verdict(t.Verdict) {
	case target.Unanswered, target.Late, target.Deaf:
		return true
	}
	return false
}

// measureAgain measures a size with another process, since one request got no answer in time: a
// busy machine may be to blame, or chance. It returns the first record if that happens again, or if
// it cannot measure again.
func (d *Driver) measureAgain(
	ctx context.Context, r *target.Request, first *results.Target,
) *results.Target {
	d.observe("trying again, since one request got no answer in time")
	second, err := d.measure(ctx, r, true)
	if err != nil || gotNothing(second) {
		return first
	}
	warn(second, "one request got no answer in time, after %s; this is of another process",
		results.FormatCount(int(first.Evidence.Failure.ServedBefore), "served request"))
	return second
}

// measureSlowAgain measures the last of the targets again, which is slow, if the next larger size t
// was not slow and took less time: a busy machine, or a server that was still warming up, may be to
// blame. If the size is not slow this time, the new record replaces the old one.
func (d *Driver) measureSlowAgain(
	ctx context.Context, targets []results.Target, t *results.Target,
) {
	slow := &targets[len(targets)-1]
	before := &targets[len(targets)-2] // the smallest size is never slow
	faster := t.Verdict == string(target.OK) &&
		stat.MedianTime(t.Samples) < stat.MedianTime(slow.Samples)
	if !faster {
		return
	}
	d.observe("measuring a slow size again, since a larger one was faster")
	again, err := d.measure(ctx, d.protocol.Request(target.Tool, int(slow.Size)), false)
	if err != nil {
		return
	}
	judgeSlow(before, again)
	if again.Verdict == string(target.OK) {
		*slow = *again
	}
}

// Bounds of the small requests that show whether a failure depends on the size.
const (
	mostSmall     = 1000
	mostSmallTime = 10 * time.Second
)

// tryWithSmall sends small requests to another process, as many as the failed process had served,
// and notes if one of them fails, too: then the size is not to blame. It ignores errors of its own,
// since the server has failed already.
func (d *Driver) tryWithSmall(ctx context.Context, t *results.Target) {
	failure := t.Evidence.Failure
	answered := t.Verdict == string(target.ErrorReply) || t.Verdict == string(target.InFrames)
	if answered || d.protocol.ToolFails || failure.ServedBefore > mostSmall {
		return
	}
	d.observe("trying whether the size is to blame")
	r := d.protocol.Smallest(target.Tool)
	began := time.Now()
	for i := range failure.ServedBefore + 2 { // the handshake may have taken one request more
		out, err := d.trip(ctx, r, i+1)
		if err != nil {
			return
		}
		if out.Verdict != target.OK {
			failure.AnySize = true
			return
		}
		if time.Since(began) > mostSmallTime {
			return
		}
	}
}

// warmUp makes round trips that are not measured, until a budget is spent, and reports whether one
// failed before.
func (s *series) warmUp(ctx context.Context) (failed bool, err error) {
	for began := time.Now(); time.Since(began) < s.o.Budget; s.warmups++ {
		s.out, err = s.trip(ctx, s.r, s.warmups)
		if err != nil || s.out.Verdict != target.OK {
			return err == nil, err
		}
	}
	return false, nil
}

const (
	// how long the round trips of a sample take, unless a single one takes longer
	sampleTime = 20 * time.Millisecond
	mostTrips  = 2000 // in one sample
	// how many budgets a size may take to get stat.LeastSamples samples
	patientRuns = 10

	latencyRoundtrip = "roundtrip" // what is timed, in a sample
)

// A series is the round trips of one size that a record is made of.
type series struct {
	*Driver
	r       *target.Request
	trips   int64          // of the next sample
	out     target.Outcome // of the last round trip
	warmups int64
	served  int64
	samples []results.Sample
}

// measure sends requests of one size, one at a time, until the budget is spent and there are enough
// samples, or a request is not served. Then it makes the record. The first round trip is a warm-up
// and in no sample, unless it took so long that it has to serve as one.
func (d *Driver) measure(
	ctx context.Context, r *target.Request, warm bool,
) (*results.Target, error) {
	d.observe("measuring messages of " + results.FormatSize(int64(r.Size())))
	s := &series{Driver: d, r: r, trips: 1}
	if warm {
		failed, err := s.warmUp(ctx)
		if err != nil {
			return nil, err
		}
		if failed {
			return s.record(), nil
		}
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	s.trips = min(max(int64(sampleTime/max(s.out.Took, 1)), 1), mostTrips)
	if s.out.Took <= patientRuns*d.o.Budget {
		s.samples = nil
	}
	for began := time.Now(); s.out.Verdict == target.OK && s.wantsMore(time.Since(began)); {
		if err := s.take(ctx); err != nil {
			return nil, err
		}
	}
	if s.out.Verdict == target.OK {
		if err := d.checkAlive(ctx, &s.out); err != nil {
			return nil, err
		}
	}
	return s.record(), nil
}

// take takes the next sample, if all of its round trips are served.
func (s *series) take(ctx context.Context) error {
	server, err := s.live(ctx)
	if err != nil {
		return err
	}
	before := server.Account()
	times := make([]int64, 0, s.trips)
	for range s.trips {
		s.out, err = s.trip(ctx, s.r, s.served+1)
		if err != nil || s.out.Verdict != target.OK {
			return err
		}
		s.served++
		times = append(times, int64(s.out.Took))
	}
	payload := s.trips * int64(len(s.r.Payload()))
	sample, err := timed(server.Sample(before), times, payload)
	s.samples = append(s.samples, sample)
	return err
}

// timed completes a sample: times are its round trips, in ns, and payload is how many bytes they
// carried together.
func timed(s results.Sample, times []int64, payload int64) (results.Sample, error) {
	s.Messages = int64(len(times))
	s.PayloadBytes = payload
	for _, took := range times {
		s.ElapsedNS += took
	}
	latency, err := results.NewLatency(times)
	s.Latency = map[string]results.Latency{latencyRoundtrip: latency}
	return s, err
}

// After a single round trip a second one follows only if the first took less than tooLong. A single
// one says nothing of how slow its size is, nor of growth.
const tooLong = 10 * time.Second

// wantsMore reports whether to go on measuring a size on which so much time was spent.
func (s *series) wantsMore(spent time.Duration) bool {
	n := len(s.samples)
	switch {
	case s.served <= s.least[s.r.Size()]: // the first is in no sample
		return spent < demandTime
	case n >= stat.LeastSamples:
		return spent < s.o.Budget
	}
	return n == 0 || n == 1 && s.out.Took < tooLong || spent < patientRuns*s.o.Budget
}

func (s *series) record() *results.Target {
	t := s.Driver.record()
	t.Size = int64(s.r.Size())
	t.Samples = s.samples
	size := &results.SizeEvidence{
		PayloadBytes: len(s.r.Payload()), WarmupMessages: s.warmups,
	}
	if s.out.Verdict != target.OK {
		s.setFailure(&t, s.out, s.r.Size())
		if s.warmups > 0 {
			t.Evidence.Size = size
		}
		if s.served+s.warmups > 0 {
			warn(&t, "some requests of this size were served before one was not")
		}
		return &t
	}
	t.Evidence.Size = size
	size.ReplyBytes = s.out.Size
	size.NSPerByte = stat.MedianTime(s.samples) / float64(s.r.Size())
	s.warnOfSideEffects(&t)
	return &t
}

// judgeSlow gives the verdict Slow to a size that took over ten times as long as expected: the time
// of the size before it, times the ratio of sizes. Both the median and the fastest round trip must
// be that slow: a busy machine delays some round trips, a cause in the server delays all. The
// smallest size is never slow, since there is none before it.
func judgeSlow(before, t *results.Target) {
	if t.Verdict != string(target.OK) ||
		len(t.Samples) == 1 && t.Samples[0].Messages == 1 {
		return
	}
	growth := float64(t.Size) / float64(before.Size)
	expected := growth * stat.MedianTime(before.Samples)
	if fastest(t.Samples) <= target.Margin*growth*fastest(before.Samples) ||
		stat.MedianTime(t.Samples) <= target.Margin*expected {
		return
	}
	setVerdict(t, target.Slow)
	t.Evidence.Size.ExpectedNS = expected
}

// fastest returns the shortest round trip of samples, in ns.
func fastest(samples []results.Sample) float64 {
	shortest := math.Inf(1)
	for _, s := range samples {
		shortest = min(shortest, float64(max(1, s.Latency[latencyRoundtrip].MinNS)))
	}
	return shortest
}

func (d *Driver) growthRecord(g stat.TargetGrowth) results.Target {
	t := d.record()
	t.Evidence.Growth = &g.GrowthEvidence
	t.Evidence.Capacity = g.Capacity
	if g.Growth().Fast() {
		setVerdict(&t, target.Superlinear)
	}
	return t
}
