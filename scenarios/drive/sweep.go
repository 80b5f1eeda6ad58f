package drive

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Sweep holds the results of measuring messages of several sizes.
type Sweep struct {
	Targets []results.Target   // one for each size, in ascending order
	Growth  *stat.TargetGrowth // nil if fewer than three sizes were answered
}

// Sweep measures round trips of each size, in bytes, up to the first size that fails. It gives sink
// one record for each size. A size smaller than the smallest possible request is raised to the size
// of that request. If there is an error, Sweep also returns the results up to then.
func (d *Driver) Sweep(ctx context.Context, sizes []int, sink Sink) (*Sweep, error) {
	sweep := &Sweep{}
	var err error
	for i, size := range sizes {
		r := d.protocol.Request(target.Tool, size)
		if n := len(sweep.Targets); n > 0 && int64(r.Size()) <= sweep.Targets[n-1].Size {
			continue // both sizes were raised to the smallest request
		}
		var t *results.Target
		// a server with a just-in-time compiler is slow until it has warmed up
		t, err = d.measure(ctx, r, i == 0 /* warm */)
		if err != nil {
			break
		}
		if gotNothing(target.Verdict(t.Verdict)) {
			t = d.measureAgain(ctx, r, t)
		}
		if n := len(sweep.Targets); n > 0 {
			t = d.judgeSlow(ctx, &sweep.Targets[n-1], r, t)
		}
		if !t.Served() {
			d.judgeSize(ctx, r, t)
			if i < len(sizes)-1 {
				how := "timed"
				if f := t.Evidence.Failure; f != nil && f.AnySize {
					how = "tried" // no search for the limit follows
				}
				warn(t, "sizes above %s were not %s", stat.FormatBytes(t.Size), how)
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

// gotNothing reports whether v says that a request got no answer in time although the server lives.
func gotNothing(v target.Verdict) bool {
	return v == target.Unanswered || v == target.Late || v == target.Deaf
}

// measureAgain measures a size again, since a busy machine may have delayed an answer. If again a
// request gets no answer, the result is the earlier record.
func (d *Driver) measureAgain(
	ctx context.Context, r *target.Request, first *results.Target,
) *results.Target {
	d.observe("trying again, since one request got no answer in time")
	second, err := d.measure(ctx, r, true /* warm */)
	if err != nil || gotNothing(target.Verdict(second.Verdict)) {
		return first
	}
	warn(second, "one request got no answer in time; this is of another process")
	return second
}

// judgeSize finds out whether the size of the request r is to blame for its failure, which is in t.
// If it is not, judgeSize sets AnySize or WorksAnew.
func (d *Driver) judgeSize(ctx context.Context, r *target.Request, t *results.Target) {
	failure := t.Evidence.Failure // nil for InFrames
	isRefused := t.Verdict == string(target.ErrorReply)
	isKnown := t.Verdict == string(target.InFrames) ||
		failure.ServedBefore == 0 && (isRefused || d.protocol.ToolFails)
	if isKnown || failure.Characters {
		return // the cause is known
	}
	d.observe("trying whether the size is to blame")
	const mostGreetings = 5 // that the first handshake may have taken more
	tries := failure.ServedBefore + 1 + mostGreetings
	if isRefused {
		tries = 1 // in the same process
	}
	failure.AnySize = t.Verdict == string(target.Ignored) || d.failsWithSmall(ctx, tries)
	failure.SmallBytes = int64(d.protocol.Smallest(target.Tool).Size())
	if !failure.AnySize && failure.ServedBefore > 0 {
		larger := d.protocol.Request(r.Kind, 2*r.Size())
		failure.WorksAnew = d.worksAnew(ctx, r) && d.worksAnew(ctx, larger)
	}
	switch {
	case !failure.IsOfNoSize():
	case isRefused:
		t.Evidence.Advice = t.Evidence.Why + "; " + target.AdviceRefusal
	case target.Verdict(t.Verdict).Ended():
		t.Evidence.Advice = target.AdviceEnded
	}
}

// mostSmallTime is how long failsWithSmall may take.
const mostSmallTime = 10 * time.Second

// failsWithSmall sends so many small requests, or as many as there is time for, and reports whether
// one of them fails.
func (d *Driver) failsWithSmall(ctx context.Context, requests int64) bool {
	r := d.protocol.Smallest(target.Tool)
	began := time.Now()
	for i := range requests {
		out, err := d.trip(ctx, r, i+1)
		if err != nil || time.Since(began) > mostSmallTime {
			return false
		}
		if out.Verdict != target.OK {
			return true
		}
	}
	return false
}

// worksAnew reports whether a new process of the server answers a request and lives on.
func (d *Driver) worksAnew(ctx context.Context, r *target.Request) bool {
	d.end(true /* politely */)
	out, err := d.tripAlive(ctx, r, 1)
	return err == nil && out.Verdict == target.OK
}

const (
	sampleTime = 20 * time.Millisecond // how long a sample takes, or longer for a slow round trip
	mostTrips  = 2000                  // the largest number of round trips in one sample
	// A size may take up to mostBudgets times Options.Budget to get stat.LeastSamples samples.
	mostBudgets = 10

	latencyRoundtrip = "roundtrip" // the key of the measured time in Sample.Latency
)

// A series holds the round trips of one size. One record is made of them.
type series struct {
	*Driver
	request *target.Request
	trips   int64          // how many round trips the next sample has
	out     target.Outcome // of the last round trip
	warmups int64          // round trips that were served in the warm-up
	served  int64          // round trips that were served after the warm-up
	samples []results.Sample
	// characters is set if only requests fail that WithCharacters made.
	characters bool
}

// measure sends requests of one size, one at a time, until Options.Budget is spent and there are
// enough samples, or until a request is not served.
func (d *Driver) measure(
	ctx context.Context, r *target.Request, warm bool,
) (*results.Target, error) {
	d.observe("measuring messages of " + results.FormatSize(int64(r.Size())))
	s := &series{Driver: d, request: r, trips: 1}
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
	fits := int64(sampleTime / max(s.out.Took, 1))
	s.trips = min(max(fits, 1), mostTrips)
	if s.out.Took <= mostBudgets*d.options.Budget {
		s.samples = nil // the first round trip is in no sample, unless it took very long
	}
	for began := time.Now(); s.out.Verdict == target.OK && s.wantsMore(time.Since(began)); {
		if err := s.take(ctx); err != nil {
			return nil, err
		}
	}
	if s.out.Verdict == target.OK {
		if err := s.tryCharacters(ctx); err != nil {
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

// charactersBytes is how many bytes with characters are sent of a size, in at most four requests. A
// server that reads 64 KiB at a time cuts them at 16 places.
const charactersBytes = 1 << 20

// escapeLength is the most bytes of an escape such as \u00e9 for each byte of its character.
const escapeLength = 3

// tryCharacters sends requests that WithCharacters makes, until one fails.
func (s *series) tryCharacters(ctx context.Context) error {
	for shift := range min(max(1, charactersBytes/s.request.Size()), 4) {
		r := s.request.WithCharacters(shift)
		out, err := s.trip(ctx, r, s.served+1)
		if err != nil {
			return err
		}
		if out.Verdict != target.OK {
			return s.judgeCharacters(ctx, r, out)
		}
	}
	return nil
}

// judgeCharacters finds out whether its characters are why the request with has failed. They are if
// the same size without such characters works and, unless they came back damaged, the same request
// fails again, and one without them works that is as long as the escapes in an answer may be.
func (s *series) judgeCharacters(
	ctx context.Context, with *target.Request, failed target.Outcome,
) error {
	s.out = failed
	ascii, err := s.trip(ctx, s.request, s.served+2)
	if err != nil || ascii.Verdict != target.OK {
		return err
	}
	if failed.Verdict != target.Corrupt { // another time, reads may end elsewhere
		again, err := s.trip(ctx, with, s.served+3)
		if err != nil || again.Verdict != failed.Verdict {
			return err
		}
		long := s.protocol.Request(s.request.Kind, escapeLength*s.request.Size())
		escaped, err := s.trip(ctx, long, s.served+4)
		if err != nil {
			return err
		}
		if escaped.Verdict != target.OK { // there is a limit, above this size
			s.out = ascii
			return nil
		}
	}
	s.characters = true
	return nil
}

// warmUp makes round trips for the time Options.Budget, without measuring them. It reports whether
// one failed.
func (s *series) warmUp(ctx context.Context) (failed bool, err error) {
	for began := time.Now(); time.Since(began) < s.options.Budget; s.warmups++ {
		s.out, err = s.trip(ctx, s.request, s.warmups)
		if err != nil || s.out.Verdict != target.OK {
			return err == nil, err
		}
	}
	return false, nil
}

// take makes the round trips of the next sample. It keeps the sample if all of them are served.
func (s *series) take(ctx context.Context) error {
	server, err := s.live(ctx)
	if err != nil {
		return err
	}
	before := server.Account()
	times := make([]int64, 0, s.trips)
	for range s.trips {
		s.out, err = s.trip(ctx, s.request, s.served+1)
		if err != nil || s.out.Verdict != target.OK {
			return err
		}
		s.served++
		times = append(times, int64(s.out.Took))
	}
	payload := s.trips * int64(len(s.request.Payload()))
	sample, err := timed(server.Sample(before), times, payload)
	s.samples = append(s.samples, sample)
	return err
}

// timed completes the sample s from the duration of each round trip, in ns, and the bytes that all
// of them carried.
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

// A second sample is taken even if the budget is spent, unless a round trip takes longer than
// tooLong.
const tooLong = 10 * time.Second

// wantsMore reports whether to go on measuring a size that has been measured for this time.
func (s *series) wantsMore(elapsed time.Duration) bool {
	n := len(s.samples)
	demanded := s.demanded[s.request.Size()]
	switch {
	case s.served <= demanded: // one more is needed, as the first trip is in no sample
		return elapsed < demandTime
	case n >= stat.LeastSamples:
		return elapsed < s.options.Budget
	}
	return n == 0 || n == 1 && s.out.Took < tooLong || elapsed < mostBudgets*s.options.Budget
}

func (s *series) record() *results.Target {
	t := s.Driver.record()
	t.Size = int64(s.request.Size())
	t.Samples = s.samples
	s.warnOfSideEffects(&t)
	if s.out.Verdict != target.OK {
		s.setFailure(&t, s.out, s.request.Size())
		switch {
		case s.characters:
			t.Evidence.Failure.Characters = true
			t.Evidence.Advice = s.out.Why + "; " +
				cmp.Or(s.out.Remedy, target.AdviceOnCharacters)
		case t.Evidence.Failure != nil: // nil for InFrames
			t.Evidence.Failure.ServedOfSize = s.served + s.warmups
		}
		return &t
	}
	t.Evidence.Size = &results.SizeEvidence{
		PayloadBytes:   len(s.request.Payload()),
		ReplyBytes:     s.out.Size,
		NSPerByte:      stat.MedianTime(s.samples) / float64(s.request.Size()),
		WarmupMessages: s.warmups,
	}
	return &t
}

// judgeSlow gives a record the verdict Slow if its round trips took more than target.Margin times
// as long as expected, and took as long when the size was measured again: a busy machine may be to
// blame once. What to expect follows from the parameter smaller, the record of the next smaller
// size.
func (d *Driver) judgeSlow(
	ctx context.Context, smaller *results.Target, r *target.Request, t *results.Target,
) *results.Target {
	expected := expectedTime(smaller, t)
	if expected == 0 {
		return t
	}
	d.observe("measuring a slow size again")
	again, err := d.measure(ctx, r, false /* warm */)
	if err == nil && again.Served() {
		t = again
		expected = expectedTime(smaller, t)
	}
	if expected > 0 {
		setVerdict(t, target.Slow)
		t.Evidence.Size.ExpectedNS = expected
	}
	return t
}

// expectedTime returns how long, in ns, a round trip should have taken if it took much longer, and
// else 0.
func expectedTime(smaller, t *results.Target) float64 {
	single := len(t.Samples) == 1 && t.Samples[0].Messages == 1
	if t.Verdict != string(target.OK) || single {
		return 0
	}
	ratio := float64(t.Size) / float64(smaller.Size)
	expected := ratio * stat.MedianTime(smaller.Samples)
	expectedFastest := ratio * fastest(smaller.Samples)
	// A busy machine delays some round trips. A cause in the server delays even the fastest round
	// trip.
	if stat.MedianTime(t.Samples) > target.Margin*expected &&
		fastest(t.Samples) > target.Margin*expectedFastest {
		return expected
	}
	return 0
}

// fastest returns the duration of the shortest round trip in the samples, in ns.
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
	if g.Fast() {
		setVerdict(&t, target.Superlinear)
	}
	return t
}
