package drive

import (
	"math"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// sweptAs makes the records of a sweep in which a message of so many bytes takes so many nanoseconds.
func sweptAs(sizes []int, took func(size float64) float64) []results.Target {
	var out []results.Target
	for _, n := range sizes {
		out = append(out, results.Target{
			Size: int64(n), Verdict: string(OK),
			Samples: []results.Sample{{ElapsedNS: int64(took(float64(n))), Messages: 1, Capacity: 4096}},
		})
	}
	return out
}

func TestGrowthIsFastOnlyWhereItsWholeIntervalSaysSo(t *testing.T) {
	sizes := Doubling(64<<10, 8<<20)
	wild := func(n float64) float64 { // steep on the whole, and all over the place
		return 10 * math.Pow(n, 1.4) * math.Pow(8, float64(int(math.Log2(n))%2)*2-1)
	}
	for _, row := range []struct {
		name      string
		took      func(size float64) float64
		fast, may bool
		says      string
	}{
		{"linear", func(n float64) float64 { return 10 * n }, false, false, "size^1.00"},
		{"quadratic", func(n float64) float64 { return n * n / 1e4 }, true, false, "faster than linear"},
		{"a little more than linear, and sure of it", func(n float64) float64 { return math.Pow(n, 1.2) }, false, false, "size^1.20"},
		{"steep, and its interval reaches 1", wild, false, true, "may grow faster than linear"},
		{"flat", func(float64) float64 { return 1e6 }, false, false, "size^0.00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := growthOf(sweptAs(sizes, row.took))
			if g == nil || g.Fast() != row.fast || g.MayBeFast() != row.may || !strings.Contains(g.String(), row.says) {
				t.Errorf("%v: fast %v, may be %v; want %v, %v, %q", g, g.Fast(), g.MayBeFast(), row.fast, row.may, row.says)
			}
			if few := growthOf(sweptAs(sizes[:3], row.took)); few.Fast() || row.fast && !strings.Contains(few.String(), "3 sizes are too few") {
				t.Errorf("of three sizes: %v", few)
			}
			if got := strings.Contains(g.String(), "faster than linear"); got != (row.fast || row.may) {
				t.Errorf("says %q", g)
			}
		})
	}
}

func TestGrowthSaysWhereItShows(t *testing.T) {
	sizes := Doubling(64<<10, 8<<20)
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
			if g := growthOf(sweptAs(sizes, row.took)); g.Shows != row.shows {
				t.Errorf("shows at %d, want %d: %v", g.Shows, row.shows, g)
			}
		})
	}
	g := growthOf(sweptAs(sizes, bent))
	if says := g.String(); !strings.Contains(says, "from 1 MiB on") || !strings.Contains(says, "in 4 KiB pipes") {
		t.Errorf("says %q", says)
	}
}

func TestGrowthIsTheSameInARecord(t *testing.T) {
	d := &Driver{dialect: &bare{wire: framers.NDJSON()}}
	for _, took := range []func(float64) float64{
		func(n float64) float64 { return n * n },
		func(n float64) float64 { return 10 * n },
	} {
		g := growthOf(sweptAs(Doubling(64<<10, 1<<20), took))
		r := d.growthRecord(*g)
		if slope, ok := number(fields(r)["slope"]); !ok || growthSentence(r, slope) != g.String() {
			t.Errorf("the record says %q, the growth %q", sentence(r), g)
		}
		if fast := r.Verdict == string(Superlinear); fast != g.Fast() {
			t.Errorf("verdict %s of %v", r.Verdict, g)
		}
	}
}

func TestThreeSizesAreNeededForGrowth(t *testing.T) {
	if g := growthOf(sweptAs([]int{64 << 10, 128 << 10}, func(n float64) float64 { return n })); g != nil {
		t.Errorf("%v from two sizes", g)
	}
}
