package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// DefaultForks is how often the worker processes of a measurement are started if [Plan.Forks] is 0.
const DefaultForks = stat.Forks

// A cost says how long it takes to make some measurements with the same worker processes. It begins
// as a guess, which measured times then correct.
type cost struct {
	fork  time.Duration // per start of the workers, without the samples
	round time.Duration // per round, in which every measurement takes one sample
}

// count corrects c by the time that round n took. In a round, every measurement takes one sample.
// Round 0, the first after a start of the workers, takes longer, because caches are cold. The extra
// time is added to c.fork.
func (c *cost) count(n int, took time.Duration) {
	if n == 1 {
		longer := c.round - took
		c.fork += max(0, min(longer, took)) // a larger difference has another cause
	}
	c.round += (took - c.round) / time.Duration(max(1, n)) // mean of rounds 1 to n; took if n is 0
}

// First guesses of how long things take, from a machine with two cores.
const (
	forkOverhead  = 45 * time.Millisecond // to start the worker processes
	sliceOverhead = 3 * time.Millisecond  // of a sample: warm-up, quiet time, job, reports
)

// expect guesses how long a measurement takes, and adds the guess to c.
func (c *cost) expect(p Plan, cell results.Cell) {
	message := timeOfMessage(cell)
	slice := max(p.Duration, message)
	if pause, sleeps := sleepOf(cell); sleeps {
		slice = max(slice, leastFills*pause)
	}
	c.fork += p.Duration/4 + sliceOverhead
	c.round += slice*11/10 + message + sliceOverhead // message for a warm-up of one message
}

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

// forksOf returns how many times the worker processes that make the measurement c are started.
func (p Plan) forksOf(c results.Cell) int {
	if takesOneJob(c) {
		return p.Samples
	}
	return min(cmp.Or(p.Forks, DefaultForks), p.Samples)
}

// leastRounds is the smallest number of samples that a measurement takes after a start of the
// workers: the median of fewer samples says next to nothing.
const leastRounds = 3

// roundsFor returns how many samples each measurement of the group takes after the next start of
// the workers. If time is short, all groups take the same share of the samples that they need.
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

// remaining returns how many starts of the workers, and how many rounds of samples, a group of
// measurements still needs. Both results are at least 1.
func (r *runner) remaining(g *group) (forks, rounds int) {
	planned := r.forksOf(g.cells[0].record.Cell)
	forks = max(1, planned-g.forks)
	// If samples were left out, the workers are started more often than planned. Each additional
	// start takes as many rounds as a planned one.
	rounds = max(r.Samples-g.rounds, r.Samples/planned, 1)
	return forks, rounds
}

// wouldEndLate reports whether work of the given duration would end after MaxTime if it began now.
func (r *runner) wouldEndLate(cost time.Duration) bool {
	if !r.measured {
		cost = 0 // until there is a sample, the cost is a guess
	}
	return r.MaxTime > 0 && time.Since(r.started)+cost > r.MaxTime
}

// limit returns how long a sample that begins now may take before the worker processes are killed.
// That is less than usual if the end of MaxTime is near.
func (r *runner) limit() time.Duration {
	usual := r.grace + 20*r.Duration
	if r.MaxTime == 0 {
		return usual
	}
	return min(usual, max(r.grace/10, r.MaxTime-time.Since(r.started)))
}
