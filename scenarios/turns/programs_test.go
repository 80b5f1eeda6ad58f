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

// changeOf finds the change of a figure.
func changeOf(t *testing.T, c *stat.Comparison, name string) stat.Change {
	t.Helper()
	for _, change := range c.Changes {
		if change.Metric == name {
			return change
		}
	}
	t.Fatalf("no figure %s", name)
	return stat.Change{}
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
			Old: always(rng, 1e6, 0.02, Start{}),
			New: always(rng, 1e6*tt.factor, 0.02, Start{}),
		}
		c, err := p.Run(t.Context(), Plan{MaxTime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		f := changeOf(t, c, "CPU time")
		if f.Verdict != tt.want || c.Pairs < tt.least || c.Pairs > tt.most {
			t.Errorf("%s: %s (%v) after %d pairs, want %s after %d to %d",
				tt.name, f.Verdict, f.Interval, c.Pairs, tt.want, tt.least, tt.most)
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
		p := Programs{Old: start, New: start}
		c, err := p.Run(t.Context(), Plan{MaxTime: time.Hour, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if changeOf(t, c, "CPU time").Verdict != stat.NoChange {
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
		{"one more", counted(153), counted(154), stat.More, 8},
		{"fewer", counted(2331), counted(153), stat.Fewer, 8},
		{"they vary and overlap", counted(378, 379), counted(379, 380), stat.NoChange, 8},
		{"they vary and touch", counted(294, 300), counted(301, 304), stat.NoChange, 8},
		{"they may be 0", counted(0, 2), counted(0, 1), stat.NoChange, 8},
		{"only one may be 0", counted(0, 2), counted(1, 2), stat.Varies, 8},
		{"their least counts differ", counted(1, 3), counted(2, 4), stat.Varies, 8},
		{"they vary and lie apart", counted(294, 300), counted(400, 404), stat.More, 8},
	} {
		p := Programs{Old: tt.old, New: tt.new, CountOnly: true}
		c, err := p.Run(t.Context(), Plan{})
		if err != nil {
			t.Fatal(err)
		}
		f := changeOf(t, c, "reads")
		n := len(f.Before.Values)
		if f.Verdict != tt.want || n != tt.starts || c.Pairs > 0 {
			t.Errorf("%s: %s of %d starts, want %s of %d", tt.name, f.Verdict, n, tt.want,
				tt.starts)
		}
		varies := strings.Contains(f.Basis, "vary as much between starts")
		if want := f.Verdict == stat.NoChange && f.Old.Median != f.New.Median; varies != want {
			t.Errorf("%s: %q is said of the figure", tt.name, f.Basis)
		}
	}
	for reads, want := range map[int64]string{
		1:  "1 read instead of 256",
		16: "16 reads instead of 256",
	} {
		p := Programs{Old: counted(256), New: counted(reads), CountOnly: true}
		c, err := p.Run(t.Context(), Plan{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Calls; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Go's runtime wakes itself by writes of 8 bytes, more or less often by chance.
func TestWakeUpsAreNotCounted(t *testing.T) {
	writes := func(own int64, wakeUps ...int64) Starter {
		next := 0
		return func(context.Context) (Start, error) {
			woken := wakeUps[next%len(wakeUps)]
			next++
			c := proc.Counts{Writes: own + woken, WrittenBytes: 27 + 8*woken}
			return Start{Counted: true, Counts: c}, nil
		}
	}
	for _, tt := range []struct {
		name     string
		old, new Starter
		want     stat.Verdict
		ratio    float64
	}{
		{"the same", writes(1, 2, 0, 3), writes(1, 0, 4), stat.NoChange, 1},
		{"one more", writes(1, 0, 3), writes(2, 1, 2, 0), stat.More, 2},
		{"awake at every start", writes(1, 0, 3), writes(1, 1, 2), stat.Varies, 2},
		{"and one more", writes(1, 0, 3), writes(2, 1, 2), stat.Varies, 3},
	} {
		p := Programs{Old: tt.old, New: tt.new, CountOnly: true}
		c, err := p.Run(t.Context(), Plan{})
		if err != nil {
			t.Fatal(err)
		}
		f := changeOf(t, c, "writes")
		if f.Verdict != tt.want || *f.Ratio != tt.ratio {
			t.Errorf("%s: %s, %v times as many, want %s, %v times", tt.name, f.Verdict, *f.Ratio,
				tt.want, tt.ratio)
		}
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
		c, err := p.Run(t.Context(), Plan{})
		said := c.Different
		if c.NewFails {
			said = c.Doubt
		}
		if err != nil || c.Pairs > 0 || !strings.Contains(said, tt.want) {
			t.Errorf("%s: %v, %+v", tt.name, err, c)
		}
		p = Programs{Old: tt.old, New: tt.new, MayDiffer: true}
		c, err = p.Run(t.Context(), Plan{Pairs: 1})
		if err != nil || c.Pairs == 0 || c.Different == "" {
			t.Errorf("%s, allowed: %v, %+v", tt.name, err, c)
		}
	}
}

// A gate says nothing of commands that fail, so for a gate they are not timed.
func TestCommandsThatFailAreNotTimedForAGate(t *testing.T) {
	for _, gated := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(111, 112))
		start := always(rng, 1e6, 0.01, Start{Exit: 2, Said: "unknown option"})
		p := Programs{Old: start, New: start}
		c, err := p.Run(t.Context(), Plan{MaxTime: time.Hour, Gated: gated})
		if err != nil {
			t.Fatal(err)
		}
		if isTimed := c.Pairs > 0; isTimed == gated {
			t.Errorf("gate %v: %d pairs", gated, c.Pairs)
		}
		const want = "both fail: they exit with 2 (unknown option): a gate says nothing"
		if !strings.HasPrefix(c.Doubt, want) {
			t.Errorf("got %q, want %q", c.Doubt, want)
		}
	}
}

// What was counted is kept if the first pair that is timed never ends.
func TestCountsOutliveAPairThatNeverEnds(t *testing.T) {
	n := 0
	counted := Start{Counted: true, Counts: proc.Counts{Reads: 3}}
	old := func(ctx context.Context) (Start, error) {
		n++
		if n > countStarts {
			<-ctx.Done()
			return Start{}, context.Cause(ctx)
		}
		return counted, nil
	}
	new := func(context.Context) (Start, error) { return counted, nil }
	p := Programs{Old: old, New: new}
	c, err := p.Run(t.Context(), Plan{MaxTime: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "pair 1: the old one: it still ran") {
		t.Errorf("the first pair never ends: %v", err)
	}
	if f := changeOf(t, c, "reads"); f.Verdict != stat.NoChange || c.Pairs != 0 {
		t.Errorf("reads: %q, and %d pairs", f.Verdict, c.Pairs)
	}
}

// A command that does something else in one of many starts is found out, and what was counted is
// kept.
func TestAStartThatDiffersEndsTheComparison(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other Start
		want  string
	}{
		{"another end", Start{Exit: 3}, "pair 3: the new one exited with 3, and with 0 before"},
		{"another output", Start{Output: "b"}, "pair 3: the new one printed something else"},
	} {
		counted := Start{Counted: true, CPU: 1, Counts: proc.Counts{Reads: 3}}
		old := func(context.Context) (Start, error) { return counted, nil }
		n := 0
		new := func(context.Context) (Start, error) {
			n++
			if n == countStarts+3 {
				return tt.other, nil
			}
			return counted, nil
		}
		p := Programs{Old: old, New: new}
		c, err := p.Run(t.Context(), Plan{MaxTime: time.Hour})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if f := changeOf(t, c, "reads"); f.Verdict != stat.NoChange {
			t.Errorf("%s: reads are %q", tt.name, f.Verdict)
		}
		n = 0
		p = Programs{Old: old, New: new, MayDiffer: true}
		c, err = p.Run(t.Context(), Plan{Pairs: stat.LeastPairs})
		if err != nil || c.Pairs != stat.LeastPairs {
			t.Errorf("%s, allowed: %v, %+v", tt.name, err, c)
		}
	}
}

// Where CPU time comes in ticks that are too long for the command, the time that passed decides.
func TestACoarseClockOfCPUTimeDoesNotDecide(t *testing.T) {
	for _, cpu := range []float64{0, 15.6e6} {
		rng := rand.New(rand.NewPCG(107, 108))
		ticks := func(factor float64) Starter {
			return func(context.Context) (Start, error) {
				wall := factor * 1e6 * math.Exp(0.01*rng.NormFloat64())
				return Start{CPU: cpu, Wall: wall}, nil
			}
		}
		p := Programs{Old: ticks(1), New: ticks(1.5)}
		c, err := p.Run(t.Context(), Plan{MaxTime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		f := changeOf(t, c, "time")
		if f.Verdict != stat.Slower || f.Before.Metric.ShownOnly {
			t.Errorf("ticks of %v ns: the time is %q after %d pairs", cpu, f.Verdict, c.Pairs)
		}
		if len(c.Changes) != 1 || !strings.Contains(strings.Join(c.Notes, "\n"), "too coarse") {
			t.Errorf("ticks of %v ns: %+v", cpu, c)
		}
	}
}

// A gate judges the figures that were asked for; others that the two do not have are told.
func TestFiguresAreAskedForByTheirNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(109, 110))
	p := Programs{Old: always(rng, 1e6, 0.01, Start{}), New: always(rng, 2e6, 0.01, Start{})}
	o := stat.CompareOptions{Metrics: []string{"time"}}
	c, err := p.Run(t.Context(), Plan{MaxTime: time.Hour, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	f := changeOf(t, c, "time")
	if len(c.Changes) != 1 || f.Verdict != stat.Slower || !f.Gating() {
		t.Errorf("asked for time: %+v", c.Changes)
	}
	if got := o.Missing(c.Names); got != "" {
		t.Errorf("%q is said to be missing", got)
	}
	if got := (stat.CompareOptions{Metrics: []string{"wire"}}).Missing(c.Names); got != "wire" {
		t.Errorf("got %q, want that wire is missing", got)
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
