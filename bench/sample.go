package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// The untimed sample has as many messages as fill some pipes' worth of bytes, but enough to meet
// each of a recording's, and no more than are quickly made.
const (
	compareBytes = 1 << 20
	minCompare   = 2
	maxCompare   = 64
)

// calibrate takes what comes before a cell's first timed sample: the untimed one, in which every
// byte is compared, and a short one that tells how many messages fill the time.
func (r *runner) calibrate(ctx context.Context, c *cellRun) error {
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
	timer := reports.timerReport()
	c.record.Verified = &results.Verified{Compared: n, Bytes: timer.PayloadBytes}
	c.rate = rate(n, timer.ElapsedNS) // comparing is slower than checking, so this is on the safe side
	r.observe(Progress{Cell: c.record.Cell, Step: Compared})
	if _, _, err := r.measureOnce(ctx, c, r.messagesFor(c, r.Duration/4)); err != nil {
		return err
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Calibrated})
	return nil
}

// messagesFor returns how many messages fill d, by the latest rate or the one asked for.
func (r *runner) messagesFor(c *cellRun, d time.Duration) int64 {
	perSecond := c.rate
	if asked := c.record.Cell.Rate; asked > 0 {
		perSecond = asked
	}
	return max(1, int64(math.Round(perSecond*d.Seconds())))
}

func rate(messages, ns int64) float64 { return float64(messages) / (float64(max(1, ns)) / 1e9) }

// measureOnce takes a timed sample of n messages, and tells whether they were checked. Before them
// go a tenth as many: as many as settle the buffers of both endpoints, and few where each takes
// long.
func (r *runner) measureOnce(ctx context.Context, c *cellRun, n int64) (s results.Sample, checked bool, err error) {
	reports, err := r.runSample(ctx, c, job{Warmup: max(1, min(n/10, 1000)), Messages: n})
	if err != nil {
		return results.Sample{}, false, err
	}
	s = reports.sample()
	c.rate = rate(s.Messages, s.ElapsedNS)
	for _, one := range reports {
		if one.Collections > 0 {
			c.warnOnce("garbage was collected while the clock ran: this framing allocates more than a worker may hold")
		}
	}
	return s, reports.timerReport().Checked, nil
}

// Measure takes one sample of n messages of a cell, without calibration: for a caller that decides
// itself how many messages a sample has, as go test -bench does. The plan's cells are not used.
func (p Plan) Measure(ctx context.Context, c results.Cell, n int64) (results.Sample, error) {
	r, one, err := p.single(c)
	if err != nil {
		return results.Sample{}, err
	}
	s, _, err := r.measureOnce(ctx, one, n)
	if err != nil {
		return s, fmt.Errorf("%s: %w", Label(c), err)
	}
	return s, nil
}

// single readies a cell that is not one of the plan's.
func (p Plan) single(c results.Cell) (*runner, *cellRun, error) {
	topology, err := placement.Read()
	if err != nil {
		return nil, nil, err
	}
	if err := p.validate(c); err != nil {
		return nil, nil, err
	}
	cpus, err := placeCell(c, topology)
	return &runner{Plan: p, grace: grace}, &cellRun{record: results.Record{Cell: c}, cpus: cpus}, err
}
