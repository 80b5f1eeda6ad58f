package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// DefaultForks is the number of forks if [Plan.Forks] is 0. A fork is one start of the workers.
const DefaultForks = stat.Forks

// A cost is how long a fork of a group takes, in two parts. A fork is one start of the group's
// workers. Both times are guesses at first. They are corrected by what the forks of the group
// really take.
type cost struct {
	fork  time.Duration // all that a fork does besides its rounds
	round time.Duration // one round: a sample of every cell
}

// count notes how long round n of a fork took. Round 0 takes longer than round 1, because caches
// are cold and memory has not been touched. count adds the difference to the time of the fork,
// because it occurs once per fork.
func (c *cost) count(n int, took time.Duration) {
	if n == 1 {
		longer := c.round - took
		c.fork += max(0, min(longer, took)) // a larger difference has another cause
	}
	c.round += (took - c.round) / time.Duration(max(1, n)) // mean of rounds 1 to n; for n = 0, took
}

// The guessed times, as measured on a machine with two cores.
const (
	forkOverhead  = 45 * time.Millisecond // of a fork: the start of its workers
	sliceOverhead = 3 * time.Millisecond  // of a sample: warm-up, quiet time, job, reports
)

// expect adds the guessed cost of one cell to c, the cost of the cell's group.
func (c *cost) expect(p Plan, cell results.Cell) {
	message := timeOfMessage(cell)
	slice := max(p.Duration, message)
	if pause, sleeps := sleepOf(cell); sleeps {
		slice = max(slice, leastFills*pause)
	}
	c.fork += p.Duration/4 + sliceOverhead
	c.round += slice*11/10 + message + sliceOverhead // message for a warm-up of one message
}

// timeOfMessage guesses how long one message of the cell takes.
func timeOfMessage(c results.Cell) time.Duration {
	const perByte = 1 // nanoseconds
	ns := float64(c.Size) * (perByte + c.Work)
	if c.Drain > 0 {
		ns = max(ns, 1e9*float64(c.Size)/float64(c.Drain))
	}
	return time.Duration(ns)
}

// Estimate returns roughly how long a run of the plan takes.
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

// forksOf returns the number of forks over which the samples of a cell are spread. If the workers
// of the cell exit after one job, each sample needs a fork of its own.
func (p Plan) forksOf(c results.Cell) int {
	if takesOneJob(c) {
		return p.Samples
	}
	return min(cmp.Or(p.Forks, DefaultForks), p.Samples)
}

// leastRounds is the smallest number of rounds that a fork takes if time is short. The median of a
// fork's samples stands for the fork. The median of fewer than three samples says next to nothing.
const leastRounds = 3

// roundsFor returns how many rounds the next fork of a group takes. In a round, one sample of every
// cell of the group is taken. If there is enough time, roundsFor returns what the plan asks for.
// Otherwise, all groups take the same share of the rounds that they have left.
func (r *runner) roundsFor(g *group) int {
	forks, rounds := r.remaining(g)
	asked := (rounds + forks - 1) / forks // rounded up
	if r.MaxTime == 0 {
		return asked
	}
	var starting, measuring time.Duration
	for _, other := range r.groups {
		forks, rounds := r.remaining(other)
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

// remaining returns how many forks and rounds a group still has to take. Both are at least 1.
func (r *runner) remaining(g *group) (forks, rounds int) {
	planned := r.forksOf(g.cells[0].record.Cell)
	forks = max(1, planned-g.forks)
	// If samples were left out, the group needs additional forks. Each additional fork takes as
	// many rounds as a planned fork.
	rounds = max(r.Samples-g.rounds, r.Samples/planned, 1)
	return forks, rounds
}

// wouldEndLate reports whether something that takes as long as cost would end after MaxTime if it
// began now.
func (r *runner) wouldEndLate(cost time.Duration) bool {
	if !r.measured {
		cost = 0 // until there is a sample, the cost is a guess
	}
	return r.MaxTime > 0 && time.Since(r.started)+cost > r.MaxTime
}

// limit returns how long a sample that begins now may take before its workers are killed. The limit
// shrinks with the time that the run has left. So a sample that hangs does not make the run much
// longer than MaxTime.
func (r *runner) limit() time.Duration {
	usual := r.grace + 20*r.Duration
	if r.MaxTime == 0 {
		return usual
	}
	return min(usual, max(r.grace/10, r.MaxTime-time.Since(r.started)))
}
