package bench

import (
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
	// The argument 0 makes leaveOut return true only if MaxTime was up.
	if err != nil && r.leaveOut(c, 0, err) {
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
	// A run is long enough if it moved a third of a sample's messages.
	for i := 0; i < calibrations && c.adapts() && moved < c.messagesFor(r.Duration)/3; i++ {
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

// adapts reports whether the number of messages per sample follows from the measured rate.
func (c *cellRun) adapts() bool {
	cell := c.record.Cell
	_, sleeps := sleepOf(cell)
	return cell.Rate == 0 && cell.ClosesAfter == 0 && !sleeps
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
	n := c.messagesFor(d)
	j := r.jobOf(c.record.Cell).timed(n)
	if c.warm != f {
		j.Warmup = max(j.Warmup, c.firstWarmup())
		c.warm = f
	}
	got, err := f.run(j)
	if err != nil && r.leaveOut(c, n, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	timer := got.timer()
	// Keep the best rate, because other programs may have disturbed this run.
	c.rate = max(c.rate, rate(timer.Messages, timer.ElapsedNS))
	c.capacity = got.origin().Capacity
	return got, nil
}

// leaveOut reports whether a failed run of n messages is left out, instead of making the
// measurement c fail. Runs that were too slow are left out if other programs may be to blame, or if
// the time of the whole plan is up.
func (r *runner) leaveOut(c *cellRun, n int64, err error) bool {
	var slow errSlow
	if !errors.As(err, &slow) {
		return false
	}
	if n > fallbackDivisor && c.adapts() {
		c.warnOnce(fmt.Sprintf("a sample of %d messages did not finish within %s and was left "+
			"out, although %s was to be expected: look for what else uses the CPUs, "+
			"and close other programs", n, slow.limit, r.Duration))
		c.rate /= fallbackDivisor
		return true
	}
	if r.wouldEndLate(0) { // with more time it might have finished
		r.addReason(fmt.Errorf("%s: a sample %w", Label(c.record.Cell), slow))
		c.warnOnce(fmt.Sprintf("a sample %v, as the time was up: give it more (--max-time)", slow))
		return true
	}
	return false
}

// messagesFor returns how many messages take about the time d: at the rate that c asks for, or else
// at the best rate measured so far.
func (c *cellRun) messagesFor(d time.Duration) int64 {
	cell := c.record.Cell
	if cell.ClosesAfter > 0 {
		return int64(cell.ClosesAfter)
	}
	if pause, sleeps := sleepOf(cell); sleeps {
		return c.messagesOfFills(max(leastFills, int64(d/pause)))
	}
	perSecond := c.rate
	if cell.Rate > 0 {
		perSecond = cell.Rate
	}
	// The first rate is that of the untimed job, whose reader reads as fast as it can.
	if cell.Drain > 0 && cell.Rate == 0 {
		perSecond = min(perSecond, float64(cell.Drain)/max(1, c.size))
	}
	if cell.Work > 0 && cell.Rate == 0 {
		perSecond = min(perSecond, 1e9/(cell.Work*max(1, c.size)))
	}
	return max(1, int64(math.Round(perSecond*d.Seconds())))
}

// messagesOfFills returns how many messages fill the pipe the given number of times. It is for a
// writer that sleeps when the pipe is full, because such a writer has no steady rate.
func (c *cellRun) messagesOfFills(fills int64) int64 {
	capacity := int64(usualCapacity)
	if c.capacity > 0 {
		capacity = int64(c.capacity)
	}
	return max(1, fills*capacity/int64(c.record.Cell.Size))
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

// timed returns j as a job of n timed messages, after a warm-up that fills the caches and wakes the
// CPUs.
func (j job) timed(n int64) job {
	least := int64(1)
	if _, sleeps := sleepOf(j.Cell); sleeps {
		least = 0
	}
	j.Messages = n
	j.Warmup = max(least, min(n/8, 1000))
	if j.Cell.Pattern == PatternMixed {
		j.Warmup = mixedWarmup
	}
	return j
}

// Before the first timed run of new workers, firstWarmups messages are sent, but not more than
// about firstWarmupBytes. A reader's buffer grows during the first few messages, and the first use
// of its memory is slow: on a virtual machine, the first messages of 1 MB took six times as long.
const (
	firstWarmups     = 8
	firstWarmupBytes = 16 << 20
)

// firstWarmup returns how many messages warm up new workers. If messages are sent at a given rate
// or read slowly, it returns 1, because eight of them may take seconds.
func (c *cellRun) firstWarmup() int64 {
	cell := c.record.Cell
	_, sleeps := sleepOf(cell)
	if sleeps || cell.Pattern == PatternMixed {
		return 0 // see timed
	}
	if cell.Rate > 0 || cell.Drain > 0 || cell.ClosesAfter > 0 {
		return 1
	}
	return max(2, min(firstWarmups, int64(firstWarmupBytes/max(1, c.size))))
}

// mixedWarmup is how many large messages are sent to warm up for the pattern "mixed".
const mixedWarmup = 2
