package view

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// The sentences follow the records: what is fed the other way round is said the other way round,
// and what the intervals do not carry is not said.
func TestMeaningFollowsTheRecords(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	for _, tt := range []struct {
		name string
		set  *results.Set
		want []string // in this order
		not  []string
	}{
		{
			"chunked costs most, ndjson least",
			resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(10500, 0.01), "chunked:61440": resultstest.Around(15000, 0.01)}),
			[]string{"On the same CPU at 64 KiB, chunked:61440 costs 33 % of raw's goodput", "and adds 0.078 % of bytes; ndjson costs 4."},
			[]string{"gains", "cannot be told"},
		},
		{
			"ndjson costs most, chunked least",
			resultstest.Beside("same", flat, map[string][]float64{"chunked:61440": resultstest.Around(10500, 0.01), "ndjson": resultstest.Around(15000, 0.01)}),
			[]string{"ndjson costs 33 % of raw's goodput", "; chunked:61440 costs 4."},
			[]string{"gains"},
		},
		{
			"a framing that beats raw gains",
			resultstest.Beside("apart", flat, map[string][]float64{"ndjson": resultstest.Around(8000, 0.01)}),
			[]string{"On two cores with a shared LLC at 64 KiB, ndjson gains 25 % of raw's goodput"},
			[]string{"costs"},
		},
		{
			"a difference within the noise is no cost",
			resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(10100, 0.1)}),
			[]string{"ndjson does not differ significantly from raw (0."},
			[]string{"costs", "gains"},
		},
		{
			"what tables call too noisy is no range either",
			resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(10100, 1)}),
			[]string{"ndjson is too noisy to compare with raw"},
			[]string{"times its"},
		},
		{
			"framings whose intervals overlap are not ranked",
			resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(12000, 0.1), "chunked:61440": resultstest.Around(12100, 0.1)}),
			[]string{"no significant difference between the framings: each has between 0."},
			[]string{"costs", "gains"},
		},
		{
			"five samples carry no claim",
			resultstest.Beside("same", flat[:5], map[string][]float64{"ndjson": resultstest.Around(20000, 0)[:5]}),
			nil,
			[]string{"costs", "raw's"},
		},
		{
			"placement matters more than the framing",
			results.Merge(resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(11000, 0.01)}), resultstest.Beside("apart", resultstest.Around(30000, 0.01), map[string][]float64{"ndjson": resultstest.Around(33000, 0.01)})),
			[]string{"Where the ends run matters more than the framing: raw on the same CPU at 64 KiB does 3.0 times", "the goodput of raw on two cores with a shared LLC", "the slowest framing is 1.1× slower than raw."},
			[]string{"framing matters more"},
		},
		{
			"the other way round: two CPUs are faster",
			results.Merge(resultstest.Beside("same", resultstest.Around(30000, 0.01), map[string][]float64{"ndjson": resultstest.Around(33000, 0.01)}), resultstest.Beside("apart", flat, map[string][]float64{"ndjson": resultstest.Around(11000, 0.01)})),
			[]string{"raw on two cores with a shared LLC at 64 KiB does 3.0 times", "the goodput of raw on the same CPU"},
			nil,
		},
		{
			"the framing matters more than placement",
			results.Merge(resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(50000, 0.01)}), resultstest.Beside("apart", resultstest.Around(12000, 0.01), map[string][]float64{"ndjson": resultstest.Around(60000, 0.01)})),
			[]string{"The framing matters more than where the ends run: the slowest is 5.0× slower than raw", "does 1.2 times"},
			[]string{"matters more than the framing"},
		},
		{
			"framings that do not differ do not matter",
			results.Merge(resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(50000, 0.01), "chunked:61440": resultstest.Around(50000, 0.01)}),
				resultstest.Beside("apart", resultstest.Around(12000, 0.01), map[string][]float64{"ndjson": resultstest.Around(60000, 0.01), "chunked:61440": resultstest.Around(60000, 0.01)})),
			[]string{"no significant difference between the framings", "does 1.2 times"},
			[]string{"framing matters more"},
		},
		{
			"placements that cannot be told apart are not compared",
			results.Merge(resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(11000, 0.01)}), resultstest.Beside("apart", resultstest.Around(10000, 0.1), map[string][]float64{"ndjson": resultstest.Around(11000, 0.1)})),
			nil,
			[]string{"matters", "times"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(Summarise(tt.set).Meaning, "\n")
			rest := got
			for _, want := range tt.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("%q is missing, or out of order, in:\n%s", want, got)
				}
				rest = after
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is claimed in:\n%s", not, got)
				}
			}
		})
	}
}

func TestMeaningOfRoundTrips(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for framing, ns := range map[string]float64{"raw": 2000, "ndjson": 3000} {
		c := resultstest.Cell(framing, 256)
		c.Pattern = "roundtrip"
		s.Add(resultstest.Record(c, 256, resultstest.Around(ns, 0)...))
	}
	want := "On the same CPU at 256 B, ndjson adds 50 % of raw's round-trip time (50 to 50 %)."
	if got := Summarise(s).Meaning; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSeriesThatDifferAreNamedApart(t *testing.T) {
	s := resultstest.Beside("same", resultstest.Around(10000, 0), map[string][]float64{"ndjson": resultstest.Around(12000, 0)})
	for _, r := range resultstest.Beside("same", resultstest.Around(10000, 0), map[string][]float64{"ndjson": resultstest.Around(15000, 0)}).Records {
		r.Cell.IO = "poller"
		s.Add(r)
	}
	got := strings.Join(Summarise(s).Meaning, "\n")
	for _, want := range []string{"On the same CPU with io blocking at 64 KiB, ndjson costs 17 %", "On the same CPU with io poller at 64 KiB, ndjson costs 33 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

func TestManySeriesDoNotDrownTheReader(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, capacity := range []int{4096, 8192, 16384, 32768, 65536, 131072} {
		for _, r := range resultstest.Beside("same", resultstest.Around(10000, 0), map[string][]float64{"ndjson": resultstest.Around(12000, 0)}).Records {
			r.Cell.Capacity = capacity
			s.Add(r)
		}
	}
	if got := Summarise(s).Meaning; len(got) != maxCostSentences {
		t.Errorf("got %d sentences for six capacities, want %d", len(got), maxCostSentences)
	}
}

func TestSummaryPoolsRunsButPairsWithinThem(t *testing.T) {
	one, two := resultstest.Beside("same", resultstest.Around(10000, 0), map[string][]float64{"ndjson": resultstest.Around(12000, 0)}), &results.Set{}
	e := resultstest.Environment()
	e.Run = "run-2"
	two.Add(e)
	for _, r := range resultstest.Beside("same", resultstest.Around(30000, 0), map[string][]float64{"ndjson": resultstest.Around(36000, 0)}).Records {
		r.Run = "run-2"
		two.Add(r)
	}
	sum := Summarise(results.Merge(one, two))
	if len(sum.Rows) != 2 {
		t.Fatalf("got %d rows, want raw and ndjson", len(sum.Rows))
	}
	framed := sum.Rows[1]
	if framed.Samples != 12 || len(framed.Runs) != 2 || framed.ToRaw.N != 12 {
		t.Errorf("got %d samples of %d runs, %d pairs; want 12 of 2, 12", framed.Samples, len(framed.Runs), framed.ToRaw.N)
	}
	if !framed.ToRaw.Above(0.8332) || !framed.ToRaw.Below(0.8335) {
		t.Errorf("vs raw is %+v, want 1/1.2 in both runs though they differ threefold", framed.ToRaw.Interval)
	}
	if !strings.Contains(strings.Join(sum.Notes, "\n"), "up to 2 runs are pooled") {
		t.Errorf("pooling is not said: %q", sum.Notes)
	}
}

func TestMachinesAreKeptApart(t *testing.T) {
	one, two := resultstest.Beside("same", resultstest.Around(10000, 0), nil), &results.Set{}
	e := resultstest.Environment()
	e.Run, e.Machine = "run-2", "m2"
	two.Add(e)
	for _, r := range resultstest.Beside("same", resultstest.Around(30000, 0), nil).Records {
		r.Run = "run-2"
		two.Add(r)
	}
	if sum := Summarise(results.Merge(one, two)); len(sum.Rows) != 2 || sum.Rows[0].Machine == sum.Rows[1].Machine {
		t.Errorf("the same cell of two machines: got rows %+v", sum.Rows)
	}
}

// of is a set as another machine and run would have measured it.
func of(machine string, set *results.Set) *results.Set {
	for i := range set.Environments {
		set.Environments[i].Machine, set.Environments[i].Run = machine, "run-of-"+machine
	}
	for i := range set.Records {
		set.Records[i].Run = "run-of-" + machine
	}
	return set
}

// One machine after the other, and none of them left out: the sentences about costs are shared
// between them.
func TestEveryMachineIsSpokenOf(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	var sets []*results.Set
	machines := []string{"m1", "m2", "m3", "m4", "m5", "m6"}
	for _, m := range machines {
		sets = append(sets, of(m, results.Merge(
			resultstest.Beside("same", flat, map[string][]float64{"ndjson": resultstest.Around(11000, 0.01)}),
			resultstest.Beside("apart", resultstest.Around(30000, 0.01), map[string][]float64{"ndjson": resultstest.Around(33000, 0.01)}))))
	}
	for _, tt := range []struct{ machines, costs int }{{1, 2}, {2, 4}, {3, 6}, {4, 4}, {6, 6}} {
		got := Summarise(results.Merge(sets[:tt.machines]...)).Meaning
		if want := tt.costs + tt.machines; len(got) != want {
			t.Errorf("%d machines: %d sentences, want %d about costs and one each about placement:\n%s", tt.machines, len(got), want, strings.Join(got, "\n"))
		}
		each := len(got) / tt.machines
		for i, text := range got {
			if name := "of machine " + machines[i/each]; tt.machines > 1 && !strings.Contains(text, name) {
				t.Errorf("%d machines: sentence %d is not %q: %s", tt.machines, i, name, text)
			}
		}
	}
}

// A machine whose round trips alone can be set beside raw is spoken of by them, whatever others
// have.
func TestMachinesThatMeasuredDifferentThings(t *testing.T) {
	trips := resultstest.Beside("same", resultstest.Around(2000, 0), map[string][]float64{"ndjson": resultstest.Around(3000, 0)})
	for i := range trips.Records {
		trips.Records[i].Cell.Pattern = "roundtrip"
	}
	got := Summarise(results.Merge(of("m1", resultstest.Beside("same", resultstest.Around(10000, 0), map[string][]float64{"ndjson": resultstest.Around(12000, 0)})), of("m2", trips))).Meaning
	want := []string{"On the same CPU of machine m1 at 64 KiB, ndjson costs 17 %", "On the same CPU of machine m2 at 64 KiB, ndjson adds 50 % of raw's round-trip time"}
	if len(got) != len(want) || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Lent pages have no framing beside them, and what copies bytes need not say that it does.
func TestSentencesAreOfWhatProgramsDo(t *testing.T) {
	s := results.Merge(
		resultstest.Beside("same", resultstest.Around(10000, 0), map[string][]float64{"ndjson": resultstest.Around(11000, 0.01)}),
		resultstest.Beside("apart", resultstest.Around(30000, 0.01), map[string][]float64{"ndjson": resultstest.Around(33000, 0.01)}))
	for placement, ns := range map[string]float64{"same": 1000, "apart": 90000} {
		for _, r := range resultstest.Beside(placement, resultstest.Around(ns, 0), nil).Records {
			r.Cell.Transfer = "splice"
			s.Add(r)
		}
	}
	got := strings.Join(Summarise(s).Meaning, "\n")
	if strings.Contains(got, "transfer") || !strings.Contains(got, "raw on the same CPU at 64 KiB does 3.0 times") {
		t.Errorf("got\n%s", got)
	}
}
