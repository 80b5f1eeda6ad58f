package turns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

// A script is a contest whose pairs do what the test says, and whose comparison is decided after
// so many of them; 0 is never.
type script struct {
	pairs   int
	decided int
	pair    func(ctx context.Context, n int) error
}

func (s *script) Pair(ctx context.Context, oldFirst bool) error {
	if s.pair != nil {
		if err := s.pair(ctx, s.pairs+1); err != nil {
			return err
		}
	}
	s.pairs++
	return nil
}

func (s *script) Compare(stat.CompareOptions) (*stat.Comparison, error) {
	verdict := stat.TooNoisy
	if s.decided > 0 && s.pairs >= s.decided {
		verdict = stat.Slower
	}
	change := stat.Change{Verdict: verdict}
	changes := []stat.Change{change}
	return &stat.Comparison{Pairs: s.pairs, Changes: changes, Names: []string{"time"}}, nil
}

func TestPairsGoOnUntilTheyDecide(t *testing.T) {
	for _, tt := range []struct {
		name    string
		plan    Plan
		decided int
		want    int
	}{
		{"as many as are asked for", Plan{Pairs: 3}, 0, 3},
		{"until they decide", Plan{Pairs: 20}, 7, 7},
		{"never fewer than a verdict takes", Plan{Pairs: 20}, 1, stat.LeastPairs},
	} {
		c := &script{decided: tt.decided}
		seen := 0
		tt.plan.MaxTime = time.Hour
		tt.plan.Observe = func(pair int, _ time.Duration) {
			seen++
			if pair != seen {
				t.Errorf("%s: pair %d is told as the %d-th", tt.name, pair, seen)
			}
		}
		found, err := Run(t.Context(), c, tt.plan)
		if err != nil || found.Pairs != tt.want || seen != tt.want {
			t.Errorf("%s: %d pairs, %d told, %v; want %d", tt.name, c.pairs, seen, err, tt.want)
		}
	}
}

// One pair shows that the two lack a figure that was asked for.
func TestAFigureThatTheTwoLackEndsPairs(t *testing.T) {
	for name, want := range map[string]int{"time": 3, "wire": 1} {
		p := Plan{Pairs: 3, MaxTime: time.Hour}
		p.Options.Metrics = []string{name}
		found, err := Run(t.Context(), &script{}, p)
		if err != nil || found.Pairs != want {
			t.Errorf("asked for %s: %+v, %v; want %d pairs", name, found, err, want)
		}
	}
}

// A pair that is cut off when the time is up counts for nothing, unless there is no other.
func TestTimeEndsPairs(t *testing.T) {
	hangs := func(from int) *script {
		return &script{pair: func(ctx context.Context, n int) error {
			if n >= from {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}}
	}
	found, err := Run(t.Context(), hangs(3), Plan{MaxTime: time.Second})
	if err != nil || found.Pairs > 2 || found.Pairs < 1 {
		t.Errorf("the third pair never ends: %+v, %v; want those before", found, err)
	}
	found, err = Run(t.Context(), hangs(1), Plan{MaxTime: time.Millisecond})
	const says = "still ran when --max-time 1ms was over"
	if err == nil || !strings.Contains(err.Error(), says) || found.Pairs > 0 {
		t.Errorf("no pair ends: %+v, %v", found, err)
	}
}

func TestPairsBeforeAFailureAreCompared(t *testing.T) {
	broken := errors.New("it is broken")
	c := &script{pair: func(_ context.Context, n int) error {
		if n == 3 {
			return broken
		}
		return nil
	}}
	found, err := Run(t.Context(), c, Plan{MaxTime: time.Hour})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "pair 3") || found.Pairs != 2 {
		t.Errorf("got %+v, %v; want two pairs and what is wrong with the third", found, err)
	}
}

// In any two pairs that follow each other each side goes first once, and which goes first in the
// first of them is left to chance.
func TestTheOrderIsBalancedAndLeftToChance(t *testing.T) {
	oldFirst := 0
	for seed := range int64(64) {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		a := nextOrder(random, 0, false)
		if b := nextOrder(random, 1, a); a == b {
			t.Errorf("seed %d: the same side goes first in both pairs", seed)
		}
		if a {
			oldFirst++
		}
	}
	if oldFirst < 16 || oldFirst > 48 {
		t.Errorf("of 64 seeds the old side goes first in %d", oldFirst)
	}
}

// Only a new command that fails beside an old one that works is ErrNewFails.
func TestNewFailsIfTheOldOneWorks(t *testing.T) {
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx      context.Context
		old, new error
		want     bool
	}{
		{t.Context(), nil, broken, true},
		{t.Context(), broken, nil, false},
		{t.Context(), broken, broken, false},
		{t.Context(), nil, fmt.Errorf("%w: %w", errValgrind, broken), false},
		{ended, nil, broken, false},
	} {
		for _, oldFirst := range []bool{false, true} {
			_, _, err := inOrder(tt.ctx, oldFirst,
				func(context.Context) (int, error) { return 0, tt.old },
				func(context.Context) (int, error) { return 0, tt.new })
			if !errors.Is(err, broken) || errors.Is(err, ErrNewFails) != tt.want {
				t.Errorf("old first %t, %v, %v: %v", oldFirst, tt.old, tt.new, err)
			}
			saysOld := strings.HasPrefix(err.Error(), "the old one fails: ")
			if saysOld != (tt.old != nil) {
				t.Errorf("old first %t, %v, %v: %v", oldFirst, tt.old, tt.new, err)
			}
			saysBoth := strings.Contains(err.Error(), "; the new one fails, too: ")
			if isOld := errors.Is(err, ErrOldFails); saysBoth != (isOld && tt.new != nil) {
				t.Errorf("old first %t, %v, %v: %v", oldFirst, tt.old, tt.new, err)
			}
			saysNew := strings.HasPrefix(err.Error(), "the new one: ")
			if saysNew != (tt.ctx == ended) {
				t.Errorf("the time ended, old first %t: %v", oldFirst, err)
			}
		}
	}
}

// A command that has failed is the reason, even if the time ends while the other one runs.
func TestTheTimeHidesNoFailure(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context) (int, error) { return 0, broken }
	hangs := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	for _, oldFirst := range []bool{false, true} {
		old, new := hangs, fails
		want := "the new one: broken"
		if oldFirst {
			old, new = fails, hangs
			want = "the old one: broken"
		}
		ctx, cancel := Plan{MaxTime: 10 * time.Millisecond}.limited(t.Context())
		_, _, err := inOrder(ctx, oldFirst, old, new)
		cancel()
		if err == nil || err.Error() != want {
			t.Errorf("old first %t: got %v, want %s", oldFirst, err, want)
		}
	}
}

// A binary that fails in silence is told to have given no reason.
func TestASilentFailureHasNoReason(t *testing.T) {
	for _, text := range []string{"", "BenchmarkA-2 \t 1 \t 63490 ns/op\n"} {
		if got := reasonOf(text, ""); got != "it gave no reason" {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// A benchmark with a result is not the one that panicked.
func TestAPanicIsNotOfABenchmarkThatEnded(t *testing.T) {
	const panicked = "panic: boom\n\ngoroutine 9 [running]:"
	for text, want := range map[string]string{
		"BenchmarkA-2 \t 1 \t 63490 ns/op\n":                "panic: boom",
		"BenchmarkA-2 \t 1 \t 63490 ns/op\nBenchmarkB-2 \t": "BenchmarkB-2: panic: boom",
	} {
		if got := reasonOf(text, panicked); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
