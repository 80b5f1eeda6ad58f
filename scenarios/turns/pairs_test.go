package turns

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// fake is a plan of this test binary against itself.
func fake(t *testing.T, how string) Plan {
	t.Helper()
	t.Setenv(fakeEnv, how)
	self, err := Find(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Old: self, New: self, Pairs: 3, Dir: filepath.Join(t.TempDir(), "out")}
}

func TestPairsAreKeptAndReadAgain(t *testing.T) {
	p := fake(t, "")
	seen := 0
	p.Observe = func(pair, of int, _ time.Duration) {
		seen++
		if pair != seen || of != 3 {
			t.Errorf("step %d: pair %d of %d", seen, pair, of)
		}
	}
	before, after, err := Run(deadline(t), p)
	if err != nil || len(before) != 3 || len(after) != 3 || seen != 3 {
		t.Fatalf("%d and %d runs, %d steps: %v", len(before), len(after), seen, err)
	}
	again, againAfter, err := Read(filepath.Join(p.Dir, OldFile), filepath.Join(p.Dir, NewFile))
	if err != nil || len(again) != 3 || len(againAfter) != 3 {
		t.Fatalf("read again: %d and %d runs: %v", len(again), len(againAfter), err)
	}
	for i := range again {
		same := again[i].Environments[0].Run == before[i].Environments[0].Run
		if !same || len(again[i].Records) != 1 {
			t.Errorf("pair %d is another one after it was read again", i)
		}
	}
}

func TestHowManyPairs(t *testing.T) {
	spend := Plan{Spend: 45 * time.Second}
	for took, want := range map[time.Duration]int{
		10 * time.Second: 20, time.Second: 45, time.Millisecond: 100, 0: 100,
	} {
		if got := spend.wantedPairs(took); got != want {
			t.Errorf("pairs of %s in 45 s: %d, want %d", took, got, want)
		}
	}
	p := fake(t, "")
	p.Pairs = 0
	before, _, err := Run(deadline(t), p)
	if err != nil || len(before) != 20 {
		t.Errorf("pairs left open: %d pairs, %v; want 20", len(before), err)
	}
	p = fake(t, "")
	p.Pairs = 0
	p.Decided = func(before, after []*results.Set) bool { return len(before) == 3 }
	before, _, err = Run(deadline(t), p)
	if err != nil || len(before) != 3 {
		t.Errorf("decided after three: %d pairs, %v", len(before), err)
	}
}

// In any two pairs that follow each other each build goes first once, and which goes first in the
// first of them is left to chance.
func TestTheOrderIsBalancedAndLeftToChance(t *testing.T) {
	first := map[bool]int{}
	for seed := range int64(64) {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		a := nextOrder(random, 0, false)
		if b := nextOrder(random, 1, a); a == b {
			t.Errorf("seed %d: the same build goes first in both pairs", seed)
		}
		first[a]++
	}
	if first[true] < 16 || first[false] < 16 {
		t.Errorf("of 64 seeds the old build goes first in %d", first[true])
	}
}

func TestTimeEndsPairs(t *testing.T) {
	p := fake(t, "")
	p.Pairs = 1 << 30
	p.MaxTime = time.Hour
	r, err := newRunner(p)
	if err != nil {
		t.Fatal(err)
	}
	r.Observe = func(pair, _ int, _ time.Duration) {
		if pair == 2 {
			r.began = r.began.Add(-p.MaxTime) // an hour goes by
		}
	}
	err = errors.Join(r.run(deadline(t)), r.close())
	if err != nil || len(r.before) != 2 || len(r.after) != 2 {
		t.Errorf("%d and %d runs: %v", len(r.before), len(r.after), err)
	}
}

func TestWhatEndsARun(t *testing.T) {
	for _, c := range []struct {
		name, how, said string
	}{
		{"flags that run does not take", "usage", "unknown flag: --zork"},
		{"a binary that leaves nothing", "nothing", "is it a pipebench?"},
		{"a binary that dies between two turns", "die", "exited 7: panic: the build is broken"},
		{"a binary that hangs", "hang", "took longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fake(t, c.how)
			if c.how == "hang" {
				p.MaxTime = 2 * time.Second
			}
			before, after, err := Run(deadline(t), p)
			if err == nil || !strings.Contains(err.Error(), c.said) ||
				!strings.Contains(err.Error(), "pair 1") {
				t.Errorf("got %v, want %q", err, c.said)
			}
			if len(before)+len(after) != 0 {
				t.Errorf("%d and %d runs came of it", len(before), len(after))
			}
			var failed *FailedError
			want := map[string]int{"usage": 2, "die": 7}[c.how]
			if is := errors.As(err, &failed); is != (want != 0) || is && failed.Code != want {
				t.Errorf("exit code: %v", err)
			}
		})
	}
}

func TestPairsBeforeAnInterruptionAreWhole(t *testing.T) {
	p := fake(t, "")
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	t.Setenv("TMP", scratch) // Windows
	p.Pairs = 1 << 30
	ctx, cancel := context.WithCancel(deadline(t))
	p.Observe = func(pair, _ int, _ time.Duration) {
		if pair == 2 {
			cancel()
		}
	}
	before, after, err := Run(ctx, p)
	if !errors.Is(err, context.Canceled) || len(before) != 2 || len(after) != 2 {
		t.Errorf("%d and %d runs: %v", len(before), len(after), err)
	}
	left, err := os.ReadDir(scratch)
	if err != nil || len(left) != 0 {
		t.Errorf("folders of single runs are left: %v, %v", left, err)
	}
}

func TestRecordsOfAnotherTimeAreLeftAlone(t *testing.T) {
	p := fake(t, "")
	p.Pairs = 1
	if _, _, err := Run(deadline(t), p); err != nil {
		t.Fatal(err)
	}
	_, _, err := Run(deadline(t), p)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("into the same folder: %v", err)
	}
	old := filepath.Join(p.Dir, OldFile)
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	_, _, err = Run(deadline(t), p)
	if _, left := os.Stat(old); !errors.Is(err, fs.ErrExist) || left == nil {
		t.Errorf("an empty file is left behind: %v, %v", err, left)
	}
}

func TestFlagsThatLeaveNothingToRead(t *testing.T) {
	for _, flags := range [][]string{{"--out", "x"}, {"--out=x"}, {"-ox"}, {"--dry-run"}, {"-h"}} {
		if err := (Plan{Flags: flags}).Validate(); err == nil {
			t.Errorf("%q were taken", flags)
		}
	}
	if err := (Plan{Flags: []string{"--framing", "raw", "--size=4k"}}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNoPairs(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	file := func(minutes ...int) string {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		w, err := results.Append(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range minutes {
			run := string(rune('a'+i)) + path
			at := t0.Add(time.Duration(m) * time.Minute)
			err := w.Write(results.Environment{Run: run, Machine: "m1", Time: at})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name     string
		old, new []int
		pairs    int
	}{
		{"interleaved, either first", []int{0, 3, 4}, []int{1, 2, 5}, 3},
		{"the last one was not finished", []int{0, 3, 4}, []int{1, 2}, 2},
		{"one after the other", []int{0, 1, 2}, []int{3, 4, 5}, 0},
		{"two runs more on one side", []int{0, 2, 4}, []int{1}, 0},
	} {
		before, after, err := Read(file(c.old...), file(c.new...))
		if len(before) != c.pairs || len(after) != c.pairs || (err == nil) != (c.pairs > 0) {
			t.Errorf("%s: %d and %d runs, %v; want %d pairs",
				c.name, len(before), len(after), err, c.pairs)
		}
	}
}
