package stat

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func side(name string, records ...results.Record) Dataset {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, r := range records {
		s.Add(r)
	}
	return DatasetOf(name, s)
}

func find(t *testing.T, c *Comparison, metric string) Change {
	t.Helper()
	i := slices.IndexFunc(c.Changes, func(ch Change) bool { return ch.Metric == metric })
	if i < 0 {
		t.Fatalf("no change of %s in %+v", metric, c.Changes)
	}
	return c.Changes[i]
}

func TestAMetricThatIsNotThereIsNamed(t *testing.T) {
	record := resultstest.Record(resultstest.Cell("raw", 1), 1, 100)
	both := side("both", record)
	c := Compare(both, both, CompareOptions{Metrics: []string{"godput"}})
	const why = "metric godput is not in both; compared were writer-calls, "
	if !strings.HasPrefix(c.Doubt, why) {
		t.Errorf("doubt %q", c.Doubt)
	}
	c = Compare(both, both, CompareOptions{Metrics: []string{"wire"}})
	if c.Doubt != "" {
		t.Errorf("doubt %q", c.Doubt)
	}
}

func TestExactCountersNeedNoStatistics(t *testing.T) {
	cell := resultstest.Cell("chunked:61440", 1<<20)
	record := func(change func(*results.Sample)) results.Record {
		r := resultstest.Record(cell, 1<<20+782, resultstest.Around(100000, 0.01)...)
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
		change       func(*results.Sample)
		want         Verdict
		exact        bool
	}{
		{"nothing", "wire", func(*results.Sample) {}, NoChange, true},
		{"one byte a message", "wire", func(s *results.Sample) { s.WireBytes += s.Messages }, More, true},
		{"a byte less", "wire", func(s *results.Sample) { s.WireBytes -= s.Messages }, Fewer, true},
		{"another call a message", "writer-calls", func(s *results.Sample) { s.Writer.Calls += s.Messages }, More, true},
		{"one call more a sample is the end of the stream", "reader-calls", func(s *results.Sample) { s.Reader.Calls++ }, NoChange, true},
		{"an allocation a message", "allocs", func(s *results.Sample) { s.Writer.Allocs = new(s.Messages) }, More, true},
		{"what the runtime allocates in a sample", "allocs", func(s *results.Sample) { s.Writer.Allocs = new(int64(20)) }, NoChange, true},
		{"allocations that vary where there were none", "allocs", func(s *results.Sample) {
			varies++
			s.Writer.Allocs = new(s.Messages * int64(1+varies%3))
		}, Varies, false},
		{"reads that vary and are five times as many", "reader-calls", func(s *results.Sample) {
			varies++
			s.Reader.Calls = s.Messages * int64(5+varies%2)
		}, Varies, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(old, side("new", record(tt.change)), CompareOptions{})
			ch := find(t, c, tt.metric)
			if ch.Verdict != tt.want || ch.Exact != tt.exact {
				t.Errorf("got %q, exact %v (%s); want %q, %v", ch.Verdict, ch.Exact, ch.Basis, tt.want, tt.exact)
			}
		})
	}
}

// Ratios to raw hide that raw itself takes longer, so that is said beside them.
func TestASlowerRawIsSaid(t *testing.T) {
	measured := func(factor float64) Dataset {
		var records []results.Record
		for _, size := range []int{256, 4096, 65536} {
			times := resultstest.Around(factor*100000, 0.01)
			records = append(records, resultstest.Record(resultstest.Cell("raw", size), int64(size),
				times...))
		}
		return side(fmt.Sprint("at", factor), records...)
	}
	for factor, want := range map[float64]string{
		2:    "raw is 50 % slower in the new file",
		0.5:  "raw is 100 % faster in the new file",
		1.02: "",
	} {
		if got := Compare(measured(1), measured(factor), CompareOptions{}).Raw; got != want {
			t.Errorf("factor %v: got %q, want %q", factor, got, want)
		}
	}
}

func TestACounterGatesWithoutNoise(t *testing.T) {
	cell := resultstest.Cell("ndjson", 4096)
	r := resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...)
	more := resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...)
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

func TestPairsFindATenthInSpiteOfDrift(t *testing.T) {
	old, after := resultstest.Pairs(rand.New(rand.NewPCG(31, 32)), 12, 4, 1.1)
	c, err := ComparePairs(old, after, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range c.Changes {
		if ch.Metric != "goodput" {
			continue
		}
		if ch.Verdict != Slower || *ch.Ratio < 0.89 || *ch.Ratio > 0.93 || ch.Interval == nil {
			t.Errorf("%s: %q, ratio %v %+v", ch.Name, ch.Verdict, *ch.Ratio, ch.Interval)
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
	t.Parallel()
	rng := rand.New(rand.NewPCG(41, 42))
	const trials = 100
	wrong := 0
	for range trials {
		old, after := resultstest.Pairs(rng, 10, 4, 1)
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
	old, _ := resultstest.Pairs(rand.New(rand.NewPCG(51, 52)), 8, 1, 1)
	c, err := ComparePairs(old, old, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ch := find(t, c, "goodput"); ch.Verdict != NoChange || *ch.Ratio != 1 {
		t.Errorf("got %q, ratio %v", ch.Verdict, *ch.Ratio)
	}
	if !c.Conclusive() || c.Outcome(0.05) != OutcomeOK {
		t.Errorf("outcome %q, conclusive %v", c.Outcome(0.05), c.Conclusive())
	}
}

// The luck of a start is not known from fewer than five pairs, however clear they look.
func TestTooFewPairsAreSaid(t *testing.T) {
	old, after := resultstest.Pairs(rand.New(rand.NewPCG(61, 62)), LeastPairs-1, 4, 2)
	c, err := ComparePairs(old, after, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const few = "4 pairs: a verdict takes at least 5"
	if ch := find(t, c, "goodput"); ch.Verdict != TooNoisy || ch.Basis != few {
		t.Errorf("four pairs: %q, %q", ch.Verdict, ch.Basis)
	}
	if got := c.Outcome(0.05); got != OutcomeInconclusive {
		t.Errorf("outcome %q", got)
	}
	if _, err := ComparePairs(old, after[:3], CompareOptions{}); err == nil {
		t.Error("four old runs and three new ones were paired")
	}
	if _, err := ComparePairs(nil, nil, CompareOptions{}); err == nil {
		t.Error("no run at all was compared")
	}
}

func TestMetricsAreChosen(t *testing.T) {
	cell := resultstest.Cell("ndjson", 4096)
	s := side("s", resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...))
	c := Compare(s, s, CompareOptions{Metrics: []string{"wire"}})
	if len(c.Changes) != 1 || c.Changes[0].Metric != "wire" {
		t.Errorf("got %+v, want wire alone", c.Changes)
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
	s, err := ReadDatasetFrom("bench.txt", strings.NewReader(text))
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
	c := Compare(s, s, CompareOptions{Across: true})
	if ch := find(t, c, "allocs/op"); ch.Verdict != NoChange || !ch.Exact {
		t.Errorf("allocations: got %q", ch.Verdict)
	}
	if ch := find(t, c, "ns/op"); ch.Verdict != TooNoisy {
		t.Errorf("ns/op: got %q", ch.Verdict)
	}
}

func TestReadSideOfNothing(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "prose": "hello\n", "an environment alone": resultstest.Encoded(t, resultstest.Environment()),
	} {
		if _, err := ReadDatasetFrom("f", strings.NewReader(text)); !errors.Is(err, results.ErrEmpty) {
			t.Errorf("%s: got %v, want ErrEmpty", name, err)
		}
	}
	if _, err := ReadDataset("testdata/none"); err == nil {
		t.Error("a missing file was read")
	}
}

func TestAFolderIsADatasetToo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, results.FileName), []byte(resultstest.Encoded(t, resultstest.Lines()[:2]...)), 0o666); err != nil {
		t.Fatal(err)
	}
	if side, err := ReadDataset(dir); err != nil || len(side.Series) == 0 {
		t.Errorf("got %v, %v", side, err)
	}
}

// Text of go test -bench whose runs took turns gets verdicts, value by value, though the machine
// drifts more than what is looked for; metrics are known by their names and by their units.
func TestTextsOfRunsThatTookTurnsArePairs(t *testing.T) {
	text := func(factor float64, wire int, seed uint64) Dataset {
		rng := rand.New(rand.NewPCG(seed, 1))
		var lines strings.Builder
		lines.WriteString("goos: linux\ngoarch: amd64\ncpu: Testium\nUnit wire-B/op better=lower\n")
		for i := range 20 {
			ns := 1000 * (1 + float64(i)/10) * factor * (1 + 0.01*rng.NormFloat64())
			fmt.Fprintf(&lines, "BenchmarkStream/framing=ndjson-2 \t 300\t %.1f ns/op\t %.1f MB/s\t %d wire-B/op\n", ns, 4e6/ns, wire)
		}
		d, err := ReadDatasetFrom("text", strings.NewReader(lines.String()))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, tt := range []struct {
		factor float64
		wire   int
		want   Outcome
	}{{1, 4097, OutcomeOK}, {1.2, 4097, OutcomeRegression}, {1, 5000, OutcomeRegression}} {
		c := CompareTextPairs(text(1, 4097, 1), text(tt.factor, tt.wire, 2), CompareOptions{Metrics: []string{"time", "wire"}})
		if got := c.Outcome(0.1); got != tt.want || c.Pairs != 20 || len(c.Changes) != 2 {
			t.Errorf("%+v: %s of %d pairs, %+v", tt, got, c.Pairs, c.Changes)
		}
	}
}

// Benchmark text says what a writer meets that does not block, and whose reader leaves.
func TestBenchTextTellsOfEAGAINAndEPIPE(t *testing.T) {
	c := resultstest.Cell("ndjson", 4096)
	c.IO, c.ClosesAfter = "poll/blocking", 1
	s := resultstest.Sample(4096, 4097, 1000)
	s.Writer.EAGAIN = new(int64(2000))
	s.Closed = &results.Closed{LostBytes: 64016, ToldNS: 98847, Error: "EPIPE"}
	got := map[string]float64{}
	for _, v := range BenchLines(results.Record{Cell: c, Samples: []results.Sample{s}})[0].Values {
		got[v.Unit] = v.Value
	}
	if got["eagain/op"] != 2 || got["lost-B"] != 64016 || got["told-ns"] != 98847 {
		t.Errorf("got %v", got)
	}
}

func TestPairsThatAVerdictTakes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change Change
		want   int
	}{
		{"half of the interval is 10 %, where 5 % are to be excluded",
			Change{Interval: &Interval{Lo: 1 / 1.1, Hi: 1.1}, Ratio: new(1.0)}, 39},
		{"a change of 5 % is to be established",
			Change{Interval: &Interval{Lo: 1.05 / 1.1, Hi: 1.05 * 1.1}, Ratio: new(1.05)}, 39},
		{"between, one is as near as the other",
			Change{Interval: &Interval{Lo: 1.025 / 1.1, Hi: 1.025 * 1.1}, Ratio: new(1.025)}, 149},
		{"no interval yet", Change{Ratio: new(1.0)}, LeastPairs},
		{"it has a verdict", Change{
			Interval: &Interval{Lo: 1 / 1.1, Hi: 1.1}, Ratio: new(1.0), Verdict: NoChange,
		}, LeastPairs},
	} {
		tt.change.logRatio.n = 10
		if tt.change.Verdict == "" {
			tt.change.Verdict = TooNoisy
		}
		c := Comparison{Changes: []Change{tt.change}}
		if _, got := c.PairsFor(0.05); got != tt.want {
			t.Errorf("%s: %d pairs, want %d", tt.name, got, tt.want)
		}
	}
}

// One certain worsening decides a gate, however noisy the other figures are.
func TestTheFigureThatSeemsWorstTellsTheTimeOfAVerdict(t *testing.T) {
	noisy := Change{Interval: &Interval{Lo: 0.5, Hi: 2}, Ratio: new(1.0), Verdict: TooNoisy}
	noisy.logRatio.n = 10
	worse := Change{Interval: &Interval{Lo: 0.9, Hi: 4.41 / 0.9}, Ratio: new(2.1)}
	worse.Verdict = TooNoisy
	worse.Before.Metric.Better = Lower
	worse.logRatio.n = 10
	faster := worse
	faster.Before.Metric.Better = Higher
	for _, tt := range []struct {
		changes []Change
		what    string
		want    int
	}{
		{[]Change{noisy, worse}, "a verdict", 14},
		{[]Change{{Ratio: new(1.4), Verdict: TooNoisy}}, "a verdict", LeastPairs}, // too few pairs
		{[]Change{noisy}, "ruling out a change of 5.0 %", 2019},
		{[]Change{noisy, faster}, "ruling out a change of 5.0 %", 2019},
	} {
		c := Comparison{Changes: tt.changes}
		what, got := c.PairsFor(0.05)
		if got != tt.want || what != tt.what {
			t.Errorf("%d pairs for %s; want %d for %s", got, what, tt.want, tt.what)
		}
	}
}
