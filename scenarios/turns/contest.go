package turns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

// A Contest is two commands that are run in pairs: [Builds], [Programs] or [GoTests].
type Contest interface {
	// Pair runs each side once, and keeps the results.
	Pair(ctx context.Context, oldFirst bool) error

	// Compare judges what was kept so far.
	Compare(o stat.CompareOptions) (*stat.Comparison, error)
}

// A Plan says how often two commands are run, and what their comparison is to find.
type Plan struct {
	// Undecided, a comparison stops after Pairs pairs, but not before Spend is over; if Pairs is 0,
	// at MaxTime.
	Pairs int
	Spend time.Duration

	// No pair begins that would end after MaxTime. A pair that is under way at MaxTime is stopped.
	MaxTime time.Duration // 0: DefaultMaxTime

	Seed    int64 // of the order
	Gated   bool  // what a gate cannot pass, because it is in doubt, is not timed
	Options stat.CompareOptions

	// Observe, if set, is called after each pair by the goroutine that called Run.
	Observe func(pair int, took time.Duration)
}

// DefaultMaxTime is a plan's time if it names none.
const DefaultMaxTime = time.Minute

// Run runs pairs until their comparison is decided, until the plan is fulfilled, or until the first
// pair shows that a figure is missing that the plan asks for. In each pair, chance or the pair
// before decides which side is first. When ctx or an error stops it, it returns the error and the
// comparison of the pairs before, nil if there are none.
func Run(ctx context.Context, c Contest, p Plan) (*stat.Comparison, error) {
	ctx, cancel := p.limited(ctx)
	defer cancel()
	return p.run(ctx, c)
}

// A timeUp is the cause for which the context of a plan ends when its time is up.
type timeUp time.Duration

func (t timeUp) Error() string {
	return fmt.Sprintf("it did not end before %s were over, and was stopped", time.Duration(t))
}

// limited returns a context that ends when the time of the plan is up.
func (p Plan) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	most := p.MaxTime
	if most == 0 {
		most = DefaultMaxTime
	}
	return context.WithTimeoutCause(ctx, most, timeUp(most))
}

// run returns the comparison of the pairs, and the error that stopped it. A pair that is cut off
// when the time is up counts for nothing, and is no error if there are others.
func (p Plan) run(ctx context.Context, c Contest) (*stat.Comparison, error) {
	until, _ := ctx.Deadline()
	random := rand.New(rand.NewPCG(uint64(p.Seed), 0))
	began := time.Now()
	oldFirst := false
	look := stat.LeastPairs // pairs after which the next comparison is made
	var longest time.Duration
	for n := 0; ; n++ {
		start := time.Now()
		isEnough := p.Pairs > 0 && n >= p.Pairs && start.Sub(began)+longest >= p.Spend
		if n > 0 && (isEnough || start.Add(longest).After(until)) {
			return c.Compare(p.Options)
		}
		oldFirst = nextOrder(random, n, oldFirst)
		err := c.Pair(ctx, oldFirst)
		_, isUp := errors.AsType[timeUp](context.Cause(ctx))
		if err != nil && n > 0 && isUp {
			return c.Compare(p.Options)
		}
		if err != nil {
			found, _ := c.Compare(p.Options) // the first error says more
			return found, fmt.Errorf("pair %d: %w", n+1, err)
		}
		took := time.Since(start)
		longest = max(longest, took)
		if p.Observe != nil {
			p.Observe(n+1, took)
		}
		if n > 0 && n+1 < look {
			continue
		}
		found, err := c.Compare(p.Options)
		if err != nil || found.Lacks(p.Options) != "" {
			return found, err
		}
		if n+1 < look {
			continue // the first pair shows which figures there are
		}
		if found.Decided() {
			return found, nil
		}
		look = n + 2 + n/20 // the interval holds at every stop, and a look at many pairs costs time
	}
}

// nextOrder decides whether the old side goes first: by chance in every odd pair, the other way
// round in the pair after it. So both sides are first equally often, and neither gains by it.
func nextOrder(random *rand.Rand, pairs int, oldFirst bool) bool {
	if pairs%2 == 0 {
		return random.IntN(2) == 0
	}
	return !oldFirst
}

// inOrder runs the old side and the new one in the order that was drawn.
func inOrder[T any](oldFirst bool, runOld, runNew func() (T, error)) (old, new T, err error) {
	if oldFirst {
		old, err = runOld()
		if err == nil {
			new, err = runNew()
		}
		return old, new, err
	}
	new, err = runNew()
	if err == nil {
		old, err = runOld()
	}
	return old, new, err
}
