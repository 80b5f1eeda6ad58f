package drive

import (
	"context"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Sweep is what came of requests of several sizes.
type Sweep struct {
	Targets []results.Target   // by size
	Growth  *stat.TargetGrowth // nil where fewer than three sizes were answered
}

// Sweep makes round trips of each size, in bytes, and keeps a record of each, up to the first that
// is not served. A size below the smallest request is raised to it. It ends early when the server
// cannot be started any more, or ctx is done, and returns what it found by then beside the error.
// A size of which a request gets no answer in time is measured again with another process.
//
// Before the first size the server is warmed up, for as long as one size is measured: where a
// compiler works while a server runs, the first requests take several times as long, and time would
// seem to grow more slowly with size than it does.
func (d *Driver) Sweep(ctx context.Context, sizes []int, sink Sink) (*Sweep, error) {
	return d.sweep(ctx, ctx, sizes, sink)
}

// sweep is Sweep that has to be done when ctx ends; a failure may be looked into until whole ends.
func (d *Driver) sweep(
	ctx, whole context.Context, sizes []int, sink Sink,
) (*Sweep, error) {
	sweep := &Sweep{}
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
		if !t.Served() {
			d.tryWithSmall(whole, t)
			if i < len(sizes)-1 {
				warn(t, "sizes above %s were not measured", stat.FormatBytes(t.Size))
			}
		}
		sweep.Targets = append(sweep.Targets, *t)
		err = sink(*t)
		if err != nil || !t.Served() {
			break
		}
	}
	sweep.Growth = stat.FitTargetGrowth(sweep.Targets)
	return sweep, err
}

// gotNothing reports whether a request got no answer in time of a server that lives.
func gotNothing(t *results.Target) bool {
	switch target.Verdict(t.Verdict) {
	case target.Unanswered, target.Late, target.Deaf:
		return true
	}
	return false
}

// measureAgain measures a size with another process, since one request got no answer in time: a
// busy machine may be to blame, or chance. It returns the first record if that happens again, or if
// nothing can be told.
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

// mostSmall is how many small requests are made to see whether a failure is one of size.
const mostSmall = 1000

// tryWithSmall makes small requests of another process, as many as the one had served that failed,
// and notes if they fail, too: then the size is not to blame. That nothing can be told is no error,
// since the server has failed already.
func (d *Driver) tryWithSmall(ctx context.Context, t *results.Target) {
	failure := t.Evidence.Failure
	refused := t.Verdict == string(target.ErrorReply)
	if refused || d.protocol.ToolFails || failure.ServedBefore > mostSmall {
		return
	}
	d.observe("trying whether the size is to blame")
	r := d.protocol.Smallest(target.Tool)
	for i := range failure.ServedBefore + 2 { // the handshake may have taken one request more
		out, err := d.trip(ctx, r, i+1)
		if err != nil {
			return
		}
		if out.Verdict != target.OK {
			failure.AnySize = true
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
	r       *target.Request
	trips   int64          // of the next sample
	out     target.Outcome // of the last round trip
	warmups int64
	served  int64
	samples []results.Sample
}

// measure sends requests of one size, one at a time, until the budget is spent and there are enough
// samples, or one is not served, and makes the record. The first round trip is a warm-up that the
// samples do not hold, unless it took so long that it has to do.
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

// timed completes a sample of round trips that took so many ns each and carried so many bytes of
// payload together.
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

// tooLong is how long a message may take to be sent a second time: a single one says nothing of how
// slow its size is, nor of growth.
const tooLong = 10 * time.Second

// wantsMore reports whether a size is to be measured on, after so long.
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

// record makes the record of one size.
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

// judgeSlow finds a size that took over ten times what the size before it suggests, if time grew as
// size does: its fastest round trip, too, as a busy machine holds up some of them and a cause in
// the server all. The smallest size has nothing that it could be slow against.
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

// growthRecord makes a growth a record.
func (d *Driver) growthRecord(g stat.TargetGrowth) results.Target {
	t := d.record()
	t.Evidence.Growth, t.Evidence.Capacity = g.Evidence(), g.Capacity
	if g.Fast() {
		setVerdict(&t, target.Superlinear)
	}
	return t
}
