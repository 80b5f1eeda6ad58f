package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// A machine is one that a run of raw and four framings is simulated on.
type machine struct {
	rng     *rand.Rand
	level   float64 // of the whole machine, as a logarithm
	luck    float64 // of a fork
	scatter float64 // of a slice
	tails   bool    // slices have heavy tails
	id      string
}

// run measures raw and framings in the same rounds. The framing slow is slower by a factor.
func (m machine) run(slow string, factor float64) Dataset {
	set := &results.Set{}
	env := resultstest.Environment()
	if m.id != "" {
		env.Machine = m.id
	}
	set.Add(env)
	noise := func() float64 {
		v := m.rng.NormFloat64()
		if m.tails {
			v /= math.Sqrt(m.rng.ExpFloat64())
		}
		return m.scatter * v
	}
	for _, size := range []int{4096, 65536, 1 << 20} {
		var mood [5][4]float64 // of the machine in each round
		for f := range mood {
			for j := range mood[f] {
				mood[f][j] = m.level + 0.3*m.rng.NormFloat64()
			}
		}
		for _, framing := range []string{"raw", "ndjson", "chunked:61440", "content-length"} {
			own := 1.0
			if framing == slow {
				own = factor
			}
			var luck [5]float64
			for f := range luck {
				luck[f] = m.luck * m.rng.NormFloat64()
			}
			r := sliced(resultstest.Cell(framing, size), 5, 4, func(f, j int) float64 {
				return float64(size) * own * math.Exp(mood[f][j]+luck[f]+noise())
			})
			set.Add(r)
		}
	}
	return DatasetOf("run", set)
}

func slowNames(c *Comparison) []string {
	var names []string
	for _, ch := range c.Changes {
		if ch.Established() {
			names = append(names, ch.Name)
		}
	}
	return names
}

// Files of one build, measured at different times, are all but never called different, whatever
// the machine did in between; and a framing that is slower by a twentieth is found.
func TestFilesAreComparedByTheirRatioToRaw(t *testing.T) {
	t.Parallel()
	const trials = 50
	for _, tt := range []struct {
		name  string
		m     machine
		found int // in so many trials at least
	}{
		{"quiet", machine{luck: 0.005, scatter: 0.01}, 45},
		{"busy", machine{luck: 0.01, scatter: 0.02}, 25},
		{"heavy tails", machine{luck: 0.01, scatter: 0.02, tails: true}, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			falsely, found := 0, 0
			for seed := range uint64(trials) {
				m := tt.m
				m.rng = rand.New(rand.NewPCG(seed, 7))
				before := m.run("", 1)
				m.level = 0.5 * m.rng.NormFloat64() // it became half as fast, or twice
				if len(slowNames(Compare(before, m.run("", 1), CompareOptions{}))) > 0 {
					falsely++
				}
				names := slowNames(Compare(before, m.run("ndjson", 1.05), CompareOptions{}))
				isRight := func(name string) bool {
					return strings.Contains(name, "framing=ndjson/")
				}
				if slices.ContainsFunc(names, isRight) {
					found++
				}
			}
			t.Logf("of %d pairs: %d with a false verdict, in %d the slower framing is found",
				trials, falsely, found)
			if falsely > 2 || found < tt.found {
				t.Errorf("%d false (2 at most), %d found (%d at least)", falsely, found, tt.found)
			}
		})
	}
}

// beside marks one of every n samples as disturbed by other programs.
func beside(d Dataset, n int) Dataset {
	for _, r := range d.Set.Records {
		for i := range r.Samples {
			if i%n == 0 {
				r.Samples[i].Disturbed = "the writer waited for a CPU"
			}
		}
	}
	return d
}

func TestWhatFilesCannotSayHasAReason(t *testing.T) {
	quiet := machine{rng: rand.New(rand.NewPCG(1, 2)), luck: 0.002, scatter: 0.005}
	other := quiet
	other.id = "m2"
	before := quiet.run("", 1)
	times := resultstest.Around(1000, 0.01)
	noRaw := resultstest.Record(resultstest.Cell("ndjson", 100), 101, times...)
	leaves := noRaw
	leaves.Cell.ClosesAfter = 1
	sleeps := noRaw
	sleeps.Cell.IO = "sleep=10ms/blocking"
	for _, tt := range []struct {
		name          string
		before, after Dataset
		want          string
		outcome       Outcome
	}{
		{"another machine", before, other.run("", 1),
			"not judged: 9 cells: measured on different machines",
			OutcomeInconclusive},
		{"no raw", side("old", noRaw), side("new", noRaw),
			"not judged: 1 cell: neither file has raw", OutcomeInconclusive},
		{"raw in one file", before, side("new", before.Set.Records[1]),
			"not judged: 1 cell: one file has no raw", OutcomeInconclusive},
		{"load in one file", before, beside(quiet.run("", 1), 2),
			"not judged: 9 cells: other programs took the CPUs",
			OutcomeInconclusive},
		{"load in both files", beside(quiet.run("", 1), 1), beside(quiet.run("", 2), 1),
			"not judged: 9 cells: other programs took the CPUs",
			OutcomeInconclusive},
		{"few rounds", fewRounds(before), before,
			"not judged: 9 cells: fewer than 6 rounds", OutcomeInconclusive},
		{"a reader that leaves", side("old", leaves), side("new", leaves),
			"1 cell: a pause, a pace or a reader that leaves", OutcomeOK},
		{"a writer that sleeps", side("old", sleeps), side("new", sleeps),
			"1 cell: a pause, a pace or a reader that leaves", OutcomeOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(tt.before, tt.after, CompareOptions{})
			if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, tt.want) {
				t.Errorf("notes %q, want %q", notes, tt.want)
			}
			if got := c.Outcome(0.05); len(c.Changes) > 0 && got != tt.outcome {
				t.Errorf("outcome %q, want %q", got, tt.outcome)
			}
		})
	}
	if c := Compare(before, before, CompareOptions{}); c.Outcome(0.05) != OutcomeOK {
		t.Errorf("all is there: outcome %q, %v", c.Outcome(0.05), c.Notes)
	}
	c := Compare(before, other.run("", 1), CompareOptions{Across: true})
	if n := len(c.Changes); n == 0 || len(slowNames(c)) > 0 {
		t.Errorf("across: %d changes, of them %v", n, slowNames(c))
	}
}

// fewRounds returns a run that was stopped early.
func fewRounds(d Dataset) Dataset {
	set := results.Merge(d.Set)
	set.Records = slices.Clone(set.Records)
	for i := range set.Records {
		set.Records[i].Samples = set.Records[i].Samples[:LeastSamples-1]
	}
	return DatasetOf("run", set)
}

// What the scheduler decides about free ends is no reason to stop a build.
func TestFreeEndsNeverGate(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(3, 4)), luck: 0.002, scatter: 0.005}
	free := func(d Dataset) Dataset {
		for i := range d.Set.Records {
			d.Set.Records[i].Cell.Placement = "free"
		}
		return DatasetOf(d.Name, d.Set)
	}
	o := CompareOptions{Metrics: []string{"cpu-time"}}
	c := Compare(free(m.run("", 1)), free(m.run("ndjson", 2)), o)
	if len(slowNames(c)) != 3 {
		t.Errorf("slower: %v", slowNames(c))
	}
	if got := c.Outcome(0.05); got != OutcomeInconclusive || c.Conclusive() {
		t.Errorf("nothing but free ends: outcome %q, conclusive %v", got, c.Conclusive())
	}
}

// Where the system counts no CPU time, the clock is compared; and either may be asked for.
func TestTheClockStandsInForCPUTime(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(5, 6)), luck: 0.002, scatter: 0.005}
	blind := func(d Dataset) Dataset {
		for _, r := range d.Set.Records {
			for i := range r.Samples {
				r.Samples[i].Writer.CPUNS = nil
				r.Samples[i].Reader.CPUNS = nil
			}
		}
		return DatasetOf(d.Name, d.Set)
	}
	c := Compare(blind(m.run("", 1)), blind(m.run("ndjson", 1.2)), CompareOptions{})
	if len(slowNames(c)) != 4 { // three sizes, and the framing as a whole
		t.Errorf("slower: %v", slowNames(c))
	}
	c = Compare(m.run("", 1), m.run("ndjson", 1.2), CompareOptions{Metrics: []string{"goodput"}})
	for _, ch := range c.Changes {
		if ch.Metric != "goodput" || ch.Established() != strings.Contains(ch.Name, "ndjson") {
			t.Errorf("%s of %s: %q", ch.Metric, ch.Name, ch.Verdict)
		}
		if ch.Established() && (ch.Verdict != Slower || *ch.Ratio > 0.9) {
			t.Errorf("%s: %q, %v", ch.Name, ch.Verdict, *ch.Ratio)
		}
		unit, scale := ch.BenchUnit()
		shown := ch.Before.Metric.Format(0.856) // a ratio to raw, not 0.856 B/s
		if shown != "0.856 × raw" || ch.Unit != "× raw" || unit != "goodput/op" || scale != 1 {
			t.Errorf("%s: %s, unit %q, in benchmark text %q × %v",
				ch.Name, shown, ch.Unit, unit, scale)
		}
	}
}

// The bound of several runs is honest, and at most twice the spread of the cell, even if another
// cell moves far more.
func TestTheBoundOfSeveralRuns(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(8, 9)), luck: 0.005, scatter: 0.01}
	all := &results.Set{}
	for i := range 8 {
		run := m.run("chunked:61440", 1+0.05*float64(i)).Set
		name := string(rune('a' + i))
		run.Environments[0].Run = name
		for j := range run.Records {
			run.Records[j].Run = name
		}
		all = results.Merge(all, run)
	}
	noise := NoiseOf(all)
	if len(noise) != 9 {
		t.Fatalf("%d cells, want 9", len(noise))
	}
	beyond := 0
	for _, n := range noise {
		if len(n.Values) != 8 || n.Bound > 2*n.Spread {
			t.Errorf("%+v", n)
		}
		for i, a := range n.Values {
			for _, b := range n.Values[:i] {
				if math.Abs(math.Log(a/b)) > math.Log1p(n.Bound) {
					beyond++
				}
			}
		}
	}
	if share := float64(beyond) / (9 * 28); share > 0.1 {
		t.Errorf("%.2f of the pairs are beyond their bounds", share)
	}
}

// Round trips do not count for what streams cost as a whole.
func TestAFramingAsAWholeIsOfOnePattern(t *testing.T) {
	means := map[string]float64{"stream": 0, "roundtrip": 1}
	var k cellComparer
	for _, size := range []int{4096, 65_536} {
		for _, pattern := range []string{"stream", "roundtrip"} {
			cell := resultstest.Cell("ndjson", size)
			cell.Pattern = pattern
			ratio := logEstimate{mean: means[pattern], err: 0.01, n: 10}
			k.changes = append(k.changes, Change{Cell: &cell, logRatio: ratio})
		}
	}
	k.compareFramings()
	isPart := func(c Change) bool { return !c.IsWhole() }
	wholes := slices.DeleteFunc(slices.Clone(k.changes), isPart)
	if len(wholes) != 2 {
		t.Fatalf("%d wholes: %+v", len(wholes), wholes)
	}
	for _, c := range wholes {
		if want := means[c.Cell.Pattern]; math.Abs(c.logRatio.mean-want) > 1e-9 {
			t.Errorf("%s: got %g, want %g", c.Name, c.logRatio.mean, want)
		}
	}
	k.changes = slices.DeleteFunc(k.changes, Change.IsWhole)
	k.leaveOut(resultstest.Cell("ndjson", 256), Unjudged{lacks: true, Reason: "load"})
	k.compareFramings() // now a size is missing among the streams
	if got := len(k.changes); got != 5 {
		t.Errorf("%d changes, want those of 4 sizes and of round trips as a whole", got)
	}
}

// Two equal programs are hardly ever told apart, even if each start of the processes has a speed of
// its own: few starts say little, however many samples each has.
func TestStartsThatVaryAreNoDifference(t *testing.T) {
	const trials, luck, scatter = 500, 0.10, 0.02
	rng := rand.New(rand.NewPCG(31, 32))
	run := func(forks int) Dataset {
		var records []results.Record
		for _, framing := range []string{"raw", "ndjson"} {
			speeds := make([]float64, forks)
			for f := range speeds {
				speeds[f] = luck / math.Sqrt2 * rng.NormFloat64() // the ratio to raw varies by luck
			}
			cell := resultstest.Cell(framing, 4096)
			records = append(records, sliced(cell, forks, 6, func(f, _ int) float64 {
				return 5000 * math.Exp(speeds[f]+scatter*rng.NormFloat64())
			}))
		}
		return side("run", records...)
	}
	for _, metric := range []string{"goodput", "time"} {
		verdicts, outside := 0, 0
		for trial := range trials {
			forks := 3 + trial%3
			c := Compare(run(forks), run(forks), CompareOptions{Metrics: []string{metric}})
			change := find(t, c, metric)
			if change.Established() {
				verdicts++
			}
			if change.Interval.Lo > 1 || change.Interval.Hi < 1 {
				outside++
			}
		}
		if most := trials / 20; verdicts > most || outside > most {
			t.Errorf("%s: %d of %d runs got a verdict, and %d intervals are without 1",
				metric, verdicts, trials, outside)
		}
	}
}
