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

// Run measures the plan's cells. It calls keep with a cell's record after the cell's last sample.
//
// Cells that differ in their framing, or in what the ends do with their memory, are compared.
// Compared cells of all message sizes are a group, which shares its workers. The workers of a group
// are started several times; each start is a fork. In each round of a fork every cell takes a
// slice. Each round has a new random order, in which compared cells follow each other. The groups
// take turns, a fork each time: so whatever else the machine does meets all cells alike, and the
// forks of one group lie spread over the run.
//
// Run stops early when ctx ends, when keep fails, or when a cell fails: a message is lost or
// altered, a worker dies or hangs. It then keeps what was measured. At its end no worker is left.
func Run(ctx context.Context, p Plan, keep func(results.Record) error) error {
	r, err := newRunner(p, keep)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

// A runner is a run under way.
type runner struct {
	Plan
	placed       []placedCell
	keep         func(results.Record) error
	random       *rand.Rand
	started      time.Time
	grace        time.Duration // how much longer than 20 × its duration a slice may take
	interference *interference
	groups       []*group // those that still need samples
	measured     bool     // a sample was taken
	reasons      []error  // why cells cannot run here, or were not begun; each reason once
}

// A group is the cells that share workers: see [sharedBy].
type group struct {
	cells  []*cellRun
	cpus   placement.CPUs
	forks  int // how many were begun
	rounds int // how many were begun
	cost   cost
}

// A cellRun is a cell that is being measured.
type cellRun struct {
	record     results.Record
	group      *group
	rate       float64 // messages per second, the best so far
	size       float64 // bytes of a message on average
	capacity   int     // of its pipe, in bytes, as a worker reported it; 0: not known
	calibrated bool
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

// run takes every group through its forks, until each has its samples or time is too short.
func (r *runner) run(ctx context.Context) error {
	if err := r.openGroups(); err != nil {
		return r.end(ctx, err)
	}
	for begun := true; begun && len(r.groups) > 0; {
		begun = false
		for _, g := range shuffled(r.random, r.groups) {
			if r.late(g.cost.fork + g.cost.round) {
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

// end finishes the groups that still need samples. err is why the run failed, nil if its time is up
// or all is done. end returns an error if the run failed, or if no cell was measured.
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

// openGroups groups the cells that this machine can run. The others get a record that says why not.
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

// fork starts the workers of a group, lets them take some rounds, and ends them. In the first fork
// every cell is verified and calibrated before the rounds.
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
	g.cost.fork = time.Since(began) // without prepare, which later forks do not need
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

// prepare verifies and calibrates a cell, unless an earlier fork did. If it returns nil but the
// cell is not calibrated, a slice was left out, and the fork is over.
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

// takeRounds takes the given number of rounds in a fork, or fewer if the time is up. In the first
// fork the number rests on a guessed cost. So there it is computed anew after each round, and the
// first fork takes no more rounds than the later ones will.
func (r *runner) takeRounds(ctx context.Context, f *fork, g *group, rounds int) error {
	for n := range rounds {
		if err := r.turn(ctx); err != nil {
			return err
		}
		if r.measured && r.late(g.cost.round) {
			return nil
		}
		began := time.Now()
		g.rounds++
		for _, c := range g.inTurn(r.random) {
			got, err := r.slice(f, c, r.Duration)
			if err == nil && got == nil {
				return nil // the slice was left out, and the fork is over
			}
			if err == nil {
				err = r.addSample(c, got)
			}
			if err != nil {
				return r.failed(c, err)
			}
		}
		g.cost.count(n, time.Since(began))
		if g.forks == 1 && n+1 >= r.roundsFor(g) {
			return nil
		}
	}
	return nil
}

// inTurn returns the cells in a random order, in which those that are compared follow each other.
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

// turn waits for the run's turn (see Plan.Turn). The wait does not count as time of the run.
func (r *runner) turn(ctx context.Context) error {
	if r.Turn == nil {
		return nil
	}
	began := time.Now()
	err := r.Turn(ctx)
	r.started = r.started.Add(time.Since(began))
	return err
}

// stopReason returns why a group needs no more samples, "" if it needs some.
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

// failed notes err in the record of the cell, and returns it with the cell's name.
func (r *runner) failed(c *cellRun, err error) error {
	err = fmt.Errorf("%s: %w", Label(c.record.Cell), err)
	c.record.Failed = err.Error()
	return err
}

// finish passes on the records of the groups for which why returns a reason. If the run was
// interrupted or failed, a cell without samples gets a record only if it has failed itself.
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
				c.record.Failed = "" // it only says that the workers were killed
			}
			if reason != "max-time" && len(c.record.Samples) == 0 && c.record.Failed == "" {
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
