package tune

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// searching is a search in a model instead of a machine.
func searching(o Options, m model) *search {
	noise := rand.New(rand.NewPCG(uint64(o.Seed), 3))
	s := &search{Options: o, random: rand.New(rand.NewPCG(uint64(o.Seed), 9))}
	s.MaxTime = 0
	s.sample = func(c results.Cell) (tuneSample, error) {
		return tuneSample{Sample: m.sample(c, noise), Compared: 1}, nil
	}
	return s
}

func kept(t *testing.T, s *search) []results.Tune {
	t.Helper()
	var out []results.Tune
	if err := s.keep(func(r results.Tune) error { out = append(out, r); return r.Validate() }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSearchEndsWhereTheOptimumIs(t *testing.T) {
	for seed := range int64(6) {
		o := Default()
		o.Seed = seed
		s := searching(o, quiet)
		if err := script.Run(func() { s.run(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		records := kept(t, s)
		d := Decide(records, o.Objective)
		want := quiet.best(o.Chunks, slowReaders, weights[Balanced])
		if !d.Converged() || d.Best != want && !slices.Contains(d.Alike, want) {
			t.Errorf("seed %d: %d ±%.3f (alike %v), the model's is %d", seed, d.Best, d.Margin, d.Alike, want)
		}
		marked := 0
		for _, r := range records {
			if r.Recommended {
				marked++
				if chunkOf(r.Cell) != d.Best || r.Evidence.Objective != "balanced" || len(r.Samples) < stat.LeastSamples {
					t.Errorf("recommended with %d samples: %s %v", len(r.Samples), r.Cell.Key(), r.Evidence)
				}
			}
		}
		if marked != len(o.Drains) {
			t.Errorf("%d records recommended, of %d readers", marked, len(o.Drains))
		}
	}
}

// What one run recommends the others count among what runs may differ by, and the size changes to a
// neighbour at the most: a plateau begins where it does, whatever chance makes its highest point.
func TestRunsAgreeWithinTheirMargin(t *testing.T) {
	for _, row := range []struct {
		name string
		m    model
	}{
		{"a quiet machine", model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.03}},
		{"a busy one", model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.03, load: 0.8}},
	} {
		var found []Decision
		for seed := range int64(8) {
			o := Default()
			o.Seed = seed
			s := searching(o, row.m)
			if err := script.Run(func() { s.run(t.Context()) }); err != nil {
				t.Fatal(err)
			}
			found = append(found, s.decide())
		}
		o := Default()
		for i, d := range found {
			if !slices.Contains(o.neighbours(found[0].Best), d.Best) {
				t.Errorf("%s: run %d recommends %d, run 0 %d", row.name, i, d.Best, found[0].Best)
			}
			if !d.Converged() {
				t.Errorf("%s: run %d: %d ±%.3f", row.name, i, d.Best, d.Margin)
			}
			for k, other := range found {
				if !slices.Contains(other.Possible, d.Best) {
					t.Errorf("%s: run %d recommends %d, run %d thinks %v possible", row.name, i, d.Best, k, other.Possible)
				}
			}
		}
	}
}

// One sample of two that the machine disturbed must not decide: a third is taken of what
// contradicts itself.
func TestContradictingSamplesAreTakenAgain(t *testing.T) {
	o := Default()
	s := searching(o, quiet)
	sample, disturbed := s.sample, false
	want := plain(s.Cell, 32<<10, 200e6)
	s.sample = func(c results.Cell) (tuneSample, error) {
		got, err := sample(c)
		if c == want && !disturbed {
			disturbed = true
			l := got.Latency["due"]
			l.P90NS = new(20 * *l.P90NS)
			got.Latency["due"] = l
		}
		return got, err
	}
	if err := script.Run(func() { s.run(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	d := s.decide()
	if n := len(s.point(want).Samples); n <= coarseRounds || !slices.Contains(d.Alike, 32<<10) {
		t.Errorf("%d samples, and %v alike", n, d.Alike)
	}
}

// It is adaptive: what cannot be the answer is measured in the coarse rounds and no more, and of
// what lies between its points only what is near.
func TestTheSearchSpendsItsTimeWhereItMatters(t *testing.T) {
	o := Default()
	o.Variants = false
	s := searching(o, model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.05})
	if err := script.Run(func() { s.run(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	d := s.decide()
	best := len(s.point(plain(s.Cell, d.Best, 0)).Samples)
	if far := len(s.point(plain(s.Cell, 512, 0)).Samples); far != coarseRounds || best <= far {
		t.Errorf("%d samples of the best size, %d of one that is far from it", best, far)
	}
	if skipped := len(s.point(plain(s.Cell, 1<<10, 0)).Samples); skipped != 0 {
		t.Errorf("%d samples of a size between two bad ones", skipped)
	}
}

func TestWhatTheSystemRefusesIsSaid(t *testing.T) {
	s := searching(Default(), quiet)
	plain := s.sample
	s.sample = func(c results.Cell) (tuneSample, error) {
		if c.Capacity == 4096 {
			return tuneSample{}, &syspipe.CapacityError{}
		}
		return plain(c)
	}
	if err := script.Run(func() { s.run(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	for _, r := range kept(t, s) {
		if refused := r.Cell.Capacity == 4096; refused != (len(r.Samples) == 0 && len(r.Warnings) == 1) {
			t.Errorf("%s: %d samples, warnings %q", r.Cell.Key(), len(r.Samples), r.Warnings)
		}
	}
}

// Time that was up before anything began leaves a sample all the same.
func TestTheFirstSampleIsTakenWhateverTheTime(t *testing.T) {
	s := searching(Default(), quiet)
	s.started, s.MaxTime = time.Now().Add(-time.Hour), time.Nanosecond
	if err := script.Run(func() { s.run(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, s); len(got) != 1 || len(got[0].Samples) != 1 {
		t.Errorf("%d records kept, not one of one sample", len(got))
	}
}

// A flat curve is told from one with a best size by whoever reads the file.
func TestARecordSaysThatTheSizeDoesNotMatter(t *testing.T) {
	for _, row := range []struct {
		name string
		m    model
		flat bool
	}{
		{"flat", model{frameNS: 0.001, byteNS: 0.5, capacity: 64 << 20, noise: 0.001}, true},
		{"not flat", quiet, false},
	} {
		s := searching(Default(), row.m)
		if err := script.Run(func() { s.run(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		for _, r := range kept(t, s) {
			if r.Recommended && r.Evidence.Flat != row.flat {
				t.Errorf("%s: evidence %v", row.name, r.Evidence)
			}
		}
	}
}

func TestAFailedSampleEndsTheSearchAndKeepsTheRest(t *testing.T) {
	s := searching(Default(), quiet)
	plain, left := s.sample, 5
	broken := errors.New("a message was lost")
	s.sample = func(c results.Cell) (tuneSample, error) {
		if left--; left < 0 {
			return tuneSample{}, broken
		}
		return plain(c)
	}
	if err := script.Run(func() { s.run(t.Context()) }); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if n := len(kept(t, s)); n != 5 {
		t.Errorf("%d records kept, not 5", n)
	}
}

// Where chunking buys nothing, what is not cut is measured as well as a size would be, and
// recommended.
func TestTheSearchCanAdviseNotToChunk(t *testing.T) {
	o := Default()
	o.Objective = Throughput
	s := searching(o, quiet)
	if err := script.Run(func() { s.run(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	var recommended []string
	for _, r := range kept(t, s) {
		if r.Recommended {
			recommended = append(recommended, r.Cell.Framing)
			if len(r.Samples) < stat.LeastSamples {
				t.Errorf("%s is recommended by %d samples", r.Cell.Key(), len(r.Samples))
			}
		}
	}
	if !slices.Equal(recommended, []string{"ndjson", "ndjson", "ndjson"}) {
		t.Errorf("recommended: %v", recommended)
	}
}
