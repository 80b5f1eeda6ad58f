package results

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// noise are records of so many runs of a cell's goodput, moving by ± share.
func noise(c Cell, share float64, runs int) Noise {
	n := Noise{Run: "run-1", Machine: "m1", Cell: c, Metric: "goodput"}
	for i := range runs {
		n.Values = append(n.Values, 1e9*(1+share*(2*float64(i)/float64(runs-1)-1)))
	}
	return n
}

func side(name string, records ...Record) Side {
	s := &Set{}
	s.Add(testEnvironment())
	for _, r := range records {
		s.Add(r)
	}
	return SideOf(name, s)
}

func find(t *testing.T, c *Comparison, metric string) Change {
	t.Helper()
	i := slices.IndexFunc(c.Changes, func(ch Change) bool { return ch.Metric == metric })
	if i < 0 {
		t.Fatalf("no change of %s in %+v", metric, c.Changes)
	}
	return c.Changes[i]
}

func TestVerdictsOnTimes(t *testing.T) {
	cell := testCell("ndjson", 4096)
	other := testCell("raw", 65536)
	elsewhere := cell
	elsewhere.Placement = "apart"
	for _, tt := range []struct {
		name     string
		old, new float64 // ns a message
		scatter  float64
		o        CompareOptions
		want     Verdict
		outcome  Outcome // above 5 %
	}{
		{"half the speed in a quiet place", 1000, 2000, 0.01, CompareOptions{Noise: []Noise{noise(cell, 0.005, 8)}}, Slower, OutcomeRegression},
		{"twice the speed", 2000, 1000, 0.01, CompareOptions{Noise: []Noise{noise(cell, 0.005, 8)}}, Faster, OutcomeOK},
		{"the same", 1000, 1000, 0.01, CompareOptions{Noise: []Noise{noise(cell, 0.003, 20)}}, NoChange, OutcomeOK},
		{"3 % slower where that means something, below the gate", 1000, 1030, 0.001, CompareOptions{Noise: []Noise{noise(cell, 0.002, 80)}}, Slower, OutcomeOK},
		{"the same, but runs differ by more than the gate", 1000, 1000, 0.01, CompareOptions{Noise: []Noise{noise(cell, 0.1, 8)}}, TooNoisy, OutcomeInconclusive},
		{"faster by less than runs differ, even so not too slow", 1150, 1000, 0.01, CompareOptions{Noise: []Noise{noise(cell, 0.05, 20)}}, TooNoisy, OutcomeOK},
		{"beyond the bound, but the samples overlap", 1000, 1100, 0.3, CompareOptions{Noise: []Noise{noise(cell, 0.002, 20)}}, TooNoisy, OutcomeInconclusive},
		{"no noise known", 1000, 2000, 0.01, CompareOptions{}, Indicative, OutcomeInconclusive},
		{"noise of another placement says nothing", 1000, 2000, 0.01, CompareOptions{Noise: []Noise{noise(elsewhere, 0.005, 8)}}, Indicative, OutcomeInconclusive},
		{"noise of a cell that runs alike stands in", 1000, 2000, 0.01, CompareOptions{Noise: []Noise{noise(other, 0.005, 8)}}, Slower, OutcomeRegression},
		{"a tenth slower, but a neighbour may cost as much, and eight runs need not have met one", 1000, 1100, 0.001, CompareOptions{Noise: []Noise{noise(cell, 0.002, 8)}}, TooNoisy, OutcomeInconclusive},
		{"two runs are no noise", 1000, 2000, 0.01, CompareOptions{Noise: []Noise{noise(cell, 0.005, 2)}}, Indicative, OutcomeInconclusive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(side("old", testRecord(cell, 4097, around(tt.old, tt.scatter)...)), side("new", testRecord(cell, 4097, around(tt.new, tt.scatter)...)), tt.o)
			ch := find(t, c, "goodput")
			if ch.Verdict != tt.want {
				t.Errorf("got %q (%s), want %q", ch.Verdict, ch.Basis, tt.want)
			}
			if got := c.Outcome(0.05); got != tt.outcome {
				t.Errorf("outcome: got %q, want %q", got, tt.outcome)
			}
		})
	}
}

func TestExactCountersNeedNoStatistics(t *testing.T) {
	cell := testCell("chunked:61440", 1<<20)
	record := func(change func(*Sample)) Record {
		r := testRecord(cell, 1<<20+782, around(100000, 0.01)...)
		for i := range r.Samples {
			if change != nil {
				change(&r.Samples[i])
			}
		}
		return r
	}
	old := side("old", record(nil))
	varies := 0
	for _, tt := range []struct {
		name, metric string
		change       func(*Sample)
		want         Verdict
		exact        bool
	}{
		{"nothing", "wire", func(*Sample) {}, NoChange, true},
		{"one byte a message", "wire", func(s *Sample) { s.WireBytes += s.Messages }, More, true},
		{"a byte less", "wire", func(s *Sample) { s.WireBytes -= s.Messages }, Fewer, true},
		{"another call a message", "writer-calls", func(s *Sample) { s.Writer.Calls += s.Messages }, More, true},
		{"one call more a sample is the end of the stream", "reader-calls", func(s *Sample) { s.Reader.Calls++ }, NoChange, true},
		{"an allocation a message", "allocs", func(s *Sample) { s.Writer.Allocs = new(s.Messages) }, More, true},
		{"what the runtime allocates in a sample", "allocs", func(s *Sample) { s.Writer.Allocs = new(int64(20)) }, NoChange, true},
		{"allocations that vary where there were none", "allocs", func(s *Sample) { varies++; s.Writer.Allocs = new(s.Messages * int64(1+varies%3)) }, Indicative, false},
		{"reads that vary and are five times as many", "reader-calls", func(s *Sample) { varies++; s.Reader.Calls = s.Messages * int64(5+varies%2) }, Indicative, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(old, side("new", record(tt.change)), CompareOptions{})
			ch := find(t, c, tt.metric)
			if ch.Verdict != tt.want || ch.Exact != tt.exact {
				t.Errorf("got %q, exact %v (%s); want %q, %v", ch.Verdict, ch.Exact, ch.Basis, tt.want, tt.exact)
			}
			if c.Changes[len(c.Changes)-1].Metric != "goodput" {
				t.Error("counters do not come first")
			}
		})
	}
}

func TestACounterGatesWithoutNoise(t *testing.T) {
	cell := testCell("ndjson", 4096)
	r := testRecord(cell, 4097, around(1000, 0.01)...)
	more := testRecord(cell, 4097, around(1000, 0.01)...)
	for i := range more.Samples {
		more.Samples[i].Writer.Calls *= 2
	}
	if got := Compare(side("old", r), side("new", more), CompareOptions{}).Outcome(0.05); got != OutcomeRegression {
		t.Errorf("twice the calls: got %q", got)
	}
	for i := range more.Samples {
		more.Samples[i] = r.Samples[i]
		more.Samples[i].Writer.Allocs = new(more.Samples[i].Messages)
	}
	if got := Compare(side("old", r), side("new", more), CompareOptions{}).Outcome(0.05); got != OutcomeRegression {
		t.Errorf("allocations where there were none: got %q", got)
	}
}

func TestVaryingCountersThatOverlapAreLeftOut(t *testing.T) {
	cell := testCell("ndjson", 4096)
	r := testRecord(cell, 4097, around(1000, 0.01)...)
	for i := range r.Samples {
		r.Samples[i].Reader.Calls = 1000 + 100*int64(i)
	}
	c := Compare(side("old", r), side("new", r), CompareOptions{})
	if slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Metric == "reader-calls" }) {
		t.Error("a counter that varies was compared")
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "one counter varies") {
		t.Errorf("that is not said: %q", c.Notes)
	}
}

func TestDifferentMachines(t *testing.T) {
	cell := testCell("ndjson", 4096)
	there := &Set{}
	e := testEnvironment()
	e.Machine = "m2"
	there.Add(e)
	there.Add(testRecord(cell, 4097, around(2000, 0.01)...))
	here := side("here", testRecord(cell, 4097, around(1000, 0.01)...))
	quiet := []Noise{noise(cell, 0.005, 8)}
	for i := range there.Records[0].Samples {
		there.Records[0].Samples[i].WireBytes *= 2
	}
	c := Compare(here, SideOf("there", there), CompareOptions{Noise: quiet})
	if v := find(t, c, "wire").Verdict; v != Elsewhere {
		t.Errorf("a counter: got %q, want no verdict", v)
	}
	if v := find(t, c, "goodput").Verdict; v != Elsewhere {
		t.Errorf("got %q, want no verdict", v)
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "different machines") {
		t.Errorf("that is not said: %q", c.Notes)
	}
	if got := c.Outcome(0.05); got != OutcomeInconclusive {
		t.Errorf("outcome %q", got)
	}
	c = Compare(here, SideOf("there", there), CompareOptions{Noise: quiet, Across: true})
	if v := find(t, c, "goodput").Verdict; v != Indicative {
		t.Errorf("across, with the noise of one machine alone: got %q, want %q", v, Indicative)
	}
	if v := find(t, c, "wire").Verdict; v != More {
		t.Errorf("a counter, across: got %q, want more", v)
	}
	its := noise(cell, 0.005, 8)
	its.Machine = "m2"
	c = Compare(here, SideOf("there", there), CompareOptions{Noise: append(quiet, its), Across: true})
	if v := find(t, c, "goodput").Verdict; v != Slower {
		t.Errorf("across: got %q, want slower", v)
	}
}

func TestNothingInCommon(t *testing.T) {
	c := Compare(side("old", testRecord(testCell("raw", 1), 1, 100)), side("new", testRecord(testCell("raw", 2), 2, 100)), CompareOptions{})
	if got := c.Outcome(0.05); got != OutcomeNothing {
		t.Errorf("got %q", got)
	}
	if len(c.OnlyOld) != 1 || len(c.OnlyNew) != 1 {
		t.Errorf("only old %v, only new %v", c.OnlyOld, c.OnlyNew)
	}
	for _, f := range Formats() {
		if err := c.Write(&bytes.Buffer{}, f, ViewOptions{}); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: got %v, want ErrNothing", f, err)
		}
	}
}

// Two runs of one thing, each its own draw from the same between-run scatter:
// with the bound that runs gave, verdicts are rarer than the level allows.
func TestCompareFindsNothingWhereNothingIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	const trials, cells = 300, 6
	level := func() float64 { return 1000 * math.Exp(0.03*rng.NormFloat64()) }
	wrong := 0
	for range trials {
		a, b := &Set{}, &Set{}
		a.Add(testEnvironment())
		b.Add(testEnvironment())
		var runs []*Set
		for range 6 {
			run := &Set{}
			run.Add(testEnvironment())
			for i := range cells {
				run.Add(testRecord(testCell("ndjson", 1024<<i), 1024<<i, around(level(), 0.002)...))
			}
			runs = append(runs, run)
		}
		all := BetweenRuns(runs)
		for i := range cells {
			cell := testCell("ndjson", 1024<<i)
			a.Add(testRecord(cell, 1024<<i, around(level(), 0.002)...))
			b.Add(testRecord(cell, 1024<<i, around(level(), 0.002)...))
		}
		c := Compare(SideOf("a", a), SideOf("b", b), CompareOptions{Noise: all})
		if slices.ContainsFunc(c.Changes, Change.Established) {
			wrong++
		}
	}
	if share := float64(wrong) / trials; share > 0.03 {
		t.Errorf("a false verdict in %.1f %% of comparisons of the same thing, level 1 %%", 100*share)
	}
}

func TestBetweenRuns(t *testing.T) {
	var runs []*Set
	for _, ns := range []float64{1000, 1250, 1100} {
		run := &Set{}
		run.Add(testEnvironment())
		run.Add(testRecord(testCell("raw", 4096), 4096, around(ns, 0)...))
		trip := testCell("raw", 256)
		trip.Pattern = "roundtrip"
		run.Add(withLatency(testRecord(trip, 256, around(ns, 0)...), "roundtrip", 100))
		runs = append(runs, run)
	}
	once := testRecord(testCell("ndjson", 1), 2, 100)
	runs[0].Add(once)
	got := BetweenRuns(runs)
	if len(got) != 2 || got[0].Metric != "goodput" || got[1].Metric != "p50" {
		t.Fatalf("got %+v, want goodput of the stream and p50 of the round trip", got)
	}
	for _, n := range got {
		if len(n.Values) != 3 || n.Machine != "m1" || n.Spread < 0.245 || n.Spread > 0.255 {
			t.Errorf("%s: got %d runs of machine %q, spread %v; want 3 of m1, 0.25", n.Metric, len(n.Values), n.Machine, n.Spread)
		}
	}
	if n := got[0]; n.Run != "" || n.Cell != testCell("raw", 4096) {
		t.Errorf("got run %q of cell %s", n.Run, n.Cell.Key())
	}
}

// pairs are so many interleaved pairs of runs of cells, the new side slower
// by the given factor, while the machine drifts by up to a half.
func pairs(rng *rand.Rand, n, cells int, factor float64) (old, new []*Set) {
	for range n {
		a, b := &Set{}, &Set{}
		a.Add(testEnvironment())
		b.Add(testEnvironment())
		drift := 1 + rng.Float64()/2
		for i := range cells {
			cell := testCell("ndjson", 1024<<i)
			wobble := func() float64 { return math.Exp(0.01 * rng.NormFloat64()) }
			a.Add(testRecord(cell, 1024<<i, around(1000*drift*wobble(), 0.01)...))
			b.Add(testRecord(cell, 1024<<i, around(1000*drift*factor*wobble(), 0.01)...))
		}
		old, new = append(old, a), append(new, b)
	}
	return old, new
}

func TestPairsFindATenthInSpiteOfDrift(t *testing.T) {
	old, after := pairs(rand.New(rand.NewPCG(31, 32)), 12, 4, 1.1)
	c, err := ComparePairs(old, after, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range c.Changes {
		if ch.Metric != "goodput" {
			continue
		}
		if ch.Verdict != Slower || *ch.Ratio < 0.89 || *ch.Ratio > 0.93 || ch.Interval == nil {
			t.Errorf("%s: %q, ratio %v %+v, p %v", ch.Name, ch.Verdict, *ch.Ratio, ch.Interval, *ch.P)
		}
	}
	if got := c.Outcome(0.05); got != OutcomeRegression {
		t.Errorf("above 5 %%: %q", got)
	}
	if got := c.Outcome(0.2); got != OutcomeOK {
		t.Errorf("above 20 %%: %q", got)
	}
}

func TestPairsFindNothingWhereNothingIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	const trials = 200
	wrong := 0
	for range trials {
		old, after := pairs(rng, 10, 4, 1)
		c, err := ComparePairs(old, after, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(c.Changes, Change.Established) {
			wrong++
		}
	}
	if share := float64(wrong) / trials; share > 0.03 {
		t.Errorf("a false verdict in %.1f %% of A/A comparisons, level 1 %%", 100*share)
	}
}

func TestPairsThatAreTheSameChangeNothing(t *testing.T) {
	old, _ := pairs(rand.New(rand.NewPCG(51, 52)), 8, 1, 1)
	c, err := ComparePairs(old, old, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ch := find(t, c, "goodput"); ch.Verdict != NoChange || *ch.P != 1 {
		t.Errorf("got %q, p %v", ch.Verdict, *ch.P)
	}
	if !c.Conclusive() || c.Outcome(0.05) != OutcomeOK {
		t.Errorf("outcome %q, conclusive %v", c.Outcome(0.05), c.Conclusive())
	}
}

func TestTooFewPairsAreSaid(t *testing.T) {
	old, after := pairs(rand.New(rand.NewPCG(61, 62)), 6, 4, 2)
	c, err := ComparePairs(old, after, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(c.Changes, Change.Established) {
		t.Error("six pairs established a change among four comparisons: 4·2/2⁶ is above 0.01")
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "6 pairs cannot establish any change among 4 comparisons: that takes 10") {
		t.Errorf("that is not said: %q", c.Notes)
	}
	if got := c.Outcome(0.05); got != OutcomeInconclusive {
		t.Errorf("outcome %q", got)
	}
	if _, err := ComparePairs(old, after[:3], CompareOptions{}); err == nil {
		t.Error("six old runs and three new ones were paired")
	}
	if _, err := ComparePairs(nil, nil, CompareOptions{}); err == nil {
		t.Error("no run at all was compared")
	}
}

func TestComparisonViews(t *testing.T) {
	cell, big := testCell("ndjson", 4096), testCell("chunked:61440", 1<<20)
	o := CompareOptions{Noise: []Noise{noise(cell, 0.005, 40)}}
	calls := testRecord(big, 1<<20+782, around(90000, 0.01)...)
	for i := range calls.Samples {
		calls.Samples[i].Writer.Calls *= 18
	}
	before := side("old.jsonl", testRecord(cell, 4097, around(1000, 0.01)...), testRecord(big, 1<<20+782, around(90000, 0.01)...), testRecord(testCell("raw", 1), 1, 90))
	files := Compare(before, side("new.jsonl", testRecord(cell, 4097, around(1200, 0.01)...), calls), o)
	old, after := pairs(rand.New(rand.NewPCG(71, 72)), 10, 2, 1.1)
	interleaved, err := ComparePairs(old, after, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file, proves string
		c            *Comparison
		format       Format
	}{
		{"compare.txt", "counters that changed come first; a time beside a known bound has a verdict", files, FormatTable},
		{"compare.md", "the same for a pull request", files, FormatMarkdown},
		{"compare.csv", "every figure, unchanged counters too", files, FormatCSV},
		{"compare.json", "the same with what it rests on", files, FormatJSON},
		{"compare.bench", "both sides for benchstat -col /side", files, FormatBench},
		{"pairs.txt", "interleaved pairs have an interval of the ratio and a corrected p", interleaved, FormatTable},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var out bytes.Buffer
			if err := tt.c.Write(&out, tt.format, ViewOptions{}); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, out.Bytes())
		})
	}
	if err := files.Write(&bytes.Buffer{}, "yaml", ViewOptions{}); err == nil {
		t.Error("yaml was written")
	}
}

func TestReadSide(t *testing.T) {
	const text = `goos: linux
goarch: amd64
cpu: Testium 9000
Unit widgets/op better=higher
BenchmarkX/size=1-2  1000  120 ns/op  33.5 MB/s  3 widgets/op  2 allocs/op
BenchmarkX/size=1-2  1100  122 ns/op  33.1 MB/s  3 widgets/op  2 allocs/op
BenchmarkBroken 12
BenchmarkX/size=1-2  1000  NaN ns/op
PASS
ok  	example.com/x	1.2s
`
	s, err := ReadSideFrom("bench.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Series) != 4 {
		t.Fatalf("got %d series, want 4", len(s.Series))
	}
	first := s.Series[0]
	if first.Name != "X/size=1-2" || !slices.Equal(first.Values, []float64{120, 122}) || first.Messages != 1000 || first.Machine != "linux amd64 Testium 9000" || first.Metric.Better != Lower {
		t.Errorf("got %+v", first)
	}
	if got := []Better{s.Series[1].Metric.Better, s.Series[2].Metric.Better}; got[0] != Higher || got[1] != Higher {
		t.Errorf("MB/s and widgets/op are better %v, want higher", got)
	}
	if !s.Series[3].Metric.Counter {
		t.Error("allocations are not a counter")
	}
	if len(s.Problems) != 2 || s.Problems[0].Line != 7 || s.Problems[1].Line != 8 {
		t.Errorf("problems: %v, want those on lines 7 and 8", s.Problems)
	}
	c := Compare(s, s, CompareOptions{})
	if ch := find(t, c, "allocs/op"); ch.Verdict != NoChange || !ch.Exact {
		t.Errorf("allocations: got %q", ch.Verdict)
	}
	if ch := find(t, c, "ns/op"); ch.Verdict != Indicative {
		t.Errorf("ns/op: got %q", ch.Verdict)
	}
}

// What is written as Go benchmark text compares with itself as the file does.
func TestBenchTextReadsBackAsWritten(t *testing.T) {
	var text bytes.Buffer
	set := sweep()
	if err := set.WriteBench(&text); err != nil {
		t.Fatal(err)
	}
	s, err := ReadSideFrom("bench.txt", &text)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems) > 0 {
		t.Errorf("problems: %v", s.Problems)
	}
	for _, want := range set.Series() {
		unit, scale := Change{Metric: want.Metric.Name, Cell: want.Cell}.benchUnit()
		i := slices.IndexFunc(s.Series, func(g Series) bool { return g.Name == want.Name && g.Metric.Name == unit })
		if i < 0 {
			if want.Metric.Name == "writer-calls" || want.Metric.Name == "reader-calls" {
				continue // the text has them as one
			}
			t.Fatalf("%s %s is not in the text", want.Name, unit)
		}
		for k, v := range want.Values {
			if got := s.Series[i].Values[k]; math.Abs(got-v*scale) > 1e-5*math.Abs(got) {
				t.Errorf("%s %s: wrote %v, read %v", want.Name, unit, v*scale, got)
			}
		}
		if got := s.Series[i].Metric.Better; got != want.Metric.Better {
			t.Errorf("%s: better %v, want %v", unit, got, want.Metric.Better)
		}
	}
}

// Results that were had through ssh come behind what the other machine greets with.
func TestReadSideBehindOtherText(t *testing.T) {
	records, bench := &bytes.Buffer{}, &bytes.Buffer{}
	set := sweep()
	for _, r := range set.Records {
		records.WriteString(encoded(t, r))
	}
	if err := set.WriteBench(bench); err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"", "\ufeff", "\n", "Welcome to h!\n\n", strings.Repeat("a long greeting\n", 100)} {
		for name, text := range map[string]string{"records": records.String(), "text": bench.String()} {
			s, err := ReadSideFrom("f", strings.NewReader(before+text))
			if err != nil {
				t.Errorf("%s behind %.20q: %v", name, before, err)
			} else if (s.Set != nil) != (name == "records") {
				t.Errorf("%s behind %.20q were taken for something else", name, before)
			}
		}
	}
	s, err := ReadSideFrom("f", strings.NewReader("Welcome to h!\n"+records.String()))
	if err != nil || len(s.Problems) != 1 || s.Problems[0].Line != 1 {
		t.Errorf("problems: %v, %v", s.Problems, err)
	}
}

func TestReadSideOfNothing(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "prose": "hello\n", "an environment alone": encoded(t, testEnvironment()),
	} {
		if _, err := ReadSideFrom("f", strings.NewReader(text)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%s: got %v, want ErrEmpty", name, err)
		}
	}
	if _, err := ReadSide("testdata/none"); err == nil {
		t.Error("a missing file was read")
	}
}

func TestBenchNamesAreStable(t *testing.T) {
	c := testCell("chunked:61440", 65536)
	c.Capacity, c.IO, c.Rate = 0, "poller/sleep=10ms", 1000
	for _, tt := range []struct {
		change func(*Cell)
		want   string
	}{
		{func(*Cell) {}, "Stream/framing=chunked:61440/size=65536/io=poller+sleep=10ms/placement=same/rate=1000"},
		{func(c *Cell) { c.Peer, c.Rate = "thread", 0 }, "Stream/framing=chunked:61440/size=65536/io=poller+sleep=10ms/placement=same/peer=thread"},
		{func(c *Cell) { c.Messages, c.Rate = "a b-8", 0 }, "Stream/framing=chunked:61440/size=65536/io=poller+sleep=10ms/placement=same/messages=a_b_8"},
	} {
		changed := c
		tt.change(&changed)
		if got := BenchName(changed); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func FuzzReadSide(f *testing.F) {
	f.Add([]byte("goos: linux\nUnit x better=higher\nBenchmarkX/a=1-8 10 5 ns/op 3 x\n"))
	f.Add([]byte("BenchmarkX 10 NaN ns/op\nBenchmarkX 10 +Inf MB/s\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSideFrom("f", bytes.NewReader(text))
		if err != nil {
			return
		}
		c := Compare(s, s, CompareOptions{})
		for _, format := range Formats() {
			if err := c.Write(&bytes.Buffer{}, format, ViewOptions{}); err != nil && !errors.Is(err, ErrNothing) {
				t.Errorf("%s: %v", format, err)
			}
		}
	})
}
