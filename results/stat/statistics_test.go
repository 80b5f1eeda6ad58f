package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

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
		fast      bool
	}{
		{1.49, 1.17, 8, true},
		{1.47, 1.22, 3, false}, // a linear server, over three sizes
		{1.47, 1.22, 4, true},
		{1.4, 0.9, 8, false},
		{1.2, 1.1, 8, false},
	} {
		g := Growth{Slope: tt.slope, Interval: &Interval{Lo: tt.lo, Hi: 2*tt.slope - tt.lo}, Points: tt.points}
		if g.Fast() != tt.fast {
			t.Errorf("%+v: fast %v", tt, g.Fast())
		}
	}
	if (Growth{Slope: 2, Points: 2}).Fast() {
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
		want   bool
	}{
		{"two placements", []float64{9.4, 1.3, 9.5, 1.4, 9.6, 1.2}, true},
		{"one value apart is an outlier", []float64{9.4, 9.5, 9.6, 9.3, 9.7, 1.2}, false},
		{"two modes nearer than a tenth", []float64{100, 100.1, 100.2, 105, 105.1, 105.2}, false},
		{"evenly spread", []float64{1, 2, 3, 4, 5, 6, 7, 8}, false},
		{"all the same", []float64{5, 5, 5, 5, 5, 5}, false},
		{"too few to tell", []float64{1, 1, 9, 9}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Bimodal(tt.values); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
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
			if Bimodal(values) {
				maxBound++
			}
		}
		t.Logf("n=%d: outliers in %.1f %%, modes in %.1f %%", n, 100*float64(outliers)/trials, 100*float64(maxBound)/trials)
		if outliers > trials*8/100 || maxBound > trials*5/100 {
			t.Errorf("n=%d: false alarms in %d and %d of %d", n, outliers, maxBound, trials)
		}
	}
}
