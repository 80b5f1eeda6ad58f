package stat_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// swept makes the records of a sweep in which a message of so many bytes takes so many nanoseconds.
func swept(from, to int64, took func(size float64) float64) []results.Target {
	var out []results.Target
	for n := from; n <= to; n *= 2 {
		out = append(out, results.Target{
			Size: n, Verdict: results.VerdictOK,
			Samples: []results.Sample{{ElapsedNS: 2 * int64(took(float64(n))), Messages: 2, Capacity: 4096}},
		})
	}
	return out
}

func TestGrowthIsFastOnlyWhereItsWholeIntervalSaysSo(t *testing.T) {
	wild := func(n float64) float64 { // steep on the whole, and all over the place
		return 10 * math.Pow(n, 1.4) * math.Pow(8, float64(int(math.Log2(n))%2)*2-1)
	}
	for _, row := range []struct {
		name      string
		took      func(size float64) float64
		fast, may bool
		says      string
	}{
		{"linear", func(n float64) float64 { return 10 * n }, false, false, "time is linear (exponent 1.00 [1.00, 1.00]) from"},
		{"quadratic", func(n float64) float64 { return n * n / 1e4 }, true, false, "faster than linear"},
		{"a little more than linear, and sure of it", func(n float64) float64 { return math.Pow(n, 1.2) }, false, false, "linear (exponent 1.20"},
		{"steep, and its interval reaches 1", wild, false, true, "may grow faster than linear"},
		{"as wild, and not steep", func(n float64) float64 { return wild(n) / math.Sqrt(n) }, false, false, "time is too noisy to tell how it grows from 64 KiB"},
		{"cubic", func(n float64) float64 { return n * n * n / 1e6 }, true, false,
			"faster than linear"},
		{"flat, a step, and flat", func(n float64) float64 {
			if n < 4<<20 {
				return n
			}
			return 12 * n
		}, false, true, "KiB pipes: a step at 4 MiB, and not faster than linear up to it"},
		{"a step at the last size alone", func(n float64) float64 {
			if n < 8<<20 {
				return n
			}
			return 30 * n
		}, false, true, "KiB pipes: a step at 8 MiB"},
		{"as measured with fresh memory from 32 MiB on", func(n float64) float64 {
			costs := []float64{1.3, 1.18, 1.08, 1.27, 1.54, 3.57, 14.88, 14.83}
			return n * costs[int(math.Log2(n))-16]
		}, false, true, "KiB pipes: a step at 4 MiB"},
		{"as measured with fresh memory from two sizes on", func(n float64) float64 {
			costs := []float64{1.16, 1.14, 0.99, 1.39, 5.45, 4.64, 5.92, 20.77}
			return n * costs[int(math.Log2(n))-16]
		}, false, true, "KiB pipes: a step at "},
		{"flat", func(float64) float64 { return 1e6 }, false, false,
			"grows more slowly than the message (exponent 0.00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := stat.FitTargetGrowth(swept(64<<10, 8<<20, row.took))
			if g == nil {
				t.Fatal("no growth")
			}
			fast := g.Fast()
			if fast != row.fast || !strings.Contains(g.String(), row.says) {
				t.Errorf("%v: fast %v; want %v, %q", g, fast, row.fast, row.says)
			}
			few := stat.FitTargetGrowth(swept(64<<10, 256<<10, row.took))
			saysTooFew := strings.Contains(few.String(), "3 sizes are too few")
			if few.Fast() || row.fast && !saysTooFew {
				t.Errorf("of three sizes: %v", few)
			}
			if got := strings.Contains(g.String(), "faster than linear"); got != (row.fast || row.may) {
				t.Errorf("says %q", g)
			}
		})
	}
}

// What may as well be the power 1.8 is not called linear.
func TestGrowthIsLinearOnlyIfItsIntervalSaysSo(t *testing.T) {
	for _, row := range []struct {
		slope, lo, hi float64
		says          string
	}{
		{1.1, 0.39, 1.81, "time is too noisy to tell how it grows"},
		{1.21, 0.45, 1.98, "time is too noisy to tell how it grows"},
		{0.6, -0.5, 1.7, "time is too noisy to tell how it grows"},
		{1.29, 1.11, 1.48, "time is linear (exponent 1.29 [1.11, 1.48])"}, // on a busy machine
		{0.5, 0.2, 0.8, "time grows more slowly than the message"},
		{0.5, 0.01, 1, "time is too noisy to tell how it grows"},
	} {
		g := stat.TargetGrowth{GrowthEvidence: results.GrowthEvidence{
			Slope: row.slope, SlopeLo: &row.lo, SlopeHi: &row.hi, Points: 5,
		}}
		if !strings.HasPrefix(g.String(), row.says) {
			t.Errorf("says %q, want %q", g, row.says)
		}
	}
}

func TestAStepDoesNotHideQuadraticGrowth(t *testing.T) {
	for name, took := range map[string]func(n float64) float64{
		"behind it": func(n float64) float64 {
			if n < 512<<10 {
				return n
			}
			return n * n / (100 << 10)
		},
		"before it": func(n float64) float64 {
			if n < 4<<20 {
				return n * n
			}
			return 10 * n * n
		},
	} {
		if g := stat.FitTargetGrowth(swept(64<<10, 8<<20, took)); !g.Fast() {
			t.Errorf("%s: %v", name, g)
		}
	}
}

func TestGrowthSaysWhereItShows(t *testing.T) {
	bent := func(n float64) float64 { // linear to 512 KiB, quadratic from there
		return 10 * n * max(1, n/(512<<10))
	}
	for _, row := range []struct {
		name  string
		took  func(size float64) float64
		shows int
	}{
		{"where it bends", bent, 1 << 20},
		{"from the start", func(n float64) float64 { return n * n }, 128 << 10},
		{"nowhere", func(n float64) float64 { return 10 * n }, 0},
		{"not where a fixed cost loses weight", func(n float64) float64 { return 1e7 + n }, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if g := stat.FitTargetGrowth(swept(64<<10, 8<<20, row.took)); g.ShowsAt != row.shows {
				t.Errorf("shows at %d, want %d: %v", g.ShowsAt, row.shows, g)
			}
		})
	}
	g := stat.FitTargetGrowth(swept(64<<10, 8<<20, bent))
	if says := g.String(); !strings.Contains(says, "from 1 MiB on") || !strings.Contains(says, "in 4 KiB pipes") {
		t.Errorf("says %q", says)
	}
}

// A machine that is busy with something else stretches the time that passes, and not the time that
// the server works.
func TestGrowthIsJudgedByTheServersCPUTime(t *testing.T) {
	quadratic := func(n float64) float64 { return n * n / 1e4 }
	linear := func(n float64) float64 { return 10 * n }
	for _, row := range []struct {
		name      string
		wall, cpu func(size float64) float64
		fast      bool
	}{
		{"quadratic in wall time alone", quadratic, linear, false},
		{"quadratic in CPU time", linear, quadratic, true},
	} {
		targets := swept(64<<10, 8<<20, row.wall)
		for i, r := range targets {
			targets[i].Samples[0].Reader.CPUNS = new(2 * int64(row.cpu(float64(r.Size))))
		}
		g := stat.FitTargetGrowth(targets)
		byCPU := g.WallSlope != nil && strings.HasPrefix(g.String(), "the server's CPU time ")
		if g.Fast() != row.fast || !byCPU {
			t.Fatalf("%s: %v", row.name, g)
		}
		if (*g.WallSlope > 1.5) == row.fast {
			t.Errorf("%s: exponent %.2f by the clock", row.name, *g.WallSlope)
		}
	}
}

func TestASizeOfOneMessageSaysNothingOfGrowth(t *testing.T) {
	targets := swept(64<<10, 256<<10, func(n float64) float64 { return n })
	targets[0].Samples[0].Messages = 1
	if g := stat.FitTargetGrowth(targets); g != nil {
		t.Errorf("%v", g)
	}
}

func TestThreeSizesAreNeededForGrowth(t *testing.T) {
	if g := stat.FitTargetGrowth(swept(64<<10, 128<<10, func(n float64) float64 { return n })); g != nil {
		t.Errorf("%v from two sizes", g)
	}
}

// A server that sleeps spends no CPU time, and its clients wait all the same.
func TestGrowthNamesAServerThatWaits(t *testing.T) {
	const says = "; the time of its answers grows with exponent 2.00: it waits, or " +
		"the machine is busy"
	for _, row := range []struct {
		took, spent func(size float64) float64
		says        bool
	}{
		{func(n float64) float64 { return n * n / 1e4 },
			func(n float64) float64 { return n }, true},
		{func(n float64) float64 { return n * n / 1e4 },
			func(n float64) float64 { return n * n / 1e5 },
			false},
		{func(n float64) float64 { return 2 * n }, func(n float64) float64 { return n }, false},
	} {
		targets := swept(64<<10, 8<<20, row.took)
		for _, s := range targets {
			s.Samples[0].Reader.CPUNS = new(2 * int64(row.spent(float64(s.Size))))
		}
		g := stat.FitTargetGrowth(targets)
		if strings.HasSuffix(g.String(), says) != row.says {
			t.Errorf("says %q", g)
		}
	}
}
