package drive

import (
	"context"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A measurement is what a server did with requests of one size, one at a time.
type measurement struct {
	size    int
	samples []results.Sample
	reply   int      // bytes of an answer
	served  int64    // requests
	failure *outcome // of the request that was not served, if one was not
}

const (
	sampleTime  = 20 * time.Millisecond // what a sample gathers round trips for, unless one takes longer
	mostTrips   = 2000                  // in one sample
	patientRuns = 10                    // budgets that a size may take until it has stat.LeastSamples
)

// measure sends requests of one shape, one at a time, until the budget is spent and there are enough samples, or one is not served. The
// first round trip is a warm-up that the samples do not hold, unless it took so long that it has to do.
func (d *Driver) measure(ctx context.Context, s *shape) (*measurement, error) {
	m := &measurement{size: len(s.msg)}
	number := int64(0)
	trip := func() (outcome, error) {
		number++
		out, err := d.trip(ctx, s, number)
		switch {
		case err == nil && out.verdict == OK:
			m.served++
		case err == nil:
			m.failure = &out
		}
		m.reply = max(m.reply, out.reply)
		return out, err
	}
	first, took, err := d.sample(ctx, s, 1, trip)
	if err != nil || m.failure != nil {
		return m, err
	}
	if took > patientRuns*d.o.Budget {
		m.samples = append(m.samples, first)
		return m, nil
	}
	trips := min(max(int64(sampleTime/max(took, 1)), 1), mostTrips)
	for began := time.Now(); m.failure == nil && d.more(m, time.Since(began)); {
		sample, _, err := d.sample(ctx, s, trips, trip)
		if err != nil {
			return m, err
		}
		if m.failure == nil {
			m.samples = append(m.samples, sample)
		}
	}
	return m, nil
}

// more reports whether a size is to be measured on.
func (d *Driver) more(m *measurement, spent time.Duration) bool {
	samples := len(m.samples)
	switch {
	case m.served <= d.least[m.size]: // the first is in no sample
		return spent < demandTime
	case samples >= stat.LeastSamples:
		return spent < d.o.Budget
	}
	return samples == 0 || spent < patientRuns*d.o.Budget
}

// sample makes some round trips and takes both sides' counters.
func (d *Driver) sample(ctx context.Context, s *shape, trips int64, trip func() (outcome, error)) (sample results.Sample, took time.Duration, err error) {
	c, err := d.live(ctx)
	if err != nil {
		return sample, 0, err
	}
	before := c.account()
	times := make([]int64, 0, trips)
	for range trips {
		out, err := trip()
		if err != nil || out.verdict != OK {
			return sample, took, err
		}
		times = append(times, int64(out.took))
		took += out.took
	}
	latency, err := results.NewLatency(times)
	if err != nil {
		return sample, took, err
	}
	sample = c.sample(before)
	sample.ElapsedNS, sample.Messages = int64(took), trips
	sample.PayloadBytes = trips * int64(s.to-s.from)
	sample.Latency = map[string]results.Latency{"roundtrip": latency}
	return sample, took, nil
}

// An account is where both sides' counters stood.
type account struct {
	in, out, calls int64
	ours, theirs   cpuTime
}

func (c *conn) account() account {
	return account{c.in.bytes.Load(), c.out.bytes.Load(), c.in.calls.Load() + c.out.calls.Load(), ownCPU(), c.cpu()}
}

// sample is what both sides did since. The writer is this process, the reader is the server; how many calls the server made is its own
// secret.
func (c *conn) sample(before account) results.Sample {
	now := c.account()
	s := results.Sample{WireBytes: now.in - before.in}
	moved := s.WireBytes + now.out - before.out
	s.Writer = results.Counters{Calls: now.calls - before.calls, Bytes: moved, CPUNS: now.ours.since(before.ours)}
	s.Reader = results.Counters{Bytes: moved, CPUNS: now.theirs.since(before.theirs), PeakBytes: c.peakMemory()}
	if n, err := c.stdin.Capacity(); err == nil {
		s.Capacity = n
	}
	return s
}
