package faults

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// ReaderGrowth is the evidence of growth for one reader.
type ReaderGrowth struct {
	Summarised
	Framing string `json:"framing"`

	PerByte []Sized        `json:"per_byte"` // ns for a byte, by message size
	Calls   float64        `json:"calls"`    // reader's system calls for a KiB, largest size
	Slope   stat.Growth    `json:"slope"`    // of the time a message over its size
	ToOurs  []Sized        `json:"to_ours"`  // time a message over that of our reader, round by round
	Beyond  []Sized        `json:"beyond,omitempty"`
	Curve   *results.Curve `json:"curve,omitempty"`
}

// A Sized is a figure for one message size. One that was not measured but follows from the slope
// says so.
type Sized struct {
	Size         int           `json:"size"` // bytes
	Figure       stat.Estimate `json:"figure"`
	Extrapolated bool          `json:"extrapolated,omitempty"`
}

// extrapolateTo is the largest size that the slope is followed to, in bytes.
const extrapolateTo = 64 << 20

const (
	// quadraticFrom is the slope from which growth is called out of proportion. A linear reader
	// that leaves the caches comes near 1.15.
	quadraticFrom = 1.3
	// slowFrom is how many times our reader's time counts as slow.
	slowFrom = 3
)

// judge calls growth out of proportion where the slope is above 1.3 and its interval above 1, and a
// reader slow where some size takes three times as long as with our reader.
func (e *ReaderGrowth) judge() (Verdict, string) {
	if e.Slope.Slope > quadraticFrom && (e.Slope.Interval == nil || e.Slope.Interval.Lo > 1) {
		return Grows, fmt.Sprintf("Time grows with size to the power of %.2f: twice the message takes %.1f times as long. Remember how far the buffer has been "+
			"searched, and search only what is new; give a reader that you cannot change smaller messages.", e.Slope.Slope, math.Pow(2, e.Slope.Slope))
	}
	for _, s := range e.ToOurs {
		if s.Figure.Above(slowFrom) {
			return Slow, fmt.Sprintf("The cost of a byte stays the same, but it is %.0f system calls for a KiB. Read what there is into a buffer and look for the newline there.", e.Calls)
		}
	}
	return Sound, "Time grows as the message does."
}

func (e *ReaderGrowth) summarise() {
	e.Summary = SlopeText(e.Slope)
	if n := len(e.PerByte); n > 0 {
		e.Summary += fmt.Sprintf(", %.3g ns/B at %s", e.PerByte[n-1].Figure.Median, Size(e.PerByte[n-1].Size))
	}
	if n := len(e.ToOurs); n > 0 && e.Framing != "ndjson" {
		e.Summary += fmt.Sprintf(", ×%.3g of our reader at %s", e.ToOurs[n-1].Figure.Median, Size(e.ToOurs[n-1].Size))
	}
}

// SlopeText writes a slope with its interval.
func SlopeText(g stat.Growth) string {
	if i := g.Interval; i != nil {
		return fmt.Sprintf("slope %.2f [%.2f, %.2f]", g.Slope, i.Lo, i.Hi)
	}
	return fmt.Sprintf("slope %.2f", g.Slope)
}

// Sizes of messages whose time says something about growth, in bytes: below the smallest, the fixed
// cost of a message flattens the curve.
var (
	growthFrom    = 256 << 10
	growthTo      = 4 << 20
	growthLargest = 16 << 20
)

func runGrowth(ctx context.Context, r *recorder) {
	records := r.Measure(ctx, GrowthPlan(growthFrom, growthTo), r.keep)
	// One pass over the largest takes a rescanning reader seconds: one sample, hence no interval
	// there.
	large := r.Measure(ctx, bench.Plan{Samples: 1, Duration: time.Millisecond,
		Cells: []results.Cell{streamCell("ndjson-rescan", growthLargest, "blocking"), streamCell("ndjson", growthLargest, "blocking")}}, r.keep)
	all := GrowthOf(append(records, large...), growthFrom)
	for i, e := range all {
		if i == 0 {
			e.Curve = curveOfGrowth(all) // of all readers, and so with the first, whatever is found
		}
		r.report(e.Framing, e)
	}
}

var growthFramings = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan"}

// GrowthPlan measures the three readers with messages of a quarter of from, to show what comes
// before, and of doubled sizes from there up to to; byte by byte up to 4 times from, which keeps
// that reader under a second for a message.
func GrowthPlan(from, to int) bench.Plan {
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 15 * time.Millisecond}
	for size := from / 4; size <= to; size *= 2 {
		for _, f := range growthFramings {
			if size != from/2 && (f != "ndjson-bytewise" || size <= 4*from) {
				p.Cells = append(p.Cells, streamCell(f, size, "blocking"))
			}
		}
	}
	return p
}

// GrowthOf makes the evidence of growth from the records of a [GrowthPlan]; sizes from the given
// one on make the slope.
func GrowthOf(records []results.Record, from int) []*ReaderGrowth {
	elapsed, calls := stat.MustMetric("time"), stat.MustMetric("reader-calls")
	var all []int
	for _, r := range records {
		all = append(all, r.Cell.Size)
	}
	slices.Sort(all)
	var out []*ReaderGrowth
	for _, framing := range growthFramings {
		e := &ReaderGrowth{Framing: framing}
		var sizes, times []float64
		for _, size := range slices.Compact(all) {
			mine := recordOf(records, framing, size, "blocking")
			ours := recordOf(records, "ndjson", size, "blocking")
			if mine == nil {
				continue
			}
			t := elapsed.Estimate(mine[0])
			e.PerByte = append(e.PerByte, Sized{Size: size, Figure: scaled(t, 1/float64(size))})
			e.Calls = calls.Estimate(mine[0]).Median / float64(size) * 1024
			if size >= from {
				sizes, times = append(sizes, float64(size)), append(times, t.Median)
			}
			if ours != nil {
				e.ToOurs = append(e.ToOurs, Sized{Size: size, Figure: stat.PairedRatio(elapsed, mine, ours)})
			}
		}
		slope, err := stat.FitGrowth(sizes, times)
		if err != nil {
			continue // too few sizes to tell
		}
		e.Slope = slope
		last := e.PerByte[len(e.PerByte)-1]
		for size := last.Size * 4; size <= extrapolateTo; size *= 4 {
			perByte := last.Figure.Median * math.Pow(float64(size)/float64(last.Size), e.Slope.Slope-1)
			e.Beyond = append(e.Beyond, Sized{Size: size, Figure: stat.Estimate{Median: perByte}, Extrapolated: true})
		}
		out = append(out, e)
	}
	return out
}

// scaled multiplies an estimate by a constant.
func scaled(e stat.Estimate, by float64) stat.Estimate {
	e.Median *= by
	if e.Interval != nil {
		e.Interval = &stat.Interval{Lo: e.Interval.Lo * by, Hi: e.Interval.Hi * by, Confidence: e.Interval.Confidence}
	}
	return e
}

// curveOfGrowth shows ns for a byte by size, a line for each reader.
func curveOfGrowth(all []*ReaderGrowth) *results.Curve {
	c := &results.Curve{Title: "Readers of lines: time for a byte by message size", X: "message size, B", Y: "ns/B"}
	for _, e := range all {
		t := results.Trace{Name: e.Framing}
		for _, s := range append(e.PerByte, e.Beyond...) {
			p := pointOf(float64(s.Size), s.Figure)
			p.Extrapolated = s.Extrapolated
			t.Points = append(t.Points, p)
		}
		c.Series = append(c.Series, t)
	}
	return c
}
