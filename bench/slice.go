package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
)

// Before a measurement is timed, an untimed job sends about compareBytes, in minCompare to
// maxCompare messages. If messages were recorded, that job sends each of them at least once.
const (
	compareBytes = 1 << 20
	minCompare   = 2
	maxCompare   = 64
)

// compare verifies the measurement c by an untimed job, which compares every byte. If the job is
// too slow and is left out, c.record.Verified stays nil.
func (r *runner) compare(f *fork, c *cellRun) error {
	j := r.jobOf(c.record.Cell)
	j.Cell = withoutReadersWork(j.Cell)
	// One job verifies all measurements that differ only in what the reader does besides reading.
	for _, other := range c.group.cells {
		if other.record.Verified != nil && withoutReadersWork(other.record.Cell) == j.Cell {
			c.record.Verified = &results.Verified{}
			c.rate = other.rate
			c.size = other.size
			c.capacity = other.capacity
			r.observe(Progress{Cell: c.record.Cell, Step: Compared})
			return nil
		}
	}
	source, err := j.messages()
	if err != nil {
		return err
	}
	n := int64(compareBytes / max(1, source.Largest()))
	if _, sleeps := sleepOf(j.Cell); sleeps {
		n = 0 // few messages: the writer sleeps whenever the pipe is full
	}
	j.Messages = max(minCompare, min(n, maxCompare), source.Distinct())
	j.Compare = true
	reports, err := f.run(j)
	if r.leaveOutLate(c, err) {
		return nil
	}
	if err != nil {
		return err
	}
	timer := reports.timer()
	c.record.Verified = &results.Verified{Compared: j.Messages, Bytes: timer.PayloadBytes}
	c.size = float64(timer.PayloadBytes) / float64(j.Messages)
	c.rate = rate(j.Messages, timer.ElapsedNS) // too low, because comparing every byte is slow
	c.capacity = reports.origin().Capacity
	r.observe(Progress{Cell: c.record.Cell, Step: Compared})
	return nil
}

// calibrations is how many timed runs are made, at most, to learn how many messages a sample needs.
// A run that was far too short is repeated, because its first messages are slow.
const calibrations = 3

// calibrate makes short timed runs of the measurement c until it is known how many messages a
// sample needs. These runs are not kept as samples.
func (r *runner) calibrate(f *fork, c *cellRun) error {
	moved := int64(0)
	for range calibrations {
		n, adapts := c.messagesFor(r.Duration)
		if !adapts || moved >= n/3 { // a run is long enough with a third of a sample's messages
			break
		}
		got, err := r.slice(f, c, r.Duration/2)
		if got == nil || err != nil {
			return err
		}
		moved = got.timer().Messages
	}
	c.calibrated = true
	r.observe(Progress{Cell: c.record.Cell, Step: Calibrated})
	return nil
}

// addSample makes a sample from the reports of both ends of the pipe, and adds it to the record of
// c.
func (r *runner) addSample(c *cellRun, got reports) error {
	timer := got.timer()
	s := got.sample()
	s.Fork = c.group.forks
	s.Round = c.group.rounds
	r.interference.mark(&s, c.group.cpus)
	if len(timer.Trips) > 0 {
		// NewLatency makes garbage for the collector, so it is not called in a worker.
		latency, err := results.NewLatency(timer.Trips)
		if err != nil {
			return err
		}
		s.Latency = map[string]results.Latency{"roundtrip": latency}
		r.interference.usage = machine.ReadUsage() // do not blame the next sample for this work
	}
	c.record.Samples = append(c.record.Samples, s)
	r.measured = true
	if timer.Checked {
		c.record.Verified.Sequence += s.Messages
	}
	for _, report := range got {
		if report.Collections > 0 {
			c.warnOnce("garbage was collected while the clock ran: " +
				"this framing allocates more than a worker may hold")
		}
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Timed, Sample: len(c.record.Samples)})
	return nil
}

// fallbackDivisor divides the expected rate of messages after a sample that was far too slow.
// Messages can become a thousand times as slow if another program uses the CPU.
const fallbackDivisor = 1000

// slice makes a timed run of the measurement c that takes about the time d. If the run is too slow
// and is left out, slice returns nil reports, and the workers have ended.
func (r *runner) slice(f *fork, c *cellRun, d time.Duration) (reports, error) {
	n, adapts := c.messagesFor(d)
	j := r.jobOf(c.record.Cell)
	j.Messages = n
	j.Warmup = c.warmup(n, c.warm != f)
	c.warm = f
	got, err := f.run(j)
	slow, isSlow := errors.AsType[errSlow](err)
	switch {
	case isSlow && n > fallbackDivisor && adapts:
		// Other programs may be to blame.
		c.warnOnce(fmt.Sprintf("a sample of %d messages did not finish within %s and was left "+
			"out, although %s was to be expected: look for what else uses the CPUs, "+
			"and close other programs", n, slow.limit, r.Duration))
		c.rate /= fallbackDivisor
		return nil, nil
	case r.leaveOutLate(c, err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	timer := got.timer()
	// Keep the best rate, because other programs may have disturbed this run.
	c.rate = max(c.rate, rate(timer.Messages, timer.ElapsedNS))
	c.capacity = got.origin().Capacity
	return got, nil
}

// leaveOutLate reports whether a run of the measurement c failed because the time of the whole plan
// is up. Such a run is left out, and the record of c says so.
func (r *runner) leaveOutLate(c *cellRun, err error) bool {
	slow, isSlow := errors.AsType[errSlow](err)
	if !isSlow || !r.wouldEndLate(0) {
		return false
	}
	r.addReason(fmt.Errorf("%s: a sample %w", results.CellName(c.record.Cell), slow))
	c.warnOnce(fmt.Sprintf("a sample %v, as the time was up: give it more (--max-time)", slow))
	return true
}

// messagesFor returns how many messages take about the time d: at the rate that c asks for, or else
// at the best rate measured so far. adapts says that the number follows from a measured rate.
func (c *cellRun) messagesFor(d time.Duration) (n int64, adapts bool) {
	cell := c.record.Cell
	pause, sleeps := sleepOf(cell)
	switch {
	case cell.ClosesAfter > 0:
		return int64(cell.ClosesAfter), false
	case sleeps:
		// The writer has no steady rate, so count how often it fills the pipe.
		fills := max(leastFills, int64(d/pause))
		capacity := cmp.Or(c.capacity, usualCapacity)
		return max(1, fills*int64(capacity)/int64(cell.Size)), false
	case cell.Rate > 0:
		return messagesAt(cell.Rate, d), false
	}
	// The first rate is that of the untimed job, whose reader reads as fast as it can.
	perSecond := c.rate
	if cell.Drain > 0 {
		perSecond = min(perSecond, float64(cell.Drain)/max(1, c.size))
	}
	if cell.Work > 0 {
		perSecond = min(perSecond, 1e9/(cell.Work*max(1, c.size)))
	}
	return messagesAt(perSecond, d), true
}

func messagesAt(perSecond float64, d time.Duration) int64 {
	return max(1, int64(math.Round(perSecond*d.Seconds())))
}

// leastFills is how many times a sample must fill the pipe if the writer sleeps when the pipe is
// full. Whether the reader is in time for a single fill is chance, so a sample needs several.
const leastFills = 8

// usualCapacity is the assumed capacity of a pipe, in bytes, if the system does not tell it.
const usualCapacity = 64 << 10

// sleepOf returns how long the writer of a plain stream sleeps when the pipe is full. The result
// sleeps is false if the writer waits in another way.
func sleepOf(c results.Cell) (pause time.Duration, sleeps bool) {
	writer, _, err := parseIO(c.IO)
	pause = writer.Pause()
	return pause, err == nil && pause > 0 && c.Pattern == "stream" && c.Rate == 0 && c.Size > 0
}

func rate(messages, ns int64) float64 { return float64(messages) / (float64(max(1, ns)) / 1e9) }

func (p Plan) jobOf(c results.Cell) job {
	return job{Cell: c, Seed: p.Seed, Recording: p.Recording, Offset: p.offsetOf(1)}
}

// offsetOf returns where in a memory page messages begin after a given start of the workers. This
// offset is random, but the same for all measurements.
func (p Plan) offsetOf(fork int) int {
	return rand.New(rand.NewPCG(uint64(p.Seed), uint64(fork))).IntN(results.PageOffsets)
}

// Before the first timed run of new workers, firstWarmups messages are sent, but not more than
// about firstWarmupBytes. A reader's buffer grows during the first few messages, and the first use
// of its memory is slow: on a virtual machine, the first messages of 1 MB took six times as long.
const (
	firstWarmups     = 8
	firstWarmupBytes = 16 << 20
)

// warmup returns how many messages come before n timed ones. They fill the caches and wake the
// CPUs. New workers get more, unless messages are sent at a given rate or read slowly: then eight
// of them may take seconds.
func (c *cellRun) warmup(n int64, isNew bool) int64 {
	cell := c.record.Cell
	usual := min(n/8, 1000)
	_, sleeps := sleepOf(cell)
	switch {
	case cell.Pattern == PatternMixed:
		return mixedWarmup
	case sleeps:
		return usual
	case !isNew || cell.Rate > 0 || cell.Drain > 0 || cell.ClosesAfter > 0:
		return max(1, usual)
	}
	return max(2, min(firstWarmups, int64(firstWarmupBytes/max(1, c.size))), usual)
}

// mixedWarmup is how many large messages are sent to warm up for the pattern "mixed".
const mixedWarmup = 2
