package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

func TestSignedRankWorkedValues(t *testing.T) {
	// Hollander and Wolfe (1973), 29 f.: depression scores of nine patients before and after; V =
	// 40.
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	scores := make([]float64, len(before))
	for i := range scores {
		scores[i] = before[i] - after[i]
	}
	for _, tt := range []struct {
		name        string
		differences []float64
		p           float64
		n           int
	}{
		{"nothing", nil, 1, 0},
		{"no difference at all", []float64{0, 0, 0}, 1, 0},
		{"six on one side: 2/2^6", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 64, 6},
		{"five cannot reach 0.05", []float64{-1, -2, -3, -4, -5}, 2.0 / 32, 5},
		{"zeros are left out", []float64{0, 1, 2, 0, 3, 4, 5, 6}, 2.0 / 64, 6},
		{"evenly split", []float64{1, -1, 2, -2}, 1, 4},
		{"depression scores", scores, 0.0390625, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, n := SignedRank(tt.differences)
			if !near(p, tt.p, 1e-12) || n != tt.n {
				t.Errorf("got p=%v n=%d, want p=%v n=%d", p, n, tt.p, tt.n)
			}
		})
	}
}

// Against counting out all 2^n signs, ties included.
func TestSignedRankIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		d := make([]float64, 1+rng.IntN(9))
		for i := range d {
			d[i] = float64(1 + rng.IntN(5))
			if rng.IntN(2) == 0 {
				d[i] = -d[i]
			}
		}
		p, _ := SignedRank(d)
		slices.SortFunc(d, func(a, b float64) int { return int(math.Abs(a) - math.Abs(b)) })
		ranks := doubledRanks(d)
		statistic := func(negative func(int) bool) int {
			var pos, neg int
			for i, r := range ranks {
				if negative(i) {
					neg += r
				} else {
					pos += r
				}
			}
			return min(pos, neg)
		}
		seen := statistic(func(i int) bool { return d[i] < 0 })
		extreme := 0
		for signs := range 1 << len(d) {
			if statistic(func(i int) bool { return signs>>i&1 == 1 }) <= seen {
				extreme++
			}
		}
		if want := float64(extreme) / float64(int(1)<<len(d)); !near(p, want, 1e-12) {
			t.Fatalf("%v: got p=%v, want %v", d, p, want)
		}
	}
}

// Where nothing differs, p < 0.05 in no more than one case of twenty.
func TestSignedRankHoldsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const trials = 5000
	found := 0
	for range trials {
		d := make([]float64, 12)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		if p, _ := SignedRank(d); p < 0.05 {
			found++
		}
	}
	if share := float64(found) / trials; share > 0.056 || share < 0.03 {
		t.Errorf("found a difference in %.1f %% of cases without one", 100*share)
	}
}

func TestHolmWorkedValues(t *testing.T) {
	// Four hypotheses: 0.005*4, 0.01*3, then 0.03*2, and 0.04*1 raised to it.
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("p %d: got %v, want %v", i, got[i], want)
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("got %v, want nothing above 1", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("got %v of nothing", got)
	}
}

func TestFitGrowthWorkedValues(t *testing.T) {
	x := []float64{256, 4096, 65536, 1 << 20}
	for _, power := range []float64{0, 0.5, 1, 2} {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = 3 * math.Pow(x[i], power)
		}
		g, err := FitGrowth(x, y)
		if err != nil {
			t.Fatal(err)
		}
		if !near(g.Slope, power, 1e-9) || !near(g.Interval.Lo, power, 1e-6) || !near(g.Interval.Hi, power, 1e-6) {
			t.Errorf("y = 3x^%v: got %+v %+v", power, g, *g.Interval)
		}
	}
	// Anscombe's first data set: slope 0.5001 with standard error 0.1179, nine degrees of freedom.
	g, err := FitLine(
		[]float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5},
		[]float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68})
	if err != nil {
		t.Fatal(err)
	}
	if !near(g.Slope, 0.50009, 1e-5) || !near(g.Interval.Hi-g.Slope, 2.26216*0.11791, 1e-4) {
		t.Errorf("Anscombe: got %v ± %v", g.Slope, g.Interval.Hi-g.Slope)
	}
}

func TestGrowthIsFastBeyondItsScatter(t *testing.T) {
	for _, tt := range []struct {
		slope, lo float64
		points    int
		fast, may bool
	}{
		{1.49, 1.17, 8, true, false},
		{1.47, 1.22, 3, false, true}, // a linear server, over three sizes
		{1.47, 1.22, 4, true, false},
		{1.4, 0.9, 8, false, true},
		{1.2, 1.1, 8, false, false},
	} {
		g := Growth{Slope: tt.slope, Interval: &Interval{Lo: tt.lo, Hi: 2*tt.slope - tt.lo}, Points: tt.points}
		if g.Fast() != tt.fast || g.MayBeFast() != tt.may {
			t.Errorf("%+v: fast %v, may be %v", tt, g.Fast(), g.MayBeFast())
		}
	}
	if g := (Growth{Slope: 2, Points: 2}); g.Fast() || !g.MayBeFast() {
		t.Error("two points are sure of a slope")
	}
}

func TestFitGrowthRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		x, y []float64
	}{
		{"nothing", nil, nil},
		{"one size", []float64{5, 5, 5}, []float64{1, 2, 3}},
		{"a zero", []float64{1, 2, 0}, []float64{1, 2, 3}},
		{"a negative", []float64{1, 2, 3}, []float64{1, -2, 3}},
		{"no number", []float64{1, 2, 3}, []float64{1, math.NaN(), 3}},
		{"infinity", []float64{1, 2, 3}, []float64{1, 2, math.Inf(1)}},
		{"unlike lengths", []float64{1, 2, 3}, []float64{1, 2}},
	} {
		if g, err := FitGrowth(tt.x, tt.y); err == nil {
			t.Errorf("%s: got %+v", tt.name, g)
		}
	}
	if g, err := FitGrowth([]float64{1, 2}, []float64{1, 2}); err != nil || g.Interval != nil || !near(g.Slope, 1, 1e-12) {
		t.Errorf("two points: got %+v, %v; want slope 1 and no interval", g, err)
	}
}

func TestStudentQuantileWorkedValues(t *testing.T) {
	for _, tt := range []struct{ freedom, p, want float64 }{
		{1, 0.975, 12.7062}, {2, 0.975, 4.30265}, {4, 0.995, 4.60409}, {9, 0.975, 2.26216}, {30, 0.95, 1.69726}, {4, 0.9995, 8.61030},
	} {
		if got := studentQuantile(tt.freedom, tt.p); !near(got, tt.want, 1e-3) {
			t.Errorf("t(%v, %v) = %v, want %v", tt.freedom, tt.p, got, tt.want)
		}
	}
}

// Far out in the tail too, where corrections for many comparisons lead.
func TestStudentQuantileInvertsTheDistribution(t *testing.T) {
	for _, freedom := range []float64{2, 4, 9, 19} {
		for _, tail := range []float64{1e-2, 1e-4, 1e-6} {
			q := studentQuantile(freedom, 1-tail)
			if got := 1 - (stats.TDist{V: freedom}).CDF(q); !near(got, tail, 0.01*tail) {
				t.Errorf("t(%v, 1-%v) = %v, beyond which lies %v", freedom, tail, q, got)
			}
		}
	}
}

func TestOutliersWorkedValues(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"none", []float64{10, 11, 9, 10.5, 9.5, 10.2}, nil},
		{"one stall", []float64{10, 11, 50, 10.5, 9.5, 10.2}, []int{2}},
		{"both sides", []float64{-30, 10, 11, 9, 10.5, 9.5, 10.2, 50}, []int{0, 7}},
		{"all the same", []float64{5, 5, 5, 5}, nil},
		{"one of twenty that are otherwise the same", append(slices.Repeat([]float64{5}, 19), 6), []int{19}},
		{"too few to tell", []float64{1, 1, 100}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Outliers(tt.values); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBimodalWorkedValues(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   Modes
		is     bool
	}{
		{"two placements", []float64{9.4, 1.3, 9.5, 1.4, 9.6, 1.2}, Modes{1.3, 9.5, 3, 3}, true},
		{"one value apart is an outlier", []float64{9.4, 9.5, 9.6, 9.3, 9.7, 1.2}, Modes{}, false},
		{"two modes nearer than a tenth", []float64{100, 100.1, 100.2, 105, 105.1, 105.2}, Modes{}, false},
		{"evenly spread", []float64{1, 2, 3, 4, 5, 6, 7, 8}, Modes{}, false},
		{"all the same", []float64{5, 5, 5, 5, 5, 5}, Modes{}, false},
		{"too few to tell", []float64{1, 1, 9, 9}, Modes{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, is := Bimodal(tt.values)
			if is != tt.is || is && m != tt.want {
				t.Errorf("got %+v, %v; want %+v, %v", m, is, tt.want, tt.is)
			}
		})
	}
}

// Scatter alone is seldom taken for outliers or modes, however few the samples.
func TestCleanSamplesRaiseNoAlarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{6, 10, 20} {
		const trials = 4000
		var outliers, maxBound int
		for range trials {
			values := make([]float64, n)
			for i := range values {
				values[i] = math.Exp(0.3 * rng.NormFloat64()) // wide and skewed
			}
			if len(Outliers(values)) > 0 {
				outliers++
			}
			if _, is := Bimodal(values); is {
				maxBound++
			}
		}
		t.Logf("n=%d: outliers in %.1f %%, modes in %.1f %%", n, 100*float64(outliers)/trials, 100*float64(maxBound)/trials)
		if outliers > trials*8/100 || maxBound > trials*5/100 {
			t.Errorf("n=%d: false alarms in %d and %d of %d", n, outliers, maxBound, trials)
		}
	}
}

// Above 200 pairs p is approximate: it has to agree with the exact one where that can still be
// computed, with ties and without, and to take no time.
func TestSignedRankOfManyPairsIsNearTheExactOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for _, shift := range []float64{0, 0.05, 0.1, 0.2} {
		for _, step := range []float64{0, 0.25} {
			diffs := make([]float64, mostExact+20)
			for i := range diffs {
				diffs[i] = rng.NormFloat64() + shift
				if step > 0 {
					diffs[i] = step * math.Round(diffs[i]/step)
				}
			}
			got, n := SignedRank(diffs)
			diffs = slices.DeleteFunc(diffs, func(d float64) bool { return d == 0 })
			slices.SortFunc(diffs, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
			ranks := doubledRanks(diffs)
			positive := 0
			total := 0
			for i, d := range diffs {
				total += ranks[i]
				if d > 0 {
					positive += ranks[i]
				}
			}
			want := exactSignedRank(ranks, min(positive, total-positive))
			if n != len(diffs) || !near(got, want, 0.02*want+1e-4) {
				t.Errorf("shift %v, step %v: p = %v of %d, exact %v", shift, step, got, n, want)
			}
		}
	}
	// The exact distribution of as many would take more than an hour.
	many := make([]float64, 20000)
	for i := range many {
		many[i] = rng.NormFloat64()
	}
	if p, n := SignedRank(many); n != len(many) || p < 1e-6 {
		t.Errorf("pairs that differ by nothing: p = %v of %d", p, n)
	}
}
