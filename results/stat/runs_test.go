package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// manyCells makes a run of 96 cells.
func (m machine) manyCells(run, slow string, factor float64) *results.Set {
	set := &results.Set{}
	for i := range 8 {
		one := m.run(slow, factor).Set
		for j := range one.Records {
			one.Records[j].Cell.Capacity = i * 4096
		}
		if i > 0 {
			one.Environments = nil
		}
		set = results.Merge(set, one)
	}
	return renamed(set, run)
}

func renamed(set *results.Set, run string) *results.Set {
	for i := range set.Environments {
		set.Environments[i].Run = run
	}
	for i := range set.Records {
		set.Records[i].Run = run
	}
	return set
}

func TestRunsThatDifferAreNotOneFigure(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(91, 92)), luck: 0.01, scatter: 0.03}
	old := m.manyCells("old", "ndjson", 1.2)
	new := m.manyCells("new", "ndjson", 1.6)
	new.Environments[0].Time = new.Environments[0].Time.Add(25 * time.Hour)
	for _, set := range []*results.Set{results.Merge(old, new), results.Merge(new, old)} {
		member := FleetOf(set).Members()[0]
		if len(member.Disagreement) != 1 {
			t.Fatalf("got %+v", member.Disagreement)
		}
		d := member.Disagreement[0]
		slow := member.Differing[d.Groups[0].Members[0]].Environment().Run
		isRight := slow == "new" && len(d.Groups) == 2 && near(d.Ratio(), 1.6/1.2, 0.05)
		if !isRight || d.Framing != "ndjson" || len(d.Cells) != 24 || len(d.Compared) != 24 {
			t.Errorf("got %+v, %s is slow", d, slow)
		}
		for _, f := range member.Figures {
			isNdjson := f.Cell.Framing == "ndjson"
			if f.RunsDiffer != isNdjson || (f.Compared().N == 0) != isNdjson {
				t.Errorf("%v: runs differ: %v", f.Cell, f.RunsDiffer)
			}
		}
		for _, r := range Rows(set) {
			warnings := strings.Join(r.Warnings, "; ")
			switch isNdjson := r.Cell.Framing == "ndjson"; {
			case strings.Contains(warnings, "forks differ"):
				t.Errorf("%v: forks of several runs are compared: %s", r.Cell, warnings)
			case isNdjson != slices.Contains(r.Warnings, RunsDiffer):
				t.Errorf("%v: got %q", r.Cell, warnings)
			}
		}
	}
}

// Runs with one truth are hardly ever called different, whatever their forks and samples do.
func TestRunsThatAreAlikeDoNotDisagree(t *testing.T) {
	t.Parallel()
	const trials = 20
	rng := rand.New(rand.NewPCG(93, 94))
	wrong, all := 0, 0
	for _, noise := range noises {
		for _, luck := range []float64{0, 0.02, 0.1, 0.3} { // of a fork
			for trial := range trials {
				sample := func() float64 { return 0.05 * noise.of(rng) }
				f := alikeFleet(rng, 2+trial%3, 8, luck, sample)
				if found := f.member(f.runs, f.order()).Disagreement; len(found) > 0 {
					wrong++
					t.Logf("%s, luck %v: %+v", noise.name, luck, found)
				}
				all++
			}
		}
	}
	if wrong > all/100 {
		t.Errorf("of %d machines whose runs are alike, %d are said to disagree", all, wrong)
	}
}

// Machines with one truth are hardly ever called different.
func TestMachinesThatAreAlikeDoNotDiffer(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(95, 96))
	wrong, all := 0, 0
	for _, machines := range []int{3, 8, 20} {
		for _, streams := range []int{1, 4} {
			for _, noise := range noises {
				for _, luck := range []float64{0.02, 0.1, 0.3} {
					for range 2 {
						sample := func() float64 { return 0.05 * noise.of(rng) }
						f := alikeFleet(rng, machines, streams, luck, sample)
						order := f.order()
						var members []Member
						for _, run := range f.runs {
							members = append(members, f.member([]*fleetRun{run}, order))
						}
						if found := Differences(members); len(found) > 0 {
							wrong++
							t.Logf("%d machines, %d streams, %s, luck %v: %+v", machines, streams,
								noise.name, luck, found)
						}
						all++
					}
				}
			}
		}
	}
	if wrong > all/100 {
		t.Errorf("of %d fleets whose machines are alike, %d are said to differ", all, wrong)
	}
}

// alikeFleet returns runs that differ by chance alone: in each start of the worker processes by the
// luck, and in each sample.
func alikeFleet(rng *rand.Rand, runs, streams int, luck float64, sample func() float64) *Fleet {
	f := NewFleet()
	framings := []string{"raw", "ndjson", "chunked:61440", "content-length", "length-prefix"}
	for i := range runs {
		name := fmt.Sprint("run", i)
		f.Add(results.Environment{Run: name, Time: resultstest.Time, Machine: name})
		for size := range streams {
			for _, framing := range framings {
				start := 0.0
				cell := resultstest.Cell(framing, 1000+size)
				r := sliced(cell, Forks, 3, func(_, round int) float64 {
					if round == 0 {
						start = luck * rng.NormFloat64()
					}
					return 1e5 * math.Exp(start+sample())
				})
				r.Run = name
				f.Add(r)
			}
		}
	}
	return f
}

// A framing that is slower on half of the machines is found in usual noise, and no other.
func TestAPlantedDifferenceIsFoundInNoise(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(105, 106))
	const trials = 5
	missed, wrong, wrongAlike, all := 0, 0, 0, 0
	for _, machines := range []int{2, 4, 12, 24} {
		for _, noise := range []float64{0.02, 0.05, 0.08, 0.1, 0.12} {
			for range trials {
				all++
				sample := func() float64 { return noise * rng.NormFloat64() }
				f := alikeFleet(rng, machines, 8, 0, sample)
				if found := Differences(f.Members()); len(found) > 0 {
					wrongAlike++
					t.Logf("%d equal machines, noise %v: %+v", machines, noise, found)
				}
				for i, run := range f.runs {
					if i < machines/2 {
						f.slow(run, "length-prefix", 1.3)
					}
				}
				found := Differences(f.Members())
				isPlanted := func(d Difference) bool {
					return d.Framing == "length-prefix" && len(d.Groups) == 2 && !d.ByDegrees &&
						len(d.Groups[0].Members) == machines/2
				}
				if !slices.ContainsFunc(found, isPlanted) {
					missed++
					t.Logf("%d machines, noise %v: missed: %+v", machines, noise, found)
				}
				isOther := func(d Difference) bool { return d.Framing != "length-prefix" }
				if slices.ContainsFunc(found, isOther) {
					wrong++
					t.Logf("%d machines, noise %v: others: %+v", machines, noise, found)
				}
			}
		}
	}
	t.Logf("of %d: missed %d, others %d; alike but told to differ: %d", all, missed, wrong,
		wrongAlike)
	if 20*missed > all || 20*wrong > all || 20*wrongAlike > all {
		t.Errorf("of %d fleets, the difference is missed in %d, and others are told in %d; of "+
			"as many without, one is told in %d", all, missed, wrong, wrongAlike)
	}
}

// slow makes a framing slower in a run.
func (f *Fleet) slow(run *fleetRun, framing string, factor float64) {
	for at, cell := range f.cells {
		if cell.Framing == framing {
			for i := range run.samples[at] {
				run.samples[at][i].value /= factor
			}
		}
	}
}

// Starts of one recorded run, dealt out to two runs, do not disagree.
func TestHalvesOfRecordedRunsDoNotDisagree(t *testing.T) {
	const folder = "../../cmd/pipebench/testdata/screens/"
	for _, name := range []string{"run", "tune", "claims"} {
		halves := []*results.Set{{}, {}}
		for half, set := range halves {
			recorded, err := results.Read(folder + name + ".jsonl.gz")
			if err != nil {
				t.Fatal(err)
			}
			set.Environments = recorded.Environments[:1]
			for _, r := range recorded.Records {
				r.Samples = slices.DeleteFunc(r.Samples, func(s results.Sample) bool {
					return s.Fork%2 != half
				})
				set.Records = append(set.Records, r)
			}
			renamed(set, []string{"even", "odd"}[half])
		}
		member := FleetOf(results.Merge(halves...)).Members()[0]
		if len(member.Runs) != 2 || len(member.Disagreement) > 0 {
			t.Errorf("%s: got %d runs, %+v", name, len(member.Runs), member.Disagreement)
		}
	}
}

// Machines that each have some starts of one recorded run do not differ.
func TestMachinesWithTheNoiseOfARecordedRunDoNotDiffer(t *testing.T) {
	t.Parallel()
	const folder = "../../cmd/pipebench/testdata/screens/"
	rng := rand.New(rand.NewPCG(103, 104))
	for _, name := range []string{"run", "tune", "claims"} {
		recorded, err := results.Read(folder + name + ".jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		for _, machines := range []int{3, 8, 20} {
			f := NewFleet()
			for i := range machines {
				id := fmt.Sprint("m", i)
				f.Add(results.Environment{Run: id, Machine: id})
				var starts [Forks]int
				for at := range starts {
					starts[at] = 1 + rng.IntN(Forks)
				}
				for _, r := range recorded.Records {
					samples := r.Samples
					r.Run = id
					r.Samples = nil
					for at, start := range starts {
						for _, s := range samples {
							if s.Fork == start {
								s.Fork = at + 1
								r.Samples = append(r.Samples, s)
							}
						}
					}
					f.Add(r)
				}
			}
			if found := Differences(f.Members()); len(found) > 0 {
				t.Errorf("%d machines like %s: %+v", machines, name, found)
			}
		}
	}
}

// A third run that tells nothing hides no difference between the others.
func TestANoisyRunHidesNoDifference(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(101, 102)), scatter: 0.02}
	set := results.Merge(m.manyCells("old", "ndjson", 1.2), m.manyCells("new", "ndjson", 1.6))
	m.luck = 0.5
	set = results.Merge(set, m.manyCells("noisy", "ndjson", 1.3))
	d := FleetOf(set).Members()[0].Disagreement
	if len(d) == 0 || d[0].Framing != "ndjson" {
		t.Errorf("got %+v", d)
	}
}

// A start may differ from the next one, so two runs of one start each cannot be told apart.
func TestRunsOfOneStartAreNotCompared(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(95, 96)), scatter: 0.01}
	both := results.Merge(m.manyCells("old", "ndjson", 1), m.manyCells("new", "ndjson", 2))
	for i := range both.Records {
		for j := range both.Records[i].Samples {
			both.Records[i].Samples[j].Fork = 1
		}
	}
	if d := FleetOf(both).Members()[0].Disagreement; len(d) > 0 {
		t.Errorf("got %+v", d)
	}
}

// A raw of another speed is told only from a factor on that load and clock seldom make.
func TestSpeedsOfRawDifferByMoreThanShares(t *testing.T) {
	for _, tt := range []struct {
		factor float64
		want   bool
	}{{1.3, false}, {2, true}} {
		m := machine{rng: rand.New(rand.NewPCG(97, 98)), scatter: 0.01}
		old := m.manyCells("old", "", 1)
		m.level = math.Log(tt.factor)
		both := results.Merge(old, m.manyCells("new", "", 1))
		d := FleetOf(both).Members()[0].Disagreement
		if (len(d) > 0) != tt.want || len(d) > 0 && d[0].Framing != "" {
			t.Errorf("%v times as slow: got %+v", tt.factor, d)
		}
	}
}

// Two hosts with the same hash are two machines, with rows of their own.
func TestRowsOfHostsWithOneHash(t *testing.T) {
	m := machine{rng: rand.New(rand.NewPCG(99, 100)), scatter: 0.01}
	old := m.manyCells("old", "", 1)
	other := m.manyCells("other", "", 1)
	other.Environments[0].Hostname = "other"
	rows := Rows(results.Merge(old, other))
	if len(rows) != len(old.Records)+len(other.Records) {
		t.Errorf("got %d rows of %d records", len(rows), len(old.Records)+len(other.Records))
	}
	for _, r := range rows {
		if len(r.Runs) != 1 || r.Machine == "" {
			t.Errorf("%v: got the runs %q of machine %q", r.Cell, r.Runs, r.Machine)
		}
	}
}
