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
)

// Run makes the measurements that the plan's cells describe, and passes each record to the function
// keep. The samples of each measurement are spread over the whole run, so that whatever else the
// machine does affects all measurements alike.
//
// Run returns early if the function keep returns an error, if ctx ends, or if a measurement fails:
// a message is lost or altered, or a worker process dies or hangs. After ctx ends or a measurement
// fails, what was measured until then is still passed to keep. When Run returns, no worker process
// is left.
func Run(ctx context.Context, p Plan, keep func(results.Record) error) error {
	r, err := newRunner(p, keep)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

// A runner is the state of one call of [Run].
type runner struct {
	Plan
	placed       []placedCell
	keep         func(results.Record) error
	random       *rand.Rand
	started      time.Time
	grace        time.Duration // the constant grace, except in tests
	interference *interference
	groups       []*group // those that still need samples
	measured     bool     // a sample was taken
	reasons      []error  // why measurements cannot be made or were not begun; each reason once
}

// A group has the measurements that the same worker processes make.
type group struct {
	cells  []*cellRun
	cpus   placement.CPUs
	forks  int // how often the workers were started
	rounds int // how many rounds were begun; in a round, every measurement takes a sample
	cost   cost
}

// A cellRun is one measurement that is being made.
type cellRun struct {
	record     results.Record
	group      *group
	rate       float64 // messages per second, the highest so far
	size       float64 // bytes of a message on average
	capacity   int     // of the pipe, in bytes, as a worker reported it; 0: not known
	calibrated bool
	warm       *fork // the workers that were warmed up for this measurement; nil at first
}

func newRunner(p Plan, keep func(results.Record) error) (*runner, error) {
	p = p.withDefaults()
	placed, err := p.validateAndPlace()
	if err == nil && p.Run == "" {
		p.Run, err = results.NewRun()
	}
	return &runner{
		Plan:         p,
		placed:       placed,
		keep:         keep,
		random:       rand.New(rand.NewPCG(uint64(p.Seed), uint64(len(p.Cells)))),
		started:      time.Now(),
		grace:        grace,
		interference: newInterference(),
	}, err
}

// run starts the workers of each group of measurements in turn, until every group has its samples
// or the time is up. The first turn has the order of the plan, so that what stands first there is
// measured even if there is little time.
func (r *runner) run(ctx context.Context) error {
	if err := r.openGroups(); err != nil {
		return r.end(ctx, err)
	}
	order := r.groups
	for begun := true; begun && len(r.groups) > 0; order = shuffled(r.random, r.groups) {
		begun = false
		for _, g := range order {
			if r.wouldEndLate(g.cost.fork + g.cost.round) {
				continue
			}
			begun = true
			if err := r.fork(ctx, g); err != nil {
				return r.end(ctx, err)
			}
		}
		if err := r.finish(r.stopReason); err != nil {
			return r.end(ctx, err)
		}
	}
	return r.end(ctx, nil)
}

// end finishes the groups of measurements that still need samples. It returns an error if the run
// has failed, or if not a single sample was taken.
func (r *runner) end(ctx context.Context, err error) error {
	why := "max-time"
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		why = "interrupted"
	case err != nil:
		why = "failed"
	case len(r.groups) > 0:
		r.addReason(fmt.Errorf("the time of %s was up", r.MaxTime))
	}
	err = errors.Join(err, r.finish(func(*group) string { return why }))
	if err == nil && !r.measured {
		return fmt.Errorf("no cell was measured: %w", errors.Join(r.reasons...))
	}
	return err
}

// openGroups makes groups of the measurements that are possible on this machine. For each
// impossible one it keeps a record that says why.
func (r *runner) openGroups() error {
	groups := map[results.Cell]*group{}
	for _, placed := range r.placed {
		c := &cellRun{record: results.Record{
			Kind: results.KindMeasurement, Run: r.Run, Cell: placed.cell,
		}}
		if placed.unsupported != nil {
			r.addReason(placed.unsupported)
			c.record.Unsupported = placed.unsupported.Error()
			if err := r.finishCell(c, ""); err != nil {
				return err
			}
			continue
		}
		shared := sharedBy(placed.cell)
		g := groups[shared]
		if g == nil {
			g = &group{cpus: placed.cpus, cost: cost{fork: forkOverhead}}
			groups[shared] = g
			r.groups = append(r.groups, g)
		}
		c.group = g
		g.cells = append(g.cells, c)
		g.cost.expect(r.Plan, placed.cell)
	}
	return nil
}

func (r *runner) addReason(why error) {
	same := func(other error) bool { return other.Error() == why.Error() }
	if !slices.ContainsFunc(r.reasons, same) {
		r.reasons = append(r.reasons, why)
	}
}

// fork starts the worker processes of a group, takes some rounds of samples with them, and ends the
// processes.
func (r *runner) fork(ctx context.Context, g *group) error {
	if err := r.turn(ctx); err != nil {
		return err
	}
	began := time.Now()
	rounds := r.roundsFor(g)
	g.forks++
	j := r.jobOf(g.cells[0].record.Cell)
	j.Offset = r.offsetOf(g.forks)
	f, err := startFork(ctx, j, g.cpus, r.limit)
	if err != nil {
		return r.failed(g.cells[0], err)
	}
	defer f.close()
	g.cost.fork = time.Since(began) // without prepare, which later starts skip
	for _, c := range shuffled(r.random, g.cells) {
		if err := r.prepare(f, c); err != nil {
			return r.failed(c, err)
		}
		if !c.calibrated {
			return nil
		}
	}
	return r.takeRounds(ctx, f, g, rounds)
}

// prepare verifies and calibrates the measurement c, unless that was done after an earlier start of
// the workers. If a job is too slow, it is left out: prepare returns nil, but c.calibrated stays
// false.
func (r *runner) prepare(f *fork, c *cellRun) error {
	if c.record.Verified == nil {
		err := r.compare(f, c)
		if err != nil || c.record.Verified == nil {
			return err
		}
	}
	if c.calibrated {
		return nil
	}
	return r.calibrate(f, c)
}

// takeRounds takes the given number of rounds with the workers of f, or fewer if the time is up. In
// a round, every measurement of the group takes one sample.
func (r *runner) takeRounds(ctx context.Context, f *fork, g *group, rounds int) error {
	for n := range rounds {
		if err := r.turn(ctx); err != nil {
			return err
		}
		if r.measured && r.wouldEndLate(g.cost.round) {
			return nil
		}
		began := time.Now()
		g.rounds++
		for _, c := range g.inTurn(r.random) {
			got, err := r.slice(f, c, r.Duration)
			if err == nil && got == nil {
				return nil // the sample was left out, and the workers have ended
			}
			if err == nil {
				err = r.addSample(c, got)
			}
			if err != nil {
				return r.failed(c, err)
			}
		}
		g.cost.count(n, time.Since(began))
		// After the first start of the workers, the number of rounds comes from a guessed cost. By
		// now the cost is known better.
		if g.forks == 1 && n+1 >= r.roundsFor(g) {
			return nil
		}
	}
	return nil
}

// inTurn returns the measurements of the group in a random order, except that those to be compared
// with each other stay together.
func (g *group) inTurn(random *rand.Rand) []*cellRun {
	var order []results.Cell
	compared := map[results.Cell][]*cellRun{}
	for _, c := range shuffled(random, g.cells) {
		key := comparedBy(c.record.Cell)
		if compared[key] == nil {
			order = append(order, key)
		}
		compared[key] = append(compared[key], c)
	}
	var cells []*cellRun
	for _, key := range order {
		cells = append(cells, compared[key]...)
	}
	return cells
}

// turn waits until Plan.Turn says that the run may go on. The time of waiting does not count
// towards MaxTime.
func (r *runner) turn(ctx context.Context) error {
	if r.Turn == nil {
		return nil
	}
	began := time.Now()
	err := r.Turn(ctx)
	r.started = r.started.Add(time.Since(began))
	return err
}

// stopReason returns why a group of measurements needs no more samples, or "" if it needs some.
func (r *runner) stopReason(g *group) string {
	for _, c := range g.cells {
		if len(c.record.Samples) < r.Samples {
			return ""
		}
	}
	return "samples"
}

func shuffled[T any](random *rand.Rand, list []T) []T {
	order := slices.Clone(list)
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// failed returns err with the name of the measurement c in front, and notes this error in the
// record of c.
func (r *runner) failed(c *cellRun, err error) error {
	err = fmt.Errorf("%s: %w", results.CellName(c.record.Cell), err)
	c.record.Failed = err.Error()
	return err
}

// finish finishes the groups for which the function why returns a reason, and hands their records
// to r.keep. A measurement without samples has no record after a failure, unless it failed itself,
// nor if the run was interrupted before its first sample.
func (r *runner) finish(why func(*group) string) error {
	open := r.groups
	r.groups = nil
	r.interference.update()
	for _, g := range open {
		reason := why(g)
		if reason == "" {
			r.groups = append(r.groups, g)
			continue
		}
		for _, c := range g.cells {
			if reason == "interrupted" {
				c.record.Failed = "" // it only says that we killed the workers
			}
			hasNothing := len(c.record.Samples) == 0 && c.record.Failed == ""
			if hasNothing && (reason == "failed" || reason == "interrupted" && !r.measured) {
				continue
			}
			if err := r.finishCell(c, reason); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) finishCell(c *cellRun, why string) error {
	c.record.Time = time.Now().UTC()
	c.record.Stopped = why
	c.record.Warnings = append(c.record.Warnings, warnings(c.record, r.Samples)...)
	if len(c.record.Samples) > 0 {
		texts, disturbed := r.interference.warnings(c.record.Samples)
		c.record.Warnings = append(c.record.Warnings, texts...)
		c.record.Disturbed = disturbed
	}
	if err := r.keep(c.record); err != nil {
		return fmt.Errorf("keep the record of %s: %w", results.CellName(c.record.Cell), err)
	}
	r.observe(Progress{Cell: c.record.Cell, Step: Finished})
	return nil
}

func (r *runner) observe(p Progress) {
	if r.Observe != nil {
		r.Observe(p)
	}
}
