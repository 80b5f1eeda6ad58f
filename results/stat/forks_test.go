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

// sliced makes a record of slices: in round j of fork i a message takes ns(i, j) nanoseconds.
func sliced(c results.Cell, forks, rounds int, ns func(fork, round int) float64) results.Record {
	r := results.Record{Run: "run-1", Time: resultstest.Time, Cell: c, Stopped: "samples"}
	for fork := range forks {
		for round := range rounds {
			s := resultstest.Sample(int64(c.Size), int64(c.Size), ns(fork, round))
			s.Fork, s.Round = fork+1, fork*rounds+round+1
			r.Samples = append(r.Samples, s)
		}
	}
	return r
}

// noises are how slices of one fork scatter.
var noises = []struct {
	name string
	of   func(*rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"heavy tails", func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }}, // Student's of two degrees
	{"one in seven disturbed", func(r *rand.Rand) float64 {
		v := r.NormFloat64()
		if r.IntN(7) == 0 {
			v += 10 * math.Abs(r.NormFloat64())
		}
		return v
	}},
}

// The interval of a ratio holds what is true in about 95 of 100 runs, whatever the forks, the slices
// and the machine do: forks of other luck, outliers, a machine that gets slower by half.
func TestIntervalsOfForksCover(t *testing.T) {
	const trials, scatter = 600, 0.05
	rng := rand.New(rand.NewPCG(71, 72))
	for _, shape := range []struct{ forks, rounds int }{{4, 4}, {Forks, 5}, {8, 5}} {
		for _, noise := range noises {
			for _, luck := range []float64{0, 0.6, 1, 3} { // of a fork, in standard deviations of a slice
				covered, truth := 0, math.Log(1.25)
				for range trials {
					var ratios []observation
					for f := range shape.forks {
						own := luck * rng.NormFloat64()
						for j := range shape.rounds {
							drift := 0.5 * float64(f*shape.rounds+j) / float64(shape.forks*shape.rounds)
							mine := math.Exp(truth + drift + scatter*(own+noise.of(rng)))
							ratio := mine / math.Exp(drift+scatter*noise.of(rng))
							taken := moment{forkID{"run", f + 1}, j}
							ratios = append(ratios, observation{taken, ratio, false})
						}
					}
					if e := estimate(ratios); e.Interval.Lo <= 1.25 && 1.25 <= e.Interval.Hi {
						covered++
					}
				}
				if share := 100 * float64(covered) / trials; share < 92 || share > 99 {
					t.Errorf("%d forks of %d slices, %s, luck %v: covered in %.1f of 100", shape.forks, shape.rounds, noise.name, luck, share)
				}
			}
		}
	}
}

// Slices are paired by fork and round, not by their place in the file.
func TestRatiosAreTakenWithinRounds(t *testing.T) {
	drift := func(f, j int) float64 { return 1000 * float64(1+f+j*j) }
	raw := sliced(resultstest.Cell("raw", 4096), 3, 4, drift)
	own := sliced(resultstest.Cell("ndjson", 4096), 3, 4, func(f, j int) float64 { return 2 * drift(f, j) })
	own.Samples = slices.Delete(own.Samples, 2, 4) // two that were not taken
	e := PairedRatio(MustMetric("goodput"), []results.Record{own}, []results.Record{raw})
	if e.N != 10 || e.Median != 0.5 || e.Interval == nil || e.Interval.Lo != 0.5 || e.Interval.Hi != 0.5 {
		t.Errorf("got %+v %+v, want just 0.5 of ten rounds", e, e.Interval)
	}
}

// A disturbed slice is left out with its partner, and is used again where too few are left.
func TestDisturbedSlicesAreLeftOut(t *testing.T) {
	m := MustMetric("goodput")
	raw := sliced(resultstest.Cell("raw", 4096), 2, 5, func(f, j int) float64 { return 1000 })
	own := sliced(resultstest.Cell("ndjson", 4096), 2, 5, func(f, j int) float64 { return 2000 })
	disturb := func(r results.Record, i int) {
		r.Samples[i].ElapsedNS *= 50
		r.Samples[i].Disturbed = "others had its CPU"
	}
	disturb(own, 0)
	disturb(raw, 1)
	disturb(raw, 7)
	e := PairedRatio(m, []results.Record{own}, []results.Record{raw})
	if e.N != 7 || e.LeftOut != 3 || e.Disturbed || e.Median != 0.5 || e.Interval.Lo != 0.5 {
		t.Errorf("three of ten rounds disturbed: got %+v %+v", e, e.Interval)
	}
	if e := m.Estimate(raw); e.N != 8 || e.LeftOut != 2 || math.Abs(e.Median-4.096e9) > 1 {
		t.Errorf("two of ten slices disturbed: got %+v", e)
	}
	disturb(own, 2)
	disturb(own, 4)
	if e := PairedRatio(m, []results.Record{own}, []results.Record{raw}); e.N != 10 || e.LeftOut != 0 || !e.Disturbed {
		t.Errorf("five of ten rounds disturbed: got %+v, want all of them, and the mark", e)
	}
}

// Two samples that are left of a start say little, and make no interval wide.
func TestAStartWithFewSamplesMakesNoIntervalWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(77, 78))
	const forks, perFork, left = 5, 20, 2
	r := sliced(resultstest.Cell("raw", 4096), forks, perFork, func(fork, _ int) float64 {
		luck := 0.01 * float64(fork)
		if fork == forks-1 {
			luck = 0.4
		}
		return 1000 * math.Exp(luck+0.02*rng.NormFloat64())
	})
	for i := (forks-1)*perFork + left; i < len(r.Samples); i++ {
		r.Samples[i].Disturbed = "others had its CPU"
	}
	e := MustMetric("goodput").Estimate(r)
	if spread, _ := e.Spread(); e.N != len(r.Samples)-perFork+left || spread > 5 {
		t.Errorf("±%.1f %% of %d samples", spread, e.N)
	}
}

// On a machine that is busy throughout, what is left would be few slices and hardly quieter ones.
func TestABusyMachineLeavesNoSliceOut(t *testing.T) {
	slices := make([]int, 20)
	isDisturbed := func(below int) func(int) bool { return func(v int) bool { return v < below } }
	for i := range slices {
		slices[i] = i
	}
	if got := undisturbed(slices, isDisturbed(6)); len(got) != 14 {
		t.Errorf("six of twenty disturbed: %d are left, want 14", len(got))
	}
	if got := undisturbed(slices, isDisturbed(8)); len(got) != 20 {
		t.Errorf("eight of twenty disturbed: %d are left, want all", len(got))
	}
}

// Two builds that take slices in turns are compared within rounds, so that a machine which does
// something else in each round hides no change of a twentieth.
func TestPairsInTurnsFindATwentieth(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for _, factor := range []float64{1, 1.05} {
		var before, after []*results.Set
		for range 12 {
			var mood [2][6]float64
			for f := range mood {
				for j := range mood[f] {
					mood[f][j] = 1000 * math.Exp(0.5*rng.NormFloat64())
				}
			}
			for _, side := range []struct {
				into   *[]*results.Set
				run    string
				factor float64
			}{{&before, "old", 1}, {&after, "new", factor}} {
				r := sliced(resultstest.Cell("ndjson", 4096), 2, 6, func(f, j int) float64 {
					return mood[f][j] * side.factor * math.Exp(0.02*rng.NormFloat64())
				})
				r.Run = side.run
				*side.into = append(*side.into, &results.Set{Records: []results.Record{r}})
			}
		}
		c, err := ComparePairs(before, after, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]Verdict{true: NoChange, false: Slower}[factor == 1]
		if ch := find(t, c, "goodput"); ch.Verdict != want || math.Abs(*ch.Ratio*factor-1) > 0.01 {
			t.Errorf("%v times as long: got %q, ratio %v", factor, ch.Verdict, *ch.Ratio)
		}
	}
}

// Files of before have samples whose workers were started for them alone: nothing of theirs changes.
func TestSamplesWithoutForksAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	c := resultstest.Cell("ndjson", 4096)
	var ns []float64
	for range 9 {
		ns = append(ns, 1000*math.Exp(0.1*rng.NormFloat64()))
	}
	r := resultstest.Record(c, 4097, ns...)
	m := MustMetric("time")
	got, want := m.Estimate(r), Median(m.Values(r.Samples))
	if got.Median != want.Median || *got.Interval != *want.Interval {
		t.Errorf("got %+v %+v, want %+v %+v", got, got.Interval, want, want.Interval)
	}
	one := sliced(c, 9, 1, func(f, _ int) float64 { return ns[f] })
	if got := m.Estimate(one); *got.Interval != *want.Interval {
		t.Errorf("nine forks of one slice: got %+v, want %+v", got.Interval, want.Interval)
	}
}

func TestForksThatDifferAreSaid(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 76))
	raw := sliced(resultstest.Cell("raw", 4096), 4, 6, func(_, _ int) float64 { return 1000 * math.Exp(0.02*rng.NormFloat64()) })
	for _, tt := range []struct {
		luck float64 // of the last fork
		want bool
	}{{0, false}, {0.02, false}, {0.2, true}} {
		own := sliced(resultstest.Cell("ndjson", 4096), 4, 6, func(f, _ int) float64 {
			return 1250 * math.Exp(0.02*rng.NormFloat64()+tt.luck*float64(f/3))
		})
		set := results.Merge(&results.Set{Records: []results.Record{raw, own}})
		text := strings.Join(Rows(set)[1].Warnings, "; ")
		if said := strings.Contains(text, "forks differ beyond chance: vs raw is 0.6") && strings.Contains(text, "0.8"); said != tt.want || !tt.want && text != "" {
			t.Errorf("luck %v: got %q", tt.luck, text)
		}
	}
}

func TestKruskalWallisWorkedValues(t *testing.T) {
	// Hollander and Wolfe (1973), 116: mucociliary efficiency; H = 0.7714 of two degrees, p = 0.68.
	p := kruskalWallis([][]float64{{2.9, 3.0, 2.5, 2.6, 3.2}, {3.8, 2.7, 4.0, 2.4}, {2.8, 3.4, 3.7, 2.2, 2.0}})
	if !near(p, 0.68, 0.01) {
		t.Errorf("got %v, want 0.68", p)
	}
	rng := rand.New(rand.NewPCG(77, 78))
	found := 0
	const trials = 4000
	for range trials {
		var groups [][]float64
		for range 4 {
			var g []float64
			for range 6 {
				g = append(g, rng.NormFloat64())
			}
			groups = append(groups, g)
		}
		if kruskalWallis(groups) < 0.05 {
			found++
		}
	}
	if share := float64(found) / trials; share > 0.055 || share < 0.03 {
		t.Errorf("of groups that do not differ %.1f %% were found to, at a level of 5 %%", 100*share)
	}
}
