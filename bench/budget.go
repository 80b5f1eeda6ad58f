package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// DefaultForks is the number of forks of a plan that does not say.
const DefaultForks = stat.Forks

// A cost is how long parts of a group's measurement take, by the latest fork: a round, and what the
// fork takes beyond its rounds. The first round meets cold caches and untouched memory; what it
// takes longer than the others is counted with the fork.
type cost struct{ fork, round time.Duration }

// count learns from how long the nth round of a fork took.
func (c *cost) count(n int, took time.Duration) {
	if n == 1 {
		c.fork += max(0, min(c.round-took, took)) // more is no cold cache but somebody else
	}
	c.round += (took - c.round) / time.Duration(max(1, n)) // the mean of all but the first
}

// What starting the workers of a fork takes, and what a slice takes beyond its duration: its
// warm-up, the quiet before the clock starts, and the job and its reports. Measured on a machine of
// two cores.
const (
	forkOverhead  = 45 * time.Millisecond
	sliceOverhead = 3 * time.Millisecond
)

// expected returns what a group of n cells such as c is expected to cost.
func (p Plan) expected(c results.Cell, n int) cost {
	cells, d := time.Duration(n), p.Duration
	if pause, sleeps := sleepOf(c); sleeps {
		d = max(d, leastFills*pause)
	}
	return cost{
		fork:  forkOverhead + cells*(p.Duration/4+sliceOverhead),
		round: cells * (d*11/10 + sliceOverhead),
	}
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
		cost := p.expected(cells[0], len(cells))
		all += time.Duration(p.forksOf(cells[0])) * cost.fork
		all += time.Duration(p.Samples) * cost.round
	}
	return all
}

// forksOf returns how many forks a cell's slices are spread over: one each if the workers leave
// after a slice.
func (p Plan) forksOf(c results.Cell) int {
	if takesOneJob(c) {
		return p.Samples
	}
	return min(cmp.Or(p.Forks, DefaultForks), p.Samples)
}

// leastRounds is how many rounds a fork takes at least, if it is begun: it is known by the median
// of its slices, and of fewer than three that says next to nothing.
const leastRounds = 3

// roundsFor returns how many rounds the next fork of a group takes: as many as the plan asks for,
// or if the time is short its share of them, alike in all groups.
func (r *runner) roundsFor(g *group) int {
	forks, rounds := r.left(g)
	asked := (rounds + forks - 1) / forks
	if r.MaxTime == 0 {
		return asked
	}
	var starting, measuring time.Duration
	for _, other := range r.groups {
		forks, rounds := r.left(other)
		starting += time.Duration(forks) * other.cost.fork
		measuring += time.Duration(rounds) * other.cost.round
	}
	left := r.MaxTime - time.Since(r.started) - starting
	if left >= measuring {
		return asked
	}
	share := float64(asked) * left.Seconds() / measuring.Seconds()
	return min(max(int(share), leastRounds), asked)
}

// left returns how many forks and rounds a group has yet to take, at least one of each.
func (r *runner) left(g *group) (forks, rounds int) {
	all := r.forksOf(g.cells[0].record.Cell)
	return max(1, all-g.forks), max(r.Samples-g.rounds, r.Samples/all, 1)
}

// late reports whether something that takes so long is not to be begun any more.
func (r *runner) late(cost time.Duration) bool {
	if !r.measured {
		cost = 0 // a guess
	}
	return r.MaxTime > 0 && time.Since(r.started)+cost > r.MaxTime
}

// limit is how long a slice may take now. One that hangs does not keep the run beyond its time.
func (r *runner) limit() time.Duration {
	usual := r.grace + 20*r.Duration
	if r.MaxTime == 0 {
		return usual
	}
	return min(usual, max(r.grace/10, r.MaxTime-time.Since(r.started)))
}
