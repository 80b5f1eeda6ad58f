package turns

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// always returns what makes starts that scatter by a share around a time.
func always(rng *rand.Rand, cpu, scatter float64, s Start) Starter {
	return func(context.Context) (Start, error) {
		s.CPU = cpu * math.Exp(scatter*rng.NormFloat64())
		s.Wall = 2 * s.CPU
		return s, nil
	}
}

func figure(t *testing.T, p Pairs, name string) Figure {
	t.Helper()
	for _, f := range p.Figures(false) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no figure %s", name)
	return Figure{}
}

// Starts go on until a change shows, or one of a percent is excluded.
func TestStartsGoOnUntilTheyDecide(t *testing.T) {
	for _, tt := range []struct {
		name        string
		factor      float64
		want        stat.Verdict
		least, most int
	}{
		{"the same", 1, stat.NoChange, stat.LeastPairs, 2000},
		{"2 % slower", 1.02, stat.Slower, stat.LeastPairs, 1000},
		{"half as fast", 2, stat.Slower, stat.LeastPairs, stat.LeastPairs},
		{"twice as fast", 0.5, stat.Faster, stat.LeastPairs, stat.LeastPairs},
	} {
		rng := rand.New(rand.NewPCG(101, 102))
		p := Programs{
			Old:     always(rng, 1e6, 0.02, Start{}),
			New:     always(rng, 1e6*tt.factor, 0.02, Start{}),
			MaxTime: time.Hour,
		}
		pairs, err := p.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := figure(t, pairs, "CPU time")
		if n := len(pairs.Old); f.Verdict != tt.want || n < tt.least || n > tt.most {
			t.Errorf("%s: %s (%s) after %d pairs, want %s after %d to %d",
				tt.name, f.Verdict, f.Change(), n, tt.want, tt.least, tt.most)
		}
	}
}

// One program beside itself is all but never called slower.
func TestStartsOfOneProgramDoNotDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(103, 104))
	wrong := 0
	const trials = 300
	for seed := range int64(trials) {
		start := always(rng, 1e6, 0.01, Start{})
		p := Programs{Old: start, New: start, MaxTime: time.Hour, Seed: seed}
		pairs, err := p.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if figure(t, pairs, "CPU time").Verdict != stat.NoChange {
			wrong++
		}
	}
	if wrong > trials/50 {
		t.Errorf("%d of %d comparisons of one program found a change", wrong, trials)
	}
}

func TestCountsAreComparedByTheirRange(t *testing.T) {
	counted := func(reads ...int64) Starter {
		next := 0
		return func(context.Context) (Start, error) {
			n := reads[next%len(reads)]
			next++
			c := proc.Counts{Reads: n, ReadBytes: 1 << 20}
			return Start{Counted: true, Counts: c}, nil
		}
	}
	for _, tt := range []struct {
		name     string
		old, new Starter
		want     stat.Verdict
		starts   int // of each side
	}{
		{"the same", counted(153), counted(153), stat.NoChange, 2},
		{"one more", counted(153), counted(154), stat.More, 4},
		{"fewer", counted(2331), counted(153), stat.Fewer, 4},
		{"they vary and overlap", counted(378, 379), counted(379, 380), stat.NoChange, 4},
		{"they vary and touch", counted(294, 300), counted(301, 304), stat.NoChange, 4},
		{"they vary and lie apart", counted(294, 300), counted(400, 404), stat.More, 4},
	} {
		p := Programs{Old: tt.old, New: tt.new, Counts: true}
		pairs, err := p.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := figure(t, pairs, "reads")
		if f.Verdict != tt.want || len(f.Old) != tt.starts || len(pairs.Old) > 0 {
			t.Errorf("%s: %s of %d starts, want %s of %d", tt.name, f.Verdict, len(f.Old), tt.want,
				tt.starts)
		}
	}
	p := Programs{Old: counted(256), New: counted(16), Counts: true}
	pairs, err := p.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "16 reads of 64 KiB instead of 256 of 4 KiB"
	if got := Calls(pairs.Figures(false)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramsThatDoNotDoTheSameAreNotTimed(t *testing.T) {
	rng := rand.New(rand.NewPCG(105, 106))
	n := 0
	changing := func(context.Context) (Start, error) {
		n++
		return Start{CPU: 1, Output: strings.Repeat("x", n)}, nil
	}
	for _, tt := range []struct {
		name     string
		old, new Starter
		want     string
	}{
		{"other output",
			always(rng, 1, 0, Start{Output: "a"}), always(rng, 1, 0, Start{Output: "b"}),
			"do not print the same"},
		{"another end", always(rng, 1, 0, Start{}), always(rng, 1, 0, Start{Exit: 1}),
			"the new one with 1"},
		{"a clock", changing, changing, "something else at each start"},
	} {
		p := Programs{Old: tt.old, New: tt.new}
		pairs, err := p.Compare(t.Context())
		if err != nil || len(pairs.Old) > 0 || !strings.Contains(pairs.Different, tt.want) {
			t.Errorf("%s: %v, %d pairs, %q", tt.name, err, len(pairs.Old), pairs.Different)
		}
		p.Outputs = true
		if pairs, err = p.Compare(t.Context()); err != nil || len(pairs.Old) == 0 {
			t.Errorf("%s, allowed: %v, %d pairs", tt.name, err, len(pairs.Old))
		}
	}
}

// A program that never ends is ended with all it started, and one that ends in time before is kept.
func TestTheTimeOfStartsIsUp(t *testing.T) {
	starts := 0
	p := Programs{MaxTime: 50 * time.Millisecond}
	p.Old = func(ctx context.Context) (Start, error) {
		starts++
		if starts <= countStarts+1 {
			return Start{CPU: 1, Wall: 1}, nil
		}
		<-ctx.Done()
		return Start{}, context.Cause(ctx)
	}
	p.New = func(context.Context) (Start, error) { return Start{CPU: 1, Wall: 1}, nil }
	pairs, err := p.Compare(t.Context())
	if err != nil || len(pairs.Old) != 1 {
		t.Errorf("the second pair never ends: %d pairs, %v; want the first", len(pairs.Old), err)
	}
	if f := figure(t, pairs, "CPU time"); f.Verdict != stat.TooNoisy {
		t.Errorf("one pair has the verdict %q", f.Verdict)
	}
	starts = 100
	_, err = p.Compare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "did not end within 50ms") {
		t.Errorf("no start ends: %v", err)
	}
}

func TestFiltersReadAFileAndPrint(t *testing.T) {
	if !proc.TellsOfOthers {
		t.Skip("no calls are counted here")
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	if err := os.WriteFile(input, []byte(strings.Repeat("0123456\n", 8192)), 0o600); err != nil {
		t.Fatal(err)
	}
	start, err := NewFilter([]string{"dd", "bs=8k", "status=none"}, input, dir)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !start.Counted {
		t.Skip("this kernel counts no calls")
	}
	again, err := NewFilter([]string{"cat"}, input, dir)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := start.Counts
	if c.Writes != 8 || c.WrittenBytes != 64<<10 || c.Reads < 9 || start.Wall <= 0 {
		t.Errorf("%+v", start)
	}
	if start.Output != again.Output || !strings.HasPrefix(start.Output, "65536 ") {
		t.Errorf("outputs %q and %q", start.Output, again.Output)
	}
	left, err := filepath.Glob(filepath.Join(dir, "output-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	missing := NewFilter([]string{"cat"}, filepath.Join(dir, "none"), dir)
	if _, err := missing(t.Context()); err == nil {
		t.Error("a file that is not there was read")
	}
}
