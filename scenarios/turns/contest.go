package turns

import (
	"cmp"
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
	// A comparison that stays undecided stops after Pairs pairs, but not before Spend is over. If
	// Pairs is 0, it goes on until MaxTime.
	Pairs int
	Spend time.Duration

	// No pair begins that would end after MaxTime. A pair that is under way at MaxTime is stopped.
	MaxTime time.Duration // 0: DefaultMaxTime

	Seed    int64 // of the order
	Gated   bool  // commands that are in doubt are not timed: no gate can pass them
	Options stat.CompareOptions

	// Observe, if set, is called after each pair by the goroutine that called Run.
	Observe func(pair int, took time.Duration)
}

// DefaultMaxTime is a plan's time if it names none.
const DefaultMaxTime = time.Minute

// Run runs pairs until their comparison is decided, until the plan is fulfilled, or until the first
// pair shows that a figure is missing that the plan asks for. If ctx or an error stops it, it
// returns the error and the comparison of the pairs before, nil if there are none.
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
	most := cmp.Or(p.MaxTime, DefaultMaxTime)
	return context.WithTimeoutCause(ctx, most, timeUp(most))
}

// run returns the comparison of the pairs, and the error that stopped it. A pair that is cut off
// when the time is up counts for nothing, and is no error if there are others.
func (p Plan) run(ctx context.Context, c Contest) (*stat.Comparison, error) {
	until, _ := ctx.Deadline()
	random := rand.New(rand.NewPCG(uint64(p.Seed), 0))
	began := time.Now()
	oldFirst := false
	nextLook := stat.LeastPairs // pairs after which they are compared next
	var longest time.Duration   // that a pair took
	for n := 0; ; n++ {         // n pairs are over
		start := time.Now()
		isEnough := p.Pairs > 0 && n >= p.Pairs && start.Sub(began)+longest >= p.Spend
		isTooLate := start.Add(longest).After(until)
		if n > 0 && (isEnough || isTooLate) {
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
		isDue := n+1 >= nextLook
		if n > 0 && !isDue {
			continue
		}
		found, err := c.Compare(p.Options) // the first pair shows whether a figure is missing
		if err != nil || found.Lacks(p.Options) != "" {
			return found, err
		}
		if isDue && found.Decided() {
			return found, nil
		}
		if isDue {
			nextLook = n + 2 + n/20 // more seldom with more pairs, which take longer to compare
		}
	}
}

// nextOrder decides whether the old side goes first, after so many pairs: by chance in the first of
// two pairs, the other way round in the second. So both sides are first equally often.
func nextOrder(random *rand.Rand, pairs int, oldFirst bool) bool {
	if pairs%2 == 0 {
		return random.IntN(2) == 0
	}
	return !oldFirst
}

// inOrder runs both sides in the order that was drawn, until one fails.
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
