package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

func framed(spec string, size int) results.Cell {
	return cell(func(c *results.Cell) { c.Framing, c.Size = spec, size })
}

// Compared cells run beside each other: each once a round, in an order that changes, and their
// samples say which fork and round they are of.
func TestEachRoundTakesASliceOfEveryComparedCell(t *testing.T) {
	p := small(
		framed("raw", 512), framed("raw", 64), framed("ndjson", 512), framed("ndjson", 64),
		framed("own", 512),
	)
	p.Samples, p.Forks = 7, 3
	var order []results.Cell
	steps := map[Step]int{}
	p.Observe = func(now Progress) {
		steps[now.Step]++
		if now.Step == Timed {
			order = append(order, now.Cell)
		}
	}
	kept := collect(t, p)
	if len(kept) != len(p.Cells) {
		t.Fatalf("%d records", len(kept))
	}
	n := len(p.Cells)
	if steps[Compared] != n || steps[Calibrated] != n || steps[Timed] != n*p.Samples ||
		steps[Finished] != n {
		t.Errorf("steps of %d cells: %v", n, steps)
	}
	const want = "1.1 1.2 1.3 2.4 2.5 3.6 3.7" // fork and round
	for _, r := range kept {
		var got []string
		for _, s := range r.Samples {
			got = append(got, fmt.Sprintf("%d.%d", s.Fork, s.Round))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", results.CellName(r.Cell), text, want)
		}
		// A slice that others disturbed says nothing of how much the next can hold.
		byMessages := func(a, b results.Sample) int { return int(a.Messages - b.Messages) }
		if !slices.IsSortedFunc(r.Samples, byMessages) {
			t.Errorf("%s: a slice holds less than the one before: %v", results.CellName(r.Cell),
				r.Samples)
		}
	}
	var rounds [][]string // of the three cells of 512 bytes
	for left := order; len(left) > 0; {
		n := 2
		if left[0].Size == 512 {
			n = 3
		}
		var round []string
		for _, c := range left[:n] {
			if c.Size != left[0].Size {
				t.Fatalf("another group came in between: %v", order)
			}
			round = append(round, c.Framing)
		}
		left = left[n:]
		if n == 3 {
			rounds = append(rounds, round)
		}
		slices.Sort(slices.Clone(round))
		if len(slices.Compact(slices.Sorted(slices.Values(round)))) != n {
			t.Errorf("a round of %v", round)
		}
	}
	same := func(other []string) bool { return slices.Equal(other, rounds[0]) }
	if !slices.ContainsFunc(rounds, func(r []string) bool { return !same(r) }) {
		t.Errorf("every round had the order %v", rounds[0])
	}
}

// A run that is interrupted in the middle of a slice has killed its workers for it, and keeps what
// it had of every cell.
func TestARunInterruptedInASliceKeepsTheOthers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := cell(func(c *results.Cell) { c.Framing, c.Size, c.Drain = "raw", 1<<16, 1<<20 })
	p := small(cell(), slow)
	p.Samples, p.Duration = 1000, 40*time.Millisecond
	p.Observe = func(now Progress) {
		if now.Step == Timed && now.Cell == slow && now.Sample == 2 {
			time.AfterFunc(p.Duration/2, cancel) // in the next slice
		}
	}
	var kept []results.Record
	err := Run(ctx, p, func(r results.Record) error { kept = append(kept, r); return nil })
	if !errors.Is(err, context.Canceled) || len(kept) == 0 {
		t.Fatalf("%d records, %v", len(kept), err)
	}
	for _, r := range kept {
		if r.Stopped != "interrupted" || r.Failed != "" || r.Cell == slow && len(r.Samples) < 2 {
			t.Errorf(
				"%s: %d samples, stopped %q, failed %q",
				results.CellName(r.Cell), len(r.Samples), r.Stopped,
				r.Failed,
			)
		}
	}
	if runtime.GOOS == "linux" && children(t) != 0 {
		t.Error("workers are left")
	}
}

// If the time does not suffice, all groups get fewer rounds alike.
func TestTheTimeIsSharedOut(t *testing.T) {
	const second = time.Second
	for _, row := range []struct {
		name        string
		time        time.Duration
		cheap, dear cost
		forks       int // that each of the two groups has had, of four
		rounds      int // likewise, of 24
		want        int // of the next fork
	}{
		{"enough", 100 * second, cost{second, second}, cost{second, second}, 0, 0, 6},
		{
			"two thirds", (4 + 4 + 16 + 48) * second, cost{second, second},
			cost{second, 3 * second}, 0, 0, 4,
		},
		{
			"the last forks", (2 + 4*4) * second, cost{second, second}, cost{second, 3 * second}, 3,
			18, 4,
		},
		{"never fewer than three", second, cost{second, second}, cost{second, second}, 0, 0, 3},
		{"no limit", 0, cost{second, second}, cost{second, second}, 0, 0, 6},
	} {
		r := &runner{
			Plan:    Plan{Samples: 24, Forks: 4, MaxTime: row.time},
			started: time.Now().Add(second / 10), // the clock goes on meanwhile
		}
		for _, c := range []cost{row.cheap, row.dear} {
			g := &group{cost: c, forks: row.forks, rounds: row.rounds}
			g.cells = []*cellRun{{group: g}}
			r.groups = append(r.groups, g)
		}
		for _, g := range r.groups {
			if got := r.roundsFor(g); got != row.want {
				t.Errorf("%s: %d rounds, want %d", row.name, got, row.want)
			}
		}
	}
}

// How many rounds the first fork takes rests on a guess. Where they turn out dear it stops at as
// many as the later ones can have.
func TestTheFirstForkTakesNoMoreThanItsPart(t *testing.T) {
	p := small(cell())
	p.Samples, p.Forks, p.MaxTime = 20, 4, time.Hour
	r, err := newRunner(p, func(results.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	r.Turn = func(context.Context) error { // before each round
		if g := r.groups[0]; len(g.cells[0].record.Samples) > 0 {
			g.cost = cost{0, 12 * time.Minute} // four of them are all that there is time for
			r.started = time.Now().Add(-g.cost.round)
			if g.forks > 1 {
				r.started = time.Now().Add(-r.MaxTime)
			}
		}
		return nil
	}
	r.Observe = func(now Progress) {
		if now.Step == Timed && r.groups[0].forks == 1 {
			rounds++
		}
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rounds != leastRounds {
		t.Errorf("%d rounds", rounds)
	}
}

// The first round of a fork is dearer than the others: what it takes longer is counted once a fork.
func TestAForksFirstRoundIsNotTakenForUsual(t *testing.T) {
	c := cost{fork: 10, round: 1}
	for n, took := range []time.Duration{50, 20, 22, 24} {
		c.count(n, took)
	}
	if (c != cost{fork: 30, round: 22}) { // as much as another round at most
		t.Errorf("got %+v", c)
	}
}

// A slice is left out for what others took from it, and for nothing else.
func TestASliceIsLeftOutForWhatOthersTook(t *testing.T) {
	same, apart, free := placement.CPUs{
		Writer: 1, Reader: 1,
	}, placement.CPUs{Writer: 0, Reader: 1}, placement.CPUs{
		Writer: placement.Any, Reader: placement.Any,
	}
	for _, row := range []struct {
		name        string
		cpus        placement.CPUs
		cpu, queued [2]int64 // of the writer and the reader, of 1000 ns
		unknown     bool
		others      int64
		left        bool
	}{
		{
			"one CPU, each waits for the other", same, [2]int64{500, 480}, [2]int64{480, 500},
			false, 20, false,
		},
		{"one CPU, others had it", same, [2]int64{300, 400}, [2]int64{650, 500}, false, 300, true},
		{"one CPU, both slept", same, [2]int64{100, 100}, [2]int64{10, 20}, false, 30, false},
		{"a CPU each", apart, [2]int64{900, 950}, [2]int64{20, 10}, false, 30, false},
		{
			"a CPU each, others had one", apart, [2]int64{300, 950}, [2]int64{600, 0}, false, 600,
			true,
		},
		{
			"the scheduler's choice, the other end", free, [2]int64{500, 450}, [2]int64{400, 500},
			false, 0, false,
		},
		{
			"the scheduler's choice, others", free, [2]int64{300, 350}, [2]int64{600, 650}, false,
			600, true,
		},
		{
			"a system that does not tell", apart, [2]int64{300, 350}, [2]int64{600, 650}, true, 0,
			false,
		},
	} {
		s := results.Sample{ElapsedNS: 1000}
		for i, end := range []*results.Counters{&s.Writer, &s.Reader} {
			end.CPUNS = new(row.cpu[i])
			if !row.unknown {
				end.RunQueueNS = new(row.queued[i])
			}
		}
		got, known := waitedForOthers(s, row.cpus)
		if got.Nanoseconds() != row.others || known == row.unknown {
			t.Errorf("%s: others took %d ns, %v; want %d", row.name, got, known, row.others)
		}
		i := &interference{usage: machine.ReadUsage()}
		i.mark(&s, row.cpus)
		if s.StealNS != nil && *s.StealNS > 0 {
			continue // here and now
		}
		if (s.Disturbed != "") != row.left {
			t.Errorf("%s: disturbed %q", row.name, s.Disturbed)
		}
	}
}
