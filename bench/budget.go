package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// DefaultForks is the number of forks if a plan does not set it.
const DefaultForks = stat.Forks

// A cost is how long the parts of a group take: first a guess, then as the latest fork measured it.
type cost struct {
	fork  time.Duration // all that a fork does beside its rounds
	round time.Duration // one round of all cells
}

// count notes how long round n of a fork took, counted from 0. Round 0 meets cold caches and
// untouched memory, so what it takes longer than round 1 counts as the fork's.
func (c *cost) count(n int, took time.Duration) {
	if n == 1 {
		longer := c.round - took
		c.fork += max(0, min(longer, took)) // what is beyond that has another cause
	}
	c.round += (took - c.round) / time.Duration(max(1, n)) // the mean of all but round 0
}

// These times were measured on a machine of two cores.
const (
	forkOverhead  = 45 * time.Millisecond // to start the workers of a fork
	sliceOverhead = 3 * time.Millisecond  // to warm up, be quiet, and pass on job and reports
)

// expect adds to a group's cost what one of its cells is expected to cost.
func (c *cost) expect(p Plan, cell results.Cell) {
	message := timeOfMessage(cell)
	slice := max(p.Duration, message)
	if pause, sleeps := sleepOf(cell); sleeps {
		slice = max(slice, leastFills*pause)
	}
	c.fork += p.Duration/4 + sliceOverhead
	c.round += slice*11/10 + message + sliceOverhead // at least one message warms up
}

// timeOfMessage guesses how long a message takes.
func timeOfMessage(c results.Cell) time.Duration {
	const perByte = 1 // nanoseconds
	ns := float64(c.Size) * (perByte + c.Work)
	if c.Drain > 0 {
		ns = max(ns, 1e9*float64(c.Size)/float64(c.Drain))
	}
	return time.Duration(ns)
}

// Estimate returns about how long the plan takes.
func (p Plan) Estimate() time.Duration {
	p = p.withDefaults()
	groups := map[results.Cell][]results.Cell{}
	for _, c := range p.Cells {
		if Unsupported(c) == nil {
			groups[sharedBy(c)] = append(groups[sharedBy(c)], c)
		}
	}
	var all time.Duration
	for _, cells := range groups {
		cost := cost{fork: forkOverhead}
		for _, c := range cells {
			cost.expect(p, c)
		}
		all += time.Duration(p.forksOf(cells[0])) * cost.fork
		all += time.Duration(p.Samples) * cost.round
	}
	return all
}

// forksOf returns over how many forks a cell's slices are spread. If workers take one job, each
// slice needs a fork.
func (p Plan) forksOf(c results.Cell) int {
	if takesOneJob(c) {
		return p.Samples
	}
	return min(cmp.Or(p.Forks, DefaultForks), p.Samples)
}

// leastRounds is the smallest number of rounds that a fork takes. The median of its slices
// represents the fork, and the median of fewer than three says next to nothing.
const leastRounds = 3

// roundsFor returns how many rounds the next fork of a group takes: as many as the plan asks for,
// or fewer if the time is short. All groups then take the same share of their rounds.
func (r *runner) roundsFor(g *group) int {
	forks, rounds := r.left(g)
	asked := (rounds + forks - 1) / forks // rounded up
	if r.MaxTime == 0 {
		return asked
	}
	var starting, measuring time.Duration
	for _, other := range r.groups {
		forks, rounds := r.left(other)
		starting += time.Duration(forks) * other.cost.fork
		measuring += time.Duration(rounds) * other.cost.round
	}
	remaining := r.MaxTime - time.Since(r.started) - starting
	if remaining >= measuring {
		return asked
	}
	share := float64(asked) * remaining.Seconds() / measuring.Seconds()
	return min(max(int(share), leastRounds), asked)
}

// left returns how many forks and rounds a group has yet to take, at least one of each.
func (r *runner) left(g *group) (forks, rounds int) {
	planned := r.forksOf(g.cells[0].record.Cell)
	forks = max(1, planned-g.forks)
	// If slices were left out, a further fork takes as many rounds as a planned one.
	rounds = max(r.Samples-g.rounds, r.Samples/planned, 1)
	return forks, rounds
}

// late reports whether the run's time does not allow for something that takes this long.
func (r *runner) late(cost time.Duration) bool {
	if !r.measured {
		cost = 0 // until there is a sample, the cost is a guess
	}
	return r.MaxTime > 0 && time.Since(r.started)+cost > r.MaxTime
}

// limit returns how long a slice that begins now may take. The limit shrinks with the run's time,
// so that a slice that hangs does not make the run much longer than that.
func (r *runner) limit() time.Duration {
	usual := r.grace + 20*r.Duration
	if r.MaxTime == 0 {
		return usual
	}
	return min(usual, max(r.grace/10, r.MaxTime-time.Since(r.started)))
}
