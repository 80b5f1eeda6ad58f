package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Run measures the plan's cells and gives each one's record to keep, when the last of its samples
// was taken.
//
// Cells that differ in their framing alone are compared, and share their workers with those of other
// sizes: these are a group. Its workers are started once a fork, and each round takes a slice of
// every cell, in an order shuffled anew in which compared cells follow each other. Groups take their
// forks in turn, so that what else the machine does meets all cells alike, and the forks of one lie
// spread over the run.
//
// It stops early when ctx ends, when keep fails, or when a cell fails: a message lost or altered, a
// worker that dies or hangs. What was measured by then is kept all the same. When Run returns there
// is no worker left.
func Run(ctx context.Context, p Plan, keep func(results.Record) error) error {
	r, err := newRunner(p, keep)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

// run takes every group through its forks, until each has its samples or the time is up.
func (r *runner) run(ctx context.Context) error {
	err := r.openGroups()
	for begun := true; begun && err == nil && len(r.groups) > 0; {
		begun = false
		for _, g := range shuffled(r.random, r.groups) {
			rounds := r.roundsFor(g)
			if rounds == 0 || r.late(g.cost.fork+g.cost.round) {
				continue
			}
			begun = true
			if err := r.fork(ctx, g, rounds); err != nil && !errors.Is(err, errRetry) {
				return r.end(ctx, err)
			}
		}
		err = r.finish(r.stopReason)
	}
	return r.end(ctx, err)
}

// end keeps what was measured of the groups that are left, and returns why the run ends before its
// plan does, if that is an error.
func (r *runner) end(ctx context.Context, err error) error {
	why := "max-time"
	switch {
	case ctx.Err() != nil:
		err, why = context.Cause(ctx), "interrupted"
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

// A runner is a run under way.
type runner struct {
	Plan
	keep         func(results.Record) error
	random       *rand.Rand
	started      time.Time
	grace        time.Duration // what a slice may take beyond twenty times its duration, if there is time
	interference *interference
	groups       []*group // those still open
	measured     bool     // a sample was taken
	reasons      []error  // why cells cannot run here, or were not begun; each reason once
}

// A group is cells whose workers are started together: see sharedBy.
type group struct {
	cells  []*cellRun
	cpus   placement.CPUs
	forks  int // begun
	rounds int // begun
	cost   cost
	guess  time.Duration // of a round
}

// A cost is how long parts of a group's measurement take, by the latest fork: a round of it, and what
// it takes beyond its rounds. The first round meets cold caches and untouched memory, and what it
// takes longer than the others is counted with the fork.
type cost struct{ fork, round time.Duration }

// A cellRun is a cell that is being measured.
type cellRun struct {
	record     results.Record
	trips      [][]int64 // of each sample, nanoseconds, as far as they are not summed up yet
	group      *group
	rate       float64 // messages a second, the best so far
	size       float64 // bytes of a message on average, those of a recording too
	capacity   int     // bytes, of its pipe, once that was read back
	calibrated bool
}

func newRunner(p Plan, keep func(results.Record) error) (*runner, error) {
	p, err := p.Checked()
	return &runner{
		Plan:    p,
		keep:    keep,
		random:  rand.New(rand.NewPCG(uint64(p.Seed), uint64(len(p.Cells)))),
		started: time.Now(),
		grace:   grace,

		interference: newInterference(),
	}, err
}

// openGroups groups the cells that this machine can run, and keeps a record of why it cannot run
// the others.
func (r *runner) openGroups() error {
	record := func(c results.Cell) results.Record {
		return results.Record{Kind: results.KindMeasurement, Run: r.Run, Cell: c}
	}
	supported := make([]placedCell, 0, len(r.placed))
	for _, placed := range r.placed {
		if placed.unsupported == nil {
			supported = append(supported, placed)
			continue
		}
		r.addReason(placed.unsupported)
		c := &cellRun{record: record(placed.cell)}
		c.record.Unsupported = placed.unsupported.Error()
		if err := r.finishCell(c, ""); err != nil {
			return err
		}
	}
	for _, cells := range stat.GroupBy(supported, func(p placedCell) results.Cell { return sharedBy(p.cell) }) {
		g := &group{cpus: cells[0].cpus, cost: r.expected(cells[len(cells)-1].cell, len(cells))}
		for _, placed := range cells {
			g.cells = append(g.cells, &cellRun{record: record(placed.cell), group: g})
		}
		g.guess = g.cost.round
		r.groups = append(r.groups, g)
	}
	return nil
}

func (r *runner) addReason(why error) {
	same := func(other error) bool { return other.Error() == why.Error() }
	if !slices.ContainsFunc(r.reasons, same) {
		r.reasons = append(r.reasons, why)
	}
}

// mostSpares is how many pipes a fork opens at most for readers that leave: a user may have a
// thousand of the usual capacity.
const mostSpares = 64

// fork starts the workers of a group, has them take so many rounds, and ends them. The first fork has
// every byte of each cell compared before.
func (r *runner) fork(ctx context.Context, g *group, rounds int) error {
	if err := r.turn(ctx); err != nil {
		return err
	}
	began := time.Now()
	leaving := len(stat.Filter(g.cells, func(c *cellRun) bool { return c.record.Cell.ClosesAfter > 0 }))
	if leaving > 0 {
		rounds = min(rounds, max(1, mostSpares/leaving))
	}
	g.forks++
	leader := r.jobOf(g.leader())
	leader.Offset = r.offsetOf(g.forks)
	f, err := startFork(ctx, leader, g.cpus, r.limit, rounds*leaving)
	if err != nil {
		return r.failed(g.cells[0], err)
	}
	defer f.close()
	g.cost.fork = time.Since(began) // what follows is for the first alone
	for _, c := range shuffled(r.random, g.cells) {
		if c.record.Verified == nil {
			err = r.compare(f, c)
		}
		if err == nil && !c.calibrated {
			err = r.calibrate(f, c)
		}
		if err != nil {
			return r.failed(c, err)
		}
	}
	for n := range rounds {
		if err := r.turn(ctx); err != nil {
			return err
		}
		guessed := g.forks == 1 && n > 0 && n >= r.roundsFor(g) // by now it is known what the later ones get
		if began = time.Now(); r.measured && (guessed || r.late(g.cost.round)) {
			return nil
		}
		g.rounds++
		for _, c := range g.inTurn(r.random) {
			got, err := r.slice(f, c, r.Duration)
			if err == nil {
				err = r.addSample(c, got)
			}
			if err != nil {
				return r.failed(c, err)
			}
		}
		g.cost.count(n, time.Since(began))
	}
	return nil
}

// count learns from how long the nth round of a fork took.
func (c *cost) count(n int, took time.Duration) {
	if n == 1 {
		c.fork += max(0, min(c.round-took, took)) // more is no cold cache but somebody else
	}
	c.round += (took - c.round) / time.Duration(max(1, n)) // the mean of all but the first
}

// inTurn returns the cells in a new order, in which those that are compared follow each other.
func (g *group) inTurn(random *rand.Rand) []*cellRun {
	compared := func(c *cellRun) results.Cell { return comparedBy(c.record.Cell) }
	return slices.Concat(stat.GroupBy(shuffled(random, g.cells), compared)...)
}

// turn waits for the run's turn, which is no part of its time.
func (r *runner) turn(ctx context.Context) error {
	if r.Turn == nil {
		return nil
	}
	began := time.Now()
	err := r.Turn(ctx)
	r.started = r.started.Add(time.Since(began))
	return err
}

// leader returns the cell by which a group's workers are started: one whose framing was registered,
// where there is one, as its workers know the others, too.
func (g *group) leader() results.Cell {
	for _, c := range g.cells {
		if _, err := framers.Parse(c.record.Cell.Framing); err != nil {
			return c.record.Cell
		}
	}
	return g.cells[0].record.Cell
}

// An interval needs leastForks forks to say anything. And a fork is known by the median of its slices,
// so it should have wholeRounds, of which two may be disturbed; of four none but one, and of fewer
// than leastRounds it says next to nothing. Where one slice in twelve takes half as long again, the
// interval of six forks of four is wider than ±10 % in one cell of ten, of five of five ±6 %.
const (
	leastForks  = 4
	leastRounds = 3
	wholeRounds = 5
)

// roundsFor returns how many rounds the next fork of a group takes: its part of those to come. Where
// the time is too short for those of all groups, all get fewer, in proportion: first fewer forks,
// then fewer rounds of each; and ends with a CPU each a smaller share. It returns 0 where a further
// fork would have too few to be of use.
func (r *runner) roundsFor(g *group) int {
	var starting, measuring, shares float64
	busy := 1.0 // by how much the dearest group exceeds its guess, as those not begun are going to
	for _, other := range r.groups {
		if other.rounds > 0 && other.guess > 0 {
			busy = max(busy, float64(other.cost.round)/float64(other.guess))
		}
	}
	for _, other := range r.groups {
		forks, rounds := r.left(other)
		start, round := float64(forks)*other.cost.fork.Seconds(), float64(rounds)*other.cost.round.Seconds()
		if other.rounds == 0 {
			start, round = start*busy, round*busy
		}
		starting += start
		measuring += round
		shares += round * other.share()
	}
	forks, rounds := r.left(g)
	asked, left := (rounds+forks-1)/forks, (r.MaxTime - time.Since(r.started)).Seconds()
	if r.MaxTime == 0 || starting+measuring <= left {
		return asked
	}
	perFork := func() int { return int(float64(rounds) / float64(forks) * g.share() * (left - starting) / shares) }
	for perFork() < wholeRounds && forks > max(1, leastForks-g.forks) {
		starting *= float64(forks-1) / float64(forks)
		forks--
	}
	if n := perFork(); g.forks < leastForks || n >= min(leastRounds, asked) {
		return min(max(1, n), max(asked, wholeRounds))
	}
	return 0
}

// share weighs the rounds of a group where time is short. On one CPU others disturb a slice more: of as
// many slices a ratio is known to ±9 % there where ends with a CPU each are to ±5 %.
func (g *group) share() float64 {
	if g.cpus.Writer == g.cpus.Reader {
		return 1
	}
	return 2.0 / 3
}

// left returns how many forks and rounds a group has yet to take. Where a precision is to be
// reached, it may take further forks.
func (r *runner) left(g *group) (forks, rounds int) {
	all := r.forksOf(g.leader())
	return max(1, all-g.forks), max(r.Samples-g.rounds, r.Samples/all, 1)
}

// stopReason returns why a group needs no more samples, empty if it does.
func (r *runner) stopReason(g *group) string {
	if slices.ContainsFunc(g.cells, func(c *cellRun) bool { return len(c.record.Samples) < r.Samples }) {
		return ""
	}
	if r.Precision <= 0 {
		return "samples"
	}
	for _, c := range g.cells {
		spread, known := stat.MustMetric("time").Estimate(c.record).Spread()
		if !known || spread > 100*r.Precision {
			return ""
		}
	}
	return "precision"
}

// late reports whether something that takes so long is not to be begun any more.
func (r *runner) late(cost time.Duration) bool {
	if !r.measured {
		cost = 0 // a guess
	}
	return r.MaxTime > 0 && time.Since(r.started)+cost > r.MaxTime
}

func shuffled[T any](random *rand.Rand, list []T) []T {
	order := slices.Clone(list)
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// limit is how long a slice may take now. One that hangs does not keep the run beyond its time.
func (r *runner) limit() time.Duration {
	usual := r.grace + 20*r.Duration
	if r.MaxTime == 0 {
		return usual
	}
	return min(usual, max(r.grace/10, r.MaxTime-time.Since(r.started)))
}

// failed notes in the record what went wrong with its cell. A slice that was killed because the time
// was up ends its fork alone: with more time it may have been a slow one.
func (r *runner) failed(c *cellRun, err error) error {
	if errors.Is(err, errRetry) {
		return err
	}
	if slow := (errSlow{}); errors.As(err, &slow) && r.late(0) {
		r.addReason(fmt.Errorf("%s: a sample %w", Label(c.record.Cell), slow))
		c.warnOnce(fmt.Sprintf("a sample %v, as the time was up: give it more (--max-time)", slow))
		return errRetry
	}
	err = fmt.Errorf("%s: %w", Label(c.record.Cell), err)
	c.record.Failed = err.Error()
	r.observe(Progress{Cell: c.record.Cell, Step: Finished, Err: err})
	return err
}

// finish keeps the records of the groups that are done, those for which there is a reason why. Of a
// cell that was not begun when the run was stopped there is nothing to say.
func (r *runner) finish(why func(*group) string) error {
	open := r.groups
	r.groups = nil
	r.interference.look()
	for _, g := range open {
		reason := why(g)
		if reason == "" {
			r.groups = append(r.groups, g)
			continue
		}
		for _, c := range g.cells {
			if reason == "interrupted" {
				c.record.Failed = "" // the workers were killed for it
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
	if err := c.sumUp(); err != nil {
		return fmt.Errorf("%s: %w", Label(c.record.Cell), err)
	}
	c.record.Time = time.Now().UTC()
	c.record.Stopped = why
	c.record.Warnings = append(c.record.Warnings, warnings(c.record, r.Samples)...)
	if len(c.record.Samples) > 0 {
		warnings, disturbed := r.interference.warnings(c.record.Samples)
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
