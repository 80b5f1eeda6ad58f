package drive

import (
	"fmt"
	"math"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FastGrowth is the slope above which a server's time is said to grow faster than the size of a message.
const FastGrowth = stat.FastGrowth

// linearFrom is from which size on the slope is taken, in bytes: below, what every request costs whatever its size is most of its time, and
// hides how it grows.
const linearFrom = 64 << 10

// A Growth is how a server's time grows with the size of a message.
type Growth struct {
	stat.Growth
	From, To int // message sizes in bytes
	Capacity int // of the pipe, in bytes: a server reads no more at a time; 0 where it is not known
	Shows    int // the size from which on a byte costs half as much again as it did before, at least; 0 where it never does
}

func (g Growth) String() string {
	s := fmt.Sprintf("time grows as size^%.2f", g.Slope)
	if i := g.Interval; i != nil {
		s += fmt.Sprintf(" [%.2f, %.2f]", i.Lo, i.Hi)
	}
	s += fmt.Sprintf(" from %s to %s", results.FormatSize(int64(g.From)), results.FormatSize(int64(g.To)))
	if g.Capacity > 0 {
		s += fmt.Sprintf(" in %s pipes", results.FormatSize(int64(g.Capacity)))
	}
	switch {
	case g.Fast():
		s += ": faster than linear"
	case g.MayBeFast() && g.Interval != nil && g.Interval.Lo > 1:
		s += fmt.Sprintf(": may grow faster than linear, but %d sizes are too few to be sure", g.Points)
	case g.MayBeFast():
		s += ": may grow faster than linear, but the interval reaches 1"
	default:
		return s
	}
	if g.Shows > 0 {
		s += fmt.Sprintf("; it shows from %s on", results.FormatSize(int64(g.Shows)))
	}
	return s
}

// growthOf fits the growth to the sizes of a sweep that were answered; nil where there are too few.
func growthOf(targets []results.Target) *Growth {
	g := Growth{From: math.MaxInt}
	var sizes, times []float64
	for _, t := range targets {
		ns := medianTime(t.Samples)
		if !Verdict(t.Verdict).Works() || t.Size < linearFrom || ns <= 0 {
			continue
		}
		sizes, times = append(sizes, float64(t.Size)), append(times, ns)
		g.From, g.To = min(g.From, int(t.Size)), max(g.To, int(t.Size))
		g.Capacity = t.Samples[0].Capacity
	}
	if len(sizes) < 3 {
		return nil
	}
	var err error
	if g.Growth, err = stat.FitGrowth(sizes, times); err != nil {
		return nil
	}
	g.Shows = dearer(sizes, times)
	return &g
}

// half is by how much a byte has to cost more than it did for growth to show.
const half = 1.5

// dearer is the first size at which a byte costs half as much again as at the best size below.
func dearer(sizes, times []float64) int {
	best := math.Inf(1)
	for i, size := range sizes {
		cost := times[i] / size
		if cost >= half*best {
			return int(size)
		}
		best = min(best, cost)
	}
	return 0
}

// growthRecord is a growth as a record.
func (d *Driver) growthRecord(g Growth) results.Target {
	t := d.record()
	d.pipes(&t)
	t.Verdict = string(OK)
	add(&t, map[string]any{"slope": g.Slope, "from": g.From, "to": g.To, "capacity": g.Capacity, "shows_at": g.Shows, "points": g.Points})
	if i := g.Interval; i != nil {
		add(&t, map[string]any{"slope_lo": i.Lo, "slope_hi": i.Hi})
	}
	if g.Fast() {
		t.Verdict = string(Superlinear)
		add(&t, map[string]any{"advice": Superlinear.Advice()})
	}
	return t
}

// judgeSlow finds a size that took over ten times what its neighbours suggest, if time grew evenly between them.
func judgeSlow(before *results.Target, m, after *measured) {
	if m == nil || Verdict(m.Verdict) != OK {
		return
	}
	took := medianTime(m.Samples)
	lower, hasLower := neighbour(before)
	var upper point
	hasUpper := false
	if after != nil {
		upper, hasUpper = neighbour(&after.Target)
	}
	here := float64(m.Size)
	var expected float64
	switch {
	case hasLower && hasUpper:
		share := math.Log(here/lower.size) / math.Log(upper.size/lower.size)
		expected = lower.ns * math.Pow(upper.ns/lower.ns, share)
	case hasLower:
		expected = lower.ns * here / lower.size
	default:
		return // the smallest size has nothing that it could be slow against
	}
	if took > margin*expected {
		m.Verdict = string(Slow)
		add(&m.Target, map[string]any{"expected_ns": expected})
		add(&m.Target, map[string]any{"advice": Slow.Advice()})
	}
}

type point struct{ size, ns float64 }

// neighbour is what a served size took.
func neighbour(t *results.Target) (point, bool) {
	if t == nil || !Verdict(t.Verdict).Works() || len(t.Samples) == 0 {
		return point{}, false
	}
	return point{float64(t.Size), medianTime(t.Samples)}, true
}
