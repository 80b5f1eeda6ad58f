package stat_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results/stat"
)

// compareTexts compares two texts that hold the given lines of benchmarks, with verdicts on times.
func compareTexts(t *testing.T, old, new string) *stat.Comparison {
	t.Helper()
	return stat.Compare(readText(t, "old.txt", old), readText(t, "new.txt", new),
		stat.CompareOptions{Across: true})
}

func readText(t *testing.T, name, text string) stat.Dataset {
	t.Helper()
	const head = "goos: linux\ngoarch: amd64\ncpu: Testium\n"
	side, err := stat.ReadDatasetFrom(name, strings.NewReader(head+text))
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// timeLines returns lines of a benchmark whose times are random.
func timeLines(n int, time func() float64) string {
	var text strings.Builder
	for range n {
		fmt.Fprintf(&text, "BenchmarkEncode-2 1000 %.2f ns/op\n", time())
	}
	return text.String()
}

// Times that jump between two levels have a median that jumps, too.
func TestTimesOnTwoLevelsGiveNoFalseVerdicts(t *testing.T) {
	const trials = 400
	for _, upper := range []float64{0.3, 0.5} {
		for _, n := range []int{6, 10, 30} {
			rng := rand.New(rand.NewPCG(71, uint64(n)))
			time := func() float64 {
				level := 110.0
				if rng.Float64() < upper {
					level = 172
				}
				return level * (1 + 0.01*rng.NormFloat64())
			}
			wrong := 0
			for range trials {
				c := compareTexts(t, timeLines(n, time), timeLines(n, time))
				if c.Outcome(0.1) == stat.OutcomeRegression || c.Changes[0].Established() {
					wrong++
				}
			}
			t.Logf("%d lines, upper %g: %d of %d", n, upper, wrong, trials)
			// 5 % and three standard deviations
			if share := float64(wrong) / trials; share > 0.083 {
				t.Errorf("%d lines, %.0f %% on the upper level: a false verdict in %.1f %%",
					n, 100*upper, 100*share)
			}
		}
	}
}

// The interval beside a verdict of "too noisy" says that there may be no change.
func TestAnIntervalHoldsNoChangeIfTheLevelsAreAlike(t *testing.T) {
	level := func(times ...float64) string {
		var text strings.Builder
		for i, time := range times {
			fmt.Fprintf(&text, "BenchmarkEncode-2 1000 %.2f ns/op\n", time*(1+float64(i)/1000))
		}
		return text.String()
	}
	c := compareTexts(t, level(110, 110, 172, 110, 110, 172), level(172, 110, 172, 110, 172, 172))
	got := c.Changes[0]
	if got.Verdict != stat.TooNoisy || got.Interval == nil || got.Interval.Lo > 1 ||
		got.Interval.Hi < 1.5 {
		t.Errorf("%s, interval %+v", got.Verdict, got.Interval)
	}
}

// A time that is too noisy for a verdict is not slower everywhere in its interval.
func TestTheIntervalShownIsTheOneThatDecides(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 76))
	wider := 0
	for range 300 {
		at := func(level float64) func() float64 {
			return func() float64 { return level * (1 + 0.06*rng.NormFloat64()) }
		}
		got := compareTexts(t, timeLines(8, at(100)), timeLines(8, at(112))).Changes[0]
		if got.Verdict != stat.TooNoisy || got.Interval == nil {
			continue
		}
		if got.Interval.Lo > 1 {
			t.Errorf("too noisy, and slower everywhere in %+v", got.Interval)
		}
		if got.Interval.Confidence > stat.Confidence {
			wider++
		}
	}
	if wider == 0 {
		t.Error("no interval was wider than usual")
	}
}

// The memory of a benchmark may vary, and is no time all the same.
func TestMemoryThatVariesIsNoTime(t *testing.T) {
	lines := func(bytes float64) string {
		var text strings.Builder
		for i := range 10 {
			fmt.Fprintf(&text, "BenchmarkEncode-2 1000 %d ns/op %.0f B/op\n", 100+i%2,
				bytes*(1+float64(i%3)/100))
		}
		return text.String()
	}
	for _, ch := range compareTexts(t, lines(50000), lines(80000)).Changes {
		want, isTime := stat.NoChange, true
		if ch.Metric == "B/op" {
			want, isTime = stat.More, false
		}
		if ch.Verdict != want || ch.Before.Metric.IsTime() != isTime {
			t.Errorf("%s: %s, time: %v", ch.Metric, ch.Verdict, ch.Before.Metric.IsTime())
		}
	}
}

// A tenth among times with little noise is found with ten lines, and a third with six, even if
// there are ten benchmarks.
func TestTextsShowATenth(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	const trials = 100
	for _, tt := range []struct {
		n      int
		factor float64
		noise  float64
		others int
	}{{10, 1.1, 0.02, 0}, {6, 1.3, 0.02, 9}} {
		found := 0
		for range trials {
			at := func(level float64) func() float64 {
				return func() float64 { return level * (1 + tt.noise*rng.NormFloat64()) }
			}
			old, new := timeLines(tt.n, at(100)), timeLines(tt.n, at(100*tt.factor))
			for i := range tt.others {
				name := fmt.Sprintf("Other%d-", i)
				old += strings.ReplaceAll(timeLines(tt.n, at(100)), "Encode-", name)
				new += strings.ReplaceAll(timeLines(tt.n, at(100)), "Encode-", name)
			}
			if compareTexts(t, old, new).Changes[0].Verdict == stat.Slower {
				found++
			}
		}
		if found < 95 {
			t.Errorf("%+v: found in %d of %d comparisons", tt, found, trials)
		}
	}
}

// Two packages may have benchmarks of the same name.
func TestBenchmarksOfTwoPackagesAreApart(t *testing.T) {
	text := func(pkg, name string, ns int) string {
		lines := "pkg: " + pkg + "\n"
		for i := range 8 {
			lines += fmt.Sprintf("Benchmark%s-2 1000 %d ns/op\n", name, ns+i%3)
		}
		return lines
	}
	both := text("x/one", "Encode", 1000) + text("x/two", "Encode", 5000)
	for _, tt := range []struct {
		name, old, new string
		want           []string // names and verdicts
		onlyOld        string
	}{
		{"one of two is slower", both,
			text("x/one", "Encode", 1300) + text("x/two", "Encode", 5000),
			[]string{"x/one.Encode-2 slower", "x/two.Encode-2 no change"}, ""},
		{"one of two is gone", both, text("x/two", "Encode", 5000),
			[]string{"x/two.Encode-2 no change"}, "x/one.Encode-2"},
		{"the package was renamed", text("x/one", "Encode", 1000), text("x/two", "Encode", 1000),
			[]string{"Encode-2 no change"}, ""},
		{"names that differ need no package",
			text("x/one", "Encode", 1000) + text("x/two", "Decode", 1000),
			text("x/one", "Encode", 1000) + text("x/two", "Decode", 1300),
			[]string{"Encode-2 no change", "Decode-2 slower"}, ""},
	} {
		c := compareTexts(t, tt.old, tt.new)
		var got []string
		for _, ch := range c.Changes {
			got = append(got, ch.Name+" "+string(ch.Verdict))
		}
		if !slices.Equal(got, tt.want) || strings.Join(c.OnlyOld, " ") != tt.onlyOld {
			t.Errorf("%s: got %q, only old %q; want %q, %q",
				tt.name, got, c.OnlyOld, tt.want, tt.onlyOld)
		}
	}
}

// A text is not measured in turns with another: what differs may be the machine. So times give no
// verdict unless they are asked for, and counts do.
func TestTimesOfTextsNeedTurns(t *testing.T) {
	text := func(ns float64, allocations int) string {
		lines := timeLines(6, func() float64 { return ns })
		return strings.ReplaceAll(lines, "\n", fmt.Sprintf(" %d allocs/op\n", allocations))
	}
	for _, tt := range []struct {
		allocations int
		options     stat.CompareOptions
		want        stat.Outcome
	}{
		{1, stat.CompareOptions{}, stat.OutcomeInconclusive},
		{1, stat.CompareOptions{Across: true}, stat.OutcomeRegression},
		{1, stat.CompareOptions{Metrics: []string{"allocs/op"}}, stat.OutcomeOK},
		{2, stat.CompareOptions{}, stat.OutcomeRegression},
	} {
		before := readText(t, "old.txt", text(100, 1))
		after := readText(t, "new.txt", text(130, tt.allocations))
		c := stat.Compare(before, after, tt.options)
		if got := c.Outcome(0.05); got != tt.want {
			t.Errorf("%+v: %s: %+v", tt, got, c.Changes)
		}
		for _, ch := range c.Changes {
			isApart := ch.Verdict == stat.MeasuredApart
			if want := ch.Metric == "ns/op" && !tt.options.Across; isApart != want {
				t.Errorf("%+v: %s: %s (%s)", tt, ch.Metric, ch.Verdict, ch.Basis)
			}
		}
	}
}

// Times in fewer than six lines have no verdict, and the change says why.
func TestTooFewLinesAreSaid(t *testing.T) {
	at := func() float64 { return 100 }
	for n, want := range map[int]bool{5: true, 6: false} {
		got := compareTexts(t, timeLines(n, at), timeLines(n, at)).Changes[0]
		if strings.Contains(got.Basis, "-count 6") != want {
			t.Errorf("%d lines: %q", n, got.Basis)
		}
	}
}

// Logarithms of zero tell nothing. A count of zero does.
func TestCountsOfZeroAreJudged(t *testing.T) {
	text := func(n int, values ...string) string {
		var lines string
		for i := range n {
			lines += fmt.Sprintf("BenchmarkEncode-2 1000 %d ns/op %s\n",
				1000+i%3, values[i%len(values)])
		}
		return lines
	}
	for _, tt := range []struct {
		old, new []string
		want     stat.Verdict
		outcome  stat.Outcome
	}{
		{[]string{"0 B/op 0 allocs/op"}, []string{"0 B/op 0 allocs/op"},
			stat.NoChange, stat.OutcomeOK},
		{[]string{"16 B/op 1 allocs/op"}, []string{"16 B/op 1 allocs/op"},
			stat.NoChange, stat.OutcomeOK},
		{[]string{"0 B/op 0 allocs/op"}, []string{"16 B/op 0 allocs/op"},
			stat.More, stat.OutcomeRegression},
		{[]string{"16 B/op 1 allocs/op"}, []string{"0 B/op 1 allocs/op"},
			stat.Fewer, stat.OutcomeOK},
		{[]string{"16 B/op"}, []string{"32 B/op"}, stat.More, stat.OutcomeRegression},
		{[]string{"0 ns-off/op"}, []string{"0 ns-off/op"}, stat.NoChange, stat.OutcomeOK},
		{[]string{"0 ns-off/op"}, []string{"3 ns-off/op"}, stat.More, stat.OutcomeRegression},
		{[]string{"0 B/op"}, []string{"0 B/op", "1 B/op", "0 B/op"}, // 1 is of the runtime
			stat.NoChange, stat.OutcomeOK},
		{[]string{"0 B/op", "1 B/op", "0 B/op"}, []string{"16 B/op"},
			stat.More, stat.OutcomeRegression},
		// how much more it is in the end is not known
		{[]string{"0 B/op"}, []string{"16 B/op", "0 B/op"},
			stat.NoVerdict, stat.OutcomeInconclusive},
	} {
		const unit = "Unit ns-off/op better=lower\n"
		before := readText(t, "old.txt", unit+text(8, tt.old...))
		after := readText(t, "new.txt", unit+text(8, tt.new...))
		unpaired := stat.Compare(before, after, stat.CompareOptions{Across: true})
		paired := stat.CompareTextPairs(before, after, stat.CompareOptions{})
		for _, c := range []*stat.Comparison{unpaired, paired} {
			isCount := func(ch stat.Change) bool {
				return ch.Metric == "B/op" || ch.Metric == "ns-off/op"
			}
			i := slices.IndexFunc(c.Changes, isCount)
			got, outcome := c.Changes[i], c.Outcome(0.1)
			if tt.want == stat.NoChange {
				three := stat.Compare(readText(t, "old.txt", unit+text(3, tt.old...)),
					readText(t, "new.txt", unit+text(3, tt.new...)), stat.CompareOptions{})
				if three.Changes[i].Verdict != stat.NoChange {
					t.Errorf("%q in three lines: %s", tt.old, three.Changes[i].Verdict)
				}
			}
			wanted := got.Verdict == tt.want ||
				c.Pairs > 0 && tt.want == stat.NoVerdict && got.Verdict == stat.TooNoisy
			if !wanted || outcome != tt.outcome || strings.Contains(got.Basis, "fewer than") {
				t.Errorf("from %q to %q, %d pairs: %s (%s), outcome %s; want %s, %s", tt.old,
					tt.new, c.Pairs, got.Verdict, got.Basis, outcome, tt.want, tt.outcome)
			}
		}
	}
}

// What the runtime allocates weighs more, the fewer iterations there are.
func TestAllocationsInFewIterationsHaveNoVerdict(t *testing.T) {
	for _, tt := range []struct {
		iterations, old, new int
		want                 stat.Verdict
		outcome              stat.Outcome
	}{
		{21, 1, 1, stat.NoChange, stat.OutcomeOK},
		{21, 1, 3, stat.NoVerdict, stat.OutcomeInconclusive},
		{21, 0, 1, stat.NoVerdict, stat.OutcomeInconclusive},
		{21, 3, 1, stat.NoVerdict, stat.OutcomeOK},
		{21, 1, 5, stat.More, stat.OutcomeRegression},
		{1, 100, 150, stat.NoVerdict, stat.OutcomeInconclusive},
		{1, 100, 200, stat.More, stat.OutcomeRegression},
		{100, 1, 2, stat.More, stat.OutcomeRegression},
	} {
		text := func(allocations int) string {
			line := fmt.Sprintf("BenchmarkA %d %d allocs/op\n", tt.iterations, allocations)
			return strings.Repeat(line, 6)
		}
		before := readText(t, "old.txt", text(tt.old))
		after := readText(t, "new.txt", text(tt.new))
		for _, c := range []*stat.Comparison{
			stat.Compare(before, after, stat.CompareOptions{}),
			stat.CompareTextPairs(before, after, stat.CompareOptions{}),
		} {
			got, outcome := c.Changes[0], c.Outcome(0.05)
			if got.Verdict != tt.want || outcome != tt.outcome || !got.Exact {
				t.Errorf("%+v: %+v, outcome %s", tt, got, outcome)
			}
		}
	}
}

// Allocations that differ by one from run to run have a verdict if they lie far apart.
func TestAllocationsThatVaryAreJudgedByTheirRanges(t *testing.T) {
	for _, tt := range []struct {
		old, new int // and one more in some lines
		want     stat.Verdict
		outcome  stat.Outcome
	}{
		{1000, 2000, stat.More, stat.OutcomeRegression},
		{2000, 1000, stat.Fewer, stat.OutcomeOK},
		{10, 13, stat.More, stat.OutcomeRegression},
		{10, 11, stat.Varies, stat.OutcomeInconclusive},
		{10, 10, stat.NoChange, stat.OutcomeOK},
	} {
		text := func(least int) string {
			var all strings.Builder
			for i := range 6 {
				fmt.Fprintf(&all, "BenchmarkA 1000 %d allocs/op\n", least+min(i%3, 1)*(i%2))
			}
			return all.String()
		}
		before := readText(t, "old.txt", text(tt.old))
		after := readText(t, "new.txt", text(tt.new))
		c := stat.Compare(before, after, stat.CompareOptions{})
		if got := c.Changes[0].Verdict; got != tt.want || c.Outcome(0.05) != tt.outcome {
			t.Errorf("%+v: %s, outcome %s", tt, got, c.Outcome(0.05))
		}
	}
}

// Bytes are counted, also in fewer pairs than a verdict on a time takes.
func TestFewPairsOfMemory(t *testing.T) {
	lines := func(bytes ...int) string {
		var text strings.Builder
		for _, b := range bytes {
			fmt.Fprintf(&text, "BenchmarkEncode-2 1000000 100 ns/op %d B/op\n", b)
		}
		return text.String()
	}
	for _, tt := range []struct {
		name     string
		old, new string
		verdict  stat.Verdict
		basis    string
	}{
		{"from none", lines(0, 0, 0), lines(4864, 4864, 4864), stat.More, ""},
		{"from none, varying", lines(0, 0, 0), lines(4864, 4870, 4866), stat.More, ""},
		{"to none", lines(4864, 4870, 4866), lines(0, 0, 0), stat.Fewer, ""},
		{"some of none", lines(0, 0, 0), lines(0, 4864, 4864), stat.TooNoisy,
			"3 pairs: a verdict takes at least 5"},
		{"more", lines(4864, 4864, 4864), lines(5000, 5000, 5000), stat.TooNoisy,
			"3 pairs: a verdict takes at least 5"},
		{"a byte of rounding", lines(0, 0, 0, 0, 0, 1), lines(0, 1, 0, 0, 0, 0), stat.NoChange, ""},
		{"a byte each", lines(0, 0, 0, 0, 0, 0), lines(1, 1, 1, 1, 1, 1), stat.More, ""},
		{"often a byte", lines(0, 0, 0, 0, 0, 1), lines(1, 1, 1, 1, 1, 0), stat.NoVerdict,
			"many figures are 0, and a ratio needs figures above 0"},
		{"bytes of the start", lines(11, 0, 0, 0, 0, 0), lines(7, 0, 0, 0, 0, 0),
			stat.NoChange, ""},
		{"twice some bytes", lines(0, 0, 0, 0, 0, 0), lines(0, 0, 0, 0, 2, 2), stat.NoVerdict,
			"many figures are 0, and a ratio needs figures above 0"},
		{"less of some", lines(1, 0, 1, 1, 0, 1), lines(0, 0, 0, 0, 0, 0),
			stat.NoChange, "no new figure is above an old one"},
		{"many of none", lines(0, 0, 0, 0, 0, 0), lines(0, 4864, 4864, 4864, 4864, 4864),
			stat.NoVerdict, "many figures are 0, and a ratio needs figures above 0"},
	} {
		c := stat.CompareTextPairs(readText(t, "old", tt.old), readText(t, "new", tt.new),
			stat.CompareOptions{Metrics: []string{"B/op"}})
		got := c.Changes[0]
		if got.Verdict != tt.verdict || got.Basis != tt.basis {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, got.Verdict, got.Basis, tt.verdict,
				tt.basis)
		}
	}
}
