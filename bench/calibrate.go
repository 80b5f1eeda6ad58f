package bench

import (
	"context"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
)

// The untimed sample has as many messages as fill some pipes' worth of bytes,
// but enough to meet each of a recording's, and no more than are quickly made.
const (
	compareBytes = 1 << 20
	minCompare   = 2
	maxCompare   = 64
)

// calibrate takes what comes before a cell's first timed sample: the untimed
// one, in which every byte is compared, and a short one that tells how many
// messages fill the time.
func (r *runner) calibrate(ctx context.Context, c *cellRun) error {
	if err := r.compare(ctx, c); err != nil {
		return err
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Compared})
	if _, _, err := r.measureOnce(ctx, c, r.messagesFor(c, r.Duration/4)); err != nil {
		return err
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Calibrated})
	return nil
}

// compare runs the untimed sample.
func (r *runner) compare(ctx context.Context, c *cellRun) error {
	source, err := job{Cell: c.record.Cell, Seed: r.Seed, Recording: r.Recording}.messages()
	if err != nil {
		return err
	}
	n := int64(compareBytes / max(1, source.Largest()))
	n = max(minCompare, min(n, maxCompare), source.Distinct())
	reports, err := r.runSample(ctx, c, job{Warmup: 0, Messages: n, Compare: true})
	if err != nil {
		return err
	}
	held := reports.timerReport()
	c.record.Verified = &results.Verified{Compared: n, Bytes: held.PayloadBytes}
	c.rate = rate(n, held.ElapsedNS) // comparing is slower than checking, so this is on the safe side
	return nil
}

// messagesFor is how many messages fill d, by the latest rate or the one asked for.
func (r *runner) messagesFor(c *cellRun, d time.Duration) int64 {
	if asked := c.record.Cell.Rate; asked > 0 {
		return max(1, int64(math.Round(asked*d.Seconds())))
	}
	return max(1, int64(math.Round(c.rate*d.Seconds())))
}

// warmup is how many messages go before n timed ones: a tenth, as many as
// settle the buffers of both ends, and few where each takes long.
func warmup(n int64) int64 { return max(1, min(n/10, 1000)) }

func rate(messages, ns int64) float64 { return float64(messages) / (float64(max(1, ns)) / 1e9) }

// measureOnce runs a timed sample of n messages, and tells whether they were checked.
func (r *runner) measureOnce(ctx context.Context, c *cellRun, n int64) (s results.Sample, checked bool, err error) {
	reports, err := r.runSample(ctx, c, job{Warmup: warmup(n), Messages: n})
	if err != nil {
		return results.Sample{}, false, err
	}
	s = reports.sample()
	c.rate = rate(s.Messages, s.ElapsedNS)
	if reports.collections() > 0 {
		c.warnOnce("garbage was collected while the clock ran: this framing allocates more than a worker may hold")
	}
	return s, reports.timerReport().Checked, nil
}
