package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Run measures the plan's cells and gives each one's record to keep, as soon as it has the last of
// its samples. Samples of all cells are interleaved, in an order shuffled anew each round, so that
// what else the machine does meets all of them alike.
//
// It stops early when ctx ends, when keep fails, or when a cell fails: a message lost or altered, a
// worker that dies or hangs. What was measured by then is kept all the same. When Run returns there
// is no worker left.
func Run(ctx context.Context, p Plan, keep func(results.Record) error) error {
	r, err := newRunner(p, keep)
	if err != nil {
		return err
	}
	r.interference = newInterference()
	err = r.measure(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	err = errors.Join(err, r.finishAll(ctx, err))
	if err == nil && !r.measured {
		return fmt.Errorf("no cell was measured: %w", errors.Join(r.reasons...))
	}
	return err
}

// A runner is a run under way.
type runner struct {
	Plan
	keep         func(results.Record) error
	random       *rand.Rand
	started      time.Time
	grace        time.Duration // what a sample may take beyond twenty times its duration
	interference *interference // of a whole run; nil where a single sample is taken
	cells        []*cellRun    // those still open
	measured     bool          // a sample was taken
	reasons      []error       // why cells cannot run here, or were not begun; each reason once
}

// A cellRun is a cell that is being measured.
type cellRun struct {
	record results.Record
	cpus   placement.CPUs
	rate   float64 // messages a second, by the latest sample
}

func newRunner(p Plan, keep func(results.Record) error) (*runner, error) {
	p, err := p.Checked()
	return &runner{
		Plan:    p,
		keep:    keep,
		random:  rand.New(rand.NewPCG(uint64(p.Seed), uint64(len(p.Cells)))),
		started: time.Now(),
		grace:   grace,
	}, err
}

// measure takes every cell through its calibration and its samples.
func (r *runner) measure(ctx context.Context) error {
	if err := r.openCells(); err != nil {
		return err
	}
	for _, c := range r.shuffled() {
		if err := r.calibrate(ctx, c); err != nil {
			return r.failed(c, err)
		}
	}
	for len(r.cells) > 0 && !r.timeUp() {
		if err := r.round(ctx); err != nil {
			return err
		}
	}
	if len(r.cells) > 0 {
		r.addReason(fmt.Errorf("the time of %s was up", r.MaxTime))
	}
	return nil
}

// openCells opens the cells that this machine can run, and keeps a record of why it cannot run the
// others.
func (r *runner) openCells() error {
	for _, placed := range r.placed {
		c := &cellRun{record: results.Record{Kind: results.KindMeasurement, Run: r.Run, Cell: placed.cell}, cpus: placed.cpus}
		if placed.unsupported == nil {
			r.cells = append(r.cells, c)
			continue
		}
		r.addReason(placed.unsupported)
		c.record.Unsupported = placed.unsupported.Error()
		if err := r.finish(c, ""); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) addReason(why error) {
	same := func(other error) bool { return other.Error() == why.Error() }
	if !slices.ContainsFunc(r.reasons, same) {
		r.reasons = append(r.reasons, why)
	}
}

// round takes one sample of every open cell.
func (r *runner) round(ctx context.Context) error {
	r.interference.nextRound()
	for _, c := range r.shuffled() {
		if r.timeUp() {
			return nil
		}
		if err := r.sample(ctx, c); err != nil {
			return r.failed(c, err)
		}
		if why := r.stopReason(c.record); why != "" {
			r.cells = slices.DeleteFunc(r.cells, func(other *cellRun) bool { return other == c })
			if err := r.finish(c, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// fallbackDivisor is by how much a machine may become slower between two samples: where somebody
// else computes on the ends' CPU, each message may wait for a turn of some milliseconds, and not
// for a microsecond.
const fallbackDivisor = 1000

// sample takes one timed sample of a cell. One that takes much longer than the last one let expect
// is tried again, with as few messages as will do.
func (r *runner) sample(ctx context.Context, c *cellRun) error {
	n := r.messagesFor(c, r.Duration)
	got, checked, err := r.measureOnce(ctx, c, n)
	if slow := (errSlow{}); errors.As(err, &slow) && n > fallbackDivisor {
		c.warnOnce(fmt.Sprintf("a sample of %d messages did not finish within %s and was left out, although %s was to be expected: look for what else uses the CPUs, and let nothing else run", n, slow.limit, r.Duration))
		got, checked, err = r.measureOnce(ctx, c, n/fallbackDivisor)
	}
	if err != nil {
		return err
	}
	c.record.Samples = append(c.record.Samples, got)
	r.measured = true
	if checked {
		c.record.Verified.Sequence += got.Messages
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Timed, Sample: len(c.record.Samples)})
	return nil
}

// stopReason returns why a cell needs no more samples, empty if it does.
func (r *runner) stopReason(rec results.Record) string {
	switch {
	case len(rec.Samples) < r.Samples:
		return ""
	case r.Precision <= 0:
		return "samples"
	}
	m, err := stat.MetricByName("time")
	if err != nil {
		return ""
	}
	if spread, known := stat.Median(m.Values(rec.Samples)).Spread(); known && spread <= 100*r.Precision {
		return "precision"
	}
	return ""
}

func (r *runner) timeUp() bool { return r.MaxTime > 0 && time.Since(r.started) > r.MaxTime }

func (r *runner) shuffled() []*cellRun {
	order := make([]*cellRun, len(r.cells))
	for to, from := range r.random.Perm(len(order)) {
		order[to] = r.cells[from]
	}
	return order
}

// failed notes in the record what went wrong with its cell.
func (r *runner) failed(c *cellRun, err error) error {
	err = fmt.Errorf("%s: %w", Label(c.record.Cell), err)
	c.record.Failed = err.Error()
	r.observe(Progress{Cell: c.record.Cell, Step: Finished, Err: err})
	return err
}

// finishAll keeps what there is of the cells that are still open.
func (r *runner) finishAll(ctx context.Context, cause error) error {
	why := "max-time"
	switch {
	case ctx.Err() != nil:
		why = "interrupted"
	case cause != nil:
		why = "failed"
	}
	for _, c := range r.cells {
		if why == "interrupted" {
			c.record.Failed = "" // the workers were killed for it
		}
		if why != "max-time" && len(c.record.Samples) == 0 && c.record.Failed == "" {
			continue // not begun: there is nothing to say
		}
		if err := r.finish(c, why); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) finish(c *cellRun, why string) error {
	c.record.Time = time.Now().UTC()
	c.record.Stopped = why
	c.record.Warnings = append(c.record.Warnings, warnings(c.record, r.Samples)...)
	if len(c.record.Samples) > 0 {
		warnings, disturbed := r.interference.warnings()
		c.record.Warnings, c.record.Disturbed = append(c.record.Warnings, warnings...), disturbed
	}
	if err := r.keep(c.record); err != nil {
		return fmt.Errorf("keep the record of %s: %w", Label(c.record.Cell), err)
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Finished})
	return nil
}

func (r *runner) observe(p Progress) {
	if r.Observe != nil {
		r.Observe(p)
	}
}
