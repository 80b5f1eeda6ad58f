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

// A Contest is a comparison of two commands, which are run in pairs: [Builds], [Programs] or
// [GoTests].
type Contest interface {
	// Pair runs each side once, and keeps the results.
	Pair(ctx context.Context, oldFirst bool) error

	// Compare judges what was kept so far.
	Compare(o stat.CompareOptions) (*stat.Comparison, error)
}

// A Plan says how many pairs of runs are made, and what the comparison is to find.
type Plan struct {
	// A comparison that stays undecided stops when Pairs pairs were run and the time Spend is over.
	// If Pairs is 0, such a comparison stops at MaxTime.
	Pairs int
	Spend time.Duration

	// No pair begins that would probably end after MaxTime. A pair that still runs then is stopped.
	MaxTime time.Duration // 0: DefaultMaxTime

	Seed    int64 // of the random order within the pairs
	Gated   bool  // do not time commands that fail or do nothing
	Options stat.CompareOptions

	// Observe, if set, is called after each pair by the goroutine that called Run.
	Observe func(pair int, took time.Duration)
}

// DefaultMaxTime is the MaxTime of a Plan that sets none.
const DefaultMaxTime = time.Minute

// Run runs both commands in pairs, until the comparison is decided or the plan is fulfilled.
// Together with an error, Run returns the comparison so far, or nil if there is none.
func Run(ctx context.Context, c Contest, p Plan) (*stat.Comparison, error) {
	ctx, cancel := p.limited(ctx)
	defer cancel()
	return p.run(ctx, c)
}

// A TimeUp is the cause with which a context ends when the time of the plan is up.
type TimeUp time.Duration

func (t TimeUp) Error() string {
	return fmt.Sprintf("it still ran when --max-time %s was over", time.Duration(t))
}

// limited returns a context that ends when the time of the plan is up.
func (p Plan) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	most := cmp.Or(p.MaxTime, DefaultMaxTime)
	return context.WithTimeoutCause(ctx, most, TimeUp(most))
}

// run does the work of Run. ctx comes from p.limited. If a pair runs out of time, that is an error
// only for the first pair.
func (p Plan) run(ctx context.Context, c Contest) (*stat.Comparison, error) {
	until, _ := ctx.Deadline()
	random := rand.New(rand.NewPCG(uint64(p.Seed), 0))
	began := time.Now()
	oldFirst := false
	nextLook := stat.LeastPairs // number of pairs after which the next comparison is due
	var longest time.Duration   // the longest time that a pair took
	for n := 0; ; n++ {         // n is the number of pairs that are over
		start := time.Now()
		isEnough := p.Pairs > 0 && n >= p.Pairs && start.Sub(began)+longest >= p.Spend
		isTooLate := start.Add(longest).After(until)
		if n > 0 && (isEnough || isTooLate) {
			return c.Compare(p.Options)
		}
		oldFirst = nextOrder(random, n, oldFirst)
		err := c.Pair(ctx, oldFirst)
		_, isUp := errors.AsType[TimeUp](context.Cause(ctx))
		if err != nil && n > 0 && isUp {
			return c.Compare(p.Options)
		}
		if err != nil {
			found, _ := c.Compare(p.Options) // the error of Pair says more than this one
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
		if err != nil || len(found.Changes) == 0 || p.Options.Missing(found.Names) != "" {
			return found, err
		}
		if isDue && found.Decided() {
			return found, nil
		}
		if isDue {
			nextLook = n + 2 + n/20 // comparisons of many pairs take longer, so make fewer
		}
	}
}

// nextOrder reports whether the old command runs first in the next pair. Chance decides for every
// odd pair, and the pair after that has the reverse order.
func nextOrder(random *rand.Rand, pairs int, oldFirst bool) bool {
	if pairs%2 == 0 {
		return random.IntN(2) == 0
	}
	return !oldFirst
}

// Errors of a pair: the old command failed, perhaps with the new one, or the new one alone failed.
var (
	ErrOldFails = errors.New("the old one fails")
	ErrNewFails = errors.New("the new one fails, the old one does not")
)

// inOrder runs both commands. The error says which failed. If the first has failed already, it does
// not matter that the time ended while the other one ran.
func inOrder[T any](
	ctx context.Context, oldFirst bool, runOld, runNew func(context.Context) (T, error),
) (old, new T, err error) {
	var oldErr, newErr error
	if oldFirst {
		old, oldErr = runOld(ctx)
	}
	if oldErr == nil || ctx.Err() == nil {
		new, newErr = runNew(ctx)
	}
	if !oldFirst && ctx.Err() == nil {
		old, oldErr = runOld(ctx)
	}
	oldFailsFirst := oldErr != nil && (oldFirst || newErr == nil)
	switch {
	case errors.Is(cmp.Or(oldErr, newErr), errValgrind):
		err = cmp.Or(oldErr, newErr) // which names the command
	case ctx.Err() != nil && oldFailsFirst:
		err = fmt.Errorf("the old one: %w", oldErr)
	case ctx.Err() != nil && newErr != nil:
		err = fmt.Errorf("the new one: %w", newErr)
	case oldErr != nil && newErr != nil:
		err = fmt.Errorf("%w: %w; the new one fails, too: %w", ErrOldFails, oldErr, newErr)
	case oldErr != nil:
		err = fmt.Errorf("%w: %w", ErrOldFails, oldErr)
	case newErr != nil:
		err = fmt.Errorf("%w: %w", ErrNewFails, newErr)
	}
	return old, new, err
}
