package bench

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pipebench/pipebench/results"
)

// The untimed job has as many messages as fill some pipes' worth of bytes, but enough to meet each
// of a recording's, and no more than are quickly made.
const (
	compareBytes = 1 << 20
	minCompare   = 2
	maxCompare   = 64
)

// compare takes a cell's untimed job, in which every byte is compared. If cells differ only in what
// their readers do beside reading, one of them has it done for all. The cell has no Verified if the
// job was left out.
func (r *runner) compare(f *fork, c *cellRun) error {
	j := r.jobOf(c.record.Cell)
	j.Cell = verifiedBy(j.Cell)
	for _, other := range c.group.cells {
		if other.record.Verified != nil && verifiedBy(other.record.Cell) == j.Cell {
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
		n = 0 // each time that they fill the pipe takes a pause
	}
	j.Messages = max(minCompare, min(n, maxCompare), source.Distinct())
	j.Compare = true
	reports, err := f.run(j)
	if err != nil && r.leaveOut(c, 0, err) {
		return nil
	}
	if err != nil {
		return err
	}
	timer := reports.timer()
	c.record.Verified = &results.Verified{Compared: j.Messages, Bytes: timer.PayloadBytes}
	c.size = float64(timer.PayloadBytes) / float64(j.Messages)
	c.rate = rate(j.Messages, timer.ElapsedNS) // low, as comparing is slower than checking
	c.capacity = reports.origin().Capacity
	r.observe(Progress{Cell: c.record.Cell, Step: Compared})
	return nil
}

// calibrations are taken at most: each tells what a slice of its length can hold, and of one that
// is far too short the first messages are a large part, which are slow.
const calibrations = 3

// calibrate takes short slices that nobody keeps, until one tells how many messages fill the time.
// Not needed for an open loop, a sleeping writer, or a reader that closes its end: their message
// count is given.
func (r *runner) calibrate(f *fork, c *cellRun) error {
	moved := int64(0)
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

// adapts reports whether the messages of a slice are as many as the cell was seen to move in time.
func (c *cellRun) adapts() bool {
	cell := c.record.Cell
	_, sleeps := sleepOf(cell)
	return cell.Rate == 0 && cell.ClosesAfter == 0 && !sleeps
}

// addSample adds to a cell's record what its ends report of a slice.
func (r *runner) addSample(c *cellRun, got reports) error {
	timer := got.timer()
	trips := timer.Trips
	s := got.sample()
	s.Fork = c.group.forks
	s.Round = c.group.rounds
	r.interference.mark(&s, c.group.cpus)
	if len(trips) > mostTrips {
		if err := addRoundTrips(&s, trips); err != nil {
			return err
		}
		trips = nil
	}
	c.record.Samples = append(c.record.Samples, s)
	c.trips = append(c.trips, trips)
	r.measured = true
	if timer.Checked {
		c.record.Verified.Sequence += s.Messages
	}
	for _, one := range got {
		if one.Collections > 0 {
			c.warnOnce("garbage was collected while the clock ran: " +
				"this framing allocates more than a worker may hold")
		}
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Timed, Sample: len(c.record.Samples)})
	return nil
}

// mostTrips bounds the round trips of a slice whose times are kept until its cell is finished. To
// sum up those of a short slice takes a third of its time, and next to nothing for a long one.
const mostTrips = 10_000

// sumUp makes latencies of the round trips that were kept.
func (c *cellRun) sumUp() error {
	var each errgroup.Group
	for i, trips := range c.trips {
		each.Go(func() error { return addRoundTrips(&c.record.Samples[i], trips) })
	}
	return each.Wait()
}

// fallbackDivisor is by how much a machine may become slower between two slices: where somebody
// else computes on the ends' CPU, each message may wait for a turn of some milliseconds, and not
// for a microsecond.
const fallbackDivisor = 1000

// slice has the workers move as many messages of a cell as fill d at the best rate seen so far, so
// that slices of a cell hold the same work: one that others disturbed says nothing of the next. It
// returns no reports if the slice was left out. The fork's workers are gone then.
func (r *runner) slice(f *fork, c *cellRun, d time.Duration) (reports, error) {
	n := c.messagesFor(d)
	got, err := f.run(r.jobOf(c.record.Cell).of(n))
	if err != nil && r.leaveOut(c, n, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	timer := got.timer()
	c.rate = max(c.rate, rate(timer.Messages, timer.ElapsedNS))
	c.capacity = got.origin().Capacity
	return got, nil
}

// leaveOut reports whether n messages that were not moved in time are no failure of their cell:
// they took much longer than those before let expect, and the next fork tries again with as few as
// will do, or the run's time was up.
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
	if r.late(0) { // with more time it may have been a slow slice
		r.addReason(fmt.Errorf("%s: a sample %w", Label(c.record.Cell), slow))
		c.warnOnce(fmt.Sprintf("a sample %v, as the time was up: give it more (--max-time)", slow))
		return true
	}
	return false
}

// messagesFor returns how many messages fill d, by the best rate so far or the one asked for.
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
	// The untimed sample, by which a cell is known at first, reads as fast as it can.
	if cell.Drain > 0 && cell.Rate == 0 {
		perSecond = min(perSecond, float64(cell.Drain)/max(1, c.size))
	}
	if cell.Work > 0 && cell.Rate == 0 {
		perSecond = min(perSecond, 1e9/(cell.Work*max(1, c.size)))
	}
	return max(1, int64(math.Round(perSecond*d.Seconds())))
}

// messagesOfFills returns how many messages fill the pipe so many times. A writer that sleeps
// writes so many, as the rate of a burst that fits the pipe says nothing of the next.
func (c *cellRun) messagesOfFills(fills int64) int64 {
	capacity := int64(usualCapacity)
	if c.capacity > 0 {
		capacity = int64(c.capacity)
	}
	return max(1, fills*capacity/int64(c.record.Cell.Size))
}

// leastFills is how often at least a slice of a writer that sleeps fills the pipe: it meets one
// refusal.
const leastFills = 2

// usualCapacity is taken for the capacity of a pipe if the system does not tell it, in bytes.
const usualCapacity = 64 << 10

// sleepOf returns how long the writer of a stream sleeps when the pipe is full, if it does.
func sleepOf(c results.Cell) (pause time.Duration, sleeps bool) {
	writer, _, err := parseIO(c.IO)
	pause = writer.Pause()
	return pause, err == nil && pause > 0 && c.Pattern == "stream" && c.Rate == 0 && c.Size > 0
}

func rate(messages, ns int64) float64 { return float64(messages) / (float64(max(1, ns)) / 1e9) }

func (p Plan) jobOf(c results.Cell) job {
	return job{Cell: c, Seed: p.Seed, Recording: p.Recording, Offset: p.offsetOf(1)}
}

// offsetOf draws where in a page the messages of a fork begin. Cells of one fork share it, and so
// do those of others with the same number.
func (p Plan) offsetOf(fork int) int {
	return rand.New(rand.NewPCG(uint64(p.Seed), uint64(fork))).IntN(results.PageOffsets)
}

// of makes the job a timed one of n messages. Before them go an eighth as many: as many as fill the
// caches and wake the CPUs, and few where each takes long. A writer that sleeps needs none.
func (j job) of(n int64) job {
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

// mixedWarmup is how many large messages go before a slice of a mixed cell.
const mixedWarmup = 2
